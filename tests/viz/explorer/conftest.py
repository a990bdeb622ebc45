"""A small judged corpus with hostile and updated memories, explored without a kernel."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import nousmem as nm
from nousmem.corpora import Card

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
HOSTILE = "tea <script>alert(1)</script> & <img src=x onerror='alert(2)'> \"quoted\""


def _entry(number: int, content: str, *, days: float, **fields: object) -> nm.Entry:
    return nm.Entry(
        content,
        id=f"e{number:02d}",
        user_id=("ada", "bo")[number % 2],
        created_at=NOW - timedelta(days=days),
        **fields,
    )


@pytest.fixture(scope="session")
def corpus() -> nm.Corpus:
    entries = [
        _entry(0, "the tea shop is in Elm Street", days=300, importance=0.2),
        _entry(2, "the tea shop has moved to Oak Street", days=20, importance=0.3),
        _entry(4, HOSTILE, days=5, importance=0.9),
        _entry(6, "tea is kept at eighty degrees", days=200, evergreen=True, importance=0.4),
        *(_entry(at, f"note {at} on tea and bread", days=9 * at) for at in range(8, 40, 2)),
        *(_entry(at, f"bo writes number {at} of bread", days=at) for at in range(1, 30, 2)),
    ]
    scope = nm.Scope(user_id="ada")
    queries = [
        nm.Query(
            "q1",
            "where is the tea shop <b>now</b>?",
            now=NOW,
            as_of=NOW,
            scope=scope,
            category="update",
            metadata={"newest": ["e02"], "outdated": ["e00"]},
        ),
        nm.Query("q2", "how hot is tea", now=NOW, scope=scope, category="fact"),
        nm.Query("q3", "number of bread", now=NOW, scope=nm.Scope(user_id="bo"), category="fact"),
        nm.Query("q4", "nothing at all", now=NOW, scope=scope, category="nothing"),
    ]
    qrels = [("q1", "e02", 2), ("q1", "e00", 0), ("q2", "e06", 1), ("q3", "e27", 1)]
    return nm.Corpus(
        "teas",
        entries=tuple(entries),
        queries=tuple(queries),
        qrels=pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
        card=Card("Teas", licence="MIT", source="made up", synthetic=True),
    )


@pytest.fixture
def store(corpus: nm.Corpus) -> nm.Store:
    opened = nm.open_store("sqlite::memory:")
    opened.put(corpus.entries)
    return opened
