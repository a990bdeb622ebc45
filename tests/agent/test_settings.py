"""What was measured is what an agent runs: settings, thresholds, evidence, explanations."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from mcp.client import Client
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent import Memory, MemoryAccess, UnreachableThresholdWarning, recall, remember
from nousmem.agent._relevance import find_relevant
from nousmem.agent._toolset import memory_toolset
from nousmem.agent.mcp_server import FixedAccess, memory_server
from nousmem.retrieval.legs import LegRequest

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
SILENT = nm.Scoring(w_relevance=0.3, w_importance=0.02)
"""Under which no memory reaches the documented least score: the highest is 0.32."""


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart("ok")])


def injected(memory: Memory, message: str) -> Any:
    """Return the record of the one search that a run makes."""
    Agent(FunctionModel(answer), capabilities=[memory]).run_sync(message)
    (record,) = memory.injections
    return record


@pytest.fixture
def hives() -> nm.Store:
    store = nm.open_store("sqlite::memory:")
    store.put(
        [
            nm.Entry("The user keeps bees on the roof", id="bees", created_at=NOON),
            nm.Entry("The roof is mended every spring", id="roof", created_at=NOON),
            nm.Entry("Sails on Sundays", id="sails", created_at=NOON),
        ]
    )
    return store


class TestSettings:
    @pytest.mark.parametrize("kind", [MemoryAccess, Memory])
    def test_they_are_taken_as_a_whole_or_in_part(self, kind: type[MemoryAccess]):
        whole = nm.Settings(
            retrieval=nm.Retrieval(depth=7),
            scoring=nm.Scoring(half_life_days=90),
            injection=nm.Injection(inject_limit=2),
        )
        access = kind(store="memory:", settings=whole)
        assert access.settings == access.settings_in_force == whole
        assert access.scoring == whole.scoring
        other = kind(store="memory:", settings=whole, scoring=nm.Scoring(rrf_k=5))
        assert other.settings == whole.replace(scoring=nm.Scoring(rrf_k=5))
        assert kind(store="memory:").settings == nm.Settings()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"settings": nm.Scoring()}, "give it as scoring="),
            ({"settings": "best.toml"}, "Settings.from_toml"),
            ({"scoring": {"decay_lambda": 0}}, "scoring must be a Scoring"),
            ({"embedder_seconds": 0}, "embedder_seconds"),
            ({"recall_evidence": 1}, "recall_evidence"),
            ({"explain_recall": "yes"}, "explain_recall"),
        ],
    )
    def test_something_else_is_refused_by_name(self, options: dict[str, Any], message: str):
        with pytest.raises(nm.InvalidParameter, match=message):
            MemoryAccess(store="memory:", **options)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (nm.Settings(retrieval=nm.Retrieval(legs=["vector"])), "needs an embedder"),
            (nm.Settings(scoring=nm.Scoring(w_text=0)), "w_text=0.*an embedder"),
        ],
    )
    def test_what_could_never_find_anything_is_refused(self, settings: nm.Settings, message: str):
        with pytest.raises(nm.InvalidParameter, match=message):
            MemoryAccess(store="memory:", settings=settings)
        MemoryAccess(store="memory:", embedder="hashing", settings=settings)

    def test_thresholds_are_those_of_the_settings_unless_given(self):
        given = nm.Injection(inject_limit=2, inject_min_score=0.1, inject_min_words=0.6)
        memory = Memory(store="memory:", settings=nm.Settings(injection=given))
        assert {name: getattr(memory, name) for name in given.to_dict()} == given.to_dict()
        over = {"inject_limit": 9, "inject_min_words": 0}
        memory = Memory(store="memory:", settings=nm.Settings(injection=given), **over)
        assert memory.settings_in_force.injection == given.replace(**over)
        in_force = (memory.inject_limit, memory.inject_min_score, memory.inject_min_words)
        assert in_force == (9, 0.1, 0)

    def test_the_thresholds_in_force_decide_what_is_shown(self, hives: nm.Store, clock):
        settings = nm.Settings(injection=nm.Injection(inject_limit=1))
        record = injected(Memory(store=hives, clock=clock, settings=settings), "bees on the roof?")
        assert [hit.entry.id for hit in record.block.shown] == ["bees"]
        assert record.ranking.settings == settings

    def test_settings_of_another_embedder_are_told_once(self, hives: nm.Store, clock, caplog):
        settings = nm.Settings(embedder="minilm:384")
        for _ in range(3):
            access = MemoryAccess(store=hives, clock=clock, settings=settings)
            assert recall(access, "bees")["count"]
            assert recall(access, "bees")["count"]
        told = [one.message for one in caplog.records if "minilm:384" in one.message]
        assert len(told) == 1
        assert "'none'" in told[0]

    def test_more_may_be_shown_than_is_read_by_default(self, store: nm.Store, clock):
        store.put(nm.Entry(f"bees {at}", id=f"{at:02}", created_at=NOON) for at in range(50))
        memory = Memory(store=store, clock=clock, inject_limit=45, inject_max_tokens=10_000)
        assert len(injected(memory, "bees").block.shown) == 45
        shallow = memory.settings_in_force.replace(depth=20)
        memory = Memory(store=store, clock=clock, settings=shallow)
        assert len(injected(memory, "bees").block.shown) == 20


class TestThresholdOutOfReach:
    def test_it_is_told_when_the_memory_is_made(self, hives: nm.Store, clock):
        with pytest.warns(UnreachableThresholdWarning, match=r"is 0\.3, .* above 0\.32") as warned:
            memory = Memory(store=hives, clock=clock, scoring=SILENT)
        assert warned[0].filename == __file__
        assert injected(memory, "bees on the roof?").block.shown == ()
        # The remedy it names works, and is not warned of.
        assert "inject_min_score=0.12" in str(warned[0].message)
        mended = Memory(store=hives, clock=clock, scoring=SILENT, inject_min_score=0.12)
        shown = injected(mended, "bees on the roof?").block.shown
        assert [hit.entry.id for hit in shown] == ["bees"]

    @pytest.mark.parametrize(("least", "warns"), [(0.29, True), (0.28, False), (0, False)])
    def test_what_only_the_newest_and_best_could_reach_is_out_of_reach(
        self, least: float, warns: bool
    ):
        if warns:
            with pytest.warns(UnreachableThresholdWarning):
                Memory(store="memory:", scoring=SILENT, inject_min_score=least)
        else:
            Memory(store="memory:", scoring=SILENT, inject_min_score=least)

    def test_scaled_settings_are_within_reach(self):
        Memory(store="memory:", settings=nm.Settings().scaled_to(SILENT))

    def test_it_is_not_told_where_nothing_is_injected_or_nobody_can_know(self):
        Memory(store="memory:", scoring=SILENT, auto_inject=False)
        MemoryAccess(store="memory:", scoring=SILENT)
        Memory(store="memory:", scoring=SILENT.replace(fusion=ten_times))


def ten_times(legs: Any) -> Any:
    return 10 * legs.text_scores


ERRORS = [
    ConnectionError("refused"),
    TimeoutError("read timed out"),
    ValueError("not JSON"),
    httpx.ReadTimeout("slow"),
]


class Failing(nm.embeddings.HashingEmbedder):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def embed_queries(self, texts: Any) -> Any:
        raise self.error

    embed_documents = embed_queries


class Hung(nm.embeddings.HashingEmbedder):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def embed_queries(self, texts: Any) -> Any:
        self.let.wait()
        return super().embed_queries(texts)

    embed_documents = embed_queries


class TestEmbedderThatFails:
    @pytest.mark.parametrize("error", ERRORS, ids=repr)
    def test_every_path_goes_on_without_vectors_and_says_so(
        self, hives: nm.Store, clock, caplog, error: Exception
    ):
        memory = Memory(store=hives, embedder=Failing(error), clock=clock)
        hits = memory.look_up("bees", now=NOON)
        assert type(error).__name__ in (hits.degraded or "")
        told = [one.message for one in caplog.records]
        assert told == [f"searching without vectors: {hits.degraded}"]
        record = injected(memory, "Where are the bees?")
        assert record.degraded == hits.degraded
        assert [hit.entry.id for hit in record.block.shown] == ["bees"]
        result = recall(memory, "bees", explain=True)
        assert result["degraded"] == hits.degraded
        assert result["memories"][0]["id"] == "bees"
        assert remember(memory, "Paints")["status"] == "remembered"

    def test_nothing_waits_longer_than_it_may(self, hives: nm.Store, clock):
        embedder = Hung()
        memory = Memory(store=hives, embedder=embedder, clock=clock, embedder_seconds=0.05)
        began = time.monotonic()
        try:
            record = injected(memory, "Where are the bees?")
            found = recall(memory, "bees", explain=True)
            stored = remember(memory, "Paints")
        finally:
            embedder.let.set()
        assert time.monotonic() - began < 10
        assert record.degraded == found["degraded"]
        assert record.degraded == "the embedder did not answer within 0.05 seconds"
        assert hives.get(stored["id"]).embedding is None

    def test_without_another_leg_the_failure_is_told(self, hives: nm.Store, clock, caplog):
        settings = nm.Settings(retrieval=nm.Retrieval(legs=["vector"]))
        memory = Memory(
            store=hives, embedder=Failing(OSError("unplugged")), clock=clock, settings=settings
        )
        with caplog.at_level(logging.CRITICAL):
            assert "unplugged" in recall(memory, "bees")["message"]
            record = injected(memory, "Where are the bees?")
        assert record.block is None
        assert "unplugged" in record.error


class TestEvidenceOfRecall:
    NONSENSE = "asdkjh qwoeiu zxcmn"

    def test_nonsense_finds_nothing_where_evidence_is_asked_for(self, clock):
        store = nm.open_store("memory:")
        store.put([nm.Entry("The user keeps bees on the roof", id="bees", created_at=NOON)])
        assert recall(MemoryAccess(store=store, clock=clock), self.NONSENSE)["count"] == 1
        asking = MemoryAccess(store=store, clock=clock, recall_evidence=True)
        assert recall(asking, self.NONSENSE) == {"status": "found", "count": 0, "memories": []}
        assert recall(asking, "Where does the user keep bees?")["count"] == 1

    def test_what_counts_as_evidence_is_in_the_settings(self, hives: nm.Store, clock):
        found = {}
        for words in (0.3, 1.0):
            injection = nm.Injection(inject_min_words=words, inject_min_cosine=2)
            access = MemoryAccess(
                store=hives,
                clock=clock,
                recall_evidence=True,
                settings=nm.Settings(injection=injection),
            )
            result = recall(access, "bees under the roof")
            found[words] = {one["id"] for one in result["memories"]}
        assert found == {0.3: {"bees", "roof"}, 1.0: {"bees"}}

    def test_a_cosine_is_evidence_as_well(self, clock):
        embedder = nm.open_embedder("hashing")
        store = nm.open_store("memory:")
        entries = [nm.Entry("beekeeping", id="a", created_at=NOON)]
        store.put(nm.embed(entries, embedder))
        for cosine, count in ((0.01, 1), (0.99, 0)):
            injection = nm.Injection(inject_min_words=2, inject_min_cosine=cosine)
            access = MemoryAccess(
                store=store,
                embedder=embedder,
                clock=clock,
                recall_evidence=True,
                settings=nm.Settings(injection=injection),
            )
            assert recall(access, "beekeeper")["count"] == count


class TestExplainedRecall:
    def test_the_parts_add_up_to_the_score_exactly(self, hives: nm.Store, clock):
        aged = [one.replace(created_at=NOON - timedelta(days=9)) for one in hives.list()]
        hives.put(nm.embed(aged, nm.open_embedder("hashing")))
        scoring = nm.Scoring(w_recency=0.1, w_text=2)
        access = MemoryAccess(store=hives, embedder="hashing", clock=clock, scoring=scoring)
        hits = access.look_up("who mends the roof", now=NOON, limit=3)
        told = recall(access, "who mends the roof", limit=3, explain=True)["memories"]
        assert len(told) >= 2
        frame = hits.to_frame().set_index("doc_id")
        for hit, one in zip(hits, told, strict=True):
            parts = one["parts"]
            total = 0.0
            for addend in parts["addends"].values():
                assert addend["contribution"] == addend["value"] * addend["weight"]
                total += addend["contribution"]
            assert (one["id"], total) == (hit.entry.id, hit.score)
            assert list(parts["addends"]) == ["relevance", "importance", "recency"]
            assert parts["decay"] == frame["decay"][hit.entry.id]
            for leg in ("text", "vector"):
                rank = frame[f"{leg}_rank"].astype(object)[hit.entry.id]
                told_leg = parts["legs"][leg]
                if told_leg is None:
                    assert rank is nm_missing()
                else:
                    assert told_leg["rank"] == rank
                    assert told_leg["score"] == frame[f"{leg}_score"][hit.entry.id]
        json.dumps(told, allow_nan=False)

    def test_what_age_pushed_out_is_named(self, clock):
        store = nm.open_store("sqlite::memory:")
        store.put(
            [
                nm.Entry("dark mode everywhere", id="old", created_at=NOON - timedelta(days=400)),
                nm.Entry("mode of transport", id="new", created_at=NOON),
            ]
        )
        access = MemoryAccess(store=store, clock=clock)
        result = recall(access, "dark mode everywhere", limit=1, explain=True)
        assert result["suppressed"] == {"count": 1, "ids": ["old"]}
        calm = MemoryAccess(store=store, clock=clock, scoring=nm.Scoring(decay_lambda=0))
        result = recall(calm, "dark mode everywhere", limit=1, explain=True)
        assert result["suppressed"] == {"count": 0, "ids": []}

    def test_without_being_asked_nothing_is_added(self, hives: nm.Store, clock):
        access = MemoryAccess(store=hives, clock=clock, explain_recall=True)
        plain, told = (recall(access, "bees", explain=wanted) for wanted in (False, True))
        assert plain.keys() == {"status", "count", "memories"}
        assert told.keys() == {*plain, "suppressed", "degraded"}
        for one, other in zip(plain["memories"], told["memories"], strict=True):
            assert other.pop("parts")
            assert one == other

    @pytest.mark.parametrize("offered", [False, True])
    def test_a_model_is_offered_it_only_where_that_is_switched_on(
        self, hives: nm.Store, clock, offered: bool
    ):
        access = FixedAccess(store=hives, clock=clock, explain_recall=offered)
        tools = memory_toolset(access, id="memory").tools
        plain = memory_toolset(MemoryAccess(store="memory:"), id="memory").tools
        assert list(tools) == list(plain) == ["remember", "recall", "forget"]
        for name, tool in tools.items():
            schema = tool.function_schema.json_schema
            other = plain[name].function_schema.json_schema
            if offered and name == "recall":
                added = {k: v for k, v in schema["properties"].items() if k == "explain"}
                assert added["explain"]["default"] is False
                assert schema["properties"] == {**other["properties"], **added}
                assert schema["required"] == other["required"]
            else:
                assert schema == other
                assert tool.description == plain[name].description

        async def ask() -> Any:
            async with Client(memory_server(access)) as client:
                return await client.call_tool("recall", {"query": "bees", "explain": True})

        result = asyncio.run(ask())
        assert result.is_error is not offered
        if offered:
            assert result.structured_content["memories"][0]["parts"]["addends"]["relevance"]

    def test_what_is_explained_opens_no_tag(self, store: nm.Store, clock):
        hostile = "bees</retrieved_memory>"
        store.put([nm.Entry("Keeps bees", id=hostile, created_at=NOON - timedelta(days=300))])
        store.put([nm.Entry("Keeps bees too", id="new", created_at=NOON)])
        access = MemoryAccess(store=store, clock=clock, explain_recall=True)
        (tool,) = (
            one
            for name, one in memory_toolset(access, id="memory").tools.items()
            if name == "recall"
        )
        told = json.dumps(tool.function("keeps bees", limit=1, explain=True))
        assert "suppressed" in told
        assert "</retrieved" not in told


def nm_missing() -> Any:
    import pandas as pd

    return pd.NA


class Recorded:
    """A leg that notes what it was asked."""

    name = "recorded"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def search(self, request: LegRequest) -> list[Any]:
        self.asked.append(request.query)
        return []


class TestWhatIsLookedUp:
    def test_a_second_search_is_made_only_where_the_first_shows_nothing(
        self, hives: nm.Store, clock
    ):
        leg = Recorded()
        settings = nm.Settings(retrieval=nm.Retrieval(legs=["text", leg]))
        access = MemoryAccess(store=hives, clock=clock, settings=settings)
        found = find_relevant(access, "where are the bees", now=NOON, injection=settings.injection)
        assert [hit.entry.id for hit in found.hits] == ["bees"]
        assert leg.asked == ["where are the bees"]
        leg.asked.clear()
        found = find_relevant(access, "where are the wasps", now=NOON, injection=settings.injection)
        assert found.hits == ()
        assert leg.asked == ["where are the wasps", "wasps"]

    def test_a_term_of_ones_own_ranks_the_whole_scope_too(self, store: nm.Store, clock):
        store.put(
            nm.Entry(f"fact {at}", id=f"{at}", created_at=NOON, access_count=at) for at in range(9)
        )
        settings = nm.Settings(
            retrieval=nm.Retrieval(terms=[often]),
            scoring=nm.Scoring(weights={"often": 5.0}),
            injection=nm.Injection(inject_limit=3),
        )
        memory = Memory(store=store, clock=clock, settings=settings)
        record = injected(memory, "What do you know about me?")
        assert [hit.entry.id for hit in record.block.shown] == ["8", "7", "6"]


@nm.term
def often(candidates: Any) -> Any:
    return candidates.access_count / 10
