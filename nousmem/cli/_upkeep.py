"""Looking after a store: `nousmem check`, `forget`, `reembed`."""

from __future__ import annotations

from typing import Annotated

import typer

from nousmem.cli._opening import StoreUrl, opened
from nousmem.cli._output import print_count, print_json, print_table
from nousmem.cli._scoping import AgentId, Namespace, SessionId, UserId, chosen_scope
from nousmem.embeddings import open_embedder
from nousmem.errors import InvalidParameter, InvalidScope, StoreError
from nousmem.stores import KeptStore, Store
from nousmem.upkeep.reembedding import reembed as reembed_store

__all__ = ["check", "forget", "reembed"]

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check(
    store: StoreUrl,
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
        typer.echo(f"no faults: {store}")
    if not all(fault["repaired"] for fault in faults):
        raise typer.Exit(1)


def forget(
    store: StoreUrl,
    *,
    user_id: UserId = None,
    agent_id: AgentId = None,
    session_id: SessionId = None,
    namespace: Namespace = None,
    everything: Annotated[bool, typer.Option("--everything", help="Erase all entries.")] = False,
    as_json: _Json = False,
) -> None:
    """Erase the memories of a scope, and their text from the file."""
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    if bool(scope) is everything:
        raise InvalidScope(
            "say whose memories (--user-id, --agent-id, …) or --everything, not both"
        )
    with opened(store, exists=True) as target:
        kept = _kept(target, store)
        count = kept.forget(scope, everything=everything)
        kept.compact()
    print_count("erased", count, store, as_json=as_json)


def reembed(
    store: StoreUrl,
    *,
    embedder: Annotated[
        str,
        typer.Option(
            help="The new embedder: minilm, hashing, local:MODEL, …; or package.module:object, one "
            "of your own, whose code is run."
        ),
    ],
    as_json: _Json = False,
) -> None:
    """Give every entry of a store a vector of another embedder; can be interrupted."""
    model = open_embedder(embedder)
    if model is None:
        raise InvalidParameter("reembed needs an embedder, got 'none'")
    with opened(store, exists=True) as target:
        count = reembed_store(target, model, progress=True)
    print_count("reembedded", count, store, as_json=as_json)


def _kept(store: Store, url: str) -> KeptStore:
    if not isinstance(store, KeptStore):
        raise StoreError(f"the store {url} cannot be looked after: it has no check and forget")
    return store
