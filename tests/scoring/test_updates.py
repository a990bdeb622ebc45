"""Freshness, the floor of decay, decay by importance, and the least score: formulas written out."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.retrieval.candidates import Candidates, score_candidates
from nousmem.retrieval.hits import Hits
from nousmem.scoring import (
    UPDATE_PARAMETERS,
    Scoring,
    decay_under,
    freshness,
    successor_similarity,
)

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ON = nm.Scoring(
    decay_lambda=0,
    w_relevance=1,
    w_importance=0,
    w_recency=0,
    update_penalty=0.2,
    update_similarity=0.5,
    update_ratio=0.5,
)


def fresh_by_hand(
    relevance: list[float],
    similarity: list[list[float]],
    *,
    penalty: float,
    min_similarity: float,
    min_ratio: float,
    takeover: float,
    gap_lambda: float,
    created: list[int],
    depth: int,
) -> list[float]:
    """The relevance after freshness, one entry after another."""
    places = [at for at, own in enumerate(relevance) if not math.isnan(own)]
    places.sort(key=lambda at: (-relevance[at], at))
    if depth:
        places = places[:depth]
    places = [at for at in places if relevance[at] > 0]

    def outdates(newer: int, older: int) -> bool:
        alike = similarity[older][newer]
        return (
            not math.isnan(alike)
            and alike >= min_similarity
            and relevance[newer] >= min_ratio * relevance[older]
        )

    values = {}
    for at in places:
        overtaken = [relevance[old] for old in places if outdates(at, old)]
        ahead = max([0.0, *(old - relevance[at] for old in overtaken)])
        values[at] = relevance[at] + takeover * ahead
        newer = [created[one] for one in places if outdates(one, at)]
        if newer:
            hours = max(0, max(newer) - created[at]) / 3600
            values[at] *= (1 - penalty) * math.exp(-gap_lambda * hours)
    if depth and places:
        least, most = min(relevance[at] for at in places), max(relevance[at] for at in places)
        low, high = min(values.values()), max(values.values())
        if low < least < most and low < high:
            for at in places:
                values[at] = least + (values[at] - low) / (high - low) * (most - least)
    return [values.get(at, own) for at, own in enumerate(relevance)]


some_relevance = st.sampled_from([math.nan, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0])
some_similarity = st.sampled_from([math.nan, -1.0, 0.0, 0.25, 0.5, 1.0])


@st.composite
def candidates_of_a_query(draw: st.DrawFn, size: int | None = None):
    n = draw(st.integers(0, 6)) if size is None else size
    relevance = draw(st.lists(some_relevance, min_size=n, max_size=n))
    row = st.lists(some_similarity, min_size=n, max_size=n)
    return relevance, draw(st.lists(row, min_size=n, max_size=n))


rules = st.fixed_dictionaries(
    {
        "penalty": st.sampled_from([0.0, 0.05, 0.5, 1.0]),
        "min_similarity": st.sampled_from([-1.0, 0.25, 0.5]),
        "min_ratio": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "takeover": st.sampled_from([0.0, 0.5, 1.0]),
        "gap_lambda": st.sampled_from([0.0, 1e-3]),
        "depth": st.integers(0, 4),
    }
)
CREATED = [7_200, 0, 3_600_000, 90_000, 36_000_000, 5]


@given(candidates_of_a_query(), rules)
def test_freshness_is_what_its_rules_say(given_, rule) -> None:
    relevance, similarity = given_
    square = np.array(similarity).reshape(len(relevance), len(relevance))
    created = CREATED[: len(relevance)]
    found = np.array(relevance) * freshness(relevance, square, created=created, **rule)
    expected = fresh_by_hand(relevance, similarity, created=created, **rule)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(candidates_of_a_query(size=4), min_size=1, max_size=4), rules)
def test_many_queries_at_once_are_as_one_after_another(queries, rule) -> None:
    relevance = np.array([one[0] for one in queries])
    similarity = np.array([one[1] for one in queries])
    at_once = freshness(relevance, similarity, created=CREATED[:4], **rule)
    alone = [freshness(*one, created=CREATED[:4], **rule) for one in queries]
    assert at_once.tobytes() == np.array(alone).tobytes()


@given(candidates_of_a_query(), rules)
def test_with_a_depth_none_of_the_first_falls_behind_the_others(given_, rule) -> None:
    relevance, similarity = np.array(given_[0]), np.array(given_[1])
    # As time has it: nothing is newer than what is newer than itself.
    n = len(relevance)
    similarity = np.where(np.triu(np.ones((n, n)), 1) > 0, similarity.reshape(n, n), np.nan)
    depth = rule["depth"]
    values = relevance * freshness(relevance, similarity, created=CREATED[:n], **rule)
    there = np.flatnonzero(~np.isnan(relevance))
    order = there[np.argsort(-relevance[there], kind="stable")]
    first, others = order[:depth], order[depth:]
    some = values[first][relevance[first] > 0]
    varied = len(set(relevance[first].tolist())) > 1
    if depth and len(some) and len(others) and varied:
        assert some.min() >= values[others].max() - 1e-12


def test_similarity_is_the_cosine_with_newer_entries_alone() -> None:
    vectors = [np.array(v, dtype=np.float32) for v in ([3, 4], [4, 3], [1e30, 0], [1e-30, 1e-30])]
    created, spaces = [10, 20, 20, 5], ["a"] * 4
    found = successor_similarity(vectors, spaces, created=created, evergreen=[False] * 4)
    for i, older in enumerate(vectors):
        for j, newer in enumerate(vectors):
            if created[j] > created[i]:
                a, b = older.astype(float), newer.astype(float)
                cosine = (a @ b) / math.sqrt((a @ a) * (b @ b))
                assert found[i, j] == pytest.approx(cosine, abs=1e-6)
            else:
                assert math.isnan(found[i, j])
    spared = successor_similarity(vectors, spaces, created=created, evergreen=[True] + [False] * 3)
    assert np.isnan(spared[0]).all()
    np.testing.assert_array_equal(spared[1:], found[1:])


def test_the_cosine_of_two_entries_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(3)
    vectors = [rng.normal(size=387).astype(np.float32) for _ in range(40)]
    created, none = np.arange(40), np.zeros(40, dtype=bool)
    whole = successor_similarity(vectors, ["a"] * 40, created=created, evergreen=none)
    for size in (2, 5, 17):
        chosen = np.sort(rng.choice(40, size, replace=False))
        alone = successor_similarity(
            [vectors[at] if at in chosen else None for at in range(40)],
            ["a"] * 40,
            created=created,
            evergreen=none,
        )
        part = np.ix_(chosen, chosen)
        assert alone[part].tobytes() == whole[part].tobytes()


def test_vectors_of_two_makers_are_never_compared() -> None:
    vectors = [np.ones(2, np.float32), np.ones(2, np.float32), np.ones(3, np.float32), None]
    created, none = [1, 2, 3, 4], [False] * 4
    one_maker = successor_similarity(vectors, ["a"] * 4, created=created, evergreen=none)
    assert np.argwhere(~np.isnan(one_maker)).tolist() == [[0, 1]]
    two = successor_similarity(vectors, ["a", None, "a", "a"], created=created, evergreen=none)
    assert np.isnan(two).all()


def cities() -> list[nm.Entry]:
    """An old home, where the user has moved to since, and something else."""
    rows = [
        ("old", "User lives in Larmont", 400, [1, 0.1, 0]),
        ("new", "User lives in Ostrava Bay", 10, [1, 0.2, 0]),
        ("other", "User lives on tea", 200, [0, 0, 1]),
    ]
    return [
        nm.Entry(
            content,
            id=name,
            created_at=NOW - timedelta(days=days),
            last_accessed_at=NOW - timedelta(days=days),
            embedding=vector,
        )
        for name, content, days, vector in rows
    ]


def found(entries: list[nm.Entry], scoring: nm.Scoring, **options) -> nm.Hits:
    scores = {"old": 0.9, "new": 0.8, "other": 0.75}
    candidates = Candidates.union(
        {"text": [(entry, scores[entry.id]) for entry in entries]}, now=NOW, query="lives"
    )
    return Hits(candidates, nm.Settings(scoring=scoring), now=NOW, limit=None, **options)


def ids(hits) -> list[str]:
    return [hit.entry.id for hit in hits]


def test_an_update_goes_before_what_it_updates() -> None:
    off, on = found(cities(), ON.replace(update_penalty=0)), found(cities(), ON)
    assert ids(off) == ["old", "new", "other"]
    assert ids(on) == ["new", "other", "old"]
    frame = on.to_frame().set_index("doc_id")
    assert frame["freshness"].to_dict() == {"new": 1, "other": 1, "old": 0.8}
    assert frame["relevance"].to_dict() == {"new": 0.8, "other": 0.75, "old": 0.9}


def test_taken_over_relevance_loses_nobody_their_place() -> None:
    swapped = ON.replace(update_takeover=1, update_penalty=0.01, update_depth=2)
    hits = found(cities(), swapped)
    assert ids(hits) == ["new", "old", "other"]
    assert [hit.score for hit in hits] == pytest.approx([0.9, 0.891, 0.75])
    deep = found(cities(), ON.replace(update_depth=2))
    assert ids(deep) == ["new", "old", "other"], "the first two stay the first two"


def test_the_terms_of_a_hit_add_up_to_its_score() -> None:
    scoring = ON.replace(
        decay_lambda=1e-3, decay_floor=0.3, w_importance=0.3, w_recency=0.1, update_takeover=0.3
    )
    hits = found(cities(), scoring)
    for hit in hits:
        contributions = hits.explain(hit.rank)["contribution"].tolist()
        assert contributions[0] + contributions[1] + contributions[2] == hit.score


def test_what_updates_pushed_out_is_suppressed() -> None:
    hits = found(cities(), ON, min_score=0.74)
    assert ids(hits) == ["new", "other"]
    assert ids(hits.suppressed) == ["old"]
    assert "without decay and updates" in hits._repr_html_()
    assert not found(cities(), ON).suppressed


@pytest.mark.parametrize(
    ("moved_by", "pushed_out"),
    [
        ({"update_penalty": 0.5}, "old"),
        ({"update_takeover": 1}, "mid"),
        ({"update_lambda": 1}, "old"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else given,
)
def test_whatever_moves_updates_tells_what_it_pushed_out(
    moved_by: dict[str, float], pushed_out: str
) -> None:
    old, new, other = cities()
    legs = {"text": [(old, 0.9), (other.replace(id="mid"), 0.85), (new, 0.8)]}
    scoring = ON.replace(update_penalty=0).replace(**moved_by)
    candidates = Candidates.union(legs, now=NOW, query="lives")
    hits = Hits(candidates, nm.Settings(scoring=scoring), now=NOW, limit=2)
    assert pushed_out not in ids(hits)
    assert ids(hits.suppressed) == [pushed_out]


def test_evergreen_entries_and_those_without_vectors_lose_nothing() -> None:
    old, new, other = cities()
    assert ids(found([old.replace(evergreen=True), new, other], ON))[0] == "old"
    bare = [entry.replace(embedding=None) for entry in cities()]
    assert ids(found(bare, ON)) == ["old", "new", "other"]
    assert ids(found([old, nm.entry.with_vector(new, [1, 0.2, 0], embedder="e"), other], ON)) == [
        "old",
        "new",
        "other",
    ]


def test_the_same_instant_is_no_update() -> None:
    old, new, other = cities()
    together = [old.replace(created_at=new.created_at), new, other]
    assert ids(found(together, ON)) == ["old", "new", "other"]


@pytest.mark.parametrize("name", ["update_similarity", "update_ratio", "update_depth"])
def test_off_is_off(name: str) -> None:
    candidates = Candidates.union({"text": [(entry, 0.5) for entry in cities()]}, now=NOW)
    plain = score_candidates(candidates, Scoring())
    off = score_candidates(candidates, Scoring(**{name: 1}))
    assert plain.score.tobytes() == off.score.tobytes()
    assert (plain.freshness == 1).all()
    assert not Scoring(**{name: 1}).prefers_updates()


def test_a_search_of_text_alone_sees_updates_too() -> None:
    store = nm.open_store("memory:")
    store.put(cities())
    plain = nm.Search(store, scoring=ON.replace(update_penalty=0))("User lives in Larmont", now=NOW)
    fresh = nm.Search(store, scoring=ON)("User lives in Larmont", now=NOW)
    assert ids(plain)[0] == "old"
    assert fresh.to_frame().set_index("doc_id")["freshness"]["old"] == 0.8


def test_decay_never_takes_the_floor_and_keeps_the_order() -> None:
    hours = np.array([0, 10, 1000, 1e6])
    moments = {"created": 0, "evergreen": False, "now": hours * 3600, "last_accessed": 0}
    whole = decay_under(Scoring(decay_lambda=0.01), **moments)
    floored = decay_under(Scoring(decay_lambda=0.01, decay_floor=0.25), **moments)
    np.testing.assert_allclose(floored, 0.25 + 0.75 * np.exp(-0.01 * hours))
    assert (np.diff(floored[:3]) < 0).all()
    assert (np.argsort(whole) == np.argsort(floored)).all()
    evergreen = decay_under(Scoring(decay_lambda=1, decay_floor=0.1), **moments | {"evergreen": 1})
    assert (evergreen == 1).all()


def test_importance_slows_decay_as_far_as_it_is_told_to() -> None:
    moments = {"created": 0, "evergreen": False, "now": 360_000, "last_accessed": 0}
    importance = np.array([0, 0.5, 1])

    def share(amount: float) -> np.ndarray:
        scoring = Scoring(decay_lambda=0.01, decay_importance=amount)
        return decay_under(scoring, **moments, importance=importance)

    np.testing.assert_allclose(share(0), np.exp([-1, -1, -1]))
    np.testing.assert_allclose(share(1), np.exp([-1, -0.5, 0]))
    np.testing.assert_allclose(share(0.5), np.exp([-1, -0.75, -0.5]))


def test_the_least_score_is_the_scorings_unless_a_search_says_otherwise() -> None:
    store = nm.open_store("memory:")
    store.put(cities())
    search = nm.Search(store, scoring=ON.replace(update_penalty=0, min_score=0.9))
    everything = search("User lives in Larmont", now=NOW, min_score=0)
    assert len(everything) == 3
    kept = [hit.entry.id for hit in everything if hit.score >= 0.9]
    assert ids(search("User lives in Larmont", now=NOW)) == kept == ["old"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update_penalty", 1.1),
        ("update_penalty", -0.1),
        ("update_takeover", 2),
        ("update_similarity", 1.5),
        ("update_ratio", -1),
        ("update_depth", 1.5),
        ("update_depth", -1),
        ("update_depth", math.inf),
        ("decay_floor", 1),
        ("decay_floor", -0.1),
        ("decay_importance", 1.5),
        ("min_score", math.nan),
        ("min_score", "0.5"),
    ],
)
def test_values_out_of_range_are_refused(name: str, value: object) -> None:
    with pytest.raises(nm.InvalidParameter, match=name):
        Scoring(**{name: value})


def test_the_new_parameters_go_to_files_and_back() -> None:
    scoring = Scoring(
        decay_floor=0.1,
        decay_importance=0.5,
        min_score=-0.25,
        update_penalty=0.07,
        update_takeover=1,
        update_similarity=-0.1,
        update_ratio=0.9,
        update_depth=10,
    )
    table = tomllib.loads(nm.Settings(scoring=scoring).to_toml())["scoring"]
    assert nm.Scoring.from_dict(table) == scoring
    assert isinstance(scoring.update_depth, int)
    for shown in ("decay_floor=0.1", "min_score=-0.25", "update_penalty=0.07", "update_depth=10"):
        assert shown in repr(scoring)
    assert "update" not in repr(Scoring())
    for name in UPDATE_PARAMETERS:
        changed = scoring.replace(**{name: 0.5 if name != "update_depth" else 3})
        relevance = [one.relevance_parameters(("text",)) for one in (scoring, changed)]
        assert relevance[0] != relevance[1], name


def test_the_half_life_in_force_can_be_read() -> None:
    assert Scoring(half_life_days=30).half_life_days == pytest.approx(30)
    assert Scoring(decay_lambda=0).half_life_days == math.inf
    assert Scoring().half_life_days == pytest.approx(28.881132)
    scoring = Scoring(half_life_days=7, w_importance=0.1)
    assert scoring.replace(w_importance=0.3).half_life_days == scoring.half_life_days
    assert dataclasses.replace(scoring, w_importance=0.3).decay_lambda == scoring.decay_lambda
    assert Scoring(half_life_days=scoring.half_life_days).half_life_days == pytest.approx(7)
    assert "half_life_days" not in {f.name for f in dataclasses.fields(Scoring)}


def test_the_bars_of_a_ranking_add_up_with_updates() -> None:
    plots = pytest.importorskip("nousmem.viz.plots")
    figure = pytest.importorskip("matplotlib.pyplot")
    axes = plots.score_parts(found(cities(), ON).to_frame(), scoring=ON)
    assert axes.patches
    figure.close("all")
