"""The settings a sweep tries, and the parameters it may try them over."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np

from nousmem.errors import InvalidParameter, UnknownName
from nousmem.evaluation.sweeps.ranges import WEIGHTS, Choices, Range, Simplex
from nousmem.retrieval.settings import (
    RETRIEVAL_PARAMETERS,
    Retrieval,
    Settings,
    part_of,
)
from nousmem.scoring import Scoring

__all__ = [
    "MOST_SETTINGS",
    "ConfoundedGridWarning",
    "Dimension",
    "Grid",
    "GridValues",
    "baseline_of",
    "changed",
    "grid_dimensions",
    "grid_settings",
    "kept_grids",
    "varied_names",
    "warn_of_confounding",
]

GridValues: TypeAlias = Iterable[Any] | Range | Simplex
Grid: TypeAlias = Mapping[str, GridValues] | Sequence[Mapping[str, GridValues]]
"""What a sweep varies: parameters to the values tried; or several of these, one after another."""


MOST_SETTINGS: Final = 1_000_000
"""More are a mistake: a number too many in a list, or a step too small."""


class ConfoundedGridWarning(UserWarning):
    """A grid varies two things at once that look like one."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing varied: a parameter, or the three weights together."""

    names: tuple[str, ...]
    """One parameter; the three weights for a Simplex."""
    values: Choices | Range | Simplex

    @property
    def label(self) -> str:
        """Its name in the grid."""
        return "weights" if isinstance(self.values, Simplex) else self.names[0]

    @property
    def n_coordinates(self) -> int:
        """How many numbers from 0 to 1 say where in it a point is."""
        return 2 if isinstance(self.values, Simplex) else 1

    def at(self, coordinates: Sequence[float]) -> dict[str, Any]:
        """Return the parameters at a place."""
        return self._named(self.values.at(coordinates))

    def least(self) -> dict[str, Any]:
        """Return the parameters where they are smallest."""
        return self._named(self.values.least())

    @property
    def n_listed(self) -> int:
        """How many places `listed` returns."""
        if isinstance(self.values, Choices):
            return len(self.values.values)
        return cast("Simplex", self.values).n_points

    def listed(self) -> list[dict[str, Any]]:
        """Return the parameters at every place, of a list or a simplex with a step."""
        if isinstance(self.values, Choices):
            return [self._named(value) for value in self.values.values]
        return [self._named(point) for point in cast("Simplex", self.values).points()]

    def _named(self, value: Any) -> dict[str, Any]:
        return dict(zip(self.names, value if len(self.names) > 1 else (value,), strict=True))


def kept_grids(grid: Grid) -> list[dict[str, GridValues]]:
    """Return grids that can be read twice, and written: lists of Python's own numbers.

    Values that are not valid stay as they are, for whoever checks them.

    Raises:
        InvalidParameter: it is neither a dictionary nor a list of some.
    """
    given: object = grid
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        return [_kept_grid(one) for one in cast("Sequence[Any]", given)]
    return [_kept_grid(grid)]


def _kept_grid(given: object) -> dict[str, GridValues]:
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            "grid must be a dictionary of parameters to lists of values, such as "
            f"{{'rrf_k': [10, 60]}}, or a list of such; got {given!r}"
        )
    grid = cast("Mapping[str, GridValues]", given)
    return {name: _kept(values) for name, values in grid.items()}


def _kept(values: GridValues) -> GridValues:
    if isinstance(values, Range | Simplex | str | Mapping):
        return cast("GridValues", values)
    if not isinstance(cast("object", values), Iterable):
        return values
    return [one.item() if isinstance(one, np.generic) else one for one in values]


def grid_settings(grid: Grid, *, base: Settings | None = None) -> tuple[list[str], list[Settings]]:
    """Return the parameters varied, and every combination of their values as Settings.

    Args:
        grid: Parameter of Scoring or Retrieval (or half_life_days, or `w_NAME` for a leg or term
            of one's own) to the values tried; "weights" to a Simplex with a step; {} is one
            setting. Of a list of grids, the settings of all, each once.
        base: Gives the parameters that are not varied; None is the defaults.

    Returns:
        The names in sorted order, and the settings: of each grid the last name varies fastest,
        values in the order given. The weights of a Simplex vary together, at the place of the
        first. The least score of injection is scaled to the weights (`Settings.scaled_to`).

    Raises:
        InvalidParameter: a name is not a parameter, a value is out of range or stands twice, or
            values are not a list; a weight is of a leg or term that a combination does not have.
            All faults are reported together. Or there are more than a million settings.
    """
    start = base or Settings()
    faults: list[str] = []
    divided = [grid_dimensions(one, start, faults) for one in kept_grids(grid)]
    for dimensions in divided:
        faults += _needs_sampler(dimensions)
    if faults:
        raise InvalidParameter("; ".join(faults))
    n = sum(math.prod(one.n_listed for one in dimensions) for dimensions in divided)
    if n > MOST_SETTINGS:
        sizes = " and ".join(
            " × ".join(f"{one.n_listed:,} of {one.label}" for one in dimensions)
            for dimensions in divided
        )
        raise InvalidParameter(
            f"the grid has {n:,} settings ({sizes}), more than {MOST_SETTINGS:,}: list fewer "
            "values, or draw some of them with a sampler, such as sobol, and a number of trials"
        )
    settings = [
        changed(start, itertools.chain.from_iterable(part.items() for part in point))
        for dimensions in divided
        for point in itertools.product(*(one.listed() for one in dimensions))
    ]
    if len(divided) > 1:
        settings = list(dict.fromkeys(settings))
    warn_of_confounding([one.scoring for one in settings], stacklevel=5)
    return sorted(set(itertools.chain.from_iterable(map(varied_names, divided)))), settings


def changed(start: Settings, changes: Iterable[tuple[str, Any]]) -> Settings:
    """Return settings with these parameters, and the least score of injection in proportion."""
    made = start.replace(**dict(changes))
    if made.scoring == start.scoring:
        return made
    return made.replace(injection=start.scaled_to(made.scoring, made.retrieval).injection)


def baseline_of(start: Settings, parameters: Sequence[str]) -> Settings:
    """Return what a sweep compares with: the default scoring, on what is retrieved anyway.

    Args:
        start: Gives legs, depth and terms, where these are not varied.
        parameters: Those varied; of retrieval, these are at their defaults.
    """
    plain = Retrieval()
    varied = {name: getattr(plain, name) for name in parameters if name in RETRIEVAL_PARAMETERS}
    retrieval = start.retrieval.replace(**varied) if varied else start.retrieval
    return Settings(retrieval=retrieval, embedder=start.embedder)


def varied_names(dimensions: Sequence[Dimension]) -> list[str]:
    """Return the parameters varied, sorted."""
    return sorted(itertools.chain.from_iterable(one.names for one in dimensions))


def _needs_sampler(dimensions: Sequence[Dimension]) -> list[str]:
    """Return what keeps these from being a grid: what cannot be listed."""
    faults: list[str] = []
    for one in dimensions:
        if isinstance(one.values, Range):
            faults.append(
                f"{one.names[0]}: a grid cannot list a range; list values, or let the sweep draw "
                "with sampler='random', 'sobol' or 'optuna'"
            )
        elif isinstance(one.values, Simplex) and one.values.step is None:
            faults.append(
                "weights: a grid needs a step, as in Simplex(step=0.1); without one, let the sweep "
                "draw with sampler='random', 'sobol' or 'optuna'"
            )
    return faults


def grid_dimensions(
    grid: Mapping[str, GridValues], start: Settings, faults: list[str]
) -> list[Dimension]:
    """Return what a grid varies, by name; faults are added to the list, and what has one left out.

    Args:
        grid: As in `grid_settings`; a Range or a Simplex without a step may stand in it.
        start: Gives the parameters that are not varied.
        faults: Where to say what is wrong.
    """
    dimensions: list[Dimension] = []
    for name in sorted(grid, key=str):
        found: list[str] = []
        values = grid[name]
        if name == "weights" or isinstance(values, Simplex):
            dimension = _weights(name, values, grid, found)
        else:
            dimension = _parameter(name, values, start, found)
        if dimension is not None and not found:
            dimensions.append(dimension)
        faults += found
    if "decay_lambda" in grid and "half_life_days" in grid:
        faults.append("vary decay_lambda or half_life_days, not both")
    return sorted(dimensions, key=lambda one: min(one.names))


def warn_of_confounding(settings: Sequence[Scoring], *, stacklevel: int) -> None:
    """Warn where the recency rule switches between settings because decay does."""
    by_rule = [setting.decay_lambda > 0 for setting in settings if setting.w_recency is None]
    if len(set(by_rule)) > 1:
        warnings.warn(
            "the grid has decay off in some settings and on in others while w_recency is None: "
            "its rule then gives recency 0.2 in the first and 0 in the second. Add "
            "w_recency=[0] to the grid to vary decay alone",
            ConfoundedGridWarning,
            stacklevel=stacklevel,
        )


def _weights(
    name: str, values: object, grid: Mapping[str, object], faults: list[str]
) -> Dimension | None:
    if name != "weights" or not isinstance(values, Simplex):
        faults.append(
            f"{name}: a Simplex stands under the name 'weights', and nothing else does, as in "
            f"{{'weights': Simplex(step=0.1)}}; got {values!r}"
        )
        return None
    faults += [f"weights: {fault}" for fault in values.faults()]
    twice = [weight for weight in WEIGHTS if weight in grid]
    if twice:
        faults.append(f"weights: a Simplex varies {', '.join(twice)} already; leave it out")
    return Dimension(WEIGHTS, values)


def _parameter(
    name: str, given: GridValues, start: Settings, faults: list[str]
) -> Dimension | None:
    try:
        part = part_of(name)
    except InvalidParameter as error:
        faults.append(str(error))
        return None
    if part == "injection":
        faults.append(f"{name}: what an agent is shown is varied in sweep_injection")
        return None
    if isinstance(given, Range):
        faults += [f"{name}: {fault}" for fault in given.faults()]
        # One from the middle, for parameters that take whole numbers only.
        tried = [] if faults else [given.low, given.high, given.at([0.6180339887]), *given.also]
        values: Choices | Range = given
    elif isinstance(given, str) or not isinstance(given, Iterable):
        faults.append(f"{name}: expected a list of values, got {given!r}")
        return None
    else:
        tried = list(given)
        if not tried:
            faults.append(f"{name}: the list of values is empty")
        if len(set(map(repr, tried))) < len(tried):
            faults.append(f"{name}: a value stands twice in {tried!r}")
        values = Choices(tuple(tried))
    for value in tried:
        try:
            # Of one part alone: a weight may be of a leg that another name of the grid brings.
            getattr(start, part).replace(**{name: value})
        except (InvalidParameter, UnknownName) as error:
            faults.append(str(error))
    return Dimension((name,), values)
