"""What is shown where the best memory has no room at all."""

from __future__ import annotations

from datetime import UTC, datetime

import nousmem as nm
from nousmem.agent._quoting import estimated_tokens, memory_block
from nousmem.retrieval.hits import Hit

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


def test_only_the_best_is_cut() -> None:
    """The id of the best alone is longer than the room; the next is too long, and not cut."""
    best = nm.Entry("short", id="i" * 3000, created_at=NOON)
    long = nm.Entry("a long story " * 200, id="long", created_at=NOON)
    small = nm.Entry("Keeps bees", id="small", created_at=NOON)
    hits = [Hit(rank, entry, 0.5) for rank, entry in enumerate((best, long, small), 1)]
    block = memory_block(hits, now=NOON, max_tokens=300)
    assert [hit.entry.id for hit in block.shown] == ["small"]
    assert [hit.entry.id for hit in block.left_out] == ["i" * 3000, "long"]
    assert estimated_tokens(block.text) <= 300
    assert "truncated" not in block.text
