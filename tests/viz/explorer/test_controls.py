import dataclasses
import importlib
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz._as_code import as_python, as_toml
from nousmem.viz.explorer._controls import depth_control, scoring_controls, scoring_from
from nousmem.viz.explorer.toolkit import code_boxes, fill_code

UNUSUAL = nm.Scoring(
    decay_lambda=0.00217,
    w_relevance=1.7,
    w_importance=-0.3,
    w_recency=0.123,
    recency_lambda=0,
    rrf_k=7.5,
    decay_curve="power",
    decay_floor=0.17,
    w_text=0.33,
    min_score=0.021,
)


def of(scoring: nm.Scoring, **retrieval: object) -> nm.Settings:
    return nm.Settings(scoring=scoring, retrieval=nm.Retrieval(**retrieval))


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL, nm.Scoring(decay_lambda=0)])
def test_controls_give_back_what_they_were_given(scoring: nm.Scoring) -> None:
    controls = scoring_controls(of(scoring))
    assert scoring_from(controls, {}) == scoring
    # Of what there is one of, there is no choice; the weights of one's own have a control each.
    choices = {f.name for f in dataclasses.fields(nm.Scoring)} - {"update_rule", "weights"}
    assert {one.name for one in controls} == choices


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL])
def test_every_step_is_a_setting_and_has_a_text_of_its_own(scoring: nm.Scoring) -> None:
    for control in scoring_controls(of(scoring)):
        texts = [text for text, _ in control.steps]
        assert len(set(texts)) == len(texts) > 1
        refused = 0
        for step, (_, value) in enumerate(control.steps):
            assert control.step_of(value) == step
            try:
                made = scoring_from([control], {control.name: step})
            except InvalidParameter:
                refused += 1
            else:
                assert getattr(made, control.name) == value
        assert refused == 0


def test_half_lives_grow_to_off() -> None:
    control = scoring_controls(nm.Settings())[0]
    rates = [rate for _, rate in control.steps]
    assert rates == sorted(rates, reverse=True)
    assert control.steps[-1] == ("off", 0.0)
    assert control.steps[control.start] == ("28.9 d", 0.001)
    # Two steps that say nearly the same would only be in the way.
    assert "30 d" not in [text for text, _ in control.steps]


def test_a_value_between_steps_goes_to_the_nearest() -> None:
    control = next(one for one in scoring_controls(nm.Settings()) if one.name == "w_relevance")
    assert control.steps[control.step_of(0.51)] == ("0.5", 0.5)
    assert control.step_of(None) == control.start


def test_the_depth_has_its_own_value_as_a_step() -> None:
    control = depth_control(nm.Retrieval(depth=33))
    assert control.steps[control.start] == ("33", 33)
    assert control.value_at(control.start) == 33
    assert [value for _, value in control.steps] == sorted(value for _, value in control.steps)
    unset = depth_control(nm.Retrieval())
    assert unset.steps[unset.start] == ("30", 30)
    assert unset.value_at(unset.start) is None


OWN = """
from dataclasses import dataclass
import numpy as np
import nousmem as nm

@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count)

@nm.term(decays=True)
def brevity(candidates):
    return np.array([1 / len(entry.content) for entry in candidates.entries])

def power(hours, decay_lambda):
    return np.maximum(0, 1 - decay_lambda * hours)

class Fusions:
    @staticmethod
    def first(legs):
        return np.nanmax(np.where(legs.ranks > 0, 1.0 / (1 + legs.ranks), 0), axis=0)

@dataclass(frozen=True)
class Newest:
    keys: tuple = ("topic",)
    name: str = "newest"

    def search(self, request):
        entries = sorted(request.entries(), key=lambda one: (one.created_at, one.id))
        return [(one, float(at)) for at, one in enumerate(entries)][::-1][: request.depth]

@dataclass(frozen=True)
class ByCount:
    penalty: float = 0.1

    def __call__(self, relevance, similarity, created):
        return (1 - self.penalty) ** (similarity >= 0.3).sum(axis=1)
"""
"""Its curve has the name of a built-in one."""


def own_settings(own_code: Callable[..., Path]) -> nm.Settings:
    own_code(mine=OWN)
    mine = importlib.import_module("mine")
    return nm.Settings(
        retrieval=nm.Retrieval(
            legs=["text", mine.Newest(keys=("topic", "person"))],
            terms=[mine.frequency, mine.brevity],
            depth=44,
        ),
        scoring=nm.Scoring(
            decay_curve=mine.power,
            fusion=mine.Fusions.first,
            update_rule=mine.ByCount(),
            weights={"frequency": 0.12, "newest": 2},
        ),
        injection=nm.Injection(inject_min_score=0.12, inject_limit=3),
        embedder="made-up",
    )


def test_parts_of_ones_own_have_a_control_each(own_code: Callable[..., Path]) -> None:
    settings = own_settings(own_code)
    controls = {one.name: one for one in scoring_controls(settings, also=[nm.Scoring()])}
    assert scoring_from(controls.values(), {}) == settings.scoring
    leg, weighed, unset = (controls[f"w_{name}"] for name in ("newest", "frequency", "brevity"))
    assert (leg.steps[leg.start], weighed.steps[weighed.start]) == (("2", 2.0), ("0.12", 0.12))
    assert unset.steps[unset.start] == ("0", 0.0)
    assert leg.step_of(1.0) == [value for _, value in leg.steps].index(1.0)  # the baseline's
    assert all(one.main for one in (leg, weighed, unset))
    moved = scoring_from(controls.values(), {"w_brevity": 3, "w_frequency": 0})
    assert dict(moved.weights) == {"brevity": unset.steps[3][1], "frequency": 0.0, "newest": 2.0}
    own = {
        "fusion": ["rrf", "rrf raw", "convex", "first"],
        "decay_curve": ["exponential", "hyperbolic", "power", "step", "mine:power"],
        "update_rule": ["freshness", "ByCount"],
    }
    for name, texts in own.items():
        control = controls[name]
        assert [text for text, _ in control.steps] == texts
        assert control.steps[control.start] == (texts[-1], getattr(settings.scoring, name))


def test_code_makes_the_same_settings_of_ones_own(own_code: Callable[..., Path]) -> None:
    settings = own_settings(own_code)
    python = as_python(settings)
    assert "from mine import Newest" in python
    assert "from mine import Fusions" in python
    assert "w_relevance" not in python
    assert "weights={'frequency': 0.12, 'newest': 2.0}" in python
    assert "#" not in python
    assert made_by(python) == settings
    assert nm.Settings.from_toml(as_toml(settings)) == settings


def test_objects_of_one_name_are_told_apart(own_code: Callable[..., Path]) -> None:
    own_code(mine=OWN, other=OWN, nested="settings = lambda hours, decay_lambda: hours * 0 + 1")
    mine, other = map(importlib.import_module, ("mine", "other"))
    settings = nm.Settings(
        retrieval=nm.Retrieval(legs=["text", mine.Newest(), other.Newest(name="last")]),
        scoring=nm.Scoring(decay_curve="nested:settings"),
    )
    assert made_by(as_python(settings)) == settings


def test_what_no_import_finds_is_said() -> None:
    def local(hours, decay_lambda):
        return hours * 0 + 1

    python = as_python(of(nm.Scoring(decay_curve=local)))
    assert "local has no name to import it by: define it in a module" in python
    place: dict = {"local": local}
    exec(python, place)
    assert place["settings"].scoring.decay_curve is local


def made_by(python: str) -> nm.Settings:
    place: dict = {}
    exec(python, place)
    return place["settings"]


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL, nm.Scoring(half_life_days=90)])
def test_code_makes_the_same_settings(scoring: nm.Scoring) -> None:
    settings = of(scoring, depth=77, legs=["text"])
    assert made_by(as_python(settings)) == settings
    assert nm.Settings.from_toml(as_toml(settings)) == settings
    assert "depth" not in as_python(nm.Settings())
    assert made_by(as_python(nm.Settings())) == nm.Settings()


def test_code_holds_what_a_part_is_made_with(own_code: Callable[..., Path]) -> None:
    own_code(
        curves="""
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Curve:
    least: float = 0.0
    since: object = None
    steps: tuple = ()
    inner: object = None

    def __call__(self, hours, decay_lambda):
        return np.exp(-decay_lambda * hours)

def first(hours, decay_lambda):
    return hours * 0
"""
    )
    curves = importlib.import_module("curves")
    since = datetime(2026, 3, 1, tzinfo=UTC)
    curve = curves.Curve(least=-math.inf, since=since, steps=((1, math.inf), ()))
    settings = of(nm.Scoring(decay_curve=curve))
    assert made_by(as_python(settings)) == settings
    assert nm.Settings.from_toml(as_toml(settings)) == settings

    # A file holds no functions, Python does.
    settings = of(nm.Scoring(decay_curve=curves.Curve(inner=curves.first)))
    assert made_by(as_python(settings)) == settings
    with pytest.raises(InvalidParameter, match="made with something else"):
        as_toml(settings)
    button, row, python, toml = code_boxes()
    button.value = True
    fill_code(button, row, python, toml, settings)
    assert python.value == as_python(settings)
    assert toml.value.startswith("# settings are written as numbers")
    settings = of(nm.Scoring(decay_curve=curves.Curve(inner=Path("a"))))
    assert "is to be written by hand" in as_python(settings)
