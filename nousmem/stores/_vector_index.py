"""Exact cosine search over a float32 matrix that is kept ready and changed in place.

One component for every store of ours that searches vectors itself. A search is one
matrix-vector product over the rows that pass the filter: it grows linearly with them. Adding a
row costs the row (the matrix doubles its room when full); nothing is rebuilt or copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry, Vector, epoch_microseconds
from nousmem.errors import EmbeddingMismatch
from nousmem.scope import SCOPE_FIELDS
from nousmem.stores.filters import EntryFilter

__all__ = ["EmbeddingSpace", "VectorIndex", "VectorRow", "space_of"]

_CODED = (*SCOPE_FIELDS, "type")
_GATHER_SHARE = 3  # copying rows out costs about three times as much as multiplying them in place
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What every vector of a store has in common."""

    dimension: int
    embedder: str | None
    """Fingerprint; None while every vector was set by hand."""

    @classmethod
    def joined(
        cls, known: EmbeddingSpace | None, entries: Iterable[Entry]
    ) -> EmbeddingSpace | None:
        """Return the space after `entries` have joined; None while nothing has a vector.

        Raises:
            EmbeddingMismatch: an entry's vector has another length or embedder.
        """
        for entry in entries:
            if entry.embedding is not None:
                if known is None:
                    known = cls(entry.embedding.size, entry.embedder)
                known.check(entry.embedding, entry.embedder, what=f"entry {entry.id!r}")
                if known.embedder is None and entry.embedder is not None:
                    known = cls(known.dimension, entry.embedder)
        return known

    def check(self, vector: Vector, embedder: str | None, *, what: str) -> None:
        """Raise EmbeddingMismatch unless a vector belongs to this space."""
        if embedder is not None and self.embedder is not None and embedder != self.embedder:
            raise EmbeddingMismatch(
                f"{what} was embedded by {embedder!r}, but this store holds vectors of "
                f"{self.embedder!r}: embed with that one, or change the store with reembed"
            )
        if vector.size != self.dimension:
            raise EmbeddingMismatch(
                f"{what} has a vector of length {vector.size} from "
                f"{embedder or 'an unnamed embedder'}, but this store holds length "
                f"{self.dimension} from {self.embedder or 'an unnamed embedder'}: embed with that "
                "one, or change the store with reembed"
            )


@dataclass(frozen=True, slots=True)
class VectorRow:
    """What the index keeps of an entry."""

    entry_id: str
    vector: Vector
    codes: tuple[Any, ...]
    """Values of agent_id, session_id, user_id, namespace and type."""
    created_at: int
    """Microseconds since 1970."""
    superseded_at: int | None

    @classmethod
    def of(cls, entry: Entry) -> VectorRow:
        """Return the row of an entry that has an embedding."""
        assert entry.embedding is not None
        superseded = entry.superseded_at
        return cls(
            entry.id,
            entry.embedding,
            tuple(getattr(entry, name) for name in _CODED),
            epoch_microseconds(entry.created_at),
            None if superseded is None else epoch_microseconds(superseded),
        )


class VectorIndex:
    """Rows of unit vectors with the columns that filters ask about."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._unit: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._codes: NDArray[np.int32] = np.empty((0, len(_CODED)), dtype=np.int32)
        self._created: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._superseded: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._vocabularies: tuple[dict[Any, int], ...] = tuple({} for _ in _CODED)
        self._n_superseded = 0

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> list[str]:
        """Return the ids of the entries in the index, in no particular order."""
        return list(self._ids)

    def put(self, rows: Sequence[VectorRow]) -> None:
        """Add rows, replacing those with the same entry id; the last of equal ids wins."""
        latest = list({row.entry_id: row for row in rows}.values())
        if not latest:
            return
        self.put_columns(
            [row.entry_id for row in latest],
            np.stack([row.vector for row in latest]),
            list(zip(*(row.codes for row in latest), strict=True)),
            [row.created_at for row in latest],
            [row.superseded_at for row in latest],
        )

    def put_columns(
        self,
        entry_ids: Sequence[str],
        vectors: NDArray[np.float32],
        coded: Sequence[Sequence[Any]],
        created_at: Sequence[int],
        superseded_at: Sequence[int | None],
    ) -> None:
        """Add n rows given as columns, replacing those with the same entry id.

        Args:
            entry_ids: Length n, all different.
            vectors: Shape (n, dimension).
            coded: Values of agent_id, session_id, user_id, namespace and type, length n each.
            created_at: Microseconds since 1970.
            superseded_at: The same, or None.
        """
        self.remove(entry_ids)
        if not entry_ids:
            return
        start, stop = len(self._ids), len(self._ids) + len(entry_ids)
        self._reserve(stop, vectors.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        np.divide(vectors, norms[:, np.newaxis], out=self._unit[start:stop], casting="same_kind")
        for column, (vocabulary, values) in enumerate(zip(self._vocabularies, coded, strict=True)):
            self._codes[start:stop, column] = [
                vocabulary.setdefault(value, len(vocabulary)) for value in values
            ]
        self._created[start:stop] = created_at
        self._superseded[start:stop] = [_NEVER if at is None else at for at in superseded_at]
        self._n_superseded += sum(at is not None for at in superseded_at)
        self._ids.extend(entry_ids)
        self._row_of.update(zip(entry_ids, range(start, stop), strict=True))

    def remove(self, entry_ids: Iterable[str]) -> None:
        """Remove the rows of these entries; unknown ids are passed over."""
        for entry_id in entry_ids:
            row = self._row_of.pop(entry_id, None)
            if row is None:
                continue
            self._n_superseded -= int(self._superseded[row] != _NEVER)
            last = len(self._ids) - 1
            if row != last:
                for column in (self._unit, self._codes, self._created, self._superseded):
                    column[row] = column[last]
                self._ids[row] = self._ids[last]
                self._row_of[self._ids[row]] = row
            self._ids.pop()
        if not self._ids:
            # An empty index accepts any dimension again.
            self._unit = np.empty((0, 0), dtype=np.float32)

    def search(
        self,
        vector: Vector,
        *,
        entry_filter: EntryFilter,
        allowed: Iterable[str] | None = None,
        limit: int | None,
        min_score: float,
    ) -> list[tuple[str, float]]:
        """Return (entry id, cosine) with cosine > `min_score`, best first, ties by descending id.

        Args:
            vector: Shape (dimension,), of the index's dimension.
            entry_filter: Its conditions on scope fields and type, `as_of` and superseded state
                are applied here.
            allowed: Ids that pass the conditions the index has no column for; None when
                `covers` says there are none.
            limit: At most this many; None is all.
            min_score: Cosine, -1 to 1.
        """
        if not self._ids or limit == 0:
            return []
        rows = self._matching_rows(entry_filter, allowed)
        unit = (vector / np.linalg.norm(vector.astype(np.float64))).astype(np.float32)
        matrix = self._unit[: len(self._ids)]
        if rows is None or rows.size > len(matrix) // _GATHER_SHARE:
            scores = matrix @ unit if rows is None else (matrix @ unit)[rows]
        else:
            scores = matrix[rows] @ unit
        kept = np.flatnonzero(scores > min_score)
        if limit is not None and kept.size > limit:
            # Everything that ties with the last place stays until ids have decided.
            cut = np.partition(scores[kept], kept.size - limit)[kept.size - limit]
            kept = kept[scores[kept] >= cut]
        found = [
            (self._ids[at if rows is None else rows[at]], float(min(scores[at], 1.0)))
            for at in kept.tolist()
        ]
        found.sort(key=lambda pair: pair[0], reverse=True)
        found.sort(key=lambda pair: -pair[1])
        return found[:limit]

    @staticmethod
    def covers(entry_filter: EntryFilter) -> bool:
        """Whether the index can apply every condition itself."""
        return all(name in _CODED for name, _ in entry_filter.conditions)

    def _matching_rows(
        self, entry_filter: EntryFilter, allowed: Iterable[str] | None
    ) -> NDArray[np.intp] | None:
        n = len(self._ids)
        masks: list[NDArray[np.bool_]] = []
        for name, wanted in entry_filter.conditions:
            if name in _CODED:
                column = _CODED.index(name)
                code = self._vocabularies[column].get(wanted, -1)
                masks.append(self._codes[:n, column] == code)
        if entry_filter.as_of is not None:
            as_of = epoch_microseconds(entry_filter.as_of)
            masks.append(self._created[:n] <= as_of)
            if not entry_filter.include_superseded:
                masks.append(self._superseded[:n] > as_of)
        elif self._n_superseded and not entry_filter.include_superseded:
            masks.append(self._superseded[:n] == _NEVER)
        if allowed is not None:
            mask = np.zeros(n, dtype=bool)
            mask[[self._row_of[i] for i in allowed if i in self._row_of]] = True
            masks.append(mask)
        if not masks:
            return None
        return np.flatnonzero(np.logical_and.reduce(masks))

    def _reserve(self, rows: int, dimension: int) -> None:
        if self._unit.shape[1] != dimension:
            self._unit = np.empty((0, dimension), dtype=np.float32)
        room = len(self._unit)
        if rows > room or len(self._created) < rows:
            grown = max(rows, 2 * room, 64)
            n = len(self._ids)
            self._unit = _grow(self._unit, n, grown)
            self._codes = _grow(self._codes, n, grown)
            self._created = _grow(self._created, n, grown)
            self._superseded = _grow(self._superseded, n, grown)


def _grow(array: NDArray[Any], used: int, rows: int) -> NDArray[Any]:
    larger = np.empty((rows, *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


def space_of(entries: Iterable[Entry]) -> EmbeddingSpace | None:
    """Return the space that entries already in a store share."""
    dimensions: Counter[int] = Counter()
    embedder: str | None = None
    for entry in entries:
        if entry.embedding is not None:
            dimensions[entry.embedding.size] += 1
            embedder = embedder or entry.embedder
    return EmbeddingSpace(next(iter(dimensions)), embedder) if dimensions else None
