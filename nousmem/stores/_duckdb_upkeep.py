"""Looking after a DuckDB store: what does not fit together, and giving room back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nousmem.errors import StoreError
from nousmem.stores import _duckdb_bm25 as bm25
from nousmem.stores.base import Fault

if TYPE_CHECKING:
    import duckdb

__all__ = ["check_tables", "compact_file"]

_COPY: Final = "nousmem_compacted"
_EXPECTED: Final = "expected_"

_REPEATED: Final = (
    "(SELECT rowid AS row_at, row_number() OVER (PARTITION BY {column} ORDER BY seq DESC, "
    "rowid DESC) AS place FROM entries QUALIFY place > 1)"
)

# A product in double precision neither overflows nor vanishes for any float32 but zero itself.
_SQUARE: Final = "list_dot_product(embedding::DOUBLE[], embedding::DOUBLE[])"
_UNFIT_VECTOR: Final = (
    "embedding IS NOT NULL AND CASE WHEN len(embedding) != $dimension "
    "OR list_count(embedding) != $dimension OR embedder != $embedder THEN TRUE "
    f"ELSE {_SQUARE} = 0 OR NOT isfinite({_SQUARE}) END"
)


def compact_file(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Put a copy without anything that was deleted in the place of the file.

    DuckDB cannot shrink a file, nor blank what it has freed. Until the copy is whole the file is
    as it was; then one takes the other's place in one step.

    Args:
        connection: The only one to the file; closed by this, if it does not fail before.
        path: The file.

    Raises:
        StoreError: another connection has the file open, or the copy cannot be written; the file
            is as it was.
    """
    file = Path(path).resolve()
    copy = _beside(file, ".compacting")
    try:
        _remove(copy)
        revision = _write_copy(connection, copy)
        connection.close()
        _swap(file, copy, revision=revision)
    except OSError as error:
        raise StoreError(f"cannot compact {path}: {error.strerror or error}") from error
    finally:
        _remove(copy)


def _write_copy(connection: duckdb.DuckDBPyConnection, copy: Path) -> int:
    """Write the copy, and return the revision of the store that is in it."""
    # What the log still holds would be read again, on top of the copy.
    connection.execute("CHECKPOINT")
    name = str(_value(connection, "SELECT current_database()")).replace('"', '""')
    place = str(copy).replace("'", "''")
    connection.execute(f"ATTACH '{place}' AS {_COPY}")
    try:
        connection.execute(f'COPY FROM DATABASE "{name}" TO {_COPY}')
        return int(_value(connection, f"SELECT revision FROM {_COPY}.nousmem"))
    finally:
        connection.execute(f"DETACH {_COPY}")


def _swap(file: Path, copy: Path, *, revision: int) -> None:
    import duckdb

    busy = StoreError(
        f"{file} cannot be compacted while another store or connection has it open: close it there"
    )
    try:
        # Refused while any other connection can write. Held, it keeps new ones away.
        guard = duckdb.connect(str(file), read_only=True)
    except duckdb.Error as error:
        raise busy from error
    with guard:
        if _value(guard, "SELECT revision FROM nousmem") != revision:
            raise busy
        if _beside(file, ".wal").exists():
            raise busy
        if os.name == "nt":
            guard.close()  # Windows cannot replace an open file
        copy.chmod(file.stat().st_mode)
        copy.replace(file)


def _remove(copy: Path) -> None:
    for file in (copy, _beside(copy, ".wal")):
        file.unlink(missing_ok=True)


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def check_tables(
    connection: duckdb.DuckDBPyConnection, *, words: bool, repair: bool
) -> Sequence[Fault]:
    """Compare the tables of the file.

    Args:
        connection: Inside a transaction, a write transaction if `repair`.
        words: Whether every entry should be in the word index. Otherwise only what is in it has
            to be right.
        repair: Mend what is found.
    """
    found = [
        _repeated_ids(connection, repair=repair),
        _repeated_numbers(connection, repair=repair),
        _facts(connection, repair=repair),
        _unfit_vectors(connection, repair=repair),
        _embedders_without_vector(connection, repair=repair),
        _word_index(connection, words=words, repair=repair),
    ]
    return [fault for fault in found if fault is not None]


def _repeated_ids(connection: duckdb.DuckDBPyConnection, *, repair: bool) -> Fault | None:
    repeated = _REPEATED.format(column="id")
    count = _value(connection, f"SELECT count(*) FROM {repeated}")
    if count and repair:
        connection.execute(f"DELETE FROM entries WHERE rowid IN (SELECT row_at FROM {repeated})")
    return Fault("older rows with the id of another entry", count, repair) if count else None


def _repeated_numbers(connection: duckdb.DuckDBPyConnection, *, repair: bool) -> Fault | None:
    repeated = _REPEATED.format(column="seq")
    count = _value(connection, f"SELECT count(*) FROM {repeated}")
    if count and repair:
        connection.execute(
            "UPDATE entries SET seq = fresh.seq FROM (SELECT row_at, "
            f"(SELECT max(seq) FROM entries) + row_number() OVER () AS seq FROM {repeated}) "
            "AS fresh WHERE entries.rowid = fresh.row_at"
        )
    return Fault("entries with the number of another entry", count, repair) if count else None


def _facts(connection: duckdb.DuckDBPyConnection, *, repair: bool) -> Fault | None:
    noted = _row(connection, "SELECT next_seq, dimension, embedder FROM nousmem")
    right = _right_facts(connection)
    wrong = sum(a != b for a, b in zip(noted, right, strict=True))
    if wrong and repair:
        connection.execute("UPDATE nousmem SET next_seq = ?, dimension = ?, embedder = ?", right)
    return Fault("facts about the entries that do not fit them", wrong, repair) if wrong else None


def _right_facts(connection: duckdb.DuckDBPyConnection) -> tuple[int, int | None, str | None]:
    """Return what the store should note: what it does, as far as that fits the entries."""
    next_seq, dimension, embedder = _row(
        connection, "SELECT next_seq, dimension, embedder FROM nousmem"
    )
    numbered, lengths, length, names, name = _row(
        connection,
        "SELECT coalesce(max(seq), 0), "
        "coalesce(list(DISTINCT len(embedding)) FILTER (embedding IS NOT NULL), []), "
        "mode(len(embedding)), "
        "coalesce(list(DISTINCT embedder) FILTER (embedding IS NOT NULL AND embedder IS NOT NULL), "
        "[]), mode(embedder) FILTER (embedding IS NOT NULL) FROM entries",
    )
    # The embedder stays known while vectors set by hand are all that is left.
    keeps_embedder = embedder in names or (lengths and not names)
    return (
        max(next_seq, numbered + 1),
        dimension if dimension in lengths else length,
        embedder if keeps_embedder else name,
    )


def _unfit_vectors(connection: duckdb.DuckDBPyConnection, *, repair: bool) -> Fault | None:
    _, dimension, embedder = _right_facts(connection)
    facts = {"dimension": dimension, "embedder": embedder}
    count = _value(connection, f"SELECT count(*) FROM entries WHERE {_UNFIT_VECTOR}", facts)
    if count and repair:
        connection.execute(
            f"UPDATE entries SET embedding = NULL, embedder = NULL WHERE {_UNFIT_VECTOR}", facts
        )
        connection.execute(
            "UPDATE nousmem SET dimension = NULL, embedder = NULL "
            "WHERE NOT EXISTS (SELECT 1 FROM entries WHERE embedding IS NOT NULL)"
        )
    what = "vectors of another length or embedder than the store's, or without direction"
    return Fault(what, count, repair) if count else None


def _embedders_without_vector(
    connection: duckdb.DuckDBPyConnection, *, repair: bool
) -> Fault | None:
    condition = "embedding IS NULL AND embedder IS NOT NULL"
    count = _value(connection, f"SELECT count(*) FROM entries WHERE {condition}")
    if count and repair:
        connection.execute(f"UPDATE entries SET embedder = NULL WHERE {condition}")
    return Fault("entries that name an embedder without a vector", count, repair) if count else None


def _word_index(
    connection: duckdb.DuckDBPyConnection, *, words: bool, repair: bool
) -> Fault | None:
    indexed = "" if words else "WHERE seq IN (SELECT seq FROM documents)"
    texts = connection.execute(f"SELECT seq, content FROM entries {indexed}").fetchall()
    tables = ("documents", "postings")
    for table in tables:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {_EXPECTED}{table} AS FROM {table} LIMIT 0"
        )
    bm25.index_documents(connection, texts, prefix=_EXPECTED)
    either_way = [
        f"(FROM {one} EXCEPT ALL FROM {other})"
        for table in tables
        for one, other in ((table, _EXPECTED + table), (_EXPECTED + table, table))
    ]
    differing = " UNION ALL ".join(f"SELECT seq FROM {part}" for part in either_way)
    stale = [
        row[0] for row in connection.execute(f"SELECT DISTINCT seq FROM ({differing})").fetchall()
    ]
    for table in tables:
        connection.execute(f"DROP TABLE {_EXPECTED}{table}")
    if not stale:
        return None
    if repair:
        bm25.remove_documents(connection, stale)
        if words:
            bm25.index_missing(connection)
    return Fault("entries whose words in the index are not those of their text", len(stale), repair)


def _value(connection: duckdb.DuckDBPyConnection, query: str, values: Any = None) -> Any:
    return _row(connection, query, values)[0]


def _row(connection: duckdb.DuckDBPyConnection, query: str, values: Any = None) -> tuple[Any, ...]:
    return connection.execute(query, values).fetchall()[0]
