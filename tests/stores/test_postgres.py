"""PostgresStore, where it differs from other stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nousmem
from nousmem import (
    EmbeddingMismatch,
    Entry,
    EntryNotFound,
    InvalidEntry,
    Scope,
    StoreError,
)
from nousmem.stores._postgres import PostgresStore
from nousmem.stores._sqlite import SQLiteStore
from nousmem.stores.base import ScoredEntries

psycopg = pytest.importorskip("psycopg")


def run_sql(url: str, *statements: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


Open = Callable[..., PostgresStore]
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
# The planner takes an index wherever it can.
FORCED = (
    "&options=-c%20enable_seqscan%3Doff%20-c%20enable_bitmapscan%3Doff%20-c%20enable_sort%3Doff"
)


def entries(n: int, *, dimension: int = 8, seed: int = 0, **fields: object) -> list[Entry]:
    vectors = np.random.default_rng(seed).standard_normal((n, dimension))
    return [
        Entry(f"note {i}", id=f"{i:05}", embedding=vectors[i], created_at=T0, **fields)
        for i in range(n)
    ]


def found(hits: ScoredEntries) -> list[str]:
    return [entry.id for entry, _ in hits]


def test_writes_leave_no_orphans_and_right_counts(open_postgres: Open) -> None:
    store = open_postgres()
    random = np.random.default_rng(3)
    words = ["garden", "gardens", "bridge", "river", "用户喜欢", "lamp lamp lamp"]
    for _ in range(60):
        names = [str(i) for i in random.integers(0, 12, 3)]
        if random.random() < 0.3:
            store.delete(names)
        else:
            content = " ".join(random.choice(words, 3))
            vector = None if random.random() < 0.4 else random.standard_normal(3)
            store.put([Entry(content, id=name, embedding=vector) for name in names])
    assert store.check() == []
    store.delete([entry.id for entry in store.list()])
    assert store.check() == []
    assert store._connection.run("SELECT count(*) FROM words").fetchone() == (0,)


def test_a_refused_put_leaves_counts_alone(open_postgres: Open) -> None:
    store = open_postgres()
    store.put(entries(3))
    before = store._facts()
    with pytest.raises(EmbeddingMismatch):
        store.put([Entry("new words here", id="x"), Entry("y", id="00001", embedding=[1, 2])])
    assert store._facts() == before
    assert store.check() == []


def test_several_writers_at_once(open_postgres: Open) -> None:
    open_postgres()

    def write(worker: int) -> None:
        store = open_postgres()
        for i in range(8):
            name = f"{worker}-{i}" if i % 2 else f"shared-{i}"
            store.put([Entry(f"common word{worker} word{i}", id=name, embedding=[1, worker, i])])
            store.touch(["shared-0"], now=T0)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    store = open_postgres()
    assert len(store.list()) == 4 * 4 + 4
    assert len(store.search_text("common", limit=100)) == 20
    assert store.check() == []


def test_one_store_in_several_threads(open_postgres: Open) -> None:
    store = open_postgres()
    store.put(entries(20))
    with ThreadPoolExecutor(4) as pool:
        hits = list(pool.map(lambda _: found(store.search_text("note", limit=30)), range(20)))
    assert all(len(ids) == 20 for ids in hits)


def test_open_store_reads_the_options_of_the_url(postgres_url: str, open_postgres: Open) -> None:
    schema = open_postgres()._url.schema
    with nousmem.open_store(f"{postgres_url}&schema={schema}&text=tsvector&hnsw=true") as store:
        store.put(entries(1))
        assert "hnsw" in str(
            run_sql(postgres_url, f"SELECT indexdef FROM pg_indexes WHERE schemaname = '{schema}'")
        )


@pytest.mark.parametrize("share", [0.01, 0.002, 0.3])
@pytest.mark.parametrize("settings", ["", "%20-c%20hnsw.max_scan_tuples%3D50"])
def test_hnsw_fills_the_limit_in_a_narrow_scope(
    open_postgres: Open, share: float, settings: str
) -> None:
    """Also where the index is forced on the planner, and where its scan ends early."""
    store = open_postgres(FORCED + settings, hnsw=True)
    given = entries(3000)
    random = np.random.default_rng(1)
    owners = random.random(3000) < share
    store.put(
        [
            entry.replace(user_id="alice" if mine else "bob")
            for entry, mine in zip(given, owners, strict=True)
        ]
    )
    own = [entry for entry, mine in zip(given, owners, strict=True) if mine]
    for _ in range(5):
        query = random.standard_normal(8)
        hits = store.search_vector(query, scope={"user_id": "alice"}, min_score=-2)
        assert len(hits) == min(10, len(own))
        cosines = sorted((cosine(entry.embedding, query) for entry in own), reverse=True)
        assert [score for _, score in hits][:3] == pytest.approx(cosines[:3], abs=1e-6)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(float), b.astype(float)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_hnsw_is_used_and_finds_nearly_all(open_postgres: Open) -> None:
    exact, approximate = open_postgres(FORCED), open_postgres(FORCED, hnsw=True)
    exact.put(entries(3000, dimension=16))
    queries = np.random.default_rng(2).standard_normal((20, 16))
    same = 0
    for query in queries:
        wanted = exact.search_vector(query)
        got = approximate.search_vector(query)
        assert len(got) == 10
        same += len(set(found(wanted)) & set(found(got)))
    assert same >= 190
    for store, used in ((exact, False), (approximate, True)):
        plans: list[str] = []
        run = store._connection.run

        def explain(statement: str, values: Any = (), run: Any = run, plans: Any = plans) -> Any:
            if "FROM vectors" in statement:
                plans.extend(row[0] for row in run(f"EXPLAIN {statement}", values).fetchall())
            return run(statement, values)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store._connection, "run", explain)
            store.search_vector(queries[0])
        assert any("vectors_nearest" in line for line in plans) == used


def test_an_emptied_store_takes_another_dimension(open_postgres: Open) -> None:
    store = open_postgres(hnsw=True)
    store.put(entries(20))
    store.put([entry.replace(embedding=[1.0, 2.0, 3.0]) for entry in entries(20)])
    assert len(store.search_vector([1.0, 2.0, 3.0], limit=50)) == 20
    assert store.check() == []
    index = store._connection.run("SELECT indexdef FROM pg_indexes WHERE indexname LIKE '%nearest'")
    assert any("vector(3)" in row[0] for row in index.fetchall())


def test_dimensions_beyond_the_index_and_the_type_are_refused(open_postgres: Open) -> None:
    store = open_postgres(hnsw=True)
    with pytest.raises(StoreError, match="2000 dimensions"):
        store.put([Entry("x", id="a", embedding=np.ones(2001))])
    with pytest.raises(StoreError, match="16000 dimensions"):
        store.put([Entry("x", id="a", embedding=np.ones(70_000))])
    assert store.list() == []
    plain = open_postgres()
    assert plain.check() == []


def test_a_large_vector_is_kept_and_found(open_postgres: Open, postgres_url: str) -> None:
    store = open_postgres()
    vectors = np.random.default_rng(0).standard_normal((4, 3072)).astype(np.float32)
    store.put([Entry(f"{i}", id=f"{i}", embedding=row) for i, row in enumerate(vectors)])
    assert np.array_equal(store.get("2").embedding, vectors[2])
    assert found(store.search_vector(vectors[3]))[0] == "3"


def test_scores_agree_with_other_stores(open_postgres: Open) -> None:
    given = entries(200, dimension=32)
    stores = [open_postgres(), SQLiteStore()]
    for store in stores:
        store.put(given)
    query = np.random.default_rng(9).standard_normal(32)
    ours, theirs = (store.search_vector(query, limit=50) for store in stores)
    assert found(ours) == found(theirs)
    assert [score for _, score in ours] == pytest.approx([s for _, s in theirs], abs=1e-6)
    stores[1].close()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab\u00e9\"\\' {}"), inner),
    max_leaves=12,
)


def test_metadata_is_kept_exactly(open_postgres: Open) -> None:
    store = open_postgres()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.dictionaries(st.text("ab\u00e9\"\\' {}"), JSON, max_size=5))
    @example({"b": 1, "a": 2, "big": 10**400, "x": [1e308, 5e-324, -0.0, 1.0, 1e22, 10**22]})
    @example({"text": "\u0001\u2028\U0001f600", "": {"": []}})
    def keeps(metadata: dict[str, object]) -> None:
        store.put([Entry("x", id="a", metadata=metadata)])
        assert json.dumps(store.get("a").metadata) == json.dumps(metadata)

    keeps()
    store.put([Entry("x", id="a", metadata={"colour": "red"})])
    chosen = store._connection.run(
        'SELECT id FROM entries WHERE metadata::jsonb @> \'{"colour": "red"}\''
    )
    assert chosen.fetchall() == [("a",)]


def test_what_the_database_cannot_hold_equals_nothing(open_postgres: Open) -> None:
    store = open_postgres()
    store.put([Entry("x", id="a", user_id="alice", embedding=[1, 2])])
    for text in ("a\x00", "\ud800", "\x00"):
        with pytest.raises(EntryNotFound):
            store.get(text)
        assert store.delete([text]) == 0
        assert store.touch([text, "a"], now=T0) == 1
        for scope in ({"user_id": text}, Scope(namespace=text), {"content": text}):
            assert store.list(scope=scope) == []
            assert store.search_text("x", scope=scope) == []
            assert store.search_vector([1, 2], scope=scope) == []


@pytest.mark.parametrize("field", ["id", "user_id", "agent_id", "session_id", "namespace"])
def test_long_ids_and_scope_fields(open_postgres: Open, field: str) -> None:
    store = open_postgres()
    longest = "".join(chr(33 + i * 7919 % 90) for i in range(2600))
    store.put([Entry("x", **{"id": "a", field: longest})])
    assert len(store.list(scope={field: longest})) == 1
    with pytest.raises(InvalidEntry, match=field):
        store.put([Entry("y", id="b"), Entry("x", **{"id": "c", field: longest + "é"})])
    assert len(store.list()) == 1


def test_a_reader_sees_one_state(open_postgres: Open) -> None:
    """Between two statements of a search another process may write."""
    reader, writer = open_postgres(), open_postgres()
    reader.put([Entry("river bank", id="a"), Entry("river boat", id="b")])
    run = reader._connection.run

    def meddle(statement: str, values: Any = ()) -> Any:
        rows = run(statement, values)
        if "FROM facts" in statement:
            writer.delete(["a", "b"])
        return rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader._connection, "run", meddle)
        assert found(reader.search_text("river")) == ["b", "a"]
    assert reader.search_text("river") == []
