"""Time and names that are the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from itertools import count

__all__ = ["SessionClock", "numbered_ids"]


class SessionClock:
    """Stands still until it is set, so that weeks pass between two turns and none within.

    Attributes:
        now: The instant it tells, UTC.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the instant."""
        return self.now


def numbered_ids(taken: Collection[str]) -> Callable[[], str]:
    """Return a source of ids m0001, m0002, …, without those that are taken.

    With digits of one length, so that ties, which go to the greater id, go to the newer memory.
    """
    numbers = count(1)

    def new_id() -> str:
        return next(name for n in numbers if (name := f"m{n:04}") not in taken)

    return new_id
