"""A measure of one's own in experiment files, result folders, gates and on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nousmem import evaluation as ev
from nousmem.cli._app import app
from nousmem.errors import ExperimentError, ExtensionError
from nousmem.evaluation.experiments import check_gate, write_baseline
from nousmem.evaluation.measures import Measure

SOURCE = """
def share(ranks, gains):
    return float(((ranks > 0) & (ranks <= 3)).mean())
"""
OTHER = SOURCE.replace("<= 3", "<= 5")
GRID = {"w_importance": [0, 0.5]}
MEASURES = '["own_in_files:share", "nDCG@10", "ir_measures:Judged@5"]'


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Write the module anew, as in a process that starts."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    n = 0

    def write(source: str) -> None:
        nonlocal n
        n += 1
        sys.modules.pop("own_in_files", None)
        # inspect and the import system go by the size and the second of a file.
        (folder / "own_in_files.py").write_text("#" * n + source)
        import importlib
        import linecache

        importlib.invalidate_caches()
        linecache.clearcache()

    write(SOURCE)
    yield write
    sys.modules.pop("own_in_files", None)


@pytest.fixture
def own_file(experiment_file: Path, module: Callable[[str], None]) -> Path:
    text = experiment_file.read_text().replace('["nDCG@10", "R@5"]', MEASURES)
    experiment_file.write_text(text.replace("depth = [10, 20]", "depth = 10"))
    return experiment_file


def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "own_in_files", None)


def test_a_file_names_it(own_file: Path, tmp_path: Path) -> None:
    result = ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    assert str(result.experiment.tune) == "share"
    assert set(result.tuned["measure"]) == {"share"}
    frame = result.frame
    assert {"share", "nDCG@10", "ir_measures:Judged@5"} <= set(frame.columns)
    condition = result.experiment.conditions[0]
    corpus = condition.corpus.load()
    swept = ev.sweep(
        corpus, grid=result.experiment.grid, scoring=result.experiment.scoring, measures=["R@3"]
    )
    n = len(swept.settings)
    assert np.allclose(frame["share"][:n], swept.frame["R@3"])


@pytest.mark.parametrize("tune", ["share", "own_in_files:share"])
def test_it_is_tuned_by_its_name_or_where_it_is(own_file: Path, tune: str) -> None:
    own_file.write_text(f'tune = "{tune}"\n' + own_file.read_text())
    assert str(ev.read_experiment(own_file).tune) == "share"


def test_what_is_wrong_with_it_is_a_fault_of_the_file(own_file: Path) -> None:
    text = own_file.read_text()
    own_file.write_text(text.replace("own_in_files:share", "own_in_files:no_such"))
    with pytest.raises(
        ExperimentError, match=r"measures: .*module 'own_in_files' has no 'no_such'"
    ):
        ev.read_experiment(own_file)
    own_file.write_text('tune = "err"\n' + text)
    with pytest.raises(ExperimentError, match="tune: unknown measure 'err'"):
        ev.read_experiment(own_file)


def test_the_same_code_is_taken_up_and_other_code_measured_anew(
    own_file: Path, module: Callable[[str], None], tmp_path: Path
) -> None:
    def run(code: str) -> tuple[ev.ExperimentResult, int]:
        module(code)
        result = ev.run_experiment(ev.read_experiment(own_file), out=out)
        return result, json.loads((out / "manifest.json").read_text())["conditions_taken_up"]

    out = tmp_path / "out"
    first, taken_up = run(SOURCE)
    assert taken_up == 0
    again, taken_up = run(SOURCE)
    assert taken_up == 2
    assert again.frame.equals(first.frame)
    changed, taken_up = run(OTHER)
    assert taken_up == 0
    assert changed.frame["share"].mean() > first.frame["share"].mean()
    assert changed.frame["nDCG@10"].equals(first.frame["nDCG@10"])
    assert ev.read_result(out).frame.equals(changed.frame)


def test_a_folder_half_measured_with_other_code_is_not_finished(
    own_file: Path, module: Callable[[str], None], tmp_path: Path
) -> None:
    from nousmem.evaluation.experiments.folder import ResultFolder

    out = tmp_path / "out"
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    module(OTHER)
    ResultFolder(out, ev.read_experiment(own_file)).begin()
    with pytest.raises(ExperimentError, match="2 of 2 conditions are not measured yet"):
        ev.read_result(out)


def test_a_result_is_read_where_the_code_is_not(
    own_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    gone(monkeypatch)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    read = ev.read_result(tmp_path / "out")
    for name in ("frame", "by_category", "tuned", "comparison"):
        assert getattr(read, name).equals(getattr(result, name)), name
    measured = read.conditions[0].measured
    assert measured.best("share") == measured.best() == result.best()
    assert read.experiment.tune == result.experiment.tune
    compared = ev.compare_results(result, read)
    assert set(compared["measure"]) == {"share", "nDCG@10", "ir_measures:Judged@5"}
    with pytest.raises(ExtensionError, match="measure share cannot be computed: its code is not"):
        ev.run_experiment(read.experiment)


def test_a_result_runs_no_code_when_it_is_read(own_file: Path, tmp_path: Path) -> None:
    ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    del sys.modules["own_in_files"]
    read = ev.read_result(tmp_path / "out")
    assert "own_in_files" not in sys.modules
    assert ev.run_experiment(read.experiment).frame.equals(read.frame)
    assert "own_in_files" in sys.modules


def test_what_is_written_says_which_code_measured(own_file: Path, tmp_path: Path) -> None:
    experiment = ev.read_experiment(own_file)
    ev.run_experiment(experiment, out=tmp_path / "out")
    wanted = [
        {"name": "share", "cutoff": None, "object": "own_in_files:share", "code": code(experiment)},
        "nDCG@10",
        Measure.parse("ir_measures:Judged@5").to_document(),
    ]
    for file in ("experiment.json", "conditions/000/condition.json"):
        assert json.loads((tmp_path / "out" / file).read_text())["measures"] == wanted
    corpus = experiment.conditions[0].corpus.load()
    swept = ev.sweep(corpus, grid=GRID, measures=experiment.measures)
    assert swept.provenance()["measures"] == wanted
    swept.write(tmp_path / "swept")
    assert ev.read_result(tmp_path / "swept").conditions[0].measured.measures == swept.measures


def code(experiment: ev.Experiment) -> str:
    (own, *_) = experiment.measures
    return own.source.code


def test_a_measure_of_a_notebook_can_be_read_elsewhere(own_file: Path, tmp_path: Path) -> None:
    inner = ev.measure(lambda ranks, gains: float(np.mean(1 / (1 + ranks))), name="any_found")
    experiment = ev.read_experiment(own_file)
    corpus = experiment.conditions[0].corpus.load()
    swept = ev.sweep(corpus, grid=GRID, measures=[inner])
    swept.write(tmp_path / "swept")
    read = ev.read_result(tmp_path / "swept")
    assert read.frame["any_found"].tolist() == swept.frame["any_found"].tolist()
    (measure,) = read.experiment.measures
    with pytest.raises(ExtensionError, match=r"any_found cannot be computed: .*inside a function"):
        measure.loaded()


def test_processes_measure_the_same(own_file: Path) -> None:
    experiment = ev.read_experiment(own_file)
    here = ev.run_experiment(experiment)
    there = ev.run_experiment(experiment, backend="processes", jobs=2)
    assert there.frame.equals(here.frame)
    assert there.conditions[0].measured.measures == experiment.measures


def test_a_gate_watches_it(own_file: Path, module: Callable[[str], None], tmp_path: Path) -> None:
    text = own_file.read_text()
    own_file.write_text(text[: text.index("[grid]")])
    baseline = tmp_path / "baseline.json"
    write_baseline(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    gate = check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    assert gate.passed
    assert "share" in set(gate.verdicts["measure"])
    done = CliRunner().invoke(app, ["gate", str(own_file), "--baseline", str(baseline)])
    assert done.exit_code == 0, done.output
    module(OTHER)
    with pytest.raises(ExperimentError, match="made with other code of share, so that"):
        check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)


def test_the_command_line_takes_it(own_file: Path) -> None:
    measures = "own_in_files:share@4,ir_measures:nDCG(gains={1:2,2:3})@5,R@5"
    command = ["sweep", str(own_file.parent / "tables"), "--grid", "w_importance=0,0.5"]
    table = CliRunner().invoke(app, [*command, "--measures", measures], terminal_width=200)
    assert table.exit_code == 0, table.output
    assert "best by share@4" in table.output
    done = CliRunner().invoke(app, [*command, "--measures", measures, "--json"])
    rows = json.loads(done.stdout)["rows"]
    assert rows[0]["share@4"] > 0
