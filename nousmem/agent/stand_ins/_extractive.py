"""A stand-in that keeps what it is told and answers with what it is shown, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nousmem.agent.stand_ins._prompts import (
    is_reflection,
    n_answers,
    prompt_text,
    reflected,
    shown_memories,
)
from nousmem.retrieval.evidence import content_terms
from nousmem.upkeep.duplicates import spoken

__all__ = ["EXTRACTIVE", "extractive_model"]

EXTRACTIVE: Final = "extractive"
"""Its name as a model."""

_BETWEEN_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FEWEST_TERMS: Final = 2


def extractive_model() -> FunctionModel:
    """Return a model that is none: no words of its own, no judgement of what matters.

    The sentences of a message that are no questions are stored through `remember`, as one memory
    and as they stand, when they hold at least 2 words that mean something. A question is
    answered with the best memory it was shown, or with saying that there is none. When it is
    asked to reflect, it remembers the statements that are not among the memories yet.
    """
    return FunctionModel(_answer, model_name=EXTRACTIVE)


def _answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    if is_reflection(messages):
        return ModelResponse([TextPart(json.dumps({"operations": _operations(messages)}))])
    statement, asks = _split(prompt_text(messages))
    if statement and n_answers(messages) == 0:
        return ModelResponse(
            [ToolCallPart("remember", {"content": statement}, tool_call_id="c0.1")]
        )
    if not asks:
        return ModelResponse([TextPart("Noted." if statement else "All right.")])
    memories = shown_memories(messages)
    if not memories:
        return ModelResponse([TextPart("I was shown no memory that answers this.")])
    return ModelResponse([TextPart(memories[0].content)])


def _operations(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    known, said = reflected(messages)
    taken = {spoken(content) for content in known}
    statements = [_split(text)[0] for text in said]
    return [
        {"action": "remember", "content": statement}
        for statement in dict.fromkeys(statements)
        if statement and spoken(statement) not in taken
    ]


def _split(text: str) -> tuple[str, bool]:
    """Return what a message states, empty when that is nothing, and whether it asks."""
    sentences = [one.strip() for one in _BETWEEN_SENTENCES.split(text)]
    stated = " ".join(one for one in sentences if one and not one.endswith("?"))
    asks = any(one.endswith("?") for one in sentences)
    return (stated if len(content_terms(stated)) >= _FEWEST_TERMS else ""), asks
