"""Chance that repeats: everything random in the corpus comes from here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

__all__ = ["Dice"]

T = TypeVar("T")


class Dice:
    """Draws that depend on the seeds alone.

    Built on uniform numbers only: NumPy may change how its generators shuffle or draw from other
    distributions, and the same seed has to give the same bytes for years.
    """

    def __init__(self, *seeds: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seeds)))

    def unit(self) -> float:
        """Return a number from 0 to 1, 1 excluded."""
        return float(self._generator.random())

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Return true in this share of calls."""
        return self.unit() < share

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self.unit() * len(options))]

    def sample(self, options: Sequence[T], n: int) -> list[T]:
        """Return `n` different options in random order; all of them if there are fewer."""
        rest = list(options)
        return [rest.pop(int(self.unit() * len(rest))) for _ in range(min(n, len(rest)))]

    def wait(self, mean: float) -> float:
        """Return an exponentially distributed number with this mean."""
        return -mean * math.log(1.0 - self.unit())

    def count(self, mean: float) -> int:
        """Return a Poisson distributed count with this mean (Knuth's product of uniforms)."""
        limit, product, n = math.exp(-mean), self.unit(), 0
        while product > limit:
            product *= self.unit()
            n += 1
        return n

    def around(self, middle: float, spread: float) -> float:
        """Return a number near `middle`, bell-shaped, with standard deviation `spread`."""
        bell = sum(self.unit() for _ in range(12)) - 6.0
        return middle + spread * bell
