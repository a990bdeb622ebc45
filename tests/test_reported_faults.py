"""What users of other memory systems ran into: vectors, scores, dates, and the tools that measure.

Each test is one kind of fault. What the conformance suites hold every store and embedder to is not
repeated.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora import Card
from nousmem.embeddings import HashingEmbedder

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
URLS = ["memory:", "sqlite::memory:", "duckdb::memory:", "duckdb::memory:?text=bm25"]
NONSENSE = "xqzzt blorf vrump"


def entries() -> list[nm.Entry]:
    texts = {"a": "Ana drinks green tea", "b": "Bo sails a red boat", "c": "Cy sold the boat"}
    return [
        nm.Entry(text, id=name, created_at=NOON - timedelta(days=at))
        for at, (name, text) in enumerate(texts.items())
    ]


def corpus(*texts: str, asked: datetime = NOON) -> nm.Corpus:
    """Return a corpus with one query a text, each answered by entry a."""
    queries = tuple(nm.Query(f"q{at}", text, now=asked) for at, text in enumerate(texts))
    rows = [(query.query_id, "a", 1) for query in queries]
    return nm.Corpus(
        "tea",
        entries=tuple(entries()),
        queries=queries,
        qrels=pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        card=Card("Tea", licence="MIT", source="made up", synthetic=True),
    )


class Renamed(HashingEmbedder):
    """Vectors of the same length, from what says that it is another model."""

    fingerprint = "another-model"


class Unusable(HashingEmbedder):
    """Its server answers, with queries that have no direction."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def embed_queries(self, texts):
        return np.full((len(texts), self.dimension), self._value, dtype=np.float32)


class TestVectors:
    @pytest.mark.parametrize("other", [HashingEmbedder(64), Renamed()], ids=["shorter", "as long"])
    @pytest.mark.parametrize("url", URLS)
    def test_two_models_never_meet(self, url: str, other: HashingEmbedder):
        """Whichever way in: one error that names both and the way out, which works."""
        ours = HashingEmbedder()
        store = nm.open_store(url)
        store.put(nm.embed(entries(), ours))
        search = nm.Search(store, other)
        query = corpus("green tea").queries
        vector = other.embed_queries(["green tea"])[0]
        ways: dict[str, Callable[[], object]] = {
            "put": lambda: store.put(nm.embed([nm.Entry("Di")], other)),
            "update": lambda: store.update("a", embedding=vector, embedder=other.fingerprint),
            "search": lambda: search("green tea"),
            "search with the vector known": lambda: search("green tea", vector=vector),
            "run_queries": lambda: ev.run_queries(search, query),
        }
        for way, go in ways.items():
            with pytest.raises(nm.EmbeddingMismatch) as caught:
                go()
            for part in (ours.fingerprint, other.fingerprint, "reembed"):
                assert part in str(caught.value), way
        nm.reembed(store, other)
        assert search("green tea", now=NOON)[0].entry.id == "a"

    @pytest.mark.parametrize("value", [0.0, np.nan])
    def test_an_evaluation_never_goes_on_without_a_leg(self, value: float):
        """A search may degrade and say so; a measurement of it would be of something else."""
        judged, embedder = corpus("green tea"), Unusable(value)
        store = nm.open_store("sqlite::memory:")
        store.put(nm.embed(judged.entries, embedder))
        with pytest.raises(nm.NousmemError, match=r"zeros|NaN"):
            ev.run_queries(nm.Search(store, embedder), judged.queries)
        with pytest.raises(nm.NousmemError, match=r"zeros|NaN"):
            ev.sweep(judged, embedder=embedder, grid={})


class TestScores:
    @pytest.mark.parametrize("url", URLS)
    def test_a_leg_that_is_left_out_has_no_say(self, url: str):
        store = nm.open_store(url)
        vectors = {"a": [0.0, 1.0], "b": [1.0, 0.1], "c": [1.0, 0.9]}
        store.put(entry.replace(embedding=vectors[entry.id]) for entry in entries())
        scoring = nm.Scoring(decay_lambda=0, w_relevance=1, w_importance=0, w_recency=0)
        orders: dict[str, list[str]] = {}
        for leg in ("text", "vector"):
            hits = nm.Search(store, scoring=scoring, retrieval=nm.Retrieval(legs=[leg]))(
                "green tea", vector=[1.0, 0.0], now=NOON
            )
            orders[leg] = [hit.entry.id for hit in hits]
            other = "vector" if leg == "text" else "text"
            frame = hits.to_frame()
            assert frame[f"{leg}_rank"].notna().all()
            assert f"{other}_rank" not in frame, "a leg that was not asked for has no column"
        assert orders["text"][0] == "a"
        assert orders["vector"] == ["b", "c"]

    def test_an_option_that_cannot_take_effect_is_refused(self):
        store = nm.open_store("sqlite::memory:")
        store.put(entries())
        with pytest.raises(nm.InvalidParameter, match=r"\['vector'\] needs an embedder"):
            nm.Search(store, retrieval=nm.Retrieval(legs=["vector"]))("green tea")
        with pytest.raises(nm.InvalidParameter, match="one or more of text, vector"):
            nm.Retrieval(legs=[])
        judged = corpus("green tea")
        for legs in (["vector"], []):
            with pytest.raises(nm.InvalidParameter, match="legs"):
                ev.sweep(judged, grid={"legs": [legs]})
        with pytest.raises(nm.InvalidParameter, match="retriever_weights"):
            ev.sweep(judged, grid={"retriever_weights": [1]})
        with pytest.raises(TypeError, match="retriever_weights"):
            nm.Search(store, retriever_weights=[1, 0])  # type: ignore[call-arg]

    @pytest.mark.parametrize("url", [url for url in URLS if url != "memory:"])
    def test_nonsense_is_told_from_an_answer(self, url: str):
        """The fused relevance of the best is 1 whatever was asked; the legs' own scores are not."""
        store = nm.open_store(url)
        store.put(nm.embed(entries(), HashingEmbedder()))
        search = nm.Search(store, HashingEmbedder())
        answered = search("green tea", now=NOON).to_frame().iloc[0]
        assert answered["doc_id"] == "a"
        assert answered["text_score"] > 0.5
        assert answered["vector_score"] > 0.5
        nonsense = search(NONSENSE, now=NOON).to_frame()
        assert nonsense["text_score"].isna().all()
        assert (nonsense["vector_score"] < 0.3).all()


SAME_INSTANT: list[Any] = [
    NOON,
    NOON.astimezone(timezone(timedelta(hours=5, minutes=30))),
    "2026-03-15T12:00:00Z",
    "2026-03-15T17:30:00+05:30",
    NOON.timestamp(),
    int(NOON.timestamp()),
    pd.Timestamp("2026-03-15 21:00", tz="Asia/Tokyo"),
]


class TestDates:
    @pytest.mark.parametrize("instant", SAME_INSTANT, ids=repr)
    @pytest.mark.parametrize("url", URLS)
    def test_an_instant_may_be_spelled_in_any_way(self, url: str, instant: Any):
        store = nm.open_store(url)
        store.put(
            [
                nm.Entry("tea later", id="later", created_at=NOON + timedelta(microseconds=1)),
                nm.Entry("tea then", id="then", created_at=instant),
                nm.Entry("tea before", id="before", created_at=NOON - timedelta(hours=1)),
            ]
        )
        assert store.get("then").created_at == NOON
        assert [entry.id for entry in store.list()] == ["before", "then", "later"]
        assert [entry.id for entry in store.list(as_of=instant)] == ["before", "then"]
        found = {entry.id for entry, _ in store.search_text("tea", as_of=instant)}
        assert found == {"before", "then"}
        hits = nm.Search(store)("tea", now=instant, as_of=instant)
        assert hits.now == NOON
        assert hits.to_frame().set_index("doc_id")["age_hours"].to_dict() == {
            "then": 0,
            "before": 1,
        }
        assert store.update("then", importance=1, now=instant).updated_at == NOON
        assert nm.Query("q", "tea", now=instant, as_of=instant).as_of == NOON

    @pytest.mark.parametrize("naive", [NOON.replace(tzinfo=None), "2026-03-15T12:00:00"])
    def test_an_instant_without_a_time_zone_is_refused_everywhere(self, naive: Any):
        store = nm.open_store("sqlite::memory:")
        store.put(entries())
        search = nm.Search(store)
        for go in (
            lambda: nm.Entry("x", created_at=naive),
            lambda: nm.Entry("x", last_accessed_at=naive),
            lambda: nm.Query("q", "x", now=naive),
            lambda: nm.Query("q", "x", now=NOON, as_of=naive),
            lambda: search("tea", now=naive),
            lambda: search("tea", as_of=naive),
            lambda: store.list(as_of=naive),
            lambda: store.search_text("tea", as_of=naive),
            lambda: store.update("a", importance=1, now=naive),
            lambda: store.touch(["a"], now=naive),
        ):
            with pytest.raises(nm.InvalidEntry, match="has no time zone"):
                go()

    @pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system cannot change time zone")
    @pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
    @pytest.mark.parametrize("url", URLS)
    def test_every_way_of_reading_draws_the_same_line(
        self, url: str, zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            midnight = datetime(2026, 3, 15, tzinfo=UTC)
            store = nm.open_store(url)
            store.put(
                nm.Entry(
                    "tea",
                    id=name,
                    created_at=midnight + timedelta(seconds=seconds),
                    embedding=[1.0, 0.0],
                )
                for name, seconds in (("the day before", -1), ("midnight", 0), ("the day", 1))
            )
            exported = tmp_path / "exported.jsonl"
            nm.export_entries(store, exported)
            copy = nm.open_store(url)
            nm.import_entries(copy, exported)
            for one in (store, copy):
                seen = [
                    {entry.id for entry in one.list(as_of=midnight)},
                    {entry.id for entry, _ in one.search_text("tea", as_of=midnight)},
                    {entry.id for entry, _ in one.search_vector([1.0, 0.0], as_of=midnight)},
                    {hit.entry.id for hit in nm.Search(one)("tea", as_of=midnight)},
                ]
                assert seen == [{"the day before", "midnight"}] * len(seen)
            judged = [{"query": "tea", "id": "midnight"}]
            table = [
                {"id": entry.id, "content": entry.content, "created_at": str(entry.created_at)}
                for entry in copy.list()
            ]
            read = nm.corpus_from_frames(pd.DataFrame(table), None, judged)
            assert [entry.created_at for entry in read.entries] == [
                entry.created_at for entry in store.list()
            ]
        finally:
            monkeypatch.undo()
            time.tzset()

    def test_an_evaluation_never_looks_at_the_clock(self, stopped_clock: None):
        """Ages are counted from when a query was asked, however long ago that was."""
        judged = corpus("green tea", "red boat")
        decayed = {"scoring": nm.Scoring(decay_lambda=0.01, w_recency=0.2)}
        store = nm.open_store("sqlite::memory:")
        store.put(nm.embed(judged.entries, HashingEmbedder()))
        search = nm.Search(store, HashingEmbedder(), **decayed)
        runs = [ev.run_queries(search, judged.queries) for _ in range(2)]
        pd.testing.assert_frame_equal(runs[0], runs[1], check_exact=True)
        swept = [
            ev.sweep(judged, embedder=HashingEmbedder(), grid={}, **decayed).run(0)
            for _ in range(2)
        ]
        pd.testing.assert_frame_equal(swept[0], swept[1], check_exact=True)
        pd.testing.assert_frame_equal(swept[0], runs[0], check_exact=True)
        frames = [search("green tea", now=NOON).to_frame() for _ in range(2)]
        pd.testing.assert_frame_equal(frames[0], frames[1], check_exact=True)
        with pytest.raises(AssertionError, match="clock"):
            search("green tea")

    def test_an_old_corpus_is_as_good_as_a_new_one(self):
        """Nothing is older for having been written down years ago."""
        scores: list[list[float]] = []
        for years in (0, 30):
            past = timedelta(days=365 * years)
            judged = corpus("green tea", "red boat", asked=NOON - past)
            moved = judged.with_entries(
                nm.Entry(entry.content, id=entry.id, created_at=entry.created_at - past)
                for entry in judged.entries
            )
            swept = ev.sweep(moved, grid={"decay_lambda": [0.001]}, measures=["nDCG@10"])
            scores.append(swept.run(0)["score"].tolist())
        assert scores[0] == scores[1]
        assert max(scores[0]) > 0.3


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            raise AssertionError("the clock was read")

    monkeypatch.setattr("nousmem.retrieval.search.datetime", Clock)


class TestMeasuring:
    @pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
    @pytest.mark.parametrize("url", URLS)
    @pytest.mark.parametrize("texts", [(NONSENSE,), (" ", ""), (NONSENSE, "green tea")])
    def test_a_query_that_finds_nothing_counts_and_is_listed(self, url: str, texts):
        judged = corpus(*texts)
        swept = ev.sweep(judged, store=url, grid={"rrf_k": [5, 60]}, measures=["nDCG@10", "RR"])
        # Similarity of characters, the in-memory store's way, finds something for any text.
        finds = [text.strip() and (text != NONSENSE or url == "memory:") for text in texts]
        listed = swept.per_query(0)
        assert listed["query_id"].tolist() == [query.query_id for query in judged.queries]
        assert (listed["RR"] > 0).tolist() == [bool(found) for found in finds]
        assert swept.n_queries == len(texts)
        assert swept.frame["RR"].tolist() == [listed["RR"].mean()] * 2
        run = swept.run(0)
        evaluated = ev.evaluate(run, judged.qrels, ["nDCG@10", "RR"]).iloc[0]
        assert evaluated["RR"] == pytest.approx(swept.frame["RR"][0])
        assert evaluated["n_queries"] == len(texts)
        assert evaluated["n_missing"] == sum(not found for found in finds)

    def test_an_empty_run_scores_nothing(self):
        run = pd.DataFrame(columns=["query_id", "doc_id", "score"])
        row = ev.evaluate(run, corpus("a", "b").qrels, ["nDCG@10", "AP", "Success@5"]).iloc[0]
        assert row.tolist() == [0, 0, 0, 2, 2, 0]

    @pytest.mark.parametrize("column", ["query_id", "doc_id"])
    @pytest.mark.parametrize("which", [0, 1], ids=["run", "qrels"])
    def test_ids_of_two_kinds_are_refused(self, column: str, which: int):
        """Numbers here and text there would match nothing, and score 0 without a word."""
        tables = [
            pd.DataFrame({"query_id": ["1"], "doc_id": ["7"], "score": [1.0]}),
            pd.DataFrame({"query_id": ["1"], "doc_id": ["7"], "relevance": [1]}),
        ]
        assert ev.evaluate(*tables, ["RR"])["RR"][0] == 1
        tables[which] = tables[which].astype({column: int})
        with pytest.raises(nm.InvalidParameter, match=rf"{column} is (numbers|text) in the run"):
            ev.evaluate(*tables, ["RR"])
        tables = [table.astype({"query_id": int, "doc_id": int}) for table in tables]
        assert ev.evaluate(*tables, ["RR"])["RR"][0] == 1

    def test_measuring_waits_for_no_compiler(self):
        code = (
            "import sys, pandas as pd\n"
            "from nousmem import evaluation as ev\n"
            "table = {'query_id': ['q'], 'doc_id': ['a']}\n"
            "run = pd.DataFrame({**table, 'score': [1.0]})\n"
            "qrels = pd.DataFrame({**table, 'relevance': [1]})\n"
            "assert ev.evaluate(run, qrels, ['nDCG@10', 'AP'])['AP'][0] == 1\n"
            "print(sorted({'numba', 'scipy', 'torch'} & set(sys.modules)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "[]\n"
