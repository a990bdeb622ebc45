"""Differences and their intervals, against the laboratory's own comparison."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.statistics.resampling import RESAMPLES
from nousmem.viz.explorer._measures_html import differences_table, standing_table
from nousmem.viz.explorer._measuring import (
    Difference,
    LiveMeasures,
    Pairing,
    Standing,
    differences_of,
)

MEASURES = ["nDCG@10", "RR", "Fresh@10"]


@pytest.fixture(scope="module")
def grouped(corpus: nm.Corpus) -> nm.Corpus:
    """Several queries of each user, out of the order of their ids."""
    asked = [
        dataclasses.replace(query, query_id=f"{query.query_id}-{at}", text=f"{query.text} {word}")
        for at, word in enumerate(("tea", "bread", "note", "shop", "street"))
        for query in reversed(corpus.queries)
    ]
    qrels = [
        (query.query_id, doc_id, relevance)
        for query in asked
        for query_id, doc_id, relevance in corpus.qrels.itertuples(index=False)
        if query.query_id.startswith(query_id)
    ]
    return dataclasses.replace(
        corpus,
        queries=tuple(asked),
        qrels=type(corpus.qrels)(qrels, columns=["query_id", "doc_id", "relevance"]),
    )


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.statistics.comparison.FewQueriesWarning")
@pytest.mark.parametrize("field", ["user_id", "agent_id"])
def test_intervals_are_those_of_compare(grouped: nm.Corpus, field: str) -> None:
    corpus = dataclasses.replace(grouped, fold_field=field)
    settings = {"default": nm.Scoring(), "other": nm.Scoring(decay_lambda=0, w_importance=0)}
    expected = ev.compare(settings, corpus, MEASURES).set_index("measure")
    live = LiveMeasures(
        ev.find_candidates(corpus), corpus, measures=MEASURES, baseline=settings["default"]
    )
    values = [live._values(settings[name]) for name in ("other", "default")]
    for at, name in enumerate(MEASURES):
        (one,) = differences_of(
            *(own[at] for own in values),
            [name] * len(live.arrays),
            pairing=live.pairing,
            resamples=RESAMPLES,
        )
        row = expected.loc[name]
        assert (one.low, one.high) == (row["low"], row["high"])
        assert (one.here, one.baseline) == (row["mean"], row["baseline_mean"])
        assert (one.wins, one.losses) == (row["wins"], row["losses"])
        assert (one.n, one.n_groups) == (row["n_queries"], row["n_groups"])
    assert ("together (2 users)" in live.pairing.in_words) == (field == "user_id")
    assert ("single queries" in live.pairing.in_words) == (field == "agent_id")


def test_groups_count_under_each_label() -> None:
    here, base = np.arange(8) / 8, np.zeros(8)
    labels = ["a"] * 4 + ["b"] * 4
    groups = ["x", "x", "y", "y", "x", "x", "x", "x"]
    pairing = Pairing.of(list("hgfedcba"), groups, field="user_id")
    a, b = differences_of(here, base, labels, pairing=pairing, resamples=100)
    assert (a.n_groups, b.n_groups) == (2, 0)


def test_one_query_cannot_tell() -> None:
    pairing = Pairing.of(["q"], ["q"], field="user_id")
    (one,) = differences_of(np.ones(1), np.zeros(1), ["RR"], pairing=pairing, resamples=100)
    assert one.verdict == "few"
    table = differences_table([one], head="Measure", caption="", counts=True)
    assert "? too few" in table
    assert "unknown" in table
    assert "inf" not in table
    assert "caption" not in table
    same = dataclasses.replace(one, wins=0, losses=0, low=0.0, high=0.0)
    assert same.verdict == "same"


def test_one_query_is_not_called_all_queries() -> None:
    one = Difference("RR", 0.5, 0.5, 0.0, 0.0, 0, 0, 1)
    standing = Standing(measures=(one,), categories=(one,))
    assert "The only judged query" in standing_table(standing, first="RR", n_queries=1, drawn="")
    many = standing_table(standing, first="RR", n_queries=2000, drawn="<drawn>")
    assert "All 2,000 queries" in many
    assert "&lt;drawn&gt;" in many
