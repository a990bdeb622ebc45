"""A sweep's settings as a grid that can be looked at two parameters at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import query_means
from nousmem.evaluation.sweeps.results import SweepResult
from nousmem.evaluation.sweeps.sweeping import composite_scores
from nousmem.scoring import Floats, half_life_days, score_order
from nousmem.viz.explorer.announcing import gains_in_words, measure_in_words
from nousmem.viz.explorer.measuring import Difference, Pairing, differences_of
from nousmem.viz.plots.labels import days_of, duration, is_half_life, values_of

__all__ = ["Axis", "RankedDoc", "SweepGrid", "spread"]

_RESAMPLES: Final = 1000
_BINS: Final = 8
"""Of an axis on which a search has drawn more values than that."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter that was varied, and its values in ascending order.

    Values that a search has drawn are put together, as many to each place; `values` and `labels`
    then hold the least of each.
    """

    name: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankedDoc:
    """An entry of a ranking in the sweep."""

    rank: int
    before: int | None
    """Its rank in the other ranking, where it is among those shown there."""
    doc_id: str
    content: str
    score: float
    grade: int | None
    mark: str


class SweepGrid:
    """What a sweep found, by the places of its values on their axes.

    Raises:
        InvalidParameter: nothing was varied.
    """

    def __init__(self, swept: SweepResult, *, baseline: int | None = None) -> None:
        self.swept = swept
        self.baseline = swept.baseline_index() if baseline is None else baseline
        if not 0 <= self.baseline < len(swept.settings):
            raise InvalidParameter(
                f"baseline must be a row of the sweep, 0 to {len(swept.settings) - 1}, "
                f"got {baseline!r}"
            )
        self.axes: dict[str, Axis] = {}
        self._places: dict[str, NDArray[np.intp]] = {}
        found = {name: _axis(swept, name) for name in swept.parameters}
        # A search draws values of its own for every setting; a grid has them all combined.
        sparse = math.prod(len(axis.values) for axis, _ in found.values()) > len(swept.settings)
        for name, (axis, places) in found.items():
            if len(axis.values) > 1:
                binned = sparse and len(axis.values) > _BINS
                self.axes[name], self._places[name] = (
                    _binned(axis, places) if binned else (axis, places)
                )
        if not self.axes:
            raise InvalidParameter(
                "the sweep varied nothing: give a grid with two values of some parameter"
            )

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The category of each query measured."""
        return tuple(query.category for query in self.swept.candidates.queries)

    @cached_property
    def pairing(self) -> Pairing:
        """How the queries are compared."""
        queries = self.swept.queries
        return Pairing.of(
            [query.query_id for query in queries],
            [query.group for query in queries],
            field=self.swept.corpus.fold_field,
        )

    def means(self, measure: str) -> Floats:
        """Return the mean of a measure under every setting, shape (settings,)."""
        return query_means(self.swept.values_of(measure))

    def place(self, setting: int, name: str) -> int:
        """Return where a setting stands on an axis."""
        return int(self._places[name][setting])

    def cells(
        self, measure: str, x: str, y: str | None, *, fixed: Mapping[str, int]
    ) -> NDArray[np.intp]:
        """Return the setting shown in each cell, shape (values of y, values of x); -1: none.

        Of several settings in a cell, the one with the largest mean; of equals, the first.

        Args:
            measure: What is to be large.
            x: The axis across.
            y: The axis down; None for one row.
            fixed: Places on other axes that a setting must have.
        """
        rows = 1 if y is None else len(self.axes[y].values)
        table = np.full((rows, len(self.axes[x].values)), -1, dtype=np.intp)
        kept = np.ones(len(self.swept.settings), dtype=bool)
        for name, place in fixed.items():
            if name not in (x, y):
                kept &= self._places[name] == place
        means = self.means(measure)
        # From the worst to the best, so that the best is written last; of equals the first.
        order = np.lexsort((-np.arange(len(means)), means))
        for setting in order[kept[order]]:
            row = 0 if y is None else self._places[y][setting]
            table[row, self._places[x][setting]] = setting
        return table

    def by_category(self, measure: str, settings: Sequence[int]) -> dict[str, Floats]:
        """Return the mean of each category under these settings, shape (len(settings),) each.

        Categories without a value are left out.
        """
        values = self.swept.values_of(measure)[np.asarray(settings, dtype=np.intp)]
        labels = np.asarray(self.categories, dtype=np.str_)
        found: dict[str, Floats] = {}
        for label in sorted(set(self.categories)):
            own = values[:, labels == label]
            own = own[:, ~np.isnan(own[0])]
            if own.shape[1]:
                found[label] = own.mean(axis=1)
        return found

    def differences(self, setting: int) -> tuple[Difference, ...]:
        """Return what a setting gains on the baseline, one row a measure."""
        return tuple(
            one
            for measure in self.swept.measures
            for values in (self.swept.values_of(measure),)
            for one in differences_of(
                values[setting],
                values[self.baseline],
                [str(measure)] * values.shape[1],
                pairing=self.pairing,
                resamples=_RESAMPLES,
            )
        )

    def category_differences(self, measure: str, setting: int) -> tuple[Difference, ...]:
        """Return what a setting gains on the baseline, one row a category."""
        values = self.swept.values_of(measure)
        return differences_of(
            values[setting],
            values[self.baseline],
            self.categories,
            pairing=self.pairing,
            resamples=_RESAMPLES,
        )

    def changes(self, measure: str, setting: int) -> list[tuple[int, float]]:
        """Return the queries that gain or lose, with how much: the greatest gain first."""
        values = self.swept.values_of(measure)
        gained = np.nan_to_num(values[setting] - values[self.baseline])
        order = np.argsort(-gained, kind="stable")
        return [(int(at), float(gained[at])) for at in order if gained[at] != 0]

    def in_words(self, measure: str, setting: int) -> str:
        """Return what a setting does to a measure, as a phrase; -1: there is none."""
        if setting < 0:
            return "the sweep has no setting here"
        values = self.swept.values_of(measure)
        means = self.means(measure)
        gained = [gain for _, gain in self.changes(measure, setting)]
        moved = measure_in_words(
            measure,
            float(means[setting]),
            float(means[setting] - means[self.baseline]),
            against="the baseline",
        )
        return f"{moved}; {gains_in_words(gained)} of {values.shape[1]:,}"

    def rankings(
        self, query: int, setting: int, *, limit: int = 10
    ) -> tuple[list[RankedDoc], list[RankedDoc]]:
        """Return a query's ranking under the baseline and under a setting."""
        before, here = (self._ranked(query, one, limit) for one in (self.baseline, setting))
        return (
            self._described(query, before, here),
            self._described(query, here, before),
        )

    def _ranked(self, query: int, setting: int, limit: int) -> list[tuple[str, float]]:
        arrays = self.swept.candidates
        scores = next(composite_scores(arrays, [self.swept.settings[setting]]))
        ids = arrays.doc_ids[query]
        own = scores[query, : len(ids)]
        order = [int(at) for at in score_order(own) if own[at] > -math.inf]
        return [(ids[at], float(own[at])) for at in order[:limit]]

    def _described(
        self, query: int, ranked: list[tuple[str, float]], other: list[tuple[str, float]]
    ) -> list[RankedDoc]:
        one = self.swept.candidates.queries[query]
        places = {doc_id: rank for rank, (doc_id, _) in enumerate(other, 1)}
        marks = {
            doc_id: mark for mark in ("outdated", "newest") for doc_id in one.metadata.get(mark, ())
        }
        grades = self._grades.get(one.query_id, {})
        return [
            RankedDoc(
                rank=rank,
                before=places.get(doc_id),
                doc_id=doc_id,
                content=self._contents.get(doc_id, ""),
                score=score,
                grade=grades.get(doc_id),
                mark=marks.get(doc_id, ""),
            )
            for rank, (doc_id, score) in enumerate(ranked, 1)
        ]

    @cached_property
    def _contents(self) -> dict[str, str]:
        return {entry.id: entry.content for entry in self.swept.corpus.entries}

    @cached_property
    def _grades(self) -> dict[str, dict[str, int]]:
        qrels = self.swept.corpus.qrels
        table: dict[str, dict[str, int]] = {}
        columns = (qrels[name] for name in ("query_id", "doc_id", "relevance"))
        for query_id, doc_id, relevance in zip(*columns, strict=True):
            table.setdefault(query_id, {})[doc_id] = int(relevance)
        return table


def spread(n: int, most: int, *, keep: Sequence[int] = ()) -> list[int]:
    """Return at most about `most` of the places 0 to n - 1, evenly spread, with those to keep."""
    if n <= most:
        return list(range(n))
    even = {round(at * (n - 1) / (most - 1)) for at in range(most)}
    return sorted(even | set(keep))


def _axis(swept: SweepResult, name: str) -> tuple[Axis, NDArray[np.intp]]:
    if name == "half_life_days":
        given: list[Any] = [half_life_days(one.decay_lambda) for one in swept.settings]
    else:
        given = [getattr(one, name) for one in swept.settings]
    # None is the rule of the recency weight, and stands before the numbers.
    values = sorted(set(given), key=_ascending)
    numbers = [math.nan if value is None else value for value in values]
    texts = (
        [str(value) for value in values]
        if any(isinstance(value, str) for value in values)
        else values_of(name, numbers)
    )
    place = {value: at for at, value in enumerate(values)}
    return (
        Axis(name, tuple(values), tuple(texts)),
        np.array([place[value] for value in given], dtype=np.intp),
    )


def _binned(axis: Axis, places: NDArray[np.intp]) -> tuple[Axis, NDArray[np.intp]]:
    n = len(axis.values)
    bin_of = np.arange(n) * _BINS // n
    least = tuple(axis.values[int(np.argmax(bin_of == at))] for at in range(_BINS))
    labels = tuple(f"≥ {_brief(axis.name, value)}" for value in least)
    return Axis(axis.name, least, labels), bin_of[places].astype(np.intp)


def _brief(name: str, value: Any) -> str:
    if isinstance(value, str) or value is None:
        return str(value)
    return duration(days_of(name, value), digits=2) if is_half_life(name) else f"{value:.2g}"


def _ascending(value: Any) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 1, 0.0, value
    return (0, 0.0, "") if value is None else (1, float(value), "")
