"""The parameters of a ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field, fields, replace
from functools import lru_cache
from numbers import Real
from types import MappingProxyType
from typing import Any, Final, cast

from nousmem.errors import InvalidParameter, suggestion
from nousmem.scoring._curves import CURVES
from nousmem.scoring._formulas import HOURS_PER_DAY, LN_2, half_life_days
from nousmem.scoring._fusions import FUSIONS
from nousmem.scoring._names import DECAY_NUMBERS, UPDATE_NUMBERS
from nousmem.scoring._updates import RULES
from nousmem.scoring.functions import (
    Function,
    chosen_function,
    described_function,
    parameters_read,
)

__all__ = [
    "CHOICES",
    "DECAY_PARAMETERS",
    "FUNCTIONS",
    "PARAMETERS",
    "UPDATE_PARAMETERS",
    "Scoring",
    "Weights",
    "check_parameter_names",
    "decay_lambda_of",
    "own_weight",
]

CLOCKS: Final = ("last_access", "creation")
FUNCTIONS: Final[Mapping[str, Mapping[str, Function]]] = MappingProxyType(
    {"fusion": FUSIONS, "decay_curve": CURVES, "update_rule": RULES}
)
"""The parameters of Scoring that are functions, and the built-in ones of each."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "fusion": tuple(FUSIONS),
        "decay_curve": tuple(CURVES),
        "decay_clock": CLOCKS,
        "update_rule": tuple(RULES),
    }
)
"""The parameters of Scoring that are one of some names; those of `FUNCTIONS` may be more."""

UPDATE_PARAMETERS: Final = UPDATE_NUMBERS
"""The parameters of the built-in update rule."""
DECAY_PARAMETERS: Final = ("decay_lambda", "decay_curve", "decay_clock", *DECAY_NUMBERS[1:])
"""The parameters that the share of relevance left by age depends on."""

_DOCUMENTED_RATE: Final = float("0.001")
"""The default of decay_lambda. An object of its own, so that the number 0.001 that somebody gives
beside half_life_days is seen to be given."""


class Weights(Mapping[str, float]):
    """Weights by name, in the order of the names; equal and hashable like a number."""

    __slots__ = ("_items",)

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        if given is not None and not isinstance(cast("object", given), Mapping):
            raise InvalidParameter(f"weights must be a mapping of names to numbers, got {given!r}")
        found: dict[str, float] = {}
        for name in sorted(given or {}, key=str):
            if not name.isidentifier() or f"w_{name}" in _OWN_FIELDS:
                raise InvalidParameter(
                    f"weights: {name!r} is not the name of a leg or term of one's own; the "
                    f"built-in ones have {', '.join(_OWN_FIELDS)}"
                )
            found[name] = _finite(f"w_{name}", (given or {})[name])
        self._items = found

    def __getitem__(self, name: str) -> float:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        """Show them as a dictionary."""
        return repr(self._items)


_NO_NUMBERS: Final = (*FUNCTIONS, "decay_clock", "weights")
_OWN_FIELDS: Final = ("w_relevance", "w_importance", "w_recency", "w_text", "w_vector")


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
    fusion: str | Function = "rrf"
    """How the legs make relevance: "rrf", by ranks, over the query's maximum (`fused_relevance`);
    "rrf_raw", not over it; "convex", by scores (`convex_relevance`). Or a function of one's own,
    of `LegArrays`, or its name `package.module:object`."""
    w_text: float = 1.0
    """Weight of the text leg in the fusion, at least 0. 0 removes the leg: what it alone found is
    no candidate."""
    w_vector: float = 1.0
    """Weight of the vector leg in the fusion, likewise."""
    weights: Mapping[str, float] = field(default_factory=Weights)
    """Weights of legs and terms that are not built in, by name. A leg without one weighs 1, a term
    0. In a grid and in `replace`, the weight of "frequency" is also called `w_frequency`."""
    decay_curve: str | Function = "exponential"
    """How relevance falls with age: "exponential", "hyperbolic", "power" or "step" (`CURVES`); all
    with the half-life ln 2 / `decay_lambda`. Or a function of one's own, of hours and
    `decay_lambda`, or its name `package.module:object`."""
    decay_clock: str = "last_access"
    """What age is counted from for decay: "last_access", or "creation". Recency counts from last
    access always."""
    decay_floor: float = 0.0
    """Share of relevance that decay never takes, from 0 to below 1 (`decay`)."""
    decay_importance: float = 0.0
    """How far importance slows decay, 0 to 1: the rate is `decay_lambda` · (1 - decay_importance ·
    importance). At 1 an entry of importance 1 does not decay."""
    update_rule: str | Function = "freshness"
    """How updates are set before what they update: "freshness", by the parameters below; or a
    function of one's own (`RULES`), or its name `package.module:object`."""
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
        object.__setattr__(self, "weights", Weights(self.weights))
        for name, built_in in FUNCTIONS.items():
            kept, _ = chosen_function(name, getattr(self, name), built_in)
            object.__setattr__(self, name, kept)
        _check_choice("decay_clock", self.decay_clock)
        for f in fields(self):
            value: object = getattr(self, f.name)
            if f.name in _NO_NUMBERS or (f.name == "w_recency" and value is None):
                continue
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

    def _halves_in(self, days: object) -> bool:
        return isinstance(days, float) and days == half_life_days(self.decay_lambda)

    @property
    def fusion_function(self) -> Function:
        """What `fusion` stands for."""
        return chosen_function("fusion", self.fusion, FUSIONS)[1]

    @property
    def curve_function(self) -> Function:
        """What `decay_curve` stands for."""
        return chosen_function("decay_curve", self.decay_curve, CURVES)[1]

    @property
    def update_function(self) -> Function:
        """What `update_rule` stands for."""
        return chosen_function("update_rule", self.update_rule, RULES)[1]

    def leg_weight(self, leg: str) -> float:
        """Return the weight of a leg in the fusion: 1 for one of somebody's own that has none."""
        match leg:
            case "text":
                return self.w_text
            case "vector":
                return self.w_vector
            case _:
                return self.weights.get(leg, 1.0)

    def term_weight(self, term: str) -> float:
        """Return the weight in force of relevance or a term: 0 for one that has none."""
        match term:
            case "relevance":
                return self.w_relevance
            case "importance":
                return self.w_importance
            case "recency":
                return self.recency_weight()
            case _:
                return self.weights.get(term, 0.0)

    def term_weights(self) -> tuple[float, float, float]:
        """Return the weights in force of what is built in: relevance, importance, recency."""
        return self.w_relevance, self.w_importance, self.recency_weight()

    def recency_weight(self) -> float:
        """Return the recency weight in force, which `w_recency=None` derives from decay."""
        if self.w_recency is not None:
            return self.w_recency
        return 0.0 if self.decay_lambda > 0 else 0.2

    def prefers_updates(self) -> bool:
        """Whether the update rule can change the ranking."""
        if self.update_rule != "freshness":
            return True
        return bool(self.update_penalty or self.update_takeover or self.update_lambda)

    def relevance_parameters(
        self, legs: Iterable[str], decaying: Iterable[str] = ()
    ) -> tuple[object, ...]:
        """Return what relevance before decay depends on, the update rule included.

        Args:
            legs: The legs' names.
            decaying: The terms that age takes from; a rule sees them as part of relevance.
        """
        prefers = self.prefers_updates()
        own: list[object] = [self.fusion, *map(self.leg_weight, legs)]
        if prefers:
            own += [self.update_rule, *map(self.term_weight, decaying)]
        read = _read_by(self.fusion, self.update_rule if prefers else None)
        return *own, *[getattr(self, name) for name in read]

    def decay_parameters(self) -> tuple[object, ...]:
        """Return what the share of relevance left by age depends on."""
        return tuple([getattr(self, name) for name in _decay_names(self.decay_curve)])

    def replace(self, **changes: Any) -> Scoring:
        """Return a copy with `changes`; `w_NAME` changes one of the weights.

        Raises:
            InvalidParameter: a name is not a parameter of Scoring, or a value is out of range.
        """
        changes = _with_own_weights(changes, self.weights)
        check_parameter_names(changes)
        if changes.get("half_life_days") is not None:
            if "decay_lambda" in changes:
                raise InvalidParameter("give decay_lambda or half_life_days, not both")
            changes = dict(changes)
            changes["decay_lambda"] = decay_lambda_of(changes.pop("half_life_days"))
        changes.pop("half_life_days", None)
        return replace(self, **changes, half_life_days=None)

    def value_of(self, name: str) -> Any:
        """Return a parameter by its name in a grid: also a weight `w_NAME`, or half_life_days."""
        own = own_weight(name)
        return getattr(self, name) if own is None else self.weights.get(own)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, as a file holds them; functions by their names."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {name: described_function(values[name]) for name in FUNCTIONS}
        return values | {"weights": dict(self.weights)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scoring:
        """Return the Scoring with these parameters, the others at their defaults.

        Functions are loaded from where their names say (see `nousmem.references`).

        Raises:
            InvalidParameter: a name is not a parameter of Scoring, or a value is out of range.
        """
        changes = _with_own_weights(values, Weights(values.get("weights")))
        check_parameter_names(changes)
        return cls(**changes)

    def __repr__(self) -> str:
        """Show what is in force: the half-life, and the recency weight that None stands for.

        Of the parameters that are not the specification's, those that are set.
        """
        days = half_life_days(self.decay_lambda)
        decay_text = "off" if math.isinf(days) else f"half-life {days:.4g} days"
        rule = " by rule" if self.w_recency is None else ""
        values = self.to_dict()
        extended = "".join(
            f", {name}={values[name]:g}"
            if isinstance(values[name], float | int)
            else f", {name}={values[name]!r}"
            for name in _EXTENSIONS
            if getattr(self, name) != _DEFAULTS[name]
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

_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType(
    {f.name: Weights() if f.name == "weights" else f.default for f in fields(Scoring)}
)

PARAMETERS: Final[tuple[str, ...]] = (*(f.name for f in fields(Scoring)), "half_life_days")
"""Every name that `Scoring` accepts. A grid accepts `w_NAME` as well, for a leg or term NAME."""


@lru_cache(maxsize=256)
def _read_by(fusion: str | Function, update_rule: str | Function | None) -> tuple[str, ...]:
    """Return the parameters that a fusion, and a rule if there is one, read."""
    read = parameters_read(chosen_function("fusion", fusion, FUSIONS)[1])
    if update_rule is None:
        return read
    return *read, *parameters_read(chosen_function("update_rule", update_rule, RULES)[1])


@lru_cache(maxsize=256)
def _decay_names(curve: str | Function) -> tuple[str, ...]:
    """Return the parameters that decay depends on, under a curve."""
    read = parameters_read(chosen_function("decay_curve", curve, CURVES)[1])
    return ("decay_curve", "decay_clock", *dict.fromkeys((*DECAY_NUMBERS, *read)))


def own_weight(name: str) -> str | None:
    """Return the leg or term of somebody's own that `w_NAME` is the weight of; None for others."""
    own = name.removeprefix("w_")
    return own if own != name and name not in _OWN_FIELDS and own.isidentifier() else None


def check_parameter_names(names: Iterable[str]) -> None:
    """Raise InvalidParameter for the first of `names` that is not a parameter of Scoring."""
    for name in names:
        if name not in PARAMETERS:
            raise InvalidParameter(
                f"unknown parameter {name!r}{suggestion(str(name), PARAMETERS) or '.'} "
                f"Parameters: {', '.join(PARAMETERS)}"
            )


def _with_own_weights(changes: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Return changes in which `w_NAME` stands among the weights."""
    found = dict(changes)
    own = {name: found.pop(name) for name in list(found) if own_weight(str(name)) is not None}
    if own:
        base = found.get("weights", weights)
        named = {str(own_weight(name)): value for name, value in own.items()}
        # None, as a table has it where a row does not set the weight.
        found["weights"] = {
            name: value for name, value in {**base, **named}.items() if value is not None
        }
    return found


def _check_choice(name: str, value: object) -> None:
    if value not in CHOICES[name]:
        raise InvalidParameter(f"{name} must be one of {', '.join(CHOICES[name])}, got {value!r}")


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
