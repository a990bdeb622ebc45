from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent import Memory, remember

OPEN = "<retrieved_memories>"


class Listener:
    """A model that notes what it is sent, and says what it is told to."""

    def __init__(self, *answers: ModelResponse) -> None:
        self.seen: list[list[ModelMessage]] = []
        self.tools: dict[str, dict[str, Any]] = {}
        self._answers = list(answers)

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(messages)
        self.tools = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
        return self._answers.pop(0) if self._answers else ModelResponse([TextPart("ok")])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> Any:
        self(messages, info)
        yield "ok"

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self, stream_function=self.stream)


def blocks(messages: list[ModelMessage]) -> list[str]:
    return [
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
        and isinstance(part.content, str)
        and part.content.startswith(OPEN)
    ]


def call(name: str, **args: Any) -> ModelResponse:
    return ModelResponse([ToolCallPart(name, args)])


def returned(messages: list[ModelMessage]) -> list[Any]:
    return [
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


@pytest.fixture
def memory(store: nm.Store, clock) -> Memory:
    memory = Memory(store=store, agent_id="assistant", user_id="alice", clock=clock)
    remember(memory, "Prefers dark mode in the editor", importance=0.8)
    return memory


async def by_run(agent: Agent, prompt: str, history: Any) -> list[ModelMessage]:
    return (await agent.run(prompt, message_history=history)).all_messages()


async def by_run_stream(agent: Agent, prompt: str, history: Any) -> list[ModelMessage]:
    async with agent.run_stream(prompt, message_history=history) as result:
        await result.get_output()
        return result.all_messages()


async def by_iter(agent: Agent, prompt: str, history: Any) -> list[ModelMessage]:
    async with agent.iter(prompt, message_history=history) as run:
        async for _ in run:
            pass
    assert run.result is not None
    return run.result.all_messages()


async def by_run_sync(agent: Agent, prompt: str, history: Any) -> list[ModelMessage]:
    def in_a_thread() -> list[ModelMessage]:
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            return agent.run_sync(prompt, message_history=history).all_messages()

    return await asyncio.to_thread(in_a_thread)


@pytest.mark.parametrize("way", [by_run, by_run_stream, by_iter, by_run_sync])
def test_every_way_to_run_shows_memories_and_keeps_them_out_of_history(
    way: Callable[..., Any], memory: Memory
):
    listener = Listener()
    reflecting = Memory(
        store=memory.store,
        agent_id="assistant",
        user_id="alice",
        clock=memory.clock,
        auto_update_memory=True,
        reflection_model=FunctionModel(lambda messages, info: ModelResponse([TextPart("[]")])),
    )
    agent = Agent(listener.model, capabilities=[reflecting])

    async def two_runs() -> list[ModelMessage]:
        first = await way(agent, "Which mode do I want in the editor?", None)
        return await way(agent, "And the dark mode?", first)

    history = asyncio.run(two_runs())
    assert [len(blocks(messages)) for messages in listener.seen] == [1, 1]
    assert blocks(history) == []
    assert len(reflecting.reflections) == 2


def test_the_block_stands_right_before_the_user_s_message(memory: Memory):
    listener = Listener()
    agent = Agent(listener.model, capabilities=[memory], system_prompt="be nice")
    agent.run_sync("Which mode do I want?")
    kinds = [part.part_kind for part in listener.seen[0][0].parts]
    assert kinds == ["system-prompt", "user-prompt", "user-prompt"]
    assert listener.seen[0][0].parts[-1].content == "Which mode do I want?"


def test_first_only_shows_the_same_memories_in_each_request_of_a_run(memory: Memory):
    learnt = call("remember", content="Prefers light mode in the terminal")
    listener = Listener(learnt, call("recall", query="mode"))
    Agent(listener.model, capabilities=[memory]).run_sync("Which mode do I want?")
    shown = [blocks(messages) for messages in listener.seen]
    assert len(shown) == 3
    assert shown[0] == shown[1] == shown[2]
    assert len(shown[0]) == 1
    assert len(memory.injections) == 1


def test_every_iteration_searches_anew_and_shows_one_block(store, clock):
    memory = Memory(store=store, clock=clock, inject_strategy="every_iteration")
    listener = Listener(call("remember", content="Prefers light mode"))
    Agent(listener.model, capabilities=[memory]).run_sync("Which mode do I prefer?")
    assert [len(blocks(messages)) for messages in listener.seen] == [0, 1]
    assert "light mode" in blocks(listener.seen[1])[0]
    assert len(memory.injections) == 2


def test_blocks_do_not_pile_up_over_a_long_conversation(memory: Memory):
    listener = Listener()
    agent = Agent(listener.model, capabilities=[memory])
    history: list[ModelMessage] = []
    for _ in range(50):
        history = agent.run_sync("Which mode do I want?", message_history=history).all_messages()
    assert {len(blocks(messages)) for messages in listener.seen} == {1}
    assert blocks(history) == []
    assert len(history) == 100


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "Hi there!",
        "thanks, great",
        "ok",
        "good morning",
        "??",
        "asdf qwer zxcv",
        "What now?",
    ],
)
@pytest.mark.parametrize("embedder", [None, "hashing"])
def test_small_talk_and_gibberish_show_nothing(store, clock, message, embedder):
    memory = Memory(store=store, embedder=embedder, clock=clock)
    for text in ("Prefers dark mode", "The harbour office opens at nine", "Keeps bees"):
        remember(memory, text, importance=1.0)
    listener = Listener()
    Agent(listener.model, capabilities=[memory]).run_sync(message)
    assert blocks(listener.seen[0]) == []


def test_a_plain_question_shows_its_answer_and_nothing_else(store, clock):
    memory = Memory(store=store, embedder="hashing", clock=clock)
    for text in ("Prefers the dark theme", "The harbour office opens at nine", "Keeps bees"):
        remember(memory, text)
    listener = Listener()
    Agent(listener.model, capabilities=[memory]).run_sync("What theme do I prefer?")
    (block,) = blocks(listener.seen[0])
    assert re.findall(r'^"(.*)"$', block, re.MULTILINE) == ["Prefers the dark theme"]


@pytest.mark.parametrize(
    "question", ["What do you know about me?", "Who am I?", "Do you remember me?"]
)
def test_a_question_about_the_user_shows_what_matters_most(store, clock, question):
    memory = Memory(store=store, user_id="alice", inject_limit=2, clock=clock)
    for text, importance in (("Is called Ada", 0.9), ("Had soup", 0.1), ("Keeps bees", 0.7)):
        remember(memory, text, importance=importance)
    remember(Memory(store=store, user_id="bob"), "Sails", importance=1.0)
    listener = Listener()
    Agent(listener.model, capabilities=[memory]).run_sync(question)
    (block,) = blocks(listener.seen[0])
    assert re.findall(r'^"(.*)"$', block, re.MULTILINE) == ["Is called Ada", "Keeps bees"]


def test_a_search_that_fails_does_not_fail_the_run_and_is_tried_again(broken_store, caplog):
    memory = Memory(store=broken_store)
    listener = Listener(call("recall", query="mode"))
    result = Agent(listener.model, capabilities=[memory]).run_sync("Which mode do I want?")
    assert result.output == "ok"
    assert [one.error for one in memory.injections] == ["OSError: the disk is full"] * 2
    assert returned(listener.seen[1])[0]["status"] == "error"
    assert "disk is full" in caplog.text


def test_a_failing_embedder_is_visible(memory: Memory, broken_embedder):
    degraded = Memory(
        store=memory.store,
        embedder=broken_embedder,
        agent_id="assistant",
        user_id="alice",
        clock=memory.clock,
    )
    listener = Listener()
    Agent(listener.model, capabilities=[degraded]).run_sync("Which mode do I want?")
    assert len(blocks(listener.seen[0])) == 1
    assert "out of memory" in (degraded.injections[0].degraded or "")


def test_a_picture_without_words_leaves_the_last_words(memory: Memory):
    from pydantic_ai.messages import ImageUrl

    listener = Listener()
    agent = Agent(listener.model, capabilities=[memory])
    agent.run_sync(["The editor's mode?", ImageUrl("http://x.test/y.png")])
    assert memory.injections[-1].query == "The editor's mode?"


def test_auto_inject_off_shows_nothing(memory: Memory):
    quiet = Memory(store=memory.store, auto_inject=False)
    listener = Listener()
    Agent(listener.model, capabilities=[quiet]).run_sync("Which mode do I want?")
    assert blocks(listener.seen[0]) == []
    assert set(listener.tools) == {"remember", "recall", "forget"}


def test_schemas_carry_enums_and_ranges():
    listener = Listener()
    Agent(listener.model, capabilities=[Memory(store="memory:")]).run_sync("hello")
    types = ["semantic", "episodic", "procedural"]
    learn = listener.tools["remember"]
    assert learn["required"] == ["content"]
    assert learn["properties"]["type"]["enum"] == types
    assert (
        learn["properties"]["importance"]["minimum"],
        learn["properties"]["importance"]["maximum"],
    ) == (0, 1)
    assert learn["properties"]["evergreen"]["type"] == "boolean"
    assert learn["properties"]["metadata"]["type"] == "object"
    look = listener.tools["recall"]
    assert look["required"] == ["query"]
    assert look["properties"]["type"]["enum"] == types
    assert look["properties"]["limit"]["type"] == "integer"
    assert (look["properties"]["limit"]["minimum"], look["properties"]["limit"]["default"]) == (
        1,
        5,
    )
    assert listener.tools["forget"]["required"] == ["id"]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("remember", {"content": "X", "importance": 5}),
        ("remember", {"content": "X", "type": "banana"}),
        ("remember", {}),
        ("remember", {"content": "X", "user_id": "bob"}),
        ("recall", {"query": "x", "limit": -1}),
        ("recall", {"query": 5}),
        ("forget", {"id": None}),
    ],
)
def test_arguments_outside_the_schema_are_sent_back(memory: Memory, name, args):
    listener = Listener(call(name, **args))
    Agent(listener.model, capabilities=[memory]).run_sync("hello")
    (complaint,) = returned(listener.seen[1])
    assert complaint[0]["loc"]
    assert len(memory.opened_store.list()) == 1


def test_the_tools_work_for_a_model(memory: Memory):
    listener = Listener(call("remember", content="Keeps bees"), call("recall", query="bees"))
    agent = Agent(listener.model, capabilities=[memory])
    result = agent.run_sync("I keep bees")
    learnt, found = returned(result.all_messages())
    assert learnt["status"] == "remembered"
    assert learnt["id"] in [one["id"] for one in found["memories"]]
    stored = memory.opened_store.get(learnt["id"])
    assert (stored.agent_id, stored.user_id, stored.access_count) == ("assistant", "alice", 1)


def test_the_same_thing_twice_in_one_answer_makes_one_entry(store):
    memory = Memory(store=store)
    twice = ModelResponse([ToolCallPart("remember", {"content": "Keeps bees"}) for _ in range(4)])
    Agent(Listener(twice).model, capabilities=[memory]).run_sync("I keep bees")
    assert len(store.list()) == 1


def test_two_memories_of_one_agent_need_names_of_their_own(store):
    one, other = Memory(store=store, id="one"), Memory(store=store, id="other")
    listener = Listener()
    agent = Agent(
        listener.model, capabilities=[one.prefix_tools("one"), other.prefix_tools("other")]
    )
    agent.run_sync("hello")
    assert {"one_recall", "other_recall"} <= set(listener.tools)
    with pytest.raises(UserError, match="conflicts"):
        Agent(listener.model, capabilities=[one, other]).run_sync("hello")


def test_searching_does_not_hold_up_the_event_loop(clock):
    class SlowStore:
        """Takes its time over a search."""

        def __init__(self) -> None:
            inner = nm.open_store("memory:")
            for name in ("put", "get", "update", "delete", "list"):
                setattr(self, name, getattr(inner, name))
            self.searching = threading.Event()
            self.go_on = threading.Event()

        def search_text(self, *args: Any, **options: Any) -> list[Any]:
            self.searching.set()
            assert self.go_on.wait(30)
            return []

    store = SlowStore()
    agent = Agent(Listener().model, capabilities=[Memory(store=store, clock=clock)])

    async def main() -> str:
        run = asyncio.create_task(agent.run("Which mode do I want?"))
        while not store.searching.is_set():
            await asyncio.sleep(0.001)
        store.go_on.set()  # reached only because the loop goes on
        return (await run).output

    assert asyncio.run(main()) == "ok"


def test_runs_of_one_memory_at_once_do_not_meet(memory: Memory):
    remember(memory, "The harbour office opens at nine")
    listener = Listener()
    agent = Agent(listener.model, capabilities=[memory])

    async def main() -> None:
        prompts = ["Which mode for the editor?", "When does the harbour office open?"] * 10
        await asyncio.gather(*(agent.run(prompt) for prompt in prompts))

    asyncio.run(main())
    for messages in listener.seen:
        (block,) = blocks(messages)
        harbour = "harbour" in str(messages[0].parts[-1].content)
        assert ("harbour" in block, "dark mode" in block) == (harbour, not harbour)


@pytest.mark.parametrize(
    "options",
    [
        {"auto_inject": "yes"},
        {"auto_inject": None},
        {"inject_strategy": "always"},
        {"inject_limit": -1},
        {"inject_limit": 2.5},
        {"inject_limit": True},
        {"inject_min_score": float("nan")},
        {"inject_min_score": "high"},
        {"inject_min_words": -0.1},
        {"inject_min_words": "many"},
        {"inject_min_cosine": 2.1},
        {"inject_min_cosine": "x"},
        {"inject_max_tokens": -1},
        {"auto_update_memory": 1},
        {"auto_update_every": 0},
        {"auto_update_every": -2},
        {"reflection_model": 5},
        {"reflection_model": "gpt-4o-mini"},
        {"reflection_model": "opnai:gpt-4o-mini"},
        {"reflection_model": ""},
        {"reflection_max_tokens": 0},
        {"reflection_max_messages": -1},
        {"reflection_max_memories": 1.5},
    ],
)
def test_a_wrong_option_is_refused_by_name(options):
    with pytest.raises(nm.InvalidParameter, match=next(iter(options))):
        Memory(store="memory:", **options)


@pytest.mark.parametrize("name", ["inject_limt", "embedding", "decay_lambda", "store_opts"])
def test_an_unknown_option_is_refused(name: str):
    with pytest.raises(TypeError, match=name):
        Memory(store="memory:", **{name: 1})


def test_run_sync_and_the_tools_work_where_a_loop_is_running(memory: Memory):
    agent = Agent(Listener().model, capabilities=[memory])

    async def cell() -> str:
        # What a notebook does: plain functions are called, agents awaited.
        remember(memory, "Keeps bees")
        assert nm.Search(memory.opened_store)("bees")
        return (await agent.run("hello")).output

    assert asyncio.run(cell()) == "ok"


def test_a_reflection_model_may_be_named_before_there_is_a_key():
    assert Memory(store="memory:", reflection_model="openai:gpt-4o-mini").reflections.maxlen


@pytest.mark.parametrize("tail", [True, False])
def test_a_file_pasted_into_a_message_does_not_hold_up_the_search(memory: Memory, tail: bool):
    """What is asked stands before or after it."""
    pasted = " ".join(f"line{n}" for n in range(200_000))
    asked = "Which mode do I want in the editor?"
    message = f"{pasted} {asked}" if tail else f"{asked} {pasted}"
    listener = Listener()
    Agent(listener.model, capabilities=[memory]).run_sync(message)
    (injection,) = memory.injections
    assert injection.error is None
    assert injection.query == message
    assert injection.ranking is not None
    assert len(injection.ranking.query) < 5000
    assert "mode" in injection.ranking.query


def test_one_agent_serves_many_users_by_a_function(store, clock):
    memories: dict[str, Memory] = {}

    def memory_of(ctx: RunContext[str]) -> Memory:
        if ctx.deps not in memories:
            memories[ctx.deps] = Memory(
                store=store,
                user_id=ctx.deps,
                clock=clock,
                auto_update_memory=True,
                auto_update_every=5,
                reflection_model=FunctionModel(lambda *_: ModelResponse([TextPart("[]")])),
            )
        return memories[ctx.deps]

    users = ("alice", "bob", "carol")
    for user in users:
        remember(Memory(store=store, user_id=user, clock=clock), f"{user} likes the {user} theme")
    listener = Listener()
    agent = Agent(listener.model, deps_type=str, capabilities=[memory_of])

    async def main() -> None:
        await asyncio.gather(*(agent.run(f"{user}: which theme?", deps=user) for user in users * 5))

    asyncio.run(main())
    for messages in listener.seen:
        (block,) = blocks(messages)
        user = str(messages[0].parts[-1].content).partition(":")[0]
        assert re.findall(r"(\w+) likes", block) == [user]
    assert [len(memories[user].reflections) for user in users] == [1, 1, 1]


@dataclass
class Keeper(AbstractCapability[Any]):
    """Puts what a request holds into the history, as whatever shortens it may do."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        ctx.messages[:] = request_context.messages
        return request_context


@pytest.mark.parametrize("other", [ProcessHistory(lambda messages: messages[-4:]), Keeper()])
@pytest.mark.parametrize("memory_first", [True, False])
@pytest.mark.parametrize("way", [by_run, by_run_stream, by_iter])
def test_a_block_stays_out_of_a_history_that_others_rewrite(
    memory: Memory, other: Any, memory_first: bool, way: Callable[..., Any]
):
    listener = Listener()
    capabilities = [memory, other] if memory_first else [other, memory]
    agent = Agent(listener.model, capabilities=capabilities)

    async def conversation() -> list[ModelMessage]:
        history: list[ModelMessage] = []
        for _ in range(3):
            history = await way(agent, "Which mode do I want in the editor?", history)
        return history

    history = asyncio.run(conversation())
    assert [len(blocks(messages)) for messages in listener.seen] == [1, 1, 1]
    # What is read before a stream has ended is not cleaned yet, and left out of the next request.
    assert len(blocks(history)) <= (way is by_run_stream and isinstance(other, Keeper)) * 3


def test_one_block_a_request_where_others_keep_it(memory: Memory):
    listener = Listener(call("recall", query="mode"), call("recall", query="editor"))
    Agent(listener.model, capabilities=[memory, Keeper()]).run_sync("Which mode do I want?")
    assert [len(blocks(messages)) for messages in listener.seen] == [1, 1, 1]
