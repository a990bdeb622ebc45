"""Dates that are no ISO 8601, told once for a column, with what reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Final

from nousmem.corpora.tables import Problems, Row
from nousmem.entry import parse_instant
from nousmem.errors import InvalidEntry

__all__ = ["without_foreign_dates"]

_DAYS: Final = ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%m-%Y")
_TIMES: Final = ("", " %H:%M", " %H:%M:%S")
_FORMATS: Final = tuple(map("".join, product(_DAYS, _TIMES)))


def without_foreign_dates(
    rows: Sequence[Row],
    columns: Mapping[str, str],
    names: Collection[str],
    *,
    what: str,
    problems: Problems,
    instead: datetime,
) -> list[Row]:
    """Return rows with `instead` for every text that is no instant, which go to `problems`.

    One date in a row would else hide what more is wrong there, and in what refers to it.

    Args:
        rows: The table.
        columns: Field to column.
        names: The fields that are instants.
        what: What the table holds, for messages.
        problems: Gets one line for a column.
        instead: Stands for them while the rest is checked.
    """
    replaced = [dict(row) for row in rows]
    for name in names:
        column = columns.get(name)
        if column is None:
            continue
        wrong = {
            number: cell
            for number, row in enumerate(rows)
            if isinstance(cell := row.get(column), str) and not _is_instant(cell)
        }
        if wrong:
            there = sum(row.get(column) is not None for row in rows)
            problems.add(f"{what}: {_told(name, column, wrong, there)}")
        for number in wrong:
            replaced[number][column] = instead
    return list[Row](replaced)


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text, assume_utc=True)
    except InvalidEntry:
        return False
    return True


def _told(name: str, column: str, wrong: Mapping[int, str], there: int) -> str:
    """Return how many values are no instants, the first of them, and what would read them."""
    number, first = next(iter(wrong.items()))
    what = "is no ISO 8601 instant" if len(wrong) == 1 else "are no ISO 8601 instants"
    told = (
        f"{len(wrong):,} of {there:,} values of {name} {what} such as 2026-03-15T12:00:00Z, "
        f"the first {first[:60]!r} in row {number + 1}"
    )
    fitting = [form for form in _FORMATS if all(_fits(text, form) for text in wrong.values())]
    if not fitting or len(wrong) < there:  # pandas would stumble over the others
        return told
    forms = " or ".join(map(repr, fitting))
    return f"{told} (in Python: pd.to_datetime(table[{column!r}], format={forms}))"


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text.strip(), form)  # noqa: DTZ007  # only asked whether it can be read
    except ValueError:
        return False
    return True
