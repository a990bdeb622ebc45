"""Draws from spaces too large for a grid: through the same call, and the same bytes each time."""

from __future__ import annotations

import json
import logging
import math
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.sweeps.grids import grid_settings
from nousmem.evaluation.sweeps.ranges import Range, Simplex
from nousmem.evaluation.sweeps.values import score_settings

SPACE = {
    "half_life_days": Range(1, 3650, log=True, also=[math.inf]),
    "weights": Simplex(),
    "decay_curve": ["exponential", "power"],
    "rrf_k": Range(0, 100),
    "update_depth": Range(0, 20, whole=True),
}


def sampled(corpus: nm.Corpus, sampler: str, grid=SPACE, **options) -> ev.SweepResult:
    options = {"trials": 40, "measures": ["AP", "R@5"]} | options
    return ev.sweep(corpus, store="memory", grid=grid, sampler=sampler, **options)


@pytest.mark.parametrize("sampler", ["random", "sobol", "optuna"])
def test_a_sampler_is_a_sweep_of_the_settings_it_drew(corpus, sampler):
    if sampler == "optuna":
        pytest.importorskip(sampler)
    level = logging.getLogger("optuna").level
    swept = sampled(corpus, sampler, seed=7)
    again = sampled(corpus, sampler, seed=7)
    assert again.settings == swept.settings
    pd.testing.assert_frame_equal(again.frame, swept.frame, check_exact=True)
    assert sampled(corpus, sampler, seed=8).settings != swept.settings
    assert logging.getLogger("optuna").level == level

    assert swept.settings[0] == nm.Settings()
    assert swept.baseline_index() == 0
    assert swept.n_tried == len(swept.settings)
    drawn = [one.scoring for one in swept.settings[1:]]
    assert len(set(drawn)) == len(drawn) == 40
    assert swept.parameters == (
        *("decay_curve", "half_life_days", "rrf_k", "update_depth"),
        *("w_importance", "w_recency", "w_relevance"),
    )
    half_lives = swept.frame["half_life_days"][1:]
    assert half_lives.between(1, math.inf).all()
    assert half_lives[np.isfinite(half_lives)].max() <= 3650 * (1 + 1e-12)
    assert np.isinf(half_lives).sum() in range(1, 15)
    assert {one.decay_curve for one in drawn} == {"exponential", "power"}
    assert {float(one.update_depth) for one in drawn} <= {float(depth) for depth in range(21)}
    for one in drawn:
        assert sum(one.term_weights()) == pytest.approx(1)
        assert min(one.term_weights()) >= 0
    scorings = [one.scoring for one in swept.settings]
    expected = score_settings(swept.candidates_of(0), scorings, swept.measures)
    np.testing.assert_array_equal(swept.values_of("AP"), expected[:, 0])
    how = swept.provenance()["sampler"]
    assert json.loads(json.dumps(how)) == how
    assert (how["method"], how["trials"], how["seed"]) == (sampler, 40, 7)
    assert how.get("objective") == ("AP" if sampler == "optuna" else None)


def test_optuna_does_better_than_chance(corpus):
    pytest.importorskip("optuna")
    best = {
        sampler: np.mean(
            [
                sampled(corpus, sampler, trials=64, seed=seed).frame["AP"].nlargest(20).mean()
                for seed in range(2)
            ]
        )
        for sampler in ("random", "optuna")
    }
    assert best["optuna"] > best["random"]


def test_optuna_is_led_by_the_objective(corpus):
    pytest.importorskip("optuna")
    led = {name: sampled(corpus, "optuna", objective=name) for name in ("AP", "R@5")}
    assert led["AP"].settings[:6] == led["R@5"].settings[:6]
    assert led["AP"].settings != led["R@5"].settings


def test_without_optuna_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(nm.MissingDependency, match=r"nousmem\[samplers\]"):
        sampled(object(), "optuna")


def test_a_setting_drawn_twice_is_tried_once(corpus):
    swept = sampled(corpus, "random", {"rrf_k": [5, 60], "decay_clock": ["creation"]}, trials=30)
    assert len(swept.settings) == len(set(swept.settings)) == 3


def test_a_simplex_with_a_step_is_a_grid():
    names, settings = grid_settings({"weights": Simplex(step=0.1), "rrf_k": [5, 60]})
    assert names == ["rrf_k", "w_importance", "w_recency", "w_relevance"]
    assert len(settings) == len(set(settings)) == 132
    assert [one.scoring.term_weights() for one in settings[:3]] == [
        (1, 0, 0),
        (0.9, 0.1, 0),
        (0.9, 0, 0.1),
    ]
    assert settings[65].scoring.term_weights() == (0, 0, 1)
    assert {one.scoring.rrf_k for one in settings[:66]} == {5}
    assert all(sum(one.scoring.term_weights()) == pytest.approx(1) for one in settings)
    assert {0.1 * 3, 0.3} & {one.scoring.w_importance for one in settings} == {0.3}


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.sampled_from([None, 1, 0.5, 0.1]))
def test_a_simplex_stays_on_its_points(place, step):
    point = Simplex(step=step).at(place)
    assert min(point) >= 0
    assert sum(point) == pytest.approx(1)
    if step is not None:
        assert point in Simplex(step=step).points()
        free = np.array(Simplex().at(place))
        distances = [np.abs(free - one).sum() for one in Simplex(step=step).points()]
        assert np.abs(free - point).sum() == pytest.approx(min(distances))


def test_draws_are_even():
    rng = np.random.default_rng(0)
    places = rng.random((4000, 2)).tolist()
    points = np.array([Simplex().at(place) for place in places])
    assert points.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.02)
    assert (points > 0.5).mean(axis=0) == pytest.approx([0.25] * 3, abs=0.03)
    across = Range(1, 100, log=True, also=[None, math.inf])
    values = [across.at(place) for place in places]
    assert values.count(None) / 4000 == pytest.approx(0.1, abs=0.02)
    assert values.count(math.inf) / 4000 == pytest.approx(0.1, abs=0.02)
    rest = [value for value in values if value not in (None, math.inf)]
    assert np.median(rest) == pytest.approx(10, rel=0.15)
    assert (across.at([0.2]), across.at([1.0])) == (1, 100)


@given(st.floats(0, 1), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_a_range_keeps_to_its_ends(place, low, width, log):
    low = abs(low) + 1e-6 if log else low
    high = low + width
    if low < high:
        assert low <= Range(low, high, log=log).at([place]) <= high


def test_decay_off_by_a_sampler_is_warned_about_like_a_grids(corpus):
    space = {"half_life_days": Range(1, 100, also=[math.inf])}
    with pytest.warns(ev.ConfoundedGridWarning, match="w_recency") as caught:
        sampled(corpus, "random", space)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampled(corpus, "random", space | {"w_recency": [0]}, scoring=nm.Scoring(w_recency=0))


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"update_depth": Range(0, 9)}, {"sampler": "random", "trials": 5}, "whole number"),
        (
            {"rrf_k": Range(0.5, 9, whole=True)},
            {"sampler": "random", "trials": 5},
            "of whole numbers ends in them",
        ),
        ({"rrf_k": Range(0, 9)}, {}, "rrf_k: a grid cannot list a range"),
        ({"weights": Simplex()}, {}, "needs a step"),
        ({"weights": Simplex(step=0.3)}, {}, "must divide 1"),
        ({"weights": [1]}, {}, "stands under the name 'weights'"),
        ({"rrf_k": Simplex(step=0.1)}, {}, "stands under the name 'weights'"),
        ({"weights": Simplex(step=0.1), "w_recency": [0]}, {}, "varies w_recency already"),
        ({"rrf_k": [1]}, {"trials": 5}, "a grid tries every setting"),
        ({"rrf_k": [1]}, {"objective": "AP"}, "only 'optuna' is led"),
        ({"rrf_k": Range(0, 9)}, {"sampler": "random"}, "needs a whole number of settings"),
        ({"rrf_k": Range(9, 0)}, {"sampler": "random", "trials": 5}, "must rise"),
        ({"rrf_k": Range(0, 9, log=True)}, {"sampler": "sobol", "trials": 5}, "begin above 0"),
        ({"rrf_k": Range(-1, 9)}, {"sampler": "sobol", "trials": 5}, "at least 0"),
        ({"rrf_k": Range(0, "9")}, {"sampler": "sobol", "trials": 5}, "finite numbers"),
        ({"rrf_k": Range(0, 9, also=["x"])}, {"sampler": "sobol", "trials": 5}, "finite number"),
        ({}, {"sampler": "sobol", "trials": 5}, "something to vary"),
        ({"rrf_k": [1]}, {"sampler": "optuna", "trials": 5, "objective": "P@5"}, "add it"),
        ({"rrf_k": [1]}, {"sampler": "random", "trials": 5, "seed": -1}, "seed must"),
        (
            {"w_text": [0, 1], "w_vector": Range(0, 1)},
            {"sampler": "random", "trials": 5},
            "no leg is left",
        ),
    ],
)
def test_bad_sampling_is_refused_before_any_work(grid, options, message):
    with pytest.raises(nm.InvalidParameter, match=message):
        ev.sweep(object(), grid=grid, **options)


def test_faults_of_sampling_are_reported_together():
    grid = {"rrf_k": Range(9, 0), "w_recency": ["x"], "decay": Range(0, 1)}
    with pytest.raises(nm.InvalidParameter, match=r"trials.*decay.*rrf_k.*w_recency"):
        ev.sweep(object(), grid=grid, sampler="random")
    with pytest.raises(nm.UnknownName, match="random"):
        ev.sweep(object(), grid={}, sampler="rnadom")
