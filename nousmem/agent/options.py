"""Checks of the options of `Memory`."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from nousmem.errors import InvalidParameter

__all__ = ["check_choice", "check_flag", "check_model", "check_number", "check_whole"]


def check_flag(name: str, value: Any) -> None:
    """Raise InvalidParameter unless `value` is True or False."""
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise InvalidParameter unless `value` is one of `choices`."""
    if value not in choices:
        raise InvalidParameter(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_number(name: str, value: Any) -> None:
    """Raise InvalidParameter unless `value` is a finite number."""
    number = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number):
        raise InvalidParameter(f"{name} must be a finite number, got {value!r}")


def check_whole(name: str, value: Any, *, least: int) -> None:
    """Raise InvalidParameter unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameter(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_model(name: str, value: Any) -> None:
    """Raise InvalidParameter unless `value` is None, a model, or a name that can be one.

    A key is not asked for: it may be set until the model is used.
    """
    from pydantic_ai.models import Model, parse_model_id
    from pydantic_ai.providers import infer_provider_class

    if value is None or isinstance(value, Model) or value == "test":
        return
    if not isinstance(value, str):
        raise InvalidParameter(
            f"{name} must be a model, a name such as 'openai:gpt-4o-mini' or None, got {value!r}"
        )
    provider, _ = parse_model_id(value)
    try:
        infer_provider_class(provider or "")
    except ImportError as error:
        raise InvalidParameter(f"{name} {value!r} cannot be used: {error}") from None
    except ValueError:
        raise InvalidParameter(
            f"{name} must be a model of Pydantic AI, PROVIDER:MODEL such as 'openai:gpt-4o-mini', "
            f"got {value!r}, of no provider it knows"
        ) from None
