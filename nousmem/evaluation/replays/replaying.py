"""The queries of a sweep asked one after another: what a recall returns counts as accessed.

A sweep judges every query on the access clocks that the corpus has. An agent's recall moves
them: what it returns is young again, and stands higher the next time.

Source: specification, "Memory Tools" (recall records an access of what it returns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import WatchedRanks
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.replays.loops import LoopCounter, LoopCounts
from nousmem.evaluation.replays.results import ReplayResult, static_places
from nousmem.evaluation.replays.turns import CandidateEntries, Places, replay_turns
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.results import SweepResult

__all__ = ["replay"]

_CHUNK_BYTES: Final = 256_000_000
"""Settings are replayed side by side for as many at a time as fit in this."""


def replay(
    swept: SweepResult,
    *,
    limit: int = 10,
    settings: Sequence[int] | None = None,
    progress: bool = False,
) -> ReplayResult:
    """Ask the queries of a sweep in the order of time, each setting on clocks of its own.

    Queries are asked by `now`, then by query_id. The first `limit` entries of a ranking, of those
    that reach the setting's `min_score`, get the query's now for their last access, as recall
    has it; later queries that have the same entry of the same store among their candidates see
    it. The candidates do not depend on access, so nothing is retrieved again.

    Only the queries measured are asked: those without a relevant entry touch nothing here, which
    in an agent's life they would.

    Args:
        swept: Corpus, candidates and settings.
        limit: Entries returned for a query, at most; the agent's recall returns 5 unless asked
            for more.
        settings: Rows of `swept.frame` to replay; None is all.
        progress: Show a progress bar.

    Raises:
        InvalidParameter: `limit` is not a whole number above 0; there is no such row, or
            `settings` is empty.
    """
    rows = _checked_rows(swept, settings)
    limit = check_whole("limit", limit, least=1)
    arrays = swept.candidates
    entries = CandidateEntries.of(arrays)
    ranks_to_values = WatchedRanks(arrays.judgements, swept.measures, arrays.marks)
    watched = _watched_by_query(arrays)
    values = np.empty((len(rows), len(swept.measures), len(arrays)))
    counts: list[LoopCounts] = []
    with progress_bar(len(rows) * len(arrays), "replayed queries", show=progress) as advance:
        for chunk in _chunks(arrays, entries, len(rows)):
            chosen = [swept.settings[row] for row in rows[chunk]]
            ranks = np.zeros((len(chosen), len(arrays.watched_query)), dtype=np.int32)
            counter = LoopCounter(arrays, entries, static_places(arrays, chosen, limit=limit))
            for turn in replay_turns(arrays, entries, chosen, limit=limit):
                places, columns = watched[turn.query]
                ranks[:, places] = turn.ranks()[:, columns]
                counter.count(turn)
                advance(len(chosen))
            values[chunk] = [ranks_to_values.values(own) for own in ranks]
            counts.append(counter.totals())
    return ReplayResult(
        swept=swept,
        rows=tuple(rows),
        limit=int(limit),
        values=values,
        counts=LoopCounts.joined(counts),
        entries=entries,
    )


def _checked_rows(swept: SweepResult, settings: Sequence[int] | None) -> list[int]:
    n = len(swept.settings)
    if settings is None:
        return list(range(n))
    rows = list(settings)
    wrong = [row for row in rows if not isinstance(row, Integral) or not 0 <= row < n]
    if wrong or not rows:
        raise InvalidParameter(
            f"settings must be rows of swept.frame, 0 to {n - 1}; got {wrong or rows}"
        )
    return rows


def _watched_by_query(arrays: CandidateArrays) -> list[tuple[Places, Places]]:
    """Return, for each query, the places of its watched candidates and their columns."""
    found = np.flatnonzero(arrays.watched_column >= 0)
    return [
        (own := found[arrays.watched_query[found] == query], arrays.watched_column[own])
        for query in range(len(arrays))
    ]


def _chunks(arrays: CandidateArrays, entries: CandidateEntries, n_settings: int) -> Iterator[slice]:
    # A relevance table and the static first places; a clock and the counts of every entry.
    bytes_each = arrays.present.size * 9 + len(entries) * 28
    size = max(1, _CHUNK_BYTES // max(1, bytes_each))
    for start in range(0, n_settings, size):
        yield slice(start, start + size)
