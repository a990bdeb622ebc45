"""Measures against ir_measures, and against formulas written out."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import CorpusError
from nousmem.evaluation.measures import Measure, parse_measures

SPELLED = ["nDCG@10", "nDCG@3", "nDCG", "R@5", "R@10", "P@5", "RR", "AP", "AP@10", "Success@5"]
WITNESSES = {
    "nDCG@10": ir_measures.nDCG @ 10,
    "nDCG@3": ir_measures.nDCG @ 3,
    "nDCG": ir_measures.nDCG,
    "R@5": ir_measures.R @ 5,
    "R@10": ir_measures.R @ 10,
    "P@5": ir_measures.P @ 5,
    "RR": ir_measures.RR,
    "AP": ir_measures.AP,
    "AP@10": ir_measures.AP @ 10,
    "Success@5": ir_measures.Success @ 5,
}


def made_up(seed: int, *, ties: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for at in range(8):
        docs = [f"d{i:02d}" for i in rng.permutation(30)]
        scores = rng.integers(0, 5, 25) / 4 if ties else rng.permutation(25) / 7
        run += [(f"q{at}", doc, float(score)) for doc, score in zip(docs[:25], scores, strict=True)]
        judged = rng.choice(docs, 6, replace=False)
        grades = rng.integers(0, 4, 6)
        grades[0] = 1 + at % 3
        qrels += [
            (f"q{at}", str(doc), int(grade)) for doc, grade in zip(judged, grades, strict=True)
        ]
    return (
        pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )


def untied(run: pd.DataFrame) -> pd.DataFrame:
    """The ranking that the tie rule makes, as strictly decreasing scores.

    ir_measures asks several tools that break ties differently, even within one call.
    """
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return ordered.assign(score=-ordered.groupby("query_id").cumcount().astype(float))


@pytest.mark.parametrize("ties", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("seed", range(5))
def test_measures_agree_with_ir_measures(seed: int, ties: bool) -> None:
    run, qrels = made_up(seed, ties=ties)
    ours = ev.per_query(run, qrels, SPELLED).set_index("query_id")
    theirs = {
        (one.query_id, one.measure): one.value
        for one in ir_measures.iter_calc(list(WITNESSES.values()), qrels, untied(run))
    }
    for spelled, witness in WITNESSES.items():
        for query_id in ours.index:
            assert ours.loc[query_id, spelled] == pytest.approx(
                theirs[query_id, witness], abs=1e-9
            ), (spelled, query_id)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "R@5"])
def test_the_tie_rule_is_that_of_trec_eval(measure: str) -> None:
    run, qrels = made_up(3, ties=True)
    ours = ev.evaluate(run, qrels, [measure])[measure][0]
    assert ours == pytest.approx(
        ir_measures.calc_aggregate([WITNESSES[measure]], qrels, run)[WITNESSES[measure]], abs=1e-9
    )


def test_measures_are_what_their_formulas_say() -> None:
    run = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"), "score": [4.0, 3.0, 2.0, 1.0]})
    qrels = pd.DataFrame({"query_id": "q", "doc_id": ["b", "d", "z"], "relevance": [2, 1, 1]})
    row = ev.evaluate(run, qrels, [*SPELLED, "AllRel@4", "AllRel@10"]).iloc[0]
    gained = 2 / math.log2(3) + 1 / math.log2(5)
    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert row["nDCG@10"] == pytest.approx(gained / ideal)
    assert row["R@5"] == pytest.approx(2 / 3)
    assert row["P@5"] == pytest.approx(2 / 5)
    assert row["RR"] == pytest.approx(1 / 2)
    assert row["AP"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert row["Success@5"] == 1
    assert row["AllRel@4"] == 0
    found_all = pd.concat([run, pd.DataFrame({"query_id": ["q"], "doc_id": "z", "score": 0.5})])
    assert ev.evaluate(found_all, qrels, ["AllRel@10"])["AllRel@10"][0] == 1
    assert ev.evaluate(found_all, qrels, ["AllRel@4"])["AllRel@4"][0] == 0


def test_queries_that_cannot_be_measured_are_counted() -> None:
    run = pd.DataFrame({"query_id": ["a"], "doc_id": ["x"], "score": [1.0]})
    qrels = pd.DataFrame(
        {"query_id": ["a", "b", "c"], "doc_id": ["x", "y", "z"], "relevance": [1, 1, 0]}
    )
    row = ev.evaluate(run, qrels, ["R@10"]).iloc[0]
    assert row["R@10"] == pytest.approx(1 / 2)
    assert (row["n_queries"], row["n_missing"], row["n_excluded"]) == (2, 1, 1)


@given(st.permutations(list(range(12))))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    run, qrels = made_up(1, ties=True)
    run = run[run["query_id"] == "q0"].iloc[:12].reset_index(drop=True)
    qrels = qrels[qrels["query_id"] == "q0"]
    shuffled = run.iloc[order]
    assert ev.per_query(shuffled, qrels, SPELLED).equals(ev.per_query(run, qrels, SPELLED))


def test_a_run_is_not_changed_by_evaluating_it() -> None:
    run, qrels = made_up(0, ties=True)
    before = run.copy()
    ev.evaluate(run, qrels, SPELLED)
    pd.testing.assert_frame_equal(run, before)


def test_a_measure_has_one_spelling() -> None:
    for spelled in [*SPELLED, "AllRel@5"]:
        assert str(Measure.parse(spelled)) == spelled
        assert Measure.parse(Measure.parse(spelled)) == Measure.parse(spelled)
    assert parse_measures(["AP", "AP"]) == [Measure("AP", None)]


@pytest.mark.parametrize(
    ("measures", "error", "message"),
    [
        (["nDGC@10"], nm.UnknownName, "nDCG"),
        (["R"], nm.InvalidParameter, "R@10"),
        (["R@0"], nm.InvalidParameter, "cutoff"),
        (["nDCG@x"], nm.InvalidParameter, "cutoff"),
        ([], nm.InvalidParameter, "list"),
        ("nDCG@10", nm.InvalidParameter, "list"),
    ],
)
def test_bad_measures_are_refused(measures, error: type, message: str) -> None:
    run, qrels = made_up(0, ties=False)
    with pytest.raises(error, match=message):
        ev.evaluate(run, qrels, measures)


def test_bad_runs_are_refused() -> None:
    run, qrels = made_up(0, ties=False)
    with pytest.raises(nm.InvalidParameter, match="score"):
        ev.evaluate(run.drop(columns="score"), qrels, ["AP"])
    with pytest.raises(nm.InvalidParameter, match="twice"):
        ev.evaluate(pd.concat([run, run]), qrels, ["AP"])
    with pytest.raises(nm.InvalidParameter, match="NaN"):
        ev.evaluate(run.assign(score=float("nan")), qrels, ["AP"])
    with pytest.raises(nm.CorpusError, match="relevance"):
        ev.evaluate(run, qrels.drop(columns="relevance"), ["AP"])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("recall@10", "R@10"), ("ndcg_cut@5", "nDCG@5"), ("hit_rate", "Success@10"), ("MAP", "AP")],
)
def test_spellings_of_other_libraries_are_refused_with_ours(theirs: str, ours: str) -> None:
    with pytest.raises(nm.InvalidParameter, match=f"{ours}$"):
        ev.Measure.parse(theirs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": {"q": {"a": 0.9}}}, "run must be a data frame.*got a dict"),
        ({"qrels": [("q", "a", 1)]}, "qrels must be a data frame.*got a list"),
        ({"score": ["9", "10"]}, "as text, 9 would stand above 10"),
        ({"relevance": ["1", "0"]}, "relevance of the qrels must be a number"),
        ({"relevance": [1.0, float("nan")]}, "relevance of the qrels must be a number"),
        ({"doc_id": ["a", "a"]}, "judge 1 entries twice, such as 'a' for query 'q'"),
    ],
)
def test_tables_that_would_be_misread_are_refused(change: dict, message: str) -> None:
    run = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [0.9, 0.1]})
    qrels = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 0]})
    tables = {"run": run, "qrels": qrels}
    for name, values in change.items():
        if name in tables:
            tables[name] = values
        else:
            table = "run" if name == "score" else "qrels"
            tables[table] = tables[table].assign(**{name: values})
    with pytest.raises((nm.InvalidParameter, CorpusError), match=message):
        ev.evaluate(tables["run"], tables["qrels"], ["R@5"])
