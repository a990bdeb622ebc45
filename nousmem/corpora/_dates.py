"""The date formats of published corpora, read without regard to the machine's language."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

__all__ = ["TIMELESS", "parse_beam_anchor", "parse_locomo_date", "parse_longmemeval_date"]

TIMELESS: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The one date of everything in a corpus that has no time in it: all ages are 0."""

_MONTHS: Final[list[str]] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]

_LOCOMO: Final = re.compile(
    r"(\d{1,2}):(\d{2}) *(am|pm) on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE
)
_LONGMEMEVAL: Final = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: \(\w+\))?(?: (\d{1,2}):(\d{2}))?")
_BEAM: Final = re.compile(r"([a-z]+)[- ](\d{1,2})[-, ]+(\d{4})", re.IGNORECASE)


def parse_locomo_date(text: str) -> datetime:
    """Read `1:56 pm on 8 May, 2023`, as UTC.

    Raises:
        ValueError: the text is not such a date.
    """
    match = _LOCOMO.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a date such as '1:56 pm on 8 May, 2023'")
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12:
        raise ValueError(f"hour {hour} on a twelve-hour clock")
    hour24 = int(hour) % 12 + (12 if half.lower() == "pm" else 0)
    return datetime(int(year), _month(month), int(day), hour24, int(minute), tzinfo=UTC)


def parse_longmemeval_date(text: str) -> datetime:
    """Read `2023/05/20 (Sat) 02:21`, as UTC; a missing time of day is midnight.

    Raises:
        ValueError: the text is not such a date.
    """
    match = _LONGMEMEVAL.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a date such as '2023/05/20 (Sat) 02:21'")
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def parse_beam_anchor(text: str) -> datetime:
    """Read `March-15-2024`, as midnight UTC.

    Raises:
        ValueError: the text is not such a date.
    """
    match = _BEAM.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a date such as 'March-15-2024'")
    month, day, year = match.groups()
    return datetime(int(year), _month(month), int(day), tzinfo=UTC)


def _month(name: str) -> int:
    try:
        return _MONTHS.index(name.lower()) + 1
    except ValueError:
        raise ValueError(f"no month is called {name!r}") from None
