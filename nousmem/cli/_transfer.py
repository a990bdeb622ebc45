"""Memories out of a store and into one: `nousmem export`, `nousmem import`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from nousmem.cli._columns import Columns, parse_columns
from nousmem.cli._opening import StoreUrl, opened
from nousmem.cli._output import print_count
from nousmem.cli._scoping import AgentId, Namespace, SessionId, UserId, chosen_scope
from nousmem.corpora import read_entries
from nousmem.corpora.tables import columns_by_table
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter, StoreError
from nousmem.importers import read_memories, write_memories
from nousmem.scope import GLOBAL
from nousmem.upkeep.transfer import (
    export_entries,
    import_entries,
    put_in_batches,
    read_entry_lines,
    write_entry_lines,
)

__all__ = ["export", "import_"]

_STANDARD: Final = Path("-")
_TABLE: Final = "table"
_USUAL: Final[dict[str, Any]] = {"scope": GLOBAL, "assume_utc": False, "vectors": True}
_TABLE_SUFFIXES: Final = (".csv", ".tsv")

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_OwnUserId = Annotated[str | None, typer.Option(help="With --from: whose, if it does not say.")]
_OwnAgentId = Annotated[str | None, typer.Option(help="With --from: of which agent, likewise.")]
_OwnSessionId = Annotated[str | None, typer.Option(help="With --from: which session, likewise.")]
_OwnNamespace = Annotated[str | None, typer.Option(help="With --from: namespace, likewise.")]


def export(
    store: StoreUrl,
    file: Annotated[
        Path, typer.Argument(help="A .jsonl or .parquet file; - is standard output, as JSON Lines.")
    ],
    *,
    user_id: UserId = None,
    agent_id: AgentId = None,
    session_id: SessionId = None,
    namespace: Namespace = None,
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
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    if to is not None and file == _STANDARD:
        raise InvalidParameter("--to writes a file: name one, - is not")
    with opened(store, exists=True) as target:
        if file == _STANDARD:
            cast("io.TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8", newline="\n")
            everything = target.list(scope=scope, include_superseded=True)
            count = write_entry_lines(everything, sys.stdout)
        elif to is None:
            count = export_entries(target, file, scope=scope)
        else:
            count = write_memories(target.list(scope=scope), file, target=to)
    print_count("exported", count, str(file), as_json=as_json, to_stderr=file == _STANDARD)


def import_(
    store: StoreUrl,
    file: Annotated[
        Path,
        typer.Argument(
            help="What export wrote (.jsonl, .parquet, or - for its JSON Lines on standard "
            "input), or a table of memories (.csv, .tsv); with --from, another system's file."
        ),
    ],
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Read what another system wrote: mem0, langgraph, letta, graphiti, chatgpt, "
            "chat-log; auto tells which. table: a table of your own in any format. "
            "package.module:function: a reader of your own, which is run.",
        ),
    ] = None,
    column: Columns = None,
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
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    named = columns_by_table(parse_columns(column))
    if named["queries"] or named["qrels"]:
        raise InvalidParameter("import reads memories alone: name columns of the entries")
    is_table = source == _TABLE or (
        source is None and (file.suffix.lower() in _TABLE_SUFFIXES or bool(named["entries"]))
    )
    if named["entries"] and not is_table:
        raise InvalidParameter(f"--column is for tables of your own, not for what {source} wrote")
    if (source is None or is_table) and (assume_utc or no_vectors):
        raise InvalidParameter("--assume-utc and --no-vectors need --from another system")
    if source is None and scope and not is_table:
        raise InvalidParameter("what export wrote says whose memories they are: others need --from")
    if file == _STANDARD and (is_table or source is not None):
        raise InvalidParameter("- is what export wrote, on standard input: name the file instead")
    entries: Iterable[Entry] | None = None
    # Read before a store is made for it, but for what export wrote, which goes in by batches.
    if is_table:
        entries = read_entries(file, scope=scope, columns=named["entries"])
    elif source is not None:
        # A reader of one's own need not know the options that nobody gives it.
        options = {"scope": scope, "assume_utc": assume_utc, "vectors": not no_vectors}
        asked = {name: value for name, value in options.items() if value != _USUAL[name]}
        entries = read_memories(file, source=None if source == "auto" else source, **asked)
    elif file != _STANDARD and not file.is_file():
        raise StoreError(f"cannot read {file}: No such file or directory")
    with opened(store) as target:
        if file == _STANDARD:
            lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="\n")
            count = put_in_batches(target, read_entry_lines(lines, name="standard input"))
        elif entries is None:
            count = import_entries(target, file)
        else:
            count = target.put(entries)
    print_count("imported", count, store, as_json=as_json)
