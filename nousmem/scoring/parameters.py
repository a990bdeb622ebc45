"""The parameters of a ranking."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, fields, replace
from numbers import Real
from typing import Any, Final, cast

from nousmem.errors import InvalidParameter, suggestion
from nousmem.scoring.formulas import HOURS_PER_DAY, LN_2, half_life_days

__all__ = [
    "CHOICES",
    "DECAY_PARAMETERS",
    "PARAMETERS",
    "RECENCY_PARAMETERS",
    "RELEVANCE_PARAMETERS",
    "UPDATE_PARAMETERS",
    "Scoring",
    "check_parameter_names",
    "decay_lambda_of",
]

FUSIONS: Final = ("rrf", "rrf_raw", "convex")
CURVES: Final = ("exponential", "hyperbolic", "power", "step")
CLOCKS: Final = ("last_access", "creation")
CHOICES: Final = {"fusion": FUSIONS, "decay_curve": CURVES, "decay_clock": CLOCKS}
"""The parameters of Scoring that are one of some names."""

_DOCUMENTED_RATE: Final = float("0.001")
"""The default of decay_lambda. An object of its own, so that the number 0.001 that somebody gives
beside half_life_days is seen to be given."""

UPDATE_PARAMETERS: Final = (
    "update_penalty",
    "update_takeover",
    "update_lambda",
    "update_similarity",
    "update_ratio",
    "update_depth",
)
"""The parameters that freshness depends on, beside relevance."""
RELEVANCE_PARAMETERS: Final = ("fusion", "rrf_k", "w_text", "w_vector", *UPDATE_PARAMETERS)
"""The parameters that relevance before decay, freshness included, depends on."""
DECAY_PARAMETERS: Final = (
    "decay_lambda",
    "decay_curve",
    "decay_clock",
    "decay_floor",
    "decay_importance",
)
"""The parameters that the share of relevance left by age depends on."""
RECENCY_PARAMETERS: Final = ("recency_lambda",)
"""The parameters that the recency term depends on."""


class _HalfLifeInForce:
    """What reading `half_life_days` gives: None for the class, which is the default."""

    def __get__(self, scoring: Scoring | None, owner: type) -> float | None:
        return None if scoring is None else half_life_days(scoring.decay_lambda)


_HALF_LIFE_IN_FORCE: Final = cast("float | None", _HalfLifeInForce())


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parameters of a ranking: everything that can change it without retrieving again.

    The first six are the specification's; those after them leave its ranking as it is until they
    are set.

    Raises:
        InvalidParameter: a value is not a finite number or not one of the names; a rate, `rrf_k`
            or a leg's weight is negative, or both legs weigh 0; a share is not from 0 to 1; both
            `decay_lambda` and `half_life_days` are given.
    """

    _: KW_ONLY
    decay_lambda: float = _DOCUMENTED_RATE
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
    decay_floor: float = 0.0
    """Share of relevance that decay never takes, from 0 to below 1 (`decay`)."""
    decay_importance: float = 0.0
    """How far importance slows decay, 0 to 1: the rate is `decay_lambda` · (1 - decay_importance ·
    importance). At 1 an entry of importance 1 does not decay."""
    update_penalty: float = 0.0
    """Share of its relevance that an entry loses beside a newer candidate that is similar and
    about as relevant, 0 to 1 (`freshness`). With this, `update_takeover` and `update_lambda` at 0,
    the other parameters named `update_` change nothing. Evergreen entries, and entries without
    vectors, lose nothing."""
    update_takeover: float = 0.0
    """Share that the newer one takes over of what the older is ahead in relevance, 0 to 1."""
    update_lambda: float = 0.0
    """Decay of the older one's relevance, per hour of the age gap between the two."""
    update_similarity: float = 0.2
    """Cosine between two entries from which they count as similar, -1 to 1."""
    update_ratio: float = 0.93
    """How relevant the newer one must be: at least this times the older's relevance. Of entries
    that both legs found, 0.93 allows some five ranks less at `rrf_k` 60, as 0.7 does at 10."""
    update_depth: int = 0
    """The updates are looked for among this many candidates, the most relevant, and none of these
    falls behind the others; 0 is all, and no such promise."""
    min_score: float = 0.0
    """The composite score that a hit must reach; any finite number."""
    half_life_days: InitVar[float | None] = _HALF_LIFE_IN_FORCE
    """May stand for `decay_lambda`: ln 2 / (24 · half_life_days). Infinity is no decay. Reading it
    gives the half-life in force, however it was set."""

    def __post_init__(self, half_life_days: float | None) -> None:
        # dataclasses.replace hands in what it reads here, beside the rate it belongs to.
        if half_life_days is not None and not self._halves_in(half_life_days):
            if self.decay_lambda is not _DOCUMENTED_RATE:
                raise InvalidParameter(
                    "give decay_lambda or half_life_days, not both (dataclasses.replace gives "
                    "both: use Scoring.replace)"
                )
            object.__setattr__(self, "decay_lambda", decay_lambda_of(half_life_days))
        for f in fields(self):
            value: object = getattr(self, f.name)
            if f.name in CHOICES:
                _check_choice(f.name, value)
            elif f.name != "w_recency" or value is not None:
                number = _finite(f.name, value)
                if f.name == "update_depth":
                    number = _whole(f.name, number)
                if f.name == "update_similarity" and abs(number) > 1:
                    raise InvalidParameter(f"{f.name} must be from -1 to 1, got {value!r}")
                if number < 0 and f.name not in _MAY_BE_NEGATIVE:
                    raise InvalidParameter(f"{f.name} must be at least 0, got {value!r}")
                if f.name in _SHARES and number > 1:
                    raise InvalidParameter(f"{f.name} must be from 0 to 1, got {value!r}")
                object.__setattr__(self, f.name, number)
        if self.decay_floor == 1:
            raise InvalidParameter(
                "decay_floor must be below 1, got 1: nothing would be left to decay; "
                "decay_lambda=0 switches decay off"
            )
        if not self.w_text and not self.w_vector:
            raise InvalidParameter("w_text and w_vector are both 0: no leg is left to rank by")

    def _halves_in(self, days: object) -> bool:
        return isinstance(days, float) and days == half_life_days(self.decay_lambda)

    def weights(self) -> tuple[float, float, float]:
        """Return the weights in force: relevance, importance, recency."""
        return self.w_relevance, self.w_importance, self.recency_weight()

    def recency_weight(self) -> float:
        """Return the recency weight in force, which `w_recency=None` derives from decay."""
        if self.w_recency is not None:
            return self.w_recency
        return 0.0 if self.decay_lambda > 0 else 0.2

    def prefers_updates(self) -> bool:
        """Whether freshness can change the ranking."""
        return bool(self.update_penalty or self.update_takeover or self.update_lambda)

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

    @classmethod
    def from_toml(cls, text: str) -> Scoring:
        """Return the Scoring of the table `[scoring]`, as `to_toml` writes it.

        Other tables are somebody else's. Of a file: `from_toml(Path("best.toml").read_text())`.

        Raises:
            InvalidParameter: the text is not TOML or has no such table, parameters stand outside
                of it, or as in `from_dict`.
        """
        try:
            document: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidParameter(
                f"cannot read the settings, they are not TOML: {error}"
            ) from None
        stray = [name for name in document if name in PARAMETERS]
        table: object = document.get("scoring")
        if stray or not isinstance(table, dict):
            outside = f"; {', '.join(stray)} stands outside of it" if stray else ""
            raise InvalidParameter(
                f"expected a table [scoring], as Scoring.to_toml() writes it{outside}"
            )
        return cls.from_dict(cast("dict[str, Any]", table))

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
    try:
        return LN_2 / (float(number) * HOURS_PER_DAY)
    except OverflowError:  # a whole number that no float holds
        raise InvalidParameter(
            f"half_life_days must be a number that fits a float, or infinity for none; "
            f"got one of {len(str(number))} digits"
        ) from None


_MAY_BE_NEGATIVE: Final = (
    "w_relevance",
    "w_importance",
    "w_recency",
    "min_score",
    "update_similarity",
)
_SHARES: Final = ("decay_floor", "decay_importance", "update_penalty", "update_takeover")
_SPECIFIED: Final = (
    "decay_lambda",
    "w_relevance",
    "w_importance",
    "w_recency",
    "recency_lambda",
    "rrf_k",
)
_EXTENSIONS: Final = tuple(f.name for f in fields(Scoring) if f.name not in _SPECIFIED)

PARAMETERS: Final[tuple[str, ...]] = (*(f.name for f in fields(Scoring)), "half_life_days")
"""Every name that `Scoring` and a sweep's grid accept."""


def check_parameter_names(names: Iterable[str]) -> None:
    """Raise InvalidParameter for the first of `names` that is not a parameter of Scoring."""
    for name in names:
        if name not in PARAMETERS:
            raise InvalidParameter(
                f"unknown scoring parameter {name!r}{suggestion(name, PARAMETERS) or '.'} "
                f"Parameters: {', '.join(PARAMETERS)}"
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


def _whole(name: str, number: float) -> int:
    if number != int(number):
        raise InvalidParameter(f"{name} must be a whole number, got {number!r}")
    return int(number)


def _default(name: str) -> object:
    return next(f.default for f in fields(Scoring) if f.name == name)
