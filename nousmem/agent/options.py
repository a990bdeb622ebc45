"""Checks of the options of `Memory`."""

from __future__ import annotations

from typing import Any

from nousmem.errors import InvalidParameter

__all__ = ["check_model"]


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
