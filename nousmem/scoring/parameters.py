"""The parameters of a ranking, and the formulas as they choose among them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, fields, replace
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from nousmem.errors import InvalidParameter
from nousmem.scoring.formulas import (
    HOURS_PER_DAY,
    LN_2,
    Floats,
    age_hours,
    convex_relevance,
    decay,
    fused_relevance,
    half_life_days,
    heard_ranks,
)

__all__ = [
    "CHOICES",
    "DECAY_PARAMETERS",
    "PARAMETERS",
    "RECENCY_PARAMETERS",
    "RELEVANCE_PARAMETERS",
    "Scoring",
    "check_parameter_names",
    "decay_lambda_of",
    "decay_under",
    "relevance_under",
]

FUSIONS: Final = ("rrf", "rrf_raw", "convex")
CURVES: Final = ("exponential", "hyperbolic", "power", "step")
CLOCKS: Final = ("last_access", "creation")
CHOICES: Final = {"fusion": FUSIONS, "decay_curve": CURVES, "decay_clock": CLOCKS}
"""The parameters of Scoring that are one of some names."""

RELEVANCE_PARAMETERS: Final = ("fusion", "rrf_k", "w_text", "w_vector")
"""The parameters that relevance before decay depends on."""
DECAY_PARAMETERS: Final = ("decay_lambda", "decay_curve", "decay_clock")
"""The parameters that the share of relevance left by age depends on."""
RECENCY_PARAMETERS: Final = ("recency_lambda",)
"""The parameters that the recency term depends on."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parameters of a ranking: everything that can change it without retrieving again.

    The first six are the specification's; those after them leave its ranking as it is until they
    are set.

    Raises:
        InvalidParameter: a value is not a finite number or not one of the names; a rate, `rrf_k`
            or a leg's weight is negative, or both legs weigh 0; both `decay_lambda` and
            `half_life_days` are given.
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
    fusion: str = "rrf"
    """How the legs make relevance: "rrf", by ranks, over the query's maximum (`fused_relevance`);
    "rrf_raw", not over it; "convex", by scores (`convex_relevance`)."""
    w_text: float = 1.0
    """Weight of the text leg in the fusion, at least 0. 0 removes the leg: what it alone found is
    no candidate."""
    w_vector: float = 1.0
    """Weight of the vector leg in the fusion, likewise."""
    decay_curve: str = "exponential"
    """How relevance falls with age: "exponential", "hyperbolic", "power" or "step" (`decay`); all
    with the half-life ln 2 / `decay_lambda`."""
    decay_clock: str = "last_access"
    """What age is counted from for decay: "last_access", or "creation". Recency counts from last
    access always."""
    half_life_days: InitVar[float | None] = None
    """May stand for `decay_lambda`: ln 2 / (24 · half_life_days). Infinity is no decay."""

    def __post_init__(self, half_life_days: float | None) -> None:
        if half_life_days is not None:
            if self.decay_lambda != _default("decay_lambda"):
                raise InvalidParameter("give decay_lambda or half_life_days, not both")
            object.__setattr__(self, "decay_lambda", decay_lambda_of(half_life_days))
        for f in fields(self):
            value: object = getattr(self, f.name)
            if f.name in CHOICES:
                _check_choice(f.name, value)
            elif f.name != "w_recency" or value is not None:
                number = _finite(f.name, value)
                if number < 0 and f.name not in _MAY_BE_NEGATIVE:
                    raise InvalidParameter(f"{f.name} must be at least 0, got {value!r}")
                object.__setattr__(self, f.name, number)
        if not self.w_text and not self.w_vector:
            raise InvalidParameter("w_text and w_vector are both 0: no leg is left to rank by")

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

    def to_dict(self) -> dict[str, float | str | None]:
        """Return the parameters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def to_toml(self) -> str:
        """Return the parameters as a TOML table `[scoring]`; an unset `w_recency` is left out."""
        lines = [
            f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value!r}"
            for name, value in self.to_dict().items()
            if value is not None
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
        """Show what is in force: the half-life, and the recency weight that None stands for.

        Of the parameters that are not the specification's, those that are set.
        """
        days = half_life_days(self.decay_lambda)
        decay_text = "off" if math.isinf(days) else f"half-life {days:.4g} days"
        rule = " by rule" if self.w_recency is None else ""
        extended = "".join(
            f", {name}={value!r}" if isinstance(value, str) else f", {name}={value:g}"
            for name in _EXTENSIONS
            if (value := getattr(self, name)) != _default(name)
        )
        return (
            f"Scoring(decay_lambda={self.decay_lambda:g} ({decay_text}), "
            f"w_relevance={self.w_relevance:g}, w_importance={self.w_importance:g}, "
            f"w_recency={self.recency_weight():g}{rule}, "
            f"recency_lambda={self.recency_lambda:g}, rrf_k={self.rrf_k:g}{extended})"
        )


def decay_lambda_of(half_life_days: float) -> float:
    """Return the rate per hour that halves in `half_life_days` days.

    Raises:
        InvalidParameter: the half-life is not a number above 0.
    """
    number: object = half_life_days
    if isinstance(number, bool) or not isinstance(number, Real) or not number > 0:
        raise InvalidParameter(f"half_life_days must be above 0, got {half_life_days!r}")
    return LN_2 / (float(number) * HOURS_PER_DAY)


_MAY_BE_NEGATIVE: Final = ("w_relevance", "w_importance", "w_recency")
_EXTENSIONS: Final = ("fusion", "w_text", "w_vector", "decay_curve", "decay_clock")

PARAMETERS: Final[tuple[str, ...]] = (*(f.name for f in fields(Scoring)), "half_life_days")
"""Every name that `Scoring` and a sweep's grid accept."""


def check_parameter_names(names: Iterable[str]) -> None:
    """Raise InvalidParameter for the first of `names` that is not a parameter of Scoring."""
    for name in names:
        if name not in PARAMETERS:
            raise InvalidParameter(
                f"unknown scoring parameter {name!r}; parameters: {', '.join(PARAMETERS)}"
            )


def relevance_under(scoring: Scoring, ranks: ArrayLike, leg_scores: ArrayLike) -> Floats:
    """Return the relevance of each candidate before decay, as the parameters have it.

    Args:
        scoring: Its `fusion`, `rrf_k`, `w_text` and `w_vector` are read.
        ranks: Shape (2, ..., candidates): of the text leg, of the vector leg; 0 where absent.
        leg_scores: Shape (2, ..., candidates): the legs' own scores; read where present.

    Returns:
        Shape (..., candidates); NaN where no leg that has a weight returned the candidate, which
        then is none.
    """
    ranks, leg_scores = np.asarray(ranks), np.asarray(leg_scores, dtype=np.float64)
    weights = (scoring.w_text, scoring.w_vector)
    if scoring.fusion == "convex":
        relevance = convex_relevance(ranks, leg_scores, leg_weights=weights)
    else:
        relevance = fused_relevance(
            ranks,
            np.where(ranks[0] > 0, leg_scores[0], 0.0),
            k=scoring.rrf_k,
            leg_weights=weights,
            over_maximum=scoring.fusion == "rrf",
        )
    return np.where(np.any(heard_ranks(ranks, weights) > 0, axis=0), relevance, np.nan)


def decay_under(
    scoring: Scoring,
    *,
    last_accessed: ArrayLike,
    created: ArrayLike,
    now: ArrayLike,
    evergreen: ArrayLike,
) -> Floats:
    """Return the share of relevance that age leaves, as the parameters have it.

    Args:
        scoring: Its `decay_lambda`, `decay_curve` and `decay_clock` are read.
        last_accessed: Whole seconds since 1970.
        created: Whole seconds since 1970.
        now: Whole seconds since 1970.
        evergreen: Where true, the share is exactly 1.
    """
    since = created if scoring.decay_clock == "creation" else last_accessed
    return decay(
        age_hours(since, now),
        decay_lambda=scoring.decay_lambda,
        evergreen=evergreen,
        curve=scoring.decay_curve,
    )


def _check_choice(name: str, value: object) -> None:
    if not isinstance(value, str) or value not in CHOICES[name]:
        raise InvalidParameter(f"{name} must be one of {', '.join(CHOICES[name])}; got {value!r}")


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
