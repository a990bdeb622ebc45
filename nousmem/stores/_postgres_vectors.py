"""Vector search by pgvector: every vector that passes the filters, or an HNSW index.

The index is approximate (Malkov and Yashunin 2016, "Efficient and robust approximate nearest
neighbor search using Hierarchical Navigable Small World graphs"). Filters are applied to what it
yields, so it is read on until the limit is filled; where it ends before, every vector is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from nousmem.entry import Vector
from nousmem.errors import StoreError
from nousmem.stores._postgres_connection import PostgresConnection
from nousmem.stores._postgres_rows import RowFilter, fetch_with_ties
from nousmem.stores._postgres_schema import Facts

__all__ = ["make_vector_index", "search_vectors"]

_MAX_DIMENSION: Final = 2_000  # what pgvector's index holds
# How many candidates the index keeps: more is slower, and misses less.
_LEAST_EF_SEARCH: Final = 100
_MOST_EF_SEARCH: Final = 1000


def search_vectors(
    connection: PostgresConnection,
    unit: Vector,
    *,
    rows: RowFilter,
    limit: int | None,
    indexed: bool,
) -> Mapping[int, float]:
    """Return the best entries by cosine, from `seq` to the cosine.

    Args:
        connection: In a transaction.
        unit: Shape (dimension,), of length 1.
        rows: Which entries count.
        limit: How many; all that tie with the last are returned too.
        indexed: Whether to use the HNSW index.
    """

    def nearest(n: int | None) -> Sequence[tuple[int, float]]:
        if indexed and n is not None:
            ef_search = min(max(2 * n, _LEAST_EF_SEARCH), _MOST_EF_SEARCH)
            connection.run(
                "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), "
                "set_config('hnsw.ef_search', %s, true)",
                [str(ef_search)],
            )
            order = f"{_indexed(unit.size, 'v.embedding')} <=> %s::vector({unit.size})"
            found = _nearest(connection, unit, rows, n, order=order)
            if len(found) == n:
                return found
        return _nearest(connection, unit, rows, n, order="v.embedding <=> %s")

    return fetch_with_ties(nearest, limit)


def _nearest(
    connection: PostgresConnection, unit: Vector, rows: RowFilter, n: int | None, *, order: str
) -> list[tuple[int, float]]:
    joined = rows.joined("v")
    return connection.run(
        f"SELECT v.seq, 1 - (v.embedding <=> %s) AS score FROM vectors AS v {joined.join} "
        f"WHERE {joined.condition} ORDER BY {order} LIMIT %s",
        [unit, *joined.values, unit, n],
    ).fetchall()


def make_vector_index(connection: PostgresConnection, facts: Facts) -> None:
    """Make the HNSW index, if it is wanted and the dimension is known.

    Raises:
        StoreError: the vectors are too long for it.
    """
    if not facts.hnsw or facts.dimension is None:
        return
    if facts.dimension > _MAX_DIMENSION:
        raise StoreError(
            f"pgvector's HNSW index takes {_MAX_DIMENSION} dimensions at most, the vectors "
            f"have {facts.dimension}: open a store without hnsw, in a schema of its own"
        )
    connection.run(
        "CREATE INDEX IF NOT EXISTS vectors_nearest ON vectors "
        f"USING hnsw (({_indexed(facts.dimension, 'embedding')}) vector_cosine_ops)"
    )


def _indexed(dimension: int, column: str) -> str:
    """Return the expression that the HNSW index is on: vectors, declared to be of one dimension.

    Building it meets rows that were just deleted, too, perhaps of another dimension: NULL then.
    """
    of_dimension = f"CASE vector_dims({column}) WHEN {dimension} THEN {column} END"
    return f"({of_dimension})::vector({dimension})"
