"""Intervals, tests and folds: known answers, and what must not change them."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import nousmem as nm
from nousmem import evaluation as ev

MEASURES = ["nDCG@10", "R@5"]


def exact_p_value(differences: list[float]) -> float:
    """Every sign pattern, written out."""
    observed = abs(sum(differences))
    patterns = list(itertools.product((-1, 1), repeat=len(differences)))
    return sum(
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        >= observed - 1e-12
        for signs in patterns
    ) / len(patterns)


@settings(max_examples=20)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=4, max_size=10))
def test_the_randomisation_test_approaches_the_exact_one(differences: list[float]) -> None:
    values = np.array(differences)
    drawn = ev.paired_p_value(values, np.zeros(len(values)))
    assert drawn == pytest.approx(exact_p_value(differences), abs=0.02)


def test_the_interval_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.02, 0.1, 300)
    ours = ev.paired_interval(values, np.zeros(300))
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.difference == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.low, abs=1e-3)
    assert ours.high == pytest.approx(theirs.high, abs=1e-3)


def test_queries_that_resemble_each_other_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    groups = [f"user{at // 20}" for at in range(400)]
    shared = np.repeat(rng.normal(0.0, 0.1, 20), 20)
    values = shared + rng.normal(0, 0.02, 400)
    alone = ev.paired_interval(values, np.zeros(400))
    together = ev.paired_interval(values, np.zeros(400), groups=groups)
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert ev.paired_p_value(values + 0.02, np.zeros(400), groups=groups) > ev.paired_p_value(
        values + 0.02, np.zeros(400)
    )


def test_nothing_different_is_nothing_found() -> None:
    values = np.random.default_rng(1).random(100)
    interval = ev.paired_interval(values, values)
    assert (interval.low, interval.difference, interval.high) == (0, 0, 0)
    assert ev.paired_p_value(values, values) == 1


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(200):
        values = rng.normal(0.05, 0.3, 80)
        interval = ev.paired_interval(values, np.zeros(80), resamples=400, seed=trial)
        covered += interval.low <= 0.05 <= interval.high
    assert 0.89 <= covered / 200 <= 0.99


def test_bad_arguments_are_refused() -> None:
    values = np.ones(10)
    with pytest.raises(nm.InvalidParameter, match="same queries"):
        ev.paired_interval(values, values[:5])
    with pytest.raises(nm.InvalidParameter, match="same queries"):
        ev.paired_interval(values[:0], values[:0])
    with pytest.raises(nm.InvalidParameter, match="confidence"):
        ev.paired_interval(values, values, confidence=95)
    with pytest.raises(nm.InvalidParameter, match="groups"):
        ev.paired_p_value(values, values, groups=["a"])


def test_holm_by_hand() -> None:
    assert ev.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert ev.holm([0.5, 0.9]) == [1.0, 1.0]
    assert ev.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = ev.holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    by_raw = sorted(range(len(p_values)), key=lambda at: p_values[at])
    assert [corrected[at] for at in by_raw] == sorted(corrected)


@given(st.permutations([f"u{at % 7}" for at in range(40)]), st.integers(0, 5))
def test_folds_keep_groups_together_whatever_the_order(groups: list[str], seed: int) -> None:
    fold = ev.fold_of(groups, folds=3, seed=seed)
    by_group = {
        group: {int(fold[at]) for at, g in enumerate(groups) if g == group} for group in groups
    }
    assert all(len(folds) == 1 for folds in by_group.values())
    ordered = sorted(groups)
    again = ev.fold_of(ordered, folds=3, seed=seed)
    assert by_group == {
        group: {int(again[at]) for at, g in enumerate(ordered) if g == group} for group in ordered
    }
    sizes = np.bincount(fold, minlength=3)
    assert sizes.max() - sizes.min() <= 7


@pytest.mark.parametrize("folds", [0, 1, 4])
def test_impossible_folds_are_refused(folds: int) -> None:
    with pytest.raises(nm.InvalidParameter, match="folds"):
        ev.fold_of(["a", "b", "c", "c"], folds=folds)


@pytest.fixture(scope="module")
def swept(corpus: nm.Corpus) -> ev.SweepResult:
    grid = {"decay_lambda": [1e-5, 1e-4, 1e-3], "w_importance": [0, 0.2, 0.4], "rrf_k": [5, 60]}
    return ev.sweep(corpus, store="memory", embedder="hashing", grid=grid, measures=MEASURES)


def test_a_reported_figure_was_never_tuned_on(swept: ev.SweepResult) -> None:
    """Whatever a fold's own queries say, its setting was chosen without them."""
    honest = swept.cross_validated("nDCG@10", folds=3)
    values = swept.values_of("nDCG@10")
    for number, chosen in enumerate(honest.chosen):
        others = values[:, honest.fold != number].mean(axis=1)
        assert swept.settings[int(others.argmax())] == chosen
        own = values[swept.settings.index(chosen)][honest.fold == number]
        assert honest.values[honest.fold == number] == pytest.approx(own)
    # Were the fold itself looked at, no figure could be below the one tuned on everything.
    assert honest.mean <= honest.tuned_on_all
    assert honest.optimism == pytest.approx(honest.tuned_on_all - honest.mean)
    assert honest.frame["n_queries"].sum() == swept.n_queries


def test_pure_noise_has_optimism_and_no_honest_gain(
    corpus: nm.Corpus, swept: ev.SweepResult
) -> None:
    from dataclasses import replace

    rng = np.random.default_rng(2)
    noise = replace(swept, values=rng.random(swept.values.shape))
    honest = noise.cross_validated("nDCG@10", folds=3)
    assert honest.optimism > 0.02
    assert honest.interval.low < 0 < honest.interval.high


def test_compare_is_paired_and_does_not_depend_on_query_order(corpus: nm.Corpus) -> None:
    settings_compared = {
        "default": nm.Scoring(),
        "gentle": nm.Scoring(decay_lambda=1e-5),
        "same": nm.Scoring(),
    }
    with pytest.warns(ev.FewQueriesWarning, match="detectable"):
        table = ev.compare(settings_compared, corpus, MEASURES, store="memory")
    assert len(table) == 2 * 2
    same = table[table["name"] == "same"]
    assert (same["difference"] == 0).all()
    assert (same["p_value"] == 1).all()
    assert (table["wins"] + table["ties"] + table["losses"] == table["n_queries"]).all()
    assert (table["p_holm"] >= table["p_value"]).all()
    shuffled = corpus.select(reversed(corpus.queries))
    with pytest.warns(ev.FewQueriesWarning):
        again = ev.compare(settings_compared, shuffled, MEASURES, store="memory")
    assert again.equals(table)


def test_compare_refuses_what_it_cannot_compare(corpus: nm.Corpus) -> None:
    with pytest.raises(nm.InvalidParameter, match="two settings"):
        ev.compare({"only": nm.Scoring()}, corpus, MEASURES)
    with pytest.raises(nm.InvalidParameter, match="baseline"):
        ev.compare({"a": nm.Scoring(), "b": nm.Scoring()}, corpus, MEASURES, baseline="c")


def test_a_change_that_helps_one_user_only_is_grouped(corpus: nm.Corpus) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.FewQueriesWarning)
        table = ev.compare(
            {"a": nm.Scoring(), "b": nm.Scoring(rrf_k=5)}, corpus, ["R@5"], store="memory"
        )
    # Three users are too few to resample as groups.
    assert (table["n_groups"] == 0).all()


def test_values_are_compared_with_one_of_them():
    values = {"a": np.zeros((1, 60)), "b": np.ones((1, 60))}
    ids = [f"q{at}" for at in range(60)]
    with pytest.raises(nm.InvalidParameter, match="'c' is none of a, b"):
        ev.compare_values(values, ["R@5"], query_ids=ids, baseline="c")
    with pytest.raises(nm.InvalidParameter, match="two settings"):
        ev.compare_values({"a": values["a"]}, ["R@5"], query_ids=ids, baseline="a")


def test_the_queries_of_one_user_are_groups_of_their_own() -> None:
    mine = [{"qid": name, "question": name, "user": "ada"} for name in ("tea", "sea", "bee")]
    entries = [{"id": name, "text": name, "user": "ada"} for name in ("tea", "sea", "bee")]
    judged = [{"qid": name, "doc_id": name} for name in ("tea", "sea", "bee")]
    corpus = nm.corpus_from_frames(entries, mine, judged)
    assert ev.query_groups(corpus, corpus.queries) == ["tea", "sea", "bee"]
    others = [*mine, {"qid": "x", "question": "tea", "user": "bo"}]
    both = nm.corpus_from_frames(entries, others, [*judged, {"qid": "x", "doc_id": "tea"}])
    assert ev.query_groups(both, both.queries) == ["ada", "ada", "ada", "bo"]
    assert set(ev.fold_of(ev.query_groups(corpus, corpus.queries), folds=3)) == {0, 1, 2}
    with pytest.raises(nm.InvalidParameter, match="two groups at least"):
        ev.fold_of(["ada", "ada"], folds=2)
