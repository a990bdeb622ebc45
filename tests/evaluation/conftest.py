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
            created_at=(created := NOW - timedelta(days=float(rng.integers(1, 400)))),
            last_accessed_at=min(NOW, created + timedelta(days=at % 5 * 9)),
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
            metadata=_marks(entries[at % 3 :: 3], at) if at % 2 else {},
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


def _marks(own: list[nm.Entry], at: int) -> dict[str, list[str]]:
    """Some entries of the query's user, taken to be states of one fact."""
    ids = [entry.id for entry in own[at % 5 :: 3]]
    return {"newest": ids[:2], "outdated": ids[2:6]}


@pytest.fixture(scope="session")
def corpus() -> nm.Corpus:
    return _small_corpus()


@pytest.fixture(scope="session")
def divided_corpus() -> nm.Corpus:
    return _small_corpus(partition_field="user_id")
