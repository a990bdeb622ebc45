"""What an experiment file says, and what is wrong with one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import ExperimentError, InvalidParameter
from nousmem.evaluation.experiments.conditions import condition_names

ROOT = Path(__file__).parents[3]


def test_lists_are_multiplied_out(experiment_file: Path):
    experiment = ev.read_experiment(experiment_file)
    found = [(one.retrieval.embedder, one.retrieval.depth) for one in experiment.conditions]
    assert found == [(None, 10), (None, 20), ("hashing", 10), ("hashing", 20)]
    assert {one.corpus.path for one in experiment.conditions} == {
        str(experiment_file.parent / "tables")
    }
    settings = experiment.settings()
    assert settings.n_tried == 6
    assert settings.scorings[settings.baseline] == nm.Scoring()


def test_loader_options_are_varied(tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text(
        '[[corpus]]\nname = "locomo"\nvary = { granularity = ["turn", "session"] }\n'
        '[[corpus]]\nname = "assistant-year"\n[retrieval]\nlegs = ["text", "text,vector", "all"]\n'
        'embedder = "hashing"\n'
    )
    experiment = ev.read_experiment(file)
    assert [one.corpus.options for one in experiment.conditions[::3]] == [
        {"granularity": "turn"},
        {"granularity": "session"},
        {},
    ]
    assert [one.retrieval.legs for one in experiment.conditions[:3]] == [
        ("text",),
        ("text", "vector"),
        None,
    ]


def test_what_was_asked_survives_json(tmp_path: Path, experiment_file: Path):
    searched = tmp_path / "searched.toml"
    searched.write_text(
        '[corpus]\nname = "assistant-year"\n[search]\nmethod = "sobol"\ntrials = 8\n[grid]\n'
        "half_life_days = { low = 7, high = 3650, log = true, also = [inf] }\n"
        'weights = { step = 0.1 }\ndecay_curve = ["power", "step"]\n'
    )
    for file in (experiment_file, searched):
        experiment = ev.read_experiment(file)
        again = ev.Experiment.from_document(json.loads(json.dumps(experiment.to_document())))
        assert again.to_document() == experiment.to_document()
        assert again.settings() == experiment.settings()
        assert again.conditions == experiment.conditions


FAULTS = {
    "measure = ['R@5']": "no key 'measure'",
    "measures = ['R at 5']": "R at 5",
    "tune = 'AP'": "none of the measures",
    "folds = 1": "folds",
    "seed = -1": "seed",
    "folds = true": "folds",
    "title = 3": "title",
    "retrieval = 3": "retrieval",
}


@pytest.mark.parametrize("line", FAULTS)
def test_faults_are_named(tmp_path: Path, line: str):
    file = tmp_path / "x.toml"
    file.write_text(f'{line}\n[corpus]\nname = "assistant-year"\n')
    with pytest.raises(ExperimentError, match=FAULTS[line]) as caught:
        ev.read_experiment(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("[corpus]\n", "name"),
        ('[corpus]\nname = "assistant-year"\nsize = 3\n', "'size'"),
        ("[corpus]\nname = 3\n", "name must be"),
        ('[corpus]\nname = "tables"\npath = 7\n', "path must be"),
        ('[corpus]\nname = "tables"\noptions = 7\n', "options must be"),
        ('[corpus]\nname = "tables"\nvary = [7]\n', "vary must be"),
        (f'[corpus]\nname = "beam"\n[scoring]\nhalf_life_days = {"9" * 400}\n', "fits a float"),
        ('[corpus]\nname = "assistant-year"\nvary = { x = 3 }\n', "list"),
        ('[corpus]\nname = "assistant-year"\n[retrieval]\ndepth = true\n', "depth"),
        ('[corpus]\nname = "assistant-year"\n[retrieval]\nembedder = []\n', "embedder"),
        ('[corpus]\nname = "assistant-year"\n[grid]\nlambda = [1]\n', "lambda"),
        ('[corpus]\nname = "assistant-year"\n[grid]\nrrf_k = 3\n', "rrf_k"),
        ('[corpus]\nname = "assistant-year"\n[grid]\nrrf_k = { low = 3, high = 4 }\n', "range"),
        ('[corpus]\nname = "assistant-year"\n[grid]\nrrf_k = { lo = 3 }\n', "lo"),
        ('[corpus]\nname = "assistant-year"\n[scoring]\nrrf_k = -3\n', "rrf_k"),
        ('[corpus]\nname = "assistant-year"\n[search]\nmethod = "sobol"\n', "trials"),
        ('[corpus]\nname = "beam"\n[retrieval]\ndepth = [30, 30]\n', "stands twice"),
        ('[corpus]\nname = "beam"\n[retrieval]\ndepth = [30, 0]\n', "retrieval: depth must"),
        ('[corpus]\nname = "beam"\n[retrieval]\nstore = "sqlit"\n', "retrieval: unknown store"),
        ('[corpus]\nname = "beam"\n[retrieval]\nlegs = "vector"\n', "needs an embedder"),
        (
            (
                '[corpus]\nname = "beam"\n'
                '[retrieval]\nstore = "sqlite:x.db"\nembedder = ["none", "hashing"]\n'
            ),
            "would be filled from 2",
        ),
        ("corpus = []\n", "no condition"),
        (
            '[corpus]\nname = "beam"\n[scoring]\nhalf_life_days = 3\n[grid]\ndecay_lambda = [1]\n',
            r"decay_lambda: fixed in \[scoring\] and varied",
        ),
        (
            '[corpus]\nname = "beam"\n[grid]\nweights = { step = 0.00001 }\n',
            "5,000,150,001 settings",
        ),
        (
            (
                f'[corpus]\nname = "beam"\n[grid]\nrrf_k = {list(range(1, 2001))}\n'
                f"w_importance = {list(range(1000))}\n"
            ),
            r"2,000,000 settings \(2,000 of rrf_k × 1,000 of w_importance\)",
        ),
        (
            '[corpus]\nname = "beam"\n[grid]\nrrf_k = [3]\n[search]\nmethod = "optuna"\ntrials = 3',
            "optuna",
        ),
    ],
)
def test_faults_of_tables_are_named(tmp_path: Path, tables: str, message: str):
    file = tmp_path / "x.toml"
    file.write_text(tables)
    with pytest.raises(ExperimentError, match=message):
        ev.read_experiment(file)


def test_all_faults_are_told_at_once(tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text('folds = 0\nseed = "a"\nmeasure = 3\n[retrieval]\ndepth = "deep"\n')
    with pytest.raises(ExperimentError) as caught:
        ev.read_experiment(file)
    for word in ("folds", "seed", "'measure'", "depth", "[corpus]"):
        assert word in str(caught.value)


@pytest.mark.parametrize("content", [b"title = ", b"\xff\xfe", b"a = 1\na = 2\n"])
def test_what_is_no_toml_is_named(tmp_path: Path, content: bytes):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(ExperimentError, match=r"x\.toml"):
        ev.read_experiment(file)
    with pytest.raises(ExperimentError, match="no experiment file"):
        ev.read_experiment(tmp_path / "y.toml")


@pytest.mark.parametrize(
    "file", sorted((ROOT / "evals").glob("*.toml")), ids=lambda file: file.stem
)
def test_the_committed_experiments_are_valid(file: Path):
    experiment = ev.read_experiment(file)
    assert experiment.settings().n_tried >= 1


def test_what_is_tuned_is_measured(experiment_file: Path):
    experiment = dataclasses.replace(
        ev.read_experiment(experiment_file), tune=ev.Measure.parse("AP")
    )
    with pytest.raises(InvalidParameter, match="tune AP is none of the measures"):
        ev.run_experiment(experiment)


def test_no_two_conditions_have_the_same_name(tmp_path: Path):
    file = tmp_path / "x.toml"
    tables = "".join(
        f'[[corpus]]\nname = "tables"\npath = "{path}"\n'
        for path in ("a/notes", "b/notes", "b/mail")
    )
    file.write_text(tables)
    names = condition_names(ev.read_experiment(file).conditions)
    assert names == ["tables, path notes", "tables, path notes (2)", "tables, path mail"]
