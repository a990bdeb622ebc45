"""The compiled sweep engine: ranks the watched entries by counting, and measures, without sorting.

What needs an exponential (decay, recency) or a maximum over a query (relevance) comes as tables
that settings share, made by the functions of `nousmem.scoring`; what is left for each setting is
the weighted sum, in float64 and in the same order of operations, so that every bit is as NumPy
has it. (Measured: float32 would be a tenth faster at most, since counting takes most of the
time.)

The loops are plain Python until `compiled` hands them to numba, on the first large sweep of a
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

from nousmem.evaluation.measures import Measure
from nousmem.evaluation.sweeps import _loops as loops
from nousmem.evaluation.sweeps._writers import Writer, compiled, starts_of, writers
from nousmem.evaluation.sweeps.candidate_arrays import Addend, CandidateArrays
from nousmem.scoring import Floats, Scoring

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
    work = functools.partial(_measure_block, _Watched.of(arrays), writers(arrays, measures), values)
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
    extra: Floats | None
    """The tables of somebody's own terms, shape (distinct, n, c); None where none has a weight."""
    extra_at: Ints | None
    """Shape (s, e): the tables that each setting adds."""
    extra_weights: Floats | None
    """Shape (s, e): their weights, 0 for none."""
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
            starts=starts_of(arrays.watched_query, len(arrays)),
            columns=arrays.watched_column[order].astype(np.int64),
            places=order.astype(np.int64),
        )


def _measure_block(
    watched: _Watched, written: Sequence[Writer], values: Floats, chunk: _Chunk, block: slice
) -> int:
    rows = chunk.rows[block]
    ranks = np.zeros((len(rows), len(watched.columns)), dtype=np.int32)
    compiled(loops.rank_watched)(
        *chunk.tables,
        watched.importance,
        *(at[block] for at in chunk.table_at),
        chunk.weights[block],
        chunk.extra,
        None if chunk.extra_at is None else chunk.extra_at[block],
        None if chunk.extra_weights is None else chunk.extra_weights[block],
        chunk.min_scores[block],
        watched.starts,
        watched.columns,
        watched.places,
        ranks,
    )
    for write in written:
        write(ranks, rows, values)
    return len(rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Which tables each setting needs: a number for each, as they were first needed.

    Numbers, since what a table depends on may have no order of its own.
    """

    tables: list[tuple[int, int, int]]
    """Of each setting: relevance, decay, recency."""
    addends: list[list[Addend]]
    """Of each setting: the terms of somebody's own that it weighs."""
    own: list[tuple[int, ...]]
    """Of each setting: the tables of these terms."""

    @classmethod
    def of(cls, arrays: CandidateArrays, settings: Sequence[Scoring]) -> _Plan:
        legs, decaying = arrays.legs, [term.name for term in arrays.terms if term.decays]
        relevance: dict[object, int] = {}
        decay: dict[object, int] = {}
        recency: dict[object, int] = {}
        own: dict[object, int] = {}
        tables = [
            (
                relevance.setdefault(one.relevance_parameters(legs, decaying), len(relevance)),
                decay.setdefault(one.decay_parameters(), len(decay)),
                # Without a weight, recency is not looked at, so any table will do.
                recency.setdefault(one.recency_weight() and one.recency_lambda, len(recency)),
            )
            for one in settings
        ]
        addends = [arrays.addends(one) if arrays.terms else [] for one in settings]
        return cls(
            tables,
            addends,
            [tuple(own.setdefault(a.key, len(own)) for a in one) for one in addends],
        )


def _chunks(
    arrays: CandidateArrays, settings: Sequence[Scoring], executor: ThreadPoolExecutor
) -> Iterator[_Chunk]:
    """Sort settings so that those with the same tables meet, and cut where tables get too many."""
    room = max(3, _TABLE_BYTES // max(1, arrays.importance.nbytes))
    plan = _Plan.of(arrays, settings)
    distinct: set[tuple[int, int]] = set()
    rows: list[int] = []
    for row in sorted(range(len(settings)), key=plan.tables.__getitem__):
        wanted = {*enumerate(plan.tables[row]), *((3, one) for one in plan.own[row])}
        if not wanted <= distinct:
            if rows and len(distinct | wanted) > room:
                yield _chunk(arrays, settings, plan, rows, executor)
                distinct, rows = set(), []
            distinct |= wanted
        rows.append(row)
    if rows:
        yield _chunk(arrays, settings, plan, rows, executor)


def _chunk(
    arrays: CandidateArrays,
    settings: Sequence[Scoring],
    plan: _Plan,
    rows: Sequence[int],
    executor: ThreadPoolExecutor,
) -> _Chunk:
    tables: list[Floats] = []
    table_at: list[Ints] = []
    makers = (arrays.relevance_under, arrays.decay_under, arrays.recency_under)
    for kind, make in enumerate(makers):
        first_with = {plan.tables[row][kind]: settings[row] for row in reversed(rows)}
        place = {number: at for at, number in enumerate(first_with)}
        tables.append(_stacked(list(executor.map(make, first_with.values()))))
        table_at.append(np.array([place[plan.tables[row][kind]] for row in rows], dtype=np.int64))
    return _Chunk(
        rows=np.array(rows, dtype=np.int64),
        tables=(tables[0], tables[1], tables[2]),
        table_at=(table_at[0], table_at[1], table_at[2]),
        weights=np.array([settings[row].term_weights() for row in rows], dtype=np.float64),
        **_extra(arrays, settings, plan, rows),
        min_scores=np.array([settings[row].min_score for row in rows], dtype=np.float64),
    )


def _extra(
    arrays: CandidateArrays, settings: Sequence[Scoring], plan: _Plan, rows: Sequence[int]
) -> dict[str, NDArray[Any] | None]:
    """Return the tables of somebody's own terms, made one after the other, as a chunk has them."""
    width = max((len(plan.own[row]) for row in rows), default=0)
    if not width:
        return dict.fromkeys(("extra", "extra_at", "extra_weights"))
    place: dict[int, int] = {}
    tables: list[Floats] = []
    at = np.zeros((len(rows), width), dtype=np.int64)
    weights = np.zeros((len(rows), width))
    for s, row in enumerate(rows):
        for e, (number, addend) in enumerate(zip(plan.own[row], plan.addends[row], strict=True)):
            if number not in place:
                place[number] = len(tables)
                tables.append(arrays.addend_under(addend.term, settings[row]))
            at[s, e], weights[s, e] = place[number], addend.weight
    return {"extra": _stacked(tables), "extra_at": at, "extra_weights": weights}


def _stacked(tables: Sequence[Floats]) -> Floats:
    """Put tables of shape (n, c) together, padded with NaN to whole steps of the loops."""
    n, c = tables[0].shape
    stacked = np.full((len(tables), n, -(-c // _STEP) * _STEP), np.nan)
    for at, table in enumerate(tables):
        stacked[at, :, :c] = table
    return stacked
