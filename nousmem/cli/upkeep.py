"""Looking after a store: `nousmem check`, `forget`, `export`, `import`, `reembed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from nousmem.cli.opening import opened
from nousmem.cli.output import print_json, print_table
from nousmem.corpora import read_entries
from nousmem.embeddings import open_embedder
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter, InvalidScope, StoreError
from nousmem.importers import read_memories, write_memories
from nousmem.reembedding import reembed as reembed_store
from nousmem.scope import Scope
from nousmem.stores import KeptStore, Store
from nousmem.transfer import export_entries, import_entries

__all__ = ["check", "export", "forget", "import_", "reembed"]

_TABLES: Final = (".csv", ".tsv")

_Store = Annotated[str, typer.Argument(help="Store URL, such as sqlite:memories.db.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_UserId = Annotated[str | None, typer.Option(help="Only this user's memories.")]
_AgentId = Annotated[str | None, typer.Option(help="Only this agent's memories.")]
_SessionId = Annotated[str | None, typer.Option(help="Only this session's memories.")]
_OwnUserId = Annotated[str | None, typer.Option(help="With --from: whose, if it does not say.")]
_OwnAgentId = Annotated[str | None, typer.Option(help="With --from: of which agent, likewise.")]
_OwnSessionId = Annotated[str | None, typer.Option(help="With --from: which session, likewise.")]
_OwnNamespace = Annotated[str | None, typer.Option(help="With --from: namespace, likewise.")]
_Namespace = Annotated[str | None, typer.Option(help="Only this namespace.")]


def check(
    store: _Store,
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    as_json: _Json = False,
) -> None:
    """Compare a store's table, index and vectors; end with status 1 if faults remain."""
    with opened(store, exists=True) as target:
        faults = [
            {"fault": fault.what, "rows": fault.count, "repaired": fault.repaired}
            for fault in _kept(target, store).check(repair=repair)
        ]
    if as_json:
        print_json(faults)
    elif faults:
        print_table(faults)
    else:
        typer.echo(f"{store}: no faults")
    if not all(fault["repaired"] for fault in faults):
        raise typer.Exit(1)


def forget(
    store: _Store,
    *,
    user_id: _UserId = None,
    agent_id: _AgentId = None,
    session_id: _SessionId = None,
    namespace: _Namespace = None,
    everything: Annotated[bool, typer.Option("--everything", help="Erase all entries.")] = False,
    as_json: _Json = False,
) -> None:
    """Erase the memories of a scope, and their text from the file."""
    scope = Scope(agent_id=agent_id, session_id=session_id, user_id=user_id, namespace=namespace)
    if bool(scope) is everything:
        raise InvalidScope(
            "say whose memories (--user-id, --agent-id, …) or --everything, not both"
        )
    with opened(store, exists=True) as target:
        kept = _kept(target, store)
        count = kept.forget(scope, everything=everything)
        kept.compact()
    _print_count("erased", count, store, as_json=as_json)


def export(
    store: _Store,
    file: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file.")],
    *,
    user_id: _UserId = None,
    agent_id: _AgentId = None,
    session_id: _SessionId = None,
    namespace: _Namespace = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Write for another system: mem0, langgraph, letta, graphiti, chat-log; "
            "without vectors and history."
        ),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Write the entries of a store, vectors and history included, to a file."""
    scope = Scope(agent_id=agent_id, session_id=session_id, user_id=user_id, namespace=namespace)
    with opened(store, exists=True) as target:
        if to is None:
            count = export_entries(target, file, scope=scope)
        else:
            count = write_memories(target.list(scope=scope), file, target=to)
    _print_count("exported", count, str(file), as_json=as_json)


def import_(
    store: _Store,
    file: Annotated[
        Path,
        typer.Argument(
            help="What export wrote (.jsonl, .parquet), or a table of memories (.csv, .tsv); "
            "with --from, another system's file."
        ),
    ],
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Read what another system wrote: mem0, langgraph, letta, graphiti, chatgpt, "
            "chat-log; auto tells which.",
        ),
    ] = None,
    user_id: _OwnUserId = None,
    agent_id: _OwnAgentId = None,
    session_id: _OwnSessionId = None,
    namespace: _OwnNamespace = None,
    assume_utc: Annotated[
        bool, typer.Option("--assume-utc", help="With --from: read times without offset as UTC.")
    ] = False,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="With --from: leave the file's vectors behind.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Put the entries of a file into a store, replacing those whose id exists."""
    scope = Scope(agent_id=agent_id, session_id=session_id, user_id=user_id, namespace=namespace)
    is_table = source is None and file.suffix.lower() in _TABLES
    if source is None and (assume_utc or no_vectors or (scope and not is_table)):
        raise InvalidParameter("whose memories, --assume-utc and --no-vectors need --from")
    entries: list[Entry] | None = None
    if is_table:
        entries = read_entries(file, scope=scope)
    elif source is None and not file.is_file():
        raise StoreError(f"cannot read {file}: No such file or directory")  # before a store is made
    elif source is not None:
        entries = read_memories(
            file,
            source=None if source == "auto" else source,
            scope=scope,
            assume_utc=assume_utc,
            vectors=not no_vectors,
        )
    with opened(store) as target:
        count = import_entries(target, file) if entries is None else target.put(entries)
    _print_count("imported", count, store, as_json=as_json)


def reembed(
    store: _Store,
    *,
    embedder: Annotated[str, typer.Option(help="The new embedder: minilm, hashing, openai, …")],
    as_json: _Json = False,
) -> None:
    """Give every entry of a store a vector of another embedder; can be interrupted."""
    model = open_embedder(embedder)
    if model is None:
        raise InvalidParameter("reembed needs an embedder, got 'none'")
    with opened(store, exists=True) as target:
        count = reembed_store(target, model, progress=True)
    _print_count("reembedded", count, store, as_json=as_json)


def _kept(store: Store, url: str) -> KeptStore:
    if not isinstance(store, KeptStore):
        raise StoreError(f"the store {url} cannot be looked after: it has no check and forget")
    return store


def _print_count(verb: str, count: int, place: str, *, as_json: bool) -> None:
    if as_json:
        print_json({verb: count, "place": place})
    else:
        typer.echo(f"{verb} {count:,} entries: {place}")
