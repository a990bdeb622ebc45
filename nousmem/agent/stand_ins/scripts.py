"""What somebody wrote down that a model does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ScriptStep", "ToolUse"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that a script wants made."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """What the scripted model does when it is asked: call tools, or reply."""

    reply: str = ""
    calls: tuple[ToolUse, ...] = ()
