"""Entries and filters as PostgreSQL writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from nousmem.entry import Entry, MemoryType, Vector, parse_vector
from nousmem.errors import InvalidEntry
from nousmem.scope import SCOPE_FIELDS
from nousmem.stores._rows import entry_of
from nousmem.stores.filters import EntryFilter, check_limit

__all__ = [
    "COLUMN_TYPES",
    "Joined",
    "RowFilter",
    "bigint_limit",
    "check_indexable",
    "direction",
    "encode",
    "entry_from",
    "fetch_with_ties",
    "row_filter",
    "vector_row",
]

COLUMN_TYPES: Final = {
    "importance": "float8",
    "evergreen": "bool",
    "access_count": "int8",
    "created_at": "timestamptz",
    "updated_at": "timestamptz",
    "last_accessed_at": "timestamptz",
    "superseded_at": "timestamptz",
}
"""Types of the columns of an entry that are not text inside."""

MAX_INDEXED_BYTES: Final = 2600
"""A B-tree holds values of a third of a page at most."""

_HIGHEST_LIMIT: Final = 2**40  # more than any table holds, and still a bigint when multiplied
# Between these lengths the squares of a vector's numbers are well inside float32.
_SAFE_NORMS: Final = (1e-9, 1e9)


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts of a SELECT from a table with a `seq`, that let through certain entries."""

    before: str
    """A WITH clause, or nothing."""
    join: str
    condition: str
    values: Sequence[Any]
    """Of the only part that has any."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The filters of a search, as SQL."""

    condition: str
    """Over the entries table, alias e."""
    values: Sequence[Any]
    only_present: bool
    """Whether it asks for nothing but entries that are not superseded."""

    def joined(self, alias: str) -> Joined:
        """Return the filter for a table with one row for each entry."""
        if self.only_present:
            # Few entries are superseded, and an index knows them: no need to read the rest.
            replaced = "SELECT seq FROM entries WHERE superseded_at IS NOT NULL"
            return Joined("", "", f"{alias}.seq NOT IN ({replaced})", ())
        return Joined("", f"JOIN entries AS e ON e.seq = {alias}.seq", self.condition, self.values)

    def joined_once(self, alias: str) -> Joined:
        """Return the filter for a table with many rows for each entry.

        The entries that pass are read once; a plain join would look up the entry of each row.
        """
        if self.only_present:
            return self.joined(alias)
        return Joined(
            before="WITH chosen AS MATERIALIZED "
            f"(SELECT e.seq FROM entries AS e WHERE {self.condition})",
            join=f"JOIN chosen ON chosen.seq = {alias}.seq",
            condition="TRUE",
            values=self.values,
        )


def row_filter(entry_filter: EntryFilter) -> RowFilter:
    """Return the filters with comparisons that PostgreSQL has indexes for."""
    condition, values = entry_filter.sql(encode=encode, placeholder="%s")
    return RowFilter(condition, values, only_present=condition == "e.superseded_at IS NULL")


def bigint_limit(limit: int | None) -> int | None:
    """Return `limit` as `check_limit` does, and never beyond what a bigint holds.

    Raises:
        InvalidParameter: it is neither a whole number of at least 0 nor None.
    """
    checked = check_limit(limit)
    return None if checked is None else min(checked, _HIGHEST_LIMIT)


def check_indexable(entry: Entry) -> None:
    """Raise InvalidEntry if an id or scope field is longer than an index holds."""
    for name in ("id", *SCOPE_FIELDS):
        value = getattr(entry, name)
        if value is not None and len(value.encode()) > MAX_INDEXED_BYTES:
            raise InvalidEntry(
                f"{name} may be {MAX_INDEXED_BYTES} bytes long in PostgreSQL, got "
                f"{len(value.encode())}: keep long text in content or metadata"
            )


def encode(value: Any) -> Any:
    """Return one value of an entry or a filter as the driver takes it."""
    if isinstance(value, MemoryType):
        return str(value)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return value


def direction(vector: Vector) -> Vector:
    """Return the vector of length 1 that points the same way."""
    return parse_vector(vector / np.linalg.norm(vector.astype(np.float64)))


def vector_row(seq: int, vector: Vector) -> tuple[int, Vector, bytes | None]:
    """Return a row of the table of vectors: seq, what is searched, the original if it differs.

    pgvector computes in float32: of a vector that is too long or short for that, its direction
    is searched.
    """
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if _SAFE_NORMS[0] <= norm <= _SAFE_NORMS[1]:
        return seq, vector, None
    return seq, direction(vector), vector.astype("<f4").tobytes()


def entry_from(row: Sequence[Any]) -> Entry:
    """Return the entry of a row: its vector as searched, its original vector, `COLUMNS`."""
    searched, original, *values = row
    return entry_of(values, _embedding(searched, original), decode_instant=_utc)


def _embedding(searched: Any, original: bytes | None) -> Vector | None:
    if original is not None:
        return np.frombuffer(original, dtype="<f4")
    if searched is None:
        return None
    vector: Vector = searched.to_numpy()
    vector.flags.writeable = False
    return vector


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def fetch_with_ties(
    fetch: Callable[[int | None], Sequence[tuple[int, float]]], limit: int | None
) -> dict[int, float]:
    """Return the best `limit` rows and all that tie with the last.

    Args:
        fetch: Returns (seq, score) of the best n, best first.
        limit: How many; None is all.
    """
    n = None if limit is None else limit + 1
    while True:
        found = fetch(n)
        if limit is None or n is None or len(found) < n or found[limit - 1][1] != found[-1][1]:
            return dict(found)
        n *= 4
