"""BM25 over postings kept in a DuckDB file: the word index of `DuckDBStore(text="bm25")`.

DuckDB's own full-text extension has to be downloaded and is not kept level with writes, so the
index is two plain tables: `postings` (one row for each distinct term of each entry) and
`documents` (one row for each indexed entry). They are written in the transaction of the entries.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009;
idf as in Lucene's BM25Similarity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.stores._bm25 import match_score
from nousmem.stores._duckdb_rows import append, fetch
from nousmem.stores.text import analyse_document

if TYPE_CHECKING:
    import duckdb

__all__ = ["index_documents", "index_missing", "is_level", "remove_documents", "search"]

K1: Final = 1.2
"""How soon repeating a word stops to count."""
B: Final = 0.75
"""How much the length of an entry counts, 0 to 1."""


def index_documents(
    connection: duckdb.DuckDBPyConnection,
    documents: Iterable[tuple[int, str]],
    *,
    prefix: str = "",
) -> None:
    """Add texts to the index; grows with their words alone.

    Args:
        connection: Inside a write transaction.
        documents: (seq, content) of entries that are not in the index.
        prefix: Of the names of the index's tables, for one that is kept beside it.
    """
    texts = list(documents)
    if not texts:
        return
    terms = [analyse_document(content) for _, content in texts]
    seqs = np.array([seq for seq, _ in texts], dtype=np.int64)
    lengths = np.array([len(words) for words in terms], dtype=np.int32)
    key_of = {word: _key(word) for word in set(chain.from_iterable(terms))}
    tokens = np.array([key_of[word] for words in terms for word in words], dtype=np.int64)
    keys, codes = np.unique(tokens, return_inverse=True)
    # Rows in the order of terms: a scan for one term then skips most of a bulk load.
    pairs = codes * len(texts) + np.repeat(np.arange(len(texts)), lengths)
    pairs, tf = np.unique(pairs, return_counts=True)
    at = pairs % len(texts)
    postings = {
        "term": keys[pairs // len(texts)],
        "seq": seqs[at],
        "tf": tf.astype(np.int32),
        "n_terms": lengths[at],
    }
    append(connection, f"{prefix}documents", {"seq": seqs, "n_terms": lengths})
    append(connection, f"{prefix}postings", postings)


def remove_documents(connection: duckdb.DuckDBPyConnection, seqs: Sequence[int]) -> None:
    """Take entries out of the index; those that are not in it are passed over."""
    for table in ("documents", "postings"):
        connection.execute(f"DELETE FROM {table} WHERE seq IN (SELECT unnest(?))", [list(seqs)])


def is_level(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether every entry is in the index: not after writes of a store in another text mode."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM entries) = (SELECT count(*) FROM documents)"
    ).fetchone()
    return row is not None and bool(row[0])


def index_missing(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the entries that are not in the index."""
    missing = connection.execute(
        "SELECT e.seq, e.content FROM entries AS e ANTI JOIN documents USING (seq) ORDER BY e.seq"
    ).fetchall()
    index_documents(connection, missing)


def search(
    connection: duckdb.DuckDBPyConnection,
    terms: Sequence[str],
    *,
    condition: str,
    values: Sequence[Any],
    limit: int | None,
) -> list[tuple[str, float]]:
    """Return (entry id, score) of the entries that hold any of `terms`, best first.

    One scan of the postings of these terms, and one of the entries for the filter. A term of
    one entry of average length, once in it, weighs exactly its idf. Numbers are added up term
    by term in the order of `terms`, so that equal texts have equal scores.

    Args:
        terms: Distinct.
        condition: SQL over the entries table `e`; its parameters are `values`.
        limit: At most this many; None is all. Ties go to the greater id.

    Returns:
        Scores as `nousmem.stores._bm25.match_score` has them, above 0.
    """
    n_entries, mean_length = connection.execute(
        "SELECT count(*), avg(n_terms) FROM documents"
    ).fetchall()[0]
    keys = [_key(term) for term in terms]
    found = fetch(
        connection,
        "SELECT term, seq, tf, n_terms FROM postings WHERE term IN (SELECT unnest(?))",
        [keys],
    )
    if not found["seq"].size:
        return []
    norm = K1 * (1 - B + B * found["n_terms"] / mean_length)
    weights = found["tf"] * (K1 + 1) / (found["tf"] + norm)
    seqs, at = np.unique(found["seq"], return_inverse=True)
    bm25 = np.zeros(seqs.size)
    idfs: list[float] = []
    for key in keys:
        rows = np.flatnonzero(found["term"] == key)
        if rows.size:
            idfs.append(math.log1p((n_entries - rows.size + 0.5) / (rows.size + 0.5)))
            bm25[at[rows]] += idfs[-1] * weights[rows]
    # A word no entry holds is taken to be as rare as the rarest that is there.
    ideal = math.fsum(idfs) + max(idfs) * (len(keys) - len(idfs))
    seen = fetch(connection, f"SELECT e.seq FROM entries AS e WHERE {condition}", values)["seq"]
    kept = np.flatnonzero(np.isin(seqs, seen)) if seen.size < n_entries else np.arange(seqs.size)
    return _best(connection, seqs[kept], bm25[kept], ideal=ideal, limit=limit)


def _best(
    connection: duckdb.DuckDBPyConnection,
    seqs: NDArray[np.int64],
    bm25: NDArray[np.float64],
    *,
    ideal: float,
    limit: int | None,
) -> list[tuple[str, float]]:
    if limit is not None and seqs.size > limit:
        # Everything that ties with the last place stays until ids have decided.
        cut = np.partition(bm25, seqs.size - limit)[seqs.size - limit]
        seqs, bm25 = seqs[bm25 >= cut], bm25[bm25 >= cut]
    score_of = {
        seq: match_score(score, ideal)
        for seq, score in zip(seqs.tolist(), bm25.tolist(), strict=True)
    }
    ids = connection.execute(
        "SELECT id, seq FROM entries WHERE seq IN (SELECT unnest(?)) ORDER BY id DESC",
        [list(score_of)],
    ).fetchall()
    ranked = sorted(((entry_id, score_of[seq]) for entry_id, seq in ids), key=lambda p: -p[1])
    return ranked[:limit]


def _key(term: str) -> int:
    """Return 64 bits that stand for a term: far faster to scan than text, equal on any machine."""
    digest = blake2b(term.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
