"""How the compiled engine writes each measure: a loop, and what it is given.

The values are those of `nousmem.evaluation.measures`, to the last bit.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import FunctionValues, Measure, RankFunction, Watched
from nousmem.evaluation.sweeps import _loops as loops
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.scoring import Floats

__all__ = ["Writer", "compiled", "starts_of", "writers"]

Ints = NDArray[np.int64]
Ranks = NDArray[np.int32]

Writer = Callable[[Ranks, Ints, Floats], object]
"""Writes one measure of a block: given its ranks, the settings they are of, and the values."""


def writers(arrays: CandidateArrays, measures: Sequence[Measure]) -> list[Writer]:
    """Return, for each measure, the function that writes it for a block of ranks.

    Raises:
        InvalidParameter: a measure needs whole rankings, which are not made here, or has no loop.
        ExtensionError: the code of a measure is gone.
    """
    watched = Watched(arrays.judgements, arrays.marks)
    return [
        _writer(arrays, watched, column, measure.loaded())
        for column, measure in enumerate(measures)
    ]


def _writer(arrays: CandidateArrays, watched: Watched, column: int, measure: Measure) -> Writer:
    if isinstance(measure.source, RankFunction):
        called = FunctionValues(arrays.judgements, measure, measure.source)
        return _calling(called, column, len(arrays.judgements.gains))
    if measure.source is not None or measure.name not in _LOOPS:
        raise InvalidParameter(f"measure {measure} has no loop in the compiled engine")
    function, given = _LOOPS[measure.name](_Asked.of(arrays, watched, measure.cutoff))
    return functools.partial(compiled(function), column, *given)


def _calling(called: FunctionValues, column: int, n_judged: int) -> Writer:
    # Blocks are worked on by threads, and somebody's function need not bear being called twice
    # at once.
    lock = threading.Lock()

    def write(ranks: Ranks, rows: Ints, values: Floats) -> None:
        for own, row in zip(ranks, rows.tolist(), strict=True):
            with lock:
                values[row, column] = called.values(own[:n_judged])

    return write


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What a measure is written from."""

    watched: Watched
    cutoff: int | None
    place: Floats
    """The place of each rank, infinite for none and past the cutoff."""

    @classmethod
    def of(cls, arrays: CandidateArrays, watched: Watched, cutoff: int | None) -> _Asked:
        place = np.arange(arrays.importance.shape[1] + 1, dtype=np.float64)
        place[0] = np.inf
        place[place > (cutoff or np.inf)] = np.inf
        return cls(watched, cutoff, place)

    def found(self) -> Floats:
        """Return 1 for each rank that counts, else 0."""
        return np.isfinite(self.place).astype(np.float64)


_Loop = tuple[Callable[..., None], tuple[Any, ...]]


def _ndcg(asked: _Asked) -> _Loop:
    watched = asked.watched
    gains, ideal = watched.judgements.gains, watched.ideal(asked.cutoff)
    return loops.write_ndcg, (np.log2(asked.place + 1), watched.starts, gains, ideal)


def _reciprocal_rank(asked: _Asked) -> _Loop:
    return loops.write_reciprocal_rank, (1.0 / asked.place, asked.watched.starts)


def _average_precision(asked: _Asked) -> _Loop:
    watched = asked.watched
    return loops.write_average_precision, (asked.place, watched.starts, watched.n_relevant)


def _recall(asked: _Asked) -> _Loop:
    watched = asked.watched
    return loops.write_share_found, (asked.found(), watched.starts, watched.n_relevant)


def _precision(asked: _Asked) -> _Loop:
    places = np.full(len(asked.watched.judgements), float(asked.cutoff or 1))
    return loops.write_share_found, (asked.found(), asked.watched.starts, places)


def _success(asked: _Asked) -> _Loop:
    one = np.ones(len(asked.watched.judgements))
    return loops.write_enough_found, (asked.found(), asked.watched.starts, one)


def _all_relevant(asked: _Asked) -> _Loop:
    watched = asked.watched
    return loops.write_enough_found, (asked.found(), watched.starts, watched.n_relevant)


def _fresh(asked: _Asked) -> _Loop:
    judgements, marks = asked.watched.judgements, asked.watched.marks
    first = len(judgements.gains)
    starts = first + starts_of(marks.query_index, len(judgements))
    return loops.write_fresh, (asked.place, starts, first, marks.newest)


_LOOPS: Final[Mapping[str, Callable[[_Asked], _Loop]]] = {
    "nDCG": _ndcg,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "R": _recall,
    "P": _precision,
    "Success": _success,
    "AllRel": _all_relevant,
    "Fresh": _fresh,
}


def starts_of(query_index: NDArray[np.intp], n: int) -> Ints:
    """Return where the rows of each of n queries start, shape (n + 1,)."""
    counts = np.bincount(query_index, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@functools.cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Return a loop as machine code, kept on disk where a folder can be written."""
    from numba import njit

    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        return njit(nogil=True)(function)
