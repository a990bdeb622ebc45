"""A small judged corpus that is made up from a seed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem.corpora import Card

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WORDS = [
    f"{a}{b}" for a in ("ro", "ta", "mi", "ke", "su", "lo", "pa") for b in ("na", "ri", "do", "vel")
]


def _small_corpus(*, seed: int = 0, partition_field: str | None = None) -> nm.Corpus:
    rng = np.random.default_rng(seed)
    users = ["ada", "bo", "cyd"]
    entries = [
        nm.Entry(
            " ".join(rng.choice(WORDS, 6)),
            id=f"e{at:03d}",
            importance=round(float(rng.random()), 2),
            evergreen=bool(rng.random() < 0.15),
            user_id=users[at % 3],
            created_at=NOW - timedelta(days=float(rng.integers(1, 400))),
        )
        for at in range(120)
    ]
    queries = [
        nm.Query(
            f"q{at:02d}",
            " ".join(rng.choice(WORDS, 3)),
            now=NOW + timedelta(hours=at),
            scope=nm.Scope(user_id=users[at % 3]),
            category=("fact", "update")[at % 2],
            as_of=NOW - timedelta(days=int(rng.integers(0, 60))) if at % 4 == 0 else None,
        )
        for at in range(24)
    ]
    rows = []
    for at, query in enumerate(queries[:-2]):
        own = [entry.id for entry in entries if entry.user_id == users[at % 3]]
        rows += [
            (query.query_id, str(doc_id), int(rng.integers(0, 3)) or 1)
            for doc_id in rng.choice(own, int(rng.integers(1, 5)), replace=False)
        ]
    return nm.Corpus(
        "small",
        entries=tuple(entries),
        queries=tuple(queries),
        qrels=pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        card=Card("Small", licence="MIT", source="made up", synthetic=True),
        partition_field=partition_field,
    )


@pytest.fixture(scope="session")
def corpus() -> nm.Corpus:
    return _small_corpus()


@pytest.fixture(scope="session")
def divided_corpus() -> nm.Corpus:
    return _small_corpus(partition_field="user_id")
