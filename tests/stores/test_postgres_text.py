"""Text search in PostgreSQL: BM25 that equals SQLite's, and tsvector."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from nousmem import Entry
from nousmem.stores._postgres import PostgresStore
from nousmem.stores._sqlite import SQLiteStore
from nousmem.stores.base import ScoredEntries

Open = Callable[..., PostgresStore]
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


def found(hits: ScoredEntries) -> list[str]:
    return [entry.id for entry, _ in hits]


def corpus(n: int) -> list[Entry]:
    """Return entries whose words are as unequally frequent as those of a language."""
    random = np.random.default_rng(5)
    chances = 1 / np.arange(1, 301)
    chances /= chances.sum()
    return [
        Entry(
            " ".join(f"w{k}" for k in random.choice(300, random.integers(1, 30), p=chances)),
            id=f"{i:04}",
            created_at=T0 + timedelta(hours=i),
            superseded_at=T0 + timedelta(hours=i + 50) if i % 9 == 0 else None,
            user_id=f"user{i % 7}",
            type="episodic" if i % 3 else "semantic",
        )
        for i in range(n)
    ]


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"limit": 1},
        {"limit": 500},
        {"scope": {"user_id": "user3"}},
        {"scope": {"user_id": "user3", "agent_id": None}, "type": "episodic"},
        {"as_of": T0 + timedelta(hours=120), "limit": 40},
        {"min_score": 0.3, "limit": 100},
    ],
    ids=str,
)
def test_scores_are_those_of_sqlite(open_postgres: Open, filters: dict[str, object]) -> None:
    store, other = open_postgres(), SQLiteStore()
    for each in (store, other):
        each.put(corpus(700))
        each.delete([f"{i:04}" for i in range(0, 700, 11)])
        each.update("0001", content="w5 w5 w5 w200", now=T0)
    random = np.random.default_rng(1)
    for _ in range(30):
        query = " ".join(f"w{k}" for k in random.integers(0, 320, 8) ** 2 // 320)
        ours, theirs = (each.search_text(query, **filters) for each in (store, other))
        assert found(ours) == found(theirs)
        assert [score for _, score in ours] == pytest.approx([s for _, s in theirs], abs=1e-12)
    other.close()


def test_entries_with_the_same_words_have_the_same_score(open_postgres: Open) -> None:
    """Sums of floats depend on their order: the tie rule must not."""
    # A plan that takes the postings as they lie in the table.
    off = ("nestloop", "mergejoin", "indexscan", "indexonlyscan", "bitmapscan")
    store = open_postgres("&options=" + "%20".join(f"-c%20enable_{name}%3Doff" for name in off))
    words = [f"word{i}" for i in range(40)]
    noise = [Entry(" ".join(words[i : i + 1 + i % 7]), id=f"noise{i}") for i in range(40)]
    same = [Entry(" ".join(words), id=f"same{i:02}") for i in range(30)]
    store.put([*noise, *same])
    store._connection.run_script(
        "CREATE TABLE shuffled AS SELECT * FROM postings ORDER BY random();"
        "DELETE FROM postings; INSERT INTO postings SELECT * FROM shuffled"
    )
    hits = store.search_text(" ".join(words), limit=30)
    assert len({score for _, score in hits}) == 1
    assert found(hits) == [f"same{i:02}" for i in reversed(range(30))]


@pytest.mark.parametrize("text", ["bm25", "tsvector"])
def test_a_question_finds_its_answer_in_a_tiny_store(open_postgres: Open, text: str) -> None:
    store = open_postgres(text=text)
    store.put([Entry("The user prefers dark mode in every editor", id="a")])
    ((entry, score),) = store.search_text("Which editor mode does the user prefer?")
    assert entry.id == "a"
    assert 0.4 < score < 1
    assert store.search_text("elephants") == []


@pytest.mark.parametrize("text", ["bm25", "tsvector"])
def test_words_are_stemmed(open_postgres: Open, text: str) -> None:
    store = open_postgres(text=text)
    store.put([Entry("notes on the deployments", id="a"), Entry("lunch", id="b")])
    assert found(store.search_text("deploying")) == ["a"]


def test_chinese_is_found_by_its_parts(open_postgres: Open) -> None:
    store = open_postgres()
    store.put([Entry("用户喜欢混合检索", id="a"), Entry("明天下雨", id="b")])
    assert found(store.search_text("混合检索")) == ["a"]


def test_tsvector_can_be_added_to_a_store_and_left_again(open_postgres: Open) -> None:
    before = open_postgres()
    before.put([Entry("old bridges", id="old")])
    during = open_postgres(text="tsvector")
    during.put([Entry("a new bridge", id="new")])
    before.put([Entry("the last bridge", id="last")])
    for store in (before, during, open_postgres()):
        assert sorted(found(store.search_text("bridge"))) == ["last", "new", "old"]


def test_tsvector_joins_words_by_or_and_prefers_more(open_postgres: Open) -> None:
    store = open_postgres(text="tsvector")
    store.put(
        [
            Entry("coffee", id="one"),
            Entry("coffee in the morning", id="two"),
            Entry("tea", id="none"),
        ]
    )
    hits = store.search_text("morning coffee & !tea | <-> :*")
    assert found(hits)[:2] == ["two", "one"]
    assert hits[0][1] > hits[1][1] > 0
    assert store.search_text("the of and") == []
