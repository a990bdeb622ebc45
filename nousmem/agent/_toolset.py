"""The tools as an agent of Pydantic AI is given them."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai.toolsets import FunctionToolset

from nousmem.agent._access import MemoryAccess
from nousmem.agent._tool_functions import CAUTION, TIMEOUT_SECONDS, USE, tool_functions

__all__ = ["INSTRUCTIONS", "memory_toolset"]

INSTRUCTIONS: Final = (
    f"{USE} Memories found for a message may stand before it, in a block named "
    f"retrieved_memories. {CAUTION}"
)


def memory_toolset(access: MemoryAccess, *, id: str) -> FunctionToolset[Any]:
    """Return remember, recall and forget over `access`, for an agent.

    Arguments outside their schema are sent back to the model before anything is done. The tools
    run in threads, so the event loop goes on; one call may take 45 seconds.
    """
    return FunctionToolset(tool_functions(access), id=id, max_retries=1, timeout=TIMEOUT_SECONDS)
