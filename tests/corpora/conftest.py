"""Corpus tests never see the user's own files, except those marked `corpus`."""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from nousmem.corpora import Corpus, Partition

DATA = os.environ.get("NOUSMEM_DATA")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no data folder."""
    folder = tmp_path / "user-cache"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: folder / name)
    monkeypatch.delenv("NOUSMEM_DATA", raising=False)
    return folder / "nousmem" / "corpora"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of published corpus files; without one the test is skipped."""
    if not DATA:
        pytest.skip("NOUSMEM_DATA is not set")
    monkeypatch.setenv("NOUSMEM_DATA", DATA)
    return Path(DATA)


def fts5_rankings(partition: Partition) -> dict[str, list[str]]:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61')")
    texts = [(entry.content,) for entry in partition.entries]
    database.executemany("INSERT INTO f(t) VALUES (?)", texts)
    rankings: dict[str, list[str]] = {}
    for query in partition.queries:
        terms = dict.fromkeys(re.findall("[a-z0-9]+", query.text.lower()))
        match = " OR ".join(f'"{term}"' for term in terms)
        rows = database.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f)", (match,))
        rankings[query.query_id] = [partition.entries[rowid - 1].id for (rowid,) in rows]
    database.close()
    return rankings


@pytest.fixture
def fts5_row() -> Callable[[Corpus], dict[str, float]]:
    """Measures of a bare FTS5 index for each partition: a witness that shares no code with us."""

    def measure(corpus: Corpus) -> dict[str, float]:
        ranked: dict[str, list[str]] = {}
        for partition in corpus.partitions():
            ranked |= fts5_rankings(partition)
        relevant: dict[str, set[str]] = {}
        for row in corpus.qrels[corpus.qrels["relevance"] > 0].itertuples():
            relevant.setdefault(str(row.query_id), set()).add(str(row.doc_id))
        sums = dict.fromkeys(("R@5", "R@10", "RR", "nDCG@10", "Success@10"), 0.0)
        for query_id, wanted in relevant.items():
            found = [rank for rank, d in enumerate(ranked[query_id], start=1) if d in wanted]
            sums["R@5"] += sum(rank <= 5 for rank in found) / len(wanted)
            sums["R@10"] += sum(rank <= 10 for rank in found) / len(wanted)
            sums["RR"] += 1 / found[0] if found else 0
            ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), 10) + 1))
            sums["nDCG@10"] += sum(1 / math.log2(r + 1) for r in found if r <= 10) / ideal
            sums["Success@10"] += any(rank <= 10 for rank in found)
        return {name: total / len(relevant) for name, total in sums.items()}

    return measure
