"""Two results against each other, on the queries they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nousmem.errors import ExperimentError
from nousmem.evaluation.experiments.conditions import MeasuredCondition
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.measures import Measure
from nousmem.evaluation.statistics.comparison import compare_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Setting", "compare_results"]

Setting = Literal["best", "baseline"]
"""Which setting of a condition stands for it: the best by the measure tuned, or the baseline."""


def compare_results(
    one: ExperimentResult,
    other: ExperimentResult,
    *,
    setting: Setting = "best",
    grouped: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare two results, the second with the first, paired over the queries both have.

    Conditions of the same name are compared; where both results have a single one, these are,
    whatever their names.

    Args:
        one: What is compared with.
        other: What is compared.
        setting: Under which setting of each: its "best" by the measure it tunes, or its
            "baseline".
        grouped: Whether whole groups of queries are resampled, as in
            `nousmem.evaluation.compare`.
        seed: Of the resamples.

    Returns:
        Columns: condition (name), n_only_one, n_only_other (queries that only one has, left out),
        and those of `nousmem.evaluation.compare`.

    Raises:
        ExperimentError: no condition, measure or query is shared.
    """
    import pandas as pd

    tables: list[pd.DataFrame] = []
    for name, left, right in _pairs(one, other):
        shared = [m for m in left.measured.measures if m in right.measured.measures]
        if not shared:
            raise ExperimentError(f"{name}: the results have no measure in common")
        left_at = {query.query_id: at for at, query in enumerate(left.measured.queries)}
        right_at = {query.query_id: at for at, query in enumerate(right.measured.queries)}
        ids = sorted(set(left_at) & set(right_at))
        if not ids:
            raise ExperimentError(f"{name}: the results have no query in common")
        rows_of = {
            "one": (left, one, [left_at[query_id] for query_id in ids]),
            "other": (right, other, [right_at[query_id] for query_id in ids]),
        }
        values = {
            key: measured.measured.measures_under(_row(measured, result, setting))[
                _measure_rows(measured, shared)
            ][:, columns]
            for key, (measured, result, columns) in rows_of.items()
        }
        groups = [left.measured.queries[left_at[query_id]].group for query_id in ids]
        table = compare_values(
            values,
            shared,
            query_ids=ids,
            groups=groups if grouped else None,
            baseline="one",
            seed=seed,
        ).drop(columns="name")
        table.insert(0, "condition", name)
        table.insert(1, "n_only_one", len(left_at) - len(ids))
        table.insert(2, "n_only_other", len(right_at) - len(ids))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _pairs(
    one: ExperimentResult, other: ExperimentResult
) -> list[tuple[str, MeasuredCondition, MeasuredCondition]]:
    if len(one.conditions) == len(other.conditions) == 1:
        names = dict.fromkeys([*one.names, *other.names])
        return [(" / ".join(names), one.conditions[0], other.conditions[0])]
    left = dict(zip(one.names, one.conditions, strict=True))
    right = dict(zip(other.names, other.conditions, strict=True))
    shared = [name for name in left if name in right]
    if not shared:
        raise ExperimentError(
            f"the results have no condition in common: {'; '.join(left)} and {'; '.join(right)}"
        )
    return [(name, left[name], right[name]) for name in shared]


def _row(measured: MeasuredCondition, result: ExperimentResult, setting: Setting) -> int:
    if setting == "best":
        return measured.measured.best_index(result.experiment.tune)
    return measured.measured.baseline_index()


def _measure_rows(measured: MeasuredCondition, measures: list[Measure]) -> list[int]:
    return [measured.measured.measures.index(measure) for measure in measures]
