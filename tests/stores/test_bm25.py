from datetime import UTC, datetime

import pytest

import nousmem as nm
from nousmem.stores import _bm25 as bm25
from nousmem.stores._bm25 import informative_terms

NOW = datetime(2026, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("frequencies", "n_entries", "kept"),
    [
        ({}, 0, []),
        ({"the": 1000, "bee": 1}, 1000, ["bee", "the"]),
        ({"the": 9_000, "of": 900, "bee": 99, "keep": 1}, 9_000, ["keep", "bee", "of", "the"]),
        ({"the": 9_000, "of": 901, "bee": 99, "keep": 1}, 9_000, ["keep", "bee", "of"]),
        ({"the": 9_000, "of": 8_000, "to": 7_000}, 9_000, ["to", "of", "the"]),
        ({"the": 90_000, "of": 80_000, "to": 7_000, "bee": 1}, 90_000, ["bee", "to", "of"]),
        ({"a": 20_000, "b": 15_000, "c": 8_000, "d": 7_000}, 1_000_000, ["d", "c", "b", "a"]),
        ({"b": 5, "a": 5}, 10, ["a", "b"]),
    ],
)
def test_the_rarest_words_are_kept_while_they_cost_little(frequencies, n_entries, kept):
    assert informative_terms(frequencies, n_entries) == kept


@pytest.mark.parametrize("url", ["sqlite::memory:", "duckdb::memory:?text=bm25"])
def test_a_word_that_a_third_of_the_entries_hold_still_counts(url: str):
    store = nm.open_store(url)
    rare = " ".join(f"word{at}" for at in range(4))
    store.put(
        nm.Entry(
            f"{'flow' if at % 3 == 0 else 'plate'} number {at}", id=f"e{at:04d}", created_at=NOW
        )
        for at in range(1_200)
    )
    store.put([nm.Entry(f"{rare} flow", id="flow"), nm.Entry(f"{rare} plain", id="plain")])
    found = [entry.id for entry, _ in store.search_text(f"{rare} flow", limit=2)]
    assert found == ["flow", "plain"]


def test_leaving_words_out_keeps_the_scores_in_range(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bm25, "_READ", 10)
    store = nm.open_store("sqlite::memory:")
    store.put(nm.Entry(f"bees and honey, jar {at}", id=f"e{at}") for at in range(30))
    scored = store.search_text("bees and honey in jar 7", limit=30)
    assert scored[0][0].id == "e7"
    assert all(0 < score <= 1 for _, score in scored)
