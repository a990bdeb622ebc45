"""The floor of evidence: what has nothing to do with a query is no hit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import nousmem as nm

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


@pytest.fixture
def store() -> nm.Store:
    filled = nm.open_store("memory:")
    filled.put(
        nm.Entry(text, id=str(at), created_at=NOW)
        for at, text in enumerate(
            ["User prefers dark mode", "Deploys run on Fridays", "The dark roast is for guests"]
        )
    )
    return filled


def test_the_floor_of_evidence_lets_nonsense_find_nothing(store: nm.Store) -> None:
    nonsense = "asdkjh qwoeiu zxcmn"
    assert nm.Search(store)(nonsense, now=NOW)[0].score > 0.2
    assert len(nm.Search(store)(nonsense, now=NOW, min_words=0.3)) == 0


def test_what_is_below_the_floor_is_left_out_and_can_say_so() -> None:
    store = nm.open_store("sqlite::memory:")
    store.put(
        [
            nm.Entry("The hives stand on the roof", id="both", created_at=NOW),
            nm.Entry("The roof is mended", id="one", importance=1.0, created_at=NOW),
        ]
    )
    search = nm.Search(store)
    everything = search("which roof for the hives?", now=NOW)
    assert [hit.entry.id for hit in everything] == ["one", "both"]
    asked = search("which roof for the hives?", now=NOW, min_words=1)
    assert [(hit.entry.id, hit.score) for hit in asked] == [("both", everything[1].score)]
    assert "below the floor of evidence" in asked.why("one")
    for wrong in ({"min_words": "many"}, {"min_cosine": float("nan")}):
        with pytest.raises(nm.InvalidParameter, match=next(iter(wrong))):
            search("roof", **wrong)
