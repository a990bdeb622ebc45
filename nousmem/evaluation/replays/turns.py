"""The turns of a replay: each query in the order of time, under every setting at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.replays._scores import TurnScores
from nousmem.evaluation.replays.clocks import AccessClocks, Bools, CandidateEntries, Places
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.scoring import Floats, Scoring, score_order

__all__ = ["Turn", "asking_order", "first_places", "replay_turns"]


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
    """Shape (s, c): the first `limit` of them, whose access is counted at the query's now."""

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

    Every setting has clocks of its own (`AccessClocks`).

    Args:
        arrays: The candidates.
        entries: Those of these arrays are among them.
        settings: What is replayed, side by side.
        limit: Entries returned for a query, at most.
    """
    clocks = AccessClocks.of(entries, len(settings))
    scored, places = TurnScores(arrays, settings), entries.places(arrays)
    for query in asking_order(arrays):
        own = places[query]
        scores = scored.at(query, clocks.last_accessed[:, own], clocks.access_count[:, own])
        order = score_order(scores)
        returned = first_places(scores, order, limit)
        yield Turn(query, own, scores, order, returned)
        clocks.touch(own, returned, arrays.now[query])


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
