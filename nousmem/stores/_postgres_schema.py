"""The tables of a PostgreSQL store, and how they come to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nousmem.errors import StoreError
from nousmem.stores._postgres_connection import PostgresConnection
from nousmem.stores._vector_index import EmbeddingSpace

__all__ = [
    "MAX_DIMENSION",
    "SCHEMA_VERSION",
    "Facts",
    "prepare_schema",
    "use_schema",
]

SCHEMA_VERSION: Final = 1
MAX_DIMENSION: Final = 16_000
"""What pgvector's type holds."""

_CREATION_LOCK: Final = 0x6E6F7573  # "nous"; one for all schemas, since they share the extension
_LEAST_PGVECTOR: Final = (0, 8)  # scans an HNSW index on until the limit is filled

_TABLES: Final = """
CREATE TABLE facts (
    single_row boolean PRIMARY KEY DEFAULT TRUE CHECK (single_row),
    version integer NOT NULL,
    n_entries bigint NOT NULL DEFAULT 0,
    n_terms bigint NOT NULL DEFAULT 0,
    n_vectors bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0,
    dimension integer,
    embedder text,
    hnsw boolean NOT NULL DEFAULT FALSE
);
COMMENT ON TABLE facts IS 'Written first by every writer, who thereby waits for the others';
CREATE TABLE entries (
    seq bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    length integer NOT NULL,
    content text NOT NULL,
    type text NOT NULL,
    importance double precision NOT NULL,
    evergreen boolean NOT NULL,
    metadata json NOT NULL,
    agent_id text,
    session_id text,
    user_id text,
    namespace text,
    embedder text,
    access_count bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_accessed_at timestamptz NOT NULL,
    superseded_at timestamptz,
    superseded_by text
) WITH (fillfactor = 90);
COMMENT ON COLUMN entries.metadata IS
    'json and not jsonb, which would change numbers and the order of keys; cast it to query it';
COMMENT ON COLUMN entries.length IS 'Terms in content, repeated ones too';
CREATE INDEX entries_by_age ON entries (created_at, id);
CREATE INDEX entries_by_user ON entries (user_id);
CREATE INDEX entries_by_agent ON entries (agent_id);
CREATE INDEX entries_by_session ON entries (session_id);
CREATE INDEX entries_by_namespace ON entries (namespace);
CREATE INDEX entries_superseded ON entries (seq) WHERE superseded_at IS NOT NULL;
CREATE TABLE vectors (
    seq bigint PRIMARY KEY,
    embedding vector NOT NULL,
    original bytea
) WITH (toast_tuple_target = 8160);
ALTER TABLE vectors ALTER embedding SET STATISTICS 0;
COMMENT ON COLUMN vectors.original IS
    'float32, little-endian: where too long or short for float32 arithmetic, and embedding is its '
    'direction';
CREATE TABLE postings (
    term text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    tf integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (term, seq) INCLUDE (tf, length)
);
CREATE INDEX postings_by_entry ON postings (seq);
CREATE TABLE words (
    term text COLLATE "C" PRIMARY KEY,
    n_entries bigint NOT NULL
) WITH (fillfactor = 90);
INSERT INTO facts (version) VALUES ({version});
"""

_ENGLISH: Final = """
ALTER TABLE entries ADD COLUMN IF NOT EXISTS english tsvector
    GENERATED ALWAYS AS (to_tsvector('pg_catalog.english', content)) STORED;
CREATE INDEX IF NOT EXISTS entries_english ON entries USING gin (english);
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a store knows of itself: the row of the table `facts`, without its version."""

    n_entries: int
    n_terms: int
    """Terms in all entries, repeated ones too."""
    n_vectors: int
    last_seq: int
    dimension: int | None
    embedder: str | None
    hnsw: bool
    """Whether vectors have an HNSW index, as soon as there are any."""

    @property
    def space(self) -> EmbeddingSpace | None:
        """What the vectors have in common; None while there are none."""
        return None if self.dimension is None else EmbeddingSpace(self.dimension, self.embedder)


def prepare_schema(connection: PostgresConnection, schema: str, *, text: str) -> None:
    """Make what is missing of the extension, the schema, the tables and the text index.

    Safe when several processes do it at once.

    Raises:
        StoreError: something is missing that this user may not make, the message has the
            statement for an administrator; the tables are somebody else's, or of a newer nousmem.
    """
    version = _version(connection, schema)
    ready = version is not None and _extension(connection) is not None
    if not ready or (text == "tsvector" and not _has_english(connection, schema)):
        with connection.writing():
            connection.run("SELECT pg_advisory_xact_lock(%s)", [_CREATION_LOCK])
            _make_extension(connection)
            version = _version(connection, schema)
            if version is None:
                _make_schema(connection, schema)
            _set_search_path(connection, schema, local=True)
            if version is None:
                connection.run_script(_TABLES.format(version=SCHEMA_VERSION))
                version = SCHEMA_VERSION
            if text == "tsvector":
                connection.run_script(_ENGLISH)
    if version is not None and version > SCHEMA_VERSION:
        raise StoreError(
            f"{connection.place} was written by a newer nousmem (layout {version}, this one reads "
            f"{SCHEMA_VERSION}): upgrade nousmem"
        )


def use_schema(connection: PostgresConnection, schema: str, *, hnsw: bool) -> None:
    """Let the connection find the tables and the extension by their bare names.

    Raises:
        StoreError: this user may not use the extension, or it is too old for `hnsw`.
    """
    home, version = _extension(connection) or ("public", "0.0")
    may_use = connection.run("SELECT has_schema_privilege(%s, 'USAGE')", [home]).fetchone()
    if may_use != (True,):
        raise StoreError(
            f"pgvector is in the schema {home!r}, which this user may not use: an administrator "
            f"must run, in the database {connection.database!r}, GRANT USAGE ON SCHEMA "
            f"{_quoted(home)} TO {_quoted(connection.user)};"
        )
    _set_search_path(connection, schema, local=False)
    connection.use_vectors()
    if hnsw and tuple(int(part) for part in version.split(".")[:2]) < _LEAST_PGVECTOR:
        raise StoreError(
            f"hnsw=True needs pgvector {_LEAST_PGVECTOR[0]}.{_LEAST_PGVECTOR[1]} or newer, the "
            f"database {connection.database!r} has {version}: an administrator must install a "
            "newer one and run ALTER EXTENSION vector UPDATE; or open the store without hnsw"
        )


def _version(connection: PostgresConnection, schema: str) -> int | None:
    """Return the layout of the store in this schema; None if there is none."""
    tables = {
        row[0]
        for row in connection.run(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = %s", [schema]
        )
    }
    if "facts" not in tables:
        strangers = tables & {"entries", "vectors", "postings", "words"}
        if strangers:
            raise StoreError(
                f"{connection.place} holds tables of another program ({', '.join(strangers)}): "
                "give nousmem a schema of its own"
            )
        return None
    row = connection.run(f"SELECT version FROM {_quoted(schema)}.facts").fetchone()
    return None if row is None else row[0]


def _has_english(connection: PostgresConnection, schema: str) -> bool:
    found = connection.run(
        "SELECT 1 FROM pg_indexes WHERE schemaname = %s AND indexname = 'entries_english'",
        [schema],
    )
    return found.fetchone() is not None


def _extension(connection: PostgresConnection) -> tuple[str, str] | None:
    """Return the schema and the version of pgvector in this database."""
    row = connection.run(
        "SELECT n.nspname::text, e.extversion FROM pg_extension AS e "
        "JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    ).fetchone()
    return None if row is None else (row[0], row[1])


def _make_extension(connection: PostgresConnection) -> None:
    import psycopg

    if _extension(connection) is not None:
        return
    try:
        connection.run("CREATE EXTENSION vector")
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the database {connection.database!r} has no pgvector, and this user may not add it: "
            f"an administrator must run, in that database, CREATE EXTENSION vector; ({error})"
        ) from error
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as error:
        raise StoreError(
            f"the server of {connection.place} has no pgvector: install it there (often the "
            "package postgresql-VERSION-pgvector), then an administrator must run, in the database "
            f"{connection.database!r}, CREATE EXTENSION vector; ({error})"
        ) from error


def _make_schema(connection: PostgresConnection, schema: str) -> None:
    import psycopg

    encoding = connection.run("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        raise StoreError(
            f"the database {connection.database!r} is encoded as {encoding}: nousmem needs UTF8"
        )
    exists = connection.run("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone()
    if exists is not None:
        return
    try:
        connection.run(f"CREATE SCHEMA {_quoted(schema)}")
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"this user may not make the schema {schema!r}: an administrator must run, in the "
            f"database {connection.database!r}, CREATE SCHEMA {_quoted(schema)} "
            f"AUTHORIZATION {_quoted(connection.user)}; ({error})"
        ) from error


def _set_search_path(connection: PostgresConnection, schema: str, *, local: bool) -> None:
    found = _extension(connection)
    names = [schema] if found is None else [schema, found[0]]
    path = ", ".join(_quoted(name) for name in names)
    connection.run("SELECT set_config('search_path', %s, %s)", [path, local])


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
