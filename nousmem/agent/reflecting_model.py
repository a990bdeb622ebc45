"""Asking a model for operations, in the strictest form it knows."""

from __future__ import annotations

import logging
from typing import Any, Final

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
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from nousmem.agent.reflection import INSTRUCTIONS, OPERATIONS_SCHEMA

__all__ = ["ask_for_operations"]

_LOG = logging.getLogger(__name__)
_NAME: Final = "memory_operations"


async def ask_for_operations(
    model: Model | str, prompt: str, *, max_tokens: int
) -> str | dict[str, Any]:
    """Return what the model replied: text, or the arguments of its output tool.

    A model that takes a JSON schema is given one, one that takes tools an output tool; should
    its server refuse that, and with other models, the instructions alone ask for JSON.
    """
    asked = infer_model(model)
    message = ModelRequest([SystemPromptPart(INSTRUCTIONS), UserPromptPart(prompt)])
    settings = ModelSettings(max_tokens=max_tokens, temperature=0.0)
    form = _strictest_form(asked)
    try:
        response = await model_request(
            asked, [message], model_settings=settings, model_request_parameters=form
        )
    except (ModelHTTPError, UserError) as error:
        refused = isinstance(error, UserError) or 400 <= error.status_code < 500
        if form.output_mode == "text" or not refused:
            raise
        _LOG.info("reflection: asked again without a schema, since %s", error)
        response = await model_request(asked, [message], model_settings=settings)
    return _reply_of(response)


def _strictest_form(model: Model) -> ModelRequestParameters:
    if model.profile.get("supports_json_schema_output"):
        schema = OutputObjectDefinition(OPERATIONS_SCHEMA, name=_NAME)
        return ModelRequestParameters(output_mode="native", output_object=schema)
    if model.profile.get("supports_tools"):
        tool = ToolDefinition(
            name=_NAME,
            parameters_json_schema=OPERATIONS_SCHEMA,
            description="Say what to do with the memories.",
            kind="output",
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool])
    return ModelRequestParameters()


def _reply_of(response: ModelResponse) -> str | dict[str, Any]:
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == _NAME:
            return "" if part.args is None else part.args
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))
