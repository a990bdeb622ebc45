"""Which entries are relevant to which query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import CorpusError
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Judgements"]


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """The relevant entries of some queries, one row a judgement above 0, by query."""

    query_ids: tuple[str, ...]
    """The queries that have any, in the order asked for; n of them."""
    query_index: NDArray[np.intp]
    """Shape (m,): the query each judgement belongs to, ascending."""
    doc_ids: tuple[str, ...]
    """Length m."""
    gains: Floats
    """Shape (m,): the judged relevance, above 0."""
    n_without: int
    """Queries asked for that have no relevant entry, and so cannot be measured."""
    others: tuple[tuple[str, str, float], ...] = ()
    """Query, entry and relevance of the judgements of these queries that are not above 0."""

    @classmethod
    def of(cls, qrels: pd.DataFrame, query_ids: Sequence[str] | None = None) -> Judgements:
        """Collect the judgements of these queries; None is every query in the qrels.

        Raises:
            CorpusError: the qrels lack a column, judge an entry twice for a query, or hold a
                relevance that is no number.
        """
        missing = {"query_id", "doc_id", "relevance"} - set(qrels.columns)
        if missing:
            raise CorpusError(f"qrels lack the columns {', '.join(sorted(missing))}")
        # Lists, and no table: of one query, the table's own overhead is most of the time.
        rows: list[tuple[str, str, Any]] = list(
            zip(
                qrels["query_id"].tolist(),
                qrels["doc_id"].tolist(),
                qrels["relevance"].tolist(),
                strict=True,
            )
        )
        _check_rows(rows)
        by_query: dict[str, list[tuple[str, float]]] = {}
        asked = dict.fromkeys(row[0] for row in rows) if query_ids is None else list(query_ids)
        for query_id, doc_id, relevance in rows:
            if relevance > 0:
                by_query.setdefault(query_id, []).append((doc_id, float(relevance)))
        kept = [query_id for query_id in asked if query_id in by_query]
        relevant = [
            (at, doc_id, gain)
            for at, query_id in enumerate(kept)
            for doc_id, gain in by_query[query_id]
        ]
        measured = set(kept)
        return cls(
            query_ids=tuple(kept),
            query_index=np.array([row[0] for row in relevant], dtype=np.intp),
            doc_ids=tuple(row[1] for row in relevant),
            gains=np.array([row[2] for row in relevant], dtype=np.float64),
            n_without=len(asked) - len(kept),
            others=tuple(
                (query_id, doc_id, float(relevance))
                for query_id, doc_id, relevance in rows
                if query_id in measured and not relevance > 0
            ),
        )

    def by_query(self) -> dict[str, dict[str, float]]:
        """Return every judgement of these queries, those of 0 and below too."""
        found: dict[str, dict[str, float]] = {query_id: {} for query_id in self.query_ids}
        for at, doc_id, gain in zip(
            self.query_index.tolist(), self.doc_ids, self.gains.tolist(), strict=True
        ):
            found[self.query_ids[at]][doc_id] = gain
        for query_id, doc_id, relevance in self.others:
            found[query_id][doc_id] = relevance
        return found

    def __len__(self) -> int:
        return len(self.query_ids)


def _check_rows(rows: Sequence[tuple[str, str, Any]]) -> None:
    n_twice = len(rows) - len({row[:2] for row in rows})
    if n_twice:
        seen: set[tuple[str, str]] = set()
        query_id, doc_id = next(
            row[:2] for row in rows if row[:2] in seen or seen.add(row[:2]) is not None
        )
        raise CorpusError(
            f"the qrels judge {n_twice} entries twice, such as {doc_id!r} for query "
            f"{query_id!r}: leave one row of each"
        )
    if any(not isinstance(one, Real) or one != one for *_, one in rows):  # noqa: PLR0124
        raise CorpusError("the relevance of the qrels must be a number in every row")
