"""A sweep's settings as a grid that can be looked at two parameters at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import best_first, query_means
from nousmem.evaluation.sweeps.values import composite_scores
from nousmem.evaluation.swept import SweepResult
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats, score_order
from nousmem.viz._own_parts import in_force, numbered, shown_value
from nousmem.viz.explorer._measuring import Difference, Pairing, differences_of
from nousmem.viz.explorer._rankings import marks_of
from nousmem.viz.explorer.announcing import gains_in_words, measure_in_words
from nousmem.viz.plots.labels import days_of, duration, is_half_life, values_of

__all__ = ["Axis", "RankedDoc", "SweepGrid", "spread"]

_RESAMPLES: Final = 1000
_BINS: Final = 8
"""Of an axis on which a search has drawn more values than that."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter that was varied, and its values: numbers ascending, others by their names.

    Values that a sampler has drawn are put together, as many to each place; `values` and `labels`
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

    A baseline that was not tried has no place: it is compared with, and stands in no cell.

    Attributes:
        swept: What the sweep found.
        baseline: Row of `swept.frame` that the others are compared with.
        axes: The parameters that were varied.

    Raises:
        InvalidParameter: nothing was varied.
    """

    def __init__(self, swept: MeasuredSettings, *, baseline: int | None = None) -> None:
        self.swept = swept
        self.baseline = swept.baseline_index() if baseline is None else baseline
        if not 0 <= self.baseline < len(swept.settings):
            raise InvalidParameter(
                f"baseline must be a row of the sweep, 0 to {len(swept.settings) - 1}, "
                f"got {baseline!r}"
            )
        self.axes: dict[str, Axis] = {}
        self._places: dict[str, NDArray[np.intp]] = {}
        tried = swept.settings[: swept.n_tried]
        found = {name: _axis(tried, name) for name in swept.parameters}
        # A sampler draws values of its own for every setting; a grid has them all combined.
        sparse = math.prod(len(axis.values) for axis, _ in found.values()) > len(tried)
        for name, (axis, places) in found.items():
            if len(axis.values) > 1:
                of_numbers = isinstance(axis.values[-1], Real)
                binned = sparse and of_numbers and len(axis.values) > _BINS
                self.axes[name], self._places[name] = (
                    _binned(axis, places) if binned else (axis, places)
                )
        if not self.axes:
            raise InvalidParameter(
                "the sweep varied nothing: give a grid with two values of some parameter"
            )

    @property
    def queries(self) -> tuple[MeasuredQuery, ...]:
        """The queries measured."""
        return self.swept.queries

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The category of each query measured."""
        return tuple(query.category for query in self.queries)

    @cached_property
    def pairing(self) -> Pairing:
        """How the queries are compared."""
        swept = self.swept
        return Pairing.of(
            [query.query_id for query in self.queries],
            [query.group for query in self.queries],
            field=swept.corpus.fold_field if isinstance(swept, SweepResult) else "group",
        )

    def means(self, measure: str) -> Floats:
        """Return the mean of a measure under every setting, shape (settings,)."""
        return query_means(self.swept.values_of(measure))

    def best(self, measure: str) -> int:
        """Return the setting that was tried with the largest mean; of equals the first."""
        return int(best_first(self.means(measure)[: self.swept.n_tried])[0])

    def place(self, setting: int, name: str) -> int:
        """Return where a setting that was tried stands on an axis."""
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
        kept = np.ones(self.swept.n_tried, dtype=bool)
        for name, place in fixed.items():
            if name not in (x, y):
                kept &= self._places[name] == place
        means = self.means(measure)[: self.swept.n_tried]
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
    ) -> tuple[list[RankedDoc], list[RankedDoc]] | None:
        """Return a query's ranking under the baseline and under a setting.

        None where there are no candidates to rank: a result that was read from files has none.
        """
        if not isinstance(self.swept, SweepResult):
            return None
        ranked = _Ranked(self.swept, query, limit)
        before, here = ranked.under(self.baseline), ranked.under(setting)
        return ranked.described(before, here), ranked.described(here, before)


class _Ranked:
    """The rankings of one query of a sweep."""

    def __init__(self, swept: SweepResult, query: int, limit: int) -> None:
        self._swept, self._at, self._limit = swept, query, limit
        self._query = swept.candidates_of(0).queries[query]
        qrels = swept.corpus.qrels[swept.corpus.qrels["query_id"] == self._query.query_id]
        self._grades = {
            doc_id: int(relevance)
            for doc_id, relevance in zip(qrels["doc_id"], qrels["relevance"], strict=True)
        }

    def under(self, setting: int) -> list[tuple[str, float]]:
        arrays = self._swept.candidates_of(setting)
        scores = next(composite_scores(arrays, [self._swept.settings[setting].scoring]))
        ids = arrays.doc_ids[self._at]
        own = scores[self._at, : len(ids)]
        order = [int(at) for at in score_order(own) if own[at] > -math.inf]
        return [(ids[at], float(own[at])) for at in order[: self._limit]]

    def described(
        self, ranked: list[tuple[str, float]], other: list[tuple[str, float]]
    ) -> list[RankedDoc]:
        places = {doc_id: rank for rank, (doc_id, _) in enumerate(other, 1)}
        marks = marks_of(self._query.metadata)
        wanted = {doc_id for doc_id, _ in ranked}
        contents = {one.id: one.content for one in self._swept.corpus.entries if one.id in wanted}
        return [
            RankedDoc(
                rank=rank,
                before=places.get(doc_id),
                doc_id=doc_id,
                content=contents.get(doc_id, ""),
                score=score,
                grade=self._grades.get(doc_id),
                mark=marks.get(doc_id, ""),
            )
            for rank, (doc_id, score) in enumerate(ranked, 1)
        ]


def spread(n: int, most: int, *, keep: Sequence[int] = ()) -> list[int]:
    """Return at most about `most` of the places 0 to n - 1, evenly spread, with those to keep."""
    if n <= most:
        return list(range(n))
    even = {round(at * (n - 1) / (most - 1)) for at in range(most)}
    return sorted(even | set(keep))


def _axis(settings: Sequence[Settings], name: str) -> tuple[Axis, NDArray[np.intp]]:
    given = [in_force(one, name) for one in settings]
    if all(value is None or isinstance(value, Real) for value in given):
        # None is the rule of the recency weight, and stands before the numbers.
        values = sorted(set(given), key=lambda value: -math.inf if value is None else value)
        texts = values_of(name, [math.nan if value is None else value for value in values])
    else:
        texts_by_value = _texts(settings, given, name)
        values = sorted(texts_by_value, key=texts_by_value.__getitem__)
        texts = [texts_by_value[value] for value in values]
    place = {value: at for at, value in enumerate(values)}
    return (
        Axis(name, tuple(values), tuple(texts)),
        np.array([place[value] for value in given], dtype=np.intp),
    )


def _texts(settings: Sequence[Settings], given: Sequence[Any], name: str) -> dict[Any, str]:
    """Return the name of each function, list of legs or of terms; in full where two are alike.

    Full names that are alike as well are numbered.
    """
    first: dict[Any, Settings] = dict(zip(given, settings, strict=True))
    short = {value: shown_value(one, name) for value, one in first.items()}
    alike = [text for text in short.values() if list(short.values()).count(text) > 1]
    full = [
        shown_value(first[value], name, whole=True) if text in alike else text
        for value, text in short.items()
    ]
    return dict(zip(short, numbered(full), strict=True))


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
