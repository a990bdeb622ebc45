"""What an experiment found, over all its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nousmem.errors import InvalidParameter
from nousmem.evaluation.experiments.conditions import (
    MeasuredCondition,
    condition_names,
    varied_columns,
)
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import Measure, query_means
from nousmem.evaluation.statistics.comparison import compare_values
from nousmem.evaluation.statistics.folds import fitting_folds
from nousmem.evaluation.statistics.validation import CrossValidation, cross_validate
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExperimentResult"]

BASELINE, BEST = "baseline", "best"


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """Every condition of an experiment, measured.

    What a sweep answers of its settings, this answers of one condition's: the winner's, or that of
    the `condition` which is named.
    """

    experiment: Experiment
    """What was asked."""
    conditions: tuple[MeasuredCondition, ...]
    """In the order of the experiment's."""

    @property
    def names(self) -> list[str]:
        """A short name for each condition: what sets it apart from the others."""
        return condition_names(self.experiment.conditions)

    @property
    def n_tried(self) -> int:
        """Settings of the grid or sampler; after them the baseline may stand."""
        return self.conditions[0].measured.n_tried

    @cached_property
    def winner(self) -> int | None:
        """The condition whose tuned measure has the highest mean on folds it did not see.

        Of equals, the first by name; where nothing can be judged, by the mean of the best setting.
        None where conditions were measured on different queries: the higher mean is then of the
        easier queries, and says nothing of the settings.
        """
        if len(self._by_queries()) > 1:
            return None
        names = self.names
        return min(range(len(names)), key=lambda at: (-self._worth(at), names[at]))

    @property
    def measured(self) -> MeasuredSettings:
        """The measures of the winner.

        Raises:
            InvalidParameter: there is none; `conditions` has those of each.
        """
        return self.conditions[self._chosen(None)].measured

    @property
    def frame(self) -> pd.DataFrame:
        """One condition and setting a row.

        Columns: condition (from 0); the corpus, and what else conditions differ in; setting (from
        0, in the order of the grid); then those of `MeasuredSettings.frame`; is_baseline.
        """
        return self._stacked(lambda measured: measured.frame)

    @property
    def by_category(self) -> pd.DataFrame:
        """One condition, category and setting a row; columns as in `frame`, and category."""
        return self._stacked(lambda measured: measured.by())

    @property
    def tuned(self) -> pd.DataFrame:
        """What tuning is worth on folds it did not see, one condition a row.

        Where several conditions share their queries, one more row for each such corpus chooses
        among their settings too; its condition is -1.

        Columns: condition; name; measure (the one tuned); mean (on unseen folds); baseline_mean;
        difference, low, high (95 %); p_value; tuned_on_all (what the best setting reads on the
        queries it was chosen on); optimism (tuned_on_all - mean); n_queries; folds; n_chosen (how
        many different settings the folds chose: 1 is a stable choice); is_winner. Where a single
        query was measured, folds and n_chosen are 0 and what would be judged is NaN.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for at, name in enumerate(self.names):
            row = _tuned_row(self.cross_validated(at)) if self.judgeable(at) else self._untold(at)
            rows.append({"condition": at, "name": name, **row})
        for (corpus, _), members in self._by_queries().items():
            if len(members) > 1 and self.judgeable(members[0]):
                row = _tuned_row(self._chosen_among(members))
                rows.append({"condition": -1, "name": f"{corpus}, the best condition", **row})
        winner = self.winner
        return pd.DataFrame([{**row, "is_winner": row["condition"] == winner} for row in rows])

    @property
    def comparison(self) -> pd.DataFrame:
        """The best setting of each condition against the baseline, on the queries it was chosen on.

        Columns: condition, and those of `nousmem.evaluation.compare`; p_holm is corrected within
        a condition.
        """
        return self._concatenated([self.compared(at) for at in range(len(self.conditions))])

    def compared(self, condition: int) -> pd.DataFrame:
        """Return the best setting of one condition against the baseline: `compare`'s table."""
        measured = self.conditions[condition].measured
        best = measured.best_index(self.experiment.tune)
        return compare_values(
            {
                BASELINE: measured.measures_under(measured.baseline_index()),
                BEST: measured.measures_under(best),
            },
            measured.measures,
            query_ids=[query.query_id for query in measured.queries],
            groups=[query.group for query in measured.queries],
            baseline=BASELINE,
            seed=self.experiment.seed,
        )

    def between_conditions(self, baseline: int = 0) -> pd.DataFrame:
        """Compare conditions, each tuned on all folds but one and judged on that one.

        Args:
            baseline: The condition compared with. The others are those that share its queries.

        Returns:
            Columns: condition, and those of `nousmem.evaluation.compare`; empty where no other
            condition shares the queries.
        """
        import pandas as pd

        ids = [query.query_id for query in self._tuned_queries(baseline)]
        sharing = [
            at
            for at in range(len(self.conditions))
            if [query.query_id for query in self._tuned_queries(at)] == ids
        ]
        if len(sharing) < 2:
            return pd.DataFrame()
        names = self.names
        table = compare_values(
            {
                names[at]: self.cross_validated(at).values[np.newaxis]  # noqa: PD011  # not pandas
                for at in sharing
            },
            [self.experiment.tune],
            query_ids=ids,
            groups=[query.group for query in self._tuned_queries(baseline)],
            baseline=names[baseline],
            seed=self.experiment.seed,
        )
        table.insert(0, "condition", [names.index(name) for name in table["name"]])
        return table

    def cross_validated(self, condition: int | None = None) -> CrossValidation:
        """Return what tuning under one condition is worth on folds it did not see.

        Args:
            condition: None is the winner.
        """
        at = self._chosen(condition)
        if at not in self._judged:
            measured = self.conditions[at].measured
            self._judged[at] = measured.cross_validated(
                self.experiment.tune, folds=self._folds(measured), seed=self.experiment.seed
            )
        return self._judged[at]

    def judgeable(self, condition: int) -> bool:
        """Return whether there are two groups of queries, to tune on one and judge on the other."""
        return self._folds(self.conditions[condition].measured) > 1

    def best(
        self, measure: str | Measure | None = None, *, condition: int | None = None
    ) -> Settings:
        """Return the best setting of a condition.

        Args:
            measure: By which it is best; None is the one tuned.
            condition: None is the winner.

        Raises:
            InvalidParameter: no condition is named, and there is no winner; or the measure was
                not measured.
        """
        measured = self.conditions[self._chosen(condition)].measured
        return measured.best(self.experiment.tune if measure is None else measure)

    def leaderboard(
        self,
        measure: str | Measure | None = None,
        *,
        condition: int | None = None,
        top: int = 10,
        baseline: int | None = None,
    ) -> pd.DataFrame:
        """Return the best settings of a condition, as `MeasuredSettings.leaderboard` does.

        Args:
            measure: What to sort by; None is the one tuned.
            condition: None is the winner.
            top: How many rows.
            baseline: Setting to compare with; None is the baseline.

        Raises:
            InvalidParameter: as in `best`.
        """
        return self.conditions[self._chosen(condition)].measured.leaderboard(
            self.experiment.tune if measure is None else measure,
            top=top,
            baseline=baseline,
            seed=self.experiment.seed,
        )

    def by(self, attribute: str = "category", *, condition: int | None = None) -> pd.DataFrame:
        """Return the measures of each group of queries under a condition, None for the winner."""
        return self.conditions[self._chosen(condition)].measured.by(attribute)

    def per_query(self, setting: int, *, condition: int | None = None) -> pd.DataFrame:
        """Return the measures of every query under a setting and a condition, None the winner."""
        return self.conditions[self._chosen(condition)].measured.per_query(setting)

    def __repr__(self) -> str:
        """Show what was measured."""
        settings = len(self.conditions[0].measured.settings)
        return (
            f"ExperimentResult({self.experiment.title!r}: {len(self.conditions)} conditions × "
            f"{settings:,} settings, tuned by {self.experiment.tune})"
        )

    def _untold(self, condition: int) -> dict[str, Any]:
        """Return the row of a condition that tuning cannot be judged under."""
        names = ("mean", "difference", "low", "high", "p_value", "optimism")
        measured, tune = self.conditions[condition].measured, self.experiment.tune
        own = query_means(measured.values_of(tune))
        return {
            "measure": str(tune),
            **dict.fromkeys(names, float("nan")),
            "baseline_mean": float(own[measured.baseline_index()]),
            "tuned_on_all": float(own.max()),
            "n_queries": len(self._tuned_queries(condition)),
            "folds": 0,
            "n_chosen": 0,
        }

    def _tuned_queries(self, condition: int) -> list[MeasuredQuery]:
        """Return the queries that the tuned measure exists for."""
        measured = self.conditions[condition].measured
        exists = ~np.isnan(measured.values_of(self.experiment.tune)[0])
        return [one for one, there in zip(measured.queries, exists, strict=True) if there]

    def _folds(self, measured: MeasuredSettings) -> int:
        """Return the experiment's folds, or as many as there are groups."""
        exists = ~np.isnan(measured.values_of(self.experiment.tune)[0])
        groups = [one.group for one, there in zip(measured.queries, exists, strict=True) if there]
        return fitting_folds(groups, self.experiment.folds)

    @cached_property
    def _judged(self) -> dict[int, CrossValidation]:
        return {}

    def _chosen(self, condition: int | None) -> int:
        at = self.winner if condition is None else condition
        if at is None:
            raise InvalidParameter(
                "the conditions were measured on different queries, so that none of them wins: "
                f"name one, as condition=0 for {self.names[0]!r}"
            )
        if not 0 <= at < len(self.conditions):
            raise InvalidParameter(
                f"condition must be from 0 to {len(self.conditions) - 1}, got {at!r}"
            )
        return at

    def _worth(self, condition: int) -> float:
        if self.judgeable(condition):
            return self.cross_validated(condition).mean
        measured = self.conditions[condition].measured
        means = query_means(measured.values_of(self.experiment.tune))
        return float(np.nan_to_num(means, nan=-np.inf).max())

    def _by_queries(self) -> dict[tuple[str, tuple[str, ...]], list[int]]:
        """Return the conditions by corpus and queries."""
        shared: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for at, one in enumerate(self.conditions):
            ids = tuple(query.query_id for query in one.measured.queries)
            shared.setdefault((one.condition.corpus.name, ids), []).append(at)
        return shared

    def _chosen_among(self, members: Sequence[int]) -> CrossValidation:
        """Return what choosing the condition and the setting is worth; the first's baseline."""
        tune = self.experiment.tune
        first = self.conditions[members[0]].measured
        values: list[Floats] = [self.conditions[at].measured.values_of(tune) for at in members]
        settings = [one for at in members for one in self.conditions[at].measured.settings]
        return cross_validate(
            np.concatenate(values),
            settings,
            measure=tune,
            query_ids=[query.query_id for query in first.queries],
            groups=[query.group for query in first.queries],
            baseline=first.baseline_index(),
            folds=self._folds(first),
            seed=self.experiment.seed,
        )

    def _stacked(self, table_of: Callable[[MeasuredSettings], pd.DataFrame]) -> pd.DataFrame:
        varied = varied_columns(self.experiment.conditions)
        tables: list[pd.DataFrame] = []
        for one in self.conditions:
            table = table_of(one.measured)
            n = len(one.measured.settings)
            table = table.assign(
                setting=np.arange(len(table)) % n,
                is_baseline=np.arange(len(table)) % n == one.measured.baseline_index(),
            )
            columns: Mapping[str, Any] = one.condition.columns()
            for place, name in enumerate(varied):
                table.insert(place, name, columns.get(name))
            table.insert(len(varied), "setting", table.pop("setting"))
            tables.append(table)
        return self._concatenated(tables)

    def _concatenated(self, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
        import pandas as pd

        numbered = [table.copy() for table in tables]
        for at, table in enumerate(numbered):
            table.insert(0, "condition", at)
        return pd.concat(numbered, ignore_index=True)


def _tuned_row(judged: CrossValidation) -> dict[str, Any]:
    return {
        "measure": str(judged.measure),
        "mean": judged.mean,
        "baseline_mean": float(judged.baseline.mean()),
        "difference": judged.interval.difference,
        "low": judged.interval.low,
        "high": judged.interval.high,
        "p_value": judged.p_value,
        "tuned_on_all": judged.tuned_on_all,
        "optimism": judged.optimism,
        "n_queries": len(judged.values),
        "folds": len(judged.chosen),
        "n_chosen": len(set(judged.chosen)),
    }
