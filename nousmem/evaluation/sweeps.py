"""Many settings over the same candidates: retrieve once, score again for each setting.

The formulas are those of `nousmem.scoring`, called with arrays over all queries, so that a
setting ranks here as it does in `Search`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.evaluation.grids import grid_settings
from nousmem.evaluation.measures import Measure, RelevantRanks, parse_measures
from nousmem.evaluation.pools import CandidatePool, retrieve_pool
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.results import SweepResult
from nousmem.scoring import (
    Floats,
    Scoring,
    age_hours,
    composite,
    decay,
    fused_relevance,
    recency,
)
from nousmem.stores import Store

__all__ = ["pool_scores", "relevant_ranks", "score_settings", "sweep"]

DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR")


def sweep(
    corpus: Corpus,
    *,
    store: str | Store = "sqlite",
    embedder: str | Embedder | None = None,
    grid: Mapping[str, Iterable[Any]],
    measures: Sequence[str | Measure] = DEFAULT_MEASURES,
    scoring: Scoring | None = None,
    legs: Sequence[str] | None = None,
    pool: int | None = None,
    as_of: bool = True,
    progress: bool = False,
) -> SweepResult:
    """Measure every setting of a grid on the judged queries of a corpus.

    Args:
        corpus: Entries, queries and qrels. Queries without a relevant entry are left out and
            counted.
        store: A store URL, or an open and empty store; see `load_partition`.
        embedder: An embedder or its name; None reads the text leg alone.
        grid: Parameter of Scoring (or half_life_days) to the values tried.
        measures: As they are spelled, such as "nDCG@10".
        scoring: Gives the parameters that are not varied; None is the defaults.
        legs: Which legs to read; None is all that store and embedder allow.
        pool: Entries read from each leg; None is 30.
        as_of: Whether entries later than a query's `as_of` are invisible to it. The result says
            when this is off.
        progress: Show progress bars.

    Raises:
        InvalidParameter: the grid or the measures are not valid; checked before any work.
        UnknownName: a measure, a store, an embedder or a leg that there is none of.
    """
    names, settings = grid_settings(grid, base=scoring)
    parsed = parse_measures(measures)
    opened = open_embedder(embedder)
    started = time.perf_counter()
    candidates = retrieve_pool(
        corpus,
        store=store,
        embedder=opened,
        legs=legs,
        pool=pool,
        as_of=as_of,
        progress=progress,
    )
    retrieved = time.perf_counter()
    values = score_settings(candidates, settings, parsed, progress=progress)
    return SweepResult(
        corpus=corpus,
        parameters=tuple(names),
        settings=tuple(settings),
        measures=tuple(parsed),
        values=values,
        candidates=candidates,
        retrieval={
            "store": store if isinstance(store, str) else type(store).__name__,
            "embedder": None if opened is None else opened.fingerprint,
            "legs": None if legs is None else list(legs),
            "pool": pool,
            "as_of": as_of,
        },
        seconds={
            "retrieve": retrieved - started,
            "score": time.perf_counter() - retrieved,
        },
    )


def score_settings(
    pool: CandidatePool,
    settings: Sequence[Scoring],
    measures: Sequence[Measure],
    *,
    progress: bool = False,
) -> Floats:
    """Return every measure of every query under every setting.

    Returns:
        Shape (settings, measures, queries).
    """
    ranks_to_values = RelevantRanks(pool.judgements, measures)
    values = np.empty((len(settings), len(measures), len(pool)))
    with progress_bar(len(settings), "settings", show=progress) as advance:
        for at, scores in enumerate(pool_scores(pool, settings)):
            values[at] = ranks_to_values.values(relevant_ranks(pool, scores))
            advance(1)
    return values


def pool_scores(pool: CandidatePool, settings: Iterable[Scoring]) -> Iterator[Floats]:
    """Yield the composite scores under each setting, shape (queries, candidates).

    Padding scores -inf. What settings share (fusion at one k, decay at one rate) is computed
    once.
    """
    hours = age_hours(pool.last_accessed, pool.now[:, np.newaxis])
    relevance_at: dict[float, Floats] = {}
    share_at: dict[float, Floats] = {}
    decayed_at: dict[tuple[float, float], Floats] = {}
    recency_at: dict[float, Floats] = {}
    for scoring in settings:
        k, rate, recency_rate = scoring.rrf_k, scoring.decay_lambda, scoring.recency_lambda
        if (k, rate) not in decayed_at:
            if k not in relevance_at:
                relevance_at[k] = fused_relevance(pool.ranks, pool.text_scores, k=k)
            if rate not in share_at:
                share_at[rate] = decay(hours, decay_lambda=rate, evergreen=pool.evergreen)
            decayed_at[k, rate] = relevance_at[k] * share_at[rate]
        if recency_rate not in recency_at:
            recency_at[recency_rate] = recency(hours, recency_lambda=recency_rate)
        w_relevance, w_importance, w_recency = scoring.weights()
        scores = composite(
            decayed_at[k, rate],
            pool.importance,
            recency_at[recency_rate],
            w_relevance=w_relevance,
            w_importance=w_importance,
            w_recency=w_recency,
        )
        yield np.where(pool.present, scores, -np.inf)


def relevant_ranks(pool: CandidatePool, scores: Floats) -> NDArray[np.int64]:
    """Return the rank from 1 of every judged entry, 0 where it is not a candidate.

    A rank is one more than the number of candidates that score higher, or equal with a greater
    doc_id; nothing is sorted.

    Args:
        pool: The candidates.
        scores: Shape (queries, candidates).

    Returns:
        Shape (judgements,).
    """
    rows, columns = pool.relevant_row, pool.relevant_column
    own = scores[rows, columns][:, np.newaxis]
    others = scores[rows]
    ahead = (others > own).sum(axis=1)
    places: NDArray[np.intp] = np.arange(scores.shape[1], dtype=np.intp)
    before = places < columns[:, np.newaxis]
    tied = np.logical_and(others == own, before).sum(axis=1)
    ranks = np.zeros(len(pool.judgements.gains), dtype=np.int64)
    ranks[pool.relevant_judgement] = 1 + ahead + tied
    return ranks
