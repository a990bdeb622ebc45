"""How sure one can be of differences between settings: the table of a comparison.

Queries are put in the order of their ids first, so that a result does not depend on the order
they come in.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import Measure
from nousmem.evaluation.statistics.resampling import (
    drawn_whole,
    grouped_sums,
    holm,
    paired_interval,
    paired_p_value,
    standard_error,
)
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FewQueriesWarning",
    "compare_values",
]


_ENOUGH_QUERIES: Final = 50
_ENOUGH_GROUPS: Final = 5
_POWER: Final = 0.8


class FewQueriesWarning(UserWarning):
    """A comparison rests on too few queries, or groups of them, to carry a claim."""


def compare_values(
    values: Mapping[str, Floats],
    measures: Sequence[str | Measure],
    *,
    query_ids: Sequence[str],
    baseline: str,
    groups: Sequence[str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare what was measured under several settings, each with the baseline.

    Args:
        values: Name of a setting to its measures, shape (measures, queries); NaN where a measure
            does not exist for a query.
        measures: One a row.
        query_ids: One a column. The table does not depend on their order.
        baseline: The name compared with.
        groups: Group of each query; whole groups are resampled.
        confidence: Of the intervals.
        seed: Equal seeds give equal tables.

    Returns:
        One row for each measure and setting but the baseline. Columns: measure, name, mean,
        baseline_mean, difference, low, high (the interval), p_value (randomisation test; see
        `paired_p_value`), p_holm (corrected for the number of rows), effect_size (difference over
        the standard deviation of differences), detectable (the smallest difference that so many
        queries or groups would show four times in five), wins, ties, losses (queries above, at
        and below the baseline), n_queries (those the measure exists for; where there are none,
        all that rests on them is NaN), n_groups (0: single queries resampled).

    Warns:
        FewQueriesWarning: there are fewer than 50 queries, or fewer than five groups.

    Raises:
        InvalidParameter: the arrays differ in shape, or `confidence` is not between 0 and 1.
    """
    import pandas as pd

    if baseline not in values:
        raise InvalidParameter(f"baseline {baseline!r} is none of {', '.join(values)}")
    if len(values) < 2:
        raise InvalidParameter("a comparison needs two settings at least")
    expected = (len(measures), len(query_ids))
    wrong = [f"{name} {np.shape(own)}" for name, own in values.items() if np.shape(own) != expected]
    if wrong or (groups is not None and len(groups) != len(query_ids)):
        raise InvalidParameter(
            f"values must have the shape (measures, queries), {expected}, and groups one a query; "
            f"got {', '.join(wrong) or f'{len(groups or ())} groups'}"
        )
    order = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    ordered = {name: own[:, order] for name, own in values.items()}
    resampled = None if groups is None else [groups[at] for at in order]
    if resampled is not None and not drawn_whole(resampled):
        resampled = None
    rows: list[dict[str, Any]] = [
        {
            "measure": str(measure),
            "name": name,
            **_row(own[column], ordered[baseline][column], resampled, confidence, seed),
        }
        for column, measure in enumerate(measures)
        for name, own in ordered.items()
        if name != baseline
    ]
    _warn_of_few(rows, n_queries=len(order), groups=resampled)
    corrected = holm([row["p_value"] for row in rows])
    table = pd.DataFrame(rows)
    table.insert(list(table.columns).index("p_value") + 1, "p_holm", corrected)
    return table


def _row(
    own: Floats, base: Floats, groups: list[str] | None, confidence: float, seed: int
) -> dict[str, float | int]:
    exists = np.flatnonzero(~np.isnan(own) & ~np.isnan(base)).tolist()
    own, base = own[exists], base[exists]
    groups = None if groups is None else [groups[at] for at in exists]
    counts = {"n_queries": len(exists), "n_groups": 0 if groups is None else len(set(groups))}
    differences = own - base
    moves = {
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
    }
    if not exists:
        return dict.fromkeys(_RESTING_ON_QUERIES, float("nan")) | moves | counts
    interval = paired_interval(own, base, groups=groups, confidence=confidence, seed=seed)
    spread = float(differences.std(ddof=1)) if len(exists) > 1 else 0.0
    figures = (
        float(own.mean()),
        float(base.mean()),
        interval.difference,
        interval.low,
        interval.high,
        paired_p_value(own, base, groups=groups, seed=seed),
        interval.difference / spread if spread else 0.0,
        _detectable(*grouped_sums(differences, groups), confidence),
    )
    return dict(zip(_RESTING_ON_QUERIES, figures, strict=True)) | moves | counts


_RESTING_ON_QUERIES: Final = (
    "mean", "baseline_mean", "difference", "low", "high", "p_value", "effect_size", "detectable",
)  # fmt: skip


def _detectable(sums: Floats, counts: Floats, confidence: float) -> float:
    """Return the difference that an interval of this confidence shows four times in five."""
    from scipy.special import stdtrit

    if len(sums) < 2:
        return float("inf")
    quantiles = stdtrit(len(sums) - 1, [(1 + confidence) / 2, _POWER])
    return float(quantiles.sum()) * standard_error(sums, counts)


def _warn_of_few(
    rows: Sequence[Mapping[str, Any]], *, n_queries: int, groups: Sequence[str] | None
) -> None:
    if n_queries < _ENOUGH_QUERIES:
        warnings.warn(
            f"so few queries ({n_queries}) show only large differences: {_said_detectable(rows)}",
            FewQueriesWarning,
            stacklevel=4,
        )
    if groups is not None and (n_groups := len(set(groups))) < _ENOUGH_GROUPS:
        warnings.warn(
            f"the queries come from only {n_groups} groups (users, conversations), too few to say "
            f"what to expect of others: {_said_detectable(rows)}. `compare` with grouped=False, or "
            "`nousmem compare --ungrouped`, says what to expect of more queries of the same groups",
            FewQueriesWarning,
            stacklevel=4,
        )


def _said_detectable(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say which differences show, by the row where the smallest do."""
    # Where nothing moved, 0 would say that anything shows.
    known = [row for row in rows if 0 < row["detectable"] < float("inf")]
    if not known:
        return "look at the column detectable"
    row = min(known, key=lambda one: one["detectable"])
    return (
        f"the smallest that would show is {row['detectable']:.2g}, in {row['measure']} (the column "
        "detectable)"
    )
