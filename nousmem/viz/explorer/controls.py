"""Which settings can be moved, and the steps each takes: descriptions, not widgets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nousmem.scoring import CHOICES, Scoring, decay_lambda_of
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
    "update_depth": ("Depth", "Best candidates among which updates are looked for (update_depth)"),
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

    def step_of(self, value: Any) -> int:
        """Return the step nearest to a value; of names, the one that is equal."""
        values = [one for _, one in self.steps]
        if value in values:
            return values.index(value)
        if not _is_number(value):
            return self.start
        gaps = [(abs(one - value), at) for at, one in enumerate(values) if _is_number(one)]
        return min(gaps)[1] if gaps else self.start


def scoring_controls(scoring: Scoring, *, also: Iterable[Scoring] = ()) -> tuple[Control, ...]:
    """Return a control for every parameter of Scoring, standing at the value it has here.

    Half-lives stand for the rates, the longest of them last, and then "off". Every value of
    `scoring`, and of the settings in `also`, is a step of its own, so that the controls can give
    back what they were given.
    """
    others = [one.to_dict() for one in also]
    return tuple(
        _control(name, value, [value, *(other[name] for other in others)])
        for name, value in scoring.to_dict().items()
    )


def depth_control(depth: int) -> Control:
    """Return the control of how many entries are read from each leg, standing at `depth`."""
    steps = [(str(value), value) for value in sorted({*DEPTHS, depth})]
    return Control(
        name="depth",
        label="Pool",
        steps=tuple(steps),
        start=[value for _, value in steps].index(depth),
        help="Entries read from each leg; changing it retrieves again",
    )


def scoring_from(controls: Iterable[Control], chosen: Mapping[str, int]) -> Scoring:
    """Return the settings that controls stand at.

    Args:
        controls: As `scoring_controls` returns them.
        chosen: Step of each control by name; a missing one is where it started.

    Raises:
        InvalidParameter: the values do not go together, such as two legs that weigh 0.
    """
    return Scoring(**{one.name: one.steps[chosen.get(one.name, one.start)][1] for one in controls})


def _control(name: str, value: Any, wanted: Sequence[Any]) -> Control:
    label, explained = _LABELS.get(name, (_spoken(name), name))
    ordered = name not in CHOICES
    if not ordered:
        steps = [(str(one).replace("_", " "), one) for one in CHOICES[name]]
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
        start=[one for _, one in steps].index(value),
        help=explained,
        ordered=ordered,
        main=name in _MAIN,
    )


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
