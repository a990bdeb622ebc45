"""Scoring 1,000 settings over retrieved candidates, against ranx called once for each setting.

Both do the same work on the same candidates: rank every query under a setting, and average three
measures. Corpus: LoCoMo where NOUSMEM_DATA names a folder that has it, else assistant-year.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.measures import parse_measures
from nousmem.evaluation.sweeps import pool_scores, score_settings

if TYPE_CHECKING:
    from nousmem.evaluation import CandidatePool

MEASURES = {"nDCG@10": "ndcg@10", "R@10": "recall@10", "RR": "mrr"}
GRID = {
    "decay_lambda": np.geomspace(1e-6, 1e-1, 20).tolist(),
    "w_importance": np.linspace(0, 0.5, 10).tolist(),
    "w_recency": np.linspace(0, 0.4, 5).tolist(),
}
RANX_SETTINGS = 8


def main() -> None:
    """Print settings a second for both, and how many times faster ours is."""
    pool = _candidates()
    _, settings = ev.grid_settings(GRID)
    started = time.perf_counter()
    ours = score_settings(pool, settings, parse_measures(list(MEASURES)))
    our_rate = len(settings) / (time.perf_counter() - started)
    chosen = list(range(0, len(settings), len(settings) // RANX_SETTINGS))[:RANX_SETTINGS]
    theirs, seconds = _ranx(pool, [settings[at] for at in chosen])
    ranx_rate = len(chosen) / seconds
    apart = np.abs(ours[chosen].mean(axis=2) - theirs).max()
    print(f"{len(settings):,} settings, {len(pool):,} queries, {pool.present.shape[1]} candidates")
    print(f"nousmem  {our_rate:10,.1f} settings a second")
    print(
        f"ranx     {ranx_rate:10,.1f} settings a second, compiled beforehand ({len(chosen)} timed)"
    )
    print(f"ratio    {our_rate / ranx_rate:10,.1f}")
    print(f"largest difference of a mean measure: {apart:.1e}")


def _candidates() -> CandidatePool:
    try:
        corpus = nm.load_corpus("locomo")
    except nm.CorpusFileMissing:
        corpus = nm.load_corpus("assistant-year")
    print(repr(corpus))
    return ev.retrieve_pool(corpus, embedder=nm.open_embedder("minilm"), progress=True)


def _ranx(pool: CandidatePool, settings: list[nm.Scoring]) -> tuple[np.ndarray, float]:
    from ranx import Qrels, Run, evaluate

    judgements = pool.judgements
    qrels: dict[str, dict[str, int]] = {query_id: {} for query_id in judgements.query_ids}
    for at, doc_id, gain in zip(
        judgements.query_index, judgements.doc_ids, judgements.gains, strict=True
    ):
        qrels[judgements.query_ids[at]][doc_id] = int(gain)
    judged = Qrels(qrels)
    runs = [
        {
            query_id: dict(zip(ids, row.tolist(), strict=False))
            for query_id, ids, row in zip(judgements.query_ids, pool.doc_ids, scores, strict=True)
        }
        for scores in pool_scores(pool, settings)
    ]
    evaluate(judged, Run(runs[0]), list(MEASURES.values()))
    means, seconds = [], 0.0
    for run in runs:
        started = time.perf_counter()
        result = evaluate(judged, Run(run), list(MEASURES.values()))
        seconds += time.perf_counter() - started
        means.append([result[name] for name in MEASURES.values()])
    return np.array(means), seconds


if __name__ == "__main__":
    main()
