"""What is said when an agent cannot see the memories that its store holds."""

from __future__ import annotations

import logging

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import nousmem as nm
from nousmem.agent import Memory, MemoryAccess
from nousmem.agent._tools import recall, remember
from nousmem.stores.memory import MemoryStore


def test_an_agent_that_sees_none_of_what_was_imported_is_told_why(store, clock, caplog):
    store.put([nm.Entry("Keeps bees", user_id="anna", created_at=clock())])
    memory = Memory(store=store, agent_id="helfer", user_id="anna", clock=clock)
    agent = Agent(TestModel(call_tools=[]), capabilities=[memory])
    note = (
        "no memory of agent_id 'helfer' and user_id 'anna' is in the store, which holds others; "
        "default_search_scope='user' looks at all agents'"
    )
    for question in ("Where are the bees?", "Who keeps bees?", "What do you know about me?"):
        agent.run_sync(question)
        assert memory.injections[-1].note == note
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == [note]

    remember(memory, "Sails on Sundays")
    agent.run_sync("xyyxyx?")
    assert not memory.injections[-1].ranking.candidates.entries
    assert memory.injections[-1].note is None


@pytest.mark.parametrize(
    ("owner", "ids", "scope", "level", "remedy"),
    [
        ({}, {"user_id": "anna"}, "user", logging.WARNING, "default_search_scope='global'"),
        ({}, {"agent_id": "helfer"}, "agent", logging.WARNING, "default_search_scope='global'"),
        ({"user_id": "ben"}, {"user_id": "anna"}, "user", logging.INFO, None),
        (
            {"user_id": "anna"},
            {"session_id": "1", "user_id": "anna"},
            "session",
            logging.INFO,
            None,
        ),
    ],
)
def test_only_what_may_be_a_mistake_is_a_warning(store, caplog, owner, ids, scope, level, remedy):
    store.put([nm.Entry("Keeps bees", **owner)])
    access = MemoryAccess(store=store, default_search_scope=scope, **ids)
    with caplog.at_level(logging.INFO):
        recall(access, "bees")
        recall(access, "bees")
    (record,) = caplog.records
    assert record.levelno == level
    assert "which holds others" in record.getMessage()
    assert ("; " in record.getMessage()) == (remedy is not None)
    assert remedy is None or remedy in record.getMessage()


class CountingStore(MemoryStore):
    """Counts how often it is listed."""

    n_lists = 0

    def list(self, **options):
        self.n_lists += 1
        return super().list(**options)


def test_nothing_is_read_for_it_where_memories_are_seen(caplog):
    store = CountingStore()
    access = MemoryAccess(store=store, user_id="anna")
    assert recall(access, "bees")["memories"] == []  # an empty store is no mistake
    remember(access, "Keeps bees")
    store.n_lists = 0
    recall(access, "bees")
    assert store.n_lists == 0
    recall(access, "xyyxyx")
    recall(access, "yxxyxy")
    assert store.n_lists == 1
    assert not caplog.records


def test_vectors_that_go_unused_for_want_of_an_embedder_are_logged_once(store, caplog):
    embedder = nm.open_embedder("hashing")
    remember(MemoryAccess(store=store, embedder=embedder), "Keeps bees")
    access = MemoryAccess(store=store)
    recall(access, "bees")
    recall(access, "bees")
    (record,) = caplog.records
    assert "no embedder is given" in record.getMessage()
    assert embedder.fingerprint in record.getMessage()
