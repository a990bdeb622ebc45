"""The contract of a store, for each way a PostgreSQL store can be opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from nousmem.stores._postgres import PostgresStore
from nousmem.testing import StoreConformance

psycopg = pytest.importorskip("psycopg")

EMPTY = """
DELETE FROM {schema}.entries; DELETE FROM {schema}.vectors;
DELETE FROM {schema}.postings; DELETE FROM {schema}.words;
DROP INDEX IF EXISTS {schema}.vectors_nearest;
UPDATE {schema}.facts SET n_entries = 0, n_terms = 0, n_vectors = 0, dimension = NULL,
    embedder = NULL
"""


class PostgresConformance(StoreConformance):
    """Gives each place a schema; one whose place is gone is emptied and given again."""

    persistent = True
    shared = True
    random_sequences = 10
    options: ClassVar[str] = ""
    url: ClassVar[str] = ""
    schemas: ClassVar[dict[str, Path]] = {}
    connection: ClassVar[Any]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def server(cls, postgres_url: str) -> Iterator[None]:
        cls.url, cls.schemas = postgres_url, {}
        with psycopg.connect(postgres_url, autocommit=True) as cls.connection:
            yield

    @pytest.fixture(autouse=True)
    def free_schemas(self) -> Iterator[None]:
        yield
        self.schemas.update(dict.fromkeys(self.schemas, Path("gone")))

    def open_store(self, place: Path) -> PostgresStore:
        known = [schema for schema, taken in self.schemas.items() if taken == place]
        free = [schema for schema, taken in self.schemas.items() if not taken.exists()]
        schema = f"{type(self).__name__}_{len(self.schemas)}".lower()
        if known:
            schema = known[0]
        elif free:
            schema = free[0]
            self.connection.execute(EMPTY.format(schema=schema))
        self.schemas[schema] = place
        return PostgresStore(f"{self.url}&schema={schema}{self.options}")


class TestBM25(PostgresConformance):
    pass


class TestTsvector(PostgresConformance):
    options = "&text=tsvector"
    unspaced_text = False


class TestHNSW(PostgresConformance):
    options = "&hnsw=true"
