"""The parameters beyond the specification's: formulas written out, and nothing changed when off."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.retrieval.candidates import Candidates, score_candidates
from nousmem.scoring import (
    CHOICES,
    CURVES,
    Scoring,
    convex_relevance,
    decay_under,
    fused_relevance,
    relevance_under,
    rrf,
)
from nousmem.scoring import decay as decay_along

NOW = datetime(2026, 5, 1, tzinfo=UTC)
NAMES = CHOICES["decay_curve"]
LEGS = ("text", "vector")


def decay(hours, *, curve: str, **options):
    return decay_along(hours, curve=CURVES[curve], **options)


def share_left(curve: str, hours: float, half_life: float) -> float:
    """The curves once more, in terms of the half-life."""
    ages = hours / half_life
    return {
        "exponential": 0.5**ages,
        "hyperbolic": 1 / (1 + ages),
        "power": (1 + 3 * ages) ** -0.5,
        "step": 1.0 if ages < 1 else 0.0,
    }[curve]


@given(st.sampled_from(NAMES), st.floats(0, 1e5), st.floats(1e-2, 1e5))
def test_curves_are_what_their_formulas_say(curve: str, hours: float, half_life: float) -> None:
    if curve == "step" and math.isclose(hours, half_life):
        return
    left = decay(hours, decay_lambda=math.log(2) / half_life, curve=curve)
    assert left == pytest.approx(share_left(curve, hours, half_life), rel=1e-9, abs=1e-12)


@given(st.sampled_from(NAMES[:3]), st.floats(1e-2, 1e6))
def test_half_is_left_after_a_half_life_whatever_the_curve(curve: str, half_life: float) -> None:
    left = decay(half_life, decay_lambda=math.log(2) / half_life, curve=curve)
    assert left == pytest.approx(0.5)


def test_a_step_keeps_all_until_the_half_life_and_then_nothing() -> None:
    left = decay([0, 23.9, 24.1, 1e9], decay_lambda=math.log(2) / 24, curve="step")
    assert left.tolist() == [1, 1, 0, 0]


@given(
    st.sampled_from(NAMES), st.floats(0, 1e5), st.floats(0, 1e5), st.sampled_from([0, 1e-4, 0.1])
)
def test_every_curve_falls_from_1_and_spares_what_it_must(
    curve: str, first: float, second: float, rate: float
) -> None:
    ages = [0, min(first, second), max(first, second)]
    new, young, old = decay(ages, decay_lambda=rate, curve=curve)
    assert 1 == new >= young >= old >= 0
    assert (decay(ages, decay_lambda=0, curve=curve) == 1).all()
    assert (decay(ages, decay_lambda=rate, curve=curve, evergreen=True) == 1).all()


def test_the_longer_the_tail_the_more_an_old_entry_keeps() -> None:
    kept = [decay(24 * 365, decay_lambda=0.001, curve=curve) for curve in NAMES]
    exponential, hyperbolic, power, step = kept
    assert power > hyperbolic > exponential > step


def test_the_clock_chooses_what_age_is_counted_from() -> None:
    moments = {"last_accessed": 9 * 3600, "created": 0, "now": 10 * 3600, "evergreen": False}
    rate = Scoring(decay_lambda=0.1)
    assert decay_under(rate, **moments) == pytest.approx(math.exp(-0.1))
    assert decay_under(rate.replace(decay_clock="creation"), **moments) == pytest.approx(
        math.exp(-1)
    )


def test_recency_is_counted_from_last_access_whatever_the_clock() -> None:
    entry = nm.Entry(
        "x", id="a", created_at=NOW - timedelta(hours=50), last_accessed_at=NOW - timedelta(hours=5)
    )
    candidates = Candidates.union({"text": [(entry, 0.5)]}, now=NOW)
    parts = score_candidates(candidates, Scoring(decay_clock="creation", decay_lambda=0.1))
    assert parts.recency[0] == pytest.approx(math.exp(-0.05))
    assert parts.decay[0] == pytest.approx(math.exp(-5))
    assert parts.age_hours[0] == 50, "the age shown is the one that decay counts"
    last = score_candidates(candidates, Scoring(decay_lambda=0.1))
    assert last.age_hours[0] == 5


RANKS = np.array([[1, 2, 0, 0], [2, 0, 1, 0]])
SCORES = np.array([[0.9, 0.4, np.nan, np.nan], [0.5, np.nan, 0.8, np.nan]])


def test_leg_weights_scale_the_shares_of_a_leg() -> None:
    fused = rrf(RANKS, k=60, leg_weights=[2, 0.5])
    assert fused.tolist() == pytest.approx([2 / 61 + 0.5 / 62, 2 / 62, 0.5 / 61, 0], rel=1e-15)
    assert rrf(RANKS, leg_weights=[1, 1]).tolist() == rrf(RANKS).tolist()
    over = fused_relevance(RANKS, SCORES[0], leg_weights=[2, 0.5])
    assert over.tolist() == (fused / fused.max()).tolist()


def test_raw_fusion_is_not_over_its_maximum() -> None:
    raw = relevance_under(Scoring(fusion="rrf_raw"), RANKS, SCORES, legs=LEGS)
    assert raw[:3].tolist() == rrf(RANKS)[:3].tolist()


def test_convex_fusion_is_the_weighted_mean_of_scores() -> None:
    mean = convex_relevance(RANKS, SCORES, leg_weights=[3, 1])
    assert mean == pytest.approx([(3 * 0.9 + 0.5) / 4, 3 * 0.4 / 4, 0.8 / 4, 0])
    assert relevance_under(Scoring(fusion="convex", w_text=3), RANKS, SCORES, legs=LEGS)[
        :3
    ] == pytest.approx(mean[:3])


def test_a_leg_that_returned_nothing_is_left_out_of_the_mean_query_by_query() -> None:
    ranks = np.stack([RANKS, RANKS * [[1], [0]]], axis=1)
    scores = np.stack([SCORES, SCORES], axis=1)
    both, text_only = convex_relevance(ranks, scores)
    assert both.tolist() == convex_relevance(RANKS, SCORES).tolist()
    assert text_only.tolist() == [0.9, 0.4, 0, 0]


@pytest.mark.parametrize("fusion", CHOICES["fusion"])
def test_what_only_a_removed_leg_found_is_no_candidate(fusion: str) -> None:
    text = relevance_under(Scoring(fusion=fusion, w_vector=0), RANKS, SCORES, legs=LEGS)
    assert text[:2].tolist() == [0.9, 0.4]
    assert np.isnan(text[2:]).all()
    vector = relevance_under(Scoring(fusion=fusion, w_text=0), RANKS, SCORES, legs=LEGS)
    assert np.isnan(vector).tolist() == [False, True, False, True]
    assert vector[2] > vector[0]


@pytest.mark.parametrize("removed", ["w_vector", "w_text"])
def test_search_ranks_without_a_removed_leg(removed: str) -> None:
    embedder = nm.open_embedder("hashing")
    store = nm.open_store("memory:")
    texts = [
        "dark mode in the editor",
        "tea with lemon",
        "a dark roast coffee",
        "mode of transport",
    ]
    store.put(nm.embed([nm.Entry(text, id=f"e{at}") for at, text in enumerate(texts)], embedder))
    search = nm.Search(store, embedder, scoring=Scoring(**{removed: 0}))
    leg = "text" if removed == "w_vector" else "vector"
    alone = nm.Search(store, embedder, retrieval=nm.Retrieval(legs=[leg]))
    for min_score in (-math.inf, 0.0):
        found = search("dark mode", min_score=min_score)
        expected = alone("dark mode", min_score=min_score)
        assert [(hit.entry.id, hit.score) for hit in found] == [
            (hit.entry.id, hit.score) for hit in expected
        ]
        assert 0 < len(found) <= len(texts)
        assert not found.to_frame()["score"].isna().any()


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0, 1), st.floats(0, 1)),
        min_size=1,
    )
)
def test_the_defaults_are_the_specifications_fusion(rows: list) -> None:
    ranks = np.array([[row[0] for row in rows], [row[1] for row in rows]])
    scores = np.array([[row[2] for row in rows], [row[3] for row in rows]])
    scores = np.where(ranks > 0, scores, np.nan)
    found = ranks.any(axis=0)
    expected = fused_relevance(ranks, np.nan_to_num(scores[0]))
    assert (
        relevance_under(Scoring(), ranks, scores, legs=LEGS)[found].tolist()
        == expected[found].tolist()
    )


def test_suppressed_names_what_any_curve_buried() -> None:
    store = nm.open_store("memory:")
    store.put(
        [
            nm.Entry("dark mode preference", id="old", created_at=NOW - timedelta(days=900)),
            nm.Entry("dark mode is on", id="new", created_at=NOW - timedelta(days=1)),
        ]
    )
    for curve in NAMES:
        scoring = Scoring(decay_curve=curve, half_life_days=30, w_importance=0)
        hits = nm.Search(store, scoring=scoring)("dark mode preference", now=NOW, limit=1)
        assert hits[0].entry.id == "new"
        assert [hit.entry.id for hit in hits.suppressed] == ["old"]
