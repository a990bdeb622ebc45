"""How sure one can be of a difference: intervals over paired queries."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter

__all__ = ["Interval", "paired_interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and where it lies with the given confidence."""

    difference: float
    low: float
    high: float
    confidence: float


def paired_interval(
    values: NDArray[np.float64],
    baseline: NDArray[np.float64],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the mean of values - baseline with a bootstrap interval over queries.

    Args:
        values: Shape (n,): a measure of each query under one setting.
        baseline: Shape (n,): the same queries under the setting compared with.
        confidence: Of the interval, between 0 and 1.
        resamples: Bootstrap samples drawn.
        seed: Equal seeds give equal intervals.

    Raises:
        InvalidParameter: the shapes differ, or there are no queries.

    Source: percentile bootstrap, Efron and Tibshirani 1993; Sakai, SIGIR 2006, on measures.
    """
    from scipy import stats

    if values.shape != baseline.shape or values.ndim != 1 or not values.size:
        raise InvalidParameter(
            f"expected two arrays over the same queries, got {values.shape} and {baseline.shape}"
        )
    differences = values - baseline
    mean = float(differences.mean())
    if np.ptp(differences) == 0:
        return Interval(mean, mean, mean, confidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (differences,),
            np.mean,
            confidence_level=confidence,
            n_resamples=resamples,
            batch=200,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    low, high = result.confidence_interval
    return Interval(mean, float(low), float(high), confidence)
