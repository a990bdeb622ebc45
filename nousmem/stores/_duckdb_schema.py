"""The tables of a DuckDB store, and the opening of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nousmem.errors import StoreError
from nousmem.stores._file_faults import file_kind, reason

if TYPE_CHECKING:
    import duckdb

__all__ = ["SCHEMA_VERSION", "open_database"]

SCHEMA_VERSION: Final = 1

# The index on id is not UNIQUE: DuckDB checks such constraints eagerly and, up to version 1.1,
# refuses an id that the same transaction has just deleted. Every write deletes before it inserts.
_SCHEMA: Final = """
CREATE TABLE entries (
    id VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    importance DOUBLE NOT NULL,
    evergreen BOOLEAN NOT NULL,
    metadata JSON NOT NULL,
    agent_id VARCHAR,
    session_id VARCHAR,
    user_id VARCHAR,
    namespace VARCHAR,
    embedder VARCHAR,
    access_count BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    last_accessed_at TIMESTAMP NOT NULL,
    superseded_at TIMESTAMP,
    superseded_by VARCHAR,
    embedding FLOAT[],
    seq BIGINT NOT NULL
);
CREATE INDEX entries_by_id ON entries (id);
CREATE TABLE documents (
    seq BIGINT NOT NULL,
    n_terms INTEGER NOT NULL
);
CREATE TABLE postings (
    term BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    tf INTEGER NOT NULL,
    n_terms INTEGER NOT NULL
);
CREATE TABLE nousmem (
    layout INTEGER NOT NULL,
    revision BIGINT NOT NULL,
    next_seq BIGINT NOT NULL,
    dimension INTEGER,
    embedder VARCHAR
);
"""


def open_database(path: str) -> duckdb.DuckDBPyConnection:
    """Open the store's file, made when it does not exist, and return a connection.

    Raises:
        StoreError: the file cannot be opened, another process has it open, it is not a DuckDB
            file, or it is somebody else's.
    """
    import duckdb

    if file_kind(path) == "sqlite":  # for which DuckDB would download an extension
        raise StoreError(f"cannot open the DuckDB store {path}: {reason(path, kind='duckdb')}")
    try:
        connection = duckdb.connect(path)
    except duckdb.IOException as error:
        if "set lock" in str(error):
            raise StoreError(
                f"{path} is open in another process, and a DuckDB file that is open for writing "
                f"belongs to one process: close it there, or share a sqlite: store ({error})"
            ) from error
        cause = reason(path, kind="duckdb") or error
        raise StoreError(f"cannot open the DuckDB store {path}: {cause}") from error
    except duckdb.Error as error:
        raise StoreError(f"cannot open the DuckDB store {path}: {error}") from error
    try:
        _prepare(connection, path)
    except duckdb.Error as error:
        connection.close()
        raise StoreError(f"cannot open the DuckDB store {path}: {error}") from error
    except StoreError:
        connection.close()
        raise
    return connection


def _prepare(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    # In a notebook DuckDB would draw one below every longer statement.
    connection.execute("SET enable_progress_bar = false")
    in_file = connection.execute(
        "SELECT path IS NOT NULL FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchall()[0][0]
    if not in_file and path and not path.startswith(":memory:"):
        # Views of a .csv, .json or .parquet file, in a database that nothing keeps.
        raise StoreError(
            f"{path} is a data file, which DuckDB only reads: give nousmem a file of its own, "
            "such as memories.duckdb"
        )
    rows = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    ).fetchall()
    tables = {row[0] for row in rows}
    if not tables:
        connection.execute("BEGIN")
        connection.execute(_SCHEMA)
        connection.execute("INSERT INTO nousmem VALUES (?, 0, 1, NULL, NULL)", [SCHEMA_VERSION])
        connection.execute("COMMIT")
        return
    if not {"nousmem", "entries"} <= tables:
        raise StoreError(
            f"{path} is a DuckDB file of another program: give nousmem a file of its own"
        )
    rows = connection.execute("SELECT layout FROM nousmem").fetchall()
    if len(rows) != 1:
        raise StoreError(
            f"{path} is damaged: its table nousmem has {len(rows)} rows instead of 1; restore a "
            "backup"
        )
    layout = rows[0][0]
    if layout > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer nousmem (layout {layout}, this one reads "
            f"{SCHEMA_VERSION}): upgrade nousmem"
        )
