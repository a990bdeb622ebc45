"""What a parameter may be in a search: values to choose from, a range, or weights that share 1.

Each turns coordinates from 0 to 1 into a value, so that one drawing serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Final

__all__ = ["WEIGHTS", "Choices", "Range", "Simplex"]

WEIGHTS: Final = ("w_relevance", "w_importance", "w_recency")
"""What a Simplex divides, in the order of its points."""

_SHARE_OF_ONE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Choices:
    """One of some values, all as likely."""

    values: tuple[Any, ...]

    def at(self, coordinates: Sequence[float]) -> Any:
        """Return the value at one coordinate."""
        return self.values[min(int(coordinates[0] * len(self.values)), len(self.values) - 1)]

    def least(self) -> Any:
        """Return the smallest value, where all are numbers; the first otherwise."""
        numbers = [one for one in self.values if isinstance(one, Real)]
        return min(numbers) if len(numbers) == len(self.values) else self.values[0]


@dataclass(frozen=True, slots=True)
class Range:
    """Any number from `low` to `high`; for a sweep that searches, not for a grid.

    Of half-lives, `Range(1, 3650, log=True, also=[math.inf])` tries a day to ten years, and now
    and then no decay.
    """

    low: float
    """Finite, and below `high`."""
    high: float
    """Finite."""
    _: KW_ONLY
    log: bool = False
    """Whether the logarithm is drawn evenly; `low` is then above 0."""
    whole: bool = False
    """Whether what is drawn is rounded to a whole number; the ends then are whole."""
    also: Iterable[Any] = ()
    """Values tried beside the range, such as infinity or None. Each is a tenth of the draws;
    five at most."""

    def __post_init__(self) -> None:
        if isinstance(self.also, Iterable) and not isinstance(self.also, str):
            object.__setattr__(self, "also", tuple(self.also))

    def faults(self) -> list[str]:
        """Return what is wrong with the range, nothing where it is valid."""
        ends: list[object] = [self.low, self.high]
        if not all(
            isinstance(end, Real) and not isinstance(end, bool) and math.isfinite(end)
            for end in ends
        ):
            return [f"the ends of a range must be finite numbers, got {self.low!r}, {self.high!r}"]
        faults: list[str] = []
        if not self.low < self.high:
            faults.append(f"a range must rise, got {self.low!r} to {self.high!r}")
        if self.log and not self.low > 0:
            faults.append(f"a range by logarithm must begin above 0, got {self.low!r}")
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            faults.append(f"a range of whole numbers ends in them, got {self.low!r}, {self.high!r}")
        if not isinstance(self.also, tuple) or len(self.also) > 5:
            faults.append(f"also must list five values at most, got {self.also!r}")
        return faults

    def at(self, coordinates: Sequence[float]) -> Any:
        """Return the value at one coordinate: those of `also` first, then the range."""
        also = tuple(self.also)
        share = _SHARE_OF_ONE * len(also)
        place = coordinates[0]
        if place < share:
            return also[min(int(place / _SHARE_OF_ONE), len(also) - 1)]
        within = (place - share) / (1 - share)
        if self.log:
            value = math.exp(math.log(self.low) * (1 - within) + math.log(self.high) * within)
        else:
            value = self.low * (1 - within) + self.high * within
        value = float(round(value)) if self.whole else value
        return min(max(value, float(self.low)), float(self.high))

    def least(self) -> float:
        """Return `low`."""
        return self.low


@dataclass(frozen=True, slots=True)
class Simplex:
    """The three weights of the composite, at least 0 and together 1.

    A ranking does not change when all weights are multiplied by the same number above 0 (min_score
    aside), so this is all there is to weights that are not negative. It stands in a grid under
    the name "weights", in place of w_relevance, w_importance and w_recency.
    """

    _: KW_ONLY
    step: float | None = None
    """Distance between neighbouring points, such as 0.1 for 66 points; None is any point, for a
    sweep that searches."""

    def faults(self) -> list[str]:
        """Return what is wrong with the step, nothing where it is valid."""
        step: object = self.step
        if step is None:
            return []
        number = float(step) if isinstance(step, Real) and not isinstance(step, bool) else math.nan
        if 0 < number <= 1 and abs(round(1 / number) * number - 1) < 1e-9:
            return []
        return [f"a simplex's step must divide 1, as 0.1 does, got {step!r}"]

    @property
    def n_points(self) -> int:
        """How many points a simplex with a step has."""
        n = round(1 / (self.step or 1))
        return (n + 1) * (n + 2) // 2

    def points(self) -> list[tuple[float, float, float]]:
        """Return every point of a simplex that has a step: relevance falls, then importance."""
        n = round(1 / (self.step or 1))
        return [
            (i / n, j / n, (n - i - j) / n) for i in range(n, -1, -1) for j in range(n - i, -1, -1)
        ]

    def at(self, coordinates: Sequence[float]) -> tuple[float, float, float]:
        """Return the point at two coordinates, which even draws spread evenly over the simplex.

        With a step, it is the nearest point that the step allows.
        """
        root = math.sqrt(coordinates[0])
        free = (1 - root, root * (1 - coordinates[1]), root * coordinates[1])
        if self.step is None:
            return free
        n = round(1 / self.step)
        whole = [int(share * n) for share in free]
        by_remainder = sorted(range(3), key=lambda at: (whole[at] - free[at] * n, at))
        for at in by_remainder[: n - sum(whole)]:
            whole[at] += 1
        return whole[0] / n, whole[1] / n, whole[2] / n

    def least(self) -> tuple[float, float, float]:
        """Return relevance alone."""
        return 1.0, 0.0, 0.0
