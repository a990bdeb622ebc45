"""The measures over all queries of a corpus, at one setting against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nousmem.evaluation.comparison import paired_interval
from nousmem.evaluation.measures import Measure, parse_measures
from nousmem.evaluation.pools import CandidatePool
from nousmem.evaluation.sweeps import score_settings
from nousmem.scoring import Floats, Scoring

__all__ = ["DEFAULT_MEASURES", "Difference", "LiveMeasures", "Standing", "differences_of"]

DEFAULT_MEASURES: Final = ("nDCG@10", "R@10", "RR", "Fresh@10")
"""Fresh is left out where no query is marked."""

_RESAMPLES: Final = 1000
"""Enough for two digits of an interval that is drawn anew with every step of a slider."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure at the baseline and here, paired over the queries it exists for."""

    name: str
    """Of the measure, or of the group of queries."""
    baseline: float
    here: float
    low: float
    """The 95 % interval of the difference, from `low` to `high`."""
    high: float
    wins: int
    losses: int
    n: int
    """Queries."""

    @property
    def difference(self) -> float:
        """What is gained here."""
        return self.here - self.baseline

    @property
    def verdict(self) -> str:
        """Whether the interval is on one side of zero: "better", "worse", "unclear", "same"."""
        if not self.wins and not self.losses:
            return "same"
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "unclear"


@dataclass(frozen=True, slots=True)
class Standing:
    """Every measure over all queries, and the first measure by category."""

    measures: tuple[Difference, ...]
    categories: tuple[Difference, ...]


class LiveMeasures:
    """Measures one setting after another over candidates that were retrieved once.

    Args:
        pool: The candidates.
        measures: As they are spelled.
        baseline: What every setting is compared with.
    """

    def __init__(
        self, pool: CandidatePool, *, measures: Sequence[str | Measure], baseline: Scoring
    ) -> None:
        parsed = parse_measures(measures)
        self.pool = pool
        self.measures = [
            measure for measure in parsed if measure.name != "Fresh" or pool.marks.n_queries
        ]
        self._baseline = self._values(baseline)

    def standing(self, scoring: Scoring) -> Standing:
        """Measure a setting."""
        values = self._values(scoring)
        names = [str(measure) for measure in self.measures]
        categories = [query.category for query in self.pool.queries]
        rows = [
            one
            for name, here, base in zip(names, values, self._baseline, strict=True)
            for one in differences_of(here, base, [name] * len(here), resamples=_RESAMPLES)
        ]
        return Standing(
            measures=tuple(rows),
            categories=differences_of(
                values[0], self._baseline[0], categories, resamples=_RESAMPLES
            ),
        )

    def _values(self, scoring: Scoring) -> Floats:
        return score_settings(self.pool, [scoring], self.measures, engine="numpy")[0]


def differences_of(
    here: Floats, baseline: Floats, groups: Sequence[str], *, resamples: int
) -> tuple[Difference, ...]:
    """Return the paired difference of each group of queries, by name.

    Args:
        here: Shape (queries,): a measure; NaN where it does not exist.
        baseline: The same queries at the baseline.
        groups: Group of each query. A group without a value is left out.
        resamples: Bootstrap samples for an interval.
    """
    labels = np.asarray(groups, dtype=np.str_)
    exists = ~np.isnan(here) & ~np.isnan(baseline)
    found: list[Difference] = []
    for label in sorted(set(groups)):
        chosen = exists & (labels == label)
        if not chosen.any():
            continue
        own, base = here[chosen], baseline[chosen]
        interval = paired_interval(own, base, resamples=resamples)
        found.append(
            Difference(
                name=label,
                baseline=float(base.mean()),
                here=float(own.mean()),
                low=interval.low,
                high=interval.high,
                wins=int((own > base).sum()),
                losses=int((own < base).sum()),
                n=int(chosen.sum()),
            )
        )
    return tuple(found)
