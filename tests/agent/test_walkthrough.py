"""The specification's walkthrough, and agents that share a store."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent import Memory, forget, recall, remember

FACTS = {
    "name": "User's name is Alice",
    "team": "Alice works on the billing team",
    "promotion": "Alice was promoted to team lead",
    "deploy": "Deploy process: mix release, then docker build, then push to fly.io",
}


def what_the_model_knows(messages: list[ModelMessage]) -> str:
    parts = [part for message in messages for part in message.parts]
    return "\n".join(
        str(part.content) for part in parts if isinstance(part, UserPromptPart | ToolReturnPart)
    )


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Remember what it is asked to, look up what it is asked, and tell what it knows."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    if any(isinstance(part, ToolReturnPart) for part in last.parts):
        return ModelResponse([TextPart(what_the_model_knows(messages))])
    prompt = str(last.parts[-1].content)
    if "Remember that" in prompt:
        return ModelResponse(
            [ToolCallPart("remember", {"content": FACTS["promotion"], "importance": 0.7})]
        )
    return ModelResponse([ToolCallPart("recall", {"query": prompt})])


@pytest.fixture
def seeded(store: nm.Store, clock: Any) -> nm.Store:
    owner = {"agent_id": "assistant", "user_id": "alice", "created_at": clock.now}
    store.put(
        [
            nm.Entry(FACTS["name"], importance=0.9, **owner),
            nm.Entry(FACTS["team"], importance=0.7, **owner),
            nm.Entry(FACTS["deploy"], type="procedural", importance=0.8, evergreen=True, **owner),
        ]
    )
    return store


def test_the_walkthrough(seeded: nm.Store, clock: Any):
    memory = Memory(
        store=seeded,
        agent_id="assistant",
        user_id="alice",
        auto_inject=True,
        inject_limit=3,
        inject_min_score=0.3,
        scoring=nm.Scoring(w_relevance=0.5, w_importance=0.3, w_recency=0.2),
        clock=clock,
    )
    agent = Agent(
        FunctionModel(answer),
        capabilities=[memory],
        instructions="You are a helpful assistant with persistent memory.",
    )
    result = agent.run_sync("I just got promoted to team lead. Remember that!")
    clock.advance(hours=1)
    history = result.all_messages()
    known = agent.run_sync("What do you know about me?", message_history=history).output
    shown = memory.injections[-1].block
    assert shown is not None
    assert len(shown.shown) == 3
    for question in (
        "What is Alice's name?",
        "On which team does Alice work?",
        "Was Alice promoted?",
        "How does the deploy process go?",
    ):
        known += agent.run_sync(question).output
        assert memory.injections[-1].block is not None
        assert memory.injections[-1].block.shown
    for fact in FACTS.values():
        assert fact in known
    search = nm.Search(seeded, scoring=memory.scoring)
    hits = search("Alice role", scope=nm.Scope.build({"agent_id": "assistant", "user_id": "alice"}))
    assert len(hits) >= 3


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is my name?", "name"),
        ("Which team am I on?", "team"),
        ("Was I promoted?", "promotion"),
        ("How do we deploy?", "deploy"),
    ],
)
def test_each_fact_is_shown_to_the_question_it_answers(clock, question, fact):
    memory = Memory(store="sqlite::memory:", user_id="alice", clock=clock)
    for text in FACTS.values():
        remember(memory, text)
    Agent(FunctionModel(answer), capabilities=[memory]).run_sync(question)
    block = memory.injections[0].block
    assert block is not None
    assert FACTS[fact] in [hit.entry.content for hit in block.shown]


@pytest.mark.parametrize(
    ("search_scope", "seen"),
    [
        ("agent", {"a of alice"}),
        ("session", {"a of alice"}),
        ("user", {"a of alice", "b of alice"}),
        ("global", {"a of alice", "b of alice", "a of bob"}),
    ],
)
def test_agents_on_one_store_see_what_their_scope_says(store, clock, search_scope, seen):
    for agent_id, user_id in (("a", "alice"), ("b", "alice"), ("a", "bob")):
        owner = {"agent_id": agent_id, "user_id": user_id, "session_id": "s"}
        remember(Memory(store=store, clock=clock, **owner), f"{agent_id} of {user_id}")
    memory = Memory(
        store=store,
        agent_id="a",
        user_id="alice",
        session_id="s",
        default_search_scope=search_scope,
        clock=clock,
    )
    found = recall(memory, "a b of alice bob", limit=50)["memories"]
    assert {one["content"] for one in found} == seen
    hidden = [entry for entry in store.list() if entry.content not in seen]
    assert {forget(memory, entry.id)["status"] for entry in hidden} <= {"not_found"}


def test_eight_agents_on_one_store(tmp_path: Path):
    """No write is lost, no foreign memory is seen, nothing fails.

    NOUSMEM_TURNS sets the turns of each agent; 200 take half a minute.
    """
    agents, turns = 8, int(os.environ.get("NOUSMEM_TURNS", "25"))
    store = nm.open_store(f"sqlite:{tmp_path / 'memories.db'}")
    foreign: list[str] = []
    statuses: Counter[str] = Counter()

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        prompts = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
        own, n = (int(number) for number in re.findall(r"\d+", str(prompts[-1])))
        owners = {int(n) for n in re.findall(r"owner(\d+)x", what_the_model_knows(messages))}
        foreign.extend(f"{own} saw {other}" for other in owners - {own})
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                assert isinstance(part.content, dict)
                statuses[part.content["status"]] += 1
        if len(messages) > 1:
            return ModelResponse([TextPart("ok")])
        fact = f"Ledger line {n} belongs to owner{own}x"
        return ModelResponse(
            [ToolCallPart("remember", {"content": fact}), ToolCallPart("recall", {"query": fact})]
        )

    async def work(own: int) -> Memory:
        memory = Memory(store=store, agent_id=f"agent{own}", user_id=f"user{own}")
        agent = Agent(FunctionModel(model), capabilities=[memory])
        for n in range(turns):
            await agent.run(f"Owner {own}, ledger line {n}?")
        return memory

    async def main() -> list[Memory]:
        return await asyncio.gather(*(work(own) for own in range(agents)))

    memories = asyncio.run(main())
    assert foreign == []
    assert statuses == dict.fromkeys(("remembered", "found"), agents * turns)
    injections = [one for memory in memories for one in memory.injections]
    assert not [one.error for one in injections if one.error]
    assert any(one.block is not None and one.block.shown for one in injections)
    for own in range(agents):
        kept = store.list(scope=nm.Scope(agent_id=f"agent{own}", user_id=f"user{own}"))
        lines = {f"Ledger line {n} belongs to owner{own}x" for n in range(turns)}
        assert sorted(entry.content for entry in kept) == sorted(lines)
    assert len(store.list()) == agents * turns
    assert list(store.check()) == []
    store.close()
