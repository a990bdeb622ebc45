from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from drawn_frames import frontier, swept, texts

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz import plots
from nousmem.viz.plots._tradeoffs import pareto


def test_points_are_joined_from_no_decay_to_the_shortest_half_life():
    ax = plots.trade_off(frontier())
    x, y = ax.lines[0].get_data()
    assert list(x) == [0.6, 0.58, 0.5, 0.1]
    assert list(y) == [0.3, 0.5, 0.6, 0.5]


def test_the_ends_and_the_pareto_set_are_named_and_marked():
    ax = plots.trade_off(frontier())
    assert {"off", "289 d", "28.9 d", "2.89 d"} <= set(texts(ax))
    best = ax.lines[1]
    assert list(best.get_xdata()) == [0.6, 0.58, 0.5]
    assert best.get_linestyle() == "None"
    assert any("filled: Pareto set" in text for text in texts(ax))


def test_crowded_points_are_not_all_named_and_labels_do_not_overlap():
    rates = np.geomspace(1e-5, 1e-2, 60)
    frame = pd.DataFrame(
        {"decay_lambda": rates, "R@10": np.linspace(0.6, 0.3, 60), "Fresh@1": np.sqrt(rates)}
    )
    ax = plots.trade_off(frame)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 4 <= len(boxes) < 40
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_several_curves_share_one_pareto_set():
    other = frontier().assign(**{"R@10": frontier()["R@10"] - 0.05})
    frame = pd.concat([frontier().assign(rule="plain"), other.assign(rule="worse")])
    ax = plots.trade_off(frame, by="rule")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["plain", "worse"]
    assert len(ax.lines[1].get_xdata()) == 3
    assert len(ax.lines[3].get_xdata()) == 0


def test_an_end_that_curves_share_is_named_once_in_ink():
    ax = plots.trade_off(
        pd.concat(
            [
                frontier().assign(rule=rule, **{"R@10": frontier()["R@10"] * [cut, 1, cut, cut]})
                for rule, cut in (("plain", 1), ("worse", 0.8))
            ]
        ),
        by="rule",
    )
    off = [text for text in ax.texts if text.get_text() == "off"]
    assert [text.get_color() for text in off] == ["#1f1f1f"]
    assert texts(ax).count("2.89 d") == 2


def test_the_edge_of_the_pareto_set_runs_below_and_beside_it():
    ax = plots.trade_off(frontier())
    edge = ax.lines[-1]
    assert edge.get_drawstyle() == "steps-pre"
    left, bottom = ax.get_xlim()[0], ax.get_ylim()[0]
    assert list(edge.get_xdata()) == [left, 0.5, 0.58, 0.6, 0.6]
    assert list(edge.get_ydata()) == [0.6, 0.6, 0.5, 0.3, bottom]


def test_settings_without_an_order_are_refused():
    frame = pd.concat([frontier().assign(w_importance=w) for w in (0, 0.3)])
    with pytest.raises(InvalidParameter, match="share a value of 'half_life_days'"):
        plots.trade_off(frame)
    assert len(plots.trade_off(frame, by="w_importance").get_legend().get_texts()) == 2


def test_rows_without_a_measure_are_left_out():
    frame = frontier()
    frame.loc[0, "Fresh@1"] = np.nan
    assert len(plots.trade_off(frame).lines[0].get_xdata()) == 3


def test_pareto_keeps_equal_points_and_drops_the_dominated():
    x = np.array([1.0, 1.0, 0.5, 0.5, 2.0])
    y = np.array([1.0, 1.0, 1.0, 2.0, 0.5])
    assert pareto(x, y).tolist() == [True, True, False, True, True]


def test_a_baseline_beside_those_tried_is_a_cross_and_joins_no_curve():
    result = swept(
        grid={"half_life_days": [30, 365]},
        value=lambda settings: 0.4 + 10 * settings.scoring.decay_lambda,
        baseline=nm.Settings().replace(half_life_days=7),
    )
    ax = plots.trade_off(result, x="R@10", y="nDCG@10")
    curve, best, cross, _ = ax.lines
    assert len(curve.get_xdata()) == 2
    assert len(best.get_xdata()) == 1
    assert cross.get_marker() == "x"
    value = 0.4 + 10 * result.baseline_settings.scoring.decay_lambda
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == pytest.approx((value / 2, value))
    assert "7 d" not in texts(ax)
    assert any("×: the baseline" in text for text in texts(ax))
