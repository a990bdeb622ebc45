"""Reading and extending the messages of a run, never the history they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

__all__ = ["Turn", "latest_user_text", "turns", "with_block"]


class Turn(NamedTuple):
    """One thing that was said."""

    role: Literal["user", "assistant", "tool"]
    text: str


def latest_user_text(messages: Sequence[ModelMessage]) -> str:
    """Return the latest words of the user, empty if there are none; pictures say nothing."""
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart) and (text := _text_of(part)).strip():
                return text
    return ""


def with_block(messages: Sequence[ModelMessage], block: str) -> list[ModelMessage]:
    """Return the messages with `block` as a user's part of its own before the latest prompt.

    A part of the user's role: a system part would lend it the system's authority. The messages
    given do not change; without a prompt they are returned as they are.
    """
    extended = list(messages)
    for at in range(len(extended) - 1, -1, -1):
        message = extended[at]
        if not isinstance(message, ModelRequest):
            continue
        places = [i for i, part in enumerate(message.parts) if isinstance(part, UserPromptPart)]
        if places:
            place = places[-1]
            parts = [*message.parts[:place], UserPromptPart(block), *message.parts[place:]]
            extended[at] = replace(message, parts=parts)
            break
    return extended


def turns(messages: Sequence[ModelMessage]) -> list[Turn]:
    """Return what was said, in order: prompts, answers and tool results, no system parts."""
    said: list[Turn] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
            said.append(Turn("assistant", text))
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said.append(Turn("user", _text_of(part)))
            elif isinstance(part, ToolReturnPart):
                said.append(Turn("tool", part.model_response_str()))
    return [turn for turn in said if turn.text.strip()]


def _text_of(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    items: Sequence[Any] = part.content
    texts = [item.content if isinstance(item, TextContent) else item for item in items]
    return "\n".join(text for text in texts if isinstance(text, str))
