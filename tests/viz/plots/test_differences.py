from __future__ import annotations

import numpy as np
import pytest
from drawn_frames import differences, families, texts, ticks, title

from nousmem.errors import InvalidParameter
from nousmem.viz import plots

# intervals


def test_the_forest_keeps_the_order_and_tells_clear_from_unclear():
    ax = plots.intervals(differences())
    assert ticks(ax.yaxis) == ["tuned", "no decay", "worse"]
    assert ax.yaxis_inverted()
    hollow = [
        bar.lines[0].get_markerfacecolor() != bar.lines[0].get_markeredgecolor()
        for bar in ax.containers
    ]
    assert hollow == [False, True, False]
    assert ax.get_xlabel() == "difference in nDCG@10"


def test_the_numbers_stand_beside_the_intervals():
    written = texts(plots.intervals(differences()))
    assert {"+.040", "[+.020, +.060]", "< .001", ".310", "−.030"} <= set(written)
    assert "p" not in texts(plots.intervals(differences().drop(columns="p_value")))


def test_several_measures_stand_with_the_names():
    frame = differences().assign(measure=["R@10", "R@10", "Fresh@1"])
    ax = plots.intervals(frame)
    assert ticks(ax.yaxis)[2] == "worse, Fresh@1"
    assert ax.get_xlabel() == "difference"


def test_a_difference_outside_its_interval_is_refused():
    with pytest.raises(InvalidParameter, match="low <= difference <= high"):
        plots.intervals(differences().assign(low=0.05))
    with pytest.raises(InvalidParameter, match="finite"):
        plots.intervals(differences().assign(low=np.nan))


# estimates


def test_points_that_reach_the_goal_are_filled():
    ax = plots.estimates(families(), "R@10", goal=0.6)
    filled = [
        bar.lines[0].get_markerfacecolor() == bar.lines[0].get_markeredgecolor()
        for bar in ax.containers
    ]
    assert filled == [True, False]
    assert ticks(ax.yaxis) == ["no decay", "decay"]
    assert {".600", ".500", "dashed: .600, reached where filled"} <= set(texts(ax))
    assert title(ax) == "R@10"
    assert ax.get_xlabel() == "R@10 (share of the relevant entries found)"


def test_an_estimate_outside_its_interval_is_refused():
    with pytest.raises(InvalidParameter, match="R@10_low <= R@10 <= R@10_high"):
        plots.estimates(families().assign(**{"R@10_low": 0.7}), "R@10")
    with pytest.raises(InvalidParameter, match="no column 'nDCG@10'"):
        plots.estimates(families(), "nDCG@10")
