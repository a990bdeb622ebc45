"""Running a session: the same conversation under each setting, every time with a fresh store."""

from __future__ import annotations

import asyncio
import importlib.metadata
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model

from nousmem.agent._access import SearchScope
from nousmem.agent._capability import InjectionRecord, Memory
from nousmem.agent._messages import turns as spoken_turns
from nousmem.agent._reflection import Reflection
from nousmem.agent.sessions._changes import look, store_changes
from nousmem.agent.sessions._clock import SessionClock, numbered_ids
from nousmem.agent.sessions._options import check_options
from nousmem.agent.sessions._session import Session, SessionTurn
from nousmem.agent.sessions._support import Prompt, candidate_records, support_of
from nousmem.agent.sessions.models import SessionModel, open_session_model
from nousmem.agent.sessions.transcript import (
    Message,
    Timing,
    Tokens,
    Transcript,
    TranscriptHeader,
    TurnRecord,
)
from nousmem.embeddings import embed, open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring
from nousmem.stores import open_store
from nousmem.stores.base import Store

__all__ = ["run_session"]


def run_session(
    session: Session,
    *,
    model: Model | str = "extractive",
    settings: Mapping[str, Settings | Scoring] | None = None,
    embedder: Embedder | str | None = None,
    store: str = "sqlite",
    options: Mapping[str, Any] | None = None,
    after_turn: Callable[[str, TurnRecord], None] | None = None,
) -> dict[str, Transcript]:
    """Run a session once for each setting.

    A setting gets a store of its own, which holds at each turn the memories that the session
    dates before it and those that earlier turns made. The clock stands at the turn's date. Tool
    calls are made one after another, and new memories are numbered, so that with a stand-in two
    runs give the same transcripts, times aside.

    Args:
        session: What `read_session` returns.
        model: "scripted", "extractive", a model of Pydantic AI or its name. It answers and
            reflects.
        settings: Name to what is run: Settings, or a Scoring, the rest at its defaults. None is
            the defaults, as "default".
        embedder: Of memories and queries, or its name; None searches text alone.
        store: Kind of store, kept in memory: sqlite, memory, duckdb.
        options: Options of `Memory`, such as auto_update_memory, in place of those of the session.
            Thresholds of injection among them, or in the session, hold under every setting.
        after_turn: Called with the name of the setting and what was recorded, turn by turn.

    Returns:
        A transcript for each setting. A turn whose model failed has an `error` and the session
        goes on.

    Raises:
        SessionError: the model is scripted and the script is too short or missing.
        InvalidParameter: the model cannot be made, a setting is neither Settings nor a Scoring, or
            an option is unknown or out of range.
        UnknownName: no embedder or store has the name given.
    """
    given = {"default": Settings()} if settings is None else settings
    chosen = {name: _as_settings(name, one) for name, one in given.items()}
    if not chosen:
        raise InvalidParameter("at least one setting is needed")
    check_options(options or {})
    session = replace(session, options={**session.options, **(options or {})})
    opened = open_session_model(model, session)
    vectors = open_embedder(embedder)
    entries = list(session.memories.values())
    seeds = entries if vectors is None else embed(entries, vectors)

    async def run_all() -> dict[str, Transcript]:
        found: dict[str, Transcript] = {}
        for name, setting in chosen.items():
            kept = open_store(store)
            with closing(cast("Any", kept)) if hasattr(kept, "close") else nullcontext():
                run = _Run(
                    session,
                    model=opened,
                    store=kept,
                    name=name,
                    settings=setting,
                    embedder=vectors,
                )
                found[name] = await run.transcript(seeds, store, after_turn)
        return found

    # In a thread of its own: a notebook's event loop is running already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run_all())).result()


def _as_settings(name: str, given: object) -> Settings:
    if isinstance(given, Settings):
        return given
    if isinstance(given, Scoring):
        return Settings(scoring=given)
    raise InvalidParameter(f"setting {name!r} must be Settings or a Scoring, got {given!r}")


class _Run:
    """One session under one setting."""

    def __init__(
        self,
        session: Session,
        *,
        model: SessionModel,
        store: Store,
        name: str,
        settings: Settings,
        embedder: Embedder | None,
    ) -> None:
        self.session = session
        self.model = model
        self.store = store
        self.name = name
        self.settings = settings
        self.embedder = embedder
        self.clock = SessionClock(session.turns[0].at)
        self.new_id = numbered_ids(session.memories)
        self.memories: dict[tuple[str, str, str | None], Memory] = {}
        self.histories: dict[tuple[str, str, str | None], list[ModelMessage]] = {}

    async def transcript(
        self,
        seeds: Sequence[Entry],
        store: str,
        after_turn: Callable[[str, TurnRecord], None] | None,
    ) -> Transcript:
        started = datetime.now(UTC)
        turns: list[TurnRecord] = []
        seconds: dict[str, float] = {}
        waiting = sorted(seeds, key=lambda entry: entry.created_at)
        for turn in self.session.turns:
            self.clock.now = turn.at
            due = [entry for entry in waiting if entry.created_at <= turn.at]
            waiting = waiting[len(due) :]
            self.store.put(due)
            start = time.perf_counter()
            record = await self.take(turn)
            seconds[turn.id] = round(time.perf_counter() - start, 4)
            turns.append(record)
            if after_turn is not None:
                after_turn(self.name, record)
        return Transcript(
            header=self.header(store),
            turns=turns,
            timing=Timing(run_at=started, seconds=seconds),
        )

    async def take(self, turn: SessionTurn) -> TurnRecord:
        memory = self.memory_of(turn)
        memory.injections.clear()
        memory.reflections.clear()
        key = (turn.agent_id, turn.user_id, turn.conversation)
        history = self.histories.get(key, []) if turn.conversation is not None else []
        agent = Agent(
            self.model.for_turn(turn, self.find),
            instructions=self.session.agents[turn.agent_id].instructions,
            capabilities=[memory],
        )
        before = look(self.store)
        new: list[ModelMessage] = []
        reply, error, tokens = "", None, Tokens()
        try:
            with Agent.parallel_tool_call_execution_mode("sequential"):
                result = await agent.run(turn.text, message_history=history)
        except AgentRunError as raised:
            error = f"{type(raised).__name__}: {raised}"
        else:
            reply, new = str(result.output), result.new_messages()
            self.histories[key] = result.all_messages()
            usage = result.usage
            tokens = Tokens(
                requests=usage.requests, input=usage.input_tokens, output=usage.output_tokens
            )
        injections = list(memory.injections)
        messages = _messages(turn.text, injections, new)
        prompt = Prompt(
            injections, messages, [said.text for said in spoken_turns(history)], before, memory
        )
        named = [*turn.expects, *turn.forbids]
        thresholds = memory.settings_in_force.injection
        candidates = (
            candidate_records(
                injections[-1], named=named, session=self.session, thresholds=thresholds
            )
            if injections
            else []
        )

        def support(wanted: str) -> Any:
            return support_of(wanted, prompt, session=self.session, candidates=candidates)

        return TurnRecord(
            turn=turn.id,
            at=turn.at,
            user=turn.user_id,
            agent=turn.agent_id,
            conversation=turn.conversation,
            text=turn.text,
            answer=turn.answer,
            reply=reply,
            messages=messages,
            candidates=candidates,
            support=[support(wanted) for wanted in turn.expects],
            intruders=[support(wanted) for wanted in turn.forbids],
            changes=store_changes(before, look(self.store)),
            reflections=[_reflection(one) for one in memory.reflections],
            tokens=tokens,
            searched=_searched(injections),
            search_error=next((one.error or one.degraded for one in injections), None),
            error=error,
        )

    def memory_of(self, turn: SessionTurn) -> Memory:
        key = (turn.agent_id, turn.user_id, turn.conversation)
        if key not in self.memories:
            scope = self.session.agents[turn.agent_id].search_scope
            self.memories[key] = Memory(
                store=self.store,
                embedder=self.embedder,
                settings=self.settings,
                agent_id=turn.agent_id,
                user_id=turn.user_id,
                session_id=turn.conversation,
                default_search_scope=cast("SearchScope", scope),
                clock=self.clock,
                new_id=self.new_id,
                **self.session.options,
            )
        return self.memories[key]

    def find(self, wanted: str) -> str:
        """Return the id of the newest memory that a script means; what it says if there is none."""
        for entry in reversed(self.store.list()):
            if self.session.says(wanted, entry_id=entry.id, content=entry.content):
                return entry.id
        return wanted

    def header(self, store: str) -> TranscriptHeader:
        session = self.session
        return TranscriptHeader(
            session=session.name,
            about=session.about,
            setting=self.name,
            settings=self.settings.to_dict(),
            options=dict(session.options),
            model=self.model.name,
            stand_in=self.model.stand_in,
            embedder=None if self.embedder is None else self.embedder.fingerprint,
            store=store,
            instructions={agent.id: agent.instructions for agent in session.agents.values()},
            users={
                user.id: f"{user.name}, {user.about}".rstrip(", ")
                for user in session.users.values()
            },
            versions={
                name: importlib.metadata.version(name) for name in ("nousmem", "pydantic-ai-slim")
            },
            session_sha256=session.sha256,
        )


def _messages(
    text: str, injections: Sequence[InjectionRecord], new: Sequence[ModelMessage]
) -> list[Message]:
    """Return a turn's messages as the model saw them, the memories before the user's words."""
    blocks = [
        Message(role="memory", text=one.block.text)
        for one in injections
        if one.block is not None and one.block.text
    ]
    found = [*blocks, Message(role="user", text=text)]
    for message in new:
        for part in message.parts:
            if isinstance(message, ModelResponse) and isinstance(part, TextPart):
                found.append(Message(role="assistant", text=part.content))
            elif isinstance(part, ToolCallPart):
                args = part.args_as_dict()
                found.append(Message(role="assistant", tool=part.tool_name, args=args))
            elif isinstance(part, ToolReturnPart):
                found.append(
                    Message(role="tool", tool=part.tool_name, text=part.model_response_str())
                )
            elif part.part_kind == "retry-prompt":
                # The class is deprecated since 2.65; earlier versions know no other.
                refused: Any = part
                said = str(refused.model_response())
                found.append(Message(role="tool", tool=refused.tool_name or "", text=said))
    return found


def _searched(injections: Sequence[InjectionRecord]) -> str | None:
    found = [one.ranking.query for one in injections if one.ranking is not None]
    return found[-1] if found else None


def _reflection(reflection: Reflection) -> dict[str, Any]:
    return {
        "outcomes": [
            {"operation": one.operation, "status": one.status, "message": one.message}
            for one in reflection.outcomes
        ],
        "problem": reflection.problem,
        "error": reflection.error,
        "tokens": {"input": reflection.input_tokens, "output": reflection.output_tokens},
    }
