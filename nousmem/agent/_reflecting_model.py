"""Asking a model for operations, in the strictest form it knows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from nousmem.agent._reflection import INSTRUCTIONS, OPERATIONS_SCHEMA

__all__ = ["Answer", "ask_for_operations"]

_LOG = logging.getLogger(__name__)
_NAME: Final = "memory_operations"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reflecting model replied."""

    reply: str | dict[str, Any]
    """Text, or the arguments of its output tool."""
    input_tokens: int
    output_tokens: int


async def ask_for_operations(model: Model | str, prompt: str, *, max_tokens: int) -> Answer:
    """Return what the model replied.

    A model that takes a JSON schema is given one, one that takes tools an output tool; should
    its server refuse that, and with other models, the instructions alone ask for JSON. Of several
    models that stand in for each other, all have to take it.
    """
    asked = infer_model(model)
    message = ModelRequest([SystemPromptPart(INSTRUCTIONS), UserPromptPart(prompt)])
    settings = ModelSettings(max_tokens=max_tokens, temperature=0.0)
    form = _strictest_form(asked)
    try:
        response = await model_request(
            asked, [message], model_settings=settings, model_request_parameters=form
        )
    except (ModelHTTPError, UserError, ExceptionGroup) as error:
        if form.output_mode == "text" or not _refuses(error):
            raise
        _LOG.info("reflection: asked again without a schema, since %s", error)
        response = await model_request(asked, [message], model_settings=settings)
    usage = response.usage
    return Answer(_reply_of(response), usage.input_tokens, usage.output_tokens)


def _strictest_form(model: Model) -> ModelRequestParameters:
    profiles = list(_profiles(model))
    if all(profile.get("supports_json_schema_output") for profile in profiles):
        schema = OutputObjectDefinition(OPERATIONS_SCHEMA, name=_NAME)
        return ModelRequestParameters(output_mode="native", output_object=schema)
    if all(profile.get("supports_tools") for profile in profiles):
        tool = ToolDefinition(
            name=_NAME,
            parameters_json_schema=OPERATIONS_SCHEMA,
            description="Say what to do with the memories.",
            kind="output",
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool])
    return ModelRequestParameters()


def _profiles(model: Model) -> Iterator[ModelProfile]:
    """Yield the profile of each model that may answer; a fallback has none of its own."""
    if isinstance(model, FallbackModel):
        for one in model.models:
            yield from _profiles(one)
    elif isinstance(model, WrapperModel):
        yield from _profiles(model.wrapped)
    else:
        yield model.profile


def _refuses(error: Exception) -> bool:
    """Whether a server does not take the form of the request; of several, whether each refuses."""
    if isinstance(error, ExceptionGroup):
        return all(_refuses(one) for one in cast("Any", error).exceptions)
    if isinstance(error, ModelHTTPError):
        return 400 <= error.status_code < 500
    return isinstance(error, UserError)


def _reply_of(response: ModelResponse) -> str | dict[str, Any]:
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == _NAME:
            return "" if part.args is None else part.args
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))
