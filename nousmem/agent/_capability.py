"""The capability that gives a Pydantic AI agent its memory.

Source: specification, "Memory Plugin" and "Auto-Update Memory".
"""

from __future__ import annotations

import asyncio
import copy
import logging
import threading
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, cast

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ProcessHistory
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

from nousmem.agent._access import MemoryAccess, utc_now
from nousmem.agent._messages import Turn, latest_user_text, turns, with_block, without_blocks
from nousmem.agent._options import UnreachableThresholdWarning, check_model, hardly_reached
from nousmem.agent._quoting import Block, memory_block
from nousmem.agent._reflecting_model import ask_for_operations
from nousmem.agent._reflection import (
    Outcome,
    Reflection,
    apply_reply,
    known_memories,
    reflection_prompt,
    undo,
)
from nousmem.agent._relevance import find_relevant
from nousmem.agent._toolset import INSTRUCTIONS, memory_toolset
from nousmem.checks import check_choice, check_flag, check_whole
from nousmem.errors import InvalidParameter
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.settings import INJECTION_OPTIONS, Settings

__all__ = ["InjectionRecord", "Memory"]

_LOG = logging.getLogger(__name__)
_KEPT: Final = 100

InjectStrategy = Literal["first_only", "every_iteration"]


@dataclass(frozen=True, slots=True)
class InjectionRecord:
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
    run_id: str | None = None
    """The run it was made in, as `result.run_id` has it."""
    note: str | None = None
    """Why nothing was found, where the scope matches no entry of a store that holds others."""


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

    Warns:
        UnreachableThresholdWarning: with these weights hardly any memory reaches
            `inject_min_score`.

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
    inject_limit: int | None = None
    """Memories shown, at most. None, of this and the next four, is what `settings.injection` says:
    5 where no settings are given. Once made, they are those in force."""
    inject_min_score: float | None = None
    """Least composite score of a memory that is shown; 0.3 where no settings are given."""
    inject_min_words: float | None = None
    """Least share of the words of the user's message, function words aside, that a memory must
    hold to be shown; 0.3 where no settings are given. See `inject_min_cosine`."""
    inject_min_cosine: float | None = None
    """Least cosine that shows a memory; one of the two will do. It depends on the embedder: the
    0.35 where no settings are given is for all-MiniLM-L6-v2. With 0 and -1 nothing is asked of a
    memory but `inject_min_score`.

    `nousmem.evaluation.sweep_injection` measures what the thresholds do. On assistant-year with
    vectors, a half-life of a year and no least composite score, an answer is shown for 63 % of
    the questions and nothing for 53 % of small talk and questions of general knowledge; with
    `inject_min_words` at 0.6, 62 % and 76 %. The 0.3 keeps a memory that shares one telling word
    of three with a message, which in a small store is often the one that is needed."""
    inject_max_tokens: int | None = None
    """Most tokens that the memories shown may take, by `quoting.estimated_tokens`; 1000 where no
    settings are given."""
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
        for name, value in self._settings.injection.to_dict().items():
            setattr(self, name, value)
        check_flag("auto_inject", self.auto_inject)
        check_choice("inject_strategy", self.inject_strategy, ("first_only", "every_iteration"))
        check_flag("auto_update_memory", self.auto_update_memory)
        check_whole("auto_update_every", self.auto_update_every, least=1)
        check_whole("reflection_max_tokens", self.reflection_max_tokens, least=1)
        check_whole("reflection_max_messages", self.reflection_max_messages, least=0)
        check_whole("reflection_max_memories", self.reflection_max_memories, least=0)
        check_model("reflection_model", self.reflection_model)
        self.reflections: deque[Reflection] = deque(maxlen=_KEPT)
        self._unreflected = _Unreflected()
        self.injections: deque[InjectionRecord] = deque(maxlen=_KEPT)
        self._injection: InjectionRecord | None = None
        self._blocks: deque[str] = deque(maxlen=_KEPT)
        self._toolset = memory_toolset(self, id=self.id or "memory")
        unreachable = hardly_reached(self._settings) if self.auto_inject else ""
        if unreachable:
            warnings.warn(unreachable, UnreachableThresholdWarning, stacklevel=3)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: an open store cannot be written into an agent's specification."""
        return None

    def get_ordering(self) -> CapabilityOrdering:
        """Return that memories are added after the history is processed.

        Whatever order they are listed in: a processor keeps in the history what it is given.
        """
        return CapabilityOrdering(wrapped_by=[ProcessHistory])

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
        ctx: RunContext[Any],
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Put memories before the user's latest message, in this request alone."""
        if not self.auto_inject:
            return request_context
        query = latest_user_text(request_context.messages)
        if query and self._is_due():
            # In a thread, so that the other runs of this event loop go on.
            self._injection = await asyncio.to_thread(self._inject, query, ctx.run_id)
            self.injections.append(self._injection)
        block = None if self._injection is None else self._injection.block
        if block is None or not block.text:
            return request_context
        messages = without_blocks(request_context.messages, list(self._blocks))
        if block.text not in list(self._blocks):
            self._blocks.append(block.text)
        messages = with_block(messages, block.text)
        return replace(request_context, messages=messages)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Reflect on what was said, if it is time to; the result is returned as it is."""
        # Whatever else is at work in the agent may have kept in the history what it was shown.
        for history in (ctx.messages, result.all_messages()):
            history[:] = without_blocks(history, list(self._blocks))
        if not self.auto_update_memory:
            return result
        said = self._unreflected.add(turns(result.all_messages()), every=self.auto_update_every)
        if said is None:
            return result
        reflection = None
        try:
            reflection = await self._reflect(said, ctx)
            self.reflections.append(reflection)
        finally:
            # Without a reply, or when the run was called off meanwhile: the next one covers it.
            if reflection is None or reflection.error is not None:
                self._unreflected.give_back(said, most=self.reflection_max_messages)
        return result

    def undo(self, reflection: Reflection) -> tuple[Outcome, ...]:
        """Take back what a reflection did; return what could not be, since it changed again."""
        return undo(self, reflection)

    async def _reflect(self, said: Sequence[Turn], ctx: RunContext[Any]) -> Reflection:
        now = utc_now()
        model: object = ctx.model if self.reflection_model is None else self.reflection_model
        try:
            now = self.now()
            if not isinstance(model, Model | str):
                raise InvalidParameter("the agent's model cannot reflect: give reflection_model")
            latest = said[max(len(said) - self.reflection_max_messages, 0) :]
            limit = self.reflection_max_memories
            memories = await asyncio.to_thread(known_memories, self, latest, limit=limit)
            answer = await ask_for_operations(
                cast("Model | str", model),
                reflection_prompt(latest, memories),
                max_tokens=self.reflection_max_tokens,
            )
            done = await asyncio.to_thread(apply_reply, self, answer.reply, now=now)
        except Exception as error:  # noqa: BLE001  # the run has ended well already
            _LOG.warning("no reflection after this run: %s", error)
            return Reflection(now, error=f"{type(error).__name__}: {error}", run_id=ctx.run_id)
        return replace(
            done,
            run_id=ctx.run_id,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
        )

    def _chosen_settings(self) -> Settings:
        chosen = super()._chosen_settings()
        given = {name: getattr(self, name) for name in INJECTION_OPTIONS}
        return chosen.replace(**{name: one for name, one in given.items() if one is not None})

    def _is_due(self) -> bool:
        found_before = self._injection is not None and self._injection.error is None
        return self.inject_strategy == "every_iteration" or not found_before

    def _inject(self, query: str, run_id: str | None) -> InjectionRecord:
        now = utc_now()
        try:
            now = self.now()
            injection = self._settings.injection
            found = find_relevant(self, query, now=now, injection=injection)
            block = memory_block(found.hits, now=now, max_tokens=injection.inject_max_tokens)
        except Exception as error:  # noqa: BLE001  # whatever a store raises, the run goes on
            _LOG.warning("no memories are shown, the search failed: %s", error)
            why = f"{type(error).__name__}: {error}"
            return InjectionRecord(now, query, None, error=why, run_id=run_id)
        ranking = found.ranking
        found_none = ranking is not None and not ranking.candidates.entries
        return InjectionRecord(
            now,
            query,
            block,
            degraded=None if ranking is None else ranking.degraded,
            ranking=ranking,
            run_id=run_id,
            note=self.unseen.note if found_none else None,
        )


class _Unreflected:
    """Counts runs, and keeps what was said in them until it is reflected on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_runs = 0
        self._waiting: list[Turn] = []

    def add(self, said: Sequence[Turn], *, every: int) -> list[Turn] | None:
        """Add a run with its history; return all that is waiting when it is time to reflect."""
        with self._lock:
            # A run that continues an earlier one brings along what was said in it, if only in the
            # same words: a history kept elsewhere may not tell the runs.
            told = {turn.run_id for turn in said} - {None}
            words = {turn.words for turn in said if turn.run_id is None}
            earlier = [
                turn
                for turn in self._waiting
                if turn.run_id not in told and turn.words not in words
            ]
            self._waiting = [*earlier, *said]
            self._n_runs += 1
            if self._n_runs % every:
                return None
            waiting, self._waiting = self._waiting, []
            return waiting

    def give_back(self, said: Sequence[Turn], *, most: int) -> None:
        """Keep what could not be reflected on, at most so many things that were said."""
        with self._lock:
            told = {turn.run_id for turn in self._waiting} - {None}
            words = {turn.words for turn in self._waiting if turn.run_id is None}
            earlier = [turn for turn in said if turn.run_id not in told and turn.words not in words]
            self._waiting = [*earlier[max(len(earlier) - most, 0) :], *self._waiting]
