"""The settings a sweep tries."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nousmem.errors import InvalidParameter
from nousmem.scoring import Scoring, check_parameter_names

__all__ = ["ConfoundedGridWarning", "grid_settings"]


class ConfoundedGridWarning(UserWarning):
    """A grid varies two things at once that look like one."""


def grid_settings(
    grid: Mapping[str, Iterable[Any]], *, base: Scoring | None = None
) -> tuple[list[str], list[Scoring]]:
    """Return the parameters varied, and every combination of their values as a Scoring.

    Args:
        grid: Parameter of Scoring (or half_life_days) to the values tried; {} is one setting.
        base: Gives the parameters that are not varied; None is the defaults.

    Returns:
        The names in sorted order, and the settings: the last name varies fastest, values in the
        order given.

    Raises:
        InvalidParameter: a name is not a parameter, a value is out of range or stands twice, or
            values are not a list. All faults are reported together.
    """
    start = base or Scoring()
    check_parameter_names(grid)
    if "decay_lambda" in grid and "half_life_days" in grid:
        raise InvalidParameter("vary decay_lambda or half_life_days, not both")
    faults: list[str] = []
    values = {name: _values(name, grid[name], start, faults) for name in sorted(grid)}
    if faults:
        raise InvalidParameter("; ".join(faults))
    settings = [
        start.replace(**dict(zip(values, point, strict=True)))
        for point in itertools.product(*values.values())
    ]
    if {setting.w_recency for setting in settings if setting.decay_lambda == 0} & {None} and any(
        setting.decay_lambda > 0 and setting.w_recency is None for setting in settings
    ):
        warnings.warn(
            "the grid has decay off in some settings and on in others while w_recency is None: "
            "its rule then gives recency 0.2 in the first and 0 in the second. Add "
            "w_recency=[0] to the grid to vary decay alone",
            ConfoundedGridWarning,
            stacklevel=3,
        )
    return list(values), settings


def _values(name: str, given: Iterable[Any], start: Scoring, faults: list[str]) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        faults.append(f"{name}: expected a list of values, got {given!r}")
        return []
    values = list(given)
    if not values:
        faults.append(f"{name}: the list of values is empty")
    if len(set(map(repr, values))) < len(values):
        faults.append(f"{name}: a value stands twice in {values!r}")
    for value in values:
        try:
            start.replace(**{name: value})
        except InvalidParameter as error:
            faults.append(str(error))
    return values
