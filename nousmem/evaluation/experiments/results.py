"""What an experiment found, over all its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nousmem.evaluation.experiments.conditions import (
    MeasuredCondition,
    condition_names,
    varied_columns,
)
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import query_means
from nousmem.evaluation.statistics.comparison import compare_values
from nousmem.evaluation.statistics.folds import fitting_folds
from nousmem.evaluation.statistics.validation import CrossValidation, cross_validate
from nousmem.scoring import Floats, Scoring

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExperimentResult"]

BASELINE, BEST = "baseline", "best"


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """Every condition of an experiment, measured."""

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
        """Settings of the grid or search; after them the baseline may stand."""
        if self.experiment.search == "optuna":  # a sweep's, which begins with its baseline
            return len(self.conditions[0].measured.settings)
        return self.experiment.settings().n_tried

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
        many different settings the folds chose: 1 is a stable choice). Where a single query was
        measured, folds and n_chosen are 0 and what would be judged is NaN.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for at, name in enumerate(self.names):
            row = _tuned_row(self.cross_validated(at)) if self.judgeable(at) else self._untold(at)
            rows.append({"condition": at, "name": name, **row})
        for corpus, members in self._sharing_queries().items():
            if self.judgeable(members[0]):
                row = _tuned_row(self._chosen_among(members))
                rows.append({"condition": -1, "name": f"{corpus}, the best condition", **row})
        return pd.DataFrame(rows)

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

    def cross_validated(self, condition: int) -> CrossValidation:
        """Return what tuning under one condition is worth on folds it did not see."""
        measured = self.conditions[condition].measured
        return measured.cross_validated(
            self.experiment.tune, folds=self._folds(measured), seed=self.experiment.seed
        )

    def judgeable(self, condition: int) -> bool:
        """Return whether there are two groups of queries, to tune on one and judge on the other."""
        return self._folds(self.conditions[condition].measured) > 1

    def best(self, condition: int = 0) -> Scoring:
        """Return the best setting of a condition."""
        return self.conditions[condition].measured.best(self.experiment.tune)

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

    def _sharing_queries(self) -> dict[str, list[int]]:
        shared: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for at, one in enumerate(self.conditions):
            ids = tuple(query.query_id for query in one.measured.queries)
            shared.setdefault((one.condition.corpus.name, ids), []).append(at)
        return {name: members for (name, _), members in shared.items() if len(members) > 1}

    def _chosen_among(self, members: Sequence[int]) -> CrossValidation:
        """Return what choosing the condition and the setting is worth; the first's baseline."""
        tune = self.experiment.tune
        first = self.conditions[members[0]].measured
        values: list[Floats] = [self.conditions[at].measured.values_of(tune) for at in members]
        scorings = [one for at in members for one in self.conditions[at].measured.settings]
        return cross_validate(
            np.concatenate(values),
            scorings,
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
        "n_chosen": len({repr(scoring) for scoring in judged.chosen}),
    }
