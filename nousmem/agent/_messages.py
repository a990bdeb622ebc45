"""Reading and extending the messages of a run, never the history they came from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

__all__ = ["Turn", "latest_user_text", "turns", "with_block", "without_blocks"]


# Pydantic AI's reply to a model that answers by calling an output tool.
_ANSWER_TAKEN: Final = "Final result processed."


class Turn(NamedTuple):
    """One thing that was said."""

    role: Literal["user", "assistant", "tool"]
    text: str
    run_id: str | None = None
    """The run it was said in; None where the history does not tell."""

    @property
    def words(self) -> tuple[str, str]:
        """Who said what."""
        return (self.role, self.text)


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


def without_blocks(messages: Sequence[ModelMessage], blocks: Collection[str]) -> list[ModelMessage]:
    """Return the messages without the parts that `with_block` added, where they have been kept.

    Whatever else changes the history of a run may put into it what was meant for one request.
    """
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest) and any(_is_block(p, blocks) for p in message.parts):
            parts = [part for part in message.parts if not _is_block(part, blocks)]
            kept.append(replace(message, parts=parts))
        else:
            kept.append(message)
    return kept


def _is_block(part: ModelRequestPart, blocks: Collection[str]) -> bool:
    return (
        isinstance(part, UserPromptPart)
        and isinstance(part.content, str)
        and part.content in blocks
    )


def turns(messages: Sequence[ModelMessage]) -> list[Turn]:
    """Return what was said, in order: prompts, answers and tool results, no system parts.

    A structured answer is its JSON.
    """
    answers = {
        part.tool_call_id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.content == _ANSWER_TAKEN
    }
    said: list[Turn] = []
    for message in messages:
        run_id = message.run_id
        if isinstance(message, ModelResponse):
            said.append(Turn("assistant", _answer(message, answers), run_id))
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said.append(Turn("user", _text_of(part), run_id))
            elif isinstance(part, ToolReturnPart) and part.tool_call_id not in answers:
                said.append(Turn("tool", part.model_response_str(), run_id))
    return [turn for turn in said if turn.text.strip()]


def _answer(message: ModelResponse, answers: set[str]) -> str:
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    texts += [
        part.args_as_json_str()
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.tool_call_id in answers
    ]
    return "".join(texts)


def _text_of(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    items: Sequence[Any] = part.content
    texts = [item.content if isinstance(item, TextContent) else item for item in items]
    return "\n".join(text for text in texts if isinstance(text, str))
