"""Queries put to a search, one after another, each under its own circumstances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nousmem.corpora import Query
from nousmem.errors import InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.retrieval.finding import query_vectors
from nousmem.retrieval.search import Search

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["run_queries"]


def run_queries(
    search: Callable[..., Any],
    queries: Sequence[Query],
    *,
    limit: int | None = None,
    as_of: bool = True,
    progress: bool = False,
) -> pd.DataFrame:
    """Ask every query in its own scope, at its own `now`, of the store as of its `as_of`.

    Args:
        search: What is evaluated: a `Search`, or what is called like one. It is given a query's
            text, and `scope`, `limit`, `now` and `as_of`.
        queries: As a corpus has them.
        limit: Entries kept for each query; None is every candidate.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        progress: Show a progress bar.

    Returns:
        A run, one ranked entry a row. Columns: query_id, doc_id, score (the composite), rank
        (from 1). What scores less than the scoring's `min_score` is left out; a query that found
        nothing has no row.

    Raises:
        InvalidParameter: the vector leg alone is wanted, and there is no embedder; `limit` is not
            a whole number of at least 0; what was called returned no hits.
        EmbeddingMismatch: the store was filled by another embedder.
        EmbedderError: the embedder failed, whatever `on_embedder_error` of the search says.
        StoreError: the store cannot be read.
    """
    import pandas as pd

    vectors: dict[str, Any] = {}
    if isinstance(search, Search):
        texts = [query.text for query in queries]
        vectors = query_vectors([search.retrieval], search.store, search.embedder, texts)
        search = replace(search, on_embedder_error="raise")
    rows: list[tuple[str, str, float, int]] = []
    with progress_bar(len(queries), "queries", show=progress) as advance:
        for query in queries:
            given = {"vector": vectors[query.text]} if query.text in vectors else {}
            hits = search(
                query.text,
                scope=query.scope,
                limit=limit,
                now=query.now,
                as_of=query.as_of if as_of else None,
                **given,
            )
            try:
                found = [(hit.entry.id, float(hit.score)) for hit in hits]
            except (AttributeError, TypeError) as error:
                raise InvalidParameter(
                    f"{search!r} must return hits that have an entry and a score: {error}"
                ) from error
            rows += [
                (query.query_id, doc_id, score, rank)
                for rank, (doc_id, score) in enumerate(found, 1)
            ]
            advance(1)
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])
