"""One DuckDB file: a table made for analytics, a float32 matrix in memory for vectors.

Text search is the documented substring match, or BM25 on request (specification, "DuckDB").
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Final

from numpy.typing import ArrayLike

from nousmem.entry import Entry, MemoryType, parse_instant, parse_vector
from nousmem.errors import EntryNotFound, InvalidEntry, InvalidParameter, StoreError
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores import _duckdb_bm25 as bm25
from nousmem.stores import _duckdb_literal as literal
from nousmem.stores._duckdb_rows import (
    ENTRY_SELECTED,
    VECTOR_SELECTED,
    among,
    encode,
    entries_of,
    fetch,
    insert_entries,
    vector_rows_of,
)
from nousmem.stores._duckdb_schema import open_database
from nousmem.stores._duckdb_upkeep import check_tables, compact_file
from nousmem.stores._results import best_first, oldest_first
from nousmem.stores._vector_index import EmbeddingSpace, VectorIndex, VectorRow
from nousmem.stores.base import Closing, Fault, ScoredEntries
from nousmem.stores.filters import (
    EntryFilter,
    check_entries,
    check_id,
    check_ids,
    check_limit,
    check_min_score,
    check_query,
)
from nousmem.stores.text import analyse_query

__all__ = ["DuckDBStore"]

_TEXT_MODES: Final = ("ilike", "bm25")
_ATTEMPTS: Final = 3000
_PAUSE_SECONDS: Final = 0.01


@dataclass(slots=True)
class _Write:
    """One write transaction: what it starts from, and what it does to the vectors."""

    revision: int
    first_seq: int
    space: EmbeddingSpace | None
    removed: list[str] = field(default_factory=list[str])
    put: list[VectorRow] = field(default_factory=list[VectorRow])


class DuckDBStore(Closing):
    """Entries in a DuckDB file, which belongs to one process while it is open.

    The table `entries` has a column for each field of `Entry`: text as VARCHAR, `metadata` as
    JSON, `importance` as DOUBLE, `evergreen` as BOOLEAN, `access_count` as BIGINT, instants as
    TIMESTAMP in UTC, `embedding` as FLOAT[]; and `seq`, the number of the write that made the
    row. In the same process `duckdb.connect(path)` shares the open file:
    `duckdb.connect(path).sql("SELECT type, avg(importance) FROM entries GROUP BY type").df()`.

    Several stores in one process may share a file; a writer waits for another.

    Args:
        path: The file, made when it does not exist; ":memory:" for one that is not kept.
        text: "ilike", the documented default: the whole query is a part of the text, in any case
            of letters. "bm25": any word of the query, stemmed, rare words weigh more. The word
            index of "bm25" is made when a file is first opened that way, and kept from then on;
            entries written in the other mode join it at the next search or opening.

    Raises:
        InvalidParameter: `text` is neither.
        StoreError: the file cannot be opened, another process has it open, it is not a DuckDB
            file, or it is somebody else's.
    """

    def __init__(self, path: str | Path = ":memory:", *, text: str = "ilike") -> None:
        if text not in _TEXT_MODES:
            raise InvalidParameter(f"text must be one of {', '.join(_TEXT_MODES)}, got {text!r}")
        self._path = str(path)
        self._text = text
        self._lock = RLock()
        self._index: VectorIndex | None = None
        self._index_revision = -1
        self._connection = open_database(self._path)
        try:
            self._level_words()
        except BaseException:
            self._connection.close()
            raise

    def __repr__(self) -> str:
        """Show where the entries are, and how text is matched."""
        return f"DuckDBStore({self._path!r}, text={self._text!r})"

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            self._connection.close()
            self._index = None

    def put(self, entries: Iterable[Entry], /) -> int:
        """Store entries, replacing those whose id exists; return how many were given.

        Each entry costs an index look-up, and one that is replaced a scan of its words; the
        whole is one transaction, with columns handed over in one piece.
        """
        given = check_entries(entries)
        latest = list({entry.id: entry for entry in given}.values())
        with self._writing(rows=len(latest)) as write:
            self._replace(latest, write)
        return len(given)

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry with this id; one index look-up."""
        wanted = check_id(entry_id)
        with self._lock, self._errors():
            return self._get(wanted)

    def update(self, entry_id: str, /, *, now: datetime | None = None, **changes: Any) -> Entry:
        """Change fields of one entry and return the new entry."""
        moment = datetime.now(UTC) if now is None else parse_instant(now)
        if "id" in changes:
            raise InvalidEntry("id cannot change; delete the entry and put a new one")
        wanted = check_id(entry_id)
        with self._writing(rows=1) as write:
            changed = self._get(wanted).replace(**{"updated_at": moment, **changes})
            self._replace([changed], write)
        return changed

    def delete(self, entry_ids: Iterable[str], /) -> int:
        """Remove the entries with these ids; return how many existed."""
        ids = check_ids(entry_ids)
        with self._writing() as write:
            return self._remove(ids, write)

    def touch(self, entry_ids: Iterable[str], /, *, now: datetime) -> int:
        """Record one access of each entry, in one statement; return how many existed."""
        moment = encode(parse_instant(now))
        ids = check_ids(entry_ids)
        condition, values = among("id", ids)
        with self._writing():
            updated = self._connection.execute(
                "UPDATE entries SET access_count = access_count + 1, last_accessed_at = ? "
                f"WHERE {condition}",
                [moment, *values],
            ).fetchall()
        return int(updated[0][0])

    def forget(self, scope: ScopeLike, /, *, everything: bool = False) -> int:
        """Remove every entry of a scope, superseded ones too; return how many.

        The text stays in freed blocks of the file until `compact`.
        """
        erased = EntryFilter.to_forget(scope, everything=everything)
        with self._writing() as write:
            return self._remove(self._ids(erased), write)

    def compact(self) -> None:
        """Rewrite the file without anything that was deleted; needs as much room again.

        Raises:
            StoreError: the file is open elsewhere in this process too.
        """
        with self._lock, self._errors():
            self._connection.execute("SELECT 1")
            if self._path.startswith(":memory:"):
                return
            try:
                compact_file(self._connection, self._path)
            finally:
                self._connection.close()
                self._connection = open_database(self._path)

    def check(self, *, repair: bool = False) -> Sequence[Fault]:
        """Compare entries, word index, vectors and what the file notes about them."""
        self._level_words()
        with self._lock:
            with self._writing() if repair else self._reading():
                words = self._text == "bm25"
                faults = check_tables(self._connection, words=words, repair=repair)
            if repair and faults:
                self._index = None
        return faults

    def list(
        self,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Entry]:
        """Return entries, the oldest first; one scan of the table."""
        condition, values = EntryFilter.build(
            scope=scope, type=type, as_of=as_of, include_superseded=include_superseded
        ).sql(encode=encode)
        wanted = check_limit(limit)
        if wanted is not None:
            condition = (
                f"e.id IN (SELECT e.id FROM entries AS e WHERE {condition} "
                "ORDER BY e.created_at, e.id LIMIT ?)"
            )
            values = [*values, wanted]
        with self._lock, self._errors():
            return oldest_first(self._hydrate(condition, values))

    def search_text(
        self,
        query: str,
        /,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int = 10,
        min_score: float = 0.0,
        as_of: datetime | None = None,
    ) -> ScoredEntries:
        """Return the entries that hold the query (ilike) or any word of it (bm25), from 0 to 1.

        ilike: the query as it stands, wildcards and spaces included, scored by the normalised
        number of occurrences: min(1, count / max(1, length of the text / length of the query /
        10)), lengths in graphemes. A text up to ten times as long as the query therefore scores
        1.0 with one occurrence. Every text that passes the filters is read: the cost grows
        linearly with them. Source: specification, "Text Search".

        bm25: see `nousmem.stores._bm25.match_score` for what the score means. The cost grows
        with the number of entries that hold the query's commonest word.
        """
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        text = check_query(query)
        wanted, floor = check_limit(limit), check_min_score(min_score)
        if not text.strip() or wanted == 0:
            return []
        self._level_words()
        with self._reading():
            condition, values = entry_filter.sql(encode=encode)
            matches = self._matches(text, condition=condition, values=values, limit=wanted)
            return self._scored({i: score for i, score in matches if score > floor}, wanted)

    def search_vector(
        self,
        vector: ArrayLike,
        /,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int = 10,
        min_score: float = 0.0,
        as_of: datetime | None = None,
        embedder: str | None = None,
    ) -> ScoredEntries:
        """Return entries by cosine; one matrix-vector product over the rows that pass.

        The first search reads all vectors into memory.
        """
        query = parse_vector(vector)
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        wanted, floor = check_limit(limit), check_min_score(min_score)
        with self._reading():
            revision, dimension, name = self._connection.execute(
                "SELECT revision, dimension, embedder FROM nousmem"
            ).fetchall()[0]
            if dimension is None:
                return []
            EmbeddingSpace(dimension, name).check(query, embedder, what="the query")
            found = self._level_index(revision).search(
                query,
                entry_filter=entry_filter,
                allowed=self._allowed(entry_filter),
                limit=wanted,
                min_score=floor,
            )
            return self._scored(dict(found), wanted)

    @contextmanager
    def _errors(self) -> Generator[None]:
        import duckdb

        try:
            yield
        except duckdb.ConnectionException as error:
            raise StoreError(f"{self._path}: the store is closed") from error
        except duckdb.Error as error:
            raise StoreError(f"cannot use the DuckDB store {self._path}: {error}") from error

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Hold the lock, and one snapshot of the database."""
        with self._lock, self._errors():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._roll_back()

    @contextmanager
    def _writing(self, *, rows: int = 0) -> Generator[_Write]:
        """Hold the lock and a write transaction that is undone when anything fails.

        Args:
            rows: How many rows the transaction may add.
        """
        with self._lock, self._errors():
            write = self._begin_write(rows)
            try:
                space = write.space
                yield write
                if write.space != space:
                    self._connection.execute(
                        "UPDATE nousmem SET dimension = ?, embedder = ?",
                        [
                            write.space and write.space.dimension,
                            write.space and write.space.embedder,
                        ],
                    )
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            self._follow(write)

    def _roll_back(self) -> None:
        """Undo the transaction; one that an error has ended already is left at that."""
        import duckdb

        # Any complaint would hide the error that ended it.
        with suppress(duckdb.Error):
            self._connection.execute("ROLLBACK")

    def _begin_write(self, rows: int) -> _Write:
        """Begin a transaction with the update that no two of them can make at a time."""
        import duckdb

        for _ in range(_ATTEMPTS):
            self._connection.execute("BEGIN")
            try:
                revision, next_seq, dimension, embedder = self._connection.execute(
                    "UPDATE nousmem SET revision = revision + 1, next_seq = next_seq + ? "
                    "RETURNING revision, next_seq, dimension, embedder",
                    [rows],
                ).fetchall()[0]
            except duckdb.TransactionException:
                self._connection.execute("ROLLBACK")
                time.sleep(_PAUSE_SECONDS)
            else:
                space = None if dimension is None else EmbeddingSpace(dimension, embedder)
                return _Write(revision, next_seq - rows, space)
        raise StoreError(
            f"{self._path}: another store of this process has been writing for "
            f"{_ATTEMPTS * _PAUSE_SECONDS:.0f} s: try again when it is done"
        )

    def _follow(self, write: _Write) -> None:
        """Keep the index level with a write; one that missed another store's is dropped."""
        if self._index is not None and self._index_revision == write.revision - 1:
            self._index.remove(write.removed)
            self._index.put(write.put)
            self._index_revision = write.revision
        else:
            self._index = None

    def _replace(self, entries: Sequence[Entry], write: _Write) -> None:
        self._remove([entry.id for entry in entries], write)
        write.space = EmbeddingSpace.joined(write.space, entries)
        if not entries:
            return
        insert_entries(self._connection, entries, first_seq=write.first_seq)
        if self._text == "bm25":
            contents = (entry.content for entry in entries)
            bm25.index_documents(self._connection, enumerate(contents, write.first_seq))
        write.put = [VectorRow.of(entry) for entry in entries if entry.embedding is not None]

    def _remove(self, ids: Sequence[str], write: _Write) -> int:
        condition, values = among("id", ids)
        removed = self._connection.execute(
            f"DELETE FROM entries WHERE {condition} RETURNING id, seq, embedding IS NOT NULL",
            values,
        ).fetchall()
        if not removed:
            return 0
        bm25.remove_documents(self._connection, [seq for _, seq, _ in removed])
        write.removed = [entry_id for entry_id, _, embedded in removed if embedded]
        if (
            write.removed
            and not self._connection.execute(
                "SELECT 1 FROM entries WHERE embedding IS NOT NULL LIMIT 1"
            ).fetchall()
        ):
            write.space = None
        return len(removed)

    def _get(self, entry_id: str) -> Entry:
        rows = self._hydrate("e.id = ?", [entry_id])
        if not rows:
            raise EntryNotFound(entry_id)
        return rows[0]

    def _hydrate(self, condition: str, values: Sequence[Any]) -> list[Entry]:
        query = f"SELECT {ENTRY_SELECTED} FROM entries AS e WHERE {condition}"
        return entries_of(fetch(self._connection, query, values))

    def _scored(self, scores: dict[str, float], limit: int | None) -> ScoredEntries:
        if not scores:
            return []
        entries = self._hydrate(*among("e.id", [*scores]))
        return best_first(((entry, scores[entry.id]) for entry in entries), limit=limit)

    def _matches(self, text: str, **rows: Any) -> list[tuple[str, float]]:
        if self._text == "ilike":
            return literal.search(self._connection, text, **rows)
        terms = list(dict.fromkeys(analyse_query(text)))
        return bm25.search(self._connection, terms, **rows) if terms else []

    def _level_words(self) -> None:
        """Bring the word index level with the entries, if text is matched by it."""
        if self._text != "bm25":
            return
        with self._reading():
            level = bm25.is_level(self._connection)
        if not level:
            with self._writing():
                bm25.index_missing(self._connection)

    def _allowed(self, entry_filter: EntryFilter) -> list[str] | None:
        if VectorIndex.covers(entry_filter):
            return None
        return self._ids(entry_filter)

    def _ids(self, entry_filter: EntryFilter) -> list[str]:
        condition, values = entry_filter.sql(encode=encode)
        rows = self._connection.execute(
            f"SELECT e.id FROM entries AS e WHERE {condition}", values
        ).fetchall()
        return [row[0] for row in rows]

    def _level_index(self, revision: int) -> VectorIndex:
        """Return the index, level with the database as this transaction sees it."""
        if self._index is None or self._index_revision != revision:
            query = f"SELECT {VECTOR_SELECTED} FROM entries AS e WHERE e.embedding IS NOT NULL"
            self._index = VectorIndex()
            self._index.put(vector_rows_of(fetch(self._connection, query)))
            self._index_revision = revision
        return self._index
