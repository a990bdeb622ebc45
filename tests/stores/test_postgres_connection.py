"""Connections that fail, break, and are opened again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from nousmem import (
    Entry,
    InvalidParameter,
    MissingDependency,
    StoreError,
)
from nousmem.stores._postgres import PostgresStore

psycopg = pytest.importorskip("psycopg")


Open = Callable[..., PostgresStore]
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


def run_sql(url: str, *statements: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def entries(n: int, *, dimension: int = 8, seed: int = 0, **fields: object) -> list[Entry]:
    vectors = np.random.default_rng(seed).standard_normal((n, dimension))
    return [
        Entry(f"note {i}", id=f"{i:05}", embedding=vectors[i], created_at=T0, **fields)
        for i in range(n)
    ]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://alice:s3cret-word@127.0.0.1:1/memories",
        "postgresql://alice@127.0.0.1:1/memories?password=s3cret-word",
    ],
)
def test_an_unreachable_server_is_named_and_the_password_is_not(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        PostgresStore(url)
    assert "127.0.0.1:1/memories" in str(caught.value)
    chain = f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert "s3cret" not in chain


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://alice:s3cret%zzword@127.0.0.1:1/memories",
        "postgresql://alice@127.0.0.1:1/memories?password=s3cret%zzword",
        "postgresql://alice:s3cret@127.0.0.1:1/memories?colour=red",
    ],
)
def test_an_invalid_url_is_explained_without_the_password(url: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        PostgresStore(url)
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_lost_connection_is_opened_again(open_postgres: Open, postgres_url: str) -> None:
    store = open_postgres()
    store.put(entries(5))
    backend = store._connection._connection.info.backend_pid
    run_sql(postgres_url, f"SELECT pg_terminate_backend({backend}, 5000)")
    assert len(store.search_vector(entries(1)[0].embedding, min_score=-2)) == 5
    assert store.put(entries(6)) == 6
    assert store._connection._connection.info.backend_pid != backend


def test_a_connection_lost_within_a_write_loses_the_write(
    open_postgres: Open, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_postgres()
    store.put(entries(2))
    backend = store._connection._connection.info.backend_pid

    def lose(self: PostgresStore, facts: object) -> None:
        run_sql(postgres_url, f"SELECT pg_terminate_backend({backend}, 5000)")
        self._connection.run("SELECT 1")

    with monkeypatch.context() as patched:
        patched.setattr(PostgresStore, "_save", lose)
        with pytest.raises(StoreError, match="cannot use the PostgreSQL store"):
            store.put(entries(9))
    assert len(store.list()) == 2
    assert store.put(entries(3)) == 3


def test_a_closed_store_says_so(open_postgres: Open) -> None:
    store = open_postgres()
    store.close()
    for use in (store.list, lambda: store.put(entries(1)), lambda: store.search_text("x")):
        with pytest.raises(StoreError, match="closed"):
            use()


@pytest.mark.parametrize("package", ["psycopg", "pgvector"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "psycopg" if package == "psycopg" else "pgvector.psycopg", None
    )
    with pytest.raises(MissingDependency, match=rf"{package}.*nousmem\[postgres\]"):
        PostgresStore("postgresql://127.0.0.1:1/x")
