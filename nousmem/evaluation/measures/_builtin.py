"""The formulas of the measures that there are, for all queries at once.

Binary measures count a judged relevance of 1 or more as relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measures._judgements import Judgements
from nousmem.scoring import Floats

__all__ = ["BUILT_IN", "BuiltIn", "Watched"]

_NOWHERE: Final = np.iinfo(np.int64).max

Ranks = NDArray[np.int64]


class Watched:
    """What formulas need besides ranks; what depends on the judgements alone is worked out once.

    Attributes:
        judgements: The relevant entries of n queries.
        marks: The newest and the outdated entries of those whose fact was updated.
        n_relevant: Shape (n,): relevant entries of each query.
    """

    def __init__(self, judgements: Judgements, marks: UpdateMarks) -> None:
        self.judgements = judgements
        self.marks = marks
        n = len(judgements)
        self.n_relevant = np.bincount(judgements.query_index, minlength=n).astype(np.float64)
        self._ideal: dict[int | None, Floats] = {}

    @property
    def starts(self) -> NDArray[np.int64]:
        """Shape (n + 1,): where the judgements of each query start."""
        return np.concatenate([[0], np.cumsum(self.n_relevant)]).astype(np.int64)

    def ideal(self, cutoff: int | None) -> Floats:
        """Return the discounted gain of the best ranking, shape (n,)."""
        if cutoff not in self._ideal:
            judged = self.judgements
            descending = np.lexsort((-judged.gains, judged.query_index))
            gains = judged.gains[descending]
            places = np.arange(len(gains)) - self.starts[judged.query_index] + 1
            self._ideal[cutoff] = self.sum(gains / np.log2(places + 1), _within(places, cutoff))
        return self._ideal[cutoff]

    def sum(self, values: Floats, where: NDArray[np.bool_]) -> Floats:
        """Return the sum of a value of each judgement over those of a query, shape (n,)."""
        return self.total(self.judgements.query_index, np.where(where, values, 0.0))

    def count(self, ranks: Ranks, cutoff: int | None) -> Floats:
        """Return how many relevant entries of each query were found, shape (n,)."""
        return self.sum(np.ones(len(ranks)), _within(ranks, cutoff))

    def total(self, queries: NDArray[np.intp], values: Floats) -> Floats:
        """Return the sum of values over each query, shape (n,)."""
        summed = np.bincount(queries, weights=values, minlength=len(self.judgements))
        return summed.astype(np.float64, copy=False)


def _within(ranks: NDArray[np.integer], cutoff: int | None) -> NDArray[np.bool_]:
    found = ranks > 0
    return found if cutoff is None else found & (ranks <= cutoff)


def _ndcg(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    discounted = watched.judgements.gains / np.log2(np.maximum(ranks, 1) + 1)
    return watched.sum(discounted, _within(ranks, cutoff)) / watched.ideal(cutoff)


def _reciprocal_rank(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    best = np.zeros(len(watched.judgements))
    shares = np.where(_within(ranks, cutoff), 1.0 / np.maximum(ranks, 1), 0.0)
    np.maximum.at(best, watched.judgements.query_index, shares)
    return best


def _average_precision(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    found = _within(ranks, cutoff)
    queries, places = watched.judgements.query_index[found], ranks[found]
    order = np.lexsort((places, queries))
    queries, places = queries[order], places[order]
    per_query = np.bincount(queries, minlength=len(watched.judgements))
    starts = np.concatenate([[0], np.cumsum(per_query)[:-1]])
    nth = np.arange(len(queries)) - starts[queries] + 1
    return watched.total(queries, nth / places) / watched.n_relevant


def _recall(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    return watched.count(ranks, cutoff) / watched.n_relevant


def _precision(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    return watched.count(ranks, cutoff) / (cutoff or 1)


def _success(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    return (watched.count(ranks, cutoff) > 0).astype(np.float64)


def _all_relevant(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    return (watched.count(ranks, cutoff) == watched.n_relevant).astype(np.float64)


def _fresh(watched: Watched, ranks: Ranks, cutoff: int | None) -> Floats:
    queries, newest = watched.marks.query_index, watched.marks.newest
    places = np.where(ranks > 0, ranks, _NOWHERE)
    best = np.full((2, len(watched.judgements)), _NOWHERE)
    np.minimum.at(best, (newest.astype(np.intp), queries), places)
    fresh = np.full(len(watched.judgements), np.nan)
    outdated_at, newest_at = best[:, queries]
    fresh[queries] = (newest_at <= (cutoff or 0)) & (newest_at < outdated_at)
    return fresh


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """How a measure is spelled, and its formula."""

    formula: Callable[[Watched, Ranks, int | None], Floats]
    """From the ranks (from 1; 0 where not returned) and the cutoff to shape (n,)."""
    needs_cutoff: bool
    """Whether it is spelled with one always."""
    of_marks: bool = False
    """Whether the ranks are those of the marked entries; else they are of the judged ones."""


BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    "nDCG": BuiltIn(_ndcg, needs_cutoff=False),
    "AP": BuiltIn(_average_precision, needs_cutoff=False),
    "RR": BuiltIn(_reciprocal_rank, needs_cutoff=False),
    "R": BuiltIn(_recall, needs_cutoff=True),
    "P": BuiltIn(_precision, needs_cutoff=True),
    "Success": BuiltIn(_success, needs_cutoff=True),
    "AllRel": BuiltIn(_all_relevant, needs_cutoff=True),
    "Fresh": BuiltIn(_fresh, needs_cutoff=True, of_marks=True),
}
"""The measures that there are, by name; the compiled engine has a loop of its own for each."""
