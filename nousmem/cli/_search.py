"""`nousmem search`: rank the memories of a store for a query, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from nousmem.cli._opening import EmbedderName, StoreUrl, opened
from nousmem.cli._output import frame_records, print_json, print_table
from nousmem.cli._scoping import AgentId, Namespace, SessionId, UserId, chosen_scope
from nousmem.cli._settings import (
    Changes,
    Preset,
    SettingsFile,
    chosen_settings,
    parse_value,
)
from nousmem.embeddings import open_embedder
from nousmem.entry import Entry, parse_instant
from nousmem.retrieval.search import Search
from nousmem.scope import Scope, as_filter
from nousmem.stores import Store

__all__ = ["search"]

_VALUES_SHOWN: Final = 5


def search(
    store: StoreUrl,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    user_id: UserId = None,
    agent_id: AgentId = None,
    session_id: SessionId = None,
    namespace: Namespace = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="semantic, episodic or procedural.")
    ] = None,
    embedder: EmbedderName = "none",
    limit: Annotated[int, typer.Option(help="At most this many.")] = 10,
    min_score: Annotated[
        float | None,
        typer.Option(help="Only scores of at least this; the settings' min_score by default."),
    ] = None,
    min_words: Annotated[
        float,
        typer.Option(
            help="Only entries with at least this share of the query's words, function words "
            "aside, or with --min-cosine."
        ),
    ] = 0.0,
    min_cosine: Annotated[
        float,
        typer.Option(help="Only entries with at least this cosine, or with --min-words."),
    ] = -1.0,
    legs: Annotated[
        str | None,
        typer.Option(help="text, vector, or text,vector; also package.module:object."),
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    now: Annotated[
        str | None, typer.Option(help="Instant ages are counted from, ISO 8601 with an offset.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Instant the store is seen at, ISO 8601 with an offset.")
    ] = None,
    settings: SettingsFile = None,
    preset: Preset = None,
    change: Changes = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every part of a score.")] = False,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Say where this entry stands, whether it is found or not, and why."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank the memories of a store for a query."""
    scope = chosen_scope(
        user_id=user_id, agent_id=agent_id, session_id=session_id, namespace=namespace
    )
    chosen = chosen_settings(settings, preset, change)
    if legs is not None:
        chosen = chosen.replace(legs=parse_value("legs", legs))
    if depth is not None:
        chosen = chosen.replace(depth=depth)
    with opened(store, exists=True) as found:
        hits = Search(found, open_embedder(embedder), settings=chosen)(
            query,
            scope=scope,
            type=type_,
            limit=limit,
            min_score=min_score,
            min_words=min_words,
            min_cosine=min_cosine,
            now=None if now is None else parse_instant(now),
            as_of=None if as_of is None else parse_instant(as_of),
        )
        missing = "" if hits or hits.suppressed else _nobody(found, scope)
        reason = None if why is None else hits.explain(why)
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
            "settings": hits.settings.to_dict(),
            "hits": rows,
            "suppressed": suppressed,
            "degraded": hits.degraded,
        }
        if explain:
            for row in rows:
                row["parts"] = frame_records(hits.explain(row["rank"]))
        if reason is not None:
            document["why"] = {**reason.attrs, "parts": frame_records(reason)}
        print_json(document)
        return
    named = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    print_table(
        [{name: row[name] for name in named} for row in rows], title=repr(hits.settings)
    )  # without the columns of a leg that was not read
    if suppressed:
        typer.echo(f"{len(suppressed)} more would rank without decay:")
        print_table(suppressed)
    if reason is not None:
        typer.echo(f"{why}: {reason.attrs['why']}")
        if len(reason):
            print_table(frame_records(reason), title=f"score {reason.attrs['score']:.4f}")


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
