"""Looking after a PostgreSQL store: what does not fit together, and giving room back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from nousmem.stores._postgres_connection import PostgresConnection
from nousmem.stores._postgres_schema import Facts
from nousmem.stores.base import Fault
from nousmem.stores.text import analyse_document

__all__ = ["check_tables", "compact_tables"]

_ORPHANS: Final = "FROM {table} WHERE seq NOT IN (SELECT seq FROM entries)"
_COUNTED: Final = (
    "SELECT (SELECT count(*) FROM entries), "
    "(SELECT coalesce(sum(length), 0)::bigint FROM entries), (SELECT count(*) FROM vectors)"
)
_MISCOUNTED: Final = (
    "SELECT count(*) FROM words FULL JOIN "
    "(SELECT term, count(*) AS n FROM postings GROUP BY term) AS c USING (term) "
    "WHERE n_entries IS DISTINCT FROM n"
)


def compact_tables(connection: PostgresConnection) -> None:
    """Rewrite the tables without dead rows; outside any transaction."""
    connection.run("VACUUM (FULL, ANALYZE) entries, vectors, postings, words, facts")


def check_tables(connection: PostgresConnection, facts: Facts, *, repair: bool) -> Sequence[Fault]:
    """Compare the tables; inside a write transaction, with the facts as they are locked."""
    found = [
        _orphans(connection, "vectors", "vectors without an entry", repair=repair),
        _orphans(connection, "postings", "index terms without an entry", repair=repair),
        _wrong_length(connection, facts, repair=repair),
        _stale_terms(connection, repair=repair),
    ]
    # Last, since the counts are of what the others leave.
    found.append(_counts(connection, facts, repair=repair))
    return [fault for fault in found if fault is not None]


def _orphans(
    connection: PostgresConnection, table: str, what: str, *, repair: bool
) -> Fault | None:
    orphans = _ORPHANS.format(table=table)
    if repair:
        count = connection.run(f"DELETE {orphans}").rowcount
    else:
        (count,) = connection.run(f"SELECT count(*) {orphans}").fetchone() or (0,)
    return Fault(what, count, repair) if count else None


def _wrong_length(connection: PostgresConnection, facts: Facts, *, repair: bool) -> Fault | None:
    wrong = connection.run(
        "SELECT seq FROM vectors WHERE vector_dims(embedding) IS DISTINCT FROM %s",
        [facts.dimension],
    ).fetchall()
    if not wrong:
        return None
    if repair:
        seqs = [seq for (seq,) in wrong]
        connection.run("DELETE FROM vectors WHERE seq = ANY(%s)", [seqs])
        connection.run("UPDATE entries SET embedder = NULL WHERE seq = ANY(%s)", [seqs])
    return Fault("vectors of another length than the store's", len(wrong), repair)


def _stale_terms(connection: PostgresConnection, *, repair: bool) -> Fault | None:
    kept: dict[int, dict[str, int]] = {}
    lengths: dict[int, set[int]] = {}
    for seq, term, tf, length in connection.run("SELECT seq, term, tf, length FROM postings"):
        kept.setdefault(seq, {})[term] = tf
        lengths.setdefault(seq, set()).add(length)
    stale: dict[int, Counter[str]] = {}
    for seq, content, length in connection.run("SELECT seq, content, length FROM entries"):
        counts = Counter(analyse_document(content))
        if (
            kept.get(seq, {}) != counts
            or length != counts.total()
            or lengths.get(seq, {length}) != {length}
        ):
            stale[seq] = counts
    if not stale:
        return None
    if repair:
        connection.run("DELETE FROM postings WHERE seq = ANY(%s)", [list(stale)])
        connection.copy(
            "postings (term, seq, tf, length)",
            ["text", "int8", "int4", "int4"],
            [
                (term, seq, tf, counts.total())
                for seq, counts in stale.items()
                for term, tf in counts.items()
            ],
        )
        connection.run(
            "UPDATE entries SET length = n.length "
            "FROM unnest(%s::bigint[], %s::integer[]) AS n (seq, length) "
            "WHERE entries.seq = n.seq",
            [list(stale), [counts.total() for counts in stale.values()]],
        )
    return Fault("entries whose index terms are not those of their text", len(stale), repair)


def _counts(connection: PostgresConnection, facts: Facts, *, repair: bool) -> Fault | None:
    counted = connection.run(_COUNTED).fetchone() or (0, 0, 0)
    (wrong,) = connection.run(_MISCOUNTED).fetchone() or (0,)
    wrong += counted != (facts.n_entries, facts.n_terms, facts.n_vectors)
    if not wrong:
        return None
    if repair:
        connection.run("DELETE FROM words")
        connection.run("INSERT INTO words SELECT term, count(*) FROM postings GROUP BY term")
        connection.run("UPDATE facts SET n_entries = %s, n_terms = %s, n_vectors = %s", counted)
        if counted[2] == 0:
            connection.run("DROP INDEX IF EXISTS vectors_nearest")
            connection.run("UPDATE facts SET dimension = NULL, embedder = NULL")
    return Fault("counts that are not those of the tables", wrong, repair)
