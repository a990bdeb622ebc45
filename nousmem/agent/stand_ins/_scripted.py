"""A stand-in that does what a script says, whatever it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nousmem.agent.stand_ins._prompts import is_reflection, n_answers
from nousmem.agent.stand_ins.scripts import ScriptStep
from nousmem.errors import SessionError

__all__ = ["SCRIPTED", "scripted_model"]

SCRIPTED: Final = "scripted"
"""Its name as a model."""


def scripted_model(
    steps: Sequence[ScriptStep],
    *,
    operations: Sequence[Mapping[str, Any]] = (),
    find: Callable[[str], str] = str,
    place: str = "the script",
) -> FunctionModel:
    """Return a model for one run: the first request gets the first step, and so on.

    Args:
        steps: What it does.
        operations: What it replies when it is asked to reflect.
        find: Gives the id of a stored memory for the one that a script means by `id`.
        place: What messages call the script.

    Raises:
        SessionError: when it is asked more often than the script has steps.
    """

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
        if is_reflection(messages):
            asked = [_resolved(operation, find) for operation in operations]
            return ModelResponse([TextPart(json.dumps({"operations": asked}))])
        at = n_answers(messages)
        if at >= len(steps):
            raise SessionError(
                f"{place}: the model was asked {at + 1} times, the script has {len(steps)} steps; "
                "end it with a reply"
            )
        step = steps[at]
        if step.calls:
            return ModelResponse(
                [
                    ToolCallPart(call.tool, _resolved(call.args, find), tool_call_id=f"c{at}.{n}")
                    for n, call in enumerate(step.calls, 1)
                ]
            )
        return ModelResponse([TextPart(step.reply)])

    return FunctionModel(answer, model_name=SCRIPTED)


def _resolved(args: Mapping[str, Any], find: Callable[[str], str]) -> dict[str, Any]:
    return {key: find(value) if key == "id" else value for key, value in args.items()}
