"""Which entries hold the newest state of an updated fact, and which are out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Query
from nousmem.errors import CorpusError

__all__ = ["UpdateMarks"]


@dataclass(frozen=True, slots=True, eq=False)
class UpdateMarks:
    """The marked entries of some queries, one row a mark, by query.

    A query is marked when its metadata holds `newest` and `outdated`, two lists of entry ids,
    neither of them empty.
    """

    query_index: NDArray[np.intp]
    """Shape (u,): the query each mark belongs to, ascending."""
    doc_ids: tuple[str, ...]
    """Length u."""
    newest: NDArray[np.bool_]
    """Shape (u,): true for newest, false for outdated."""
    n_queries: int
    """Queries marked."""

    @classmethod
    def of(cls, queries: Sequence[Query], query_ids: Sequence[str]) -> UpdateMarks:
        """Collect the marks of these queries, which are counted from 0 in the order of the ids.

        Raises:
            CorpusError: a query's marks are not lists of ids, or an entry is marked as both.
        """
        metadata = {query.query_id: query.metadata for query in queries}
        rows: list[tuple[int, str, bool]] = []
        for at, query_id in enumerate(query_ids):
            newest, outdated = _marks(query_id, metadata.get(query_id, {}))
            if newest and outdated:
                rows += [(at, doc_id, True) for doc_id in newest]
                rows += [(at, doc_id, False) for doc_id in outdated]
        return cls(
            query_index=np.array([row[0] for row in rows], dtype=np.intp),
            doc_ids=tuple(row[1] for row in rows),
            newest=np.array([row[2] for row in rows], dtype=bool),
            n_queries=len({row[0] for row in rows}),
        )

    @classmethod
    def none(cls) -> UpdateMarks:
        """Return no marks."""
        return cls.of((), ())


def _marks(query_id: str, metadata: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    lists: list[list[str]] = []
    for name in ("newest", "outdated"):
        ids: object = metadata.get(name, [])
        if not isinstance(ids, list | tuple):
            raise CorpusError(
                f"query {query_id!r}: metadata[{name!r}] must be a list of entry ids, got {ids!r}"
            )
        lists.append(list(dict.fromkeys(cast("Sequence[str]", ids))))
    newest, outdated = lists
    both = set(newest) & set(outdated)
    if both:
        raise CorpusError(f"query {query_id!r} marks {min(both)!r} as newest and as outdated")
    return newest, outdated
