"""The compiled sweep engine: ranks the watched entries by counting, and measures, without sorting.

What needs an exponential (decay, recency) or a maximum over a query (relevance) comes as tables
that settings share, made by the functions of `nousmem.scoring`; what is left for each setting is
the weighted sum, in float64 and in the same order of operations, so that every bit is as NumPy
has it. (Measured: float32 would be a tenth faster at most, since counting takes most of the
time.)

The loops are plain Python until `_compiled` hands them to numba, on the first large sweep of a
process: importing this module imports no numba. Machine code is cached on disk, in NUMBA_CACHE_DIR
if that is set, else beside the loops, else in the user's cache folder; where none can be written,
each process compiles anew (some seconds).

Blocks of settings are worked on by threads that hold no lock. numba's own parallel loops are not
used: their thread arrays cannot be entered by two threads at once, nor survive a fork.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.measures import Measure, WatchedRanks
from nousmem.evaluation.sweeps import loops
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.scoring import (
    DECAY_PARAMETERS,
    RECENCY_PARAMETERS,
    RELEVANCE_PARAMETERS,
    Floats,
    Scoring,
)

__all__ = ["kernel_values"]

Ints = NDArray[np.int64]
Ranks = NDArray[np.int32]

_BLOCK: Final = 64
"""Settings a thread takes at a time: their ranks fit the processor's cache."""

_STEP: Final = 16
"""Candidates that a vector loop takes at a time; what is left over would go one by one."""

_TABLE_BYTES: Final = 256_000_000
"""Tables are made for as many settings at a time as fit in this."""


def kernel_values(
    arrays: CandidateArrays,
    settings: Sequence[Scoring],
    measures: Sequence[Measure],
    *,
    threads: int | None = None,
    advance: Callable[[int], object] | None = None,
) -> Floats:
    """Return what `score_settings` returns.

    Args:
        arrays: The candidates.
        settings: What is tried.
        measures: What is measured.
        threads: None is one for each processor this process may use, or NUMBA_NUM_THREADS. The
            result does not depend on it.
        advance: Called with the number of settings done since the last call.

    Returns:
        Shape (settings, measures, queries).
    """
    from numba import config

    values = np.empty((len(settings), len(measures), len(arrays)))
    work = functools.partial(
        _measure_block, _Watched.of(arrays), _writers(arrays, measures), values
    )
    workers = threads or int(vars(config)["NUMBA_NUM_THREADS"])
    with ThreadPoolExecutor(workers) as executor:
        try:
            for chunk in _chunks(arrays, settings, executor):
                blocks = [slice(at, at + _BLOCK) for at in range(0, len(chunk.rows), _BLOCK)]
                for done in executor.map(functools.partial(work, chunk), blocks):
                    if advance is not None:
                        advance(done)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
    return values


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Settings whose tables are held at the same time."""

    rows: Ints
    """Shape (s,): place of each setting in the result."""
    tables: tuple[Floats, Floats, Floats]
    """Relevance, decay, recency, each of shape (distinct, n, c)."""
    table_at: tuple[Ints, Ints, Ints]
    """Each of shape (s,): the tables of each setting."""
    weights: Floats
    """Shape (s, 3): of relevance, importance, recency."""
    min_scores: Floats
    """Shape (s,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Watched:
    """The entries whose ranks are wanted, by query."""

    importance: Floats
    starts: Ints
    """Shape (n + 1,): where the entries of each query start."""
    columns: Ints
    """Shape (w,): column among the candidates, -1 for none."""
    places: Ints
    """Shape (w,): where its rank is put."""

    @classmethod
    def of(cls, arrays: CandidateArrays) -> _Watched:
        order = np.argsort(arrays.watched_query, kind="stable")
        return cls(
            importance=_stacked([arrays.importance])[0],
            starts=_starts(arrays.watched_query, len(arrays)),
            columns=arrays.watched_column[order].astype(np.int64),
            places=order.astype(np.int64),
        )


_Writer = Callable[[Ranks, Ints, Floats], object]


def _measure_block(
    watched: _Watched, writers: Sequence[_Writer], values: Floats, chunk: _Chunk, block: slice
) -> int:
    rows = chunk.rows[block]
    ranks = np.zeros((len(rows), len(watched.columns)), dtype=np.int32)
    _compiled(loops.rank_watched)(
        *chunk.tables,
        watched.importance,
        *(at[block] for at in chunk.table_at),
        chunk.weights[block],
        chunk.min_scores[block],
        watched.starts,
        watched.columns,
        watched.places,
        ranks,
    )
    for write in writers:
        write(ranks, rows, values)
    return len(rows)


def _chunks(
    arrays: CandidateArrays, settings: Sequence[Scoring], executor: ThreadPoolExecutor
) -> Iterator[_Chunk]:
    """Sort settings so that those with the same tables meet, and cut where tables get too many."""
    room = max(3, _TABLE_BYTES // max(1, arrays.importance.nbytes))
    keys = [_table_keys(setting) for setting in settings]
    distinct: tuple[dict[object, int], ...] = ({}, {}, {})
    rows: list[int] = []
    for row in sorted(range(len(settings)), key=keys.__getitem__):
        new = sum(key not in found for key, found in zip(keys[row], distinct, strict=True))
        if rows and sum(map(len, distinct)) + new > room:
            yield _chunk(arrays, settings, keys, rows, executor)
            distinct, rows = ({}, {}, {}), []
        for key, found in zip(keys[row], distinct, strict=True):
            found.setdefault(key, row)
        rows.append(row)
    if rows:
        yield _chunk(arrays, settings, keys, rows, executor)


def _table_keys(setting: Scoring) -> tuple[tuple[Any, ...], ...]:
    # Without a weight, recency is not looked at, so any table will do.
    recency = RECENCY_PARAMETERS if setting.recency_weight() else ()
    return tuple(
        tuple(getattr(setting, name) for name in names)
        for names in (RELEVANCE_PARAMETERS, DECAY_PARAMETERS, recency)
    )


def _chunk(
    arrays: CandidateArrays,
    settings: Sequence[Scoring],
    keys: Sequence[tuple[tuple[Any, ...], ...]],
    rows: Sequence[int],
    executor: ThreadPoolExecutor,
) -> _Chunk:
    tables: list[Floats] = []
    table_at: list[Ints] = []
    makers = (arrays.relevance_under, arrays.decay_under, arrays.recency_under)
    for kind, make in enumerate(makers):
        first_with = {keys[row][kind]: settings[row] for row in reversed(rows)}
        place = {key: at for at, key in enumerate(first_with)}
        tables.append(_stacked(list(executor.map(make, first_with.values()))))
        table_at.append(np.array([place[keys[row][kind]] for row in rows], dtype=np.int64))
    return _Chunk(
        rows=np.array(rows, dtype=np.int64),
        tables=(tables[0], tables[1], tables[2]),
        table_at=(table_at[0], table_at[1], table_at[2]),
        weights=np.array([settings[row].weights() for row in rows], dtype=np.float64),
        min_scores=np.array([settings[row].min_score for row in rows], dtype=np.float64),
    )


def _stacked(tables: Sequence[Floats]) -> Floats:
    """Put tables of shape (n, c) together, padded with NaN to whole steps of the loops."""
    n, c = tables[0].shape
    stacked = np.full((len(tables), n, -(-c // _STEP) * _STEP), np.nan)
    for at, table in enumerate(tables):
        stacked[at, :, :c] = table
    return stacked


def _writers(arrays: CandidateArrays, measures: Sequence[Measure]) -> list[_Writer]:
    """Return, for each measure, the function that writes it for a block of ranks."""
    judgements, marks = arrays.judgements, arrays.marks
    judged = WatchedRanks(judgements, measures, marks)
    starts = _starts(judgements.query_index, len(arrays))
    writers: list[_Writer] = []
    for column, measure in enumerate(measures):
        # The place of each rank, infinite for none and past the cutoff.
        place = np.arange(arrays.importance.shape[1] + 1, dtype=np.float64)
        place[0] = np.inf
        place[place > (measure.cutoff or np.inf)] = np.inf
        found = np.isfinite(place).astype(np.float64)
        function: Callable[..., None]
        given: tuple[Any, ...]
        match measure.name:
            case "nDCG":
                ideal = judged.ideal[measure.cutoff]
                function = loops.write_ndcg
                given = (np.log2(place + 1), starts, judgements.gains, ideal)
            case "RR":
                function, given = loops.write_reciprocal_rank, (1.0 / place, starts)
            case "AP":
                function, given = loops.write_average_precision, (place, starts, judged.n_relevant)
            case "R":
                function, given = loops.write_share_found, (found, starts, judged.n_relevant)
            case "P":
                places = np.full(len(arrays), float(measure.cutoff or 1))
                function, given = loops.write_share_found, (found, starts, places)
            case "Success":
                function, given = loops.write_enough_found, (found, starts, np.ones(len(arrays)))
            case "AllRel":
                function, given = loops.write_enough_found, (found, starts, judged.n_relevant)
            case _:
                first = len(judgements.gains)
                mark_starts = first + _starts(marks.query_index, len(arrays))
                function, given = loops.write_fresh, (place, mark_starts, first, marks.newest)
        writers.append(functools.partial(_compiled(function), column, *given))
    return writers


def _starts(query_index: NDArray[np.intp], n: int) -> Ints:
    counts = np.bincount(query_index, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@functools.cache
def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    from numba import njit

    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        return njit(nogil=True)(function)
