"""What a session is: people, agents, memories they start with, and turns on dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any

from nousmem.agent.stand_ins.scripts import ScriptStep
from nousmem.entry import Entry

__all__ = ["Fact", "Session", "SessionAgent", "SessionTurn", "SessionUser"]


@dataclass(frozen=True, slots=True)
class SessionAgent:
    """One of the agents that share the store."""

    id: str
    instructions: str = "You are a helpful assistant with a lasting memory."
    """What the model is told, besides what its memory tells it."""
    search_scope: str = "agent"
    """As `MemoryAccess.default_search_scope`."""


@dataclass(frozen=True, slots=True)
class SessionUser:
    """One of the people who speak."""

    id: str
    name: str = ""
    about: str = ""
    """Who this is, for the reviewer; no model sees it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a memory may say, in whatever words a model stored it."""

    id: str
    says: tuple[str, ...]
    """A memory says it when it holds all of these, whatever their case."""

    def is_in(self, text: str) -> bool:
        """Whether a text says it."""
        folded = text.casefold()
        return all(part.casefold() in folded for part in self.says)


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """One thing a user says to an agent."""

    id: str
    at: datetime
    """UTC."""
    user_id: str
    agent_id: str
    text: str
    _: KW_ONLY
    conversation: str | None = None
    """Turns with the same one, agent and user share their message history and a session_id.
    Without it, a turn is a conversation of its own."""
    expects: tuple[str, ...] = ()
    """Ids of memories and facts that the answer needs: they should be in the prompt."""
    forbids: tuple[str, ...] = ()
    """Ids of memories and facts that should not be."""
    answer: str = ""
    """A good answer, for the reviewer and the judge; no model under review sees it."""
    script: tuple[ScriptStep, ...] = ()
    """What the scripted model does, one step for each time it is asked."""
    operations: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    """What the scripted model replies when it reflects after this turn."""


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation over weeks or months, as somebody wrote it down.

    A memory with a date later than a turn is not there yet when the turn is taken.
    """

    name: str
    """What its transcripts are called by; usable in the name of a file."""
    about: str
    """What happens in it, for the reviewer; no model sees it."""
    agents: Mapping[str, SessionAgent]
    """Those that share the store, by id."""
    users: Mapping[str, SessionUser]
    """Those who speak, by id."""
    memories: Mapping[str, Entry]
    """What is in the store without anybody saying it, by id."""
    facts: Mapping[str, Fact]
    """What turns may expect or forbid beside memories, by name; no name is also a memory's id."""
    turns: tuple[SessionTurn, ...]
    """By date."""
    options: Mapping[str, Any]
    """Options of `nousmem.agent.Memory`, the same under every setting."""
    sha256: str = ""
    """Of the file it was read from."""

    def says(self, wanted: str, *, entry_id: str, content: str) -> bool:
        """Whether a stored memory is the one meant by `wanted`, an id of a memory or a fact."""
        fact = self.facts.get(wanted)
        return entry_id == wanted if fact is None else fact.is_in(content)
