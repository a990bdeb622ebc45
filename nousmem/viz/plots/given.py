"""What a picture may be given in place of a plain table or Scoring."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from nousmem.errors import InvalidParameter
from nousmem.evaluation.experiments import ExperimentResult
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Measured", "baseline_values", "scoring_of", "tried_frame"]

Measured = MeasuredSettings | ExperimentResult
"""A result, which stands for the rows that were tried; of an experiment, those of the winner."""


def scoring_of(given: Scoring | Settings | None) -> Scoring:
    """Return the scoring of what was given; None is the default one.

    Raises:
        InvalidParameter: it is something else.
    """
    scoring: object = given.scoring if isinstance(given, Settings) else given
    if scoring is None:
        return Scoring()
    if not isinstance(scoring, Scoring):
        raise InvalidParameter(f"scoring must be a Scoring or Settings, got {scoring!r}")
    return scoring


def tried_frame(given: pd.DataFrame | Measured) -> pd.DataFrame:
    """Return a table as it is; of a result, the rows that were tried.

    Raises:
        InvalidParameter: the result is of conditions of which none wins.
    """
    measured = _measured(given)
    if measured is None:
        return cast("pd.DataFrame", given)
    return measured.frame.head(measured.n_tried)


def baseline_values(given: pd.DataFrame | Measured, *measures: str) -> list[float] | None:
    """Return these measures of a result's baseline.

    Returns:
        None where a table is given, the baseline is one of the rows that were tried, or a measure
        does not exist for it.
    """
    measured = _measured(given)
    if measured is None or measured.baseline < measured.n_tried:
        return None
    row = measured.frame.iloc[measured.baseline]
    values = [float(row[name]) for name in measures if name in row.index]
    whole = len(values) == len(measures) and not any(map(math.isnan, values))
    return values if whole else None


def _measured(given: object) -> MeasuredSettings | None:
    if isinstance(given, ExperimentResult):
        return given.measured
    return given if isinstance(given, MeasuredSettings) else None
