"""Which settings a sweep tries: a whole grid, or some of a space that is too large for one."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, Literal, cast, get_args

import numpy as np

from nousmem.errors import InvalidParameter, MissingDependency, NousmemError, UnknownName
from nousmem.evaluation.measures import Measure, find_measure, query_means
from nousmem.evaluation.sweeps.grids import (
    MOST_SETTINGS,
    Dimension,
    Grid,
    changed,
    grid_dimensions,
    grid_settings,
    kept_grids,
    varied_names,
    warn_of_confounding,
)
from nousmem.evaluation.sweeps.ranges import Choices
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats

__all__ = ["SamplerName", "SamplingPlan", "plan_sampling", "sampled_settings"]

SamplerName = Literal["grid", "random", "sobol", "optuna"]

_LARGEST_BATCH: Final = 32
"""Settings that Optuna proposes before it hears how the last ones did."""

Score = Callable[[Sequence[Settings]], Floats]


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """What will be tried, checked."""

    method: SamplerName
    parameters: tuple[str, ...]
    """The parameters varied, sorted."""
    start: Settings
    """Gives the parameters that are not varied; of a sampler, the first setting tried."""
    settings: tuple[Settings, ...]
    """Every setting, where that is known before any is measured: all methods but "optuna"."""
    dimensions: tuple[Dimension, ...] = ()
    trials: int = 0
    seed: int = 0
    objective: Measure | None = None
    """What Optuna maximises."""

    def describe(self) -> dict[str, Any]:
        """Return the plan as it stands in a result's provenance."""
        described: dict[str, Any] = {"method": self.method}
        if self.method != "grid":
            described |= {"trials": self.trials, "seed": self.seed}
            described["space"] = {one.label: repr(one.values) for one in self.dimensions}
        if self.objective is not None:
            described["objective"] = str(self.objective)
        return described


def plan_sampling(
    grid: Grid,
    *,
    measures: Sequence[Measure],
    base: Settings | None = None,
    sampler: SamplerName = "grid",
    trials: int | None = None,
    seed: int = 0,
    objective: str | Measure | None = None,
) -> SamplingPlan:
    """Check what is asked for, and draw the settings that can be drawn beforehand.

    Args:
        grid: As in `sweep`.
        measures: What will be measured.
        base: Gives the parameters that are not varied; None is the defaults.
        sampler: The method.
        trials: Settings drawn.
        seed: Of the draws.
        objective: What "optuna" maximises.

    Raises:
        UnknownName: there is no such method.
        InvalidParameter: anything else is not valid. All faults are reported together.
        MissingDependency: the method is "optuna", which is not installed.
    """
    if sampler not in get_args(SamplerName):
        raise UnknownName("sampler", sampler, get_args(SamplerName))
    start = base or Settings()
    faults = _option_faults(sampler, trials, seed, objective, measures)
    if sampler == "grid" and not faults:
        names, settings = grid_settings(grid, base=start)
        return SamplingPlan("grid", tuple(names), start, tuple(settings))
    space, *others = kept_grids(grid)
    if others:
        faults.append(f"sampler={sampler!r} draws from one grid, got a list of {len(others) + 1}")
    dimensions = grid_dimensions(space, start, faults)
    if not space and sampler != "grid":
        faults.append(f"sampler={sampler!r} needs a grid with something to vary")
    if faults:
        raise InvalidParameter("; ".join(faults))
    # All legs may weigh 0 at once only here, where everything is smallest.
    least: dict[str, Any] = {}
    for one in dimensions:
        least |= one.least()
    start.replace(**least)
    target = find_measure(objective or measures[0], measures) if sampler == "optuna" else None
    plan = SamplingPlan(
        sampler,
        tuple(varied_names(dimensions)),
        start,
        (),
        dimensions=tuple(dimensions),
        trials=int(trials or 0),
        seed=int(seed),
        objective=target,
    )
    if sampler == "optuna":
        _optuna()
        return plan
    settings = _setting_list(plan, _coordinates(plan))
    warn_of_confounding([one.scoring for one in settings], stacklevel=4)
    return SamplingPlan(
        sampler,
        plan.parameters,
        start,
        tuple(settings),
        dimensions=plan.dimensions,
        trials=plan.trials,
        seed=plan.seed,
    )


def sampled_settings(
    plan: SamplingPlan,
    score: Score,
    *,
    measures: Sequence[Measure],
    advance: Callable[[int], object] | None = None,
) -> tuple[list[Settings], Floats]:
    """Let Optuna propose settings in batches, each after hearing how the last one did.

    Its sampler is the tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011), over all
    parameters together. The same seed, Optuna and candidates give the same settings.

    Args:
        plan: Of the method "optuna".
        score: Measures some settings; returns shape (settings, measures, queries).
        measures: What `score` measures; the plan's objective is one of them.
        advance: Called with the number of trials done since the last call.

    Returns:
        The settings, each once, the plan's start first; and their measures, shape (settings,
        measures, queries).
    """
    optuna = _optuna()
    target = list(measures).index(plan.objective) if plan.objective is not None else 0
    found: dict[Settings, Floats] = {plan.start: score([plan.start])[0]}
    batch = min(_LARGEST_BATCH, max(1, plan.trials // 8))
    with _hushed(optuna):
        sampler = optuna.samplers.TPESampler(
            seed=plan.seed, multivariate=True, constant_liar=True, n_startup_trials=batch
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for begun in range(0, plan.trials, batch):
            asked = [study.ask() for _ in range(min(batch, plan.trials - begun))]
            proposed = [_setting(plan, _suggested(plan, trial)) for trial in asked]
            new = [one for one in dict.fromkeys(proposed) if one not in found]
            found.update(zip(new, score(new) if new else (), strict=True))
            for trial, setting in zip(asked, proposed, strict=True):
                study.tell(trial, float(query_means(found[setting][target])))
            if advance is not None:
                advance(len(asked))
    settings = list(found)
    warn_of_confounding([one.scoring for one in settings], stacklevel=5)
    return settings, np.stack(list(found.values()))


def _option_faults(
    sampler: str,
    trials: object,
    seed: object,
    objective: str | Measure | None,
    measures: Sequence[Measure],
) -> list[str]:
    faults: list[str] = []
    if sampler == "grid" and trials is not None:
        faults.append("trials: a grid tries every setting; leave trials out, or choose a sampler")
    if sampler != "grid" and (
        isinstance(trials, bool) or not isinstance(trials, Integral) or trials < 1
    ):
        faults.append(
            f"trials: sampler={sampler!r} needs a whole number of settings to draw, got {trials!r}"
        )
    elif sampler != "grid" and cast("int", trials) > MOST_SETTINGS:
        faults.append(f"trials: at most {MOST_SETTINGS:,} settings are drawn, got {trials:,}")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        faults.append(f"seed must be a whole number of at least 0, got {seed!r}")
    if objective is None:
        return faults
    if sampler != "optuna":
        faults.append(f"objective: sampler={sampler!r} has none; only 'optuna' is led by a measure")
        return faults
    try:
        find_measure(objective, measures)
    except NousmemError as error:
        faults.append(f"objective: {error}; add it to them")
    return faults


def _coordinates(plan: SamplingPlan) -> Floats:
    """Return drawn places, shape (trials, coordinates)."""
    width = sum(one.n_coordinates for one in plan.dimensions)
    if plan.method == "random":
        return np.random.default_rng(plan.seed).random((plan.trials, width))
    from scipy.stats import qmc

    # The sequence is balanced over powers of two, and its generator warns of other numbers.
    exponent = (plan.trials - 1).bit_length()
    return qmc.Sobol(width, scramble=True, rng=plan.seed).random_base2(exponent)[: plan.trials]


def _setting_list(plan: SamplingPlan, places: Floats) -> list[Settings]:
    drawn = [_setting(plan, row) for row in places.tolist()]
    return list(dict.fromkeys([plan.start, *drawn]))


def _setting(plan: SamplingPlan, place: Sequence[float]) -> Settings:
    changes: dict[str, Any] = {}
    at = 0
    for one in plan.dimensions:
        changes |= one.at(place[at : at + one.n_coordinates])
        at += one.n_coordinates
    return changed(plan.start, changes.items())


def _suggested(plan: SamplingPlan, trial: Any) -> list[float]:
    """Return the place that a trial of Optuna suggests."""
    place: list[float] = []
    for one in plan.dimensions:
        if isinstance(one.values, Choices):
            n = len(one.values.values)
            place.append((trial.suggest_categorical(one.label, list(range(n))) + 0.5) / n)
            continue
        place += [
            float(trial.suggest_float(f"{one.label}.{at}", 0.0, 1.0))
            for at in range(one.n_coordinates)
        ]
    return place


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise MissingDependency("optuna", extra="samplers", purpose="sampler='optuna'") from None


@contextmanager
def _hushed(optuna: Any) -> Generator[None]:
    """Keep Optuna from writing to stderr, and put its level back."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Some versions call options of the sampler experimental.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)
