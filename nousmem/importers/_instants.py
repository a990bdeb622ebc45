"""When something was remembered, as different systems write it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from nousmem.corpora.reading import Node
from nousmem.entry import parse_instant
from nousmem.errors import InvalidEntry

__all__ = ["read_instant"]

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")
_UTC_IN_WORDS: Final = re.compile(r" ?(UTC|GMT)$", re.IGNORECASE)

# 10^11 seconds are the year 5138, 10^11 milliseconds 1973: the sizes of the units do not overlap
# for any date that a memory can have.
_UNITS: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def read_instant(node: Node, *, assume_utc: bool) -> datetime:
    """Return the instant at this place, in UTC.

    Args:
        node: ISO 8601 text with an offset, `Z` or `UTC`; or seconds, milliseconds, microseconds or
            nanoseconds since 1970, told apart by their size, as a number or as text.
        assume_utc: Read a time without an offset as UTC, instead of refusing it.

    Raises:
        CorpusError: not an instant, or one without an offset.
    """
    value = _number(node.value)
    if isinstance(value, str):
        value = _UTC_IN_WORDS.sub("+00:00", value.strip())
        if not assume_utc and _is_naive(value):
            raise node.error(
                f"the time {node.value!r} has no offset from UTC: pass assume_utc=True "
                "(--assume-utc) if it is UTC"
            )
    try:
        return parse_instant(value, assume_utc=assume_utc)
    except InvalidEntry as error:
        raise node.error(str(error)) from None


def _number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        # Four or eight digits are a year or a date, which ISO 8601 writes so too.
        value = text if len(text) in (4, 8) else float(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next((value / unit for size, unit in _UNITS if abs(value) >= size), value)
    return value


def _is_naive(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).utcoffset() is None
    except ValueError:
        return False
