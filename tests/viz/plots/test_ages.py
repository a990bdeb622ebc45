from __future__ import annotations

import math
import re

import numpy as np
import pytest
from drawn_frames import texts, title

from nousmem.errors import InvalidParameter
from nousmem.retrieval.settings import Settings
from nousmem.scoring import CURVES, Scoring, decay
from nousmem.viz import plots


def test_the_curve_is_the_decay_of_search_and_crosses_one_half_at_the_half_life():
    ax = plots.half_life([24.0, 48, 4800], decay_lambda=0.001)
    x, y = next(line.get_data() for line in ax.lines if len(line.get_xdata()) > 100)
    np.testing.assert_allclose(y, np.exp(-0.001 * 24 * x))
    assert "half-life 28.9 d" in texts(ax)
    assert "median age 2 d: 95.3 % left" in texts(ax)
    assert ax.get_xlabel() == "age since last access, days"


def test_every_age_is_in_the_histogram():
    ages = np.random.default_rng(0).uniform(0, 5000, 300)
    ax = plots.half_life(ages, decay_lambda=0.001)
    heights = np.array([bar.get_height() for bar in ax.patches])
    tallest = int(next(text for text in texts(ax) if re.fullmatch(r"\d+ entries", text)).split()[0])
    assert heights.sum() / heights.max() * tallest == pytest.approx(300)
    assert all(bar.get_y() + bar.get_height() <= 0 for bar in ax.patches)


def test_without_decay_everything_is_left():
    ax = plots.half_life([100.0], decay_lambda=0)
    assert title(ax) == "Decay off"
    assert "median age 4.17 d: 100 % left" in texts(ax)
    assert not any(text.startswith("half-life") for text in texts(ax))


def test_a_share_too_small_to_write_is_said_in_words():
    assert "median age 100 d: less than 0.1 % left" in texts(
        plots.half_life([2400.0], decay_lambda=0.1)
    )


def curves(ax):
    return [line.get_data() for line in ax.lines if len(line.get_xdata()) > 100]


@pytest.mark.parametrize("curve", ["exponential", "hyperbolic", "power", "step"])
def test_every_curve_is_drawn_as_the_ranking_has_it(curve):
    scoring = Scoring(half_life_days=30, decay_curve=curve, decay_floor=0.2, w_recency=0)
    ax = plots.half_life([24.0, 48, 4800], scoring=scoring)
    ((x, y),) = curves(ax)
    drawn = decay(x * 24, decay_lambda=scoring.decay_lambda, curve=CURVES[curve], floor=0.2)
    np.testing.assert_allclose(y, drawn, rtol=1e-9)
    assert "half-life 30 d: 60 % left" in texts(ax)
    # At the half-life itself half of what the floor leaves is gone, and just after it all is.
    around = y[(x > 29.99) & (x < 30.01)]
    assert around.min() == pytest.approx(0.2 if curve == "step" else 0.6, abs=1e-4)
    assert around.max() == pytest.approx(1.0 if curve == "step" else 0.6, abs=1e-4)


def test_the_clock_of_decay_names_the_axis():
    ax = plots.half_life([24.0], scoring=Scoring(decay_clock="creation"))
    assert ax.get_xlabel() == "age since creation, days"


def test_where_importance_slows_decay_there_is_a_curve_for_each():
    scoring = Scoring(decay_lambda=0.001, decay_importance=0.8)
    ax = plots.half_life([24.0, 4800], scoring=scoring)
    for (x, y), importance in zip(curves(ax), (0, 0.5, 1), strict=True):
        np.testing.assert_allclose(y, np.exp(-0.001 * (1 - 0.8 * importance) * 24 * x))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["importance 1", "importance 0.5", "importance 0"]
    assert plots.half_life([24.0], scoring=scoring.replace(decay_lambda=0)).get_legend() is None


def test_a_rate_and_a_scoring_are_one_too_many_and_neither_is_too_few():
    with pytest.raises(InvalidParameter, match="decay_lambda or scoring"):
        plots.half_life([1.0], decay_lambda=0.001, scoring=Scoring())
    with pytest.raises(InvalidParameter, match="decay_lambda or scoring"):
        plots.half_life([1.0])


@pytest.mark.parametrize("ages", [[], [-1.0], [math.nan], ["old"]])
def test_ages_that_are_none_are_refused(ages):
    with pytest.raises(InvalidParameter, match="ages_hours must"):
        plots.half_life(ages, decay_lambda=0.001)


@pytest.mark.parametrize("rate", [-1, math.nan, math.inf, "fast", True])
def test_rates_that_are_none_are_refused(rate):
    with pytest.raises(InvalidParameter, match="decay_lambda must"):
        plots.half_life([1.0], decay_lambda=rate)


def linear(hours, decay_lambda):
    return np.maximum(0, 1 - np.asarray(decay_lambda) * hours)


def test_a_curve_of_ones_own_is_drawn_by_its_name_and_has_no_half_life():
    scoring = Scoring(decay_lambda=0.001, decay_curve=linear)
    ax = plots.half_life([24.0, 48, 4800], scoring=scoring)
    ((x, y),) = curves(ax)
    np.testing.assert_allclose(y, np.maximum(0, 1 - 0.024 * x), atol=1e-9)
    assert title(ax) == "Decay by linear"
    assert any(text.startswith("linear(age), decay_lambda 0.001 per hour") for text in texts(ax))
    assert not any(text.startswith("half-life") for text in texts(ax))


def test_settings_stand_for_their_scoring():
    scoring = Scoring(half_life_days=30, w_recency=0)
    by_settings = plots.half_life([24.0, 4800], scoring=Settings(scoring=scoring))
    np.testing.assert_array_equal(
        curves(by_settings), curves(plots.half_life([24.0, 4800], scoring=scoring))
    )
