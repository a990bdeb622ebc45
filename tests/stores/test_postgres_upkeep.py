"""Looking after a PostgreSQL store: erasing, giving room back, checking, mending."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from nousmem import GLOBAL, Entry, InvalidScope, Scope
from nousmem.stores._postgres import PostgresStore
from nousmem.stores.base import KeptStore

Open = Callable[..., PostgresStore]
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


def filled(store: PostgresStore) -> PostgresStore:
    vectors = np.random.default_rng(0).standard_normal((12, 4))
    store.put(
        Entry(
            f"river walk number{i}",
            id=f"{i:02}",
            embedding=vectors[i] if i % 2 else None,
            user_id="alice" if i % 3 else "bob",
            superseded_at=T0 if i == 4 else None,
            created_at=T0,
        )
        for i in range(12)
    )
    return store


def seen(store: PostgresStore) -> list[tuple[str, float]]:
    hits = store.search_text("river number3", limit=20)
    return [(entry.id, score) for entry, score in hits]


def test_a_sound_store_has_no_faults(open_postgres: Open) -> None:
    store = open_postgres()
    assert isinstance(store, KeptStore)
    assert store.check() == []
    filled(store)
    store.delete(["03"])
    store.update("05", content="something else", now=T0)
    assert store.check() == []
    assert store.check(repair=True) == []


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE entries SET content = 'changed by hand' WHERE id = '03'", "not those of their"),
        ("DELETE FROM postings WHERE term = 'river'", "not those of their"),
        ("UPDATE postings SET length = 9 WHERE seq = 3", "not those of their"),
        ("INSERT INTO postings VALUES ('ghost', 999, 1, 1)", "index terms without an entry"),
        ("INSERT INTO vectors VALUES (999, '[1,2,3,4]')", "vectors without an entry"),
        ("UPDATE vectors SET embedding = '[1,2]' WHERE seq = 2", "of another length"),
        ("DELETE FROM entries WHERE id = '03'", "without an entry"),
        ("DELETE FROM words WHERE term = 'river'", "counts"),
        ("UPDATE facts SET n_entries = 5, n_vectors = 0", "counts"),
    ],
)
def test_damage_is_found_and_mended(open_postgres: Open, damage: str, what: str) -> None:
    store = filled(open_postgres())
    store._connection.run(damage)
    faults = store.check()
    assert any(what in fault.what for fault in faults)
    assert not any(fault.repaired for fault in faults)
    assert store.check() == faults
    assert all(fault.repaired for fault in store.check(repair=True))
    assert store.check() == []
    fresh = open_postgres("", schema=f"{store._url.schema}_fresh")
    fresh.put(store.list(include_superseded=True))
    assert seen(store) == seen(fresh)
    store._connection.run(f"DROP SCHEMA {fresh._url.schema} CASCADE")


def test_forget_erases_a_scope_and_nothing_else(open_postgres: Open) -> None:
    store = filled(open_postgres())
    for refused in ({"scope": GLOBAL}, {"scope": Scope(user_id="bob"), "everything": True}):
        with pytest.raises(InvalidScope):
            store.forget(refused.pop("scope"), **refused)
    assert store.forget(Scope(user_id="alice")) == 8
    assert {entry.user_id for entry in store.list(include_superseded=True)} == {"bob"}
    assert store.check() == []
    assert store.forget(GLOBAL, everything=True) == 4
    assert store.list(include_superseded=True) == []
    assert store.check() == []


def test_compacting_gives_room_back_and_changes_nothing(open_postgres: Open) -> None:
    store = open_postgres(hnsw=True)
    filled(store)
    store.put([Entry(f"{'word ' * 50}{i}", id=f"x{i}", embedding=[i, 1, 1, 1]) for i in range(900)])
    store.delete([f"x{i}" for i in range(900)])
    size = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND "
    size += "relnamespace = %s::regnamespace"
    (before,) = store._connection.run(size, [store._url.schema]).fetchone()
    hits, vectors = seen(store), store.search_vector([1, 2, 3, 4])
    store.compact()
    (after,) = store._connection.run(size, [store._url.schema]).fetchone()
    assert after < before / 2
    assert seen(store) == hits
    assert store.search_vector([1, 2, 3, 4]) == vectors
    assert store.check() == []
