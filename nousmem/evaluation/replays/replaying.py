"""The queries of a sweep asked one after another: what a recall returns counts as accessed.

A sweep judges every query on the access clocks that the corpus has. An agent's recall moves
them: what it returns is young again, and stands higher the next time.

Source: specification, "Memory Tools" (recall records an access of what it returns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.errors import InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation.measures import Measure, WatchedRanks
from nousmem.evaluation.replays.clocks import CandidateEntries, Places
from nousmem.evaluation.replays.loops import LoopCounter, LoopCounts
from nousmem.evaluation.replays.results import ReplayResult, static_places
from nousmem.evaluation.replays.turns import Turn, replay_turns
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.swept import SweepResult
from nousmem.retrieval.settings import Retrieval
from nousmem.scoring import Floats, Scoring

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
    that reach the setting's `min_score`, get the query's now for their last access and one access
    more, as recall has it; later queries that have the same entry of the same store among their
    candidates see it. Nothing is retrieved again: the built-in legs do not depend on access, and
    what a leg of one's own found at first is kept.

    A term of one's own is evaluated anew at each turn. It is called with the `Candidates` of one
    query, in which `last_accessed` and `access_count` are those of the replay; their `entries`
    stay as the corpus has them.

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
        ExtensionError: a term, function or measure of somebody's own broke its rules.
    """
    rows = _checked_rows(swept, settings)
    limit = check_whole("limit", limit, least=1)
    entries = CandidateEntries.of(swept.candidates.values())
    values = np.empty((len(rows), len(swept.measures), swept.n_queries))
    counts: list[tuple[Places, LoopCounts]] = []
    n = len(rows) * swept.n_queries
    with progress_bar(n, "replayed queries", show=progress) as advance:
        for places in _chunks(swept, entries, rows):
            at: list[int] = places.tolist()
            arrays = swept.candidates_of(rows[at[0]])
            scorings = [swept.settings[rows[place]].scoring for place in at]
            values[places], counted = _replayed(
                arrays, entries, scorings, swept.measures, limit=limit, advance=advance
            )
            counts.append((places, counted))
    return ReplayResult(
        swept=swept,
        rows=tuple(rows),
        limit=limit,
        values=values,
        counts=LoopCounts.joined(counts),
        entries=entries,
    )


def _replayed(
    arrays: CandidateArrays,
    entries: CandidateEntries,
    settings: Sequence[Scoring],
    measures: Sequence[Measure],
    *,
    limit: int,
    advance: Callable[[int], object],
) -> tuple[Floats, LoopCounts]:
    """Replay settings that rank the same candidates; return shape (s, measures, queries)."""
    ranks_to_values = WatchedRanks(arrays.judgements, measures, arrays.marks)
    watched = _watched_by_query(arrays)
    ranks = np.zeros((len(settings), len(arrays.watched_query)), dtype=np.int32)
    rankings: list[dict[str, list[tuple[str, float]]]] = [{} for _ in settings]
    counter = LoopCounter(arrays, entries, static_places(arrays, settings, limit=limit))
    for turn in replay_turns(arrays, entries, settings, limit=limit):
        places, columns = watched[turn.query]
        ranks[:, places] = turn.ranks()[:, columns]
        if ranks_to_values.reads_rankings:
            query_id = arrays.queries[turn.query].query_id
            for own, ranking in zip(rankings, _rankings(arrays, turn), strict=True):
                own[query_id] = ranking
        counter.count(turn)
        advance(len(settings))
    values = [
        ranks_to_values.values(own, whole) for own, whole in zip(ranks, rankings, strict=True)
    ]
    return np.stack(values), counter.totals()


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


def _rankings(arrays: CandidateArrays, turn: Turn) -> list[list[tuple[str, float]]]:
    """Return the ranking under each setting, entry and score, best first."""
    ids = arrays.doc_ids[turn.query]
    return [
        [(ids[column], float(own[column])) for column in order.tolist() if own[column] > -np.inf]
        for own, order in zip(turn.scores, turn.order, strict=True)
    ]


def _chunks(swept: SweepResult, entries: CandidateEntries, rows: Sequence[int]) -> Iterator[Places]:
    """Yield places among the rows, of settings that rank the same candidates."""
    found: dict[Retrieval, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(swept.settings[row].retrieval, []).append(place)
    for retrieval, places in found.items():
        # A relevance table and the static first places; clocks and the counts of every entry.
        bytes_each = swept.candidates[retrieval].present.size * 9 + len(entries) * 36
        size = max(1, _CHUNK_BYTES // max(1, bytes_each))
        for start in range(0, len(places), size):
            yield np.array(places[start : start + size], dtype=np.intp)
