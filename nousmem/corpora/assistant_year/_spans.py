"""Spans of time as people name them: in March, two weeks ago."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nousmem.corpora.assistant_year._dice import Dice
from nousmem.corpora.assistant_year._timeline import ASK_FROM, ASK_UNTIL, MONTHS, spoken_date

__all__ = ["Span", "absolute_spans", "relative_spans"]

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """What a phrase such as "two weeks ago" covers, seen from when it is said."""

    words: str
    asked: datetime
    start: datetime
    end: datetime
    """Not included."""
    margin: timedelta = timedelta(0)
    """How far outside the span a listener might still accept."""

    def holds(self, moment: datetime) -> bool:
        """Return whether `moment` lies in the span."""
        return self.start <= moment < self.end

    def doubtful(self, moment: datetime) -> bool:
        """Return whether `moment` lies outside, but so near that people would disagree."""
        wide = self.start - self.margin <= moment < self.end + self.margin
        return wide and not self.holds(moment)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(moment: datetime) -> tuple[datetime, datetime]:
    start = _midnight(moment).replace(day=1)
    return start, (start + 32 * _DAY).replace(day=1)


def absolute_spans(dice: Dice, moment: datetime) -> Span | None:
    """Return a span named by the calendar that holds `moment`, said weeks later.

    None when the year ends before it could be said.
    """
    first, following = _month(moment)
    earliest = max(ASK_FROM, following + 5 * _DAY)
    if earliest >= ASK_UNTIL:
        return None
    asked = earliest + dice.unit() * (ASK_UNTIL - earliest)
    asked = asked.replace(microsecond=0)
    name = MONTHS[moment.month - 1]
    choice = dice.between(0, 3)
    if choice == 0:
        start = _midnight(moment)
        return Span(f"on {spoken_date(moment)}", asked, start, start + _DAY, 2 * _DAY)
    if choice == 1 and moment.day <= 10:
        return Span(f"in early {name}", asked, first, first + 10 * _DAY, 6 * _DAY)
    if choice == 1 and moment.day > 21:
        return Span(f"towards the end of {name}", asked, first + 21 * _DAY, following, 6 * _DAY)
    words = dice.pick((f"in {name}", f"back in {name}", f"sometime in {name}"))
    return Span(words, asked, first, following)


def relative_spans(dice: Dice, moment: datetime) -> Span | None:
    """Return a span named from the moment of asking that holds `moment`.

    None when that would be outside the weeks in which questions are asked.
    """
    words, back, half, margin = dice.pick(
        (
            ("yesterday", 1, 0, 1),
            ("the day before yesterday", 2, 0, 1),
            ("ten days ago", 10, 1, 3),
            ("two weeks ago", 14, 3, 3),
            ("a fortnight ago", 14, 3, 3),
            ("about three weeks ago", 21, 4, 4),
            ("roughly a month ago", 30, 6, 5),
            ("about two months ago", 61, 10, 8),
        )
    )
    off = dice.between(-half, half)
    asked = _midnight(moment) + (back + off) * _DAY
    asked += timedelta(seconds=dice.between(8 * 3600, 21 * 3600))
    if not ASK_FROM <= asked < ASK_UNTIL:
        return None
    middle = _midnight(asked) - back * _DAY
    return Span(words, asked, middle - half * _DAY, middle + (half + 1) * _DAY, margin * _DAY)
