"""What users of other memory systems ran into, tried on every store of ours.

Each test is one kind of fault. What the conformance suite holds every store to already, one
operation at a time, is not repeated: here are whole ways through the library, and many entries.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nousmem as nm
from nousmem.upkeep.transfer import read_entries

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
NOW = T0 + timedelta(days=400)
DIMENSION = 16
QUERY = "tea"

URLS = {
    "memory": "memory:",
    "sqlite": "sqlite::memory:",
    "duckdb": "duckdb::memory:",
    "duckdb-bm25": "duckdb::memory:?text=bm25",
    "postgres": None,
}
WORD_STORES = ["sqlite", "duckdb-bm25", "postgres"]


@pytest.fixture(params=URLS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(kind: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    if URLS[kind] is not None:
        with nm.open_store(URLS[kind]) as store:
            yield store
        return
    server = request.getfixturevalue("postgres_url")
    schema = f"faults_{uuid.uuid4().hex[:12]}"
    with nm.open_store(f"{server}&schema={schema}") as store:
        yield store
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def entry(n: int, user: str | None, **fields: Any) -> nm.Entry:
    """Return an entry that every leg finds for `QUERY`, whoever's it is."""
    vector = np.random.default_rng(n).normal(size=DIMENSION) + 1
    given = {"id": f"{n:05}", "created_at": T0 + timedelta(seconds=n), "embedding": vector}
    return nm.Entry(f"tea {'and milk ' * (n % 7)}{n}", user_id=user, **{**given, **fields})


class Model:
    """Every query is the vector of ones, near to every entry."""

    fingerprint, dimension = "ones", DIMENSION

    def embed_documents(self, texts):
        return np.ones((len(texts), DIMENSION), dtype=np.float32)

    embed_queries = embed_documents


HOSTILE = [
    "", " ", "a", "A", "a ", " a", "á", "a\u0301", "a_", "a%", "%", "_", "%%", "a*", "*", "?",
    "a-b", "a_b", "a.b", "a:b", "a/b", "a\\b", "a\\_b", "a|b", "ab", "a,b", "a\x1fb", "a\nb",
    "a\tb", "a'b", "a''b", 'a"b', "a`b", "a;b", "' OR '1'='1", "'; DROP TABLE entries; --",
    '") OR 1=1 --', "null", "NULL", "None", "0", "00", "false", "{}", "[]", '{"a": 1}', "$1",
    "%s", "用户", "\U0001f600",
]  # fmt: skip
assert len(set(HOSTILE)) == 50


def read_paths(store: Any, folder: Path) -> dict[str, Callable[[nm.Scope], list[nm.Entry]]]:
    """Return every way to read a scope, each giving all it can."""
    search = nm.Search(store, Model(), retrieval=nm.Retrieval(depth=10_000))
    forgetful = search.replace(scoring=nm.Scoring(decay_lambda=5, w_importance=0))

    def hits(scope: nm.Scope, run: nm.Search = search, **options: Any) -> nm.Hits:
        return run(QUERY, scope=scope, limit=10_000, now=NOW, **options)

    def exported(scope: nm.Scope) -> list[nm.Entry]:
        nm.export_entries(store, folder / "scope.jsonl", scope=scope)
        return list(read_entries(folder / "scope.jsonl"))

    def by_id(scope: nm.Scope) -> list[nm.Entry]:
        wanted = {"user_id": scope.user_id}
        ids = [f"{n:05}" for n in (0, 251, 502, 753)]
        return [one for i in ids for one in store.list(scope={**wanted, "id": i})]

    return {
        "list": lambda scope: store.list(scope=scope, include_superseded=True),
        "list by id": by_id,
        "text": lambda scope: [
            one for one, _ in store.search_text(QUERY, scope=scope, limit=10_000)
        ],
        "vector": lambda scope: [
            one
            for one, _ in store.search_vector(
                np.ones(DIMENSION), scope=scope, limit=10_000, min_score=-2
            )
        ],
        "hits": lambda scope: [hit.entry for hit in hits(scope)],
        "suppressed": lambda scope: [
            hit.entry for hit in hits(scope, forgetful, min_score=1e-12).suppressed
        ],
        "export": exported,
        "duplicates": lambda scope: [
            one
            for group in nm.find_duplicates(store, scope=scope, similarity=0.0)
            for one in group.entries
        ],
    }


class TestNothingCrossesAScope:
    def test_no_read_shows_a_foreign_row(self, store: Any, tmp_path: Path) -> None:
        owner = {f"{n:05}": HOSTILE[n % 50] for n in range(1000)}
        store.put([entry(n, HOSTILE[n % 50]) for n in range(1000)])
        store.put([entry(n, None) for n in range(1000, 1020)])
        wanted = dict.fromkeys(HOSTILE, 20)
        for name, read in read_paths(store, tmp_path).items():
            seen = dict.fromkeys(HOSTILE, 0)
            for user in HOSTILE:
                found = read(nm.Scope(user_id=user))
                foreign = [one.id for one in found if owner.get(one.id) != user]
                assert foreign == [], f"{name} for {user!r}"
                assert {one.user_id for one in found} <= {user}, name
                seen[user] = len({one.id for one in found})
            if name == "list by id":
                assert sum(seen.values()) == 4
            elif name in ("suppressed", "duplicates"):
                assert sum(seen.values()) > 500, name
            else:
                assert seen == wanted, name

    def test_forget_takes_one_user_and_no_other(self, store: Any) -> None:
        for user in HOSTILE:
            store.put([entry(n, user, id=f"{n}{user}") for n in range(3)])
        store.put([entry(n, None) for n in range(3)])
        left = set(HOSTILE)
        for user in HOSTILE[::-1]:
            assert store.forget(nm.Scope(user_id=user)) == 3, user
            left.remove(user)
            if len(left) % 10 == 3:
                assert {one.user_id for one in store.list()} == {*left, None}
        assert store.forget(nm.Scope(user_id="a")) == 0
        assert len(store.list()) == 3
        assert store.check() == []

    def test_forgetting_an_agent_leaves_what_others_share(self, store: Any) -> None:
        store.put([entry(1, "ada", agent_id="one"), entry(2, "ada", agent_id="two")])
        store.put([entry(3, "ada"), entry(4, None, agent_id="one", namespace="team")])
        assert store.forget(nm.Scope(agent_id="one", user_id="ada")) == 1
        assert [one.id for one in store.list()] == ["00002", "00003", "00004"]
        for nothing in (nm.GLOBAL, nm.Scope(), {}):
            with pytest.raises(nm.InvalidScope):
                store.forget(nothing)
        assert len(store.search_text(QUERY)) == 3

    @pytest.mark.parametrize("scope", [{"user": "ada"}, {"userid": "ada"}, {"user_id ": "ada"}])
    def test_a_misspelt_field_is_never_no_filter(
        self, store: Any, tmp_path: Path, scope: dict[str, str]
    ) -> None:
        store.put([entry(1, "ada"), entry(2, "bo")])
        for name, read in {
            **read_paths(store, tmp_path),
            "forget": store.forget,
            "blank search": lambda scope: nm.Search(store)(" ", scope=scope),
        }.items():
            if name != "list by id":
                with pytest.raises(nm.InvalidScope, match=next(iter(scope)).strip()):
                    read(scope)
        assert len(store.list()) == 2

    def test_a_page_is_full_and_the_best_of_ones_own(self, store: Any, kind: str) -> None:
        n = 2000 if kind.startswith("duckdb") else 10_000
        users = [f"user{i}" for i in range(10)]
        rng = np.random.default_rng(8)
        # One user has one entry in a hundred, and the rest share what is left.
        owners = np.where(rng.random(n) < 0.01, 0, rng.integers(1, 10, n))
        entries = [entry(i, users[owner]) for i, owner in enumerate(owners)]
        store.put(entries)
        matrix = np.stack([one.embedding for one in entries]).astype(np.float64)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        everything = store.search_text("tea 1234", limit=n)
        for at, user in enumerate(users):
            scope = nm.Scope(user_id=user)
            query = rng.normal(size=DIMENSION)
            own = np.flatnonzero(owners == at)
            assert own.size >= 10
            best = own[np.argsort(-(matrix[own] @ query))][:10]
            found = store.search_vector(query, scope=scope, limit=10, min_score=-2)
            assert [one.id for one, _ in found] == [f"{i:05}" for i in best]
            found = store.search_text("tea 1234", scope=scope, limit=10)
            theirs = [one.id for one, _ in everything if one.user_id == user]
            assert [one.id for one, _ in found] == theirs[:10]
            expected = min(10, len(theirs))
            assert len(found) == expected
            if kind not in ("duckdb", "memory"):
                assert expected == 10
            hits = nm.Search(store, Model())("tea 1234", scope=scope, limit=10, now=NOW)
            assert len(hits) == 10
            assert {hit.entry.user_id for hit in hits} == {user}


PLAIN = [
    "AC/DC vol. 2", "park.", "what's the budget, roughly?", "POL-358", "multi-agent", "-deploy",
    "col:term", '"unbal', "(x", "C++", "C#", "50%", "C:\\repo\\src\\main.py", "install.sh | bash",
    "some/path", "AND", "NOT", "NEAR", "NEAR(a b, 5)", "terms MATCH 'x'", "a^2", "{near} me",
    "rowid:1", "100_000", "O'Hara's", "x*", "[a-z]+", "$1 %s :name ?1", "\\d\\w", "SELECT * FROM x",
]  # fmt: skip


LANGUAGES = {
    "Chinese": ("用户喜欢混合检索，不喜欢广告", "混合检索", "他每天早上喝一杯咖啡"),
    "Japanese": ("私は東京に住んでいて猫が二匹います", "東京", "コーヒーを毎朝飲みます"),
    "Korean": ("사용자는 어두운 화면을 좋아합니다", "어두운", "매일 아침 커피를 마십니다"),
    "Thai": ("ผู้ใช้ชอบกาแฟดำทุกเช้า", "กาแฟ", "เขาเดินทางไปทำงานด้วยรถไฟ"),
    "Tamil": ("அவர் தமிழ் மொழியை விரும்புகிறார்", "தமிழ்", "காலையில் காபி குடிக்கிறார்"),
    "Arabic": ("المستخدم يفضل الوضع الداكن", "الداكن", "يشرب القهوة كل صباح"),
}


class TestTextSearch:
    def test_any_text_finds_the_memory_that_has_it(self, store: Any) -> None:
        store.put([nm.Entry(query, id=f"{n}", namespace=f"{n}") for n, query in enumerate(PLAIN)])
        store.put([nm.Entry(f"walk {n} by the sea") for n in range(20)])
        search = nm.Search(store)
        for n, query in enumerate(PLAIN):
            scores = {one.id: score for one, score in store.search_text(query, limit=99)}
            assert scores[f"{n}"] == max(scores.values()), query
            for asked in (query, query.lower(), query.upper()):
                hits = search(asked, scope={"namespace": f"{n}"}, now=NOW)
                assert [hit.entry.id for hit in hits] == [f"{n}"], asked
        assert len(store.list()) == len(PLAIN) + 20

    @pytest.mark.parametrize("kind", WORD_STORES, indirect=True)
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_other_scripts_are_found_without_vectors(self, store: Any, language: str) -> None:
        content, word, other = LANGUAGES[language]
        store.put([nm.Entry(content, id="wanted"), nm.Entry(other, id="other")])
        store.put([nm.Entry(f"an English note {n}", id=f"{n}") for n in range(50)])
        assert [one.id for one, _ in store.search_text(word)] == ["wanted"]
        assert [one.id for one, _ in store.search_text(f"English or {word}", limit=1)] == ["wanted"]
        assert store.search_text(content)[0][0].id == "wanted"

    def test_what_was_just_written_is_found(self, store: Any) -> None:
        """In a store that has been searched already, whichever way the row came."""
        store.put([entry(n, "ada") for n in range(200)])
        for n in range(12):
            word = f"zebra{n}"
            vector = np.eye(DIMENSION)[n % DIMENSION] * -1
            store.put([nm.Entry(word, id="fresh", embedding=vector)])
            assert store.search_text(word)[0][0].id == "fresh"
            assert store.search_vector(vector, limit=1)[0][0].id == "fresh"
            store.update("fresh", content=f"lynx{n}", embedding=-vector)
            assert store.search_text(f"lynx{n}")[0][0].id == "fresh"
            hits = store.search_vector(-vector, limit=300)
            assert "fresh" in [one.id for one, score in hits if score > 0.999]
            store.delete(["fresh"])
            assert "fresh" not in [one.id for one, _ in store.search_text(f"lynx{n}")]


class TestChanges:
    def test_a_reused_id_has_nothing_of_its_past(self, store: Any) -> None:
        rng = np.random.default_rng(3)
        model: dict[str, nm.Entry] = {}
        for step in range(60):
            ids = [f"id{n}" for n in rng.choice(20, size=5, replace=False)]
            if model:  # what a search keeps in memory has to follow
                store.search_vector(np.ones(DIMENSION))
            if step % 3 == 0:
                store.delete(ids)
                model = {i: one for i, one in model.items() if i not in ids}
            else:
                fresh = [
                    entry(
                        step * 100 + n,
                        f"user{step % 2}",
                        id=i,
                        **({"embedding": None} if n % 2 else {}),
                    )
                    for n, i in enumerate(ids)
                ]
                store.put(fresh)
                model.update((one.id, one) for one in fresh)
        assert store.check() == []
        assert {one.id: one for one in store.list()} == model
        embedded = {i for i, one in model.items() if one.embedding is not None}
        assert 0 < len(embedded) < len(model)
        found = store.search_vector(np.ones(DIMENSION), limit=999, min_score=-2)
        assert {one.id for one, _ in found} == embedded
        assert {one.id for one, _ in store.search_text(QUERY, limit=999)} == set(model)
        for one in model.values():
            if one.embedding is not None:
                best, score = store.search_vector(one.embedding, limit=1)[0]
                assert (best.id, score) == (one.id, pytest.approx(1, abs=1e-6))
        store.delete(list(model))
        assert store.search_text(QUERY) == []
        assert store.search_vector(np.ones(3)) == [], "an empty store takes any length again"
        assert store.check() == []

    def test_metadata_keys_never_meet_the_fields(self, store: Any) -> None:
        names = ["id", "content", "type", "user_id", "session_id", "seq", "terms", "embedding", ""]
        metadata = {name: f"mine: {name}" for name in names}
        store.put([entry(1, "ada", metadata=metadata)])
        store.update("00001", content="coffee", now=NOW)
        store.touch(["00001"], now=NOW)
        (one,) = store.list(scope={"user_id": "ada"})
        assert one.metadata == metadata
        assert (one.content, one.user_id, one.type) == ("coffee", "ada", "semantic")

    @pytest.mark.parametrize("make", [list, tuple, np.array, np.float32, np.float16], ids=repr)
    def test_a_vector_may_be_anything_of_numbers(self, store: Any, make: Callable) -> None:
        def vector(*numbers: float) -> Any:
            return make(numbers)

        store.put([nm.Entry("tea", id="a", embedding=vector(1.0, 0.5))])
        store.update("a", embedding=vector(0.25, 1.0))
        assert store.get("a").embedding.tolist() == [0.25, 1.0]
        ((_, score),) = store.search_vector(vector(0.25, 1.0))
        assert score == pytest.approx(1, abs=1e-6)
        (hit,) = nm.Search(store)("tea", vector=vector(0.25, 1.0), now=NOW)
        assert hit.entry.id == "a"


def test_readers_are_not_in_each_others_way(store: Any) -> None:
    """Threads that search while one writes: no error, no half of a batch, no foreign row."""
    store.put([entry(n, f"user{n % 4}") for n in range(200)])
    done = False

    def read(at: int) -> int:
        count = 0
        scope = nm.Scope(user_id=f"user{at % 4}")
        search = nm.Search(store, Model(), retrieval=nm.Retrieval(depth=500))
        while not done or count == 0:
            hits = search(QUERY, scope=scope, limit=500, now=NOW)
            assert {hit.entry.user_id for hit in hits} == {scope.user_id}
            assert len(store.list(scope={"namespace": "batch"})) % 5 == 0
            count += 1
        return count

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read, at) for at in range(4)]
        try:
            for batch in range(10):
                first = 1000 + batch * 5
                store.put([entry(first + n, f"user{n % 4}", namespace="batch") for n in range(5)])
        finally:
            done = True
        assert all(reader.result(timeout=100) for reader in readers)
    assert len(store.list()) == 250
    assert store.check() == []


@pytest.mark.parametrize(
    "url",
    [
        "memory:?text=bm25",
        "sqlite::memory:?text=bm25",
        "duckdb::memory:?txt=bm25",
        "duckdb::memory:?text=bm26",
    ],
)
def test_an_option_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(nm.InvalidParameter):
        nm.open_store(url)


def test_a_selective_scope_under_an_approximate_index(postgres_url: str) -> None:
    schema = f"faults_{uuid.uuid4().hex[:12]}"
    with nm.open_store(f"{postgres_url}&schema={schema}&hnsw=true") as store:
        store.put([entry(n, "rare" if n % 100 == 7 else "common") for n in range(2000)])
        for seed in range(10):
            query = np.random.default_rng(seed).normal(size=DIMENSION)
            found = store.search_vector(query, scope={"user_id": "rare"}, limit=10, min_score=-2)
            assert len(found) == 10
            assert {one.user_id for one, _ in found} == {"rare"}
        store.forget(nm.GLOBAL, everything=True)
