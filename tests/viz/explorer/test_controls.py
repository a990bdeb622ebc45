import dataclasses
import tomllib

import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz.explorer.as_code import as_python, as_toml
from nousmem.viz.explorer.controls import depth_control, scoring_controls, scoring_from

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


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL, nm.Scoring(decay_lambda=0)])
def test_controls_give_back_what_they_were_given(scoring: nm.Scoring) -> None:
    controls = scoring_controls(scoring)
    assert scoring_from(controls, {}) == scoring
    assert {one.name for one in controls} == {f.name for f in dataclasses.fields(nm.Scoring)}


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL])
def test_every_step_is_a_setting_and_has_a_text_of_its_own(scoring: nm.Scoring) -> None:
    for control in scoring_controls(scoring):
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
    control = scoring_controls(nm.Scoring())[0]
    rates = [rate for _, rate in control.steps]
    assert rates == sorted(rates, reverse=True)
    assert control.steps[-1] == ("off", 0.0)
    assert control.steps[control.start] == ("28.9 d", 0.001)
    # Two steps that say nearly the same would only be in the way.
    assert "30 d" not in [text for text, _ in control.steps]


def test_a_value_between_steps_goes_to_the_nearest() -> None:
    control = next(one for one in scoring_controls(nm.Scoring()) if one.name == "w_relevance")
    assert control.steps[control.step_of(0.51)] == ("0.5", 0.5)
    assert control.step_of(None) == control.start


def test_the_pool_has_its_own_value_as_a_step() -> None:
    control = depth_control(33)
    assert control.steps[control.start] == ("33", 33)
    assert [value for _, value in control.steps] == sorted(value for _, value in control.steps)


@pytest.mark.parametrize("scoring", [nm.Scoring(), UNUSUAL])
def test_code_makes_the_same_settings(scoring: nm.Scoring, store: nm.Store) -> None:
    place: dict = {"store": store, "embedder": None}
    exec(as_python(scoring, depth=77), place)
    assert place["search"] == nm.Search(store, scoring=scoring, depth=77)
    read = tomllib.loads(as_toml(scoring, depth=77))
    assert nm.Scoring.from_dict(read["scoring"]) == scoring
    assert read["depth"] == 77
    assert "depth=" not in as_python(scoring)
