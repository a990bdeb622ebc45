"""Fresh@k: the newest state of an updated fact, in the top k and above every outdated one."""

from __future__ import annotations

import math
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora import Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FRESH = ["Fresh@1", "Fresh@3", "R@5"]


def asked(**marks: list[str]) -> Query:
    return Query("q", "where does Ida live?", now=NOW, metadata=marks)


def fresh(ranking: str, query: Query, cutoff: int) -> float:
    run = pd.DataFrame(
        [("q", doc_id, -float(at)) for at, doc_id in enumerate(ranking)],
        columns=["query_id", "doc_id", "score"],
    )
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["n"], "relevance": [1]})
    spelled = f"Fresh@{cutoff}"
    return ev.per_query(run, qrels, [spelled], queries=[query])[spelled][0]


@pytest.mark.parametrize(
    ("ranking", "cutoff", "expected"),
    [
        ("nxo", 1, 1),
        ("xno", 1, 0),  # not in the top 1
        ("xno", 2, 1),
        ("onx", 2, 0),  # below an outdated one
        ("xn", 2, 1),  # an outdated one that was not found is no obstacle
        ("xo", 2, 0),  # the newest was not found
        ("xpno", 3, 0),  # one of two outdated ones is above
        ("xymno", 3, 1),  # the best of two newest counts
        ("mon", 1, 1),
        ("x", 1, 0),
    ],
)
def test_fresh_by_hand(ranking: str, cutoff: int, expected: float) -> None:
    query = asked(newest=["n", "m"], outdated=["o", "p"])
    assert fresh(ranking, query, cutoff) == expected


@pytest.mark.parametrize("marks", [{}, {"newest": ["n"]}, {"newest": ["n"], "outdated": []}])
def test_a_query_whose_fact_was_not_updated_has_no_value(marks: dict) -> None:
    assert math.isnan(fresh("nxo", asked(**marks), 3))


@pytest.mark.parametrize(
    "marks",
    [
        {"newest": "n", "outdated": ["o"]},
        {"newest": ["n"], "outdated": None},
        {"newest": ["n"], "outdated": ["o", "n"]},
    ],
)
def test_marks_that_make_no_sense_are_refused(marks: dict) -> None:
    with pytest.raises(nm.CorpusError, match="'q'"):
        fresh("nxo", asked(**marks), 1)


def bare_fresh(run: pd.DataFrame, query: Query, cutoff: int) -> float:
    newest, outdated = query.metadata.get("newest"), query.metadata.get("outdated")
    if not newest or not outdated:
        return math.nan
    ranked = run[run["query_id"] == query.query_id].sort_values("rank")["doc_id"].tolist()
    for doc_id in ranked[:cutoff]:
        if doc_id in outdated:
            return 0.0
        if doc_id in newest:
            return 1.0
    return 0.0


@pytest.fixture(scope="module")
def swept(corpus: nm.Corpus) -> ev.SweepResult:
    grid = {"decay_lambda": [1e-5, 1e-3, 1e-2], "w_importance": [0, 0.4]}
    return ev.sweep(corpus, store="memory", embedder="hashing", grid=grid, measures=FRESH)


def test_fresh_agrees_with_a_loop_over_runs(corpus: nm.Corpus, swept: ev.SweepResult) -> None:
    seen = set()
    for at in range(len(swept.settings)):
        run = swept.run(at)
        for cutoff in (1, 3):
            expected = [bare_fresh(run, query, cutoff) for query in swept.candidates_of(at).queries]
            found = swept.values_of(f"Fresh@{cutoff}")[at]
            np.testing.assert_array_equal(found, expected)
            seen |= set(found[~np.isnan(found)].tolist())
    assert seen == {0.0, 1.0}


def test_means_are_over_the_marked_queries_and_their_number_is_told(
    corpus: nm.Corpus, swept: ev.SweepResult
) -> None:
    marked = ["newest" in query.metadata for query in swept.candidates_of(0).queries]
    assert 0 < sum(marked) < swept.n_queries
    frame = swept.frame
    assert (frame["n_queries"] == swept.n_queries).all()
    for spelled in ("Fresh@1", "Fresh@3"):
        assert (frame[f"n_{spelled}"] == sum(marked)).all()
        expected = swept.values_of(spelled)[:, marked].mean(axis=1)
        assert frame[spelled].tolist() == expected.tolist()
    assert "n_R@5" not in frame
    row = ev.evaluate(swept.run(0), corpus.qrels, FRESH, queries=corpus.queries).iloc[0]
    assert row["Fresh@3"] == pytest.approx(frame["Fresh@3"][0])
    assert row["n_Fresh@3"] == sum(marked)
    best = swept.best_index("Fresh@3")
    assert frame["Fresh@3"][best] == frame["Fresh@3"].max()
    by_category = swept.by().set_index("category")
    assert (by_category.loc["fact", "n_Fresh@1"] == 0).all()
    assert by_category.loc["fact", "Fresh@1"].isna().all()
    assert by_category.loc["update", "Fresh@1"].notna().all()


def test_intervals_are_paired_over_the_marked_queries(swept: ev.SweepResult) -> None:
    table = swept.leaderboard("Fresh@3", top=6)
    assert table["Fresh@3"].is_monotonic_decreasing
    assert table[["difference", "low", "high"]].notna().all(axis=None)
    marked = ~np.isnan(swept.values_of("Fresh@3")[0])
    values = swept.values_of("Fresh@3")[:, marked]
    best = swept.best_index("Fresh@3")
    assert best != swept.baseline_index()
    groups = [query.group for query, one in zip(swept.queries, marked, strict=True) if one]
    interval = ev.paired_interval(values[best], values[swept.baseline_index()], groups=groups)
    assert table["difference"][0] == interval.difference
    assert (table["low"][0], table["high"][0]) == (interval.low, interval.high)


def test_folds_are_of_the_marked_queries(swept: ev.SweepResult) -> None:
    honest = swept.cross_validated("Fresh@3", folds=3)
    assert honest.frame["n_queries"].sum() == swept.frame["n_Fresh@3"][0]
    assert honest.tuned_on_all == swept.frame["Fresh@3"].max()
    assert 0 <= honest.mean <= honest.tuned_on_all


def test_compare_counts_the_marked_queries_only(corpus: nm.Corpus, swept: ev.SweepResult) -> None:
    compared = {"default": nm.Scoring(), "gentle": nm.Scoring(decay_lambda=1e-5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.FewQueriesWarning)
        table = ev.compare(compared, corpus, FRESH, store="memory", embedder="hashing")
    table = table.set_index("measure")
    assert table.loc["Fresh@3", "n_queries"] == swept.frame["n_Fresh@3"][0]
    assert table.loc["R@5", "n_queries"] == swept.n_queries
    assert table.notna().all(axis=None)


def test_what_fresh_needs_is_asked_for(corpus: nm.Corpus, swept: ev.SweepResult) -> None:
    with pytest.raises(nm.InvalidParameter, match=r"queries=corpus\.queries"):
        ev.evaluate(swept.run(0), corpus.qrels, FRESH)
    with pytest.raises(nm.InvalidParameter, match="cutoff"):
        ev.evaluate(swept.run(0), corpus.qrels, ["Fresh"], queries=corpus.queries)
    unmarked = corpus.select([q for q in corpus.queries if not q.metadata])
    with pytest.raises(nm.InvalidParameter, match="newest and outdated"):
        ev.sweep(unmarked, store="nowhere", grid={}, measures=FRESH)
    row = ev.evaluate(
        swept.run(0), corpus.qrels, FRESH, queries=[q for q in corpus.queries if not q.metadata]
    ).iloc[0]
    assert math.isnan(row["Fresh@1"])
    assert row["n_Fresh@1"] == 0
