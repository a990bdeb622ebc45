"""The shared tail of retrieval."""

from __future__ import annotations

from datetime import UTC, datetime

import nousmem as nm
from nousmem.stores import _results as results

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
TABLE = {name: nm.Entry(f"note {name}", id=name, created_at=NOON) for name in "abc"}


def test_a_score_of_exactly_the_least_is_not_above_it() -> None:
    hits = [("a", 0.0), ("b", 0.5), ("c", 0.75)]
    assert [entry.id for entry, _ in results.rank(hits, TABLE)] == ["c", "b"]
    assert [entry.id for entry, _ in results.rank(hits, TABLE, min_score=0.5)] == ["c"]


def test_what_the_table_has_lost_is_dropped_before_the_cut() -> None:
    hits = [("gone", 0.9), ("a", 0.8), ("b", 0.8)]
    assert [entry.id for entry, _ in results.rank(hits, TABLE, limit=2)] == ["b", "a"]
