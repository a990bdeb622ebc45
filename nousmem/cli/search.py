"""`nousmem search`: rank the memories of a store for a query, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from nousmem.cli.opening import opened
from nousmem.cli.output import frame_records, print_json, print_table
from nousmem.cli.scoping import AgentId, Namespace, SessionId, UserId, chosen_scope
from nousmem.cli.settings import read_settings
from nousmem.embeddings import open_embedder
from nousmem.entry import Entry, parse_instant
from nousmem.retrieval.search import Search
from nousmem.scope import Scope, as_filter
from nousmem.scoring import PARAMETERS, Scoring
from nousmem.stores import Store

__all__ = ["parse_number", "search"]

_VALUES_SHOWN: Final = 5


def search(
    store: Annotated[str, typer.Argument(help="Store URL, such as sqlite:memories.db.")],
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    user_id: UserId = None,
    agent_id: AgentId = None,
    session_id: SessionId = None,
    namespace: Namespace = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="semantic, episodic or procedural.")
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="minilm, hashing, or none for the text leg alone.")
    ] = "none",
    limit: Annotated[int, typer.Option(help="At most this many.")] = 10,
    min_score: Annotated[float, typer.Option(help="Only scores of at least this.")] = 0.0,
    depth: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    now: Annotated[
        str | None, typer.Option(help="Instant ages are counted from, ISO 8601 with an offset.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Instant the store is seen at, ISO 8601 with an offset.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of Scoring, such as decay_lambda=0.0001."),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with a table [scoring], as sweep writes for the best setting, or the "
            "folder with its best.toml; --set comes on top."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of a score.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank the memories of a store for a query."""
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    changes = parse_settings(setting or [])
    scoring = (Scoring() if settings is None else read_settings(settings)).replace(**changes)
    with opened(store, exists=True) as found:
        hits = Search(found, open_embedder(embedder), scoring=scoring, depth=depth)(
            query,
            scope=scope,
            type=type_,
            limit=limit,
            min_score=min_score,
            now=None if now is None else parse_instant(now),
            as_of=None if as_of is None else parse_instant(as_of),
        )
        missing = "" if hits or hits.suppressed else _nobody(found, scope)
    if missing:
        typer.echo(missing, err=True)
    rows = frame_records(hits.to_frame())
    if not explain:
        rows = [
            {name: row[name] for name in ("rank", "score", "doc_id", "content")} for row in rows
        ]
    suppressed = [
        {"rank": hit.rank, "doc_id": hit.entry.id, "content": hit.entry.content}
        for hit in hits.suppressed
    ]
    if as_json:
        document: dict[str, Any] = {
            "query": query,
            "now": hits.now.isoformat(),
            "scoring": hits.scoring.to_dict(),
            "hits": rows,
            "suppressed": suppressed,
            "degraded": hits.degraded,
        }
        if explain:
            for row in rows:
                row["parts"] = frame_records(hits.explain(row["rank"]))
        print_json(document)
        return
    named = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    print_table(
        [{name: row[name] for name in named} for row in rows], title=repr(hits.scoring)
    )  # without the columns of a leg that was not read
    if suppressed:
        typer.echo(f"{len(suppressed)} more would rank without decay:")
        print_table(suppressed)


def _nobody(store: Store, scope: Scope) -> str:
    """Return what to say where no entry is in the scope; "" where there are some."""
    wanted = as_filter(scope)
    if not wanted or store.list(scope=scope, limit=1, include_superseded=True):
        return ""
    alone = [
        name
        for name, value in wanted.items()
        if not store.list(scope={name: value}, limit=1, include_superseded=True)
    ]
    asked = " and ".join(f"{name} {wanted[name]!r}" for name in alone or wanted)
    if not alone:
        return f"no entry has {asked} together"
    entries = store.list(include_superseded=True)
    return f"no entry has {asked}; the store has " + "; ".join(
        _values(entries, name) for name in alone
    )


def _values(entries: Sequence[Entry], name: str) -> str:
    """Return the first values that a scope field has."""
    values = sorted({value for entry in entries if (value := getattr(entry, name)) is not None})
    more = f" and {len(values) - _VALUES_SHOWN:,} more" if len(values) > _VALUES_SHOWN else ""
    shown = ", ".join(map(repr, values[:_VALUES_SHOWN]))
    return f"{name} {shown}{more}" if values else f"no {name} in any entry"


def parse_settings(texts: list[str]) -> dict[str, float]:
    """Read `name=number` texts.

    Raises:
        typer.BadParameter: one is not of that form, or names no parameter of Scoring.
    """
    values: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals or name not in PARAMETERS:
            raise typer.BadParameter(
                f"expected NAME=NUMBER with NAME one of {', '.join(PARAMETERS)}, got {text!r}"
            )
        values[name] = parse_number(number)
    return values


def parse_number(text: str) -> float:
    """Read a number.

    Raises:
        typer.BadParameter: it is not one.
    """
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None
