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
    for plan, depth in zip(experiment.plans(), [10, 20, 10, 20], strict=True):
        assert plan.n_tried == 6
        assert {one.retrieval for one in plan.settings} == {nm.Retrieval(depth=depth)}
        assert plan.settings[plan.baseline] == nm.Settings(retrieval=nm.Retrieval(depth=depth))


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


LEGS = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Nothing:
    often: int = 1
    name: str = "nothing"

    def search(self, request):
        return []
"""


def test_legs_are_texts_tables_and_lists(tmp_path: Path, own_code):
    own_code(legs_here=LEGS)
    file = tmp_path / "x.toml"
    table = '{ object = "legs_here:Nothing", often = 2 }'
    file.write_text(
        '[corpus]\nname = "assistant-year"\n[retrieval]\n'
        f'legs = ["all", "text, legs_here:Nothing", ["text", {table}], {table}]\n'
    )
    nothing = ev.read_experiment(file).conditions[1].retrieval.way().legs[1]
    twice = dataclasses.replace(nothing, often=2)
    ways = [("text", nothing), ("text", twice), (twice,)]
    experiment = ev.read_experiment(file)
    assert [one.retrieval.way().legs for one in experiment.conditions] == [None, *ways]
    again = ev.Experiment.from_document(json.loads(json.dumps(experiment.to_document())))
    assert [one.retrieval.way().legs for one in again.conditions] == [None, *ways]
    assert condition_names(again.conditions)[2:] == [
        "assistant-year, legs text,legs_here:Nothing(often=2)",
        "assistant-year, legs legs_here:Nothing(often=2)",
    ]
    file.write_text(file.read_text().replace("[retrieval]", "[grid]"))
    experiment = ev.read_experiment(file)
    again = ev.Experiment.from_document(json.loads(json.dumps(experiment.to_document())))
    for one in (experiment, again):
        (plan,) = one.plans()
        assert [setting.retrieval.legs for setting in plan.settings] == [None, *ways]
        assert len(plan.retrievals) == 4


def test_a_grid_varies_how_candidates_are_found(tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text(
        '[corpus]\nname = "assistant-year"\n[retrieval]\nembedder = "hashing"\n'
        'legs = ["text", "text,vector"]\n[grid]\ndepth = [10, 30]\nrrf_k = [5, 60]\n'
        "[baseline]\ndepth = 50\nhalf_life_days = 100\n"
    )
    experiment = ev.read_experiment(file)
    for plan, legs in zip(experiment.plans(), [["text"], ["text", "vector"]], strict=True):
        assert plan.parameters == ("depth", "rrf_k")
        assert plan.n_tried == 4
        ways = [nm.Retrieval(legs=legs, depth=depth) for depth in (10, 30, 50)]
        assert plan.retrievals == ways
        against = nm.Settings(retrieval=ways[2], scoring=nm.Scoring(half_life_days=100))
        assert plan.settings[plan.baseline] == against


def test_several_grids_are_tried_one_after_another(tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text(
        '[corpus]\nname = "assistant-year"\n[scoring]\nw_recency = 0\n'
        "[[grid]]\nrrf_k = [5, 60]\n[[grid]]\ndepth = [10]\nhalf_life_days = [30, 365]\n"
    )
    (plan,) = ev.read_experiment(file).plans()
    assert plan.parameters == ("depth", "half_life_days", "rrf_k")
    assert plan.n_tried == len(plan.settings) == 4
    assert plan.baseline == 1
    assert not plan.is_grid


def test_injection_goes_along_with_the_weights(tmp_path: Path):
    file = tmp_path / "x.toml"
    file.write_text(
        '[corpus]\nname = "assistant-year"\n[injection]\ninject_limit = 2\n'
        "inject_min_score = 0.4\n[grid]\nw_importance = [0.3, 0]\n"
    )
    (plan,) = ev.read_experiment(file).plans()
    assert [one.injection.inject_limit for one in plan.settings] == [2, 2]
    assert [one.injection.inject_min_score for one in plan.settings] == [0.4, 0.25]


def test_what_was_asked_survives_json(tmp_path: Path, experiment_file: Path):
    searched = tmp_path / "searched.toml"
    searched.write_text(
        '[corpus]\nname = "assistant-year"\n[sampler]\nmethod = "sobol"\ntrials = 8\n[grid]\n'
        "half_life_days = { low = 7, high = 3650, log = true, also = [inf] }\n"
        'weights = { step = 0.1 }\ndecay_curve = ["power", "step"]\n'
    )
    for file in (experiment_file, searched):
        experiment = ev.read_experiment(file)
        again = ev.Experiment.from_document(json.loads(json.dumps(experiment.to_document())))
        assert again.to_document() == experiment.to_document()
        assert again.plans() == experiment.plans()
        assert again.conditions == experiment.conditions


FAULTS = {
    "measure = ['R@5']": "no key 'measure'",
    "measures = ['R at 5']": "R at 5",
    "tune = 'AP'": "AP is not measured",
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
        ('[corpus]\nname = "assistant-year"\n[sampler]\nmethod = "sobol"\n', "trials"),
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
            '[corpus]\nname = "beam"\n[retrieval]\ndepth = 30\n[grid]\ndepth = [10, 20]\n',
            r"depth: fixed in \[retrieval\] and varied",
        ),
        (
            '[corpus]\nname = "beam"\n[scoring]\nw_x = 1\n[[grid]]\n[[grid]]\nw_x = [1]\n',
            r"w_x: fixed in \[scoring\] and varied",
        ),
        ('[corpus]\nname = "beam"\n[scoring]\nw_x = 1\n', "scoring: w_x is a weight of no leg"),
        ('[corpus]\nname = "beam"\n[grid]\ndepth = [0]\n', "grid: depth must"),
        ('[corpus]\nname = "beam"\n[grid]\nlegs = ["txet"]\n', "did you mean 'text'"),
        ('[corpus]\nname = "beam"\n[grid]\nlegs = ["vector"]\n', "needs an embedder"),
        ('[corpus]\nname = "beam"\n[grid]\ninject_limit = [3]\n', "sweep_injection"),
        ('[corpus]\nname = "beam"\n[injection]\nlimit = 3\n', "injection.* has no .*'limit'"),
        ('[corpus]\nname = "beam"\n[baseline]\ndepht = 3\n', "baseline: unknown parameter"),
        ('[corpus]\nname = "beam"\n[baseline]\ndepth = 0\n', "baseline: depth must"),
        ('[corpus]\nname = "beam"\n[retrieval]\nlegs = [3]\n', "legs must be a text such as"),
        ('[corpus]\nname = "beam"\n[retrieval]\nterms = "x:y"\n', "no module 'x'"),
        ('grid = 3\n[corpus]\nname = "beam"\n', "grid must be a table"),
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
            (
                '[corpus]\nname = "beam"\n[grid]\nrrf_k = [3]\n'
                '[sampler]\nmethod = "optuna"\ntrials = 3'
            ),
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
    assert all(plan.n_tried >= 1 for plan in experiment.plans())


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
