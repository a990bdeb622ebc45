"""Search against the original's numbers, and what it promises beyond them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.entry import ENTRY_FIELDS, restore_entry
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.search import DegradedSearchWarning
from nousmem.stores.memory import MemoryStore

GOLDEN = Path(__file__).parent.parent / "golden"
NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
ETS = json.loads((GOLDEN / "search_ets.json").read_text())
HYBRID = json.loads((GOLDEN / "search_hybrid.json").read_text())

ENTRY_NAMES = (
    "id",
    "content",
    "type",
    "importance",
    "evergreen",
    "metadata",
    "agent_id",
    "session_id",
    "user_id",
    "namespace",
    "created_at",
    "updated_at",
    "last_accessed_at",
)


def golden_entry(row: dict) -> nm.Entry:
    values = {name: row[name] for name in ENTRY_NAMES}
    entry = nm.Entry(**{**values, "content": row["content"] or "blank"})
    if row["content"]:
        return entry
    # Blank contents are refused at the door; the original's numbers still include one.
    return restore_entry(
        [row["content"] if name == "content" else getattr(entry, name) for name in ENTRY_FIELDS]
    )


ENTRIES = [golden_entry(row) for row in ETS["entries"]]
BY_ID = {entry.id: entry for entry in ENTRIES}


def scoring_of(opts: dict) -> nm.Scoring:
    given = opts.get("scoring_weights") or {}
    weights = {f"w_{name}": value for name, value in given.items()}
    if "decay_lambda" in opts:
        weights["decay_lambda"] = opts["decay_lambda"]
    return nm.Scoring(**weights)


def call(search: nm.Search, query: str, opts: dict) -> Hits:
    limit = opts.get("limit", 10)
    scope = opts.get("scope", {})
    settings = nm.Settings(
        scoring=scoring_of(opts), retrieval=nm.Retrieval(depth=max(1, 3 * limit))
    )
    return search.replace(settings=settings)(
        query,
        scope=nm.GLOBAL if scope == "global" else scope,
        type=opts.get("type"),
        limit=limit,
        min_score=opts.get("min_score", 0.0),
        now=NOW,
    )


def rows(hits: Hits) -> list[list]:
    return [[hit.entry.id, hit.score] for hit in hits]


def assert_same_ranking(got: list[list], expected: list[list]) -> None:
    """Equal ids and scores; the original leaves the order of equal scores open.

    Where the cut goes through equal scores, it also leaves open which of them are shown.
    """
    assert len(got) == len(expected)
    for (_, ours), (_, theirs) in zip(got, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)
    last = round(expected[-1][1], 11) if expected else 0

    def above_the_last(pairs: list[list]) -> list[tuple[float, str]]:
        rounded = sorted((round(score, 11), doc_id) for doc_id, score in pairs)
        return [pair for pair in rounded if pair[0] > last]

    assert above_the_last(got) == above_the_last(expected)
    if len({round(score, 11) for _, score in expected}) == len(expected):
        assert [doc_id for doc_id, _ in got] == [doc_id for doc_id, _ in expected]


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    filled = MemoryStore()
    filled.put(ENTRIES)
    return filled


def is_improvement(case: dict) -> bool:
    """The cases in which nousmem differs on purpose, each tested below or in test_scope."""
    scope = case["opts"].get("scope", {})
    unknown_field = isinstance(scope, dict) and any("unknown" in name for name in scope)
    type_after_the_cut = "type" in case["opts"]
    # Blank content is refused, so a blank query has nothing to be equal to.
    blank = not case["query"].strip()
    return unknown_field or type_after_the_cut or blank or case["candidate_cut_ambiguous"]


@pytest.mark.parametrize(
    "case",
    [case for case in ETS["searches"] if not is_improvement(case)],
    ids=lambda c: str(c["i"]),
)
def test_the_original_in_memory_searches_hold(store: MemoryStore, case: dict) -> None:
    query = case.get("query", "")
    assert_same_ranking(rows(call(nm.Search(store), query, case["opts"])), case["ok"])


def test_most_golden_searches_are_asserted() -> None:
    assert sum(not is_improvement(case) for case in ETS["searches"]) >= 95


@pytest.mark.parametrize("case", [c for c in ETS["searches"] if "type" in c["opts"]])
def test_the_type_filter_comes_before_the_cut(store: MemoryStore, case: dict) -> None:
    """The original filters after reading 3 · limit candidates, and can return nothing."""
    hits = call(nm.Search(store), case["query"], case["opts"])
    wanted = case["opts"]["type"]
    in_type = sum(entry.type == wanted for entry in ENTRIES)
    assert all(hit.entry.type == wanted for hit in hits)
    assert len(hits) >= len(case["ok"])
    assert len(hits) == min(case["opts"].get("limit", 10), in_type)


@pytest.mark.parametrize("case", ETS["search_text"], ids=lambda c: f"{c['query']!r} {c['opts']}")
def test_the_original_text_leg_holds(store: MemoryStore, case: dict) -> None:
    opts = dict(case["opts"])
    wanted_type = opts.pop("type", None)
    if opts.get("scope") == "global":
        del opts["scope"]
    found = [[entry.id, score] for entry, score in store.search_text(case["query"], **opts)]
    if not case["query"].strip():
        assert found == []  # there is no blank entry it could equal
    elif wanted_type is None:
        assert_same_ranking(found, case["ok"])


class FakeStore(MemoryStore):
    """Returns the lists a golden case was made with."""

    def __init__(self, text: list, vector: list) -> None:
        super().__init__()
        self.lists = {"text": text, "vector": vector}

    def _list(self, leg: str, opts: dict) -> list:
        wanted = opts.get("type")
        found = [(BY_ID[doc_id], score) for doc_id, score in self.lists[leg]]
        return [pair for pair in found if wanted is None or pair[0].type == wanted]

    def search_text(self, query, /, **opts):
        return self._list("text", opts)

    def search_vector(self, vector, /, **opts):
        return self._list("vector", opts)


# The original ranks entries of every type and drops the others after fusion.
HYBRID_CASES = [case for case in HYBRID["cases"] if case["name"] != "type_filter"]


@pytest.mark.parametrize("case", HYBRID_CASES, ids=lambda c: c["name"])
def test_the_original_hybrid_searches_hold(case: dict) -> None:
    opts = dict(case["opts"])
    search = nm.Search(FakeStore(case["text"], case["vector"]), scoring=scoring_of(opts))
    scope = opts.get("scope", {})
    hits = search(
        "q",
        vector=[1.0, 0.0],
        scope=nm.GLOBAL if scope == "global" else scope,
        limit=opts.get("limit", 10),
        min_score=opts.get("min_score", 0.0),
        type=opts.get("type"),
        now=NOW,
    )
    assert_same_ranking(rows(hits), case["ok"])


class FailingEmbedder(nm.embeddings.HashingEmbedder):
    def embed_queries(self, texts):
        raise nm.EmbedderError("out of reach")


class ZeroEmbedder(nm.embeddings.HashingEmbedder):
    def embed_queries(self, texts):
        return np.zeros((len(texts), self.dimension), dtype=np.float32)


@pytest.mark.parametrize("embedder", [FailingEmbedder(), ZeroEmbedder()])
def test_a_failing_embedder_degrades_to_text_and_says_so(
    store: MemoryStore, embedder: nm.embeddings.HashingEmbedder
) -> None:
    with pytest.warns(DegradedSearchWarning, match="without vectors"):
        hits = nm.Search(store, embedder)("dark mode", now=NOW)
    assert hits.degraded
    assert rows(hits) == rows(nm.Search(store)("dark mode", now=NOW))
    with pytest.raises(nm.NousmemError):
        nm.Search(store, embedder, on_embedder_error="raise")("dark mode", now=NOW)
    with pytest.raises(nm.EmbedderError):
        nm.Search(store, embedder, retrieval=nm.Retrieval(legs=["vector"]))("dark mode", now=NOW)


def test_a_store_without_vector_search_is_read_by_text_alone(store: MemoryStore) -> None:
    class TextOnly:
        list, search_text = store.list, store.search_text

    hits = nm.Search(TextOnly(), FailingEmbedder())("dark mode", now=NOW)
    assert hits
    assert hits.degraded is None
    with pytest.raises(nm.InvalidParameter, match="search_vector"):
        nm.Search(TextOnly(), retrieval=nm.Retrieval(legs=["vector"]))


@pytest.mark.parametrize("url", ["memory:", "sqlite::memory:", "duckdb::memory:"])
@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        '"unbalanced',
        "AND",
        "C++",
        "don't",
        "*",
        "😀",
        "深色模式",
        "NEAR(",
        "\x00",
        "\ud800",
    ],
)
def test_no_query_text_is_an_error(url: str, query: str) -> None:
    store = nm.open_store(url)
    store.put(ENTRIES)
    hits = nm.Search(store)(query, now=NOW)
    assert all(np.isfinite(hit.score) for hit in hits)
    if not query.strip():
        assert len(hits) == 0


@pytest.mark.parametrize("url", ["memory:", "sqlite::memory:", "duckdb::memory:?text=bm25"])
def test_one_entry_that_answers_reaches_the_default_threshold(url: str) -> None:
    store = nm.open_store(url)
    store.put([nm.Entry("User prefers dark mode", importance=0.0, created_at=NOW)])
    hits = nm.Search(store)("dark mode preferences", now=NOW)
    assert [hit.rank for hit in hits] == [1]
    composite_with_default_importance = hits[0].score + 0.3 * 0.5
    assert composite_with_default_importance >= 0.3


def test_limit_does_not_change_who_wins(store: MemoryStore) -> None:
    for query in ("dark mode preferences", "deploy process", "Alice role"):
        full = rows(nm.Search(store)(query, limit=30, now=NOW))
        for limit in (1, 2, 5, 10):
            assert rows(nm.Search(store)(query, limit=limit, now=NOW)) == full[:limit]


@given(st.integers(0, 2**32 - 1))
def test_explained_contributions_add_up_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scoring = nm.Scoring(
        decay_lambda=rng.choice([0, 1e-4, 1e-2]),
        w_relevance=rng.normal(),
        w_importance=rng.normal(),
        w_recency=rng.normal(),
    )
    chosen = [ENTRIES[at] for at in rng.choice(len(ENTRIES), 6, replace=False)]
    legs = {"text": [(entry, rng.random()) for entry in chosen]}
    candidates = Candidates.union(legs, now=NOW, query="q")
    settings = nm.Settings(scoring=scoring)
    hits = Hits(candidates, settings, now=NOW, limit=None, min_score=-np.inf)
    for hit in hits:
        assert hits.explain(hit.rank)["contribution"].sum() == hit.score


def test_the_frame_has_every_part(store: MemoryStore) -> None:
    frame = nm.Search(store)("dark mode", limit=3, now=NOW).to_frame()
    assert list(frame.columns) == [
        "rank",
        "doc_id",
        "content",
        "score",
        "text_rank",
        "text_score",
        "vector_rank",
        "vector_score",
        "relevance",
        "freshness",
        "age_hours",
        "decay",
        "importance",
        "recency",
    ]
    assert frame["vector_rank"].isna().all()
    assert frame["text_rank"].notna().all()
    row = frame.iloc[0]
    assert row["score"] == pytest.approx(
        0.5 * row["relevance"] * row["decay"] + 0.3 * row["importance"], abs=1e-12
    )


def test_what_decay_buries_is_said() -> None:
    store = MemoryStore()
    old = NOW - timedelta(days=400)
    store.put(
        [
            nm.Entry("dark mode everywhere", id="old", created_at=old),
            nm.Entry("an unrelated remark", id="new", created_at=NOW),
        ]
    )
    hits = nm.Search(store)("dark mode everywhere", limit=1, now=NOW)
    assert [hit.entry.id for hit in hits] == ["new"]
    assert [hit.entry.id for hit in hits.suppressed] == ["old"]
    assert "suppressed" in hits._repr_html_()
    calm = nm.Search(store, scoring=nm.Scoring(decay_lambda=0))
    assert calm("dark mode everywhere", limit=1, now=NOW).suppressed == []


def test_now_decides_the_ages_and_nothing_else(store: MemoryStore) -> None:
    search = nm.Search(store)
    assert rows(search("Alice", now=NOW)) == rows(search("Alice", now=NOW))
    today = {hit.entry.id: hit.score for hit in search("Alice", limit=None, now=NOW)}
    for hit in search("Alice", limit=None, now=NOW + timedelta(days=30)):
        assert (hit.score < today[hit.entry.id]) is not hit.entry.evergreen
    assert search("Alice", as_of=NOW).now == NOW


def test_as_of_hides_what_came_later() -> None:
    store = MemoryStore()
    store.put(
        [nm.Entry("lives in Lund", created_at=NOW), nm.Entry("lives in Oslo", created_at=NOW)]
    )
    assert len(nm.Search(store)("lives", as_of=NOW - timedelta(seconds=1))) == 0
    assert len(nm.Search(store)("lives", as_of=NOW)) == 2


def test_equal_scores_go_to_the_greater_id() -> None:
    for url in ("memory:", "sqlite::memory:"):
        store = nm.open_store(url)
        store.put([nm.Entry("same text", id=doc_id, created_at=NOW) for doc_id in "bdace"])
        hits = nm.Search(store)("same text", limit=3, now=NOW)
        assert [hit.entry.id for hit in hits] == ["e", "d", "c"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limit": -1}, nm.InvalidParameter, "limit"),
        ({"limit": 1.5}, nm.InvalidParameter, "limit"),
        ({"min_score": float("nan")}, nm.InvalidParameter, "min_score"),
        ({"now": datetime(2026, 1, 1)}, nm.InvalidEntry, "time zone"),  # noqa: DTZ001
        ({"type": "nonsense"}, nm.InvalidEntry, "semantic"),
        ({"scope": {"dataset_nam": "x"}}, nm.InvalidScope, "dataset_nam"),
        ({"scope": "alice"}, nm.InvalidScope, "Scope"),
        ({"scope": None}, nm.InvalidScope, "GLOBAL"),
        ({"vector": [float("nan"), 1]}, nm.InvalidVector, "NaN"),
    ],
)
@pytest.mark.parametrize("query", ["dark mode", ""])
def test_bad_options_are_refused(
    store: MemoryStore, options: dict, error: type, message: str, query: str
) -> None:
    with pytest.raises(error, match=message):
        nm.Search(store)(query, **options)


def test_bad_searches_are_refused(store: MemoryStore) -> None:
    with pytest.raises(nm.UnknownName, match="vector"):
        nm.Retrieval(legs=["vectr"])
    for depth in (0, 2.5, True, "30"):
        with pytest.raises(nm.InvalidParameter, match="depth must be a whole number"):
            nm.Retrieval(depth=depth)
    with pytest.raises(nm.UnknownName, match="degrade, raise"):
        nm.Search(store, on_embedder_error="ignore")
    with pytest.raises(nm.InvalidParameter, match="query must be text"):
        nm.Search(store)(5)
    with pytest.raises(nm.InvalidParameter, match="rank"):
        nm.Search(store)("Alice", now=NOW).explain(99)


def test_a_store_and_an_embedder_may_be_given_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    with pytest.raises(nm.InvalidParameter, match="settings"):
        nm.Search(f"sqlite:{file}", settings="best.toml")
    assert not file.exists()
    embedder = nm.open_embedder("hashing")
    nm.open_store(f"sqlite:{file}").put(
        [nm.Entry("Keeps bees", id="a", embedding=embedder.embed_documents(["Keeps bees"])[0])]
    )
    search = nm.Search(f"sqlite:{file}", "hashing")
    assert search.embedder.fingerprint == embedder.fingerprint
    assert [hit.entry.id for hit in search("bees")] == ["a"]
    deeper = search.replace(settings=search.settings.replace(depth=50))
    assert (deeper.store, deeper.embedder) == (search.store, search.embedder)
    assert deeper.retrieval.depth == 50
    assert nm.Search(f"sqlite:{file}", "none").embedder is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": None}, r"store must be .*, got None; .*open_store"),
        ({"store": MemoryStore}, r"store must be .*open_store"),
        ({"embedder": 3}, r"embedder must be .*, got 3; .*open_embedder"),
        ({"settings": "best.toml"}, r"settings must be Settings, got 'best.toml'; .*from_toml"),
        ({"settings": nm.Scoring()}, r"settings must be Settings, .*; give it as scoring="),
        ({"scoring": "best.toml"}, r"scoring must be a Scoring, got 'best.toml'; .*Scoring\(\)"),
        ({"retrieval": 30}, r"retrieval must be a Retrieval, got 30; .*Retrieval\(\)"),
        ({"embedder_seconds": 0}, r"embedder_seconds must be above 0, got 0"),
    ],
)
def test_what_search_does_not_take_is_refused_with_a_way_out(options: dict, message: str) -> None:
    with pytest.raises(nm.InvalidParameter, match=message):
        nm.Search(**{"store": MemoryStore(), **options})


def test_an_unknown_name_is_refused_as_where_it_is_opened() -> None:
    with pytest.raises(nm.UnknownName, match="minilm"):
        nm.Search(MemoryStore(), "minlm")
    with pytest.raises(nm.UnknownName, match="sqlite"):
        nm.Search("sqlit:mine.db")


def test_a_limit_above_the_depth_reads_deeper() -> None:
    store = MemoryStore()
    store.put(nm.Entry("same text", id=f"{at:02d}", created_at=NOW) for at in range(50))
    assert len(nm.Search(store)("same text", limit=45, now=NOW)) == 45
    shallow = nm.Search(store, retrieval=nm.Retrieval(depth=20))
    assert len(shallow("same text", limit=45, now=NOW)) == 20


def test_a_vector_that_is_given_is_taken_for_the_embedders() -> None:
    store = MemoryStore()
    made = nm.embeddings.HashingEmbedder(dimension=16)
    store.put(nm.embed([nm.Entry("dark mode", created_at=NOW)], made))
    vector = made.embed_queries(["dark mode"])[0]
    assert len(nm.Search(store, made)("dark mode", vector=vector, now=NOW)) == 1
    other = OtherFingerprint(dimension=16)
    with pytest.raises(nm.EmbeddingMismatch, match="another"):
        nm.Search(store, other)("dark mode", vector=vector, now=NOW)


class OtherFingerprint(nm.embeddings.HashingEmbedder):
    fingerprint = "another"
