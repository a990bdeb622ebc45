"""The contract between the memory system and the place where entries live.

Anyone may write a store: a class with these operations is one, nothing has to be inherited or
registered. `nousmem.testing.StoreConformance` checks a store against everything said here.

Source: specification, "Bringing Your Own Backend".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self, TypeGuard, runtime_checkable

from numpy.typing import ArrayLike

from nousmem.entry import Entry, MemoryType
from nousmem.scope import GLOBAL, ScopeLike

__all__ = [
    "Closing",
    "Fault",
    "KeptStore",
    "ScoredEntries",
    "Store",
    "TouchStore",
    "VectorStore",
    "searches_vectors",
]

ScoredEntries = Sequence[tuple[Entry, float]]
"""Entries with their scores, best first; equal scores by descending id."""


@runtime_checkable
class Store(Protocol):
    """Where entries live. Seven operations are required: opening, and the six below.

    Opening is the class's own business (a constructor, a function); the object is its state.

    Filters mean the same in every operation that takes them, and are applied before any cut:

    - `scope`: a Scope or a mapping of Entry fields to wanted values, compared for exact
      equality (None in a mapping: the field is unset); an unknown field, a wrong value type or
      anything else raises InvalidScope.
    - `type`: only entries of this memory type; an unknown one raises InvalidEntry.
    - `as_of`: the store as seen at that instant: entries created after it are invisible, and so
      is an entry superseded by then. None is the present: nothing superseded is visible.
    - `limit`: at most this many, best first; 0 is none; a negative one raises InvalidParameter.

    They are checked whatever the store holds, and before anything else is done. Scores are
    floats, larger is better; equal scores stand by descending id (code points), before the cut.

    A write is all or nothing, and a reader never sees half of it. If the process dies, an entry
    is in both index and table, or absent from both. Several threads may use a store at once.

    Ids are text, compared exactly; an id of another type, and one text in place of several ids,
    raise InvalidParameter. `nousmem.stores.filters` checks all of it for those who write a store.
    """

    def put(self, entries: Iterable[Entry], /) -> int:
        """Store entries, replacing those whose id exists; return how many were given.

        All or nothing: when one is refused, or the iterable raises, none is stored. Of two
        entries with one id the last wins; both are counted. Nothing of a replaced entry stays
        findable. A store whose last vector is gone accepts any embedder again.

        Raises:
            InvalidEntry: something given is no entry, or it is one entry instead of several.
            EmbeddingMismatch: an embedding has another length, or another embedder's
                fingerprint, than those in the store or given with it.
        """
        ...

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry with this id, superseded or not.

        Raises:
            EntryNotFound: there is none.
        """
        ...

    def update(self, entry_id: str, /, *, now: datetime | None = None, **changes: Any) -> Entry:
        """Change fields of one entry and return the new entry.

        `updated_at` becomes `now` (None: the wall clock). A new content without a new embedding
        drops the old vector; the same content keeps it. Metadata is replaced, not merged. `id`
        cannot change.

        Raises:
            EntryNotFound: there is no such entry.
            InvalidEntry: a field is unknown, cannot change, or the value is not valid.
            InvalidVector, EmbeddingMismatch: a new embedding is not one, or not of this store's.
        """
        ...

    def delete(self, entry_ids: Iterable[str], /) -> int:
        """Remove the entries with these ids; return how many existed, each once."""
        ...

    def list(
        self,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Entry]:
        """Return entries, the oldest first (`created_at`, then id)."""
        ...

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
        """Return the entries whose text matches, with score > `min_score`, best first.

        A score is a similarity: larger is better. `query` is a user's text, never syntax; no
        text is an error, and blank text finds nothing.
        """
        ...


@runtime_checkable
class VectorStore(Store, Protocol):
    """A store that also searches vectors: detected by the presence of `search_vector`.

    A store that cannot must not define the method at all.
    """

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
        """Return entries by the cosine of their embedding with `vector`, where > `min_score`.

        Args:
            vector: Shape (dimension,), finite, not all zeros.
            embedder: Fingerprint of the embedder that made it; None is not checked.

        Raises:
            InvalidVector: the vector is not one.
            EmbeddingMismatch: it has another length or embedder than those in the store,
                whatever the filters let through.
        """
        ...


def searches_vectors(store: Store) -> TypeGuard[VectorStore]:
    """Whether the store can search vectors: whether the method is there."""
    return callable(getattr(store, "search_vector", None))


@runtime_checkable
class TouchStore(Store, Protocol):
    """A store that can record many accesses in one write."""

    def touch(self, entry_ids: Iterable[str], /, *, now: datetime) -> int:
        """Add one to `access_count` and set `last_accessed_at`; return how many existed, each once.

        `updated_at` stays: reading is not changing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a store that does not fit together."""

    what: str
    """What is wrong, and where."""
    count: int
    """How many rows it concerns."""
    repaired: bool = False
    """Whether `check` mended it."""


@runtime_checkable
class KeptStore(Store, Protocol):
    """A store that can be looked after: erased in part, made smaller, checked."""

    def forget(self, scope: ScopeLike, /, *, everything: bool = False) -> int:
        """Remove every entry of a scope from rows, index and vectors; return how many.

        Superseded entries go too. A scope that narrows nothing is refused, unless `everything`
        says that all entries are meant.

        Raises:
            InvalidScope: the scope narrows nothing and `everything` is off, or the reverse.
        """
        ...

    def compact(self) -> None:
        """Give back the room of what was deleted; afterwards its text is no longer stored."""
        ...

    def check(self, *, repair: bool = False) -> Sequence[Fault]:
        """Compare table, index and vectors; return what does not fit, mended if `repair`."""
        ...


class Closing:
    """Gives a store with a `close` method the `with` statement."""

    def close(self) -> None:
        """Release what the store holds; closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
