"""What `scope`, `type`, `as_of` and `limit` mean: one reading of them for every store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from typing import Any, Final, cast

from nousmem.checks import check_whole
from nousmem.entry import Entry, MemoryType, parse_instant, parse_type
from nousmem.errors import EntryNotFound, InvalidEntry, InvalidParameter, InvalidScope
from nousmem.scope import GLOBAL, ScopeLike, as_filter

__all__ = [
    "EntryFilter",
    "check_entries",
    "check_id",
    "check_ids",
    "check_limit",
    "check_min_score",
    "check_query",
]

_HIGHEST_LIMIT: Final = 2**62


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries an operation sees: equal in every condition, and visible at `as_of`."""

    conditions: tuple[tuple[str, Any], ...] = ()
    """Field and wanted value; None wants the field unset."""
    as_of: datetime | None = None
    include_superseded: bool = False

    @classmethod
    def build(
        cls,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> EntryFilter:
        """Read the filters that store operations take.

        Raises:
            InvalidScope: an unknown field, or a value of the wrong type.
            InvalidEntry: an unknown memory type, or an `as_of` without a time zone.
        """
        conditions = list(as_filter(scope).items())
        if type is not None:
            conditions.append(("type", parse_type(type)))
        instant = None if as_of is None else parse_instant(as_of)
        return cls(tuple(conditions), instant, include_superseded)

    @classmethod
    def to_forget(cls, scope: ScopeLike, *, everything: bool) -> EntryFilter:
        """Read what `forget` takes.

        Raises:
            InvalidScope: the scope narrows nothing and `everything` is off, or the reverse.
        """
        chosen = cls.build(scope=scope, include_superseded=True)
        if not chosen.conditions and not everything:
            raise InvalidScope(
                "forget needs a scope that names somebody; to erase every entry of the store say "
                "forget(GLOBAL, everything=True)"
            )
        if chosen.conditions and everything:
            raise InvalidScope("give a scope or everything=True, not both")
        return chosen

    def matches(self, entry: Entry) -> bool:
        """Whether the entry is seen."""
        # A plain loop, and the scope first: stores in memory spend their time here.
        for name, wanted in self.conditions:
            if getattr(entry, name) != wanted:
                return False
        if self.as_of is not None and entry.created_at > self.as_of:
            return False
        replaced = entry.superseded_at
        if replaced is not None and not self.include_superseded:
            return self.as_of is not None and replaced > self.as_of
        return True

    def sql(
        self,
        *,
        encode: Callable[[Any], Any],
        placeholder: str = "?",
        table: str = "e",
    ) -> tuple[str, list[Any]]:
        """Return the filter as a SQL condition over the entries table, and its values.

        Args:
            encode: How the store writes a field's value.
            placeholder: The driver's mark for a value.
            table: Alias of the entries table.
        """
        # Column names come from Entry's own fields (checked in as_filter), never from a caller.
        if any(isinstance(wanted, str) and not _storable(wanted) for _, wanted in self.conditions):
            return "FALSE", []  # no entry holds such a text, and no driver takes it
        clauses = [
            f"{table}.{name} IS NULL" if wanted is None else f"{table}.{name} = {placeholder}"
            for name, wanted in self.conditions
        ]
        values = [encode(wanted) for _, wanted in self.conditions if wanted is not None]
        if self.as_of is not None:
            clauses.append(f"{table}.created_at <= {placeholder}")
            values.append(encode(self.as_of))
        if not self.include_superseded:
            if self.as_of is None:
                clauses.append(f"{table}.superseded_at IS NULL")
            else:
                clauses.append(
                    f"({table}.superseded_at IS NULL OR {table}.superseded_at > {placeholder})"
                )
                values.append(encode(self.as_of))
        return " AND ".join(clauses) or "TRUE", values


def check_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return what `put` was given, as a list; an error of the iterable itself comes out.

    Raises:
        InvalidEntry: it is one entry instead of several, or something in it is no entry.
    """
    given: object = entries
    if isinstance(given, Entry):
        raise InvalidEntry("put takes several entries, got one: give it in a list, put([entry])")
    if not isinstance(given, Iterable):
        raise InvalidEntry(f"put takes entries, got {type(given).__name__}")
    listed = list(cast("Iterable[object]", given))
    for entry in listed:
        if not isinstance(entry, Entry):
            raise InvalidEntry(f"put takes entries, got {type(entry).__name__}")
    return cast("list[Entry]", listed)


def check_id(entry_id: str) -> str:
    """Return the id that `get` or `update` was given.

    Raises:
        InvalidParameter: it is not text.
        EntryNotFound: no entry can have it: NUL or a lone surrogate is in it.
    """
    _check_id_type(entry_id)
    if not _storable(entry_id):
        raise EntryNotFound(entry_id)
    return entry_id


def check_ids(entry_ids: Iterable[str]) -> list[str]:
    """Return the ids that `delete` or `touch` was given, each once.

    Ids that no entry can have, with NUL or a lone surrogate in them, are left out.

    Raises:
        InvalidParameter: it is one text, whose letters are not meant, or an id is not text.
    """
    given: object = entry_ids
    if isinstance(given, str):
        raise InvalidParameter(f"expected several ids, got one: give it in a list, [{given!r}]")
    if not isinstance(given, Iterable):
        raise InvalidParameter(f"expected ids, got {type(given).__name__}: {given!r}")
    listed = list(entry_ids)
    for entry_id in listed:
        _check_id_type(entry_id)
    return [entry_id for entry_id in dict.fromkeys(listed) if _storable(entry_id)]


def _check_id_type(entry_id: object) -> None:
    if not isinstance(entry_id, str):
        raise InvalidParameter(f"an id is text, got {type(entry_id).__name__}: {entry_id!r}")


def _storable(text: str) -> bool:
    """Whether an entry may hold the text (see `Entry`)."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_limit(limit: int | None) -> int | None:
    """Return `limit`, a whole number of at least 0, or None where there is none.

    What exceeds every database's idea of a whole number is lowered: no store holds as much.

    Raises:
        InvalidParameter: it is something else.
    """
    if limit is None:
        return None
    return min(check_whole("limit", limit, least=0), _HIGHEST_LIMIT)


def check_min_score(min_score: float) -> float:
    """Return `min_score`, any number but NaN.

    Raises:
        InvalidParameter: it is something else.
    """
    number: object = min_score
    if isinstance(number, bool) or not isinstance(number, Real) or math.isnan(number):
        raise InvalidParameter(f"min_score must be a number, got {min_score!r}")
    return float(number)


def check_query(query: str) -> str:
    """Return `query` as valid Unicode text; NUL and lone surrogates become spaces.

    Raises:
        InvalidParameter: it is not text.
    """
    text: object = query
    if not isinstance(text, str):
        raise InvalidParameter(f"query must be text, got {type(text).__name__}: {text!r}")
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")
