from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from drawn_frames import by_category, sweep, swept, texts, ticks, title

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz import plots

# heatmap


def test_heatmap_axes_run_from_off_and_long_to_short_and_from_small_to_large():
    ax = plots.heatmap(sweep())
    assert ticks(ax.xaxis) == ["off", "289 d", "28.9 d", "6.93 h"]
    assert ticks(ax.yaxis) == ["0", "0.15", "0.3"]
    assert ax.get_xlabel() == "half-life of relevance (decay_lambda)"


def test_half_lives_in_days_run_the_same_way():
    frame = pd.DataFrame(
        {"half_life_days": [30, math.inf, 365], "w_importance": 0.3, "nDCG@10": [0.1, 0.2, 0.3]}
    )
    assert ticks(plots.heatmap(frame, x="half_life_days").xaxis) == ["off", "365 d", "30 d"]


def test_each_cell_shows_its_value_and_the_best_is_marked():
    frame = sweep().query("w_recency == 0.2")
    ax = plots.heatmap(frame, measure="R@10")
    cells = {text.get_position(): text.get_text() for text in ax.texts if text.get_text()[0] != "b"}
    # One column of three: decay off, at importance weights 0, .15, .3.
    assert [cells[0, row] for row in range(3)] == [".126", ".201", ".126"]
    assert cells[1, 1] == "★ .226"
    assert len(ax.patches) == 1
    assert ax.patches[0].get_xy() == (0.5, 0.5)
    assert "★ best: .226 at half-life 289 d (decay_lambda 0.0001), w_importance 0.15" in " ".join(
        texts(ax)[-1].split()
    )


def test_a_parameter_that_varies_besides_is_maximised_over_and_named():
    ax = plots.heatmap(sweep())
    assert title(ax) == "nDCG@10, best over w_recency"
    assert "★ .452" in texts(ax)
    assert "w_recency 0.2" in texts(ax)[-1]
    assert title(plots.heatmap(sweep().query("w_recency == 0.2"))) == "nDCG@10"


def test_an_unset_recency_weight_is_a_value_of_its_own():
    ax = plots.heatmap(sweep(), y="w_recency")
    assert ticks(ax.yaxis) == ["0.2", "rule"]


def test_a_setting_that_was_not_run_is_an_empty_cell():
    frame = sweep()
    hole = (frame["decay_lambda"] == 0) & (frame["w_importance"] == 0)
    assert texts(plots.heatmap(frame[~hole])).count("–") == 1


def test_equal_best_cells_are_all_marked():
    ax = plots.heatmap(sweep().assign(**{"nDCG@10": 0.5}))
    assert len(ax.patches) == 12
    assert "equal in 11 more" in " ".join(texts(ax)[-1].split())


def test_categories_are_never_maximised_over():
    frame = by_category().assign(w_importance=0.3)
    with pytest.raises(InvalidParameter, match="several values of 'category'"):
        plots.heatmap(frame)


def test_names_such_as_embedders_may_be_an_axis():
    frame = sweep().assign(embedder="minilm")
    assert ticks(plots.heatmap(frame, y="embedder").yaxis) == ["minilm"]


def test_text_in_a_column_of_numbers_is_refused():
    with pytest.raises(InvalidParameter, match="must hold numbers"):
        plots.heatmap(sweep().assign(**{"nDCG@10": "high"}))


# curve


def drawn_lines(ax):
    """Return the lines with a marker and a dash pattern: those of the categories."""
    return [line for line in ax.lines if line.get_marker() in ("o", "s", "^", "D", "v")]


def test_curve_has_a_line_a_category_with_its_queries_in_the_legend():
    ax = plots.curve(by_category())
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "single-hop (n = 1,841)",
        "temporal (n = 321)",
    ]
    assert legend.get_title().get_text() == "category"
    lines = drawn_lines(ax)
    assert len(lines) == 2
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 2


def test_half_lives_are_in_days_on_a_log_axis_with_off_at_the_right():
    ax = plots.curve(by_category().drop(columns=["low", "high"]))
    assert ax.get_xscale() == "log"
    assert ticks(ax.xaxis) == ["0.289", "28.9", "289", "off"]
    assert ax.get_xlabel().endswith("days")
    places = ax.get_xticks()
    assert list(places) == sorted(places)
    line = drawn_lines(ax)[0]
    x, y = line.get_data()
    assert x[0] == pytest.approx(math.log(2) / 0.1 / 24)
    assert (y[0], y[-1]) == pytest.approx((0.2, 0.3))
    # The solid line stops before the break.
    assert np.isnan(y[-2])


def test_intervals_are_bands_and_bars_at_off():
    ax = plots.curve(by_category())
    assert len(ax.collections) == 4
    assert "low to high" in texts(ax)[0]
    assert not plots.curve(by_category().drop(columns=["low", "high"])).collections


def test_the_interval_of_a_difference_is_not_drawn_around_the_measure():
    assert not plots.curve(by_category().assign(difference=0.0)).collections


def test_of_equal_settings_the_first_of_the_frame_is_named():
    frame = pd.DataFrame(
        {
            "decay_lambda": [0.0, 0.001, 0.0],
            "w_importance": 0.3,
            "rrf_k": [60.0, 60.0, 20.0],
            "nDCG@10": [0.1, 0.5, 0.5],
        }
    )
    assert "half-life 28.9 d" in texts(plots.heatmap(frame))[-1]


def test_curve_without_categories_is_one_line_of_the_best():
    for by in (None, "category"):
        ax = plots.curve(sweep(), by=by)
        assert len(drawn_lines(ax)) == 1
        assert ax.get_legend() is None
        assert title(ax) == "nDCG@10, best over w_importance and w_recency"


def test_another_parameter_has_a_plain_axis_and_half_lives_name_the_lines():
    ax = plots.curve(sweep(), x="w_importance", by="decay_lambda")
    assert ax.get_xscale() == "linear"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "289 d",
        "off",
        "28.9 d",
        "6.93 h",
    ]


def test_a_dense_sweep_has_ticks_apart():
    days = np.geomspace(0.2, 3000, 40)
    ax = plots.curve(
        pd.DataFrame({"half_life_days": days, "nDCG@10": days / 4000}), x="half_life_days"
    )
    assert ticks(ax.xaxis) == ["0.3", "1", "3", "10", "30", "100", "300", "1,000", "3,000"]


def test_a_sweep_with_decay_off_alone_has_one_point():
    ax = plots.curve(sweep().query("decay_lambda == 0"))
    assert ticks(ax.xaxis) == ["off"]


# results


def linear(hours, decay_lambda):
    return np.maximum(0, 1 - np.asarray(decay_lambda) * hours)


def by_depth(settings):
    return 0.3 + 0.01 * (settings.retrieval.depth or 30) - settings.scoring.w_importance / 10


def test_a_heatmap_of_swept_half_lives_needs_no_word_of_theirs():
    result = swept(
        grid={"half_life_days": [7, 365, math.inf], "w_importance": [0, 0.3]},
        value=lambda settings: 0.5 - settings.scoring.decay_lambda,
        baseline=nm.Settings(),
    )
    for given in (result, result.frame.head(result.n_tried)):
        ax = plots.heatmap(given)
        assert ticks(ax.xaxis) == ["off", "365 d", "7 d"]
        assert ticks(ax.yaxis) == ["0", "0.3"]
        assert ax.get_xlabel() == "half-life of relevance"
    assert ticks(plots.curve(result).xaxis)[-1] == "off"


def test_a_heatmap_over_depth_has_its_cells_and_shows_the_depth_that_none_stands_for():
    result = swept(
        grid={"depth": [10, 20, 60], "w_importance": [0, 0.3]},
        value=by_depth,
        baseline=nm.Settings(),
    )
    ax = plots.heatmap(result, x="depth")
    assert ticks(ax.xaxis) == ["10", "20", "60"]
    assert ax.get_xlabel() == "entries read per leg (depth)"
    assert {text for text in texts(ax) if text[0] == "★"} >= {"★ .900"}
    unset = swept(grid={"depth": [10, None]}, value=by_depth, baseline=nm.Settings())
    frame = unset.frame.assign(w_importance=0.3)
    ax = plots.heatmap(frame, x="depth")
    assert ticks(ax.xaxis) == ["10", "30"]
    assert "depth 30" in " ".join(texts(ax)[-1].replace("\u00a0", " ").split())


def test_a_depth_that_varies_besides_is_maximised_over_and_so_is_a_weight_of_ones_own():
    frame = pd.DataFrame(
        [
            {"decay_lambda": rate, "w_importance": 0, "w_frequency": own, "depth": depth, "AP": own}
            for rate in (0, 0.001)
            for own in (0, 0.1)
            for depth in (10, 30)
        ]
    )
    named = " ".join(title(plots.heatmap(frame, measure="AP")).split())
    assert named == "AP, best over w_frequency and depth"
    ax = plots.heatmap(frame, y="w_frequency", measure="AP")
    assert ax.get_ylabel() == "weight of frequency (w_frequency)"


def test_functions_and_legs_are_axes_by_their_names():
    result = swept(
        grid={"decay_curve": ["exponential", linear], "legs": [["text"], ["text", "vector"], None]},
        value=lambda settings: 0.2 + 0.1 * len(settings.retrieval.leg_names),
        baseline=nm.Settings(),
    )
    ax = plots.heatmap(result, x="legs", y="decay_curve")
    assert ticks(ax.xaxis) == ["text", "text,vector", "all"]
    assert ticks(ax.yaxis) == ["exponential", "linear"]
    alike = result.frame.assign(decay_curve=["mine:step", "theirs:step"] * 3)
    ax = plots.heatmap(alike, x="legs", y="decay_curve")
    assert ticks(ax.yaxis) == ["mine:step", "theirs:step"]


def test_a_baseline_beside_the_grid_is_no_cell_but_a_word():
    grid = {"decay_lambda": [0, 0.01], "w_importance": [0, 0.1]}
    result = swept(grid=grid, value=lambda s: 0.4 + s.scoring.w_importance, baseline=nm.Settings())
    assert (result.n_tried, result.baseline) == (4, 4)
    ax = plots.heatmap(result)
    assert ticks(ax.xaxis) == ["off", "2.89 d"]
    assert ticks(ax.yaxis) == ["0", "0.1"]
    assert "–" not in texts(ax)
    # The baseline has .7, and is not the best of what was tried.
    assert "★ best: .500" in texts(ax)[-1]
    assert " ".join(texts(ax)[-1].split()).endswith("; baseline .700")


def test_a_baseline_of_the_grid_is_a_cell_and_nothing_else():
    grid = {"decay_lambda": [0, 0.001], "w_importance": [0, 0.3]}
    result = swept(grid=grid, value=lambda s: s.scoring.w_importance, baseline=nm.Settings())
    assert result.baseline < result.n_tried == 4
    ax = plots.heatmap(result)
    assert texts(ax) == texts(plots.heatmap(result.frame))
    assert len(plots.curve(result).lines) == len(plots.curve(result.frame).lines)


def test_a_baseline_beside_a_curve_is_a_dashed_line():
    grid = {"decay_lambda": [0, 0.01], "w_importance": [0, 0.1]}
    result = swept(grid=grid, value=lambda s: 0.4 + s.scoring.w_importance, baseline=nm.Settings())
    ax = plots.curve(result)
    assert ticks(ax.xaxis) == ["2.89", "off"]
    (level,) = [line for line in ax.lines if list(line.get_ydata()) == pytest.approx([0.7, 0.7])]
    assert level.get_linestyle() == "--"
    assert texts(ax) == ["dashed: the baseline .700"]
