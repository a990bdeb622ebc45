"""A small corpus as files, and an experiment on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

WORDS = [
    "kiln",
    "oar",
    "mill",
    "fern",
    "quay",
    "loom",
    "pear",
    "dune",
    "wren",
    "moss",
    "helm",
    "rye",
]

EXPERIMENT = """
title = "Kilns and oars"
measures = ["nDCG@10", "R@5"]
folds = 3
seed = 5

[corpus]
name = "tables"
path = "tables"

[retrieval]
embedder = ["none", "hashing"]
depth = [10, 20]

[scoring]
w_recency = 0

[grid]
half_life_days = [30, 365, inf]
w_importance = [0, 0.3]
"""


def write_tables(folder: Path, *, n_queries: int = 60, seed: int = 3) -> None:
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    entries = pd.DataFrame(
        {
            "id": [f"e{at:03d}" for at in range(90)],
            "content": [" ".join(rng.choice(WORDS, 5)) for _ in range(90)],
            "importance": rng.random(90).round(2),
            "user_id": [f"u{at % 6}" for at in range(90)],
            "created_at": [f"2026-{at % 9 + 1:02d}-11T08:00:00+00:00" for at in range(90)],
        }
    )
    queries = pd.DataFrame(
        {
            "query_id": [f"q{at:02d}" for at in range(n_queries)],
            "text": [" ".join(rng.choice(WORDS, 2)) for _ in range(n_queries)],
            "user_id": [f"u{at % 6}" for at in range(n_queries)],
            "now": ["2026-10-01T00:00:00+00:00"] * n_queries,
            "category": [("plain", "other")[at % 2] for at in range(n_queries)],
        }
    )
    rows = [
        (f"q{at:02d}", str(doc_id), 1)
        for at, text in enumerate(queries["text"][:-2])
        for doc_id in _sharing_words(text, entries[entries["user_id"] == f"u{at % 6}"])
    ]
    entries.to_csv(folder / "entries.csv", index=False)
    queries.to_csv(folder / "queries.csv", index=False)
    pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]).to_csv(
        folder / "qrels.csv", index=False
    )


def _sharing_words(text: str, entries: pd.DataFrame) -> list[str]:
    """The two entries that share most words with a query."""
    shared = [len(set(text.split()) & set(content.split())) for content in entries["content"]]
    return [entries["id"].iloc[at] for at in np.argsort(shared, kind="stable")[-2:]]


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything but the manifest, which holds what varies."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "manifest.json"
    }


@pytest.fixture(name="write_tables")
def tables_writer() -> Callable[..., None]:
    return write_tables


@pytest.fixture(name="files_of")
def folder_reader() -> Callable[[Path], dict[str, bytes]]:
    return files_of


@pytest.fixture
def experiment_file(tmp_path: Path) -> Path:
    write_tables(tmp_path / "tables")
    file = tmp_path / "kilns.toml"
    file.write_text(EXPERIMENT)
    return file
