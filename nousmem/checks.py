"""Checks of what people pass: a switch, a choice, a number. One wording for each."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from nousmem.errors import InvalidParameter

__all__ = ["check_choice", "check_flag", "check_number", "check_whole"]


def check_flag(name: str, value: Any) -> bool:
    """Return `value`, True or False.

    Raises:
        InvalidParameter: it is something else.
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}")
    return value


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value`, one of `choices`.

    Raises:
        InvalidParameter: it is something else.
    """
    if value not in choices:
        raise InvalidParameter(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def check_number(name: str, value: Any) -> float:
    """Return `value`, a finite number.

    Raises:
        InvalidParameter: it is something else; True and False are.
    """
    number = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:  # a whole number that no float holds
        pass
    raise InvalidParameter(f"{name} must be a finite number, got {value!r}")


def check_whole(name: str, value: Any, *, least: int) -> int:
    """Return `value`, a whole number of at least `least`, of NumPy's or Python's.

    Raises:
        InvalidParameter: it is something else; True and False are.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:  # pyright: ignore[reportOperatorIssue]
        raise InvalidParameter(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
