"""The shared tail of retrieval, for any store that is an index plus a table of entries.

Source: specification, "The shared retrieval tail".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from nousmem.entry import Entry, MemoryType
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores._vector_index import EmbeddingSpace, space_of
from nousmem.stores.base import ScoredEntries
from nousmem.stores.filters import EntryFilter, check_limit, check_min_score

__all__ = [
    "all_entries",
    "best_first",
    "check_embeddings",
    "filter_by_scope",
    "oldest_first",
    "rank",
]


def rank(
    hits: Iterable[tuple[str, float]],
    table: Mapping[str, Entry],
    *,
    scope: ScopeLike = GLOBAL,
    type: MemoryType | str | None = None,
    limit: int | None = 10,
    min_score: float = 0.0,
    as_of: datetime | None = None,
) -> ScoredEntries:
    """Return the hits as entries: filtered, above `min_score`, best first, cut to `limit`.

    Args:
        hits: Ids with similarities (larger is better), in any order, as an index returns them.
            An id that `table` no longer has is dropped: index and table are written apart.
        table: The entries by id.
    """
    entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
    floor = check_min_score(min_score)
    kept = [
        (table[entry_id], score)
        for entry_id, score in hits
        if score > floor and entry_id in table and entry_filter.matches(table[entry_id])
    ]
    return best_first(kept, limit=limit)


def check_embeddings(entries: Mapping[str, Entry], table: Mapping[str, Entry]) -> None:
    """Raise EmbeddingMismatch unless the entries' vectors go with those that stay in `table`.

    Args:
        entries: What is about to be stored, by id.
        table: What is stored, by id; entries that would be replaced do not count.
    """
    staying = (entry for entry_id, entry in table.items() if entry_id not in entries)
    EmbeddingSpace.joined(space_of(staying), entries.values())


def best_first(scored: Iterable[tuple[Entry, float]], *, limit: int | None) -> ScoredEntries:
    """Return the scored entries by descending score, then descending id, cut to `limit`."""
    ordered = sorted(scored, key=lambda pair: pair[0].id, reverse=True)
    ordered.sort(key=lambda pair: -pair[1])
    return ordered[: check_limit(limit)]


def filter_by_scope(
    entries: Iterable[Entry],
    scope: ScopeLike,
    *,
    type: MemoryType | str | None = None,
    as_of: datetime | None = None,
    include_superseded: bool = False,
) -> list[Entry]:
    """Return the entries that the filters let through, in the order given."""
    entry_filter = EntryFilter.build(
        scope=scope, type=type, as_of=as_of, include_superseded=include_superseded
    )
    return [entry for entry in entries if entry_filter.matches(entry)]


def oldest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries in the order of `list`: `created_at`, then id."""
    return sorted(entries, key=lambda entry: (entry.created_at, entry.id))


def all_entries(
    table: Mapping[str, Entry], *, limit: int | None = None, **filters: Any
) -> list[Entry]:
    """Return what `list` returns: filtered, oldest first, cut to `limit`.

    Args:
        table: The entries by id.
        limit: At most this many.
        filters: scope, type, as_of, include_superseded, as `list` takes them.
    """
    entry_filter = EntryFilter.build(**filters)
    kept = [entry for entry in table.values() if entry_filter.matches(entry)]
    return oldest_first(kept)[: check_limit(limit)]
