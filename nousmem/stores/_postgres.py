"""PostgreSQL: BM25 over a table of postings, and pgvector.

The store for several processes and machines: nothing is kept in this process, and searches,
filters included, run in the database. Text search is described in
`nousmem.stores._postgres_text`, what its scores mean in `nousmem.stores._bm25.match_score`.
Vector search reads every vector that passes the filters, in a few milliseconds for 10,000, or,
with `hnsw`, an index that grows with the logarithm and may miss some of the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from numpy.typing import ArrayLike

from nousmem.entry import Entry, MemoryType, parse_instant, parse_vector
from nousmem.errors import EntryNotFound, InvalidEntry, StoreError
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores._bm25 import match_score
from nousmem.stores._postgres_connection import PostgresConnection, require_driver
from nousmem.stores._postgres_rows import (
    COLUMN_TYPES,
    bigint_limit,
    check_indexable,
    direction,
    encode,
    entry_from,
    row_filter,
    vector_row,
)
from nousmem.stores._postgres_schema import (
    MAX_DIMENSION,
    Facts,
    prepare_schema,
    use_schema,
)
from nousmem.stores._postgres_text import search_bm25, search_tsvector
from nousmem.stores._postgres_upkeep import check_tables, compact_tables
from nousmem.stores._postgres_url import parse_postgres_url
from nousmem.stores._postgres_vectors import make_vector_index, search_vectors
from nousmem.stores._results import best_first
from nousmem.stores._rows import COLUMNS, row_of
from nousmem.stores._vector_index import EmbeddingSpace
from nousmem.stores.base import Closing, Fault, ScoredEntries
from nousmem.stores.filters import (
    EntryFilter,
    check_entries,
    check_id,
    check_ids,
    check_min_score,
    check_query,
)
from nousmem.stores.text import analyse_document

__all__ = ["PostgresStore"]

_SELECTED: Final = ", ".join(f"e.{name}" for name in COLUMNS)
_FACTS: Final = ", ".join(Facts.__slots__)
_BULK: Final = 1000  # entries in one put, from which the planner should know of them at once


class PostgresStore(Closing):
    """Entries in a schema of a PostgreSQL database with pgvector, shared by many processes.

    What is missing of the extension `vector`, the schema and its tables is made. Writers wait for
    each other; readers wait for nobody.

    Args:
        url: `postgresql://USER:PASSWORD@HOST/DATABASE` with any option of libpq, or
            `postgresql+embedded:FOLDER` for a server of one's own in that folder (see
            `nousmem.stores._postgres_server`). `schema`, `text` and `hnsw` may stand in its query.
        schema: Where the tables are; "nousmem" unless given. Stores in two schemas share
            nothing.
        text: "bm25" (the default) or "tsvector", see `nousmem.stores._postgres_text`. A database
            can be opened with either; the first "tsvector" adds a column and an index.
        hnsw: Whether to search vectors by an HNSW index, made as soon as there are vectors (2,000
            dimensions at most). It stays, and every writer maintains it. Faster from some ten
            thousand vectors on, and approximate: some of the best may be missing, never the
            number asked for.

    Raises:
        InvalidParameter: the URL or an option is not valid.
        MissingDependency: psycopg, pgvector or the wheel of the server is not installed.
        StoreError: the server cannot be reached, or what is missing cannot be made; the message
            names the statement for an administrator.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str | None = None,
        text: str | None = None,
        hnsw: bool | None = None,
    ) -> None:
        self._url = parse_postgres_url(url, schema=schema, text=text, hnsw=hnsw)
        require_driver()
        address = self._url.address
        if self._url.folder is not None:
            from nousmem.stores._postgres_server import start_server

            address = start_server(self._url.folder)
        self._connection = PostgresConnection(self._url, address, prepare=self._prepare)
        try:
            if self._url.hnsw:
                self._want_hnsw()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        """Show where the entries are, without a password."""
        return f"PostgresStore({self._url.masked!r}, schema={self._url.schema!r})"

    def close(self) -> None:
        """Close the connection; closing twice is harmless. A server of one's own runs on."""
        self._connection.close()

    def put(self, entries: Iterable[Entry], /) -> int:
        """Store entries, replacing those whose id exists; return how many were given.

        One transaction of binary COPY; each entry costs a row for each of its terms.

        Raises:
            InvalidEntry: besides, an id or scope field is longer than an index holds (2,600
                bytes).
            EmbeddingMismatch: an embedding does not belong with those in the store.
        """
        given = check_entries(entries)
        latest = list({entry.id: entry for entry in given}.values())
        with self._connection.writing():
            self._save(self._replaced(self._locked_facts(), latest))
        return len(given)

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry with this id; one index look-up."""
        wanted = check_id(entry_id)
        with self._connection.reading():
            rows = self._hydrate("e.id = %s", [wanted])
        if not rows:
            raise EntryNotFound(entry_id)
        return rows[0][1]

    def update(self, entry_id: str, /, *, now: datetime | None = None, **changes: Any) -> Entry:
        """Change fields of one entry and return the new entry."""
        moment = datetime.now(UTC) if now is None else parse_instant(now)
        if "id" in changes:
            raise InvalidEntry("id cannot change; delete the entry and put a new one")
        with self._connection.writing():
            facts = self._locked_facts()
            changed = self.get(entry_id).replace(**{"updated_at": moment, **changes})
            self._save(self._replaced(facts, [changed]))
        return changed

    def delete(self, entry_ids: Iterable[str], /) -> int:
        """Remove the entries with these ids; return how many existed."""
        ids = check_ids(entry_ids)
        with self._connection.writing():
            return self._delete(self._locked_facts(), ids)

    def touch(self, entry_ids: Iterable[str], /, *, now: datetime) -> int:
        """Record one access of each entry, in one statement; return how many existed."""
        moment, ids = parse_instant(now), check_ids(entry_ids)
        with self._connection.writing():
            self._locked_facts()
            return self._connection.run(
                "UPDATE entries SET access_count = access_count + 1, last_accessed_at = %s "
                "WHERE id = ANY(%s::text[])",
                [moment, ids],
            ).rowcount

    def forget(self, scope: ScopeLike, /, *, everything: bool = False) -> int:
        """Remove every entry of a scope, superseded ones too; return how many.

        The text stays in dead rows until autovacuum or `compact`, and in the server's log of
        writes until that is recycled.
        """
        rows = row_filter(EntryFilter.to_forget(scope, everything=everything))
        with self._connection.writing():
            facts = self._locked_facts()
            erased = self._connection.run(
                f"SELECT e.id FROM entries AS e WHERE {rows.condition}", rows.values
            )
            return self._delete(facts, [row[0] for row in erased.fetchall()])

    def compact(self) -> None:
        """Rewrite the tables without anything that was deleted; nobody can use them meanwhile."""
        with self._connection.alone():
            compact_tables(self._connection)

    def check(self, *, repair: bool = False) -> Sequence[Fault]:
        """Compare entries, postings, vectors and counts; reads the whole store."""
        with self._connection.writing():
            return check_tables(self._connection, self._locked_facts(), repair=repair)

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
        rows = row_filter(
            EntryFilter.build(
                scope=scope, type=type, as_of=as_of, include_superseded=include_superseded
            )
        )
        wanted = bigint_limit(limit)
        with self._connection.reading():
            found = self._hydrate(
                f"{rows.condition} ORDER BY e.created_at, e.id LIMIT %s", [*rows.values, wanted]
            )
        return [entry for _, entry in found]

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
        """Return the entries that hold any word of the query, by BM25 or `tsvector`, from 0 to 1.

        See `nousmem.stores._postgres_text` for what is ranked and how it grows, and
        `nousmem.stores._bm25.match_score` for what the score means.
        """
        rows = row_filter(EntryFilter.build(scope=scope, type=type, as_of=as_of))
        text = check_query(query)
        wanted, floor = bigint_limit(limit), check_min_score(min_score)
        if wanted == 0:
            return []
        search = search_bm25 if self._url.text == "bm25" else search_tsvector
        with self._connection.reading():
            matches = search(self._connection, text, rows=rows, limit=wanted)
            scores = {seq: match_score(x, 1.0) for seq, x in matches.items()}
            return self._best(scores, wanted, floor)

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
        """Return entries by cosine: from every vector that passes, or by the HNSW index.

        Where the index ends before `limit` entries have passed the filters, every vector is read
        after all.
        """
        query = parse_vector(vector)
        rows = row_filter(EntryFilter.build(scope=scope, type=type, as_of=as_of))
        wanted, floor = bigint_limit(limit), check_min_score(min_score)
        with self._connection.reading():
            facts = self._facts()
            space = facts.space
            if space is None:
                return []
            space.check(query, embedder, what="the query")
            if wanted == 0:
                return []
            matches = search_vectors(
                self._connection,
                direction(query),
                rows=rows,
                limit=wanted,
                indexed=self._url.hnsw and facts.hnsw,
            )
            return self._best(matches, wanted, floor)

    def _prepare(self, connection: PostgresConnection) -> None:
        prepare_schema(connection, self._url.schema, text=self._url.text)
        use_schema(connection, self._url.schema, hnsw=self._url.hnsw)

    def _want_hnsw(self) -> None:
        with self._connection.reading():
            known = self._facts().hnsw
        if not known:
            with self._connection.writing():
                facts = replace(self._locked_facts(), hnsw=True)
                make_vector_index(self._connection, facts)
                self._save(facts)

    def _facts(self, suffix: str = "") -> Facts:
        row = self._connection.run(f"SELECT {_FACTS} FROM facts {suffix}").fetchone()
        if row is None:
            raise StoreError(f"{self._connection.place}: the table facts has lost its row")
        return Facts(*row)

    def _locked_facts(self) -> Facts:
        return self._facts("FOR UPDATE")

    def _save(self, facts: Facts) -> None:
        names = Facts.__slots__
        self._connection.run(
            f"UPDATE facts SET {', '.join(f'{name} = %s' for name in names)}",
            [getattr(facts, name) for name in names],
        )

    def _replaced(self, facts: Facts, entries: Sequence[Entry]) -> Facts:
        """Write entries in place of those with their ids; return the new facts."""
        for entry in entries:
            check_indexable(entry)
        facts, gone = self._removed(facts, [entry.id for entry in entries])
        space = EmbeddingSpace.joined(facts.space, entries)
        if space is not None and space.dimension > MAX_DIMENSION:
            raise StoreError(
                f"pgvector holds {MAX_DIMENSION} dimensions at most, got {space.dimension}"
            )
        numbered = list(enumerate(entries, facts.last_seq + 1))
        counts = [Counter(analyse_document(entry.content)) for entry in entries]
        lengths = [sum(count.values()) for count in counts]
        vectors = [
            vector_row(seq, entry.embedding)
            for seq, entry in numbered
            if entry.embedding is not None
        ]
        copy = self._connection.copy
        copy(
            f"entries (seq, length, {', '.join(COLUMNS)})",
            ["int8", "int4", *(COLUMN_TYPES.get(name, "text") for name in COLUMNS)],
            [
                (seq, length, *row_of(entry, encode=encode))
                for (seq, entry), length in zip(numbered, lengths, strict=True)
            ],
        )
        copy("vectors (seq, embedding, original)", ["int8", "vector", "bytea"], vectors)
        copy(
            "postings (term, seq, tf, length)",
            ["text", "int8", "int4", "int4"],
            # In the order of the index, so that what a search reads lies together.
            sorted(
                (term, seq, tf, length)
                for (seq, _), count, length in zip(numbered, counts, lengths, strict=True)
                for term, tf in count.items()
            ),
        )
        changes = Counter(term for count in counts for term in count)
        changes.update(gone)
        self._count_words(changes)
        new = replace(
            facts,
            n_entries=facts.n_entries + len(entries),
            n_terms=facts.n_terms + sum(lengths),
            n_vectors=facts.n_vectors + len(vectors),
            last_seq=facts.last_seq + len(entries),
            dimension=None if space is None else space.dimension,
            embedder=None if space is None else space.embedder,
        )
        if facts.dimension is None:
            make_vector_index(self._connection, new)
        if len(entries) >= _BULK:
            self._connection.run("ANALYZE entries, vectors, postings, words")
        return new

    def _delete(self, facts: Facts, ids: Sequence[str]) -> int:
        left, gone = self._removed(facts, ids)
        self._count_words(gone)
        self._save(left)
        return facts.n_entries - left.n_entries

    def _removed(self, facts: Facts, ids: Sequence[str]) -> tuple[Facts, dict[str, int]]:
        """Delete entries; return the new facts, and how the entries of each word change."""
        run = self._connection.run
        rows = run(
            "DELETE FROM entries WHERE id = ANY(%s::text[]) RETURNING seq, length",
            [list(ids)],
        ).fetchall()
        if not rows:
            return facts, {}
        seqs = [seq for seq, _ in rows]
        n_vectors = facts.n_vectors
        n_vectors -= run("DELETE FROM vectors WHERE seq = ANY(%s)", [seqs]).rowcount
        gone = run(
            "WITH gone AS (DELETE FROM postings WHERE seq = ANY(%s) RETURNING term) "
            "SELECT term, -count(*) FROM gone GROUP BY term",
            [seqs],
        ).fetchall()
        left = replace(
            facts,
            n_entries=facts.n_entries - len(rows),
            n_terms=facts.n_terms - sum(length for _, length in rows),
            n_vectors=n_vectors,
        )
        if n_vectors == 0 and facts.dimension is not None:
            # The index is for one dimension; the next vectors may have another.
            run("DROP INDEX IF EXISTS vectors_nearest")
            left = replace(left, dimension=None, embedder=None)
        return left, dict(gone)

    def _count_words(self, changes: dict[str, int]) -> None:
        changed = {term: change for term, change in changes.items() if change}
        if changed:
            self._connection.run(
                "INSERT INTO words SELECT * FROM unnest(%s::text[], %s::bigint[]) "
                "ON CONFLICT (term) DO UPDATE SET n_entries = words.n_entries + excluded.n_entries",
                [list(changed), list(changed.values())],
            )
        fewer = [term for term, change in changed.items() if change < 0]
        if fewer:
            self._connection.run(
                "DELETE FROM words WHERE term = ANY(%s) AND n_entries <= 0", [fewer]
            )

    def _best(
        self, scores: Mapping[int, float], limit: int | None, min_score: float
    ) -> ScoredEntries:
        """Return the best entries; only those that can be among them are read."""
        kept = sorted(score for score in scores.values() if score > min_score)
        if not kept:
            return []
        least = kept[0] if limit is None else kept[-limit:][0]
        seqs = [seq for seq, score in scores.items() if score >= least]
        rows = self._hydrate("e.seq = ANY(%s)", [seqs])
        return best_first(((entry, scores[seq]) for seq, entry in rows), limit=limit)

    def _hydrate(self, condition: str, values: Sequence[Any]) -> list[tuple[int, Entry]]:
        return [
            (row[0], entry_from(row[1:]))
            for row in self._connection.run(
                f"SELECT e.seq, v.embedding, v.original, {_SELECTED} FROM entries AS e "
                f"LEFT JOIN vectors AS v USING (seq) WHERE {condition}",
                values,
            )
        ]
