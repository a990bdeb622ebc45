"""Why an entry stands where it stands: `explain` and `why` for any entry of the scope."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import nousmem as nm

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MIRA = nm.Scope(user_id="mira")


@pytest.fixture
def store() -> nm.Store:
    store = nm.open_store("sqlite::memory:")
    entries = [
        nm.Entry(
            f"the ferry to the island leaves at {hour} from pier {hour}",
            id=f"ferry-{hour:02}",
            user_id="mira",
            importance=hour / 24,
            created_at=NOW - timedelta(days=hour),
        )
        for hour in range(24)
    ]
    others = {
        "old": nm.Entry(
            "the ferry to the island never leaves from here", created_at=NOW - timedelta(days=900)
        ),
        "unlike": nm.Entry("a recipe for rye bread", created_at=NOW),
        "later": nm.Entry("the ferry to the island sank", created_at=NOW + timedelta(days=1)),
        "foreign": nm.Entry("the ferry to the island is mine", created_at=NOW),
        "procedure": nm.Entry("the ferry to the island, how to", type="procedural", created_at=NOW),
    }
    for name, entry in others.items():
        user = "jonas" if name == "foreign" else "mira"
        entries.append(replace(entry, id=name, user_id=user, importance=0.1))
    store.put(entries)
    return store


def ask(store: nm.Store, query: str = "ferry to the island", **options) -> nm.Hits:
    search = nm.Search(store, scoring=options.pop("scoring", nm.Scoring()))
    return search(query, scope=MIRA, now=NOW, as_of=NOW, type="semantic", limit=5, **options)


def test_a_hit_by_its_rank_and_by_its_id(store: nm.Store) -> None:
    hits = ask(store)
    by_rank, by_id = hits.explain(2), hits.explain(hits[1].entry.id)
    assert by_rank.equals(by_id)
    assert by_rank.attrs == by_id.attrs
    assert by_id.attrs["rank"] == 2
    assert by_id.attrs["score"] == hits[1].score
    assert hits.why(hits[1].entry.id) == "rank 2 of 5"
    assert list(by_id.columns) == ["term", "value", "weight", "contribution", "detail"]
    assert "text rank" in by_id["detail"][0]
    assert "age leaves" in by_id["detail"][0]


def test_a_candidate_that_was_cut(store: nm.Store) -> None:
    hits = ask(store)
    everything = nm.Search(store)(
        "ferry to the island", scope=MIRA, now=NOW, as_of=NOW, type="semantic", limit=None
    )
    cut = everything[7].entry.id
    told = hits.explain(cut)
    assert told.attrs["rank"] is None
    assert told.attrs["score"] == everything[7].score
    assert told["contribution"].sum() == pytest.approx(everything[7].score)
    assert hits.why(cut).startswith("cut: rank 8, and the limit is 5")


def test_what_decay_pushed_out_says_so(store: nm.Store) -> None:
    hits = ask(store, scoring=nm.Scoring(w_importance=0, decay_lambda=0.01))
    (pushed, *_) = hits.suppressed
    assert "without decay and updates it would be a hit" in hits.why(pushed.entry.id)


def test_what_is_below_a_threshold(store: nm.Store) -> None:
    hits = ask(store, min_score=0.6)
    cut = next(one for one in hits.candidates.ids if one not in {hit.entry.id for hit in hits})
    assert hits.why(cut).startswith("below min_score 0.6, with 0.")


def test_what_lacks_evidence(store: nm.Store) -> None:
    hits = ask(store, "ferry pier seventeen tomorrow morning", min_words=0.9)
    assert not len(hits)
    assert hits.why("ferry-03").startswith("below the floor of evidence")


def test_outside_of_the_candidates(store: nm.Store) -> None:
    search = nm.Search(store, retrieval=nm.Retrieval(depth=3))
    hits = search("ferry to the island", scope=MIRA, now=NOW, type="semantic", limit=5)
    outside = next(
        f"ferry-{at:02}" for at in range(24) if f"ferry-{at:02}" not in hits.candidates.ids
    )
    why = hits.why(outside)
    assert why.startswith("outside of the candidates: text rank ")
    depth = int(why.partition("depth=")[2].split()[0])
    deeper = nm.Search(store, retrieval=nm.Retrieval(depth=depth))(
        "ferry to the island", scope=MIRA, now=NOW, type="semantic", limit=None
    )
    assert outside in deeper.candidates.ids
    told = hits.explain(outside)
    assert told.attrs["rank"] is None
    assert told["contribution"].sum() == pytest.approx(told.attrs["score"])


@pytest.mark.parametrize(
    ("entry_id", "why"),
    [
        ("unlike", "no leg finds it"),
        ("later", "later than as_of"),
        ("foreign", "outside of the scope"),
        ("procedure", "the entry is procedural"),
        ("nobody", "no entry has the id 'nobody'"),
    ],
)
def test_what_could_not_be_found(store: nm.Store, entry_id: str, why: str) -> None:
    hits = ask(store)
    told = hits.explain(entry_id)
    assert why in told.attrs["why"]
    assert len(told) == 0
    assert told.attrs["rank"] is None
    # Nothing of an entry that may not be seen is shown.
    assert "mine" not in repr(told) + repr(told.attrs)


def test_history_says_that_it_was_replaced(store: nm.Store) -> None:
    store.update(
        "ferry-03", now=NOW, superseded_at=NOW - timedelta(hours=1), superseded_by="ferry-04"
    )
    assert "was replaced" in ask(store).why("ferry-03")


def test_an_empty_ranking_explains_too(store: nm.Store) -> None:
    hits = ask(store, "zzz")
    assert "no leg finds it" in hits.why("ferry-03")
    with pytest.raises(nm.InvalidParameter, match="rank must be from 1 to 0"):
        hits.explain(1)
