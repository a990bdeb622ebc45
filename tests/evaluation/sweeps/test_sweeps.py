"""A sweep ranks as Search does, and its tables say what they are."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.measured import find_row
from nousmem.evaluation.sweeps import values as sweep_values
from nousmem.evaluation.sweeps.values import composite_scores, watched_ranks

MEASURES = ["nDCG@10", "R@5", "RR", "AP"]
EVERY_MEASURE = [*MEASURES, "nDCG", "RR@3", "AP@5", "P@5", "Success@1", "AllRel@5", "Fresh@3"]
EMBEDDER = nm.open_embedder("hashing")

scorings = st.builds(
    nm.Scoring,
    decay_lambda=st.sampled_from([0, 1e-5, 1e-3, 0.05]),
    w_relevance=st.floats(-1, 2),
    w_importance=st.sampled_from([0, 0.3, 1]),
    w_recency=st.sampled_from([None, 0, 0.2]),
    recency_lambda=st.sampled_from([0, 0.01]),
    rrf_k=st.sampled_from([0, 5, 60]),
    fusion=st.sampled_from(["rrf", "rrf_raw", "convex"]),
    w_text=st.sampled_from([1, 0.3, 0]),
    w_vector=st.sampled_from([1, 2.5]),
    decay_curve=st.sampled_from(["exponential", "hyperbolic", "power", "step"]),
    decay_clock=st.sampled_from(["last_access", "creation"]),
    decay_floor=st.sampled_from([0, 0.2]),
    decay_importance=st.sampled_from([0, 0.5, 1]),
    min_score=st.sampled_from([0, 0.25, -1]),
    update_penalty=st.sampled_from([0, 0.05, 1]),
    update_lambda=st.sampled_from([0, 1e-3]),
    update_takeover=st.sampled_from([0, 0.5, 1]),
    update_similarity=st.sampled_from([-1, 0.1, 0.4]),
    update_ratio=st.sampled_from([0, 0.7, 0.95]),
    update_depth=st.sampled_from([0, 3, 10]),
)


@pytest.mark.parametrize("embedder", [None, EMBEDDER], ids=["text", "hybrid"])
@pytest.mark.parametrize("url", ["memory:", "sqlite::memory:"])
def test_sweep_and_search_rank_identically(corpus: nm.Corpus, url: str, embedder) -> None:
    base = ev.sweep(corpus, store=url, embedder=embedder, grid={}, measures=MEASURES)
    ids = base.candidates_of(0).judgements.query_ids
    measured = [q for q in corpus.queries if q.query_id in ids]
    store = nm.open_store(url)
    store.put(corpus.entries if embedder is None else nm.embed(corpus.entries, embedder))
    search = nm.Search(store, embedder)

    @settings(max_examples=20)
    @given(scorings)
    def holds(scoring: nm.Scoring) -> None:
        swept = replace(base, settings=(nm.Settings(scoring=scoring),)).run(0)
        found = ev.run_queries(search.replace(scoring=scoring), measured)
        pd.testing.assert_frame_equal(swept, found, check_exact=True)

    holds()


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_measures_of_a_sweep_are_those_of_its_runs(corpus: nm.Corpus, engine) -> None:
    pytest.importorskip(engine)
    grid = {
        "decay_lambda": [1e-5, 0.05],
        "decay_clock": ["last_access", "creation"],
        "rrf_k": [0, 60],
        "w_relevance": [-0.5, 1],
        "w_vector": [0, 1],
    }
    swept = ev.sweep(
        corpus,
        store="memory",
        embedder=EMBEDDER,
        grid=grid,
        measures=EVERY_MEASURE,
        engine=engine,
    )
    for at in range(len(swept.settings)):
        run = swept.run(at)
        expected = ev.per_query(run, corpus.qrels, EVERY_MEASURE, queries=corpus.queries)
        found = swept.per_query(at).set_index("query_id").loc[expected["query_id"]]
        for measure in EVERY_MEASURE:
            np.testing.assert_array_equal(found[measure], expected[measure])
        means = ev.evaluate(run, corpus.qrels, EVERY_MEASURE, queries=corpus.queries).iloc[0]
        for measure in [*EVERY_MEASURE, "n_Fresh@3"]:
            assert swept.frame[measure][at] == pytest.approx(means[measure], abs=1e-12)


def test_a_leg_that_weighs_nothing_is_not_read(corpus: nm.Corpus) -> None:
    def swept(grid: dict, legs: list[str] | None = None) -> ev.SweepResult:
        return ev.sweep(
            corpus,
            store="memory",
            embedder=EMBEDDER,
            grid=grid,
            measures=MEASURES,
            retrieval=nm.Retrieval(legs=legs),
        )

    for fusion in ("rrf", "rrf_raw", "convex"):
        for removed, left in (("w_vector", "text"), ("w_text", "vector")):
            weightless = swept({removed: [0], "fusion": [fusion]})
            alone = swept({"fusion": [fusion]}, legs=[left])
            pd.testing.assert_frame_equal(weightless.run(0), alone.run(0), check_exact=True)


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
def test_the_baseline_is_the_setting_that_ranks_as_the_default(corpus: nm.Corpus) -> None:
    grid = {"fusion": ["convex", "rrf"], "w_recency": [0.1, 0], "recency_lambda": [0.02]}
    swept = ev.sweep(corpus, store="memory", grid=grid, measures=["AP"])
    at = swept.baseline_index()
    scoring = swept.settings[at].scoring
    assert (scoring.fusion, scoring.w_recency) == ("rrf", 0)
    assert swept.n_tried == len(swept.settings) == 4


def test_a_half_life_typed_by_hand_is_the_default() -> None:
    exact = nm.Settings()
    typed, other = exact.replace(half_life_days=28.88), exact.replace(half_life_days=29)
    assert find_row([other, typed], exact) == 1
    assert find_row([other, typed, exact], exact) == 2
    assert find_row([other, typed.replace(rrf_k=5)], exact) is None
    assert find_row([other], exact) is None
    assert find_row([typed, typed.replace(depth=9)], exact.replace(depth=9)) == 1


def test_engines_are_checked_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nm.UnknownName, match="numpy"):
        ev.sweep(object(), grid={}, engine="numbra")
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(nm.MissingDependency, match=r"nousmem\[fast\]"):
        ev.sweep(object(), grid={}, engine="numba")


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
def test_without_numba_a_large_sweep_is_done_by_numpy(
    corpus: nm.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = {"rrf_k": [5, 60]}
    expected = ev.sweep(corpus, store="memory", grid=grid, engine="numpy").frame
    monkeypatch.setattr(sweep_values, "_WORTH_COMPILING", 0)
    monkeypatch.setitem(sys.modules, "numba", None)
    pd.testing.assert_frame_equal(ev.sweep(corpus, store="memory", grid=grid).frame, expected)


def test_ranks_are_counted_as_sorting_would(corpus: nm.Corpus) -> None:
    pool = ev.find_candidates(corpus, store="memory", embedder=EMBEDDER)
    flat = np.where(
        pool.present, np.round(next(composite_scores(pool, [nm.Scoring()])), 1), -np.inf
    )
    ranks = watched_ranks(pool, flat)
    for at, doc_id in enumerate(pool.judgements.doc_ids):
        row = int(pool.judgements.query_index[at])
        ids = pool.doc_ids[row]
        ranked = sorted(zip(flat[row], ids, strict=False), reverse=True)
        expected = next((i for i, (_, one) in enumerate(ranked, 1) if one == doc_id), 0)
        assert ranks[at] == expected


def test_a_divided_corpus_gets_a_store_for_each_part(
    corpus: nm.Corpus, divided_corpus: nm.Corpus
) -> None:
    assert [part.name for part in divided_corpus.partitions()] == ["ada", "bo", "cyd"]
    one = ev.sweep(corpus, store="sqlite", grid={"w_recency": [0]}, measures=MEASURES)
    apart = ev.sweep(divided_corpus, store="sqlite", grid={"w_recency": [0]}, measures=MEASURES)
    # Scope keeps the candidates apart either way; only term statistics may differ.
    assert one.n_queries == apart.n_queries
    with pytest.raises(nm.InvalidParameter, match="user_id"):
        ev.sweep(divided_corpus, store=nm.open_store("memory:"), grid={}, measures=MEASURES)


def test_a_store_file_is_made_for_each_part(divided_corpus: nm.Corpus, tmp_path: Path) -> None:
    ev.sweep(
        divided_corpus,
        store=f"sqlite:{tmp_path}/kept.db",
        grid={},
        measures=["AP"],
    )
    assert sorted(path.name for path in tmp_path.glob("*.db")) == [
        "kept.ada.db",
        "kept.bo.db",
        "kept.cyd.db",
    ]


def test_the_tables_hold_every_setting(corpus: nm.Corpus) -> None:
    grid = {"w_importance": [0, 0.3], "decay_lambda": [0, 1e-3], "w_recency": [0]}
    swept = ev.sweep(corpus, store="memory", grid=grid, measures=MEASURES)
    assert (swept.n_tried, swept.baseline_index()) == (4, 3)
    frame = swept.frame
    assert list(frame.columns) == [
        "decay_lambda",
        "half_life_days",
        "w_importance",
        "w_recency",
        *MEASURES,
        "n_queries",
    ]
    assert frame["decay_lambda"].tolist() == [0, 0, 1e-3, 1e-3]
    assert frame["half_life_days"].tolist()[:2] == [math.inf, math.inf]
    assert frame["half_life_days"][2] == pytest.approx(math.log(2) / 0.001 / 24)
    assert (frame["n_queries"] == 22).all()
    assert swept.excluded == {"no relevant entry": 2}
    by_category = swept.by()
    weighted = (by_category["AP"] * by_category["n_queries"]).groupby(
        by_category["decay_lambda"].astype(str) + by_category["w_importance"].astype(str)
    )
    assert weighted.sum().to_numpy() / 22 == pytest.approx(
        frame.sort_values(["decay_lambda", "w_importance"])["AP"].to_numpy()
    )
    best = swept.best("AP")
    assert isinstance(best, nm.Settings)
    assert frame["AP"][swept.best_index("AP")] == frame["AP"].max()
    per_query = swept.per_query(swept.best_index("AP"))
    assert per_query["AP"].mean() == pytest.approx(frame["AP"].max())
    leaderboard = swept.leaderboard("AP", top=3)
    assert leaderboard["AP"].is_monotonic_decreasing
    assert (
        (leaderboard["low"] <= leaderboard["difference"])
        & (leaderboard["difference"] <= leaderboard["high"])
    ).all()


def test_what_is_written_reads_back_and_repeats(corpus: nm.Corpus, tmp_path: Path) -> None:
    for name in ("one", "two"):
        swept = ev.sweep(
            corpus, store="memory", embedder=EMBEDDER, grid={"rrf_k": [5, 60]}, measures=MEASURES
        )
        files = swept.write(tmp_path / name)
    for file in files:
        if file.name != "manifest.json":
            assert (tmp_path / "one" / file.name).read_bytes() == file.read_bytes()
    written = pd.read_parquet(tmp_path / "one/settings.parquet")
    pd.testing.assert_frame_equal(written[swept.frame.columns], swept.frame)
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert manifest["corpus"]["fingerprint"] == corpus.fingerprint()
    assert manifest["source"]["embedder"] == EMBEDDER.fingerprint


@pytest.mark.parametrize(
    ("grid", "options"),
    [
        ({"rrf_k": np.array([5, 60]), "decay_lambda": (rate for rate in (0.0, 1e-3))}, {}),
        ({"weights": ev.Simplex(step=0.5)}, {}),
        ({"rrf_k": ev.Range(5, 60)}, {"sampler": "sobol", "trials": 4}),
        ({"rrf_k": ev.Range(5, 60), "w_recency": [0]}, {"sampler": "optuna", "trials": 4}),
    ],
    ids=["arrays", "simplex", "sobol", "optuna"],
)
@pytest.mark.filterwarnings("ignore::nousmem.evaluation.ConfoundedGridWarning")
def test_a_sweep_is_written_as_an_experiment_is(
    corpus: nm.Corpus, tmp_path: Path, grid: dict, options: dict
) -> None:
    from nousmem.viz.report import write_report

    swept = ev.sweep(
        corpus,
        store="memory",
        embedder="hashing",
        grid=grid,
        scoring=nm.Scoring(w_importance=0.1),
        **options,
    )
    (tmp_path / "mine.txt").write_text("stays")
    swept.write(tmp_path)
    result = ev.read_result(tmp_path)
    (one,) = result.conditions
    np.testing.assert_array_equal(one.measured.values, swept.values)
    assert one.measured.settings == swept.settings
    assert one.excluded == swept.excluded
    assert one.measured.n_tried == swept.n_tried
    assert one.measured.baseline == swept.baseline
    assert result.best() == swept.best("nDCG@10")
    pd.testing.assert_frame_equal(result.leaderboard(), swept.leaderboard())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.FewQueriesWarning)
        assert ev.compare_results(result, result)["difference"].eq(0).all()
        assert "<html" in write_report(tmp_path).read_text()
    # Written again, it takes the place of what is there, and of nothing else.
    ev.sweep_again(swept, grid={"rrf_k": [1, 2, 3]}).write(tmp_path)
    assert ev.read_result(tmp_path).n_tried == 3
    assert (tmp_path / "mine.txt").exists()


def test_as_of_can_be_switched_off(corpus: nm.Corpus) -> None:
    bounded = ev.find_candidates(corpus, store="memory")
    unbounded = ev.find_candidates(corpus, store="memory", as_of=False)
    created = {entry.id: entry.created_at for entry in corpus.entries}
    asked = [(at, q.as_of) for at, q in enumerate(bounded.queries) if q.as_of is not None]
    for at, as_of in asked:
        assert all(created[doc_id] <= as_of for doc_id in bounded.doc_ids[at])
    assert any(created[doc_id] > as_of for at, as_of in asked for doc_id in unbounded.doc_ids[at])


def test_a_grid_that_compares_two_things_at_once_warns(corpus: nm.Corpus) -> None:
    with pytest.warns(ev.ConfoundedGridWarning, match="w_recency"):
        ev.grid_settings({"decay_lambda": [0, 1e-3]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ev.grid_settings({"decay_lambda": [0, 1e-3], "w_recency": [0]})
        ev.grid_settings({"decay_lambda": [1e-4, 1e-3]})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"decay": [0]}, "decay_lambda"),
        ({"rrf_k": []}, "empty"),
        ({"rrf_k": 60}, "list"),
        ({"rrf_k": "60"}, "list"),
        ({"rrf_k": [60, -1]}, "at least 0"),
        ({"rrf_k": [60, 60]}, "twice"),
        ({"w_relevance": ["high"]}, "finite number"),
        ({"decay_curve": ["linear"]}, "exponential, hyperbolic"),
        ({"fusion": [1]}, "convex"),
        ({"w_text": [0], "w_vector": [0, 1]}, "no leg"),
        ({"decay_lambda": [0], "half_life_days": [1]}, "not both"),
    ],
)
def test_a_bad_grid_is_refused_before_any_work(grid: dict, message: str) -> None:
    with pytest.raises(nm.InvalidParameter, match=message):
        ev.sweep(object(), grid=grid)


def test_faults_of_a_grid_are_reported_together() -> None:
    with pytest.raises(nm.InvalidParameter, match=r"rrf_k.*; .*w_recency"):
        ev.grid_settings({"rrf_k": [-1], "w_recency": ["x"]})


def test_half_life_may_be_swept(corpus: nm.Corpus) -> None:
    swept = ev.sweep(
        corpus,
        store="memory",
        grid={"half_life_days": [7, 30, math.inf], "w_recency": [0]},
        measures=["AP"],
    )
    tried = swept.frame["half_life_days"].head(swept.n_tried)
    assert tried.tolist() == pytest.approx([7, 30, math.inf])
    assert swept.settings[2].scoring.decay_lambda == 0


def test_unknown_names_name_the_known_ones(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, store="memory", grid={}, measures=["AP"])
    with pytest.raises(nm.InvalidParameter, match="AP"):
        swept.best("nDCG@10")
    with pytest.raises(nm.UnknownName, match="category"):
        swept.by("categry")
    with pytest.raises(nm.UnknownName, match="sqlite"):
        ev.sweep(corpus, store="sqlit", grid={}, measures=["AP"])


def test_intervals_are_paired_and_repeat() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(200)
    better = base + 0.05 + rng.normal(0, 0.02, 200)
    interval = ev.paired_interval(better, base)
    assert interval == ev.paired_interval(better, base)
    assert interval.low < 0.05 < interval.high
    assert interval.high - interval.low < 0.01
    same = ev.paired_interval(base, base)
    assert (same.low, same.difference, same.high) == (0, 0, 0)
    with pytest.raises(nm.InvalidParameter, match="same queries"):
        ev.paired_interval(base, base[:10])


def test_a_store_that_holds_something_else_is_refused(corpus: nm.Corpus) -> None:
    store = nm.open_store("memory:")
    store.put(corpus.entries[:3])
    ev.sweep(corpus, store=store, grid={}, measures=["AP"])
    store.put([nm.Entry("a stranger", id="stranger", user_id="ada")])
    with pytest.raises(nm.InvalidParameter, match="stranger"):
        ev.sweep(corpus, store=store, grid={}, measures=["AP"])


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_there_is_not_is_named(corpus: nm.Corpus, row: int) -> None:
    swept = ev.sweep(corpus, grid={"w_importance": [0, 0.5]})
    for ask in (swept.run, swept.per_query):
        with pytest.raises(nm.InvalidParameter, match="0 to 2"):
            ask(row)


def test_folds_are_of_a_scope_field(corpus: nm.Corpus) -> None:
    with pytest.raises(nm.CorpusError, match="fold_field must be one of"):
        dataclasses.replace(corpus, fold_field="foo")


def test_a_sweep_goes_on_from_the_candidates_of_another(
    corpus: nm.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ev.sweep(corpus, embedder="hashing", grid={"w_importance": [0, 0.5]})
    grid = {"decay_lambda": [1e-5, 1e-3], "w_recency": [0]}
    anew = ev.sweep(corpus, embedder="hashing", grid=grid, measures=["AP"])
    monkeypatch.setattr("nousmem.evaluation._sweeping.find_for_each", None)
    again = ev.sweep_again(first, grid=grid, measures=["AP"])
    assert again.settings == anew.settings
    assert again.values.tobytes() == anew.values.tobytes()
    assert again.source == anew.source
    assert again.seconds["retrieve"] == 0
    assert ev.sweep_again(first, grid={}).measures == first.measures
