"""Many settings over the same candidates: retrieve once, score again for each setting.

The formulas are those of `nousmem.scoring`, called with arrays over all queries, so that a
setting ranks here as it does in `Search`. Two engines give the same bytes: NumPy, and where numba
is installed a compiled one, which is worth its start for large grids.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter, MissingDependency, UnknownName
from nousmem.evaluation.measured import measured_queries
from nousmem.evaluation.measures import Measure, WatchedRanks, check_marked, parse_measures
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.sweeps.candidate_arrays import (
    CandidateArrays,
    check_corpus,
    find_candidates,
)
from nousmem.evaluation.sweeps.cautions import warn_of_burying, warn_of_idle
from nousmem.evaluation.sweeps.grids import GridValues, kept_grid
from nousmem.evaluation.sweeps.results import SweepResult
from nousmem.evaluation.sweeps.samplers import (
    SamplerName,
    SamplingPlan,
    plan_sampling,
    sampled_settings,
)
from nousmem.evaluation.updates import UpdateMarks
from nousmem.scoring import (
    DECAY_PARAMETERS,
    RECENCY_PARAMETERS,
    RELEVANCE_PARAMETERS,
    Floats,
    Scoring,
    composite,
)
from nousmem.stores import Store

__all__ = [
    "Engine",
    "check_size",
    "composite_scores",
    "score_settings",
    "sweep",
    "sweep_again",
    "watched_ranks",
]

DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR")

Engine = Literal["auto", "numba", "numpy"]

_WORTH_COMPILING: Final = 200_000_000
"""Candidates scored, over all settings, from which "auto" takes numba: NumPy needs about 2 s."""

_CACHED_TABLES: Final = 16
"""Tables of each kind that `composite_scores` keeps, 8 bytes a candidate each."""


def sweep(
    corpus: Corpus,
    *,
    store: str | Store = "sqlite",
    embedder: str | Embedder | None = None,
    grid: Mapping[str, GridValues],
    measures: Sequence[str | Measure] = DEFAULT_MEASURES,
    scoring: Scoring | None = None,
    legs: Sequence[str] | None = None,
    depth: int | None = None,
    as_of: bool = True,
    search: SamplerName = "grid",
    trials: int | None = None,
    seed: int = 0,
    objective: str | Measure | None = None,
    engine: Engine = "auto",
    progress: bool = False,
) -> SweepResult:
    """Measure every setting of a grid, or some of a larger space, on a corpus's judged queries.

    Every query's measures are kept: settings · measures · queries · 8 bytes, so 480 MB for 10,000
    settings, three measures and 2,000 queries.

    Args:
        corpus: Entries, queries and qrels. Queries without a relevant entry are left out and
            counted.
        store: A store URL, or an open and empty store; see `load_partition`.
        embedder: An embedder or its name; None reads the text leg alone.
        grid: Parameter of Scoring (or half_life_days) to the values tried; "weights" to a
            Simplex. With another search than "grid", a parameter may also have a Range.
        measures: As they are spelled, such as "nDCG@10".
        scoring: Gives the parameters that are not varied; None is the defaults.
        legs: Which legs to read; None is all that store and embedder allow.
        depth: Entries read from each leg; None is 30.
        as_of: Whether entries later than a query's `as_of` are invisible to it. The result says
            when this is off.
        search: "grid" tries every combination. The others draw from the grid's lists and ranges:
            "random"; "sobol", which covers the space more evenly, best with a power of two as
            `trials`; "optuna", which is led by what it has measured. They try `scoring` itself
            first, as row 0, to compare with; a setting drawn twice is tried once.
        trials: Settings drawn; for every search but "grid".
        seed: Of the draws; equal seeds give equal results.
        objective: The measure whose mean "optuna" maximises; None is the first.
        engine: As in `score_settings`.
        progress: Show progress bars.

    Raises:
        InvalidParameter: the grid, the search's options or the measures are not valid, there are
            more settings than a million or than fit into memory, or Fresh is asked for and no
            query is marked; checked before any work. Or no query has a
            relevant entry, the legs or `depth` are not valid, or the store does not suit (see
            `load_partition`).
        UnknownName: a measure, a store, an embedder, a leg, a search or an engine that there is
            none of.
        CorpusError: the marks of an updated fact are not lists of entry ids (see `UpdateMarks`).
        EmbedderError: the embedder failed.
        EmbeddingMismatch: entries and store hold vectors of different embedders or lengths.
        StoreError: the store cannot be opened, read or written.
        MissingDependency: the engine is "numba", or the search "optuna", and not installed; or a
            package that store or embedder need is not.
    """
    parsed = parse_measures(measures)
    grid = kept_grid(grid)
    plan = plan_sampling(
        grid,
        base=scoring,
        measures=parsed,
        search=search,
        trials=trials,
        seed=seed,
        objective=objective,
    )
    _check_engine(engine)
    check_corpus(corpus)
    if any(measure.name == "Fresh" for measure in parsed):
        check_marked(UpdateMarks.of(corpus.queries, [q.query_id for q in corpus.queries]))
    n_settings = len(plan.settings) or plan.trials
    check_size(n_settings, n_measures=len(parsed), n_queries=len(corpus.queries))
    opened = open_embedder(embedder)
    started = time.perf_counter()
    candidates = find_candidates(
        corpus,
        store=store,
        embedder=opened,
        legs=legs,
        depth=depth,
        as_of=as_of,
        progress=progress,
    )
    retrieval = {
        "store": store if isinstance(store, str) else type(store).__name__,
        "embedder": None if opened is None else opened.fingerprint,
        "legs": None if legs is None else list(legs),
        "depth": depth,
        "as_of": as_of,
    }
    seconds = time.perf_counter() - started
    return _swept(
        corpus,
        candidates,
        plan,
        parsed,
        grid=grid,
        retrieval=retrieval,
        seconds=seconds,
        engine=engine,
        progress=progress,
    )


def sweep_again(
    swept: SweepResult,
    *,
    grid: Mapping[str, GridValues],
    measures: Sequence[str | Measure] | None = None,
    scoring: Scoring | None = None,
    search: SamplerName = "grid",
    trials: int | None = None,
    seed: int = 0,
    objective: str | Measure | None = None,
    engine: Engine = "auto",
    progress: bool = False,
) -> SweepResult:
    """Measure other settings on the candidates of a sweep, without retrieving again.

    Args:
        swept: Gives corpus, candidates and how they were retrieved.
        grid: As in `sweep`; so are the arguments below.
        measures: None is those of `swept`.
        scoring: Gives the parameters that are not varied; None is the defaults.
        search: The method.
        trials: Settings drawn.
        seed: Of the draws.
        objective: What "optuna" maximises.
        engine: As in `score_settings`.
        progress: Show a progress bar.

    Raises:
        InvalidParameter, UnknownName, MissingDependency: as `sweep`.
    """
    parsed = list(swept.measures) if measures is None else parse_measures(measures)
    grid = kept_grid(grid)
    plan = plan_sampling(
        grid,
        base=scoring,
        measures=parsed,
        search=search,
        trials=trials,
        seed=seed,
        objective=objective,
    )
    _check_engine(engine)
    return _swept(
        swept.corpus,
        swept.candidates,
        plan,
        parsed,
        grid=grid,
        retrieval=swept.retrieval,
        seconds=0.0,
        engine=engine,
        progress=progress,
    )


def _swept(
    corpus: Corpus,
    candidates: CandidateArrays,
    plan: SamplingPlan,
    measures: Sequence[Measure],
    *,
    grid: Mapping[str, GridValues],
    retrieval: Mapping[str, Any],
    seconds: float,
    engine: Engine,
    progress: bool,
) -> SweepResult:
    started = time.perf_counter()
    settings, values = _measured(candidates, plan, measures, engine=engine, progress=progress)
    warn_of_burying(candidates, settings, stacklevel=4)
    if plan.method == "grid":
        warn_of_idle(plan.parameters, settings, values, stacklevel=4)
    return SweepResult(
        corpus=corpus,
        parameters=plan.parameters,
        settings=tuple(settings),
        measures=tuple(measures),
        values=values,
        queries=measured_queries(corpus, candidates.queries),
        candidates=candidates,
        retrieval=retrieval,
        seconds={"retrieve": seconds, "score": time.perf_counter() - started},
        search=plan.describe(),
        grid=grid,
        scoring=plan.start,
    )


def _measured(
    arrays: CandidateArrays,
    plan: SamplingPlan,
    measures: Sequence[Measure],
    *,
    engine: Engine,
    progress: bool,
) -> tuple[Sequence[Scoring], Floats]:
    if plan.method != "optuna":
        values = score_settings(arrays, plan.settings, measures, engine=engine, progress=progress)
        return plan.settings, values
    with progress_bar(plan.trials, "trials", show=progress) as advance:
        return sampled_settings(
            plan,
            lambda batch: score_settings(arrays, batch, measures, engine=engine),
            measures=measures,
            advance=advance,
        )


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
            "fewer settings, or draw some of them with a search"
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
            several where nothing is cached yet: see `nousmem.evaluation.sweeps.kernel`); "auto"
            takes numba when it is installed and there is enough to do. The results are the same.
        progress: Show a progress bar.

    Returns:
        Shape (settings, measures, queries); NaN where a measure does not exist for a query.

    Raises:
        InvalidParameter: Fresh is asked for and no query of the arrays is marked, or there is not
            memory for the results.
        UnknownName: there is no such engine.
        MissingDependency: the engine is "numba", which is not installed.
    """
    _check_engine(engine)
    if any(measure.name == "Fresh" for measure in measures):
        check_marked(arrays.marks)
    check_size(len(settings), n_measures=len(measures), n_queries=len(arrays))
    work = len(settings) * arrays.present.size
    with progress_bar(len(settings), "settings", show=progress) as advance:
        if engine == "numba" or (engine == "auto" and work > _WORTH_COMPILING and _has_numba()):
            from nousmem.evaluation.sweeps.kernel import kernel_values

            return kernel_values(arrays, settings, measures, advance=advance)
        ranks_to_values = WatchedRanks(arrays.judgements, measures, arrays.marks)
        values = np.empty((len(settings), len(measures), len(arrays)))
        for at, scores in enumerate(composite_scores(arrays, settings)):
            values[at] = ranks_to_values.values(watched_ranks(arrays, scores))
            advance(1)
        return values


def composite_scores(arrays: CandidateArrays, settings: Iterable[Scoring]) -> Iterator[Floats]:
    """Yield the composite scores under each setting, shape (queries, candidates).

    Where there is no candidate, or one below the setting's `min_score`, the score is -inf. What
    settings share (relevance, decay, recency) is computed once, as long as it is not too much to
    keep.
    """
    relevance = _remembered(arrays.relevance_under, RELEVANCE_PARAMETERS)
    decay = _remembered(arrays.decay_under, DECAY_PARAMETERS)
    recency = _remembered(arrays.recency_under, RECENCY_PARAMETERS)
    for scoring in settings:
        w_relevance, w_importance, w_recency = scoring.weights()
        scores = composite(
            relevance(scoring) * decay(scoring),
            arrays.importance,
            recency(scoring),
            w_relevance=w_relevance,
            w_importance=w_importance,
            w_recency=w_recency,
        )
        yield np.where(scores >= scoring.min_score, scores, -np.inf)


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


def _remembered(
    table: Callable[[Scoring], Floats], parameters: tuple[str, ...]
) -> Callable[[Scoring], Floats]:
    """Return `table` with its latest results kept by the parameters they depend on."""
    kept: dict[tuple[object, ...], Floats] = {}

    def remembered(scoring: Scoring) -> Floats:
        key = tuple(getattr(scoring, name) for name in parameters)
        found = kept.pop(key, None)
        kept[key] = table(scoring) if found is None else found
        if len(kept) > _CACHED_TABLES:
            del kept[next(iter(kept))]
        return kept[key]

    return remembered


def _check_engine(engine: str) -> None:
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
