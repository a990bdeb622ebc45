"""The measures over all queries of a corpus, at one setting against a baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus
from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import Measure, parse_measures
from nousmem.evaluation.statistics.folds import query_groups
from nousmem.evaluation.statistics.resampling import drawn_whole, paired_interval
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.values import score_settings
from nousmem.scoring import Floats, Scoring

__all__ = [
    "DEFAULT_MEASURES",
    "Difference",
    "LiveMeasures",
    "Pairing",
    "Standing",
    "differences_of",
]

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
    n_groups: int = 0
    """Groups of queries that the interval draws whole; 0: it draws single queries."""

    @property
    def difference(self) -> float:
        """What is gained here."""
        return self.here - self.baseline

    @property
    def verdict(self) -> str:
        """Whether the interval is on one side of zero: "better", "worse", "unclear", "same".

        "few" stands for an interval without ends: one query, or one group of them, cannot tell.
        """
        if not self.wins and not self.losses:
            return "same"
        if math.isinf(self.low):
            return "few"
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "unclear"


@dataclass(frozen=True, slots=True)
class Standing:
    """Every measure over all queries, and the first measure by category."""

    measures: tuple[Difference, ...]
    categories: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """What the queries of a comparison are, in the order of their ids, as `ev.compare` has them."""

    order: NDArray[np.intp]
    """Places of the queries, shape (queries,): in this order they are compared."""
    groups: tuple[str, ...]
    """Group of each query, in the order they came in."""
    kind: str
    """What a group is: "user", "namespace"."""

    @classmethod
    def of(cls, query_ids: Sequence[str], groups: Sequence[str], *, field: str) -> Pairing:
        """Return how these queries are paired; `field` of their scopes makes the groups."""
        order = sorted(range(len(query_ids)), key=query_ids.__getitem__)
        return cls(np.asarray(order, dtype=np.intp), tuple(groups), field.removesuffix("_id"))

    @property
    def in_words(self) -> str:
        """What an interval over all queries draws, as a sentence."""
        if not drawn_whole(self.groups):
            return "95 % intervals draw single queries."
        n = len(set(self.groups))
        return f"95 % intervals draw all queries of one {self.kind} together ({n} {self.kind}s)."


class LiveMeasures:
    """Measures one setting after another over candidates that were retrieved once.

    Args:
        arrays: The candidates.
        corpus: Whose queries they are of.
        measures: As they are spelled.
        baseline: What every setting is compared with.
        of_baseline: The candidates that it ranks, of the same queries; None is `arrays`.

    Raises:
        InvalidParameter: only Fresh is asked for, and no query is marked.
    """

    def __init__(
        self,
        arrays: CandidateArrays,
        corpus: Corpus,
        *,
        measures: Sequence[str | Measure],
        baseline: Scoring,
        of_baseline: CandidateArrays | None = None,
    ) -> None:
        parsed = parse_measures(measures)
        self.arrays = arrays
        self.measures = [
            measure for measure in parsed if arrays.marks.n_queries or not measure.needs_marks
        ]
        if not self.measures:
            raise InvalidParameter("no query says which memories an update replaced, as Fresh asks")
        self.pairing = Pairing.of(
            [query.query_id for query in arrays.queries],
            query_groups(corpus, arrays.queries),
            field=corpus.fold_field,
        )
        self._baseline = self._values(baseline, of_baseline)

    def standing(self, scoring: Scoring) -> Standing:
        """Measure a setting."""
        values = self._values(scoring)
        names = [str(measure) for measure in self.measures]
        categories = [query.category for query in self.arrays.queries]
        rows = [
            one
            for name, here, base in zip(names, values, self._baseline, strict=True)
            for one in differences_of(
                here, base, [name] * len(here), pairing=self.pairing, resamples=_RESAMPLES
            )
        ]
        return Standing(
            measures=tuple(rows),
            categories=differences_of(
                values[0],
                self._baseline[0],
                categories,
                pairing=self.pairing,
                resamples=_RESAMPLES,
            ),
        )

    def _values(self, scoring: Scoring, arrays: CandidateArrays | None = None) -> Floats:
        found = self.arrays if arrays is None else arrays
        return score_settings(found, [scoring], self.measures, engine="numpy")[0]


def differences_of(
    here: Floats,
    baseline: Floats,
    labels: Sequence[str],
    *,
    pairing: Pairing,
    resamples: int,
) -> tuple[Difference, ...]:
    """Return the paired difference of the queries under each label, by label.

    Args:
        here: Shape (queries,): a measure; NaN where it does not exist.
        baseline: The same queries at the baseline.
        labels: Of each query, such as its category. A label without a value is left out.
        pairing: Of the queries. As in `ev.compare`, groups of them are drawn whole, where under
            a label there is more than one and not one for each query.
        resamples: Bootstrap samples for an interval.
    """
    order = [int(at) for at in pairing.order]
    own, base = here[order], baseline[order]
    grouped = [pairing.groups[at] for at in order]
    exists = ~np.isnan(own) & ~np.isnan(base)
    found: list[Difference] = []
    for label in sorted(set(labels)):
        places = [at for at, place in enumerate(order) if labels[place] == label]
        # Whether groups are drawn is a matter of what is asked, not of what a measure can answer.
        whole = drawn_whole([grouped[at] for at in places])
        chosen = [at for at in places if exists[at]]
        if not chosen:
            continue
        groups = [grouped[at] for at in chosen] if whole else None
        interval = paired_interval(own[chosen], base[chosen], groups=groups, resamples=resamples)
        found.append(
            Difference(
                name=label,
                baseline=float(base[chosen].mean()),
                here=float(own[chosen].mean()),
                low=interval.low,
                high=interval.high,
                wins=int((own[chosen] > base[chosen]).sum()),
                losses=int((own[chosen] < base[chosen]).sum()),
                n=len(chosen),
                n_groups=0 if groups is None else len(set(groups)),
            )
        )
    return tuple(found)
