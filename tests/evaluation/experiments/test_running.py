"""Running experiments: the same bytes however they are run, and what is there is not done again."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import ExperimentError, InvalidParameter, UnknownName
from nousmem.evaluation.experiments import _plans as plans_module
from nousmem.evaluation.experiments.folder import ResultFolder


def test_a_condition_is_what_a_sweep_finds(experiment_file: Path):
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    corpus = nm.load_corpus("tables", path=experiment_file.parent / "tables")
    for one in result.conditions:
        swept = ev.sweep(
            corpus,
            embedder=one.condition.retrieval.embedder,
            retrieval=one.condition.retrieval.way(),
            grid={"half_life_days": [30, 365, np.inf], "w_importance": [0, 0.3]},
            scoring=nm.Scoring(w_recency=0),
            measures=["nDCG@10", "R@5"],
        )
        assert np.array_equal(one.measured.values, swept.values)
        assert one.measured.settings == swept.settings
        assert one.measured.baseline == swept.baseline == 6
        assert one.excluded == swept.excluded


def test_no_query_is_dropped_without_being_counted(experiment_file: Path):
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    for one in result.conditions:
        assert one.measured.n_queries + sum(one.excluded.values()) == 60
        assert one.measured.values.shape[2] == 58


def test_the_tables_hold_every_condition(experiment_file: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = ev.run_experiment(ev.read_experiment(experiment_file), out=out)
    frame = pd.read_parquet(out / "settings.parquet")
    assert len(frame) == 4 * 7
    assert frame.groupby("condition")["is_baseline"].sum().tolist() == [1] * 4
    assert list(frame["embedder"].unique()) == ["none", "hashing"]
    by = pd.read_parquet(out / "by_category.parquet")
    assert by.groupby(["condition", "setting"])["n_queries"].sum().eq(58).all()
    values = pd.read_parquet(out / "conditions" / "002" / "values.parquet")
    means = values.groupby("setting")["nDCG@10"].mean()
    assert means.to_numpy() == pytest.approx(frame[frame["condition"] == 2]["nDCG@10"].to_numpy())
    # One row a condition, and one for the choice among those that share their queries.
    assert pd.read_parquet(out / "tuned.parquet")["condition"].tolist() == [0, 1, 2, 3, -1]
    best = (out / "conditions" / "001" / "best.toml").read_text()
    assert best == result.best(condition=1).to_toml()


def test_a_folder_reads_back_as_it_was(experiment_file: Path, tmp_path: Path):
    result = ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
    again = ev.read_result(tmp_path / "out")
    pd.testing.assert_frame_equal(again.frame, result.frame, check_exact=True)
    pd.testing.assert_frame_equal(again.tuned, result.tuned, check_exact=True)
    pd.testing.assert_frame_equal(again.comparison, result.comparison, check_exact=True)
    assert again.conditions[0].measured.queries == result.conditions[0].measured.queries


def test_the_same_bytes_twice_and_in_other_processes(
    experiment_file: Path, tmp_path: Path, files_of
):
    experiment = ev.read_experiment(experiment_file)
    ev.run_experiment(experiment, out=tmp_path / "one")
    ev.run_experiment(experiment, out=tmp_path / "two", backend="processes", jobs=2)
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert len(one) == 4 * 5 + 9
    assert one == two


def test_an_interrupted_run_goes_on_where_it_stopped(
    experiment_file: Path, tmp_path: Path, files_of, monkeypatch: pytest.MonkeyPatch
):
    experiment = ev.read_experiment(experiment_file)
    ev.run_experiment(experiment, out=tmp_path / "whole")
    measured: list[int] = []
    true_find = plans_module.find_for_each

    def counted(*arguments, **options):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(1)
        return true_find(*arguments, **options)

    monkeypatch.setattr(plans_module, "find_for_each", counted)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        ev.run_experiment(experiment, out=out)
    with pytest.raises(ExperimentError, match="2 of 4 conditions"):
        ev.read_result(out)
    measured.clear()
    # What a run leaves when it is ended while it writes.
    (out / "conditions" / "002.part").mkdir()
    ev.run_experiment(experiment, out=out)
    assert len(measured) == 2
    shutil.rmtree(out / "conditions" / "002.part", ignore_errors=True)
    assert files_of(out) == files_of(tmp_path / "whole")


@pytest.mark.parametrize("name", ["values.parquet", "condition.json"])
def test_a_damaged_condition_is_measured_again(
    experiment_file: Path, tmp_path: Path, files_of, name: str
):
    experiment, out = ev.read_experiment(experiment_file), tmp_path / "out"
    ev.run_experiment(experiment, out=out)
    before = files_of(out)
    (out / "conditions" / "001" / name).write_bytes(b"{")
    ev.run_experiment(experiment, out=out)
    assert files_of(out) == before
    assert json.loads((out / "manifest.json").read_text())["conditions_taken_up"] == 3


@pytest.mark.skipif(sys.platform == "win32", reason="has no locks of this kind")
def test_two_processes_do_not_write_one_folder(experiment_file: Path, tmp_path: Path):
    experiment, out = ev.read_experiment(experiment_file), tmp_path / "out"
    folder = ResultFolder(out, experiment)
    folder.begin()
    with folder.held(), pytest.raises(ExperimentError, match="another process is writing"):
        ev.run_experiment(experiment, out=out)
    ev.run_experiment(experiment, out=out)


def test_a_full_disk_is_named_and_what_is_done_is_kept(
    experiment_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    experiment, out = ev.read_experiment(experiment_file), tmp_path / "out"
    true_write = ResultFolder.write_condition

    def full(self, at, key, one):
        if at == 2:
            raise OSError(28, "No space left on device")
        true_write(self, at, key, one)

    monkeypatch.setattr(ResultFolder, "write_condition", full)
    with pytest.raises(ExperimentError, match=r"out cannot be written.*No space left.*are kept"):
        ev.run_experiment(experiment, out=out)
    monkeypatch.undo()
    ev.run_experiment(experiment, out=out)
    assert json.loads((out / "manifest.json").read_text())["conditions_taken_up"] == 2


def test_where_a_corpus_lies_is_not_what_is_asked(
    experiment_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The path of a file's corpus depends on where one stands, and its data do not."""
    ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
    monkeypatch.chdir(experiment_file.parent)
    ev.run_experiment(ev.read_experiment(experiment_file.name), out=tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["conditions_taken_up"] == 4


def test_a_single_query_is_measured_though_nothing_is_judged(
    experiment_file: Path, tmp_path: Path, write_tables
):
    from nousmem.viz.report import write_report

    write_tables(tmp_path / "tables", n_queries=3)  # two of them without a relevant entry
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
        report = write_report(tmp_path / "out").read_text()
        assert (result.comparison["n_queries"] == 1).all()
    assert result.tuned["folds"].eq(0).all()
    assert result.tuned["mean"].isna().all()
    assert "nothing is left to judge" in report
    assert "+nan" not in report


def test_a_bad_condition_is_found_before_any_is_measured(
    experiment_file: Path, monkeypatch: pytest.MonkeyPatch
):
    experiment = ev.read_experiment(experiment_file)
    last = experiment.conditions[-1]
    monkeypatch.setattr(plans_module, "find_for_each", None)
    for changed in ({"store": "sqlit"}, {"legs": ("text", "vektor")}, {"embedder": "mini"}):
        wrong = dataclasses.replace(last, retrieval=dataclasses.replace(last.retrieval, **changed))
        with pytest.raises(LookupError, match="did you mean"):
            ev.run_experiment(dataclasses.replace(experiment, conditions=(last, wrong)))
    with pytest.raises(ExperimentError, match="stands twice"):
        ev.run_experiment(dataclasses.replace(experiment, conditions=(last, last)))
    with pytest.raises(ExperimentError, match="no condition"):
        ev.run_experiment(dataclasses.replace(experiment, conditions=()))


def test_what_does_not_fit_into_memory_is_refused(
    experiment_file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(plans_module, "find_for_each", None)
    monkeypatch.setattr(os, "sysconf", lambda name: 10)
    with pytest.raises(InvalidParameter, match="7 settings × 2 measures × 58 queries"):
        ev.run_experiment(ev.read_experiment(experiment_file))


def test_other_data_is_measured_again(experiment_file: Path, tmp_path: Path, write_tables):
    experiment, out = ev.read_experiment(experiment_file), tmp_path / "out"
    before = ev.run_experiment(experiment, out=out)
    write_tables(experiment_file.parent / "tables", seed=4)
    after = ev.run_experiment(experiment, out=out)
    assert not np.array_equal(
        before.conditions[0].measured.values, after.conditions[0].measured.values
    )


def test_a_folder_of_something_else_is_left_alone(experiment_file: Path, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    experiment = ev.read_experiment(experiment_file)
    with pytest.raises(ExperimentError, match="holds no result"):
        ev.run_experiment(experiment, out=out)
    assert [file.name for file in out.iterdir()] == ["thesis.txt"]
    ev.run_experiment(experiment, out=tmp_path / "other")
    text = experiment_file.read_text().replace("seed = 5", "seed = 6")
    experiment_file.write_text(text)
    with pytest.raises(ExperimentError, match="another experiment"):
        ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "other")


def test_a_run_that_failed_on_its_data_leaves_the_folder_free(
    experiment_file: Path, tmp_path: Path
):
    experiment, out = ev.read_experiment(experiment_file), tmp_path / "out"
    (one, *_) = experiment.conditions
    corpus = dataclasses.replace(one.corpus, options={"columns": {"content": "none"}})
    wrong = dataclasses.replace(
        experiment, conditions=(dataclasses.replace(one, corpus=corpus),), seed=6
    )
    with pytest.raises(InvalidParameter, match="no column 'none'"):
        ev.run_experiment(wrong, out=out)
    with ResultFolder(out, wrong).held(), pytest.raises(ExperimentError, match="another process"):
        ev.run_experiment(experiment, out=out)
    result = ev.run_experiment(experiment, out=out)
    assert ev.read_result(out).frame.equals(result.frame)
    with pytest.raises(ExperimentError, match=r"another experiment \(it differs in conditions"):
        ev.run_experiment(wrong, out=out)


@pytest.mark.parametrize("name", ["values.parquet", "queries.parquet", "condition.json"])
def test_a_damaged_folder_is_named(experiment_file: Path, tmp_path: Path, name: str):
    ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
    (tmp_path / "out" / "conditions" / "001" / name).write_bytes(b"PAR1 no more")
    with pytest.raises(ExperimentError, match="out is damaged"):
        ev.read_result(tmp_path / "out")
    with pytest.raises(ExperimentError, match="no result folder"):
        ev.read_result(tmp_path)


def test_fresh_is_measured_where_queries_are_marked(tmp_path: Path, experiment_file: Path):
    text = '[[corpus]]\nname = "tables"\npath = "tables"\n[[corpus]]\nname = "assistant-year"\n'
    experiment_file.write_text('measures = ["R@5", "Fresh@1"]\n' + text)
    result = ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
    fresh = result.frame["Fresh@1"]
    assert fresh.isna().tolist() == [True, False]
    assert ev.read_result(tmp_path / "out").frame["Fresh@1"].equals(fresh)
    experiment_file.write_text('measures = ["R@5", "Fresh@1"]\ntune = "Fresh@1"\n' + text)
    with pytest.raises(InvalidParameter, match="Fresh"):
        ev.run_experiment(ev.read_experiment(experiment_file))


def test_backends_are_checked_before_any_work(experiment_file: Path):
    experiment = ev.read_experiment(experiment_file)
    with pytest.raises(UnknownName, match="dask, processes, serial"):
        ev.run_experiment(experiment, backend="cloud")
    with pytest.raises(InvalidParameter, match="scheduler"):
        ev.run_experiment(experiment, backend="dask")
    with pytest.raises(InvalidParameter, match="scheduler"):
        ev.run_experiment(experiment, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InvalidParameter, match="jobs"):
        ev.run_experiment(experiment, jobs=0)


def test_tuning_is_judged_on_folds_it_did_not_see(experiment_file: Path):
    """The figure of each query is that of a setting chosen without the query's group."""
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    judged = result.cross_validated(0)
    measured = result.conditions[0].measured
    values = measured.values_of("nDCG@10")
    groups = np.array([query.group for query in measured.queries])
    for fold in range(3):
        inside = judged.fold == fold
        assert not set(groups[inside]) & set(groups[~inside])
        chosen = int(values[:, ~inside].mean(axis=1).argmax())
        assert np.array_equal(judged.values[inside], values[chosen, inside])


def test_conditions_are_compared_where_they_share_their_queries(experiment_file: Path):
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    table = result.between_conditions(1)
    assert table["condition"].tolist() == [0, 2, 3]
    for row in table.itertuples():
        own, base = (result.cross_validated(at).mean for at in (row.condition, 1))
        assert row.mean == pytest.approx(own)
        assert row.difference == pytest.approx(own - base)
        assert row.low <= row.difference <= row.high


def test_an_idle_parameter_is_named_here_too(experiment_file: Path):
    text = experiment_file.read_text().replace("w_importance = [0, 0.3]", "rrf_k = [5, 60]")
    experiment_file.write_text(text.replace('["none", "hashing"]', '"none"'))
    with pytest.warns(ev.IdleParameterWarning, match="rrf_k"):
        ev.run_experiment(ev.read_experiment(experiment_file))
