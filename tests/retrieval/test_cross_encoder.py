"""A cross-encoder as a leg: the model's own scores, each computed once."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nousmem as nm
from nousmem.embeddings import cache_path, cache_summary, prune_cache
from nousmem.errors import EmbedderError, InvalidParameter, MissingDependency
from nousmem.references import describe, load_described
from nousmem.retrieval._cross_encoder import CrossEncoderLeg

needs_model = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs the extra local"
)

WORDS = ["kiln", "oar", "mill", "fern", "quay", "loom", "pear", "dune", "wren", "moss", "the"]
LONGEST = 32
SAME = {"rtol": 0, "atol": 1e-6}


def save_model(folder: Path, *, n_labels: int = 1, seed: int = 0) -> Path:
    """A cross-encoder with random weights: it knows nothing, and knows it reliably."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LONGEST,
        num_labels=n_labels,
        initializer_range=1.0,  # so that scores lie far apart
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=LONGEST).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUSMEM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def asked(query: str = "the kiln") -> Any:
    return SimpleNamespace(query=query)


def entries(n: int = 40) -> list[nm.Entry]:
    rng = np.random.default_rng(5)
    return [nm.Entry(" ".join(rng.choice(WORDS, 1 + at % 9)), id=f"e{at}") for at in range(n)]


def direct(model: Path, query: str, texts: list[str], **options: Any) -> np.ndarray:
    from sentence_transformers import CrossEncoder

    made = CrossEncoder(str(model), **options)
    return made.predict([(query, text) for text in texts], show_progress_bar=False)


class Counted:
    """A model in front of another, that counts the pairs it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.pairs: list[tuple[str, str]] = []

    def predict(self, pairs: Any, **options: Any) -> Any:
        self.pairs += pairs
        return self.inner.predict(pairs, **options)

    def __getitem__(self, at: int) -> Any:
        return self.inner[at]


def counting(leg: CrossEncoderLeg) -> Counted:
    leg._state.model = Counted(leg._loaded())
    return leg._state.model


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("the model was asked")


def test_making_one_loads_nothing(tmp_path: Path) -> None:
    code = """
import json, sys
from nousmem.retrieval._cross_encoder import CrossEncoderLeg
legs = {CrossEncoderLeg("some/model"), CrossEncoderLeg("some/model", max_length=64)}
heavy = [name for name in ("torch", "transformers", "sentence_transformers") if name in sys.modules]
print(json.dumps([len(legs), heavy]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert json.loads(done.stdout) == [2, []]


@needs_model
def test_the_scores_are_the_models_own(model: Path) -> None:
    texts = [entry.content for entry in entries()]
    scores = CrossEncoderLeg(str(model)).score(asked(), entries())
    assert scores.dtype == np.float64
    assert scores.shape == (40,)
    np.testing.assert_allclose(scores, direct(model, "the kiln", texts), **SAME)
    assert np.ptp(scores) > 0.1
    again = CrossEncoderLeg(str(model), cache=False).score(asked(), entries())
    np.testing.assert_array_equal(scores, again)
    other = CrossEncoderLeg(str(model)).score(asked("moss"), entries())
    np.testing.assert_allclose(other, direct(model, "moss", texts), **SAME)
    assert not np.allclose(scores, other, **SAME)


@needs_model
def test_a_pair_is_scored_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leg = CrossEncoderLeg(str(model))
    counted = counting(leg)
    first = leg.score(asked(), entries(30))
    distinct = len({entry.content for entry in entries(30)})
    assert len(counted.pairs) == distinct
    np.testing.assert_array_equal(leg.score(asked(), entries(30)), first)
    assert len(counted.pairs) == distinct
    more = leg.score(asked(), entries(40))
    assert len(counted.pairs) == len({entry.content for entry in entries(40)})
    np.testing.assert_array_equal(more[:30], first)
    # Another run knows them all, and loads no model.
    monkeypatch.setattr(CrossEncoderLeg, "_load", refuse)
    np.testing.assert_array_equal(CrossEncoderLeg(str(model)).score(asked(), entries(40)), more)
    with pytest.raises(AssertionError, match="the model was asked"):
        CrossEncoderLeg(str(model)).score(asked("moss"), entries(1))


@needs_model
def test_without_a_cache_nothing_is_written(model: Path, tmp_path: Path) -> None:
    leg = CrossEncoderLeg(str(model), cache=False)
    counted = counting(leg)
    for _ in range(2):
        leg.score(asked(), entries(3))
    assert len(counted.pairs) == 6
    assert not (tmp_path / "cache").exists()


@needs_model
def test_the_cache_is_that_of_embeddings(model: Path, tmp_path: Path) -> None:
    CrossEncoderLeg(str(model)).score(asked(), entries(3))
    (row,) = cache_summary()
    assert row.fingerprint == CrossEncoderLeg(model).fingerprint
    assert (row.dimension, row.vectors) == (1, 3)
    assert b"kiln" not in cache_path().read_bytes()
    assert prune_cache(fingerprint=row.fingerprint) == 3
    elsewhere = CrossEncoderLeg(str(model), cache=str(tmp_path / "scores"))
    elsewhere.score(asked(), entries(2))
    assert cache_summary() == []
    (row,) = cache_summary(tmp_path / "scores" / "embeddings.sqlite")
    assert row.vectors == 2


@needs_model
def test_query_and_content_are_told_apart(model: Path) -> None:
    leg = CrossEncoderLeg(str(model))
    halves = [
        ("the kiln", "moss"),
        ("the", " kilnmoss"),
        ("thekiln", " moss"),
        ("th", "e kilnmoss"),
    ]
    found = [float(leg.score(asked(query), [nm.Entry(text)])[0]) for query, text in halves]
    assert sum(row.vectors for row in cache_summary()) == len(halves)
    wanted = [float(direct(model, query, [text])[0]) for query, text in halves]
    np.testing.assert_allclose(found, wanted, **SAME)


@needs_model
@pytest.mark.parametrize("cache", [True, False])
def test_the_order_of_entries_does_not_matter(model: Path, cache: bool) -> None:
    some = entries(25)
    order = np.random.default_rng(1).permutation(len(some))
    forwards = CrossEncoderLeg(str(model), cache=False).score(asked(), some)
    shuffled = CrossEncoderLeg(str(model), cache=cache).score(asked(), [some[at] for at in order])
    np.testing.assert_array_equal(shuffled, forwards[order])


@needs_model
def test_batches_change_nothing_to_speak_of(model: Path) -> None:
    one, many = (
        CrossEncoderLeg(str(model), batch_size=size, cache=False).score(asked(), entries())
        for size in (1, 64)
    )
    np.testing.assert_allclose(one, many, **SAME)


def test_no_entries_are_no_question(tmp_path: Path) -> None:
    scores = CrossEncoderLeg(str(tmp_path / "absent")).score(asked(), [])
    assert scores.shape == (0,)
    assert not (tmp_path / "cache").exists()


@needs_model
def test_a_long_text_is_read_as_far_as_the_model_reads(model: Path) -> None:
    long = nm.Entry("moss fern " * 5_000)
    leg = CrossEncoderLeg(str(model))
    (score,) = leg.score(asked(), [long])
    (wanted,) = direct(model, "the kiln", ["moss fern " * 20])
    assert score == pytest.approx(wanted, abs=1e-6)
    short = CrossEncoderLeg(str(model), max_length=8)
    (cut,) = short.score(asked(), [long])
    assert cut == pytest.approx(direct(model, "the kiln", [long.content], max_length=8)[0])
    assert cut != pytest.approx(score, abs=1e-4)
    assert leg.fingerprint != short.fingerprint
    assert short.fingerprint.endswith(":max_length=8")


@needs_model
def test_a_folder_is_known_by_its_content(tmp_path: Path) -> None:
    one, other = (save_model(tmp_path / str(seed) / "tiny", seed=seed) for seed in (1, 2))
    first = CrossEncoderLeg(str(one)).fingerprint
    assert first.startswith("cross-encoder:tiny@")
    assert first != CrossEncoderLeg(str(other)).fingerprint
    scores = [CrossEncoderLeg(str(folder)).score(asked(), entries(5)) for folder in (one, other)]
    assert not np.allclose(*scores, **SAME)
    (one / "README.md").write_text("another page")
    assert CrossEncoderLeg(str(one)).fingerprint == first


@needs_model
def test_a_cache_that_cannot_be_used_is_told_once(model: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, where a folder should be")
    leg = CrossEncoderLeg(str(model))
    wanted = CrossEncoderLeg(str(model), cache=False).score(asked(), entries(5))
    with pytest.warns(UserWarning, match="are not kept: cannot use the embedding cache") as told:
        np.testing.assert_array_equal(leg.score(asked(), entries(5)), wanted)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(leg.score(asked(), entries(5)), wanted)


@needs_model
def test_a_cache_that_fails_when_it_is_written(model: Path, monkeypatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise EmbedderError("the disk is full")

    monkeypatch.setattr("nousmem.embeddings.vector_cache.VectorCache.write", fail)
    with pytest.warns(UserWarning, match="are not kept: the disk is full") as told:
        scores = CrossEncoderLeg(str(model)).score(asked(), entries(5))
    assert len(told) == 1
    np.testing.assert_array_equal(
        scores, CrossEncoderLeg(str(model), cache=False).score(asked(), entries(5))
    )


@needs_model
def test_it_is_a_value(model: Path) -> None:
    leg = CrossEncoderLeg(str(model), max_length=16)
    scores = leg.score(asked(), entries(5))
    assert leg == CrossEncoderLeg(model, max_length=16)
    assert hash(leg) == hash(CrossEncoderLeg(str(model), max_length=16))
    assert leg != CrossEncoderLeg(str(model))
    packed = pickle.dumps(leg)
    assert len(packed) < 1_000  # without the model
    copy = pickle.loads(packed)
    assert copy == leg
    np.testing.assert_array_equal(copy.score(asked(), entries(5)), scores)
    named = dataclasses.replace(leg, name="reranker")
    assert (named.name, leg.name) == ("reranker", "cross_encoder")
    assert load_described(json.loads(json.dumps(describe(named))), what="leg") == named
    assert repr(leg) == (
        f"CrossEncoderLeg(model={str(model)!r}, name='cross_encoder', max_length=16, "
        "batch_size=32, cache=True)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model of a cross-encoder must be a text, got ''"),
        ({"model": None}, "model of a cross-encoder must be a text, got None"),
        ({"name": 3}, "name of a cross-encoder must be a text, got 3"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
        ({"max_length": 0}, "max_length must be a whole number of at least 1"),
        ({"cache": 3}, "cache of a cross-encoder must be True, False or a folder, got 3"),
        ({"cache": ""}, "cache of a cross-encoder must be True, False or a folder, got ''"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        CrossEncoderLeg(**{"model": "some/model", **options})


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency, match=r"pip install 'nousmem\[local\]'"):
        CrossEncoderLeg(str(tmp_path)).score(asked(), entries(1))


@needs_model
def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot load the model"):
        CrossEncoderLeg(str(tmp_path), cache=False).score(asked(), entries(1))


@needs_model
def test_a_model_that_does_not_score_pairs(model: Path, tmp_path: Path) -> None:
    three = CrossEncoderLeg(str(save_model(tmp_path / "three", n_labels=3)))
    with pytest.raises(EmbedderError, match=r"shape \(2, 3\) for 2 pairs; expected one number"):
        three.score(asked(), entries(2))
    broken = CrossEncoderLeg(str(model))
    counting(broken).inner = SimpleNamespace(predict=lambda pairs, **_: [float("nan")] * len(pairs))
    with pytest.raises(EmbedderError, match="a score that is not a finite number"):
        broken.score(asked(), entries(2))
    counting(broken).inner = SimpleNamespace(predict=lambda *_, **__: 1 / 0)
    with pytest.raises(EmbedderError, match="failed to score 2 pairs: division by zero"):
        broken.score(asked(), entries(2))
    assert sum(row.vectors for row in cache_summary()) == 0
