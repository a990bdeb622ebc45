"""Text search inside PostgreSQL: BM25 over a table of postings, or its own `tsvector`.

**bm25** (the default) ranks by BM25 over the terms of `nousmem.stores.text`, with the very
formula, constants and statistics of SQLite's FTS5, so both stores give one score. The table
`postings` has a row for each term of each entry; a search reads those of the query's terms from
its index, so it grows with the number of entries that hold them; common words are left out where
there are rarer ones (`nousmem.stores._bm25.informative_terms`).

**tsvector** ranks by PostgreSQL's `ts_rank_cd` over its `english` configuration, as the
specification's example does, but with the query's words joined by "or". It knows neither rare
words nor text without spaces, and reads every entry that has any of the words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from nousmem.stores._bm25 import informative_terms
from nousmem.stores._postgres_connection import PostgresConnection
from nousmem.stores._postgres_rows import RowFilter, fetch_with_ties
from nousmem.stores.text import analyse_query

__all__ = ["search_bm25", "search_tsvector"]

_K1: Final = 1.2
_B: Final = 0.75
_LEAST_IDF: Final = 1e-6  # FTS5's, for a word that more than half of the entries have

# Parts of a score are whole multiples of 2^-50 and their sum is below 4, so that float64 adds them
# without rounding. Whatever order the rows come in, equal entries get equal scores.
_UNIT: Final = 2.0**50

_SUMMED: Final = """
{before} SELECT p.seq, sum(round(a.weight * (p.tf / (p.tf + %s + %s * p.length)))) AS score
FROM unnest(%s::text[], %s::float8[]) AS a (term, weight)
JOIN postings AS p ON p.term = a.term COLLATE "C" {join}
WHERE {condition} GROUP BY p.seq ORDER BY score DESC LIMIT %s
"""
_RANKED: Final = """
SELECT e.seq, ts_rank_cd(e.english, %s::tsquery)::float8 / %s AS score FROM entries AS e
WHERE e.english @@ %s::tsquery AND {condition} ORDER BY score DESC LIMIT %s
"""
_ASKED: Final = """
SELECT q.asked::text, ts_rank_cd(to_tsvector('pg_catalog.english', %s), q.asked)::float8
FROM (SELECT replace(plainto_tsquery('pg_catalog.english', %s)::text, ' & ', ' | ')::tsquery)
    AS q (asked)
"""


def search_bm25(
    connection: PostgresConnection, query: str, *, rows: RowFilter, limit: int | None
) -> Mapping[int, float]:
    """Return the best entries by BM25, as a share of what the query's words weigh.

    Args:
        connection: In a transaction.
        query: A user's text.
        rows: Which entries count.
        limit: How many; all that tie with the last are returned too.

    Returns:
        From the entry's `seq` to x of `nousmem.stores._bm25.match_score`.
    """
    terms = list(dict.fromkeys(analyse_query(query)))
    if not terms:
        return {}
    found = connection.run(
        "SELECT f.n_entries, f.n_terms, w.term, w.n_entries FROM facts AS f "
        "JOIN words AS w ON w.term = ANY(%s)",
        [terms],
    ).fetchall()
    if not found:
        return {}
    n_entries, n_terms = found[0][:2]
    frequencies: dict[str, int] = {term: count for *_, term, count in found}
    idf = {
        term: max(
            math.log((n_entries - frequencies[term] + 0.5) / (frequencies[term] + 0.5)), _LEAST_IDF
        )
        for term in informative_terms(frequencies, n_entries)
    }
    # A word no entry holds is taken to be as rare as the rarest that is there.
    ideal = math.fsum(idf.values()) + max(idf.values()) * (len(terms) - len(frequencies))
    weights = [weight * (_K1 + 1) / ideal * _UNIT for weight in idf.values()]
    joined = rows.joined_once("p")
    statement = _SUMMED.format(before=joined.before, join=joined.join, condition=joined.condition)
    slope = _K1 * _B * n_entries / n_terms
    values = [*joined.values, _K1 * (1 - _B), slope, list(idf), weights]
    matches = fetch_with_ties(lambda n: connection.run(statement, [*values, n]).fetchall(), limit)
    return {seq: score / _UNIT for seq, score in matches.items()}


def search_tsvector(
    connection: PostgresConnection, query: str, *, rows: RowFilter, limit: int | None
) -> Mapping[int, float]:
    """Return the best entries by `ts_rank_cd`, as a share of what the query itself would get.

    The arguments are those of `search_bm25`.
    """
    asked, ideal = connection.run(_ASKED, [query, query]).fetchone() or ("", 0.0)
    if not asked:
        return {}
    statement = _RANKED.format(condition=rows.condition)
    return fetch_with_ties(
        lambda n: connection.run(statement, [asked, ideal, asked, *rows.values, n]).fetchall(),
        limit,
    )
