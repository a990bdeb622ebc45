"""Every measure of every query under every setting, by either of two engines.

The formulas are those of `nousmem.scoring`, called with arrays over all queries, so that a
setting ranks here as it does in `Search`. Two engines give the same bytes: NumPy, and where numba
is installed a compiled one, which is worth its start for large grids.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter, MissingDependency, UnknownName
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation.measures import Measure, Rankings, WatchedRanks, check_marked
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scoring import Floats, Scoring, composite, score_order

__all__ = [
    "Engine",
    "check_engine",
    "check_size",
    "composite_scores",
    "measure_settings",
    "score_settings",
    "watched_ranks",
    "whole_rankings",
]

Engine = Literal["auto", "numba", "numpy"]

_WORTH_COMPILING: Final = 200_000_000
"""Candidates scored, over all settings, from which "auto" takes numba: NumPy needs about 2 s."""

_CACHED_TABLES: Final = 16
"""Tables of each kind that `composite_scores` keeps, 8 bytes a candidate each."""


def measure_settings(
    found: Mapping[Retrieval, CandidateArrays],
    settings: Sequence[Settings],
    measures: Sequence[Measure],
    *,
    engine: Engine = "auto",
    progress: bool = False,
) -> Floats:
    """Return every measure of every query under settings that may retrieve in different ways.

    Args:
        found: The candidates of each way to retrieve.
        settings: What is tried.
        measures: What is measured.
        engine: As in `score_settings`, which has the errors too.
        progress: Show a progress bar.

    Returns:
        Shape (settings, measures, queries).
    """
    n_queries = len(next(iter(found.values())))
    values = np.empty((len(settings), len(measures), n_queries))
    rows: dict[Retrieval, list[int]] = {}
    for row, setting in enumerate(settings):
        rows.setdefault(setting.retrieval, []).append(row)
    for retrieval, own in rows.items():
        scorings = [settings[row].scoring for row in own]
        values[own] = score_settings(
            found[retrieval], scorings, measures, engine=engine, progress=progress
        )
    return values


def check_size(n_settings: int, *, n_measures: int, n_queries: int) -> None:
    """Raise InvalidParameter where the measures would not fit into this machine's memory.

    Asked for nevertheless, they are allotted, and the process is killed while it fills them.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a system that says
        return
    needed = 8 * n_settings * n_measures * n_queries
    if needed > memory:
        raise InvalidParameter(
            f"{n_settings:,} settings × {n_measures} measures × {n_queries:,} queries are "
            f"{needed / 1e9:,.0f} GB of results, and this machine has {memory / 1e9:,.0f} GB: try "
            "fewer settings, or draw some of them with a sampler"
        )


def score_settings(
    arrays: CandidateArrays,
    settings: Sequence[Scoring],
    measures: Sequence[Measure],
    *,
    engine: Engine = "auto",
    progress: bool = False,
) -> Floats:
    """Return every measure of every query under every setting.

    Args:
        arrays: The candidates.
        settings: What is tried.
        measures: What is measured.
        engine: "numpy"; "numba", compiled, many times as fast, and slow to start (a second, and
            several where nothing is cached yet: see `nousmem.evaluation.sweeps._kernel`); "auto"
            takes numba when it is installed and there is enough to do. The results are the same.
        progress: Show a progress bar.

    Returns:
        Shape (settings, measures, queries); NaN where a measure does not exist for a query.

    Raises:
        InvalidParameter: Fresh is asked for and no query of the arrays is marked, or there is not
            memory for the results.
        UnknownName: there is no such engine.
        ExtensionError: somebody's measure fails, or returns no finite number.
        MissingDependency: the engine is "numba", which is not installed; or a measure is one of
            ir_measures, which is not.
    """
    check_engine(engine)
    if any(measure.needs_marks for measure in measures):
        check_marked(arrays.marks)
    check_size(len(settings), n_measures=len(measures), n_queries=len(arrays))
    work = len(settings) * arrays.present.size
    with progress_bar(len(settings), "settings", show=progress) as advance:
        ranked = [measure for measure in measures if not measure.reads_rankings]
        if ranked and (
            engine == "numba" or (engine == "auto" and work > _WORTH_COMPILING and _has_numba())
        ):
            from nousmem.evaluation.sweeps._kernel import kernel_values

            if len(ranked) == len(measures):
                return kernel_values(arrays, settings, measures, advance=advance)
            whole = [measure for measure in measures if measure.reads_rankings]
            values = np.empty((len(settings), len(measures), len(arrays)))
            values[:, [measures.index(one) for one in ranked]] = kernel_values(
                arrays, settings, ranked
            )
            values[:, [measures.index(one) for one in whole]] = _scored(
                arrays, settings, whole, advance=advance
            )
            return values
        return _scored(arrays, settings, measures, advance=advance)


def _scored(
    arrays: CandidateArrays,
    settings: Sequence[Scoring],
    measures: Sequence[Measure],
    *,
    advance: Callable[[int], object],
) -> Floats:
    ranks_to_values = WatchedRanks(arrays.judgements, measures, arrays.marks)
    values = np.empty((len(settings), len(measures), len(arrays)))
    for at, scores in enumerate(composite_scores(arrays, settings)):
        rankings = whole_rankings(arrays, scores) if ranks_to_values.reads_rankings else None
        values[at] = ranks_to_values.values(watched_ranks(arrays, scores), rankings)
        advance(1)
    return values


def whole_rankings(arrays: CandidateArrays, scores: Floats) -> Rankings:
    """Return the rankings of all queries, entry and score, best first.

    Args:
        arrays: The candidates.
        scores: Shape (queries, candidates), -inf where there is no candidate.
    """
    rankings: dict[str, list[tuple[str, float]]] = {}
    for query, ids, own in zip(arrays.queries, arrays.doc_ids, scores, strict=True):
        columns: list[int] = score_order(own[: len(ids)]).tolist()
        rankings[query.query_id] = [
            (ids[column], float(own[column])) for column in columns if own[column] > -np.inf
        ]
    return rankings


def composite_scores(arrays: CandidateArrays, settings: Iterable[Scoring]) -> Iterator[Floats]:
    """Yield the composite scores under each setting, shape (queries, candidates).

    Where there is no candidate, or one below the setting's `min_score`, the score is -inf. What
    settings share (relevance, decay, recency, terms) is computed once, as long as it is not too
    much to keep.
    """
    tables = _Tables()
    for scoring in settings:
        relevance = tables.get(
            ("relevance", *arrays.relevance_key(scoring)), arrays.relevance_under, scoring
        )
        decay = tables.get(("decay", *scoring.decay_parameters()), arrays.decay_under, scoring)
        recency = tables.get(("recency", scoring.recency_lambda), arrays.recency_under, scoring)
        w_relevance, w_importance, w_recency = scoring.term_weights()
        own: list[tuple[float, Floats]] = []
        for addend in arrays.addends(scoring):
            term = addend.term
            table = tables.get(
                addend.key, lambda scoring, term=term: arrays.addend_under(term, scoring), scoring
            )
            own.append((addend.weight, table))
        scores = composite(
            [
                (w_relevance, relevance * decay),
                (w_importance, arrays.importance),
                (w_recency, recency),
                *own,
            ]
        )
        yield np.where(scores >= scoring.min_score, scores, -np.inf)


class _Tables:
    """The latest tables by what they depend on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Floats] = {}

    def get(self, key: Hashable, make: Callable[[Scoring], Floats], scoring: Scoring) -> Floats:
        found = self._kept.pop(key, None)
        self._kept[key] = make(scoring) if found is None else found
        if len(self._kept) > 4 * _CACHED_TABLES:
            del self._kept[next(iter(self._kept))]
        return self._kept[key]


def watched_ranks(arrays: CandidateArrays, scores: Floats) -> NDArray[np.int64]:
    """Return the rank from 1 of every watched entry, 0 where it is not a candidate.

    A rank is one more than the number of candidates that score higher, or equal with a greater
    doc_id; nothing is sorted.

    Args:
        arrays: The candidates.
        scores: Shape (queries, candidates), -inf where there is no candidate.

    Returns:
        Shape (w,): the judged entries, then the marked ones.
    """
    rows, columns = arrays.watched_query, arrays.watched_column
    if not scores.shape[1]:
        return np.zeros(len(rows), dtype=np.int64)
    own = scores[rows, columns][:, np.newaxis]
    others = scores[rows]
    ahead = (others > own).sum(axis=1)
    places: NDArray[np.intp] = np.arange(scores.shape[1], dtype=np.intp)
    before = places < columns[:, np.newaxis]
    tied = np.logical_and(others == own, before).sum(axis=1)
    ranked = (columns >= 0) & (own[:, 0] > -np.inf)
    return np.where(ranked, 1 + ahead + tied, 0)


def check_engine(engine: str) -> None:
    """Raise UnknownName or MissingDependency where the engine cannot be used."""
    if engine not in get_args(Engine):
        raise UnknownName("engine", engine, get_args(Engine))
    if engine == "numba" and not _has_numba():
        raise MissingDependency("numba", extra="fast", purpose="the compiled sweep engine")


def _has_numba() -> bool:
    # A numba that does not fit the NumPy beside it is found, and fails only when it is imported.
    try:
        importlib.import_module("numba")
    except ImportError:
        return False
    return True
