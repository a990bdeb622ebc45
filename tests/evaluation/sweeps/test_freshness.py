"""Updates in sweeps: the similarities are made once, when asked for, and what they are worth."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.sweeps import _successors as successors
from nousmem.evaluation.sweeps._successors import Successors
from nousmem.retrieval.candidates import Candidates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATA = os.environ.get("NOUSMEM_DATA")


def some_candidates(n: int, seed: int) -> Candidates:
    rng = np.random.default_rng(seed)
    entries = [
        nm.Entry(
            "x", id=f"{at}", created_at=NOW + timedelta(hours=at), embedding=np.ones(4) + at % 3
        )
        for at in rng.permutation(9)[:n].tolist()
    ]
    return Candidates.union({"text": [(entry, 1.0) for entry in entries]}, now=NOW)


def test_each_query_has_the_similarities_of_its_own_candidates(monkeypatch) -> None:
    found = [some_candidates(n, seed) for seed, n in enumerate([4, 0, 6])]
    made: list[int] = []
    real = successors.successor_similarity

    def counted(vectors, spaces, **options):
        made.append(len(vectors))
        return real(vectors, spaces, **options)

    monkeypatch.setattr(successors, "successor_similarity", counted)
    kept = Successors.of(found)
    assert kept is not None
    assert made == [], "nothing is worked out before it is asked for"
    similarity = kept.similarity()
    assert similarity.shape == (3, 6, 6)
    for row, one in zip(similarity, found, strict=True):
        n = len(one)
        np.testing.assert_array_equal(row[:n, :n], one.successor_similarity(np.arange(n)))
        assert np.isnan(row[n:]).all()
        assert np.isnan(row[:, n:]).all()
    assert kept.similarity() is similarity
    assert made == [4, 0, 6]
    sent = pickle.loads(pickle.dumps(Successors.of(found)))
    np.testing.assert_array_equal(sent.similarity(), similarity)


def test_an_entry_that_many_queries_found_is_kept_once() -> None:
    found = [some_candidates(9, seed) for seed in range(5)]
    rows = Successors(found)._rows
    assert len({id(vector) for vectors, *_ in rows for vector in vectors}) == 9


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
def test_without_vectors_there_is_nothing_to_compare() -> None:
    corpus = nm.load_corpus("assistant-year")
    swept = ev.sweep(
        corpus, grid={"update_penalty": [0, 0.5], "update_takeover": [0, 1]}, measures=["nDCG@10"]
    )
    assert swept.candidates_of(0).successors is None
    assert len(set(swept.frame["nDCG@10"])) == 1


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("changes", "above", "first"),
    [
        ({}, 0.486, 0.371),
        ({"update_penalty": 0.07}, 0.857, 0.714),
        (
            {
                "rrf_k": 10,
                "update_takeover": 1,
                "update_penalty": 0.05,
                "update_ratio": 0.7,
                "update_depth": 5,
            },
            0.914,
            0.714,
        ),
    ],
    ids=["off", "penalty", "takeover"],
)
def test_updates_of_longmemeval(changes: dict, above: float, first: float) -> None:
    if not DATA:
        pytest.skip("NOUSMEM_DATA is not set")
    pytest.importorskip("sentence_transformers")
    plain = nm.Scoring(decay_lambda=0, w_relevance=1, w_importance=0, w_recency=0)
    swept = ev.sweep(
        nm.load_corpus("longmemeval", pool=True, path=DATA),
        embedder="minilm",
        scoring=plain.replace(**changes),
        grid={},
        measures=["Fresh@60", "Fresh@1", "R@10"],
        as_of=False,
    )
    row = swept.frame.iloc[0]
    assert row["n_Fresh@1"] == 70
    assert row["Fresh@60"] == pytest.approx(above, abs=0.015)
    assert row["Fresh@1"] == pytest.approx(first, abs=0.015)
    assert row["R@10"] >= 0.8135 - 0.01
