"""What a stand-in reads out of the messages it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    UserPromptPart,
)

from nousmem.agent._reflection import INSTRUCTIONS

__all__ = [
    "ShownMemory",
    "is_reflection",
    "n_answers",
    "prompt_text",
    "reflected",
    "shown_memories",
]

_BLOCK: Final = "<retrieved_memories>"
_MEMORY: Final = re.compile(
    r'^<retrieved_memory id="(?P<id>[^"]*)"[^>]*>\n(?P<content>".*")\n</retrieved_memory>$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory as it stands in a prompt."""

    id: str
    content: str


def shown_memories(messages: Sequence[ModelMessage]) -> list[ShownMemory]:
    """Return the memories that were put before the latest prompt, best first."""
    for text in _user_texts(messages):
        if text.startswith(_BLOCK):
            return [
                ShownMemory(json.loads(f'"{found["id"]}"'), json.loads(found["content"]))
                for found in _MEMORY.finditer(text)
            ]
    return []


def prompt_text(messages: Sequence[ModelMessage]) -> str:
    """Return the user's latest words, without the memories before them."""
    return next((text for text in _user_texts(messages) if not text.startswith(_BLOCK)), "")


def n_answers(messages: Sequence[ModelMessage]) -> int:
    """Return how many times the model has been asked since the latest prompt."""
    count = 0
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            count += 1
        elif any(isinstance(part, UserPromptPart) for part in message.parts):
            break
    return count


def is_reflection(messages: Sequence[ModelMessage]) -> bool:
    """Whether the model is asked what to do with the memories after a run."""
    return any(
        isinstance(part, SystemPromptPart) and part.content == INSTRUCTIONS
        for part in messages[0].parts
    )


def reflected(messages: Sequence[ModelMessage]) -> tuple[list[str], list[str]]:
    """Return the contents of the memories, and what the user said, that are to be reflected on."""
    known: list[str] = []
    said: list[str] = []
    for line in prompt_text(messages).splitlines():
        if not line.startswith("{"):
            continue
        value: dict[str, Any] = json.loads(line)
        if "content" in value:
            known.append(value["content"])
        elif value.get("role") == "user":
            said.append(value["text"])
    return known, said


def _user_texts(messages: Sequence[ModelMessage]) -> list[str]:
    """Return the user's parts of the latest request that has any, the last one first."""
    for message in reversed(messages):
        if not isinstance(message, ModelRequest):
            continue
        texts = [
            part.content
            for part in message.parts
            if isinstance(part, UserPromptPart) and isinstance(part.content, str)
        ]
        if texts:
            return texts[::-1]
    return []
