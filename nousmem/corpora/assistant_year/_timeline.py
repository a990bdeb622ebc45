"""When things happen: the year, the sessions of each agent, and when memories are used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from nousmem.corpora.assistant_year._dice import Dice

__all__ = [
    "ACCESS_FROZEN",
    "ASK_FROM",
    "ASK_UNTIL",
    "MONTHS",
    "WEEKDAYS",
    "YEAR_END",
    "YEAR_START",
    "Calendar",
    "Session",
    "day_of_year",
    "draw_calendar",
    "spoken_date",
]

YEAR_START: Final = datetime(2025, 1, 2, tzinfo=UTC)
YEAR_END: Final = datetime(2025, 12, 31, tzinfo=UTC)

ACCESS_FROZEN: Final = datetime(2025, 10, 1, tzinfo=UTC)
"""The state of use is that of this instant: later, nothing is recorded as accessed. Every query
is asked after it, so that no last access tells of a query's future."""

ASK_FROM: Final = datetime(2025, 10, 5, tzinfo=UTC)
ASK_UNTIL: Final = datetime(2025, 12, 30, tzinfo=UTC)

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip

_SESSIONS_A_YEAR: Final = 92


def spoken_date(moment: datetime) -> str:
    """Return a date as people write it: 14 March."""
    return f"{moment.day} {MONTHS[moment.month - 1]}"


def day_of_year(day: float) -> datetime:
    """Return the instant `day` days after the year starts."""
    return YEAR_START + timedelta(days=day)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of a user with one agent."""

    agent: str
    start: datetime

    @property
    def session_id(self) -> str:
        """Readable and unique for the user: agent and day."""
        return f"{self.agent}-{self.start:%m%d}"


@dataclass(frozen=True, slots=True)
class Calendar:
    """A user's conversations of the year, oldest first."""

    sessions: tuple[Session, ...]

    def find(self, dice: Dice, agent: str, start: datetime, end: datetime) -> Session:
        """Return a random session of `agent` between the instants, else its next one, or last."""
        own = [session for session in self.sessions if session.agent == agent]
        inside = [session for session in own if start <= session.start < end]
        if inside:
            return dice.pick(inside)
        return next((session for session in own if session.start >= start), own[-1])

    def uses(
        self, dice: Dice, start: datetime, end: datetime, *, per_100_days: float, fading: bool
    ) -> list[datetime]:
        """Return when a memory made at `start` is recalled before `end`, oldest first.

        The number varies more than by chance alone, as some memories are popular and most are
        not. A `fading` memory is recalled mostly in its first weeks.
        """
        days = (end - start) / timedelta(days=1)
        if days <= 0:
            return []
        wanted = dice.count(min(dice.wait(per_100_days * days / 100), 25.0))
        moments: list[datetime] = []
        for _ in range(wanted):
            later = dice.wait(14.0) if fading else dice.unit() * days
            moment = start + timedelta(days=later)
            session = next((s for s in self.sessions if s.start >= moment), None)
            if session is not None and session.start < end:
                moments.append(session.start + timedelta(seconds=dice.between(30, 2400)))
        return sorted(moment for moment in moments if start < moment < end)


def draw_calendar(dice: Dice, agents: Iterable[str]) -> Calendar:
    """Return a year of sessions: every agent on its own days, at hours people are awake."""
    days: Sequence[int] = range(363)
    sessions = [
        Session(agent, day_of_year(day) + timedelta(minutes=dice.between(7 * 60, 21 * 60)))
        for agent in agents
        for day in dice.sample(days, _SESSIONS_A_YEAR)
    ]
    return Calendar(tuple(sorted(sessions, key=lambda session: (session.start, session.agent))))
