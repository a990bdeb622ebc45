"""Measures of one's own: from a function, and those of ir_measures."""

from __future__ import annotations

import functools
import pickle
import sys
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import ExtensionError, MissingDependency
from nousmem.evaluation.measures import (
    BUILT_IN,
    Measure,
    find_measure,
    parse_measures,
    split_measures,
)
from nousmem.evaluation.sweeps import _writers as writers

GRID = {"half_life_days": [7.0, 30.0], "w_importance": [0.0, 0.5]}
OF_IR_MEASURES = [
    ir_measures.Judged @ 10,
    ir_measures.nDCG(gains={1: 1, 2: 5}) @ 5,
    ir_measures.AP(rel=2) @ 10,
    ir_measures.Bpref,
    ir_measures.infAP,
    ir_measures.Compat(p=0.9),
]


@ev.measure(cutoff=10)
def err(ranks, gains, max_gain):
    stops = (2**gains - 1) / 2**max_gain
    total, reading = 0.0, 1.0
    for at in np.argsort(ranks):
        if ranks[at]:
            total += reading * stops[at] / ranks[at]
            reading *= 1 - stops[at]
    return total


@ev.measure
def rank_biased(ranks, gains):
    return 0.2 * np.sum(0.8 ** (ranks[ranks > 0] - 1))


@ev.measure
def found_early(ranks, gains):
    return ((ranks > 0) & (ranks <= 3)).mean()


OWN = [err, rank_biased, found_early]


def made_up(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """No two scores are equal, so that whoever breaks ties in whatever way ranks the same."""
    rng = np.random.default_rng(seed)
    docs = [f"d{at:02d}" for at in range(30)]
    run = [
        (f"q{q}", doc, float(score))
        for q in range(8)
        for doc, score in zip(rng.permutation(docs)[:25], rng.permutation(25) + 1, strict=True)
    ]
    qrels = [
        (f"q{q}", str(doc), int(grade))
        for q in range(8)
        for doc, grade in zip(
            rng.choice(docs, 7, replace=False), [0, 1, 2, 3, 0, 1, 2], strict=True
        )
    ]
    return (
        pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )


def grades_in_order(run: pd.DataFrame, qrels: pd.DataFrame) -> dict[str, list[int]]:
    judged = qrels.set_index(["query_id", "doc_id"])["relevance"].to_dict()
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    return {
        query_id: [judged.get((query_id, doc_id), 0) for doc_id in own["doc_id"]]
        for query_id, own in ordered.groupby("query_id")
    }


def err_written_out(grades: list[int], *, greatest: int, cutoff: int) -> float:
    total, reading = 0.0, 1.0
    for rank, grade in enumerate(grades[:cutoff], 1):
        stop = (2**grade - 1) / 2**greatest
        total += reading * stop / rank
        reading *= 1 - stop
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_function_gets_ranks_and_gains(seed: int) -> None:
    run, qrels = made_up(seed)
    table = ev.per_query(run, qrels, OWN).set_index("query_id")
    for query_id, grades in grades_in_order(run, qrels).items():
        wanted = err_written_out(grades, greatest=3, cutoff=10)
        assert table.loc[query_id, "err@10"] == pytest.approx(wanted, abs=1e-12)
        wanted = 0.2 * sum(0.8**at for at, grade in enumerate(grades) if grade)
        assert table.loc[query_id, "rank_biased"] == pytest.approx(wanted, abs=1e-12)
        # Five are relevant; those that were not returned count as missed.
        wanted = sum(grade > 0 for grade in grades[:3]) / 5
        assert table.loc[query_id, "found_early"] == pytest.approx(wanted, abs=1e-12)


def test_err_agrees_with_that_of_ir_measures_to_the_digits_it_has() -> None:
    if not ir_measures.gdeval.is_available():
        pytest.skip("ir_measures computes ERR with Perl")
    run, qrels = made_up(1)
    # Its scale of grades ends at 4.
    last = pd.DataFrame({"query_id": ["q0"], "doc_id": ["elsewhere"], "relevance": [4]})
    qrels = pd.concat([qrels, last], ignore_index=True)
    table = ev.per_query(run, qrels, [err, ir_measures.ERR @ 10])
    assert table["err@10"].gt(0).all()
    assert np.abs(table["err@10"] - table["ir_measures:ERR@10"]).max() <= 5.1e-6


@pytest.mark.parametrize("measure", OF_IR_MEASURES, ids=str)
def test_a_measure_of_ir_measures_is_what_ir_measures_computes(measure) -> None:
    run, qrels = made_up(2)
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, run)}
    for given in (measure, f"ir_measures:{measure}"):
        table = ev.per_query(run.sample(frac=1, random_state=0), qrels, [given])
        assert list(table.columns) == ["query_id", f"ir_measures:{measure}"]
        ours = dict(zip(table["query_id"], table[f"ir_measures:{measure}"], strict=True))
        assert ours == theirs
    assert len(set(theirs.values())) > 1


def test_rbp_is_what_ir_measures_computes() -> None:
    rbp = ir_measures.RBP(rel=1, p=0.7)
    run, qrels = made_up(2)
    if not ir_measures.DefaultPipeline.supports(rbp):
        with pytest.raises(nm.InvalidParameter, match=r"cannot compute RBP.*cwl"):
            ev.evaluate(run, qrels, [rbp])
        return
    theirs = {one.query_id: one.value for one in ir_measures.iter_calc([rbp], qrels, run)}
    table = ev.per_query(run, qrels, [rbp])
    assert dict(zip(table["query_id"], table.iloc[:, 1], strict=True)) == theirs


def test_what_both_have_is_computed_here_unless_theirs_is_asked_for() -> None:
    assert Measure.parse(ir_measures.nDCG @ 10) == Measure("nDCG", 10)
    assert Measure.parse(ir_measures.AP) == Measure("AP", None)
    theirs = Measure.parse("ir_measures:nDCG@10")
    assert theirs.reads_rankings
    assert str(theirs) == "ir_measures:nDCG@10"
    run, qrels = made_up(0)
    table = ev.per_query(run, qrels, ["nDCG@10", theirs])
    assert np.abs(table["nDCG@10"] - table["ir_measures:nDCG@10"]).max() < 1e-12


def test_equal_scores_are_ordered_by_the_rule_for_every_tool_of_ir_measures() -> None:
    run = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"), "score": 0.5})
    qrels = pd.DataFrame({"query_id": "q", "doc_id": ["d", "a"], "relevance": [1, 0]})
    measures = ["RR", ir_measures.RR(judged_only=True), "ir_measures:RR@2", "ir_measures:Judged@1"]
    assert ev.evaluate(run, qrels, measures).iloc[0, :4].tolist() == [1, 1, 1, 1]


def test_a_query_that_ir_measures_has_no_value_of_is_left_out_and_counted() -> None:
    run, qrels = made_up(0)
    late = (run["query_id"] != "q3") | ~run["doc_id"].isin(qrels["doc_id"][qrels["relevance"] > 0])
    row = ev.evaluate(run[late], qrels, [ir_measures.Accuracy]).iloc[0]
    values = ev.per_query(run[late], qrels, [ir_measures.Accuracy])["ir_measures:Accuracy"]
    assert values.isna().sum() == 1
    assert row["n_ir_measures:Accuracy"] == row["n_queries"] - 1 == 7
    assert row["ir_measures:Accuracy"] == pytest.approx(values.mean())


def test_a_run_that_found_nothing_has_the_default_of_ir_measures() -> None:
    run, qrels = made_up(0)
    row = ev.evaluate(run.iloc[:0], qrels, [ir_measures.Bpref, err]).iloc[0]
    assert row["ir_measures:Bpref"] == row["err@10"] == 0
    assert row["n_missing"] == 8


def test_a_measure_that_ir_measures_made_of_a_function_sees_scores_and_ids() -> None:
    run, qrels = made_up(0)

    def spread(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        assert set(run["query_id"]) == set(qrels["query_id"])
        return run["score"].max() - run["score"].min()

    table = ev.per_query(run, qrels, [ir_measures.define_byquery(spread)])
    assert table["ir_measures:spread"].tolist() == [24.0] * 8


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_every_place_measures_the_same(corpus: nm.Corpus) -> None:
    measures = ["nDCG@10", *OWN, *OF_IR_MEASURES, "Fresh@5"]
    numpy = ev.sweep(corpus, grid=GRID, measures=measures, engine="numpy")
    numba = ev.sweep(corpus, grid=GRID, measures=measures, engine="numba")
    assert numpy.values.tobytes() == numba.values.tobytes()
    names = [str(one) for one in numpy.measures]
    assert names[:3] == ["nDCG@10", "err@10", "rank_biased"]
    for row in range(4):
        run = numpy.run(row)
        table = ev.per_query(run, corpus.qrels, measures, queries=corpus.queries)
        assert table["query_id"].tolist() == [one.query_id for one in numpy.queries]
        assert np.array_equal(table[names].to_numpy().T, numpy.values[row], equal_nan=True)
        for measure in OF_IR_MEASURES[:4]:
            theirs = ir_measures.iter_calc([measure], corpus.qrels, run)
            known = {one.query_id: one.value for one in theirs}
            own = numpy.values_of(measure)[row]
            assert own.tolist() == [known[query_id] for query_id in table["query_id"]]
    compared = ev.compare(
        {"a": numpy.settings[0], "b": numpy.settings[3]}, corpus, [err, OF_IR_MEASURES[0]]
    )
    assert compared["mean"].tolist() == pytest.approx(
        [float(numpy.values_of(one)[3].mean()) for one in (err, OF_IR_MEASURES[0])]
    )


def test_a_measure_of_whole_rankings_is_replayed(corpus: nm.Corpus) -> None:
    measures = ["RR", "ir_measures:RR", err]
    swept = ev.sweep(corpus, grid={"w_recency": [0.5, 2.0]}, measures=measures)
    replayed = ev.replay(swept, limit=10)
    values = replayed.values
    assert np.abs(values[:, 0] - values[:, 1]).max() < 1e-12
    assert not np.array_equal(values[:, 2], swept.values[:, 2])
    run = replayed.run(1)
    assert ev.evaluate(run, corpus.qrels, [err])["err@10"][0] == pytest.approx(values[1, 2].mean())


def test_tuning_is_judged_by_an_own_measure(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, grid=GRID, measures=[err, "RR"])
    assert swept.cross_validated(folds=3).measure == err
    assert swept.best() == swept.best(err) == swept.best("err@10")
    assert swept.best_index() == swept.best_index("err@10")
    assert swept.leaderboard(top=2).equals(swept.leaderboard(err, top=2))
    assert np.array_equal(swept.values_of(), swept.values[:, 0])


def test_a_sampler_is_led_by_an_own_measure(corpus: nm.Corpus) -> None:
    pytest.importorskip("optuna")
    given = {"grid": {"rrf_k": ev.Range(1, 90)}, "sampler": "optuna", "trials": 4}
    by_name = ev.sweep(corpus, **given, measures=["RR", err], objective="err@10")
    by_itself = ev.sweep(corpus, **given, measures=["RR", err], objective=err)
    assert by_name.sampler["objective"] == "err@10"
    assert by_name.settings == by_itself.settings


def test_every_built_in_measure_has_a_loop() -> None:
    assert set(writers._LOOPS) == set(BUILT_IN)


def test_an_unknown_measure_raises_in_both_engines(corpus: nm.Corpus) -> None:
    arrays = ev.find_candidates(corpus)
    from nousmem.evaluation.sweeps.values import score_settings

    for engine in ("numpy", "numba"):
        with pytest.raises((KeyError, nm.NousmemError), match="ERRR"):
            score_settings(arrays, [nm.Scoring()], [Measure("ERRR", 10)], engine=engine)


def returns(value):
    return ev.measure(lambda ranks, gains: value, name="own")


@pytest.mark.parametrize(
    "value", [None, float("nan"), float("inf"), "0.5", np.array([0.5, 0.5]), np.array(0.5), 1j]
)
@pytest.mark.parametrize("engine", ["evaluate", "numpy", "numba"])
def test_what_is_no_finite_number_is_refused(corpus: nm.Corpus, engine: str, value) -> None:
    def measured():
        if engine == "evaluate":
            return ev.evaluate(*made_up(0), [returns(value)])
        return ev.sweep(corpus, grid=GRID, measures=[returns(value)], engine=engine)

    with pytest.raises(ExtensionError, match=r"^measure own: query 'q0*': .*one finite number"):
        measured()


@pytest.mark.parametrize("value", [1, True, np.True_, np.float32(1), np.int64(1)])
def test_any_kind_of_number_is_one(value) -> None:
    assert ev.evaluate(*made_up(0), [returns(value)])["own"][0] == 1.0


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_measure_that_fails_says_which_and_where(corpus: nm.Corpus, engine: str) -> None:
    @ev.measure(cutoff=5)
    def broken(ranks, gains):
        raise ZeroDivisionError("nothing found")

    wanted = r"^measure broken@5: query 'q00': it fails with ZeroDivisionError: nothing found$"
    with pytest.raises(ExtensionError, match=wanted) as caught:
        ev.sweep(corpus, grid=GRID, measures=["RR", broken], engine=engine)
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)


def test_a_measure_cannot_change_what_it_is_given() -> None:
    @ev.measure
    def greedy(ranks, gains):
        gains[:] = 1
        return 0.0

    with pytest.raises(ExtensionError, match="read-only"):
        ev.evaluate(*made_up(0), [greedy])


def test_a_measure_of_ir_measures_that_fails_says_so() -> None:
    def half(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        raise RuntimeError("no half")

    measure = ir_measures.define_byquery(half)
    with pytest.raises(ExtensionError, match=r"measure ir_measures:half: .*RuntimeError: no half"):
        ev.evaluate(*made_up(0), [measure])
    run, qrels = made_up(0)
    with pytest.raises(ExtensionError, match=r"measure ir_measures:Bpref: .*TypeError"):
        ev.evaluate(run, qrels.assign(relevance=0.5), ["ir_measures:Bpref"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "a measure is a name such as 'nDCG@10'.*got 3"),
        (None, "a measure is a name"),
        (returns, r"a measure is a name.*nousmem.evaluation.measure\(returns\)"),
        ("ir_measures:NoSuch@10", "does not read 'NoSuch@10'.*measure not found: NoSuch"),
        ("ir_measures:AP(", "does not read"),
        ("ir_measures:AP(nothing=1)", r"ir_measures.AP: unsupported params found: .*nothing"),
        ("no_such_module:err", "there is no module 'no_such_module' on Python's search path"),
        ("math:no_such", "module 'math' has no 'no_such'"),
        ("math:pi", "measure 'math:pi' is a float"),
        ("fractions:Fraction", "is a ABCMeta: name a function"),
        ("math:sqrt", "called with ranks and gains"),
        ("math:hypot@0", "needs a cutoff, such as math:hypot@10"),
        ("::", "expected measure as 'package.module:object'"),
        (ir_measures.define(lambda qrels, run: []), "needs a name"),
    ],
)
def test_what_is_no_measure_is_refused(given, message: str) -> None:
    with pytest.raises(nm.InvalidParameter, match=message):
        ev.evaluate(*made_up(0), [given])


def test_an_unknown_name_is_told_how_others_are_named() -> None:
    with pytest.raises(nm.UnknownName, match=r"ir_measures:AP\(rel=2\).*package.module:measure"):
        Measure.parse("Bpref")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG", "there is already"),
        ("Fresh", "there is already"),
        ("mrr", "there is already"),
        ("n_queries", "is a column"),
        ("rrf_k", "is a column"),
        ("two words", "letters, digits and _"),
        ("err@10", "letters, digits and _"),
        ("", "letters, digits and _"),
        (7, "letters, digits and _"),
    ],
)
def test_a_name_that_would_be_misread_is_refused(name, message: str) -> None:
    with pytest.raises(nm.InvalidParameter, match=message):
        ev.measure(lambda ranks, gains: 0.0, name=name)


def test_bad_definitions_are_refused() -> None:
    with pytest.raises(nm.InvalidParameter, match="expected a function of ranks and gains"):
        ev.measure("nDCG")
    with pytest.raises(nm.InvalidParameter, match="expected a function"):
        ev.measure(err)
    with pytest.raises(nm.InvalidParameter, match=r"max_gain where .* and this has \(ranks\)"):
        ev.measure(lambda ranks: 0.0, name="own")
    with pytest.raises(nm.InvalidParameter, match=r"<lambda>.*name="):
        ev.measure(lambda ranks, gains: 0.0)
    for cutoff in (0, -1, True, 2.0, "10"):
        with pytest.raises(nm.InvalidParameter, match="cutoff must be a whole number above 0"):
            ev.measure(lambda ranks, gains: 0.0, name="own", cutoff=cutoff)
    with pytest.raises(nm.InvalidParameter, match="two different measures are called own"):
        parse_measures([returns(1), ev.measure(lambda ranks, gains: 2.0, name="own")])
    with pytest.raises(nm.InvalidParameter, match="must be a list"):
        parse_measures(err)


def test_a_cutoff_hides_what_stands_below_it() -> None:
    def places(ranks, gains):
        return float(ranks.max())

    run, qrels = made_up(0)
    row = ev.evaluate(run, qrels, [ev.measure(places, cutoff=4), ev.measure(places)]).iloc[0]
    assert 0 < row["places@4"] <= 4 < row["places"]


def test_without_ir_measures_its_measures_say_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingDependency, match=r"nousmem\[bench\]"):
        Measure.parse("ir_measures:Bpref")
    read = Measure.from_document({"name": "ir_measures:Bpref", "code": "ir_measures 0.4.3"})
    assert str(read) == "ir_measures:Bpref"
    with pytest.raises(MissingDependency):
        read.loaded()
    assert ev.evaluate(*made_up(0), [err])["err@10"][0] > 0


def test_code_is_told_apart_by_what_it_says_and_holds() -> None:
    def made(p: float, q: float = 1.0):
        def inner(ranks, gains, *, weight=q):
            return p * weight

        return ev.measure(inner, name="own")

    def scaled(scale, ranks, gains):
        return scale

    assert made(0.5) == made(0.5)
    assert made(0.5) != made(0.6)
    assert made(0.5) != made(0.5, 2.0)
    half, third = (ev.measure(functools.partial(scaled, one), name="own") for one in (0.5, 0.3))
    assert half != third
    assert half == ev.measure(functools.partial(scaled, 0.5), name="own")
    assert ev.evaluate(*made_up(0), [half])["own"][0] == 0.5


def test_a_measure_with_other_code_is_not_the_one_that_was_measured(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, grid=GRID, measures=["RR", returns(1)])
    with pytest.raises(nm.InvalidParameter, match="own was measured with other code"):
        swept.best(ev.measure(lambda ranks, gains: 2, name="own"))
    with pytest.raises(nm.InvalidParameter, match="AP is not measured; measured: RR, own"):
        swept.best("AP")
    assert find_measure("own", swept.measures) == returns(1)


def test_measures_are_split_at_commas_outside_brackets() -> None:
    text = "nDCG@10, ir_measures:nDCG(dcg='exp-log2',gains={1:2,2:4})@5,a.b:err@3,"
    wanted = ["nDCG@10", "ir_measures:nDCG(dcg='exp-log2',gains={1:2,2:4})@5", "a.b:err@3"]
    assert split_measures(text) == wanted


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_measures_here.py").write_text(
        "import ir_measures\n"
        "from nousmem import evaluation as ev\n"
        "def plain(ranks, gains):\n"
        "    return float((ranks > 0).sum())\n"
        "@ev.measure(cutoff=3)\n"
        "def decorated(ranks, gains):\n"
        "    return float((ranks > 0).sum())\n"
        "called = ev.measure(lambda ranks, gains: 0.25, name='quarter')\n"
        "theirs = ir_measures.AP(rel=2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_measures_here"
    sys.modules.pop("own_measures_here", None)


def test_a_text_names_a_measure_of_a_module(module: str) -> None:
    texts = [f"{module}:{one}" for one in ("plain", "plain@3", "decorated", "called", "theirs")]
    parsed = parse_measures(texts)
    names = ["plain", "plain@3", "decorated@3", "quarter", "ir_measures:AP(rel=2)"]
    assert [str(one) for one in parsed] == names
    for measure in parsed:
        assert Measure.parse(measure.reference) == measure
        assert Measure.from_document(measure.to_document()) == measure
        assert Measure.from_document(measure.to_document()).loaded() == measure
    row = ev.evaluate(*made_up(0), texts).iloc[0]
    assert row["plain"] > row["plain@3"] == row["decorated@3"]
    assert row["quarter"] == 0.25
    with pytest.raises(nm.InvalidParameter, match="has its own cutoff"):
        Measure.parse(f"{module}:theirs@3")
    loaded = sys.modules[module].decorated
    assert parse_measures([loaded, f"{module}:decorated"]) == [loaded]


def test_a_measure_that_was_read_looks_for_its_code_when_it_is_computed(module: str) -> None:
    document = Measure.parse(f"{module}:plain@3").to_document()
    del sys.modules[module]
    read = Measure.from_document(document)
    assert str(read) == "plain@3"
    assert module not in sys.modules
    assert ev.evaluate(*made_up(0), [read])["plain@3"][0] > 0
    gone = Measure.from_document({**document, "object": "gone_with_the_notebook:plain"})
    assert gone == read
    with pytest.raises(ExtensionError, match=r"measure plain@3 cannot be computed: its code.*gone"):
        ev.evaluate(*made_up(0), [gone])


def test_a_measure_goes_to_another_process(module: str) -> None:
    measure = Measure.parse(f"{module}:plain@3")
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert again.source.function is measure.source.function
