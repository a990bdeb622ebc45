"""The ranking formulas, over arrays: the only copy, used by `Search` and by the sweep alike.

Every function broadcasts, so that one call can score the candidates of one query, of many
queries, or of many settings at once. Times are hours, rates are per hour, scores are float64.
Source: specification, "Search & Scoring".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, fields, replace
from datetime import datetime
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.entry import epoch_microseconds
from nousmem.errors import InvalidParameter

__all__ = [
    "Scoring",
    "age_hours",
    "composite",
    "decay",
    "epoch_seconds",
    "fused_relevance",
    "half_life_days",
    "recency",
    "rrf",
    "score_order",
]

Floats = NDArray[np.float64]

HOURS_PER_DAY: Final = 24.0


def epoch_seconds(moment: datetime) -> int:
    """Return whole seconds since 1970-01-01 UTC, rounded down: the resolution of ages."""
    return epoch_microseconds(moment) // 1_000_000


def age_hours(last_accessed: ArrayLike, now: ArrayLike) -> Floats:
    """Return hours from last access to `now`, never negative.

    Args:
        last_accessed: Whole seconds since 1970, any shape.
        now: Whole seconds since 1970, broadcast against `last_accessed`.
    """
    seconds = np.asarray(now, dtype=np.int64) - np.asarray(last_accessed, dtype=np.int64)
    return np.maximum(seconds, 0) / 3600.0


def rrf(ranks: ArrayLike, *, k: float | Floats = 60.0) -> Floats:
    """Return reciprocal rank fusion: the sum over legs of 1 / (k + rank).

    Args:
        ranks: Shape (legs, ..., candidates); ranks from 1, and 0 where a leg did not return the
            candidate.
        k: Dampening constant, any number for which no k + rank is zero.

    Returns:
        Shape (..., candidates).

    Raises:
        InvalidParameter: k + rank is zero for some rank.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009; specification, "Hybrid Search".
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    present = ranks > 0
    bottom = np.where(present, k + ranks, 1.0)
    if not bottom.all():
        raise InvalidParameter(f"rrf_k {k} makes k + rank zero; use a k of at least 0")
    shares = np.where(present, 1.0 / bottom, 0.0)
    total = np.zeros(shares.shape[1:])
    for share in shares:
        total = total + share
    return total


def fused_relevance(
    ranks: ArrayLike, text_scores: ArrayLike, *, k: float | Floats = 60.0
) -> Floats:
    """Return the relevance of each candidate, before decay.

    When a leg other than text returned anything for the query, relevance is RRF over its
    maximum, so that the best candidate has 1.0; with the text leg alone it is the leg's own
    score.

    Args:
        ranks: Shape (legs, ..., candidates), the text leg first; 0 where absent.
        text_scores: Shape (..., candidates); read only where text stands alone.
        k: As in `rrf`.

    Returns:
        Shape (..., candidates).
    """
    ranks = np.asarray(ranks)
    text_scores = np.asarray(text_scores, dtype=np.float64)
    if ranks.shape[-1] == 0:
        return np.zeros(text_scores.shape)
    fused = rrf(ranks, k=k)
    best = fused.max(axis=-1, keepdims=True)
    normalised = fused / np.where(best > 0, best, 1.0)
    others = np.any(ranks[1:] > 0, axis=(0, -1))
    return np.where(np.expand_dims(others, -1), normalised, text_scores)


def decay(hours: ArrayLike, *, decay_lambda: ArrayLike, evergreen: ArrayLike = False) -> Floats:
    """Return the share of relevance that age leaves: exp(-decay_lambda · hours).

    Args:
        hours: Age since last access, hours, at least 0.
        decay_lambda: Rate per hour; 0 is exactly no decay.
        evergreen: Where true, the share is exactly 1.

    Source: specification, "Scoring & Decay".
    """
    share = np.exp(-np.asarray(decay_lambda, dtype=np.float64) * np.asarray(hours))
    return np.where(np.asarray(evergreen, dtype=bool), 1.0, share)


def recency(hours: ArrayLike, *, recency_lambda: ArrayLike) -> Floats:
    """Return exp(-recency_lambda · hours), the third term of the composite; 1 is "just now".

    Evergreen entries are not exempt: they are as recent as their last access.
    """
    return np.exp(-np.asarray(recency_lambda, dtype=np.float64) * np.asarray(hours))


def composite(
    relevance: ArrayLike,
    importance: ArrayLike,
    recency: ArrayLike,
    *,
    w_relevance: ArrayLike,
    w_importance: ArrayLike,
    w_recency: ArrayLike,
) -> Floats:
    """Return w_relevance·relevance + w_importance·importance + w_recency·recency.

    Added from left to right, nothing clamped. All arguments broadcast.

    Source: specification, "Scoring & Decay".
    """
    total = np.multiply(w_relevance, relevance, dtype=np.float64)
    total = total + np.multiply(w_importance, importance, dtype=np.float64)
    return total + np.multiply(w_recency, recency, dtype=np.float64)


def score_order(scores: Floats) -> NDArray[np.intp]:
    """Return the indices that sort `scores` best first, along the last axis.

    Equal scores keep the order they are given in. Candidates are therefore always held by
    descending doc_id, which makes this the tie rule of trec_eval: the greater doc_id first.
    """
    return np.argsort(-scores, axis=-1, kind="stable")


def half_life_days(rate: float) -> float:
    """Return the days after which exp(-rate · hours) is one half; infinite for rate 0."""
    return math.inf if rate == 0 else math.log(2) / rate / HOURS_PER_DAY


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parameters of a ranking: everything that can change it without retrieving again.

    Raises:
        InvalidParameter: a value is not a finite number, a rate or `rrf_k` is negative, or both
            `decay_lambda` and `half_life_days` are given.
    """

    _: KW_ONLY
    decay_lambda: float = 0.001
    """Decay of relevance, per hour since last access; 0 switches it off."""
    w_relevance: float = 0.5
    """Weight of relevance; any finite number."""
    w_importance: float = 0.3
    """Weight of importance; any finite number."""
    w_recency: float | None = None
    """Weight of recency. None is the documented rule: 0 while decay is on, so that old entries
    are not penalised twice, and 0.2 without decay."""
    recency_lambda: float = 0.01
    """Decay of the recency term, per hour since last access."""
    rrf_k: float = 60.0
    """The constant of reciprocal rank fusion, at least 0."""
    half_life_days: InitVar[float | None] = None
    """May stand for `decay_lambda`: ln 2 / (24 · half_life_days). Infinity is no decay."""

    def __post_init__(self, half_life_days: float | None) -> None:
        if half_life_days is not None:
            if self.decay_lambda != _default("decay_lambda"):
                raise InvalidParameter("give decay_lambda or half_life_days, not both")
            object.__setattr__(self, "decay_lambda", decay_lambda_of(half_life_days))
        for f in fields(self):
            value: object = getattr(self, f.name)
            if f.name == "w_recency" and value is None:
                continue
            number = _finite(f.name, value)
            if not f.name.startswith("w_") and number < 0:
                raise InvalidParameter(f"{f.name} must be at least 0, got {value!r}")
            object.__setattr__(self, f.name, number)

    def weights(self) -> tuple[float, float, float]:
        """Return the weights in force: relevance, importance, recency."""
        return self.w_relevance, self.w_importance, self.recency_weight()

    def recency_weight(self) -> float:
        """Return the recency weight in force, which `w_recency=None` derives from decay."""
        if self.w_recency is not None:
            return self.w_recency
        return 0.0 if self.decay_lambda > 0 else 0.2

    def replace(self, **changes: Any) -> Scoring:
        """Return a copy with `changes`.

        Raises:
            InvalidParameter: a name is not a parameter of Scoring, or a value is out of range.
        """
        check_parameter_names(changes)
        if changes.get("half_life_days") is not None:
            if "decay_lambda" in changes:
                raise InvalidParameter("give decay_lambda or half_life_days, not both")
            changes = dict(changes)
            changes["decay_lambda"] = decay_lambda_of(changes.pop("half_life_days"))
        changes.pop("half_life_days", None)
        return replace(self, **changes, half_life_days=None)

    def to_dict(self) -> dict[str, float | None]:
        """Return the parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def to_toml(self) -> str:
        """Return the parameters as a TOML table `[scoring]`; an unset `w_recency` is left out."""
        lines = [
            f"{name} = {value!r}" for name, value in self.to_dict().items() if value is not None
        ]
        return "\n".join(["[scoring]", *lines, ""])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scoring:
        """Return the Scoring with these parameters, the others at their defaults.

        Raises:
            InvalidParameter: a name is not a parameter of Scoring, or a value is out of range.
        """
        check_parameter_names(values)
        return cls(**values)

    def __repr__(self) -> str:
        """Show what is in force: the half-life, and the recency weight that None stands for."""
        days = half_life_days(self.decay_lambda)
        decay_text = "off" if math.isinf(days) else f"half-life {days:.4g} days"
        rule = " by rule" if self.w_recency is None else ""
        return (
            f"Scoring(decay_lambda={self.decay_lambda:g} ({decay_text}), "
            f"w_relevance={self.w_relevance:g}, w_importance={self.w_importance:g}, "
            f"w_recency={self.recency_weight():g}{rule}, "
            f"recency_lambda={self.recency_lambda:g}, rrf_k={self.rrf_k:g})"
        )


def decay_lambda_of(half_life_days: float) -> float:
    """Return the rate per hour that halves in `half_life_days` days.

    Raises:
        InvalidParameter: the half-life is not a number above 0.
    """
    number: object = half_life_days
    if isinstance(number, bool) or not isinstance(number, Real) or not number > 0:
        raise InvalidParameter(f"half_life_days must be above 0, got {half_life_days!r}")
    return math.log(2) / (float(number) * HOURS_PER_DAY)


PARAMETERS: Final[tuple[str, ...]] = (*(f.name for f in fields(Scoring)), "half_life_days")
"""Every name that `Scoring` and a sweep's grid accept."""


def check_parameter_names(names: Iterable[str]) -> None:
    """Raise InvalidParameter for the first of `names` that is not a parameter of Scoring."""
    for name in names:
        if name not in PARAMETERS:
            raise InvalidParameter(
                f"unknown scoring parameter {name!r}; parameters: {', '.join(PARAMETERS)}"
            )


def _finite(name: str, value: object) -> float:
    number = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:
        pass
    raise InvalidParameter(f"{name} must be a finite number, got {value!r}")


def _default(name: str) -> object:
    return next(f.default for f in fields(Scoring) if f.name == name)
