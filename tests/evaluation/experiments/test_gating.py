"""A gate that fails when retrieval has become worse, and only then."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nousmem import evaluation as ev
from nousmem.errors import ExperimentError, InvalidParameter
from nousmem.evaluation.experiments import check_gate, write_baseline


@pytest.fixture
def gate_file(experiment_file: Path) -> Path:
    text = experiment_file.read_text()
    experiment_file.write_text(text[: text.index("[grid]")])
    return experiment_file


@pytest.fixture
def baseline(gate_file: Path, tmp_path: Path) -> Path:
    write_baseline(ev.run_experiment(ev.read_experiment(gate_file)), tmp_path / "baseline.json")
    return tmp_path / "baseline.json"


def measured(file: Path, **changes: str) -> ev.ExperimentResult:
    text = file.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return ev.run_experiment(ev.read_experiment(file))


def test_what_is_as_it_was_passes(gate_file: Path, baseline: Path):
    gate = check_gate(measured(gate_file), baseline)
    assert gate.passed
    assert not len(gate.moved)
    assert set(gate.verdicts["verdict"]) == {"held"}
    assert gate.verdicts["difference"].eq(0).all()


def test_what_is_worse_falls_and_says_which_queries(gate_file: Path, baseline: Path):
    gate = check_gate(measured(gate_file, **{"w_recency = 0": "w_relevance = -1"}), baseline)
    assert not gate.passed
    fallen = gate.verdicts[gate.verdicts["verdict"] == "fell"]
    assert len(fallen)
    assert fallen["high"].lt(0).all()
    assert gate.moved["change"].is_monotonic_increasing
    worst = gate.moved.iloc[0]
    assert worst["before"] > worst["after"]
    assert worst["text"]
    tolerant = check_gate(ev.run_experiment(ev.read_experiment(gate_file)), baseline, tolerance=1)
    assert tolerant.passed


def test_one_query_that_falls_is_shown_and_is_no_fall(gate_file: Path, baseline: Path):
    document = json.loads(baseline.read_text())
    name = next(iter(document["conditions"]))
    row = next(iter(document["conditions"][name]["queries"].values()))
    row[0] = min(1.0, row[0] + 0.3)
    baseline.write_text(json.dumps(document))
    gate = check_gate(measured(gate_file), baseline)
    assert gate.passed
    assert len(gate.moved) == 1
    assert gate.verdicts["worse"].sum() == 1


def test_a_query_that_is_no_longer_measured_is_a_fall(
    gate_file: Path, baseline: Path, write_tables
):
    write_tables(gate_file.parent / "tables", n_queries=56)
    gate = check_gate(measured(gate_file), baseline)
    assert not gate.passed
    assert len(gate.lost) == 4 * 4
    assert not gate.new


def test_a_baseline_of_something_else_is_refused(gate_file: Path, baseline: Path, tmp_path: Path):
    with pytest.raises(ExperimentError, match="make the baseline again"):
        check_gate(measured(gate_file, **{"depth = [10, 20]": "depth = [10]"}), baseline)
    result = ev.run_experiment(ev.read_experiment(gate_file))
    with pytest.raises(ExperimentError, match="--update"):
        check_gate(result, tmp_path / "none.json")
    for content in ("{}", "[", '{"measures": ["R@5"], "conditions": {"x": 3}}', "[1]"):
        baseline.write_text(content)
        with pytest.raises(ExperimentError, match="is no baseline"):
            check_gate(result, baseline)


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf")])
def test_a_tolerance_that_forgives_everything_is_refused(
    gate_file: Path, baseline: Path, tolerance: float
):
    result = ev.run_experiment(ev.read_experiment(gate_file))
    with pytest.raises(InvalidParameter, match="tolerance"):
        check_gate(result, baseline, tolerance=tolerance)


def test_a_gate_watches_one_setting(experiment_file: Path, tmp_path: Path):
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    with pytest.raises(ExperimentError, match="one setting"):
        write_baseline(result, tmp_path / "x.json")


def test_changes_up_and_down_by_chance_are_seldom_a_fall(gate_file: Path, baseline: Path):
    """Eight verdicts, of which any may fall: were each held to 95 %, a tenth of such gates fail."""
    result = ev.run_experiment(ev.read_experiment(gate_file))
    rng = np.random.default_rng(7)
    fallen = 0
    for _ in range(40):
        conditions = [
            replace(one, measured=replace(one.measured, values=_moved(one.measured.values, rng)))
            for one in result.conditions
        ]
        fallen += not check_gate(replace(result, conditions=tuple(conditions)), baseline).passed
    assert fallen <= 4


def _moved(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fifth of the queries, all measures together, up or down alike."""
    signs = rng.choice([-0.3, 0, 0.3], values.shape[-1], p=[0.1, 0.8, 0.1])
    return values + signs


def test_one_users_queries_that_fall_are_a_fall(gate_file: Path, baseline: Path):
    """Of six users one alone is hurt: what is drawn is single queries."""
    result = ev.run_experiment(ev.read_experiment(gate_file))
    first = result.conditions[0]
    hurt = [query.group == "u3" for query in first.measured.queries]
    values = first.measured.values - 0.4 * np.array(hurt)
    worse = replace(first, measured=replace(first.measured, values=values))
    gate = check_gate(replace(result, conditions=(worse, *result.conditions[1:])), baseline)
    assert gate.verdicts["verdict"].eq("fell").sum() == 2


def test_a_corpus_without_updates_beside_one_with_them(gate_file: Path, tmp_path: Path):
    """Fresh exists under one condition alone; a query that loses its marks is lost."""
    gate_file.write_text(
        gate_file.read_text().replace('"R@5"]', '"R@5", "Fresh@5"]')
        + '\n[[corpus]]\nname = "assistant-year"\n'
    )
    text = gate_file.read_text().replace("[corpus]\n", "[[corpus]]\n")
    text = text.replace('embedder = ["none", "hashing"]\ndepth = [10, 20]', "")
    gate_file.write_text(text.replace("[[[", "[[").replace("]]]", "]]"))
    result = ev.run_experiment(ev.read_experiment(gate_file))
    file = tmp_path / "both.json"
    write_baseline(result, file)
    gate = check_gate(result, file)
    assert gate.passed
    assert len(gate.verdicts) == 2 + 3
    year = result.conditions[1]
    values = year.measured.values.copy()
    marked = np.flatnonzero(~np.isnan(values[0, 2]))
    values[:, 2, marked[:3]] = np.nan
    unmarked = replace(year, measured=replace(year.measured, values=values))
    gate = check_gate(replace(result, conditions=(result.conditions[0], unmarked)), file)
    assert not gate.passed
    assert len(gate.lost) == 3
    assert gate.lost[0].endswith(": Fresh@5")
