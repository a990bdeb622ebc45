"""Checks of the options of `Memory`."""

from __future__ import annotations

from typing import Any, Final

from nousmem.errors import InvalidParameter
from nousmem.retrieval.settings import Settings

__all__ = ["UnreachableThresholdWarning", "check_model", "hardly_reached"]

_HARDLY: Final = 0.9
"""Of the highest score: beyond it a memory must be new, important and first in every leg."""


class UnreachableThresholdWarning(UserWarning):
    """Hardly any memory reaches `inject_min_score`, so that an agent would be shown none."""


def hardly_reached(settings: Settings) -> str:
    """Return why hardly any memory reaches `inject_min_score`; "" where that is not so.

    It is not known where a fusion or term of somebody's own takes part.
    """
    highest = settings.highest_score()
    least = settings.injection.inject_min_score
    own = any(settings.scoring.term_weight(name) for name in settings.retrieval.term_names)
    if highest is None or own or least <= _HARDLY * highest:
        return ""
    scaled = Settings().scaled_to(settings.scoring).injection.inject_min_score
    return (
        f"inject_min_score is {least:g}, and with these weights no memory scores above "
        f"{highest:g}: hardly any would be shown. Give inject_min_score={max(scaled, 0):.2g}, in "
        "proportion to what is documented, or 0"
    )


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
