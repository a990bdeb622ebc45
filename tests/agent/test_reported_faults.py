"""What users of other agents' memories ran into: scopes, thresholds, vectors, history.

Each test is one kind of fault. What the tests of tools, quoting, replies and reflection hold is
not repeated.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent import Memory, MemoryAccess, recall, remember
from nousmem.agent._reflection import apply_reply
from nousmem.embeddings import HashingEmbedder

CHAT = FunctionModel(lambda messages, info: ModelResponse([TextPart("I see.")]))


class Unusable(HashingEmbedder):
    """A model that answers, with vectors of no direction."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def embed_documents(self, texts):
        return np.full((len(texts), self.dimension), self._value, dtype=np.float32)

    embed_queries = embed_documents


class Renamed(HashingEmbedder):
    fingerprint = "another-model"


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_vector_without_direction_costs_the_vector_alone(store: nm.Store, clock, value: float):
    memory = Memory(store=store, embedder=Unusable(value), clock=clock)
    assert remember(memory, "The tea is green")["status"] == "remembered"
    assert store.list()[0].embedding is None
    assert recall(memory, "tea")["count"] == 1
    Agent(CHAT, capabilities=[memory]).run_sync("Which tea is it?")
    (injection,) = memory.injections
    assert injection.error is None
    assert injection.block is not None
    assert [hit.entry.content for hit in injection.block.shown] == ["The tea is green"]
    assert np.isfinite([hit.score for hit in injection.block.shown]).all()


def test_another_model_s_store_is_named_and_the_run_goes_on(store: nm.Store, clock):
    remember(MemoryAccess(store=store, embedder=HashingEmbedder(), clock=clock), "Green tea")
    memory = Memory(store=store, embedder=Renamed(), clock=clock)
    assert Agent(CHAT, capabilities=[memory]).run_sync("Which tea is it?").output == "I see."
    for part in (HashingEmbedder().fingerprint, "another-model", "reembed"):
        assert part in (memory.injections[0].error or "")


@pytest.mark.parametrize("embedder", [None, "hashing"])
def test_the_default_thresholds_are_in_reach_of_what_does_not_matter(
    store: nm.Store, clock, embedder: str | None
):
    """Importance 0, and a store that holds more: the answer is shown by its relevance alone."""
    memory = Memory(store=store, embedder=embedder, clock=clock)
    for text in ("The harbour opens at nine", "Keeps bees", "The tea is green"):
        remember(memory, text, importance=0)
    Agent(CHAT, capabilities=[memory]).run_sync("Is the tea green?")
    block = memory.injections[0].block
    assert block is not None
    assert [hit.entry.content for hit in block.shown] == ["The tea is green"]


def test_an_operation_cannot_name_a_scope_nor_an_id(store: nm.Store, clock):
    """A model's keys are no fields of an entry, whatever they are called."""
    memory = Memory(store=store, user_id="alice", agent_id="helper", clock=clock)
    strays: dict[str, Any] = {
        "id": "chosen", "user_id": "bob", "agent_id": "", "namespace": "x", "session_id": "s",
        "created_at": "1999-01-01", "superseded_at": "2000-01-01", "access_count": 7,
        "embedding": [1.0], "scope": "global", "existing": True,
    }  # fmt: skip
    remembered = {"action": "remember", "content": "Keeps bees", **strays}
    apply_reply(memory, json.dumps([remembered]), now=clock.now)
    (entry,) = store.list()
    updated = {**strays, "action": "update", "id": entry.id, "importance": 0.9}
    apply_reply(memory, json.dumps([updated]), now=clock.now)
    (entry,) = store.list(scope=nm.Scope(user_id="alice", agent_id="helper"))
    assert (entry.content, entry.importance, entry.access_count) == ("Keeps bees", 0.9, 0)
    assert (entry.namespace, entry.session_id, entry.created_at) == (None, None, clock.now)
    assert entry.id != "chosen"
    assert entry.embedding is None


@pytest.mark.parametrize("scope", ["user", "session"])
def test_a_scope_without_its_id_is_not_a_wider_one(store: nm.Store, scope: Any):
    others = {"session": {"user_id": "alice", "agent_id": "helper"}, "user": {}}[scope]
    for make in (Memory, MemoryAccess):
        with pytest.raises(nm.InvalidParameter, match=f"'{scope}' without a {scope}_id"):
            make(store=store, default_search_scope=scope, **others)


def test_a_history_that_was_put_by_is_reflected_on_once(store: nm.Store, clock):
    """What a web application does: the messages go to a database as JSON, and come back."""
    asked: list[str] = []

    def reflect(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[0].parts[-1].content))
        return ModelResponse([TextPart("[]")])

    memory = Memory(
        store=store,
        clock=clock,
        auto_update_memory=True,
        auto_update_every=3,
        reflection_model=FunctionModel(reflect),
    )
    remember(memory, "The tea is green")
    agent = Agent(CHAT, capabilities=[memory], system_prompt="be nice")
    kept = b"[]"
    for n in range(3):
        history = ModelMessagesTypeAdapter.validate_json(kept)
        result = agent.run_sync(f"Which tea is it, {n}?", message_history=history)
        kept = ModelMessagesTypeAdapter.dump_json(result.all_messages())
    assert b"<retrieved_memory" not in kept
    (prompt,) = asked
    said = [json.loads(line) for line in prompt.splitlines() if '"role"' in line]
    assert [one["text"] for one in said if one["role"] == "user"] == [
        "Which tea is it, 0?", "Which tea is it, 1?", "Which tea is it, 2?"
    ]  # fmt: skip


def test_a_weight_that_leaves_no_leg_is_refused(store: nm.Store):
    """It would find nothing for ever, and say so each time with status "found"."""
    vectors_only = nm.Scoring(w_text=0)
    with pytest.raises(nm.InvalidParameter, match="w_text"):
        MemoryAccess(store=store, scoring=vectors_only)
    memory = Memory(store=store, scoring=vectors_only, embedder="hashing")
    remember(memory, "Keeps bees")
    assert recall(memory, "bees")["count"] == 1
