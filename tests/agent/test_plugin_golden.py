"""What the original's plugin shows and does, case by case; where ours differ is said."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent import Memory, UnreachableThresholdWarning
from nousmem.agent._reflection import apply_reply

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "plugin.json").read_text(encoding="utf-8")
)

NOT_AN_OPTION = {
    "auto_inject truthy but not true": "refused: True or False",
    "inject_limit nil -> 5": "refused: a whole number",
    "no messages": "a run has a message",
}
OUT_OF_REACH = {"inject_min_score 0.99"}
INJECTIONS = [case for case in GOLDEN["inject"] if case["name"] not in NOT_AN_OPTION]


def as_messages(given: list[dict[str, str]]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    for one in given:
        content = one["content"]
        match one["role"]:
            case "assistant":
                messages.append(ModelResponse([TextPart(content), ToolCallPart("look", {}, "c1")]))
            case "tool":
                messages.append(ModelRequest([ToolReturnPart("look", content, "c1")]))
            case "system":
                messages.append(ModelRequest([SystemPromptPart(content)]))
            case _ if content == "<non-string>":
                messages.append(ModelRequest([UserPromptPart([ImageUrl("http://x.test/y.png")])]))
            case _:
                messages.append(ModelRequest([UserPromptPart(content)]))
    return messages


def options_of(config: dict[str, Any]) -> dict[str, Any]:
    options = dict(config)
    weights = options.pop("scoring_weights", {})
    options["scoring"] = nm.Scoring(**{f"w_{name}": value for name, value in weights.items()})
    return options


@pytest.mark.parametrize("case", INJECTIONS, ids=[case["name"] for case in INJECTIONS])
def test_what_is_shown_is_what_the_original_shows(case: dict[str, Any]):
    store = nm.open_store("memory:")
    seed = GOLDEN["meta"]["seed"] if case["store"] == "seed" else case["store"]
    store.put(nm.Entry(**one, created_at=NOON) for one in seed)
    before = store.list()
    options = options_of(case["config"])
    if case["messages_in"] == [{"role": "user", "content": "hello"}]:
        # A greeting asks for nothing, unless no evidence is asked for.
        options |= {"inject_min_words": 0, "inject_min_cosine": -1}
    warned = case["name"] in OUT_OF_REACH
    with pytest.warns(UnreachableThresholdWarning) if warned else nullcontext():
        memory = Memory(store=store, clock=lambda: NOON, **options)
    Agent(
        FunctionModel(lambda messages, info: ModelResponse([TextPart("ok")])), capabilities=[memory]
    ).run_sync(None, message_history=as_messages(case["messages_in"]))
    expected = [one for block in case["messages_added"] for one in block["injected"]]
    shown = [hit for one in memory.injections for hit in (one.block.shown if one.block else ())]
    # The original writes the id with its markup stripped.
    ids = ["".join(c for c in hit.entry.id if c not in '<>"') for hit in shown]
    assert ids == [one["id"] for one in expected]
    assert [hit.entry.content.strip() for hit in shown] == [one["content"] for one in expected]
    assert [f"{round(hit.score, 3):g}" for hit in shown] == [one["score"] for one in expected]
    assert store.list() == before


def test_the_defaults_are_the_original_s():
    memory = Memory(store="memory:")
    defaults = {k: v for k, v in GOLDEN["init_defaults"].items() if not k.startswith("_")}
    # The document says 500 where the original has 1000.
    assert defaults.pop("reflection_max_tokens") == 1000
    assert memory.reflection_max_tokens == 500
    assert memory.scoring.decay_lambda == defaults.pop("decay_lambda")
    assert {name: getattr(memory, name) for name in defaults} == defaults


@pytest.mark.parametrize(
    "case",
    [case for case in GOLDEN["after_run"] if case["auto_update_every"] is not None],
    ids=lambda case: f"every {case['auto_update_every']}",
)
def test_reflection_is_due_when_the_original_s_is(case: dict[str, Any]):
    memory = Memory(
        store="memory:", auto_update_memory=True, auto_update_every=case["auto_update_every"]
    )
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse([TextPart("[]")])),
        capabilities=[memory],
    )
    for run in case["runs"]:
        before = len(memory.reflections)
        agent.run_sync("Keeps bees")
        assert (len(memory.reflections) > before) == run["reflected"], run


READ_ALL_THE_SAME = {
    "fence uppercase JSON",
    "fence jsonc",
    "tilde fence",
    "prose before the fence",
    "prose after the fence",
    "prose around bare array",
    "leading BOM",
    "think block before",
    "two fenced blocks",
    "object instead of array",
    "object with operations key",
    "trailing comma",
    "single quotes",
    "truncated",
}
REFUSED_AT_THE_DOOR = {
    "NaN importance",
    "remember content empty string",
    "remember content number",
    "remember content object",
    "remember importance 9",
    "remember importance string",
    "update empty content",
    "update another user's entry",
    "forget another user's entry",
}
KEPT_AS_HISTORY = {"update content", "update all"}
NO_CHANGE = {"update nothing but id", "update importance null"}


@pytest.fixture
def memory() -> Memory:
    store = nm.open_store("memory:")
    mine = {"agent_id": "assistant", "user_id": "alice", "created_at": NOON}
    store.put(
        [
            nm.Entry("User likes blue", id="m1", **mine),
            nm.Entry("Deploy steps", id="m2", type="procedural", **mine),
            nm.Entry("Bob's note", id="b1", **{**mine, "user_id": "bob"}),
        ]
    )
    return Memory(
        store=store,
        agent_id="assistant",
        user_id="alice",
        session_id="s",
        namespace="n",
        clock=lambda: NOON,
    )


@pytest.mark.parametrize("case", GOLDEN["reflection"], ids=lambda case: case["name"])
def test_a_reply_does_what_it_does_to_the_original(case: dict[str, Any], memory: Memory):
    store, name = memory.opened_store, case["name"]
    before = {entry.id: entry for entry in store.list()}
    reflection = apply_reply(memory, case["response"], now=NOON)
    after = {entry.id: entry for entry in store.list()}
    added = [after[i] for i in after.keys() - before.keys()]
    removed = sorted(before.keys() - after.keys())
    changed = {i: after[i] for i in before.keys() & after.keys() if before[i] != after[i]}
    if name in READ_ALL_THE_SAME:
        assert [entry.content for entry in added] == ["X"]
    elif name in REFUSED_AT_THE_DOOR:
        assert after == before
        assert [bool(one.message) for one in reflection.outcomes if one.status == "refused"]
    elif name in NO_CHANGE:
        assert after == before
        assert [one.status for one in reflection.outcomes] == ["unchanged"]
    elif name in KEPT_AS_HISTORY:
        (expected,), (new,) = case["changed"], added
        assert removed == [expected["id"]]
        assert store.get(expected["id"]).superseded_by == new.id
        for field in ("content", "importance", "type"):
            assert getattr(new, field) == expected[field]
    elif name == "remember duplicates allowed":
        assert [entry.content for entry in added] == ["X"]
    elif name == "id with brackets as shown in the prompt":
        assert reflection.outcomes[0].status == "refused"
    else:
        assert removed == case["removed"]
        assert changed.keys() == {one["id"] for one in case["changed"]}
        for one in case["changed"]:
            for field in ("content", "importance", "type"):
                assert getattr(changed[one["id"]], field) == one[field]
        assert len(added) == len(case["added"])
        for entry, expected in zip(added, case["added"], strict=True):
            for field in set(expected) - {"id_is_hex"}:
                assert getattr(entry, field) == expected[field], field


def test_what_is_sent_for_reflection(memory: Memory):
    asked: list[tuple[list[ModelMessage], AgentInfo]] = []

    def reflect(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append((messages, info))
        return ModelResponse([TextPart("[]")])

    memory = Memory(
        store=memory.store,
        agent_id="assistant",
        user_id="alice",
        auto_update_memory=True,
        reflection_model=FunctionModel(reflect),
    )
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse([TextPart("a2")])),
        capabilities=[memory],
        system_prompt="be nice",
    )
    history = as_messages(
        [
            {"role": "user", "content": "u1"},
            {"role": "assistant", "content": "a1"},
            {"role": "tool", "content": "tool out"},
        ]
    )
    agent.run_sync("u2", message_history=history)
    ((messages, info),) = asked
    system, prompt = messages[0].parts
    assert isinstance(system, SystemPromptPart)
    assert isinstance(prompt, UserPromptPart)
    lines = [json.loads(line) for line in str(prompt.content).splitlines() if line[0] == "{"]
    said = [(line["role"], line["text"]) for line in lines if "role" in line]
    assert said == [
        ("user", "u1"),
        ("assistant", "a1"),
        ("tool", "tool out"),
        ("user", "u2"),
        ("assistant", "a2"),
    ]
    assert {line["id"] for line in lines if "id" in line} == {"m1", "m2"}
    assert info.model_settings is not None
    assert info.model_settings["temperature"] == 0.0
    assert info.model_settings["max_tokens"] == 500
