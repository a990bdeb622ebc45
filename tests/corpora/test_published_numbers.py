"""What a sweep measures on published corpora, against figures measured without this library.

The figures are those of a plain FTS5 index with the porter tokeniser, of all-MiniLM-L6-v2, and of
both fused, relevance alone counting. What may set ours apart, by .01 at most: Porter2 stems where
they have Porter; equal scores go to the greater id, where they keep the order of the file (.003 to
.005 on LongMemEval, where turns repeat); RR looks 30 deep, where theirs looks at whole rankings.
The vector leg has none of this but the ties, and agrees to .0005.

Embedding the corpora takes minutes when it is done first; the vectors stay in the user's cache.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora._locomo import CATEGORIES

pytestmark = pytest.mark.corpus

DATA = os.environ.get("NOUSMEM_DATA")
MEASURES = ["R@5", "R@10", "RR", "nDCG@10", "Success@10"]
RELEVANCE_ALONE = nm.Scoring(decay_lambda=0, w_relevance=1, w_importance=0, w_recency=0)
LEGS: Mapping[str, list[str] | None] = {"text": ["text"], "vector": ["vector"], "both": None}
ALL_CATEGORIES = tuple(CATEGORIES.values())


class Bench:
    """Loads corpora and sweeps them, each once."""

    def __init__(self) -> None:
        # Made before any test's own cache folder is: the vectors are those of the user's cache.
        self.embedder = nm.open_embedder("minilm")
        self._corpora: dict[str, nm.Corpus] = {}
        self._swept: dict[str, ev.SweepResult] = {}

    def corpus(self, name: str, **options: Any) -> nm.Corpus:
        key = f"{name} {options}"
        if key not in self._corpora:
            self._corpora[key] = nm.load_corpus(name, path=DATA, **options)
        return self._corpora[key]

    def sweep(self, name: str, legs: str, **options: Any) -> ev.SweepResult:
        key = f"{name} {legs} {options}"
        if key not in self._swept:
            self._swept[key] = self.sweep_of(self.corpus(name, **options), legs)
        return self._swept[key]

    def sweep_of(
        self, corpus: nm.Corpus, legs: str, *, depth: int | None = None, **options: Any
    ) -> ev.SweepResult:
        options = {"grid": {}, **options}
        return ev.sweep(
            corpus,
            store="sqlite",
            embedder=None if legs == "text" else self.embedder,
            retrieval=nm.Retrieval(legs=LEGS[legs], depth=depth),
            scoring=RELEVANCE_ALONE,
            measures=MEASURES,
            as_of=False,
            **options,
        )


@pytest.fixture(scope="module")
def bench() -> Bench:
    if not DATA:
        pytest.skip("NOUSMEM_DATA is not set")
    pytest.importorskip("sentence_transformers")
    return Bench()


def measured(swept: ev.SweepResult) -> dict[str, float]:
    return swept.frame[MEASURES].iloc[0].to_dict()


LOCOMO = {
    "text": (0.4670, 0.5512, 0.4036, 0.4151, 0.6204),
    "vector": (0.3624, 0.4513, 0.2953, 0.3081, 0.5150),
    "both": (0.4892, 0.6166, 0.4063, 0.4306, 0.6927),
}


@pytest.mark.parametrize("legs", LEGS)
def test_locomo(bench: Bench, legs: str):
    swept = bench.sweep("locomo", legs)
    assert swept.n_queries == 1_536
    assert measured(swept) == pytest.approx(
        dict(zip(MEASURES, LOCOMO[legs], strict=True)), abs=0.01
    )


def test_locomo_by_category(bench: Bench):
    by_category = bench.sweep("locomo", "both").by().groupby("category").first()
    assert by_category["n_queries"].to_dict() == {
        "multi-hop": 282,
        "open-domain": 92,
        "single-hop": 841,
        "temporal": 321,
    }
    assert by_category["R@10"].to_dict() == pytest.approx(
        {"single-hop": 0.7164, "multi-hop": 0.3356, "temporal": 0.6830, "open-domain": 0.3342},
        abs=0.01,
    )


def test_locomo_with_the_adversarial_questions(bench: Bench):
    swept = bench.sweep("locomo", "both", categories=ALL_CATEGORIES)
    assert swept.n_queries == 1_982
    assert measured(swept)["R@10"] == pytest.approx(0.6265, abs=0.01)


def test_locomo_by_whole_sessions(bench: Bench):
    """R@10 as somebody else published it: a question without evidence counts as answered."""
    swept = bench.sweep("locomo", "vector", categories=ALL_CATEGORIES, granularity="session")
    without = swept.excluded["no evidence"]
    asked = swept.n_queries + without
    assert asked == 1_986
    total = measured(swept)["R@10"] * swept.n_queries + without
    assert total / asked == pytest.approx(0.60287, abs=1e-4)


@pytest.mark.parametrize(
    ("depth", "expected"),
    [(30, {20: 0.616, 60: 0.616}), (60, {5: 0.608, 20: 0.609, 60: 0.577}), (100, {10: 0.617})],
)
def test_how_deep_the_legs_are_read_matters_as_much_as_k(bench: Bench, depth: int, expected):
    swept = bench.sweep_of(
        bench.corpus("locomo"), "both", depth=depth, grid={"rrf_k": list(expected)}
    )
    frame = swept.frame[: swept.n_tried].set_index("rrf_k")
    assert frame["R@10"].to_dict() == pytest.approx(expected, abs=0.01)


OTHERS: list[tuple[str, dict[str, Any], int, tuple[float, float, float]]] = [
    ("longmemeval", {"pool": True}, 470, (0.7090, 0.5959, 0.6916)),
    ("beam", {}, 336, (0.5104, 0.5429, 0.5597)),
    ("trec", {}, 225, (0.3772, 0.3995, 0.4277)),
]


@pytest.mark.parametrize(
    ("name", "options", "n_queries", "expected"), OTHERS, ids=[row[0] for row in OTHERS]
)
def test_ndcg_elsewhere(bench: Bench, name: str, options, n_queries: int, expected):
    swept = [bench.sweep(name, legs, **options) for legs in LEGS]
    assert [one.n_queries for one in swept] == [n_queries] * 3
    assert [measured(one)["nDCG@10"] for one in swept] == pytest.approx(expected, abs=0.01)


def in_order_of_the_file(corpus: nm.Corpus) -> nm.Corpus:
    """Return the corpus with ids that let the earlier of two equal entries win."""
    n = len(corpus.entries)
    renamed = {entry.id: f"{n - at:06d}" for at, entry in enumerate(corpus.entries)}
    qrels = corpus.qrels.assign(doc_id=corpus.qrels["doc_id"].map(renamed))
    entries = tuple(entry.replace(id=renamed[entry.id]) for entry in corpus.entries)
    return dataclasses.replace(corpus, entries=entries, qrels=qrels)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [("locomo", {}, 0.3081), *((name, options, row[1]) for name, options, _, row in OTHERS)],
    ids=["locomo", *(row[0] for row in OTHERS)],
)
def test_the_vector_leg_agrees_but_for_ties(bench: Bench, name: str, options, expected: float):
    corpus = in_order_of_the_file(bench.corpus(name, **options))
    swept = bench.sweep_of(corpus, "vector")
    assert measured(swept)["nDCG@10"] == pytest.approx(expected, abs=5e-4)
