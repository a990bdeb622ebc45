"""How relevance falls with age."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from nousmem.scoring._formulas import LN_2, Floats
from nousmem.scoring.functions import Function

__all__ = ["CURVES", "exponential", "hyperbolic", "power", "step"]


def _aged(hours: ArrayLike, decay_lambda: ArrayLike) -> Floats:
    return np.asarray(decay_lambda, dtype=np.float64) * np.asarray(hours)


def exponential(hours: ArrayLike, decay_lambda: ArrayLike) -> Floats:
    """exp(-decay_lambda · t). Source: specification, "Scoring & Decay"."""
    return np.exp(-_aged(hours, decay_lambda))


def hyperbolic(hours: ArrayLike, decay_lambda: ArrayLike) -> Floats:
    """1 / (1 + t / h): old entries keep more (Mazur 1987)."""
    return 1.0 / (1.0 + _aged(hours, decay_lambda) / LN_2)


def power(hours: ArrayLike, decay_lambda: ArrayLike) -> Floats:
    """1 / sqrt(1 + 3·t / h): they keep still more, as human forgetting has it.

    Source: Wixted and Ebbesen 1991; the form is that of FSRS 4.5, with one half in place of its
    90 %.
    """
    return 1.0 / np.sqrt(1.0 + 3.0 * (_aged(hours, decay_lambda) / LN_2))


def step(hours: ArrayLike, decay_lambda: ArrayLike) -> Floats:
    """1 before h, 0 from h on."""
    return (_aged(hours, decay_lambda) < LN_2).astype(np.float64)


CURVES: Final[Mapping[str, Function]] = MappingProxyType(
    {"exponential": exponential, "hyperbolic": hyperbolic, "power": power, "step": step}
)
"""The built-in curves: functions of t, the age in hours, and decay_lambda, per hour, element by
element over arrays of any shape. Each starts at 1 and has the half-life h = ln 2 / decay_lambda.
One of somebody's own need not have either."""
