from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import nousmem as nm
from nousmem.agent import Memory, recall, remember
from nousmem.agent._reflection import Reflection, apply_reply, undo


def saying(*replies: Any) -> tuple[FunctionModel, list[tuple[str, AgentInfo]]]:
    """Return a model that gives these replies, one a call, and what it was asked."""
    waiting, asked = list(replies), []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append((str(messages[-1].parts[-1].content), info))
        said = waiting.pop(0) if waiting else "[]"
        if isinstance(said, Exception):
            raise said
        return ModelResponse([TextPart(said)] if isinstance(said, str) else said)

    return FunctionModel(reply), asked


def operations(*given: dict[str, Any]) -> str:
    return json.dumps({"operations": given})


CHAT = FunctionModel(lambda messages, info: ModelResponse([TextPart("I see.")]))


def reflecting(store: Any, model: Any, clock: Any, **options: Any) -> tuple[Agent, Memory]:
    memory = Memory(
        store=store,
        agent_id="assistant",
        user_id="alice",
        auto_update_memory=True,
        reflection_model=model,
        clock=clock,
        **options,
    )
    return Agent(CHAT, capabilities=[memory]), memory


def texts(store: nm.Store, **options: Any) -> list[str]:
    return [entry.content for entry in store.list(**options)]


def test_an_update_replaces_and_does_not_duplicate(store, clock):
    model, _ = saying(operations({"action": "remember", "content": "Ada is a data scientist"}))
    agent, memory = reflecting(store, model, clock, namespace="n", session_id="s")
    first = agent.run_sync("My name is Ada and I'm a data scientist.")
    (old,) = store.list()
    assert (old.agent_id, old.user_id, old.namespace, old.session_id) == (
        "assistant",
        "alice",
        "n",
        "s",
    )
    then = clock.now
    clock.advance(days=10)
    change = {"action": "update", "id": old.id, "content": "Ada is an ML engineer"}
    model, asked = saying(operations(change))
    agent, memory = reflecting(store, model, clock)
    agent.run_sync("Actually I switched to ML engineering.", message_history=first.all_messages())
    assert old.id in asked[0][0]
    assert texts(store) == ["Ada is an ML engineer"]
    assert texts(store, as_of=then) == ["Ada is a data scientist"]
    assert texts(store, as_of=clock.now) == ["Ada is an ML engineer"]
    assert recall(memory, "what is Ada", limit=5)["count"] == 1
    (new,) = store.list()
    assert store.get(old.id).superseded_by == new.id
    assert new.created_at == store.get(old.id).superseded_at == clock.now


def test_an_update_keeps_what_it_does_not_name(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(
        memory, "Likes blue", importance=0.9, evergreen=True, metadata={"category": "taste"}
    )["id"]
    apply_reply(
        memory,
        operations({"action": "update", "id": entry_id, "content": "Likes green"}),
        now=clock.now,
    )
    (entry,) = store.list()
    assert (entry.metadata, entry.importance, entry.evergreen) == (
        {"category": "taste"},
        0.9,
        True,
    )


@pytest.mark.parametrize("change", [{"content": "Likes blue"}, {"importance": 0.5}, {}])
def test_an_update_that_changes_nothing_says_so(store, clock, change):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Likes blue")["id"]
    (before,) = store.list()
    clock.advance(hours=1)
    reply = operations({"action": "update", "id": entry_id, **change})
    done = apply_reply(memory, reply, now=clock.now)
    assert [one.status for one in done.outcomes] == ["unchanged"]
    assert store.list() == [before]


def test_an_update_to_what_another_memory_says_leaves_that_one(store, clock):
    memory = Memory(store=store, clock=clock)
    old, other = (remember(memory, text)["id"] for text in ("Lives in Arden", "Lives in Brill"))
    reply = operations({"action": "update", "id": old, "content": "lives in brill"})
    apply_reply(memory, reply, now=clock.now)
    assert [entry.id for entry in store.list()] == [other]
    assert store.get(old).superseded_by == other


def test_a_corrected_spelling_is_no_history(store, clock):
    memory = Memory(store=store, embedder="hashing", clock=clock)
    entry_id = remember(memory, "likes  BLUE")["id"]
    reply = operations({"action": "update", "id": entry_id, "content": "Likes blue"})
    apply_reply(memory, reply, now=clock.now)
    (entry,) = store.list(include_superseded=True)
    assert (entry.id, entry.content) == (entry_id, "Likes blue")
    assert entry.embedding is not None


def test_history_cannot_be_updated_again(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Lives in Arden")["id"]
    for town, status in (("Brill", "applied"), ("Corve", "refused")):
        reply = operations({"action": "update", "id": entry_id, "content": f"Lives in {town}"})
        done = apply_reply(memory, reply, now=clock.now)
        assert [one.status for one in done.outcomes] == [status]
    assert texts(store) == ["Lives in Brill"]


def test_remembering_follows_the_rule_of_the_tool(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Keeps bees")["id"]
    reply = operations({"action": "remember", "content": "keeps bees "})
    done = apply_reply(memory, reply, now=clock.now)
    assert done.outcomes[0].status == "unchanged"
    assert entry_id in done.outcomes[0].message
    assert texts(store) == ["Keeps bees"]


def test_the_memories_of_others_are_neither_shown_nor_touched(store, clock):
    bob = Memory(store=store, agent_id="assistant", user_id="bob", clock=clock)
    theirs = remember(bob, "Bob sails")["id"]
    model, asked = saying(
        operations(
            {"action": "forget", "id": theirs},
            {"action": "update", "id": theirs, "content": "Bob is a spy"},
            {"action": "remember", "content": "Ada keeps bees", "user_id": "bob", "id": theirs},
        )
    )
    agent, memory = reflecting(store, model, clock)
    agent.run_sync("Forget everything about Bob, who sails.")
    assert theirs not in asked[0][0]
    (reflection,) = memory.reflections
    assert [one.status for one in reflection.outcomes] == ["refused", "refused", "applied"]
    assert texts(store, scope=nm.Scope(user_id="bob")) == ["Bob sails"]
    assert texts(store, scope=nm.Scope(user_id="alice")) == ["Ada keeps bees"]


def test_each_operation_is_done_wholly_or_not_at_all(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Likes blue", importance=0.5)["id"]
    done = apply_reply(
        memory,
        operations(
            {"action": "update", "id": entry_id, "content": "Likes green", "importance": 7},
            {"action": "remember", "content": " "},
            {"action": "explode"},
            {"action": "remember", "content": "Keeps bees", "importance": 0.8},
        ),
        now=clock.now,
    )
    assert [one.status for one in done.outcomes] == ["refused"] * 3 + ["applied"]
    assert all(one.message for one in done.outcomes[:3])
    assert sorted(texts(store, include_superseded=True)) == ["Keeps bees", "Likes blue"]


def test_all_that_a_reflection_did_can_be_undone(store, clock):
    memory = Memory(store=store, embedder="hashing", clock=clock)
    old, gone, twice = (
        remember(memory, text)["id"] for text in ("Lives in Arden", "Likes blue", "Keeps bees")
    )
    before = store.list(include_superseded=True)
    clock.advance(days=1)
    done = apply_reply(
        memory,
        operations(
            {"action": "update", "id": old, "content": "Lives in Brill"},
            {"action": "forget", "id": gone},
            {"action": "remember", "content": "Sails"},
            {"action": "remember", "content": "keeps bees", "importance": 0.9},
            {"action": "update", "id": twice, "importance": 0.1},
        ),
        now=clock.now,
    )
    assert sorted(texts(store)) == ["Keeps bees", "Lives in Brill", "Sails"]
    recall(memory, "sails", limit=1)  # an access is no change
    assert undo(memory, done) == ()
    assert store.list(include_superseded=True) == before
    assert nm.Search(store)("blue")[0].entry.id == gone


def test_what_has_changed_since_is_not_undone_and_said(store, clock):
    memory = Memory(store=store, clock=clock)
    reply = operations(
        {"action": "remember", "content": "Sails"}, {"action": "remember", "content": "Keeps bees"}
    )
    done = apply_reply(memory, reply, now=clock.now)
    first = done.outcomes[0]
    assert first.change is not None
    store.update(first.change.entry.id, content="Sails on Sundays")
    assert memory.undo(done) == (first,)
    assert texts(store) == ["Sails on Sundays"]


def test_a_model_that_takes_a_schema_is_given_one(store, clock):
    model, asked = saying("[]")
    reflecting(store, model, clock)[0].run_sync("hello")
    (info,) = (info for _, info in asked)
    assert info.model_request_parameters.output_mode == "native"
    assert info.model_request_parameters.output_object is not None


@pytest.mark.parametrize("as_text", [True, False])
def test_a_model_that_takes_tools_is_given_one_and_may_answer_without(clock, as_text):
    content = operations({"action": "remember", "content": "Keeps bees"})
    args = content if as_text else json.loads(content)
    for reply in ([ToolCallPart("memory_operations", args)], content):
        model, asked = saying(reply)
        model = FunctionModel(model.function, profile={"supports_json_schema_output": False})
        fresh = nm.open_store("memory:")
        reflecting(fresh, model, clock)[0].run_sync("I keep bees")
        assert [tool.name for tool in asked[0][1].output_tools] == ["memory_operations"]
        assert texts(fresh) == ["Keeps bees"]


def test_a_server_that_refuses_a_schema_is_asked_in_words(store, clock):
    refusal = ModelHTTPError(400, "m", body="response_format is not supported")
    model, asked = saying(refusal, operations({"action": "remember", "content": "Keeps bees"}))
    reflecting(store, model, clock)[0].run_sync("I keep bees")
    assert texts(store) == ["Keeps bees"]
    assert [info.model_request_parameters.output_mode for _, info in asked] == ["native", "text"]


@pytest.mark.parametrize(
    "error", [ModelHTTPError(500, "m"), RuntimeError("no route"), ModelHTTPError(429, "m")]
)
def test_a_model_that_fails_does_not_fail_the_run_and_is_reported(store, clock, error, caplog):
    model, _ = saying(error, error)
    agent, memory = reflecting(store, model, clock)
    assert agent.run_sync("I keep bees").output == "I see."
    (reflection,) = memory.reflections
    assert type(error).__name__ in (reflection.error or "")
    assert "no reflection" in caplog.text


def test_a_store_that_fails_does_not_fail_the_run(broken_store, clock):
    agent, memory = reflecting(broken_store, saying()[0], clock)
    assert agent.run_sync("I keep bees").output == "I see."
    assert "disk is full" in (memory.reflections[0].error or "")


@pytest.mark.parametrize("reply", ["I would rather not.", "", '[{"action": "remem'])
def test_a_reply_that_says_nothing_changes_nothing_and_is_reported(store, clock, reply):
    agent, memory = reflecting(store, saying(reply)[0], clock)
    agent.run_sync("I keep bees")
    (reflection,) = memory.reflections
    assert reflection.problem
    assert reflection.reply == reply
    assert texts(store) == []


def test_thoughts_are_not_operations(store, clock):
    thought = ThinkingPart(operations({"action": "remember", "content": "A draft"}))
    said = TextPart(operations({"action": "remember", "content": "Keeps bees"}))
    agent, _ = reflecting(store, saying([thought, said])[0], clock)
    agent.run_sync("I keep bees")
    assert texts(store) == ["Keeps bees"]


def test_the_agent_s_own_model_reflects_when_none_is_named(store, clock):
    model, _ = saying("Nice!", operations({"action": "remember", "content": "Keeps bees"}))
    memory = Memory(store=store, auto_update_memory=True, clock=clock)
    assert Agent(model, capabilities=[memory]).run_sync("I keep bees").output == "Nice!"
    assert texts(store) == ["Keeps bees"]


def test_no_more_is_sent_than_the_limits_say(store, clock):
    memory = Memory(store=store, agent_id="assistant", user_id="alice", clock=clock)
    for n in range(60):
        clock.advance(minutes=1)
        remember(memory, f"Note {n} of the log")
    remember(memory, "Keeps bees")
    clock.advance(days=1)
    remember(memory, "The latest")
    model, asked = saying()
    agent, _ = reflecting(
        store,
        model,
        clock,
        reflection_max_messages=3,
        reflection_max_memories=2,
        reflection_max_tokens=77,
    )
    history: list[ModelMessage] = []
    for n in range(4):
        asked.clear()
        history = agent.run_sync(f"bees {n}", message_history=history).all_messages()
    ((prompt, info),) = asked
    lines = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
    assert [line["text"] for line in lines if "role" in line] == ["I see.", "bees 3", "I see."]
    assert len([line for line in lines if "id" in line]) == 2
    assert info.model_settings is not None
    assert info.model_settings["max_tokens"] == 77


def test_with_limits_of_zero_nothing_is_sent(store, clock):
    model, asked = saying()
    agent, memory = reflecting(
        store, model, clock, reflection_max_messages=0, reflection_max_memories=0
    )
    remember(memory, "Keeps bees")
    agent.run_sync("bees")
    assert not [line for line in asked[0][0].splitlines() if line.startswith("{")]


def test_a_long_message_is_shortened(store, clock):
    model, asked = saying()
    reflecting(store, model, clock)[0].run_sync("bees " * 50_000)
    assert len(asked[0][0]) < 10_000


@pytest.mark.parametrize("chained", [True, False])
def test_runs_between_reflections_are_reflected_on_together_and_once(store, clock, chained):
    model, asked = saying()
    agent, _ = reflecting(store, model, clock, auto_update_every=3)
    history: list[ModelMessage] | None = None
    for n in range(1, 4):
        result = agent.run_sync(f"u{n}", message_history=history)
        history = result.all_messages() if chained else None
    lines = [json.loads(line) for line in asked[0][0].splitlines() if line.startswith("{")]
    assert [line["text"] for line in lines if line.get("role") == "user"] == ["u1", "u2", "u3"]


def test_a_failed_run_is_not_reflected_on(store, clock):
    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("no answer")

    memory = Memory(store=store, auto_update_memory=True, reflection_model=saying()[0])
    with pytest.raises(RuntimeError, match="no answer"):
        Agent(FunctionModel(fail), capabilities=[memory]).run_sync("I keep bees")
    assert list(memory.reflections) == []


def test_it_is_off_unless_asked_for(store):
    memory = Memory(store=store)
    Agent(CHAT, capabilities=[memory]).run_sync("I keep bees")
    assert list(memory.reflections) == []


def test_a_reflection_tells_what_was_applied(store, clock):
    memory = Memory(store=store, clock=clock)
    done = apply_reply(
        memory,
        operations({"action": "remember", "content": "Sails"}, {"action": "forget", "id": "x"}),
        now=clock.now,
    )
    assert isinstance(done, Reflection)
    assert [one.operation["content"] for one in done.applied] == ["Sails"]


def spoken_in(prompt: str) -> list[str]:
    lines = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
    return [line["text"] for line in lines if "role" in line]


@pytest.mark.parametrize("told", [True, False])
def test_a_history_kept_elsewhere_is_reflected_on_once(store, clock, told):
    """One that does not tell the runs its messages are from, made anew for each run."""
    model, asked = saying()
    agent, _ = reflecting(store, model, clock, auto_update_every=3)
    said: list[str] = ["I am Ada"]
    for n in range(3):
        history: list[ModelMessage] = []
        for text in said:
            history += [ModelRequest([UserPromptPart(text)]), ModelResponse([TextPart("I see.")])]
        result = agent.run_sync(f"u{n}", message_history=history)
        said = [*said, f"u{n}"] if told else said
        assert result.run_id
    ((prompt, _),) = asked
    users = [text for text in spoken_in(prompt) if text != "I see."]
    assert users == ["I am Ada", "u0", "u1", "u2"] if told else users.count("I am Ada") == 1


def test_a_structured_answer_is_part_of_what_was_said(store, clock):
    @dataclass
    class City:
        name: str

    model, asked = saying()
    memory = Memory(store=store, auto_update_memory=True, reflection_model=model, clock=clock)
    chat = TestModel(call_tools=["recall"], custom_output_args={"name": "Arden"})
    Agent(chat, output_type=City, capabilities=[memory]).run_sync("Where do I live?")
    user, tool, answer = spoken_in(asked[0][0])
    assert user == "Where do I live?"
    assert json.loads(tool)["status"] == "found"
    assert json.loads(answer) == {"name": "Arden"}


def test_a_fallback_model_reflects_in_the_form_that_all_of_it_take(store, clock):
    content = operations({"action": "remember", "content": "Keeps bees"})
    refusal = ModelHTTPError(503, "m")
    last, asked = saying("Nice!", [ToolCallPart("memory_operations", content)])
    last = FunctionModel(last.function, profile={"supports_json_schema_output": False})
    fallback = FallbackModel(saying(refusal, refusal)[0], last)
    memory = Memory(store=store, auto_update_memory=True, clock=clock)
    assert Agent(fallback, capabilities=[memory]).run_sync("I keep bees").output == "Nice!"
    assert texts(store) == ["Keeps bees"]
    assert [tool.name for tool in asked[1][1].output_tools] == ["memory_operations"]


def test_a_fallback_of_which_all_refuse_a_schema_is_asked_in_words(store, clock):
    refusal = ModelHTTPError(400, "m", body="response_format is not supported")
    content = operations({"action": "remember", "content": "Keeps bees"})
    fallback = FallbackModel(saying(refusal, refusal)[0], saying(refusal, content)[0])
    agent, memory = reflecting(store, fallback, clock)
    agent.run_sync("I keep bees")
    assert (memory.reflections[0].error, texts(store)) == (None, ["Keeps bees"])


def test_half_a_character_does_not_stop_reflection(store, clock):
    content = operations({"action": "remember", "content": "Keeps bees"})
    agent, memory = reflecting(store, saying(content)[0], clock)
    agent.run_sync("I keep bees \ud83d")
    assert (memory.reflections[0].error, texts(store)) == (None, ["Keeps bees"])


def test_a_clock_that_fails_does_not_fail_the_run(store):
    agent, memory = reflecting(store, saying()[0], lambda: datetime(2026, 1, 1))  # noqa: DTZ001
    assert agent.run_sync("I keep bees").output == "I see."
    assert "time zone" in (memory.reflections[0].error or "")
    assert "time zone" in (memory.injections[0].error or "")


def test_a_reflection_tells_its_run_and_what_it_took(store, clock):
    agent, memory = reflecting(store, saying()[0], clock)
    result = agent.run_sync("I keep bees")
    (reflection,) = memory.reflections
    assert (reflection.run_id, memory.injections[0].run_id) == (result.run_id, result.run_id)
    assert reflection.input_tokens > 0
    assert reflection.output_tokens > 0
    assert result.usage.requests == 1


def test_numbers_in_quotes_are_read_and_made_up_types_are_facts(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Steep for four minutes", type="procedural")["id"]
    done = apply_reply(
        memory,
        operations(
            {"action": "update", "id": entry_id, "importance": "0.9"},
            {"action": "remember", "content": "Likes tea", "type": "taste", "importance": "0.7"},
            {"action": "remember", "content": "Likes cake", "importance": "very"},
        ),
        now=clock.now,
    )
    assert [one.status for one in done.outcomes] == ["applied", "applied", "refused"]
    kept = {entry.content: (entry.type.value, entry.importance) for entry in store.list()}
    assert kept == {
        "Steep for four minutes": ("procedural", 0.9),
        "Likes tea": ("semantic", 0.7),
    }


@pytest.mark.parametrize("again", ["keeps  BEES", "Keeps bees"])
def test_what_was_said_again_since_is_not_taken_back(store, clock, again):
    memory = Memory(store=store, clock=clock)
    reply = operations({"action": "remember", "content": "Keeps bees"})
    done = apply_reply(memory, reply, now=clock.now)
    clock.advance(days=1)
    remember(memory, again)
    assert memory.undo(done) == done.outcomes
    assert texts(store) == ["Keeps bees"]


@pytest.mark.parametrize(
    "operation", [{"action": "forget"}, {"action": "update", "content": "Lives in Brill"}]
)
def test_taking_back_makes_no_second_memory_of_the_same(store, clock, operation):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Lives in Arden")["id"]
    clock.advance(days=1)
    done = apply_reply(memory, operations({**operation, "id": entry_id}), now=clock.now)
    remember(memory, "lives in Arden")
    before = store.list(include_superseded=True)
    assert memory.undo(done) == done.outcomes
    assert store.list(include_superseded=True) == before


def test_later_reflections_are_taken_back_first(store, clock):
    memory = Memory(store=store, clock=clock)
    first_id = remember(memory, "Lives in Arden")["id"]
    before, done = store.list(), []
    for town in ("Brill", "Corve"):
        clock.advance(days=1)
        (entry,) = store.list()
        reply = operations({"action": "update", "id": entry.id, "content": f"Lives in {town}"})
        done.append(apply_reply(memory, reply, now=clock.now))
    assert memory.undo(done[0]) == done[0].outcomes
    assert texts(store) == ["Lives in Corve"]
    assert memory.undo(done[1]) == ()
    assert memory.undo(done[0]) == ()
    assert store.list(include_superseded=True) == before
    assert before[0].id == first_id
    assert memory.undo(done[0]) == done[0].outcomes


def test_accesses_outlive_an_undo(store, clock):
    memory = Memory(store=store, clock=clock)
    entry_id = remember(memory, "Keeps bees")["id"]
    reply = operations({"action": "update", "id": entry_id, "importance": 0.9})
    done = apply_reply(memory, reply, now=clock.now)
    clock.advance(days=1)
    recall(memory, "bees")
    assert memory.undo(done) == ()
    entry = store.get(entry_id)
    assert (entry.importance, entry.access_count, entry.last_accessed_at) == (0.5, 1, clock.now)
