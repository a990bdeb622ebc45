"""Whether the queries of tables of one's own can find anything at all in their scopes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final

from nousmem.corpora._corpus import Query
from nousmem.entry import Entry
from nousmem.errors import CorpusError
from nousmem.scope import as_filter

__all__ = ["check_reach"]

_VALUES_SHOWN: Final = 5


def check_reach(name: str, entries: Sequence[Entry], queries: Sequence[Query]) -> None:
    """Warn of queries whose scope holds no entry; refuse a corpus where that is true of all.

    Such a query finds nothing under any settings: mostly a scope column of the entries was not
    found, or its values are spelled otherwise there.

    Args:
        name: The corpus's name.
        entries: All of it.
        queries: Those that are measured.

    Raises:
        CorpusError: no query can find anything.
    """
    filled: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    stranded: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for query in queries:
        wanted = as_filter(query.scope)
        if not _holds(entries, wanted, filled):
            missing = [one for one in wanted if not _holds(entries, {one: wanted[one]}, filled)]
            stranded.setdefault(tuple(missing or wanted), []).append(wanted)
    if not stranded:
        return
    said = "; ".join(_told(fields, scopes, entries) for fields, scopes in stranded.items())
    if sum(map(len, stranded.values())) == len(queries):
        raise CorpusError(f"corpus {name!r}: no query can find anything: {said}")
    warnings.warn(f"corpus {name!r}: some queries cannot find anything: {said}", stacklevel=3)


def _holds(
    entries: Sequence[Entry],
    wanted: dict[str, str],
    filled: dict[tuple[str, ...], set[tuple[str, ...]]],
) -> bool:
    fields = tuple(wanted)
    if fields not in filled:
        filled[fields] = {tuple(getattr(entry, one) for one in fields) for entry in entries}
    return tuple(wanted.values()) in filled[fields]


def _told(fields: tuple[str, ...], scopes: list[dict[str, str]], entries: Sequence[Entry]) -> str:
    values = list(dict.fromkeys("/".join(scope[one] for one in fields) for scope in scopes))
    count = len(scopes)
    whose = f"the {' and '.join(fields)} of {count:,} {'query' if count == 1 else 'queries'}"
    told = f"no entry has {whose} ({_some(values)})"
    for field in fields:
        there = {value for entry in entries if (value := getattr(entry, field)) is not None}
        if there:
            told += f"; the {field} of entries: {_some(sorted(there))}"
            continue
        asked = [scope[field] for scope in scopes]  # a list: metadata may be unhashable
        column = next(
            (key for entry in entries for key, value in entry.metadata.items() if value in asked),
            None,
        )
        told += (
            f"; which column of the entries holds it? entries.{field}=COLUMN"
            if column is None
            else f"; the entries' column {column!r} seems to hold it: entries.{field}={column}"
        )
    return told


def _some(values: Sequence[str]) -> str:
    more = ", …" if len(values) > _VALUES_SHOWN else ""
    return ", ".join(values[:_VALUES_SHOWN]) + more
