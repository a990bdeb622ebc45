"""The settings of a sweep over what an agent is shown: ranking, retrieval and thresholds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from nousmem.errors import InvalidParameter
from nousmem.evaluation.injections.results import OPTIONS
from nousmem.evaluation.sweeps.grids import MOST_SETTINGS, Grid, grid_settings, kept_grids
from nousmem.retrieval.settings import Injection, Settings

__all__ = ["injection_settings"]

_NOT_VARIED: Final = {
    "min_score": "an agent puts inject_min_score in its place; vary that",
    "inject_max_tokens": "the tokens of memories are not counted here; leave it out",
}


def injection_settings(grid: Grid, start: Settings) -> tuple[tuple[str, ...], list[Settings]]:
    """Return the parameters varied, the options of injection last, and every combination.

    Args:
        grid: As in `sweep_injection`.
        start: Gives what is not varied.

    Raises:
        InvalidParameter: as in `sweep_injection`. All faults are reported together.
    """
    faults: list[str] = []
    rankings: list[dict[str, Any]] = []
    thresholds: list[dict[str, list[Any]]] = []
    for one in kept_grids(grid):
        ranking = dict(one)
        faults += [f"{name}: {fault}" for name, fault in _NOT_VARIED.items() if name in ranking]
        ranking = {name: values for name, values in ranking.items() if name not in _NOT_VARIED}
        thresholds.append(
            {name: _values(name, ranking.pop(name), faults) for name in OPTIONS if name in ranking}
        )
        rankings.append(ranking)
    names: set[str] = set()
    varied: list[list[Settings]] = []
    for ranking in rankings:
        try:
            own, settings = grid_settings(ranking, base=start)
        except InvalidParameter as error:
            faults.append(str(error))
        else:
            names |= set(own)
            varied.append(settings)
    if faults:
        raise InvalidParameter("; ".join(dict.fromkeys(faults)))
    n = sum(
        len(settings) * math.prod(map(len, options.values()))
        for settings, options in zip(varied, thresholds, strict=True)
    )
    if n > MOST_SETTINGS:
        raise InvalidParameter(
            f"the grid has {n:,} settings, more than {MOST_SETTINGS:,}: list fewer values"
        )
    made = [
        # As it is given, not in proportion to the weights: here it is measured what it does.
        setting.replace(
            injection=start.injection.replace(**dict(zip(options, values, strict=True)))
        )
        for settings, options in zip(varied, thresholds, strict=True)
        for setting in settings
        for values in itertools.product(*options.values())
    ]
    used = [name for name in OPTIONS if any(name in options for options in thresholds)]
    return (*sorted(names), *used), list(dict.fromkeys(made))


def _values(name: str, given: object, faults: list[str]) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        faults.append(f"{name}: expected a list of values, got {given!r}")
        return []
    values = list(cast("Iterable[Any]", given))
    if not values:
        faults.append(f"{name}: the list of values is empty")
    if len(set(map(repr, values))) < len(values):
        faults.append(f"{name}: a value stands twice in {values!r}")
    for value in values:
        try:
            Injection(**{name: value})
        except InvalidParameter as error:
            faults.append(str(error))
    return values
