"""How the tables of a PostgreSQL store come to be, and what is missing for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import numpy as np
import pytest

from nousmem import (
    Entry,
    StoreError,
)
from nousmem.stores._postgres import PostgresStore
from nousmem.stores.base import ScoredEntries

psycopg = pytest.importorskip("psycopg")


Open = Callable[..., PostgresStore]
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


def run_sql(url: str, *statements: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def as_user(url: str, user: str) -> str:
    return url.replace("//postgres@", f"//{user}@")


def entries(n: int, *, dimension: int = 8, seed: int = 0, **fields: object) -> list[Entry]:
    vectors = np.random.default_rng(seed).standard_normal((n, dimension))
    return [
        Entry(f"note {i}", id=f"{i:05}", embedding=vectors[i], created_at=T0, **fields)
        for i in range(n)
    ]


def found(hits: ScoredEntries) -> list[str]:
    return [entry.id for entry, _ in hits]


def test_two_processes_may_make_everything_at_once(database: str) -> None:
    barrier = Barrier(5)

    def make(_: int) -> None:
        barrier.wait()
        PostgresStore(database, text="tsvector", hnsw=True).close()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(make, range(5)))
    with PostgresStore(database) as store:
        store.put(entries(2))
        assert len(store.list()) == 2


@pytest.mark.parametrize("hnsw", [False, True])
def test_the_extension_may_be_in_another_schema(database: str, hnsw: bool) -> None:
    run_sql(database, 'CREATE SCHEMA "Ext x"', 'CREATE EXTENSION vector SCHEMA "Ext x"')
    with PostgresStore(database, schema='odd "name"; --', hnsw=hnsw) as store:
        store.put(entries(30))
        (entry,) = store.list(scope={"id": "00007"})
        assert found(store.search_vector(entry.embedding, limit=1)) == ["00007"]
        assert found(store.search_text("note 7", limit=1)) == ["00007"]


def test_the_right_to_make_the_extension_is_asked_for(user: str, database: str) -> None:
    with pytest.raises(StoreError, match=r"must run.*CREATE EXTENSION vector;"):
        PostgresStore(as_user(database, user))


def test_the_right_to_make_the_schema_is_asked_for(user: str, database: str) -> None:
    run_sql(database, "CREATE EXTENSION vector")
    with pytest.raises(StoreError, match=f'CREATE SCHEMA "mine" AUTHORIZATION "{user}"'):
        PostgresStore(as_user(database, user), schema="mine")
    run_sql(database, f"CREATE SCHEMA mine AUTHORIZATION {user}")
    with PostgresStore(as_user(database, user), schema="mine") as store:
        assert store.put(entries(1)) == 1


def test_the_right_to_use_the_extension_is_asked_for(user: str, database: str) -> None:
    run_sql(database, "CREATE SCHEMA ext", "CREATE EXTENSION vector SCHEMA ext")
    PostgresStore(database).close()
    run_sql(database, f"GRANT USAGE ON SCHEMA nousmem TO {user}")
    run_sql(database, f"GRANT SELECT ON ALL TABLES IN SCHEMA nousmem TO {user}")
    with pytest.raises(StoreError, match=f'GRANT USAGE ON SCHEMA "ext" TO "{user}"'):
        PostgresStore(as_user(database, user))
    run_sql(database, f"GRANT USAGE ON SCHEMA ext TO {user}")
    with PostgresStore(as_user(database, user)) as store:
        assert store.list() == []
        with pytest.raises(StoreError, match="permission denied"):
            store.put(entries(1))


def test_tables_of_another_program_are_left_alone(database: str) -> None:
    run_sql(database, "CREATE SCHEMA nousmem", "CREATE TABLE nousmem.entries (x int)")
    with pytest.raises(StoreError, match="another program"):
        PostgresStore(database)
    assert run_sql(database, "SELECT * FROM nousmem.entries") == []


def test_a_newer_layout_is_refused(database: str) -> None:
    PostgresStore(database).close()
    run_sql(database, "UPDATE nousmem.facts SET version = 99")
    with pytest.raises(StoreError, match="upgrade nousmem"):
        PostgresStore(database)


def test_a_database_in_another_encoding_is_refused(postgres_url: str) -> None:
    run_sql(
        postgres_url,
        "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
    )
    with pytest.raises(StoreError, match="UTF8"):
        PostgresStore(postgres_url.replace("/postgres?", "/latin?"))
