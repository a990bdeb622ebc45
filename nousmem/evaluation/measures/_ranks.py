"""From ranks, and whole rankings where a measure needs them, to the values of measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import ExtensionError, InvalidParameter
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measures._builtin import BUILT_IN, Watched
from nousmem.evaluation.measures._foreign import IrMeasure, IrValues, Rankings
from nousmem.evaluation.measures._functions import RankFunction
from nousmem.evaluation.measures._judgements import Judgements
from nousmem.evaluation.measures._kinds import Measure
from nousmem.scoring import Floats

__all__ = ["FunctionValues", "WatchedRanks", "check_marked"]

Ranks = NDArray[np.int64]


class WatchedRanks:
    """Turns the ranks of the judged and the marked entries into measures, query by query.

    There are two kinds of measures: those of the ranks of relevant entries, for which nothing is
    sorted, and those of whole rankings.

    Attributes:
        reads_rankings: Whether one of the measures needs whole rankings.
    """

    def __init__(
        self,
        judgements: Judgements,
        measures: Sequence[Measure],
        marks: UpdateMarks | None = None,
    ) -> None:
        """Work out what depends on the judgements alone.

        Raises:
            ExtensionError: the code of a measure is gone, or ir_measures fails on the judgements.
            MissingDependency: a measure is one of ir_measures, which is not installed.
        """
        watched = Watched(judgements, UpdateMarks.none() if marks is None else marks)
        self._n_judged = len(judgements.gains)
        self._rows = [_row(watched, measure.loaded()) for measure in measures]
        self._n_queries = len(judgements)
        self.reads_rankings = any(measure.reads_rankings for measure in measures)

    def values(self, ranks: NDArray[np.integer], rankings: Rankings | None = None) -> Floats:
        """Return the measures, shape (measures, queries).

        Args:
            ranks: Shape (m + u,): rank from 1 of each judged entry, then of each marked one; 0
                where it was not returned.
            rankings: The same rankings whole; only where `reads_rankings`.

        Raises:
            ExtensionError: somebody's measure fails, or returns no finite number.
        """
        whole = ranks.astype(np.int64)
        ranked = _Ranked(whole[: self._n_judged], whole[self._n_judged :], rankings)
        rows = [row(ranked) for row in self._rows]
        return np.stack(rows) if rows else np.empty((0, self._n_queries))


class FunctionValues:
    """Calls the function of a measure for every query."""

    def __init__(self, judgements: Judgements, measure: Measure, source: RankFunction) -> None:
        self._measure = measure
        self._source = source
        self._query_ids = judgements.query_ids
        counts = np.bincount(judgements.query_index, minlength=len(judgements))
        self._ends = np.cumsum(counts).tolist()
        gains = judgements.gains.copy()
        gains.flags.writeable = False
        self._gains = np.split(gains, self._ends[:-1])
        self._greatest = float(judgements.gains.max(initial=0.0))

    def values(self, ranks: NDArray[np.integer]) -> Floats:
        """Return the values, shape (queries,).

        Args:
            ranks: Shape (m,): of the judged entries, 0 where not returned.

        Raises:
            ExtensionError: the function fails, or returns no finite number.
        """
        cutoff = self._measure.cutoff
        own = ranks.astype(np.int64)
        if cutoff is not None:
            own[own > cutoff] = 0
        own.flags.writeable = False
        found = zip(self._query_ids, np.split(own, self._ends[:-1]), self._gains, strict=True)
        try:
            return np.array([self._source.value(*one, self._greatest) for one in found])
        except ExtensionError as error:
            raise ExtensionError(f"measure {self._measure}: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """What a measure is computed from."""

    judged: Ranks
    marked: Ranks
    rankings: Rankings | None


_Row = Callable[[_Ranked], Floats]


def _row(watched: Watched, measure: Measure) -> _Row:
    if isinstance(measure.source, RankFunction):
        called = FunctionValues(watched.judgements, measure, measure.source)
        return lambda ranked: called.values(ranked.judged)
    if isinstance(measure.source, IrMeasure):
        return _ir_row(watched.judgements, measure, measure.source)
    built_in = BUILT_IN[measure.name]
    if built_in.of_marks:
        return lambda ranked: built_in.formula(watched, ranked.marked, measure.cutoff)
    return lambda ranked: built_in.formula(watched, ranked.judged, measure.cutoff)


def _ir_row(judgements: Judgements, measure: Measure, source: IrMeasure) -> _Row:
    def values(ranked: _Ranked) -> Floats:
        if ranked.rankings is None:
            raise InvalidParameter(f"measure {measure} needs whole rankings, not ranks alone")
        try:
            return computed.values(ranked.rankings)
        except ExtensionError as error:
            raise ExtensionError(f"measure {measure}: {error}") from error

    try:
        computed = IrValues(judgements, source)
    except ExtensionError as error:
        raise ExtensionError(f"measure {measure}: {error}") from error
    return values


def check_marked(marks: UpdateMarks) -> None:
    """Raise InvalidParameter where there is no query that Fresh exists for."""
    if not marks.n_queries:
        raise InvalidParameter(
            "Fresh needs queries whose metadata has the lists newest and outdated (entry ids), "
            "and none of these queries does: leave Fresh out"
        )
