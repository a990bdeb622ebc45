"""Memory for agents: the tools as plain functions, a capability for Pydantic AI, an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nousmem.agent.access import MemoryAccess
from nousmem.agent.tools import forget, recall, remember
from nousmem.errors import MissingDependency

if TYPE_CHECKING:
    from nousmem.agent.capability import Memory

__all__ = ["Memory", "MemoryAccess", "forget", "recall", "remember"]


def __getattr__(name: str) -> Any:
    """Import `Memory` when it is asked for, so that the tools need no Pydantic AI."""
    if name != "Memory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from nousmem.agent.capability import Memory
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pydantic_ai":
            raise
        raise MissingDependency(
            "pydantic-ai-slim", extra="agent", purpose="nousmem.agent.Memory"
        ) from None
    return Memory
