"""The options of `Memory` that a session file may set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

from nousmem.agent._capability import Memory
from nousmem.agent._options import UnreachableThresholdWarning
from nousmem.errors import InvalidParameter

__all__ = ["OPTIONS", "check_options"]

OPTIONS: Final = (
    "auto_inject",
    "inject_strategy",
    "inject_limit",
    "inject_min_score",
    "inject_min_words",
    "inject_min_cosine",
    "inject_max_tokens",
    "auto_update_memory",
    "auto_update_every",
    "reflection_max_tokens",
    "reflection_max_messages",
    "reflection_max_memories",
)
"""Everything but whose memory it is, the store, the clock, the models and the ranking."""


def check_options(options: Mapping[str, Any]) -> None:
    """Make a memory with these options, and leave it.

    Raises:
        InvalidParameter: one is not among `OPTIONS`, or has a value outside what `Memory`
            documents.
    """
    for name in options:
        if name not in OPTIONS:
            raise InvalidParameter(f"unknown option {name!r}; options: {', '.join(OPTIONS)}")
    with warnings.catch_warnings():
        # What is within reach depends on the settings that the session is run under.
        warnings.simplefilter("ignore", UnreachableThresholdWarning)
        Memory(store="memory:", **options)
