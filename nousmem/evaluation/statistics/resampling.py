"""Intervals and tests of paired differences, by resampling: bootstrap, signs, Holm's correction.

Queries are paired, and vectorised over resamples; whole groups of them may be drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.errors import InvalidParameter
from nousmem.scoring import Floats

__all__ = [
    "Interval",
    "drawn_whole",
    "grouped_sums",
    "holm",
    "paired_interval",
    "paired_p_value",
    "seeded",
    "standard_error",
    "student_interval",
    "student_p_value",
]


RESAMPLES: Final = 10_000
_ENOUGH_GROUPS: Final = 10
"""Fewer have too few patterns of signs for a randomisation test."""
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and where it lies with the given confidence."""

    difference: float
    """Mean over queries of values - baseline; above 0 the values are higher."""
    low: float
    """Lower end, in the unit of `difference`."""
    high: float
    """Upper end."""
    confidence: float
    """Of the interval, between 0 and 1."""


def paired_interval(
    values: Floats,
    baseline: Floats,
    *,
    groups: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean of values - baseline with a bootstrap interval.

    The percentile interval, widened about the mean by t·sqrt(g / (g - 1)) / z, where g queries or
    groups are drawn, t is Student's quantile with g - 1 degrees of freedom and z the normal one:
    without it an interval of 95 % covers 90 % over ten groups and 50 % over two. One query or
    group says nothing of others: its interval is infinite, unless nothing differs.

    Args:
        values: Shape (n,): a measure of each query under one setting.
        baseline: Shape (n,): the same queries under the setting compared with.
        groups: Group of each query; whole groups are then drawn, which is right when queries of
            a user or conversation resemble each other. None draws single queries.
        confidence: Of the interval, between 0 and 1.
        resamples: Bootstrap samples drawn.
        seed: Equal seeds give equal intervals.

    Raises:
        InvalidParameter: the shapes differ, there are no queries, a value is NaN, there is not one
            group a query, `confidence` is not between 0 and 1, or `resamples` or `seed` is no
            such number.

    Source: Efron and Tibshirani 1993; Sakai, SIGIR 2006, for retrieval measures; Hesterberg, The
    American Statistician 69(4), 2015, for few queries.
    """
    differences = _differences(values, baseline)
    if not 0 < confidence < 1:
        raise InvalidParameter(f"confidence must be between 0 and 1, got {confidence!r}")
    sums, counts = grouped_sums(differences, groups)
    rng = seeded(seed)
    means: list[Floats] = []
    for size in _chunks(resamples):
        drawn = rng.integers(0, len(sums), (size, len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    mean, tail = float(differences.mean()), (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail]).tolist()
    if not differences.any():
        return Interval(mean, low, high, confidence)
    if len(sums) < 2:
        return Interval(mean, -np.inf, np.inf, confidence)
    wider = _small_sample_factor(len(sums), tail)
    return Interval(mean, mean - wider * (mean - low), mean + wider * (high - mean), confidence)


def paired_p_value(
    values: Floats,
    baseline: Floats,
    *,
    groups: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """Return the two-sided p-value of a paired randomisation test.

    Under the null hypothesis the two settings are interchangeable, so the sign of each query's
    (or group's) difference is a coin toss. Fewer than ten groups have too few patterns of signs for
    that (of five groups, none is below .06): there Student's t over the groups takes its place.

    Args:
        values: Shape (n,).
        baseline: Shape (n,).
        groups: As in `paired_interval`.
        resamples: Sign patterns drawn; the smallest p-value is 1 / (resamples + 1).
        seed: Equal seeds give equal p-values.

    Raises:
        InvalidParameter: the shapes differ, there are no queries, a value is NaN, there is not one
            group a query, or `resamples` or `seed` is no such number.

    Source: Fisher 1935; Smucker, Allan and Carterette, CIKM 2007; Cameron, Gelbach and Miller,
    Review of Economics and Statistics 90(3), 2008, for few groups.
    """
    differences = _differences(values, baseline)
    sums, counts = grouped_sums(differences, groups)
    if groups is not None and 1 < len(sums) < _ENOUGH_GROUPS:
        error = standard_error(sums, counts)
        return student_p_value(float(differences.mean()), error, len(sums))
    observed = abs(float(sums.sum()))
    rng = seeded(seed)
    at_least = 0
    for size in _chunks(resamples):
        signs = rng.integers(0, 2, (size, len(sums)), dtype=np.int8) * 2 - 1
        at_least += int((np.abs(signs @ sums) >= observed - 1e-12).sum())
    return (at_least + 1) / (resamples + 1)


def standard_error(sums: Floats, counts: Floats) -> float:
    """Return the standard error of the mean of what some groups sum up to.

    Args:
        sums: Shape (g,): sum of each group, or the values of single queries.
        counts: Shape (g,): queries of each group.

    Returns:
        The cluster-robust one, with g / (g - 1) for few groups; 0 for one group.
    """
    g = len(sums)
    if g < 2:
        return 0.0
    total = float(counts.sum())
    residuals = sums - counts * (sums.sum() / total)
    return float(np.sqrt(g / (g - 1) * (residuals**2).sum())) / total


def student_p_value(difference: float, error: float, n_drawn: int) -> float:
    """Return the two-sided p-value of a difference by Student's t with n_drawn - 1 degrees.

    It is never below 1 / (RESAMPLES + 1), as that of a randomisation test is not.
    """
    from scipy.special import stdtr

    if not difference or n_drawn < 2:
        return 1.0
    least = 1 / (RESAMPLES + 1)
    if not error:
        return least
    return max(least, 2 * float(stdtr(n_drawn - 1, -abs(difference) / error)))


def student_interval(
    difference: float, error: float, n_drawn: int, *, confidence: float = 0.95
) -> Interval:
    """Return a difference with Student's interval, of n_drawn - 1 degrees of freedom."""
    from scipy.special import stdtrit

    if n_drawn < 2:
        return Interval(difference, -np.inf, np.inf, confidence)
    reach = float(stdtrit(n_drawn - 1, (1 + confidence) / 2)) * error
    return Interval(difference, difference - reach, difference + reach, confidence)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979), in the order given.

    A NaN, of what could not be tested, stays one and does not count.
    """
    ordered = sorted(
        (at for at, one in enumerate(p_values) if not np.isnan(one)), key=lambda at: p_values[at]
    )
    corrected = [float("nan")] * len(p_values)
    highest = 0.0
    for place, at in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - place) * p_values[at]))
        corrected[at] = highest
    return corrected


def drawn_whole(groups: Sequence[str]) -> bool:
    """Return whether groups of queries, given for each, are resampled whole.

    They are, unless all queries are of one group or each is a group of its own.
    """
    return 1 < len(set(groups)) < len(groups)


def _differences(values: Floats, baseline: Floats) -> Floats:
    own, base = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if own.shape != base.shape or own.ndim != 1 or not own.size:
        raise InvalidParameter(
            f"expected two arrays over the same queries, got {own.shape} and {base.shape}"
        )
    differences = own - base
    if not np.isfinite(differences).all():
        raise InvalidParameter(
            f"{int((~np.isfinite(differences)).sum())} of {own.size} differences are not finite "
            "numbers: leave out the queries that the measure does not exist for"
        )
    return differences


def grouped_sums(differences: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of differences of each group, by name."""
    if groups is None:
        return differences, np.ones(len(differences))
    if len(groups) != len(differences):
        raise InvalidParameter(f"{len(groups)} groups for {len(differences)} queries")
    _, place = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    sums = np.bincount(place, weights=differences).astype(np.float64, copy=False)
    return sums, np.bincount(place).astype(np.float64)


def _small_sample_factor(n_drawn: int, tail: float) -> float:
    from scipy.special import ndtri, stdtrit

    quantile = float(stdtrit(n_drawn - 1, 1 - tail)) / float(ndtri(1 - tail))
    return quantile * (n_drawn / (n_drawn - 1)) ** 0.5


def seeded(seed: int) -> np.random.Generator:
    """Return a generator.

    Raises:
        InvalidParameter: the seed is not a whole number of at least 0.
    """
    return np.random.default_rng(check_whole("seed", seed, least=0))


def _chunks(total: int) -> Iterable[int]:
    check_whole("resamples", total, least=1)
    for start in range(0, total, _CHUNK):
        yield min(_CHUNK, total - start)
