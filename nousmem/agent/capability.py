"""The capability that gives a Pydantic AI agent its memory.

Source: specification, "Memory Plugin" and "Auto-Update Memory".
"""

from __future__ import annotations

import asyncio
import copy
import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, cast

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

from nousmem.agent.access import MemoryAccess
from nousmem.agent.messages import latest_user_text, turns, with_block
from nousmem.agent.options import check_choice, check_flag, check_number, check_whole
from nousmem.agent.quoting import Block, memory_block
from nousmem.agent.reflecting_model import ask_for_operations
from nousmem.agent.reflection import (
    Outcome,
    Reflection,
    apply_reply,
    known_memories,
    reflection_prompt,
    undo,
)
from nousmem.agent.relevance import find_relevant
from nousmem.agent.toolset import INSTRUCTIONS, memory_toolset
from nousmem.errors import InvalidParameter
from nousmem.hits import Hits

__all__ = ["Injection", "Memory"]

_LOG = logging.getLogger(__name__)
_KEPT: Final = 100

InjectStrategy = Literal["first_only", "every_iteration"]


@dataclass(frozen=True, slots=True)
class Injection:
    """One search made for a model request, and what the model was shown of it."""

    at: datetime
    """The clock's instant, UTC; ages were counted from it."""
    query: str
    """The user's message."""
    block: Block | None
    """What was shown and left out; None when the search failed."""
    degraded: str | None = None
    """Why the vector leg is missing; None when it is not."""
    error: str | None = None
    """Why the search failed; the run went on without memories."""
    ranking: Hits | None = None
    """The search, with the candidates that were not shown; None when nothing was searched for."""


@dataclass(kw_only=True, eq=False)
class Memory(MemoryAccess, AbstractCapability[Any]):
    """Gives an agent a memory: `Agent(…, capabilities=[Memory(store=…, user_id=…)])`.

    The agent gets the tools remember, recall and forget. Before a model request, memories that
    bear on the user's latest message are put before it as quoted data; they are part of that
    run's requests alone, and never of the history that later runs are given.

    It works under run, run_sync, run_stream and iter. Several agents may share a store, each with
    a Memory of its own, and one Memory may serve several runs at once. Options are checked when
    it is made; it is not to be changed afterwards.

    Attributes:
        injections: The latest 100 searches, the last one last.
        reflections: The latest 100 reflections, with what each did, the last one last.

    Raises:
        InvalidParameter: an option has a value outside what it documents.
        InvalidScope: a scope field is neither None nor text.
        UnknownName: no store or embedder has the name given.
        StoreError: the store that a URL names cannot be opened.
        MissingDependency: a package that this store needs is not installed.
    """

    auto_inject: bool = True
    """Show memories unasked."""
    inject_strategy: InjectStrategy = "first_only"
    """"first_only" searches once a run and shows the same memories in each of its requests;
    "every_iteration" searches anew for each request."""
    inject_limit: int = 5
    """Memories shown, at most."""
    inject_min_score: float = 0.3
    """Least composite score of a memory that is shown."""
    inject_min_words: float = 0.3
    """Least share of the words of the user's message, function words aside, that a memory must
    hold to be shown. See `inject_min_cosine`."""
    inject_min_cosine: float = 0.35
    """Least cosine that shows a memory; one of the two will do. It depends on the embedder: this
    is for all-MiniLM-L6-v2. With 0 and -1 nothing is asked of a memory but `inject_min_score`.

    On assistant-year (SQLite, no decay, no least composite score), small talk and gibberish show
    a memory in 0 % of cases (1 % with vectors) instead of 47 % (100 %). Questions that another
    user's memory answers show one in 50 % (87 %) instead of 100 %. Of 275 questions with an
    answer, 119 (172) are shown it instead of 116 (160), since places come free. At 0.5 and 0.45,
    with vectors: 30 % and 134."""
    inject_max_tokens: int = 1000
    """Most tokens that the memories shown may take, by `quoting.estimated_tokens`."""
    auto_update_memory: bool = False
    """After a run that ended well, let a model update the memory from what was said."""
    auto_update_every: int = 1
    """Runs from one reflection to the next; each covers all since the last that had a reply. A run
    that fails, is called off, or whose stream is left before its end does not count."""
    reflection_model: Model | str | None = None
    """The model that reflects; None is the agent's own."""
    reflection_max_tokens: int = 500
    """Most tokens of its reply."""
    reflection_max_messages: int = 20
    """Messages of the conversation it is shown, the latest."""
    reflection_max_memories: int = 50
    """Memories it is shown: those the user spoke of, then the latest changed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("auto_inject", self.auto_inject)
        check_choice("inject_strategy", self.inject_strategy, ("first_only", "every_iteration"))
        check_whole("inject_limit", self.inject_limit, least=0)
        check_number("inject_min_score", self.inject_min_score)
        check_number("inject_min_words", self.inject_min_words)
        check_number("inject_min_cosine", self.inject_min_cosine)
        check_whole("inject_max_tokens", self.inject_max_tokens, least=0)
        check_flag("auto_update_memory", self.auto_update_memory)
        check_whole("auto_update_every", self.auto_update_every, least=1)
        check_whole("reflection_max_tokens", self.reflection_max_tokens, least=1)
        check_whole("reflection_max_messages", self.reflection_max_messages, least=0)
        check_whole("reflection_max_memories", self.reflection_max_memories, least=0)
        if not isinstance(self.reflection_model, Model | str | None):
            raise InvalidParameter(
                "reflection_model must be a model, a name such as 'openai:gpt-4o-mini' or None, "
                f"got {self.reflection_model!r}"
            )
        self.reflections: deque[Reflection] = deque(maxlen=_KEPT)
        self._unreflected = _Unreflected()
        self.injections: deque[Injection] = deque(maxlen=_KEPT)
        self._injection: Injection | None = None
        self._toolset = memory_toolset(self, id=self.id or "memory")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: an open store cannot be written into an agent's specification."""
        return None

    def get_instructions(self) -> str:
        """Return what the agent is told about its memory; the same for every run."""
        return INSTRUCTIONS

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return remember, recall and forget."""
        # Made once: each run asks for it, and its schemas take longer than a search.
        return self._toolset

    async def for_run(self, ctx: RunContext[Any]) -> Memory:  # noqa: ARG002
        """Return a copy with a run's own state; store, lock and records are shared."""
        one = copy.copy(self)
        one._injection = None  # noqa: SLF001  # our own copy
        return one

    async def before_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Put memories before the user's latest message, in this request alone."""
        if not self.auto_inject:
            return request_context
        query = latest_user_text(request_context.messages)
        if query and self._is_due():
            # In a thread, so that the other runs of this event loop go on.
            self._injection = await asyncio.to_thread(self._inject, query)
            self.injections.append(self._injection)
        block = None if self._injection is None else self._injection.block
        if block is None or not block.text:
            return request_context
        messages = with_block(request_context.messages, block.text)
        return replace(request_context, messages=messages)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Reflect on what was said, if it is time to; the result is returned as it is."""
        if not self.auto_update_memory:
            return result
        messages = self._unreflected.add(result.all_messages(), every=self.auto_update_every)
        if messages is None:
            return result
        reflection = None
        try:
            reflection = await self._reflect(messages, ctx)
            self.reflections.append(reflection)
        finally:
            # Without a reply, or when the run was called off meanwhile: the next one covers it.
            if reflection is None or reflection.error is not None:
                self._unreflected.give_back(messages, most=self.reflection_max_messages)
        return result

    def undo(self, reflection: Reflection) -> tuple[Outcome, ...]:
        """Take back what a reflection did; return what could not be, since it changed again."""
        return undo(self, reflection)

    async def _reflect(self, messages: Sequence[ModelMessage], ctx: RunContext[Any]) -> Reflection:
        now = self.now()
        model: object = ctx.model if self.reflection_model is None else self.reflection_model
        try:
            if not isinstance(model, Model | str):
                raise InvalidParameter("the agent's model cannot reflect: give reflection_model")
            said = turns(messages)
            said = said[max(len(said) - self.reflection_max_messages, 0) :]
            limit = self.reflection_max_memories
            memories = await asyncio.to_thread(known_memories, self, said, limit=limit)
            prompt = reflection_prompt(said, memories)
            reply = await ask_for_operations(
                cast("Model | str", model), prompt, max_tokens=self.reflection_max_tokens
            )
            return await asyncio.to_thread(apply_reply, self, reply, now=now)
        except Exception as error:  # noqa: BLE001  # the run has ended well already
            _LOG.warning("no reflection after this run: %s", error)
            return Reflection(now, error=f"{type(error).__name__}: {error}")

    def _is_due(self) -> bool:
        found_before = self._injection is not None and self._injection.error is None
        return self.inject_strategy == "every_iteration" or not found_before

    def _inject(self, query: str) -> Injection:
        now = self.now()
        try:
            found = find_relevant(
                self,
                query,
                now=now,
                limit=self.inject_limit,
                min_score=self.inject_min_score,
                min_words=self.inject_min_words,
                min_cosine=self.inject_min_cosine,
            )
        except Exception as error:  # noqa: BLE001  # whatever a store raises, the run goes on
            _LOG.warning("no memories are shown, the search failed: %s", error)
            return Injection(now, query, None, error=f"{type(error).__name__}: {error}")
        block = memory_block(found.hits, now=now, max_tokens=self.inject_max_tokens)
        return Injection(now, query, block, degraded=found.degraded, ranking=found.ranking)


class _Unreflected:
    """Counts runs, and keeps what was said in them until it is reflected on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_runs = 0
        self._waiting: list[ModelMessage] = []

    def add(self, messages: Sequence[ModelMessage], *, every: int) -> list[ModelMessage] | None:
        """Add a run with its history; return all that is waiting when it is time to reflect."""
        with self._lock:
            told = {message.run_id for message in messages if message.run_id is not None}
            # A run that continues an earlier one brings its messages along.
            earlier = [message for message in self._waiting if message.run_id not in told]
            self._waiting = [*earlier, *messages]
            self._n_runs += 1
            if self._n_runs % every:
                return None
            waiting, self._waiting = self._waiting, []
            return waiting

    def give_back(self, messages: Sequence[ModelMessage], *, most: int) -> None:
        """Keep what could not be reflected on, at most so many messages that say something."""
        with self._lock:
            told = {message.run_id for message in self._waiting if message.run_id is not None}
            earlier = [message for message in messages if message.run_id not in told]
            speaking = [message for message in earlier if turns([message])]
            self._waiting = [*speaking[max(len(speaking) - most, 0) :], *self._waiting]
