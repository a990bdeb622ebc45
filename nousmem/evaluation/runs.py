"""Queries put to a search, one after another, each under its own circumstances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nousmem.corpora import Query
from nousmem.evaluation.progress import progress_bar
from nousmem.retrieval.search import Search

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["run_queries"]


def run_queries(
    search: Search,
    queries: Sequence[Query],
    *,
    limit: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Ask every query in its own scope, at its own `now`, of the store as of its `as_of`.

    Args:
        search: What is evaluated.
        queries: As a corpus has them.
        limit: Entries kept for each query; None is every candidate.
        progress: Show a progress bar.

    Returns:
        A run, one ranked entry a row. Columns: query_id, doc_id, score (the composite), rank
        (from 1). What scores less than the scoring's `min_score` is left out; a query that found
        nothing has no row.

    Raises:
        InvalidParameter: the vector leg alone is wanted, and there is no embedder; `limit` is not
            a whole number of at least 0.
        EmbeddingMismatch: the store was filled by another embedder.
        EmbedderError: the embedder failed, whatever `on_embedder_error` of the search says.
        StoreError: the store cannot be read.
    """
    import pandas as pd

    vectors: list[Any] = [None] * len(queries)
    if search.embedder is not None and "vector" in search.active_legs():
        vectors = list(search.embedder.embed_queries([query.text for query in queries]))
    rows: list[tuple[str, str, float, int]] = []
    with progress_bar(len(queries), "queries", show=progress) as advance:
        for query, vector in zip(queries, vectors, strict=True):
            hits = search(
                query.text,
                scope=query.scope,
                limit=limit,
                now=query.now,
                as_of=query.as_of,
                vector=vector,
            )
            rows += [(query.query_id, hit.entry.id, hit.score, hit.rank) for hit in hits]
            advance(1)
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])
