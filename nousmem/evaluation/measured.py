"""Every measure of every query under every setting, as tables, the best setting, and intervals.

What a sweep returns and what a result folder holds are both this, so that they answer the same
questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nousmem.corpora import Corpus, Query
from nousmem.errors import InvalidParameter, UnknownName
from nousmem.evaluation.measures import Measure, best_first, find_measure, query_means
from nousmem.evaluation.statistics.folds import query_groups
from nousmem.evaluation.statistics.resampling import drawn_whole, paired_interval
from nousmem.evaluation.statistics.validation import CrossValidation, cross_validate
from nousmem.retrieval.settings import Settings
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.scoring import Floats, Scoring, half_life_days

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MeasuredQuery",
    "MeasuredSettings",
    "check_attribute",
    "find_row",
    "measured_queries",
]

_SAME_DECAY: Final = 1e-3
"""Of the rate. The default's half-life is 28.8811 days, which nobody types to the last figure."""


@dataclass(frozen=True, slots=True)
class MeasuredQuery:
    """A query as a result needs to know it."""

    query_id: str
    """As in the corpus, like `text`, `category` and `scope`."""
    text: str
    category: str
    group: str
    """What it must stay together with in folds and resamples, such as its user."""
    scope: Scope


def measured_queries(corpus: Corpus, queries: Sequence[Query]) -> tuple[MeasuredQuery, ...]:
    """Return these queries of a corpus with their groups."""
    groups = query_groups(corpus, queries)
    return tuple(
        MeasuredQuery(one.query_id, one.text, one.category, group, one.scope)
        for one, group in zip(queries, groups, strict=True)
    )


def find_row(settings: Sequence[Settings], wanted: Settings) -> int | None:
    """Return the place of the settings that rank as the wanted ones do.

    Of several, the one whose decay_lambda is nearest; it may differ by 0.1 %, as that of a
    half-life typed as 28.88 days does from the default.

    Returns:
        None where there are none.
    """
    near = [at for at, one in enumerate(settings) if _ranks_as(one, wanted)]
    rate = wanted.scoring.decay_lambda
    return min(near, key=lambda at: abs(settings[at].scoring.decay_lambda - rate), default=None)


def _ranks_as(one: Settings, wanted: Settings) -> bool:
    own, other = _without_idle_weights(one), _without_idle_weights(wanted)
    if not math.isclose(own.decay_lambda, other.decay_lambda, rel_tol=_SAME_DECAY):
        return False
    same = one.retrieval == wanted.retrieval
    if not same and one.retrieval.unlimited != wanted.retrieval.unlimited:
        return False
    if own == other:
        return True
    same_recency = own.recency_weight() == other.recency_weight()
    compared = own.replace(
        decay_lambda=other.decay_lambda,
        w_recency=other.w_recency if same_recency else own.w_recency,
        recency_lambda=own.recency_lambda if own.recency_weight() else other.recency_lambda,
    )
    return compared == other


def _without_idle_weights(settings: Settings) -> Scoring:
    """Return the scoring without weights that say what goes without saying."""
    scoring, legs = settings.scoring, settings.retrieval.leg_names
    telling = {
        name: weight
        for name, weight in scoring.weights.items()
        if weight != (1.0 if name in legs else 0.0)
    }
    return scoring if len(telling) == len(scoring.weights) else scoring.replace(weights=telling)


def check_attribute(attribute: str) -> None:
    """Raise UnknownName unless queries can be grouped by it: "category", or a scope field."""
    known = ("category", *SCOPE_FIELDS)
    if attribute not in known:
        raise UnknownName("attribute of a query", attribute, known)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredSettings:
    """Every measure of every query under every setting."""

    parameters: tuple[str, ...]
    """The parameters varied, sorted."""
    settings: tuple[Settings, ...]
    """What was tried, one a row of `frame`, with what is not varied; after it the baseline, where
    it was not among that."""
    measures: tuple[Measure, ...]
    """What was measured, in the order asked for, each once."""
    values: Floats
    """Shape (settings, measures, queries); NaN where a measure does not exist for a query."""
    queries: tuple[MeasuredQuery, ...]
    """Those that have a relevant entry, in the order of the corpus."""
    baseline: int
    """Row of what the others are compared with."""
    n_tried: int
    """Rows that were tried; after them the baseline may stand."""

    @property
    def n_queries(self) -> int:
        """Queries measured."""
        return len(self.queries)

    @property
    def frame(self) -> pd.DataFrame:
        """One setting a row, in the order of the grid; the baseline last, where it is not in it.

        Columns: the parameters varied (functions, legs and terms by their names); half_life_days
        beside decay_lambda (infinite: no decay);
        one column for each measure, averaged over queries; n_queries; for Fresh@1 also n_Fresh@1,
        the queries it exists for, which its mean is over; so for a measure of ir_measures that
        some query has no value of.
        """
        return self._table(self.values)

    def by(self, attribute: str = "category") -> pd.DataFrame:
        """Return the measures of each group of queries, one setting and group a row.

        Args:
            attribute: "category", or a scope field.

        Returns:
            Columns: as in `frame`, and one named like `attribute`; n_queries is the group's.

        Raises:
            UnknownName: queries have no such attribute.
        """
        import pandas as pd

        labels = self.labels(attribute)
        tables: list[pd.DataFrame] = []
        for label in sorted(set(labels)):
            chosen = np.array([one == label for one in labels])
            table = self._table(self.values[:, :, chosen])
            table.insert(0, attribute, label)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def labels(self, attribute: str = "category") -> list[str]:
        """Return what groups the queries, one label a query.

        Args:
            attribute: "category", or a scope field ("" where it is not set).

        Raises:
            UnknownName: queries have no such attribute.
        """
        check_attribute(attribute)
        if attribute == "category":
            return [query.category for query in self.queries]
        return [getattr(query.scope, attribute) or "" for query in self.queries]

    def per_query(self, setting: int) -> pd.DataFrame:
        """Return the measures of every query under one setting.

        Args:
            setting: Row of `frame`.

        Returns:
            Columns: query_id, category, and one for each measure.
        """
        import pandas as pd

        self.check_setting(setting)
        columns: dict[str, Any] = {
            "query_id": [query.query_id for query in self.queries],
            "category": [query.category for query in self.queries],
        }
        for measure, row in zip(self.measures, self.values[setting], strict=True):
            columns[str(measure)] = row
        return pd.DataFrame(columns)

    def values_of(self, measure: str | Measure | None = None) -> Floats:
        """Return one measure of every query under every setting, shape (settings, queries).

        Fresh is NaN for queries whose fact was not updated.

        Args:
            measure: As it is called in the tables, or the measure itself; None is the first
                measured.

        Raises:
            UnknownName: there is no such measure.
            InvalidParameter: it was not measured, or with other code.
        """
        return self.values[:, self._column(measure)]

    def check_setting(self, setting: int) -> None:
        """Raise InvalidParameter unless `setting` is a row of `frame`."""
        if not 0 <= setting < len(self.settings):
            raise InvalidParameter(
                f"setting must be a row of frame, 0 to {len(self.settings) - 1}; got {setting!r}"
            )

    def measures_under(self, setting: int) -> Floats:
        """Return every measure under one setting (a row of `frame`), shape (measures, queries)."""
        return self.values[setting]

    def cross_validated(
        self,
        measure: str | Measure | None = None,
        *,
        folds: int | None = None,
        baseline: int | None = None,
        seed: int = 0,
    ) -> CrossValidation:
        """Return what tuning this measure is worth on folds it did not see.

        Args:
            measure: What is tuned and judged; None is the first measured.
            folds: How many; queries of one group stay together. None is 5, or the number of groups
                where there are fewer.
            baseline: Row of `frame` compared with; None is `baseline_index`.
            seed: Deals the groups into folds, and draws the resamples.

        Raises:
            UnknownName: there is no such measure.
            InvalidParameter: fewer than two folds, or more than there are groups; a single
                group; the measure was not measured; there is no such row.
        """
        against = self.baseline_index() if baseline is None else baseline
        self.check_setting(against)
        return cross_validate(
            self.values_of(measure),
            self.settings,
            measure=self.measures[self._column(measure)],
            query_ids=[query.query_id for query in self.queries],
            groups=[query.group for query in self.queries],
            baseline=against,
            folds=folds,
            seed=seed,
        )

    def best_index(self, measure: str | Measure | None = None) -> int:
        """Return the row of `frame` with the highest mean; of equals, the first.

        Args:
            measure: None is the first measured.

        Raises:
            UnknownName, InvalidParameter: as in `values_of`.
        """
        return int(best_first(query_means(self.values_of(measure)))[0])

    def best(self, measure: str | Measure | None = None) -> Settings:
        """Return the setting with the highest mean of a measure; of equals, the first.

        It was chosen on the queries it is reported on, so its measure flatters it a little.

        Args:
            measure: None is the first measured.

        Raises:
            UnknownName, InvalidParameter: as in `values_of`.
        """
        return self.settings[self.best_index(measure)]

    def leaderboard(
        self,
        measure: str | Measure | None = None,
        *,
        top: int = 10,
        baseline: int | None = None,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Return the best settings by a measure, each with its difference to a baseline.

        Args:
            measure: What to sort by; None is the first measured.
            top: How many rows.
            baseline: Row of `frame` to compare with; None is `baseline_index`.
            seed: Of the bootstrap.

        Returns:
            Columns: as in `frame`, and difference (of `measure`, to the baseline), low, high
            (its 95 % interval, paired over the queries that the measure exists for; whole groups
            are drawn, as in `compare`). The best of many settings is flattered by being chosen:
            `cross_validated` is not.

        Raises:
            UnknownName, InvalidParameter: as in `values_of`; `top` is below 1, or there is no row
                `baseline`.
        """
        if top < 1:
            raise InvalidParameter(f"top must be a whole number of at least 1, got {top!r}")
        column = self._column(measure)
        means = query_means(self.values[:, column])
        order = best_first(means)[:top]
        against = self.baseline_index() if baseline is None else baseline
        self.check_setting(against)
        table = self.frame.iloc[order].reset_index(drop=True)
        # By their ids, so that what is drawn does not depend on the order of the corpus.
        by_id = sorted(range(self.n_queries), key=lambda at: self.queries[at].query_id)
        known = [at for at in by_id if not np.isnan(self.values[against, column, at])]
        groups = [self.queries[at].group for at in known]
        whole = groups if drawn_whole(groups) else None
        base = self.values[against, column, known]
        intervals = [
            paired_interval(self.values[at, column, known], base, groups=whole, seed=seed)
            for at in order
        ]
        table["difference"] = [interval.difference for interval in intervals]
        table["low"] = [interval.low for interval in intervals]
        table["high"] = [interval.high for interval in intervals]
        return table

    def baseline_index(self) -> int:
        """Return the row of the baseline."""
        return self.baseline

    @property
    def baseline_settings(self) -> Settings:
        """What the others are compared with."""
        return self.settings[self.baseline]

    def _table(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        means = query_means(values)

        columns: dict[str, Any] = {}
        for name in self.parameters:
            columns[name] = [setting.shown(name) for setting in self.settings]
            if name == "decay_lambda":
                columns["half_life_days"] = [half_life_days(rate) for rate in columns[name]]
        for at, measure in enumerate(self.measures):
            columns[str(measure)] = means[:, at]
        columns["n_queries"] = [values.shape[2]] * len(self.settings)
        for at, measure in enumerate(self.measures):
            exists = ~np.isnan(values[:, at])
            if measure.needs_marks or not exists.all():
                columns[f"n_{measure}"] = exists.sum(axis=1)
        return pd.DataFrame(columns)

    def _column(self, measure: str | Measure | None) -> int:
        wanted = self.measures[0] if measure is None else measure
        return self.measures.index(find_measure(wanted, self.measures))
