"""Which settings can be moved, and the steps each takes: descriptions, not widgets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scoring import CHOICES, Scoring, decay_lambda_of, own_weight
from nousmem.viz._own_parts import distinct_names, in_force, own_weight_names
from nousmem.viz.plots.labels import days_of, duration

__all__ = ["DEPTHS", "Control", "depth_control", "scoring_controls", "scoring_from"]

HALF_LIVES_DAYS: Final = (
    *(1 / 24, 1 / 8, 1 / 4, 1 / 2, 1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270),
    *(365, 545, 730, 1095, 1825, 3650),
)
"""A step is a third to a half longer than the one before it, as ages are spread."""

DEPTHS: Final = (5, 10, 20, 30, 50, 75, 100, 150, 200)
RRF_KS: Final = (0, 1, 2, 5, 10, 20, 30, 45, 60, 80, 100, 150, 200)
WEIGHTS: Final = tuple(round(0.05 * step, 2) for step in range(21))
LEG_WEIGHTS: Final = (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5)
SHARES: Final = tuple(round(0.05 * step, 2) for step in range(20))

_NEAR: Final = 0.06
"""A step this close to the value that is set gives way to it, in shares of the value."""

SIMILARITIES: Final = tuple(round(0.05 * step, 2) for step in range(-4, 20))
UPDATE_DEPTHS: Final = (0, 1, 2, 3, 5, 10, 20, 30)

_MAIN: Final = (
    *("decay_lambda", "w_relevance", "w_importance", "w_recency", "rrf_k"),
    "update_penalty",
)
"""The parameters that stand in front; the others are behind "More settings"."""

_OWN_PLACE: Final = 3.5
"""Where among the parameters the weights of one's own stand: after those of the built-in terms."""

_SCALES: Final[Mapping[str, Sequence[float]]] = {
    "rrf_k": RRF_KS,
    "w_text": LEG_WEIGHTS,
    "w_vector": LEG_WEIGHTS,
    "decay_floor": SHARES,
    "update_similarity": SIMILARITIES,
    "update_depth": UPDATE_DEPTHS,
}
"""The steps of the parameters that are no weights from 0 to 1."""

_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "decay_lambda": ("Half-life", "Time after which half of the relevance is left"),
    "w_relevance": ("Relevance", "Weight of relevance (w_relevance)"),
    "w_importance": ("Importance", "Weight of importance (w_importance)"),
    "w_recency": ("Recency", "Weight of recency (w_recency); the rule: 0 with decay, 0.2 without"),
    "rrf_k": ("Fusion k", "Constant of rank fusion (rrf_k): small trusts the first ranks"),
    "recency_lambda": ("Recency half", "Half-life of the recency term (recency_lambda)"),
    "decay_curve": ("Curve", "How relevance falls with age (decay_curve)"),
    "decay_clock": ("Clock", "What age is counted from (decay_clock)"),
    "decay_floor": ("Decay floor", "Share of relevance that age never takes (decay_floor)"),
    "decay_importance": ("Slowed by", "How far importance slows decay (decay_importance)"),
    "fusion": ("Fusion", "How the legs make relevance (fusion)"),
    "w_text": ("Text leg", "Weight of the text leg in the fusion (w_text)"),
    "w_vector": ("Vector leg", "Weight of the vector leg in the fusion (w_vector)"),
    "update_penalty": (
        "Updates",
        "What an entry loses beside a newer one that is alike (update_penalty)",
    ),
    "update_takeover": (
        "Takeover",
        "How much of its relevance the newer one takes over (update_takeover)",
    ),
    "update_lambda": (
        "Update half",
        "Half-life of the older one's relevance, by the gap to the newer (update_lambda)",
    ),
    "update_similarity": (
        "Alike from",
        "Cosine from which two entries are alike (update_similarity)",
    ),
    "update_ratio": (
        "Ratio",
        "How near the newer one's relevance must be (update_ratio)",
    ),
    "update_rule": ("Update rule", "How updates are set before what they update (update_rule)"),
    "update_depth": (
        "Update depth",
        "Best candidates among which updates are looked for (update_depth)",
    ),
    "min_score": ("Least score", "The score that a hit must reach (min_score)"),
}


@dataclass(frozen=True, slots=True)
class Control:
    """One setting that can be moved."""

    name: str
    """The parameter."""
    label: str
    steps: tuple[tuple[str, Any], ...]
    """What it can be set to: the text shown, and the value. No two texts are the same."""
    start: int
    """The step it stands at first."""
    help: str
    ordered: bool = True
    """Whether the steps are a scale, for a slider; else names, for a list."""
    main: bool = True
    """Whether it stands in front."""
    unset: Any = None
    """A value that is not given to the settings: what they have without it."""

    def value_at(self, step: int) -> Any:
        """Return what a step sets; None where it leaves the parameter as it is."""
        value = self.steps[step][1]
        return None if self.unset is not None and value == self.unset else value

    def step_of(self, value: Any) -> int:
        """Return the step nearest to a value; of names, the one that is equal."""
        values = [one for _, one in self.steps]
        if value in values:
            return values.index(value)
        if not _is_number(value):
            return self.start
        gaps = [(abs(one - value), at) for at, one in enumerate(values) if _is_number(one)]
        return min(gaps)[1] if gaps else self.start


def scoring_controls(settings: Settings, *, also: Iterable[Scoring] = ()) -> tuple[Control, ...]:
    """Return a control for every parameter of the scoring that there is a choice of.

    They stand at the values that settings have. Half-lives stand for the rates, the longest of
    them last, and then "off". The legs and terms of one's own have a control of their weight each.
    Every value of the settings, and of the scorings in `also`, is a step of its own, a function of
    one's own by its name, so that the controls can give back what they were given.
    """
    retrieval = settings.retrieval
    starts = [settings, *(Settings(retrieval=retrieval, scoring=one) for one in also)]
    names = [name for name in settings.scoring.to_dict() if name != "weights"]
    controls = [
        *(_own_weight(name, starts) for name in own_weight_names(retrieval)),
        *(_control(name, [in_force(one, name) for one in starts]) for name in names),
    ]
    controls.sort(key=lambda one: names.index(one.name) if one.name in names else _OWN_PLACE)
    return tuple(one for one in controls if len(one.steps) > 1)


def depth_control(retrieval: Retrieval) -> Control:
    """Return the control of how many entries are read from each leg, standing where they are."""
    depth = retrieval.depth_for(None)
    steps = [(str(value), value) for value in sorted({*DEPTHS, depth})]
    return Control(
        name="depth",
        label="Leg depth",
        steps=tuple(steps),
        start=[value for _, value in steps].index(depth),
        help="Entries read from each leg (depth), more for more hits; moving it retrieves again",
        unset=depth if retrieval.depth is None else None,
    )


def scoring_from(controls: Iterable[Control], chosen: Mapping[str, int]) -> Scoring:
    """Return the scoring that controls stand at.

    Args:
        controls: As `scoring_controls` returns them.
        chosen: Step of each control by name; a missing one is where it started.

    Raises:
        InvalidParameter: the values do not go together.
    """
    values = {one.name: one.value_at(chosen.get(one.name, one.start)) for one in controls}
    return Scoring().replace(**values)


def _own_weight(name: str, starts: Sequence[Settings]) -> Control:
    own = str(own_weight(name))
    is_leg = own in starts[0].retrieval.leg_names
    wanted = [float(in_force(one, name)) for one in starts]
    # A leg that is given no weight has 1, a term 0.
    unset = None if own in starts[0].scoring.weights else float(is_leg)
    steps = _numbers(LEG_WEIGHTS if is_leg else WEIGHTS, wanted)
    return Control(
        name=name,
        label=f"{own.replace('_', ' ')} leg" if is_leg else own.replace("_", " "),
        steps=tuple(steps),
        start=[one for _, one in steps].index(wanted[0]),
        help=f"Weight of the {'leg' if is_leg else 'term'} {own} ({name})",
        unset=unset,
    )


def _control(name: str, wanted: Sequence[Any]) -> Control:
    label, explained = _LABELS.get(name, (_spoken(name), name))
    ordered = name not in CHOICES
    if not ordered:
        steps = _choices(name, wanted)
    elif name == "w_recency":
        steps = [("by rule", None), *_numbers(WEIGHTS, [0.2 if w is None else w for w in wanted])]
    elif name.endswith("_lambda"):
        steps = _rates(wanted)
    else:
        steps = _numbers(_SCALES.get(name, WEIGHTS), wanted)
    return Control(
        name=name,
        label=label,
        steps=tuple(steps),
        start=[one for _, one in steps].index(wanted[0]),
        help=explained,
        ordered=ordered,
        main=name in _MAIN,
    )


def _choices(name: str, wanted: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return the built-in choices, and the functions of one's own after them."""
    values = list(dict.fromkeys((*CHOICES[name], *wanted)))
    texts = distinct_names(values)
    return [
        (text.replace("_", " ") if isinstance(value, str) else text, value)
        for text, value in zip(texts, values, strict=True)
    ]


def _numbers(scale: Sequence[float], wanted: Sequence[float]) -> list[tuple[str, Any]]:
    # A step too near to a wanted value to be told from it would only be in the way.
    kept = [one for one in scale if all(abs(one - value) > 1e-9 for value in wanted)]
    kind = type(wanted[0])
    return [(f"{one:.6g}", one) for one in sorted({kind(one) for one in (*kept, *wanted)})]


def _rates(wanted: Sequence[float]) -> list[tuple[str, Any]]:
    rates = [decay_lambda_of(days) for days in HALF_LIVES_DAYS]
    kept = {rate for rate in rates if all(abs(rate - one) > _NEAR * one for one in wanted)}
    ordered = sorted(kept | {one for one in wanted if one > 0}, reverse=True)
    steps: list[tuple[str, Any]] = [
        (_duration(days_of("decay_lambda", rate)), rate) for rate in ordered
    ]
    return [*steps, ("off", 0.0)]


def _duration(days: float) -> str:
    years = days / 365
    return f"{years:g} y" if years >= 1 and years == round(years) else duration(days)


def _spoken(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
