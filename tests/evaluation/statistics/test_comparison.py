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


@pytest.mark.parametrize(("n_groups", "size"), [(3, 30), (10, 30), (10, 1), (80, 1)], ids=str)
def test_intervals_cover_the_truth_as_often_as_they_say(n_groups: int, size: int) -> None:
    """Few queries, many, and those of few users, who differ more than their queries do."""
    rng = np.random.default_rng(11)
    groups = [f"user{at // size}" for at in range(n_groups * size)]
    covered, rejected = 0, 0
    for trial in range(300):
        shared = np.repeat(rng.normal(0.05, 0.1, n_groups), size)
        values = shared + rng.normal(0, 0.2, len(groups))
        whole = groups if size > 1 else None
        interval = ev.paired_interval(
            values, np.zeros(len(groups)), groups=whole, resamples=300, seed=trial
        )
        covered += interval.low <= 0.05 <= interval.high
        null = values - 0.05
        rejected += ev.paired_p_value(null, np.zeros(len(null)), groups=whole, resamples=300) < 0.1
    # Four standard errors of 300 trials; the plain percentile interval covers .75, .90 and .90.
    assert 0.92 <= covered / 300 <= 0.99
    assert 0.05 <= rejected / 300 <= 0.16


def test_one_query_says_nothing_of_others() -> None:
    one = ev.paired_interval(np.array([0.3]), np.array([0.1]))
    assert (one.low, one.high) == (-np.inf, np.inf)
    same = ev.paired_interval(np.array([0.3]), np.array([0.3]))
    assert (same.low, same.high) == (0, 0)


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
    with pytest.raises(nm.InvalidParameter, match="1 of 10 differences"):
        ev.paired_interval(np.where(np.arange(10) == 3, np.nan, 1.0), values)
    with pytest.raises(nm.InvalidParameter, match="resamples"):
        ev.paired_p_value(values, values, resamples=0)


def test_holm_by_hand() -> None:
    assert ev.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert ev.holm([0.5, 0.9]) == [1.0, 1.0]
    assert ev.holm([]) == []
    assert ev.holm([0.01, float("nan"), 0.04]) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)


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


@pytest.mark.parametrize("gain", [0.0, 0.15])
def test_tuning_on_noise_gains_nothing_and_is_sure_of_nothing(gain: float) -> None:
    """Thirty settings that differ by chance, and in one case one that is really better."""
    rng = np.random.default_rng(2)
    scorings = [nm.Scoring(rrf_k=at + 1) for at in range(30)]
    ids = [f"q{at:02d}" for at in range(80)]
    found: list[ev.CrossValidation] = []
    for trial in range(120):
        values = rng.random(80) + rng.normal(0, 0.1, (30, 80))
        values[7] += gain
        found.append(
            ev.cross_validate(
                values, scorings, measure="R@5", query_ids=ids, groups=ids, baseline=0, seed=trial
            )
        )
    gains = np.array([one.interval.difference for one in found])
    assert abs(gains.mean() - gain) < 4 * gains.std() / 120**0.5
    covered = np.mean([one.interval.low <= gain <= one.interval.high for one in found])
    # With the choice taken for granted, .86 of the intervals hold no gain where there is none.
    assert covered >= 0.92
    sure = np.mean([one.p_value < 0.05 for one in found])
    assert sure == 1 if gain else sure <= 0.06
    assert gain or np.mean([one.optimism for one in found]) > 0.01


def test_tuning_does_not_depend_on_the_order_of_the_queries() -> None:
    """Nor do ties between settings, which sums in another order would round apart."""
    rng = np.random.default_rng(4)
    base = rng.choice([0.1, 0.2, 0.7, 1 / 3], 60)
    values = np.stack([base, rng.permutation(base), base[::-1], rng.permutation(base)])
    scorings = [nm.Scoring(rrf_k=at + 1) for at in range(4)]
    ids = np.array([f"q{at:02d}" for at in range(60)])
    groups = np.array([f"u{at % 12}" for at in range(60)])

    def tuned(order: np.ndarray) -> ev.CrossValidation:
        return ev.cross_validate(
            values[:, order],
            scorings,
            measure="R@5",
            query_ids=ids[order].tolist(),
            groups=groups[order].tolist(),
            baseline=1,
        )

    first = tuned(np.arange(60))
    for seed in range(5):
        again = tuned(np.random.default_rng(seed).permutation(60))
        assert again.chosen == first.chosen
        assert again.interval.low == pytest.approx(first.interval.low, abs=1e-12)
        assert again.p_value == pytest.approx(first.p_value)


def test_leaderboards_draw_whole_users_whatever_the_order(
    corpus: nm.Corpus, swept: ev.SweepResult
) -> None:
    from dataclasses import replace

    order = np.random.default_rng(1).permutation(swept.n_queries)
    shuffled = replace(
        swept, values=swept.values[:, :, order], queries=tuple(swept.queries[at] for at in order)
    )
    columns = ["difference", "low", "high"]
    board = swept.leaderboard("nDCG@10", top=18)
    again = shuffled.leaderboard("nDCG@10", top=18)
    np.testing.assert_allclose(board[columns], again[columns], atol=1e-12)
    values, at = swept.values_of("nDCG@10"), swept.best_index("nDCG@10")
    whole = ev.paired_interval(
        values[at],
        values[swept.baseline_index()],
        groups=[query.group for query in swept.queries],
    )
    assert (board["low"][0], board["high"][0]) == pytest.approx((whole.low, whole.high))


def test_of_equals_the_first_is_best(swept: ev.SweepResult) -> None:
    from dataclasses import replace

    own = np.array([0.1, 0.2, 0.7, 1 / 3] * 6)[: swept.n_queries]
    values = np.stack([np.random.default_rng(at).permutation(own) for at in range(19)])
    assert len(set(values.mean(axis=1))) > 1
    tied = replace(swept, values=np.repeat(values[:, np.newaxis], 2, axis=1))
    assert tied.best_index("R@5") == 0
    assert tied.leaderboard("R@5", top=3)["R@5"].tolist() == values[:3].mean(axis=1).tolist()


def test_a_measure_that_exists_for_no_query_is_said_to() -> None:
    ids = [f"q{at}" for at in range(60)]
    rng = np.random.default_rng(0)
    values = {name: rng.random((2, 60)) for name in "ab"}
    for own in values.values():
        own[1] = np.nan
    table = ev.compare_values(values, ["R@5", "Fresh@1"], query_ids=ids, baseline="a")
    assert table["n_queries"].tolist() == [60, 0]
    assert table.loc[1, ["difference", "low", "p_value", "p_holm"]].isna().all()
    assert table["p_holm"][0] == table["p_value"][0]


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
    assert (table["n_groups"] == 3).all()


def test_what_is_detectable_grows_with_fewer_users() -> None:
    rng = np.random.default_rng(6)
    shared = rng.normal(0, 0.1, 12)
    values = {"a": np.zeros((1, 240)), "b": np.repeat(shared, 20)[np.newaxis]}
    ids, groups = [f"q{at:03d}" for at in range(240)], [f"u{at // 20:02d}" for at in range(240)]
    whole = ev.compare_values(values, ["R@5"], query_ids=ids, baseline="a", groups=groups)
    # Student's quantiles with eleven degrees of freedom, over the standard error of twelve means.
    expected = (2.20099 + 0.87553) * shared.std(ddof=1) / 12**0.5
    assert whole["detectable"][0] == pytest.approx(expected, rel=1e-4)
    single = ev.compare_values(values, ["R@5"], query_ids=ids, baseline="a")
    assert single["detectable"][0] < whole["detectable"][0] / 3


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
    theirs = {"id": "other", "text": "tea", "user": "bo"}
    judged = [*judged, {"qid": "x", "doc_id": "other"}]
    both = nm.corpus_from_frames([*entries, theirs], others, judged)
    assert ev.query_groups(both, both.queries) == ["ada", "ada", "ada", "bo"]
    assert set(ev.fold_of(ev.query_groups(corpus, corpus.queries), folds=3)) == {0, 1, 2}
    with pytest.raises(nm.InvalidParameter, match="two groups at least"):
        ev.fold_of(["ada", "ada"], folds=2)


def test_wrong_arguments_are_named(corpus: nm.Corpus, swept: ev.SweepResult) -> None:
    values = {"a": np.zeros((1, 3)), "b": np.zeros((2, 3))}
    scorings = [nm.Scoring(), nm.Scoring(rrf_k=5)]
    calls = {
        "names of settings": lambda: ev.compare(scorings, corpus, ["R@5"]),
        "each with its Settings": lambda: ev.compare({"a": {}, "b": {}}, corpus, ["R@5"]),
        "load_corpus\\('assistant-year'\\)": lambda: ev.sweep("assistant-year", grid={}),
        "expected a corpus": lambda: ev.compare(dict(zip("ab", scorings, strict=True)), 3, ["R@5"]),
        "grid must be a dictionary": lambda: ev.sweep(corpus, grid=None),
        r"got b \(2, 3\)": lambda: ev.compare_values(
            values, ["R@5"], query_ids=["x", "y", "z"], baseline="a"
        ),
        "0 to 18; got 19": lambda: swept.cross_validated("nDCG@10", folds=3, baseline=19),
        "0 to 18; got 99": lambda: swept.leaderboard("nDCG@10", baseline=99),
        "top must be": lambda: swept.leaderboard("nDCG@10", top=0),
    }
    for message, call in calls.items():
        with pytest.raises(nm.InvalidParameter, match=message):
            call()
