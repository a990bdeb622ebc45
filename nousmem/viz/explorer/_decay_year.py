"""What a decay does to a year of memories, as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.corpora import Corpus, load_corpus
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.scoring import HOURS_PER_DAY, Floats, Scoring, age_hours, decay_under, epoch_seconds
from nousmem.stores import Store

__all__ = [
    "ACCESSES",
    "DAYS",
    "Band",
    "Memories",
    "bands_of",
    "shares_of",
    "shares_over_a_year",
    "tenths",
]

ACCESSES: Final = {
    "as they were accessed": None,
    "never again": 0,
    "once a week": 7,
    "once a month": 30,
}
"""How often a memory is accessed after it was made, in words, and the days between; None is what
the memories themselves say, 0 is never."""

DAYS: Final = np.arange(0, 365.01, 0.5)
"""Where the curve of a year is drawn."""

_BANDS: Final = (
    (7, "0 to 7"),
    (30, "7 to 30"),
    (90, "30 to 90"),
    (180, "90 to 180"),
    (365, "180 to 365"),
    (np.inf, "over 365"),
)
_EXPECTED: Final = (
    "expected a Corpus or the name of one, an open store, entries or ages in hours, got {}"
)
_NOW: Final = 4_000_000_000
"""Whole seconds; any instant would do, for only ages count."""


@dataclass(frozen=True, slots=True, eq=False)
class Memories:
    """The ages of some memories and what else decay asks about; every array has shape (n,)."""

    since_creation: Floats
    """Hours, at least 0."""
    since_access: Floats
    """Hours, at least 0, at most those since creation."""
    evergreen: NDArray[np.bool_]
    importance: Floats

    @classmethod
    def of(cls, given: Any, *, now: datetime | None = None) -> Memories:
        """Read what a user gave.

        Args:
            given: A Corpus or the name of one, an open store, entries, ages in hours of any
                shape, or None for a year with one memory a day.
            now: The instant ages are counted from; None is the corpus's own `now`, or the last
                access of the entries.

        Raises:
            InvalidParameter: there are no memories, or ages are not finite numbers of at least 0.
            UnknownName: there is no such corpus.
        """
        if isinstance(given, str):
            given = load_corpus(given)
        if isinstance(given, Store) and not isinstance(given, type):
            given = list(given.list())
            if not given:
                raise InvalidParameter("the store has no entries, so there is nothing to decay")
        if given is None:
            return cls._aged(np.arange(365, dtype=np.float64) * HOURS_PER_DAY)
        if isinstance(given, Corpus):
            return cls._entries(given.entries, now or given.now)
        listed = _listed(given)
        if listed and all(isinstance(one, Entry) for one in listed):
            last = max(entry.last_accessed_at for entry in listed)
            return cls._entries(listed, now or last)
        try:
            ages = np.asarray(listed or given, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise InvalidParameter(_EXPECTED.format(type(given).__name__)) from None
        if not ages.size or not np.isfinite(ages).all() or ages.min() < 0:
            raise InvalidParameter("ages must be finite hours of at least 0, and one at least")
        return cls._aged(ages)

    @classmethod
    def _aged(cls, ages: Floats) -> Memories:
        return cls(ages, ages, np.zeros(ages.size, dtype=bool), np.full(ages.size, 0.5))

    @classmethod
    def _entries(cls, entries: Iterable[Entry], now: datetime) -> Memories:
        # What is made later does not exist yet.
        known = [entry for entry in entries if entry.created_at <= now]
        if not known:
            raise InvalidParameter(f"no memory was made by {now:%Y-%m-%d %H:%M}")
        moment = epoch_seconds(now)
        return cls(
            age_hours([epoch_seconds(entry.created_at) for entry in known], moment),
            age_hours([epoch_seconds(entry.last_accessed_at) for entry in known], moment),
            np.array([entry.evergreen for entry in known], dtype=bool),
            np.array([entry.importance for entry in known], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.since_creation)

    def accessed(self, days: int | None) -> Memories:
        """Return the memories as if each had been accessed every so many days since it was made.

        None leaves them as they are; 0 is never again.
        """
        if days is None:
            return self
        return Memories(
            self.since_creation,
            _since_access(self.since_creation, days),
            self.evergreen,
            self.importance,
        )

    def without_evergreen(self) -> Memories:
        """Return the memories as if none were evergreen."""
        return Memories(
            self.since_creation,
            self.since_access,
            np.zeros(len(self), dtype=bool),
            self.importance,
        )


@dataclass(frozen=True, slots=True)
class Band:
    """The memories of some ages."""

    name: str
    """Days since creation, from above one to and with another."""
    n: int
    mean: float
    """Share of relevance left, averaged; NaN without memories."""
    least: float


def shares_of(memories: Memories, scoring: Scoring) -> Floats:
    """Return the share of relevance that age leaves each memory, shape (n,)."""
    return decay_under(
        scoring,
        last_accessed=_instants(memories.since_access),
        created=_instants(memories.since_creation),
        now=_NOW,
        evergreen=memories.evergreen,
        importance=memories.importance,
    )


def shares_over_a_year(
    scoring: Scoring, *, access_days: int, importance: float, evergreen: bool = False
) -> Floats:
    """Return the share left on each of `DAYS` after a memory was made.

    Args:
        scoring: How relevance decays.
        access_days: Days from one access to the next; 0 is never again.
        importance: Of the memory.
        evergreen: Whether it is.
    """
    ages = DAYS * HOURS_PER_DAY
    one_a_day = Memories(
        ages,
        _since_access(ages, access_days),
        np.full(ages.size, evergreen),
        np.full(ages.size, importance),
    )
    return shares_of(one_a_day, scoring)


def bands_of(memories: Memories, shares: Floats) -> list[Band]:
    """Return the memories by age since creation, with what is left of them."""
    days, start = memories.since_creation / HOURS_PER_DAY, -1.0
    found: list[Band] = []
    for end, name in _BANDS:
        own = shares[(days > start) & (days <= end)]
        found.append(
            Band(
                name,
                int(own.size),
                float(own.mean()) if own.size else np.nan,
                float(own.min()) if own.size else np.nan,
            )
        )
        start = end
    return found


def tenths(shares: Floats) -> list[int]:
    """Return how many shares lie in each tenth from 0 to 1."""
    return np.histogram(shares, bins=10, range=(0, 1))[0].tolist()


def _listed(given: object) -> list[Any]:
    if isinstance(given, np.ndarray) or not isinstance(given, Iterable):
        return []
    return list(cast("Iterable[Any]", given))


def _since_access(hours: Floats, days: int) -> Floats:
    return hours if not days else np.mod(hours, days * HOURS_PER_DAY)


def _instants(hours: ArrayLike) -> NDArray[np.int64]:
    return np.int64(_NOW) - np.rint(np.asarray(hours) * 3600).astype(np.int64)
