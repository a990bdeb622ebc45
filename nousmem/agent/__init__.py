"""Memory for agents: the tools as plain functions, a capability for Pydantic AI, an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nousmem.agent._access import MemoryAccess
from nousmem.agent._options import UnreachableThresholdWarning
from nousmem.agent._tools import forget, recall, remember
from nousmem.errors import requiring

if TYPE_CHECKING:
    from nousmem.agent._capability import Memory

__all__ = [
    "Memory",
    "MemoryAccess",
    "UnreachableThresholdWarning",
    "forget",
    "recall",
    "remember",
]


def __getattr__(name: str) -> Any:
    """Import `Memory` when it is asked for, so that the tools need no Pydantic AI."""
    if name != "Memory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with requiring(
        "pydantic-ai-slim", extra="agent", purpose="nousmem.agent.Memory", modules=["pydantic_ai"]
    ):
        from nousmem.agent._capability import Memory
    return Memory
