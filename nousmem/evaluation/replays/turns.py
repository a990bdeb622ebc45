"""The turns of a replay: each query in the order of time, under every setting at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.scoring import (
    DECAY_PARAMETERS,
    RELEVANCE_PARAMETERS,
    Floats,
    Scoring,
    age_hours,
    composite,
    decay_under,
    recency,
    score_order,
)

__all__ = [
    "Bools",
    "CandidateEntries",
    "Places",
    "Turn",
    "asking_order",
    "first_places",
    "replay_turns",
]

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]

RATELESS: Final = tuple(name for name in DECAY_PARAMETERS if name != "decay_lambda")
"""The parameters that settings must share for their decay to be one call."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateEntries:
    """The store entries that the candidates of a arrays are, each once whatever query found it."""

    doc_ids: tuple[str, ...]
    """Length e, in ascending order. Ids are unique in a corpus, so in its partitions too."""
    of_query: tuple[Places, ...]
    """For each query the entry, from 0 to e - 1, that each of its candidates is."""
    last_accessed: NDArray[np.int64]
    """Shape (e,): whole seconds since 1970, as the corpus has it."""

    @classmethod
    def of(cls, arrays: CandidateArrays) -> CandidateEntries:
        """Collect them."""
        doc_ids = tuple(sorted({doc_id for ids in arrays.doc_ids for doc_id in ids}))
        place = {doc_id: at for at, doc_id in enumerate(doc_ids)}
        of_query = tuple(
            np.array([place[doc_id] for doc_id in ids], dtype=np.intp) for ids in arrays.doc_ids
        )
        last_accessed = np.zeros(len(doc_ids), dtype=np.int64)
        for row, own in enumerate(of_query):
            last_accessed[own] = arrays.last_accessed[row, : len(own)]
        return cls(doc_ids, of_query, last_accessed)

    def __len__(self) -> int:
        return len(self.doc_ids)


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One query under s settings, with its c candidates by descending doc_id."""

    query: int
    """Its place in the arrays."""
    entries: Places
    """Shape (c,): the store entry that each candidate is."""
    scores: Floats
    """Shape (s, c): composite scores; -inf where it is no candidate or below `min_score`."""
    order: Places
    """Shape (s, c): candidates, best first."""
    returned: Bools
    """Shape (s, c): the first `limit` of them, whose clocks are set to the query's now."""

    def ranks(self) -> NDArray[np.int32]:
        """Return the rank from 1 of every candidate, 0 where it has none; shape (s, c)."""
        ranks = np.empty(self.order.shape, dtype=np.int32)
        places = np.arange(1, self.order.shape[1] + 1, dtype=np.int32)
        np.put_along_axis(ranks, self.order, np.broadcast_to(places, ranks.shape), axis=1)
        return np.where(self.scores > -np.inf, ranks, np.int32(0))


def asking_order(arrays: CandidateArrays) -> list[int]:
    """Return the queries in the order they are asked: by now, then by query_id."""
    queries = arrays.queries
    return sorted(range(len(queries)), key=lambda at: (queries[at].now, queries[at].query_id))


def replay_turns(
    arrays: CandidateArrays, entries: CandidateEntries, settings: Sequence[Scoring], *, limit: int
) -> Iterator[Turn]:
    """Yield the queries in the order of time, each on the clocks that those before it have set.

    Every setting has clocks of its own, shape (s, e). What it returns is set to the query's now,
    as `touch` sets it in a store, even where the corpus has a later access.

    Args:
        arrays: The candidates.
        entries: Of this arrays.
        settings: What is replayed, side by side.
        limit: Entries returned for a query, at most.
    """
    clocks = np.tile(entries.last_accessed, (len(settings), 1))
    tables, table_at = _relevance_tables(arrays, settings)
    decays = _grouped(settings, RATELESS)
    rates = np.array([[setting.decay_lambda] for setting in settings])
    weights = np.array([setting.weights() for setting in settings], dtype=np.float64)
    w_relevance, w_importance, w_recency = (weights[:, [at]] for at in range(3))
    recency_lambda = np.array([[setting.recency_lambda] for setting in settings])
    min_score = np.array([[setting.min_score] for setting in settings])
    for query in asking_order(arrays):
        own = entries.of_query[query]
        filled = slice(0, len(own))
        importance, now = arrays.importance[query, filled], arrays.now[query]
        last_accessed = clocks[:, own]
        share = np.empty(last_accessed.shape)
        for scoring, rows in decays:
            share[rows] = decay_under(
                scoring,
                last_accessed=last_accessed[rows],
                created=arrays.created[query, filled],
                now=now,
                evergreen=arrays.evergreen[query, filled],
                importance=importance,
                decay_lambda=rates[rows],
            )
        scores = composite(
            tables[table_at, query, filled] * share,
            importance,
            recency(age_hours(last_accessed, now), recency_lambda=recency_lambda),
            w_relevance=w_relevance,
            w_importance=w_importance,
            w_recency=w_recency,
        )
        scores = np.where(scores >= min_score, scores, -np.inf)
        order = score_order(scores)
        returned = first_places(scores, order, limit)
        yield Turn(query, own, scores, order, returned)
        rows, columns = np.nonzero(returned)
        clocks[rows, own[columns]] = now


def first_places(scores: Floats, order: Places, limit: int) -> Bools:
    """Return which candidates are the first `limit`, of those that have a score.

    Args:
        scores: Shape (..., c), -inf where there is no candidate.
        order: Shape (..., c): candidates, best first.
        limit: How many.
    """
    first = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(first, order[..., :limit], values=True, axis=-1)
    return first & (scores > -np.inf)


def _relevance_tables(
    arrays: CandidateArrays, settings: Sequence[Scoring]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return each relevance table once, shape (distinct, n, c), and the table of each setting."""
    groups = _grouped(settings, RELEVANCE_PARAMETERS)
    table_at = np.empty(len(settings), dtype=np.intp)
    for at, (_, rows) in enumerate(groups):
        table_at[rows] = at
    return np.stack([arrays.relevance_under(scoring) for scoring, _ in groups]), table_at


def _grouped(
    settings: Sequence[Scoring], parameters: Sequence[str]
) -> list[tuple[Scoring, Places]]:
    """Return, for each combination of these parameters, one setting and the rows of all."""
    rows: dict[tuple[object, ...], list[int]] = {}
    for at, setting in enumerate(settings):
        rows.setdefault(tuple(getattr(setting, name) for name in parameters), []).append(at)
    return [(settings[own[0]], np.array(own, dtype=np.intp)) for own in rows.values()]
