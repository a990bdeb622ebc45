"""How uncertain tuning is: the settings are chosen again on every bootstrap sample.

Folds share most of the queries that their settings are chosen on, so what the folds report hangs
together, and a bootstrap that takes the choice for granted is too sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.statistics.resampling import seeded
from nousmem.scoring import Floats

__all__ = ["Retuning"]

Places = NDArray[np.intp]

_RESAMPLES: Final = 500
_EXACT: Final = 2.0**36
"""Values are taken to the nearest 1 / _EXACT. Sums over up to 100,000 queries are then exact:
the same in whatever order, and by however many threads, they are added up, and ties stay ties."""
_AT_ONCE: Final = 4_000_000
"""Sums of settings under resamples that are held at once, 8 bytes each."""


class Retuning:
    """The settings chosen on all folds but one and judged on that one, for weighted queries.

    Args:
        values: Shape (settings, n): every query's measure under every setting, all finite.
        baseline: Row of `values` compared with.
        fold: Shape (n,): fold of each query.
        units: What is drawn, for each query: its own id, or its group, which lies in one fold.

    Attributes:
        chosen: Row of the setting chosen for each fold; of equals, the first.
        n_drawn: How many units there are.
    """

    def __init__(
        self, values: Floats, *, baseline: int, fold: Places, units: Sequence[str]
    ) -> None:
        names, place = np.unique(np.asarray(units, dtype=np.str_), return_inverse=True)
        by_unit = np.argsort(place, kind="stable")
        counts = np.bincount(place)
        starts = np.cumsum(counts) - counts
        exact = np.rint(values[:, by_unit] * _EXACT) / _EXACT
        sums = exact if len(names) == len(units) else np.add.reduceat(exact, starts, axis=1)
        unit_fold = fold[by_unit[starts]]
        members = [np.flatnonzero(unit_fold == number) for number in range(int(fold.max()) + 1)]
        self.n_drawn = len(names)
        self._baseline = baseline
        self._counts = counts.astype(np.float64)
        self._members = members
        self._sums = [np.ascontiguousarray(sums[:, own].T) for own in members]
        everything = self._fold_sums(np.ones((1, self.n_drawn)))
        total = sum(everything)
        self.chosen = [int((total - own)[0].argmax()) for own in everything]

    def standard_error(self, *, seed: int) -> float:
        """Return that of the mean gain over the baseline on folds that the tuning did not see.

        Args:
            seed: Of the bootstrap samples.
        """
        if self.n_drawn < 2:
            return 0.0
        rng, n = seeded(seed), self.n_drawn
        size = max(1, _AT_ONCE // (self._sums[0].shape[1] * (len(self._members) + 1)))
        gains: list[Floats] = []
        for start in range(0, _RESAMPLES, size):
            drawn = rng.integers(0, n, (min(size, _RESAMPLES - start), n))
            rows = np.arange(len(drawn))[:, np.newaxis] * n
            weights = np.bincount((rows + drawn).ravel(), minlength=len(drawn) * n)
            gains.append(self._gains(weights.reshape(len(drawn), n).astype(np.float64)))
        return float(np.concatenate(gains).std(ddof=1)) * (n / (n - 1)) ** 0.5

    def _fold_sums(self, weights: Floats) -> list[Floats]:
        """Return, for each fold, the sum of every setting under every sample: (samples, settings).

        Args:
            weights: Shape (samples, units): how often each was drawn.
        """
        return [weights[:, own] @ sums for own, sums in zip(self._members, self._sums, strict=True)]

    def _gains(self, weights: Floats) -> Floats:
        by_fold = self._fold_sums(weights)
        total = sum(by_fold)
        drawn = weights @ self._counts
        gains = np.zeros(len(weights))
        for number, own in enumerate(by_fold):
            chosen = (total - own).argmax(axis=1)
            # A sample that has nothing outside this fold has nothing to choose on.
            alone = weights[:, self._members[number]] @ self._counts[self._members[number]] == drawn
            chosen = np.where(alone, self.chosen[number], chosen)
            gains += own[np.arange(len(own)), chosen] - own[:, self._baseline]
        return gains / drawn
