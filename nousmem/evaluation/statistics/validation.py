"""What tuning is worth on queries it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import Measure
from nousmem.evaluation.statistics._retuning import Retuning
from nousmem.evaluation.statistics.folds import fitting_folds, fold_of
from nousmem.evaluation.statistics.resampling import (
    Interval,
    drawn_whole,
    student_interval,
    student_p_value,
)
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Settings
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrossValidation", "cross_validate"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Each fold's queries measured under the setting that was best on the other folds.

    Only the queries that the measure exists for; n of them.
    """

    measure: Measure
    """What was tuned, and is judged."""
    chosen: tuple[Settings, ...]
    """The setting chosen for each fold, on the queries of the others."""
    fold: NDArray[np.intp]
    """Shape (n,): the fold of each query."""
    values: Floats
    """Shape (n,): each query's measure under the setting chosen without it."""
    baseline: Floats
    """Shape (n,): under the baseline."""
    tuned_on_all: float
    """The mean of the setting that is best on all queries, on these same queries."""
    interval: Interval
    """Of the mean of values - baseline, 95 %: Student's, over the standard error of the whole
    procedure. On each bootstrap sample of the queries, or groups, the settings are chosen again:
    an interval that takes the choice for granted covers 87 % where nothing is to be gained."""
    p_value: float
    """Of that difference: Student's t over the same standard error."""

    @property
    def mean(self) -> float:
        """The honest figure: what to expect of settings tuned this way on queries like these."""
        return float(self.values.mean())

    @property
    def optimism(self) -> float:
        """How much the figure of the best setting on its own tuning queries flatters it."""
        return self.tuned_on_all - self.mean

    @property
    def frame(self) -> pd.DataFrame:
        """One fold a row.

        Columns: fold; the parameters of the setting chosen; mean and baseline_mean of the
        measure on the fold's queries; n_queries.
        """
        import pandas as pd

        rows = [
            {
                "fold": number,
                **setting.scoring.to_dict(),
                **{name: setting.shown(name) for name in RETRIEVAL_PARAMETERS},
                "mean": float(self.values[self.fold == number].mean()),
                "baseline_mean": float(self.baseline[self.fold == number].mean()),
                "n_queries": int((self.fold == number).sum()),
            }
            for number, setting in enumerate(self.chosen)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        """Show the honest mean, the difference to the baseline and the optimism."""
        return (
            f"CrossValidation({self.measure}: {self.mean:.4f} on unseen folds, "
            f"{self.interval.difference:+.4f} against the baseline "
            f"[{self.interval.low:+.4f}, {self.interval.high:+.4f}], p {self.p_value:.4f}; "
            f"tuned and judged on the same queries it would read {self.tuned_on_all:.4f})"
        )


def cross_validate(
    values: Floats,
    settings: Sequence[Settings],
    *,
    measure: str | Measure,
    query_ids: Sequence[str],
    groups: Sequence[str],
    baseline: int,
    folds: int | None = None,
    seed: int = 0,
) -> CrossValidation:
    """Choose on all folds but one, measure on that one, for every fold.

    Args:
        values: Shape (settings, queries): what is tuned and judged, for every query under every
            setting; nothing is computed again. NaN where it does not exist for a query.
        settings: One a row of `values`.
        measure: What the values are of.
        query_ids: One a column of `values`.
        groups: Group of each query; those of one group stay together.
        baseline: Row of `values` compared with.
        folds: How many; None is 5, or the number of groups where there are fewer.
        seed: Deals the groups into folds, and draws the resamples.

    Raises:
        InvalidParameter: fewer than two folds, or more than there are groups; a single group.
    """
    known: list[int] = np.flatnonzero(~np.isnan(values[0])).tolist()
    if not known:
        raise InvalidParameter(f"{measure} exists for none of the {len(query_ids)} queries")
    values = values[:, known]
    ids, kept = [query_ids[at] for at in known], [groups[at] for at in known]
    fold = fold_of(kept, folds=fitting_folds(kept) if folds is None else folds, seed=seed)
    retuning = Retuning(
        values, baseline=baseline, fold=fold, units=kept if drawn_whole(kept) else ids
    )
    held_out = values[np.asarray(retuning.chosen)[fold], np.arange(values.shape[1])]
    against = values[baseline]
    gain, error = float((held_out - against).mean()), retuning.standard_error(seed=seed)
    return CrossValidation(
        measure=measure if isinstance(measure, Measure) else Measure.parse(measure),
        chosen=tuple(settings[at] for at in retuning.chosen),
        fold=fold,
        values=held_out,
        baseline=against,
        tuned_on_all=float(values.mean(axis=1).max()),
        interval=student_interval(gain, error, retuning.n_drawn),
        p_value=student_p_value(gain, error, retuning.n_drawn),
    )
