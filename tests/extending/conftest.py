"""A module of somebody's own on the search path, and a small judged corpus with metadata."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import nousmem as nm

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOPICS = ("bicycle repair", "rye bread", "river tour", "night shift")
SAID = (
    "the chain of it must be oiled",
    "it is best on a Wednesday",
    "Mira asked for it again",
    "nobody wrote down where the key is",
    "it costs less before noon",
)


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of extensions, importable by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("my_ranking")


@pytest.fixture
def corpus() -> nm.Corpus:
    """Sixty notes of two people, each about a topic that only its metadata names."""
    rng = np.random.default_rng(4)
    entries = [
        nm.Entry(
            f"{SAID[at % 5]}, note {at} of {TOPICS[at % 4].split()[at % 2]}",
            id=f"note-{at:02}",
            user_id=("mira", "jonas")[at % 2],
            importance=round(float(rng.random()), 2),
            access_count=int(rng.integers(0, 40)),
            metadata={"topic": TOPICS[at % 4]},
            created_at=(made := NOW - timedelta(days=float(rng.integers(1, 300)))),
            last_accessed_at=made + timedelta(days=at % 3),
        )
        for at in range(60)
    ]
    queries = [
        nm.Query(
            f"q{at:02}",
            f"what about the {TOPICS[at % 4]} {SAID[at % 5]}",
            now=NOW + timedelta(hours=at),
            scope=nm.Scope(user_id=("mira", "jonas")[at % 2]),
        )
        for at in range(20)
    ]
    rows = [
        (query.query_id, entry.id, 1 + (at + place) % 2)
        for at, query in enumerate(queries)
        for place, entry in enumerate(entries)
        if entry.user_id == query.scope.user_id and place % 4 == at % 4 and place % 5 == at % 5
    ]
    return nm.corpus_from_frames(
        entries,
        pd.DataFrame(
            [
                {
                    "query_id": one.query_id,
                    "text": one.text,
                    "now": one.now,
                    "user_id": one.scope.user_id,
                }
                for one in queries
            ]
        ),
        pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        name="notes",
    )


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder with random weights, made here: no weights come in a package."""
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    words = sorted({word for text in (*SAID, *TOPICS) for word in text.lower().split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return folder
