"""What comes out of an array or a table is a whole number as good as any."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.embeddings import HashingEmbedder, LocalEmbedder, SentenceTransformerEmbedder

THREE = np.int64(3)


@pytest.fixture(scope="module")
def drawn(corpus: nm.Corpus) -> ev.SweepResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ev.sweep(
            corpus,
            grid={"w_importance": ev.Range(0.1, 0.9)},
            measures=["R@5"],
            sampler="random",
            trials=THREE,
            seed=THREE,
            retrieval=nm.Retrieval(depth=np.int64(10)),
        )


def test_draws_take_them_and_record_them_as_numbers(drawn: ev.SweepResult) -> None:
    assert drawn.n_tried == 1 + THREE
    assert drawn.settings[0].retrieval.depth == 10
    assert '"seed": 3' in json.dumps(drawn.provenance(), default=str)
    assert '"trials": 3' in json.dumps(drawn.provenance(), default=str)


def test_results_take_them(drawn: ev.SweepResult) -> None:
    assert ev.replay(drawn, limit=THREE).limit == 3
    table = ev.suppression(drawn, setting=np.int64(1), k=THREE)
    assert table.equals(ev.suppression(drawn, setting=1, k=3))


def test_embedders_take_them() -> None:
    hashing = HashingEmbedder(dimension=np.int64(64))
    assert hashing.fingerprint == HashingEmbedder(dimension=64).fingerprint
    assert type(hashing.dimension) is int
    assert repr(LocalEmbedder(dimension=THREE, batch_size=THREE, max_retries=THREE))
    assert SentenceTransformerEmbedder("minilm", batch_size=THREE)


@pytest.mark.parametrize("bad", [True, 2.0, np.float64(2), "2", np.bool_(1)])
def test_other_things_are_no_whole_numbers(drawn: ev.SweepResult, bad: object) -> None:
    with pytest.raises(nm.InvalidParameter):
        ev.replay(drawn, limit=bad)
    with pytest.raises(nm.InvalidParameter):
        HashingEmbedder(dimension=bad)
