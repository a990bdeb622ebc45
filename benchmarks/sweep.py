"""Settings scored a second over retrieved candidates: our two engines, ranx and ir_measures.

All do the same work on the same candidates: rank every query under a setting, and average three
measures. ranx and ir_measures (pytrec_eval) are called once for each setting, with dictionaries
that are made beforehand; ranx makes its Run of them, and is timed with and without that.
PyTerrier measures through ir_measures, on data frames, so it is not a measure of its own.

Two pools: 2,000 queries of 60 candidates drawn at random; and LoCoMo where NOUSMEM_DATA names a
folder that has it, else assistant-year. Other work on the machine disturbs all, so each figure is
the best of several: the ratios are what to look at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora import Query
from nousmem.evaluation.measures import Judgements, parse_measures
from nousmem.evaluation.sweeps.values import composite_scores, score_settings
from nousmem.scoring import score_order

MEASURES = ["nDCG@10", "R@10", "RR"]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GRID = {
    "decay_lambda": np.geomspace(1e-6, 1e-1, 20).tolist(),
    "rrf_k": [5, 60],
    "w_importance": np.linspace(0, 0.5, 50).tolist(),
    "w_recency": np.linspace(0, 0.4, 5).tolist(),
}
"""10,000 settings."""
ROUNDS = 4
NUMPY_SETTINGS = 100
THEIR_SETTINGS = 6


def main() -> None:
    """Print settings a second for each, and how many times faster the compiled engine is."""
    compare("random", random_pool(queries=2000, candidates=60))
    try:
        corpus = nm.load_corpus("locomo")
    except nm.CorpusFileMissing:
        corpus = nm.load_corpus("assistant-year")
    embedder = nm.open_embedder("minilm")
    compare(corpus.name, ev.find_candidates(corpus, embedder=embedder, progress=True))


def compare(name: str, pool: ev.CandidateArrays) -> None:
    """Time every engine on one pool, and hold their figures against each other."""
    settings = [one.scoring for one in ev.grid_settings(GRID)[1]]
    measures = parse_measures(MEASURES)
    started = time.perf_counter()
    score_settings(pool, settings[:: len(settings) // 10], measures, engine="numba")
    first = time.perf_counter() - started
    chosen = np.linspace(0, len(settings) - 1, NUMPY_SETTINGS).astype(int)
    some = [settings[at] for at in chosen]
    rates: dict[str, float] = {}
    ours, by_numpy = np.zeros(0), np.zeros(0)
    for _ in range(ROUNDS):
        started = time.perf_counter()
        ours = score_settings(pool, settings, measures, engine="numba").mean(axis=2)
        rate = len(settings) / (time.perf_counter() - started)
        rates["nousmem, numba"] = max(rate, rates.get("nousmem, numba", 0))
        started = time.perf_counter()
        by_numpy = score_settings(pool, some, measures, engine="numpy").mean(axis=2)
        rate = len(some) / (time.perf_counter() - started)
        rates["nousmem, NumPy"] = max(rate, rates.get("nousmem, NumPy", 0))
    apart = {"nousmem, NumPy": np.abs(by_numpy - ours[chosen]).max()}
    chosen = chosen[:: NUMPY_SETTINGS // THEIR_SETTINGS][:THEIR_SETTINGS]
    runs = [ranked_run(pool, settings[at]) for at in chosen]
    for tool, evaluator in (("ranx", with_ranx), ("ir_measures", with_ir_measures)):
        means, preparing, measuring = timed(evaluator(qrels_of(pool)), runs)
        rates[tool] = 1 / (preparing + measuring)
        apart[tool] = np.abs(means - ours[chosen]).max()
        if tool == "ranx":
            rates["ranx, Run given"] = 1 / measuring
    print(
        f"\n{name}: {len(settings):,} settings, {len(pool):,} queries, "
        f"{pool.present.shape[1]} candidates; the first call took {first:.1f} s"
    )
    for tool, rate in rates.items():
        ratio = rates["nousmem, numba"] / rate
        difference = f"means differ by {apart[tool]:.0e}" if tool in apart else ""
        print(f"  {tool:16}{rate:12,.1f} settings a second {ratio:10,.1f} × {difference}")


def random_pool(*, queries: int, candidates: int) -> ev.CandidateArrays:
    """Return candidates that two legs found at random, one to three of each query judged."""
    rng = np.random.default_rng(7)
    shape = (queries, candidates)
    asked = tuple(Query(f"q{at:05d}", "?", now=NOW) for at in range(queries))
    ids = tuple(f"d{at:03d}" for at in reversed(range(candidates)))
    judged = np.repeat(np.arange(queries), rng.integers(1, 4, queries))
    columns = np.array([int(at) for at in rng.integers(0, candidates, len(judged))])
    _, first = np.unique(judged * candidates + columns, return_index=True)
    judged, columns = judged[first], columns[first]
    read = rng.permuted(np.broadcast_to(np.arange(1, candidates + 1), (2, *shape)), axis=2)
    # The text leg finds all of them, the vector leg two in three.
    ranks = np.where(read <= np.reshape([candidates, candidates // 3 * 2], (2, 1, 1)), read, 0)
    now = int(NOW.timestamp())
    seen = now - rng.integers(0, 400 * 86_400, shape)
    return ev.CandidateArrays(
        queries=asked,
        judgements=Judgements(
            tuple(query.query_id for query in asked),
            judged,
            tuple(ids[at] for at in columns),
            rng.integers(1, 3, len(judged)).astype(float),
            0,
        ),
        doc_ids=(ids,) * queries,
        legs=("text", "vector"),
        ranks=ranks,
        leg_scores=np.where(ranks > 0, rng.random(ranks.shape), np.nan),
        importance=rng.random(shape).round(2),
        access_count=np.zeros(shape, dtype=np.int64),
        last_accessed=seen,
        created=seen,
        evergreen=rng.random(shape) < 0.1,
        present=np.ones(shape, dtype=bool),
        now=np.full(queries, now),
        marks=ev.UpdateMarks.none(),
        watched_query=judged,
        watched_column=columns,
    )


Run = dict[str, dict[str, float]]


def ranked_run(pool: ev.CandidateArrays, setting: nm.Scoring) -> Run:
    """Return the rankings, with -rank for a score, so that no tool has a tie to break."""
    run: Run = {}
    for query, ids, scores in zip(
        pool.queries, pool.doc_ids, next(composite_scores(pool, [setting])), strict=True
    ):
        order = score_order(scores[: len(ids)]).tolist()
        run[query.query_id] = {ids[at]: -float(rank) for rank, at in enumerate(order, 1)}
    return run


def qrels_of(pool: ev.CandidateArrays) -> dict[str, dict[str, int]]:
    """Return the judgements as dictionaries."""
    judgements = pool.judgements
    qrels: dict[str, dict[str, int]] = {query_id: {} for query_id in judgements.query_ids}
    for at, doc_id, gain in zip(
        judgements.query_index, judgements.doc_ids, judgements.gains, strict=True
    ):
        qrels[judgements.query_ids[at]][doc_id] = int(gain)
    return qrels


Evaluator = tuple[Callable[[Run], Any], Callable[[Any], Sequence[float]]]


def with_ranx(qrels: dict[str, dict[str, int]]) -> Evaluator:
    """Return what makes a run ready, and what measures it."""
    from ranx import Qrels, Run, evaluate

    judged = Qrels(qrels)
    names = ["ndcg@10", "recall@10", "mrr"]

    def measured(run: Run) -> list[float]:
        result = evaluate(judged, run, names)
        return [result[name] for name in names]

    return Run, measured


def with_ir_measures(qrels: dict[str, dict[str, int]]) -> Evaluator:
    """Return what makes a run ready, and what measures it."""
    import ir_measures

    wanted = [ir_measures.nDCG @ 10, ir_measures.R @ 10, ir_measures.RR]
    evaluator = ir_measures.pytrec_eval.evaluator(wanted, qrels)

    def measured(run: Run) -> list[float]:
        result = evaluator.calc_aggregate(run)
        return [result[measure] for measure in wanted]

    return dict, measured


def timed(evaluator: Evaluator, runs: Sequence[Run]) -> tuple[np.ndarray, float, float]:
    """Return the means, shape (runs, measures), and the least seconds to prepare and to measure."""
    prepare, measure = evaluator
    measure(prepare(runs[0]))
    means, preparing, measuring = [], float("inf"), float("inf")
    for run in runs:
        started = time.perf_counter()
        ready = prepare(run)
        prepared = time.perf_counter()
        means.append(measure(ready))
        measuring = min(measuring, time.perf_counter() - prepared)
        preparing = min(preparing, prepared - started)
    return np.array(means), preparing, measuring


if __name__ == "__main__":
    main()
