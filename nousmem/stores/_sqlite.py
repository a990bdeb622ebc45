"""One SQLite file: FTS5 for text, a float32 matrix in memory for vectors.

Text search is BM25 over stemmed words, any of them enough to match (specification, "SQLite").
It grows with the number of entries that hold the query's commonest word. Vectors are read into
memory by the first vector search and follow later writes, those of other processes too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from nousmem.entry import (
    Entry,
    MemoryType,
    epoch_microseconds,
    from_epoch_microseconds,
    parse_instant,
    parse_vector,
)
from nousmem.errors import EntryNotFound, InvalidEntry
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores._bm25 import informative_terms, match_score
from nousmem.stores._results import best_first
from nousmem.stores._rows import COLUMNS, entry_of
from nousmem.stores._sqlite_file import SQLiteFile
from nousmem.stores._sqlite_upkeep import check_file, compact_file
from nousmem.stores._sqlite_vectors import FollowedIndex
from nousmem.stores._vector_index import VectorIndex
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
from nousmem.stores.text import analyse_document, analyse_query

__all__ = ["SQLiteStore"]

_SELECTED: Final = ", ".join(f"e.{name}" for name in COLUMNS)
_INSERT: Final = (
    f"INSERT INTO entries (seq, terms, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)
_FTS5_LEAST_IDF: Final = 1e-6  # what FTS5 gives a word that more than half of the rows hold


class SQLiteStore(Closing):
    """Entries in a SQLite file, shared safely by several processes.

    Args:
        path: The file, made when it does not exist; ":memory:" for one that is not kept.

    Raises:
        StoreError: the file cannot be opened, is not a database, or is somebody else's.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._file = SQLiteFile(str(path), on_undo=self._drop_memory)
        self._vectors = FollowedIndex(self._file)
        self._n_entries: int | None = None
        self._data_version = -1

    def __repr__(self) -> str:
        """Show where the entries are."""
        return f"SQLiteStore({self._file.path!r})"

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()
        self._drop_memory()

    def put(self, entries: Iterable[Entry], /) -> int:
        """Store entries, replacing those whose id exists; return how many were given.

        Each entry costs a constant number of index look-ups; the whole is one transaction.
        """
        given = check_entries(entries)
        latest = list({entry.id: entry for entry in given}.values())
        with self._file.writing():
            self._replace(latest)
        return len(given)

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry with this id; one index look-up."""
        wanted = check_id(entry_id)
        with self._file.reading():
            rows = self._hydrate("e.id = ?", [wanted])
        if not rows:
            raise EntryNotFound(entry_id)
        return rows[0]

    def update(self, entry_id: str, /, *, now: datetime | None = None, **changes: Any) -> Entry:
        """Change fields of one entry and return the new entry."""
        moment = datetime.now(UTC) if now is None else parse_instant(now)
        if "id" in changes:
            raise InvalidEntry("id cannot change; delete the entry and put a new one")
        with self._file.writing():
            changed = self.get(entry_id).replace(**{"updated_at": moment, **changes})
            self._replace([changed])
        return changed

    def delete(self, entry_ids: Iterable[str], /) -> int:
        """Remove the entries with these ids; return how many existed."""
        ids = check_ids(entry_ids)
        with self._file.writing():
            return self._remove(ids)

    def touch(self, entry_ids: Iterable[str], /, *, now: datetime) -> int:
        """Record one access of each entry, in one statement; return how many existed."""
        moment, ids = epoch_microseconds(parse_instant(now)), check_ids(entry_ids)
        with self._file.writing():
            return self._file.execute(
                "UPDATE entries SET access_count = access_count + 1, last_accessed_at = ? "
                "WHERE id IN (SELECT value FROM json_each(?))",
                (moment, json.dumps(ids)),
            ).rowcount

    def forget(self, scope: ScopeLike, /, *, everything: bool = False) -> int:
        """Remove every entry of a scope, superseded ones too; return how many.

        The text stays in free pages of the file until `compact`.
        """
        erased = EntryFilter.to_forget(scope, everything=everything)
        condition, values = erased.sql(encode=_encode)
        with self._file.writing():
            rows = self._file.execute(f"SELECT e.id FROM entries AS e WHERE {condition}", values)
            return self._remove([row[0] for row in rows])

    def compact(self) -> None:
        """Rewrite the file without anything that was deleted; needs as much room again."""
        with self._file.alone():
            compact_file(self._file)

    def check(self, *, repair: bool = False) -> Sequence[Fault]:
        """Compare file, word index and vectors; return what does not fit together."""
        with self._file.writing():
            faults = check_file(self._file, repair=repair)
            if repair and faults:
                self._drop_memory()
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
        """Return entries, the oldest first; read from the index on `created_at`."""
        condition, values = EntryFilter.build(
            scope=scope, type=type, as_of=as_of, include_superseded=include_superseded
        ).sql(encode=_encode)
        wanted = check_limit(limit)
        rows = -1 if wanted is None else wanted
        with self._file.reading():
            return self._hydrate(
                f"{condition} ORDER BY e.created_at, e.id LIMIT ?", [*values, rows]
            )

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
        """Return the entries that hold any word of the query, by BM25, from 0 to 1.

        See `nousmem.stores._bm25.match_score` for what the score means.
        """
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        terms = list(dict.fromkeys(analyse_query(check_query(query))))
        wanted, floor = check_limit(limit), check_min_score(min_score)
        if not terms or wanted == 0:
            return []
        with self._file.reading():
            frequencies = self._frequencies(terms)
            if not frequencies:
                return []
            looked_up = informative_terms(frequencies, self._count())
            ideal = self._ideal(
                [frequencies[term] for term in looked_up], unseen=len(terms) - len(frequencies)
            )
            scored = {
                seq: match_score(-bm25, ideal)
                for seq, bm25 in self._matches(looked_up, entry_filter, wanted)
            }
            rows = self._hydrate_seqs([seq for seq, score in scored.items() if score > floor])
        return best_first(((entry, scored[seq]) for seq, entry in rows), limit=wanted)

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
        """Return entries by cosine; one matrix-vector product over the rows that pass."""
        query = parse_vector(vector)
        entry_filter = EntryFilter.build(scope=scope, type=type, as_of=as_of)
        wanted, floor = check_limit(limit), check_min_score(min_score)
        with self._file.reading():
            space = self._vectors.space()
            if space is None:
                return []
            space.check(query, embedder, what="the query")
            found = self._vectors.level().search(
                query,
                entry_filter=entry_filter,
                allowed=self._allowed(entry_filter),
                limit=wanted,
                min_score=floor,
            )
            scores = dict(found)
            rows = self._hydrate(
                "e.id IN (SELECT value FROM json_each(?))", [json.dumps(list(scores))]
            )
        return best_first(((entry, scores[entry.id]) for entry in rows), limit=wanted)

    def _drop_memory(self) -> None:
        """Forget what is held in memory: it may be ahead of what the file keeps."""
        self._vectors.forget()
        self._n_entries = None

    def _replace(self, entries: Sequence[Entry]) -> None:
        self._remove([entry.id for entry in entries])
        numbered = list(enumerate(entries, self._file.last_seq() + 1))
        terms = [(seq, " ".join(analyse_document(entry.content))) for seq, entry in numbered]
        self._file.executemany(
            _INSERT,
            ((*row, *_row(entry)) for row, entry in zip(terms, entries, strict=True)),
        )
        # Not by triggers: FTS5 would write its buffer out at each of their savepoints.
        self._file.executemany("INSERT INTO words (rowid, terms) VALUES (?, ?)", terms)
        if self._n_entries is not None:
            self._n_entries += len(entries)
        self._vectors.put(numbered)

    def _remove(self, ids: Sequence[str]) -> int:
        chosen = "id IN (SELECT value FROM json_each(?))"
        given = (json.dumps(ids),)
        embedded = [
            row[0]
            for row in self._file.execute(
                f"SELECT id FROM entries JOIN vectors USING (seq) WHERE {chosen}", given
            )
        ]
        self._file.execute(
            "INSERT INTO words (words, rowid, terms) "
            f"SELECT 'delete', seq, terms FROM entries WHERE {chosen}",
            given,
        )
        removed = self._file.execute(f"DELETE FROM entries WHERE {chosen}", given).rowcount
        if self._n_entries is not None:
            self._n_entries -= removed
        if embedded:
            self._vectors.removed(embedded)
        return removed

    def _hydrate(self, condition: str, values: Sequence[Any]) -> list[Entry]:
        return [
            _entry(row[1:])
            for row in self._file.execute(
                f"SELECT e.seq, v.vector, {_SELECTED} FROM entries AS e "
                f"LEFT JOIN vectors AS v USING (seq) WHERE {condition}",
                values,
            )
        ]

    def _hydrate_seqs(self, seqs: Sequence[int]) -> list[tuple[int, Entry]]:
        return [
            (row[0], _entry(row[1:]))
            for row in self._file.execute(
                f"SELECT e.seq, v.vector, {_SELECTED} FROM entries AS e "
                "LEFT JOIN vectors AS v USING (seq) "
                "WHERE e.seq IN (SELECT value FROM json_each(?))",
                (json.dumps(seqs),),
            )
        ]

    def _matches(
        self, terms: Sequence[str], entry_filter: EntryFilter, limit: int | None
    ) -> list[tuple[int, float]]:
        """Return (seq, bm25) of the best `limit` entries, ties by descending id."""
        match = " OR ".join(f'"{term}"' for term in terms)
        condition, values = entry_filter.sql(encode=_encode)
        if condition == "e.superseded_at IS NULL" and not self._any_superseded():
            # Without a filter the entries need not be looked at, unless the cut goes through a tie.
            rows = self._file.execute(
                "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? "
                "ORDER BY score LIMIT ?",
                (match, -1 if limit is None else limit + 1),
            ).fetchall()
            if limit is None or len(rows) <= limit or rows[limit - 1][1] != rows[limit][1]:
                return rows[:limit]
            condition, values = "score <= ?", [rows[limit][1]]
        return self._file.execute(
            "SELECT words.rowid, bm25(words) AS score "
            "FROM words JOIN entries AS e ON e.seq = words.rowid "
            f"WHERE words MATCH ? AND {condition} ORDER BY score, e.id DESC LIMIT ?",
            (match, *values, -1 if limit is None else limit),
        ).fetchall()

    def _any_superseded(self) -> bool:
        query = "SELECT 1 FROM entries WHERE superseded_at IS NOT NULL LIMIT 1"
        return self._file.value(query) is not None

    def _frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of entries that hold each term; terms no entry holds are left out."""
        rows = self._file.execute(
            "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(terms),),
        )
        return dict(rows.fetchall())

    def _ideal(self, frequencies: Sequence[int], unseen: int) -> float:
        """Return what FTS5's BM25 weighs the query's words at."""
        n = self._count()
        weights = [
            max(math.log((n - df + 0.5) / (df + 0.5)), _FTS5_LEAST_IDF) for df in frequencies
        ]
        # A word no entry holds is taken to be as rare as the rarest that is there.
        return math.fsum(weights) + max(weights) * unseen

    def _count(self) -> int:
        version = self._file.data_version()
        n = self._n_entries
        if n is None or version != self._data_version:
            n = int(self._file.value("SELECT count(*) FROM entries"))
            self._n_entries, self._data_version = n, version
        return n

    def _allowed(self, entry_filter: EntryFilter) -> list[str] | None:
        if VectorIndex.covers(entry_filter):
            return None
        condition, values = entry_filter.sql(encode=_encode)
        rows = self._file.execute(f"SELECT e.id FROM entries AS e WHERE {condition}", values)
        return [row[0] for row in rows]


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return epoch_microseconds(value)
    return str(value) if isinstance(value, MemoryType) else value


def _row(entry: Entry) -> tuple[Any, ...]:
    """Return the values of COLUMNS; written out, since loading spends its time here."""
    superseded = entry.superseded_at
    return (
        entry.id,
        entry.content,
        entry.type.value,
        entry.importance,
        entry.evergreen,
        json.dumps(entry.metadata, ensure_ascii=False) if entry.metadata else "{}",
        entry.agent_id,
        entry.session_id,
        entry.user_id,
        entry.namespace,
        entry.embedder,
        entry.access_count,
        epoch_microseconds(entry.created_at),
        epoch_microseconds(entry.updated_at),
        epoch_microseconds(entry.last_accessed_at),
        None if superseded is None else epoch_microseconds(superseded),
        entry.superseded_by,
    )


def _entry(row: Sequence[Any]) -> Entry:
    vector, *values = row
    embedding = None if vector is None else np.frombuffer(vector, dtype="<f4")
    return entry_of(values, embedding, decode_instant=from_epoch_microseconds)
