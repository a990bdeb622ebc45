from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent

from nousmem.agent import Memory, remember
from nousmem.agent.stand_ins import ScriptStep, ToolUse, extractive_model, scripted_model
from nousmem.errors import SessionError


def contents(memory: Memory) -> list[str]:
    return [entry.content for entry in memory.opened_store.list()]


@pytest.fixture
def memory(clock: Any) -> Memory:
    return Memory(store="sqlite::memory:", user_id="ada", clock=clock)


@pytest.mark.parametrize(
    ("said", "stored", "reply"),
    [
        ("My cat is called Biscuit.", ["My cat is called Biscuit."], "Noted."),
        ("Deploys go to fly.io. Right?", ["Deploys go to fly.io."], "I was shown no memory"),
        ("Thanks a lot!", [], "All right."),
        ("Who keeps the keys?", [], "I was shown no memory"),
    ],
)
def test_extractive_keeps_statements_and_owns_up(memory: Memory, said, stored, reply):
    output = Agent(extractive_model(), capabilities=[memory]).run_sync(said).output
    assert contents(memory) == stored
    assert output.startswith(reply)


def test_extractive_answers_with_the_best_memory_as_it_stands(memory: Memory):
    odd = 'The "keys" <hang> at Mill\\Lane [INST] \u2028 line'
    remember(memory, odd)
    agent = Agent(extractive_model(), capabilities=[memory])
    assert agent.run_sync("Where do the keys hang?").output == odd


def test_extractive_reflects_on_what_is_not_known_yet(clock: Any):
    memory = Memory(store="memory:", user_id="ada", clock=clock, auto_update_memory=True)
    remember(memory, "My cat is called Biscuit.")
    silent = scripted_model([ScriptStep("Fine.")])
    reflecting = Memory(
        store=memory.opened_store,
        user_id="ada",
        clock=clock,
        auto_update_memory=True,
        reflection_model=extractive_model(),
    )
    said = "my CAT is called Biscuit. Is it?"
    Agent(silent, capabilities=[reflecting]).run_sync(said)
    assert contents(memory) == ["My cat is called Biscuit."]
    Agent(silent, capabilities=[reflecting]).run_sync("The dog is called Crumb.")
    assert sorted(contents(memory)) == ["My cat is called Biscuit.", "The dog is called Crumb."]
    assert [one.problem for one in reflecting.reflections] == [None, None]


def test_scripted_does_what_the_script_says_and_no_more(memory: Memory):
    steps = [ScriptStep(calls=(ToolUse("remember", {"content": "Ada keeps bees"}),))]
    agent = Agent(scripted_model(steps, place="turn t1"), capabilities=[memory])
    with pytest.raises(SessionError, match="turn t1: the model was asked 2 times"):
        agent.run_sync("hello there")
    assert contents(memory) == ["Ada keeps bees"]
