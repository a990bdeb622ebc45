"""The reference store: entries in a dictionary, gone when the process ends.

Text search is the documented one, grapheme Jaro over whole texts (specification, "ETS
(In-Memory)"): it compares the query with every entry in scope, and suits small stores. Unlike
the original, this store searches vectors too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from numpy.typing import ArrayLike

from nousmem.entry import Entry, MemoryType, parse_instant, parse_vector, with_own_metadata
from nousmem.errors import EntryNotFound, InvalidEntry
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores._jaro import Folded, fold, nearest
from nousmem.stores._results import all_entries, best_first
from nousmem.stores._vector_index import EmbeddingSpace, VectorIndex, VectorRow
from nousmem.stores.base import Closing, Fault, ScoredEntries
from nousmem.stores.filters import (
    EntryFilter,
    check_entries,
    check_id,
    check_ids,
    check_limit,
    check_min_score,
    check_query,
)

__all__ = ["MemoryStore"]


class MemoryStore(Closing):
    """Entries in this process, for development, tests and agents that need not remember."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._folded: dict[str, Folded] = {}
        self._index = VectorIndex()
        self._space: EmbeddingSpace | None = None

    def __repr__(self) -> str:
        """Show how many entries there are."""
        return f"MemoryStore({len(self._entries):,} entries)"

    def put(self, entries: Iterable[Entry], /) -> int:
        """Store entries, replacing those whose id exists; return how many were given."""
        given = check_entries(entries)
        latest = {entry.id: with_own_metadata(entry) for entry in given}
        with self._lock:
            replaces_all = self._index.ids() and set(self._index.ids()) <= latest.keys()
            known = None if replaces_all else self._space
            space = EmbeddingSpace.joined(known, latest.values())
            self._index.remove(latest)
            self._entries.update(latest)
            self._folded.update((i, fold(entry.content)) for i, entry in latest.items())
            self._index.put(
                [VectorRow.of(entry) for entry in latest.values() if entry.embedding is not None]
            )
            self._space = space if len(self._index) else None
        return len(given)

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry with this id."""
        wanted = check_id(entry_id)
        with self._lock:
            try:
                return with_own_metadata(self._entries[wanted])
            except KeyError:
                raise EntryNotFound(wanted) from None

    def update(self, entry_id: str, /, *, now: datetime | None = None, **changes: Any) -> Entry:
        """Change fields of one entry and return the new entry."""
        moment = datetime.now(UTC) if now is None else parse_instant(now)
        if "id" in changes:
            raise InvalidEntry("id cannot change; delete the entry and put a new one")
        with self._lock:
            changed = self.get(entry_id).replace(**{"updated_at": moment, **changes})
            self.put([changed])
        return changed

    def delete(self, entry_ids: Iterable[str], /) -> int:
        """Remove the entries with these ids; return how many existed."""
        ids = check_ids(entry_ids)
        with self._lock:
            present = [entry_id for entry_id in ids if entry_id in self._entries]
            for entry_id in present:
                del self._entries[entry_id], self._folded[entry_id]
            self._index.remove(present)
            if not len(self._index):
                self._space = None
        return len(present)

    def touch(self, entry_ids: Iterable[str], /, *, now: datetime) -> int:
        """Record one access of each entry; return how many existed."""
        moment, ids = parse_instant(now), check_ids(entry_ids)
        with self._lock:
            present = [entry_id for entry_id in ids if entry_id in self._entries]
            for entry_id in present:
                entry = self._entries[entry_id]
                self._entries[entry_id] = entry.replace(
                    access_count=entry.access_count + 1, last_accessed_at=moment
                )
        return len(present)

    def forget(self, scope: ScopeLike, /, *, everything: bool = False) -> int:
        """Remove every entry of a scope, superseded ones too; return how many."""
        erased = EntryFilter.to_forget(scope, everything=everything)
        with self._lock:
            return self.delete([i for i, entry in self._entries.items() if erased.matches(entry)])

    def compact(self) -> None:
        """Do nothing: what is deleted is gone at once."""

    def check(self, *, repair: bool = False) -> Sequence[Fault]:
        """Compare entries, folded texts and vectors; return what does not fit together."""
        with self._lock:
            embedded = {i for i, entry in self._entries.items() if entry.embedding is not None}
            strays = len(embedded ^ set(self._index.ids()))
            strays += len(self._entries.keys() ^ self._folded.keys())
            if strays and repair:
                self._folded = {i: fold(entry.content) for i, entry in self._entries.items()}
                self._index = VectorIndex()
                self._index.put([VectorRow.of(self._entries[i]) for i in embedded])
        return [Fault("entries that index and table disagree on", strays, repair)] if strays else []

    def list(
        self,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Entry]:
        """Return entries, the oldest first; looks at every entry."""
        with self._lock:
            found = all_entries(
                self._entries,
                limit=limit,
                scope=scope,
                type=type,
                as_of=as_of,
                include_superseded=include_superseded,
            )
        return [with_own_metadata(entry) for entry in found]

    def search_text(
        self,
        query: str,
        /,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int = 10,
        min_score: float = 0.0,
        as_of: datetime | None = None,
    ) -> ScoredEntries:
        """Return entries by the Jaro similarity of their whole text with the query, 0 to 1."""
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        text, floor, wanted = check_query(query), check_min_score(min_score), check_limit(limit)
        if not text.strip():
            return []
        with self._lock:
            seen = [entry for entry in self._entries.values() if entry_filter.matches(entry)]
            folded = [self._folded[entry.id] for entry in seen]
        found = nearest(
            text, folded, limit=len(folded) if wanted is None else wanted, min_score=floor
        )
        best = best_first(((seen[at], score) for at, score in found), limit=wanted)
        return [(with_own_metadata(entry), score) for entry, score in best]

    def search_vector(
        self,
        vector: ArrayLike,
        /,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int = 10,
        min_score: float = 0.0,
        as_of: datetime | None = None,
        embedder: str | None = None,
    ) -> ScoredEntries:
        """Return entries by cosine; one matrix-vector product over the rows that pass."""
        query = parse_vector(vector)
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        floor, wanted = check_min_score(min_score), check_limit(limit)
        with self._lock:
            if self._space is None:
                return []
            self._space.check(query, embedder, what="the query")
            allowed = None
            if not VectorIndex.covers(entry_filter):
                allowed = [i for i, entry in self._entries.items() if entry_filter.matches(entry)]
            found = self._index.search(
                query, entry_filter=entry_filter, allowed=allowed, limit=wanted, min_score=floor
            )
            return [(with_own_metadata(self._entries[i]), score) for i, score in found]
