import math
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from nousmem.errors import InvalidParameter
from nousmem.scoring import Scoring, composite, decay, recency
from nousmem.viz import plots
from nousmem.viz.plots.tradeoffs import pareto

LAMBDAS = [0.001, 0.0, 0.0001, 0.1]
WEIGHTS = [0.0, 0.3, 0.15]


def sweep():
    """Unsorted on purpose; the best cell is (0.0001, 0.15) with w_recency 0.2."""
    rows = []
    for rate in LAMBDAS:
        for weight in WEIGHTS:
            for w_recency in (None, 0.2):
                value = 0.4 - rate - abs(weight - 0.15) + 0.01 * (w_recency or 0)
                value += 0.05 if rate == 0.0001 else 0
                rows.append(
                    {
                        "decay_lambda": rate,
                        "w_importance": weight,
                        "w_recency": w_recency,
                        "nDCG@10": value,
                        "R@10": value / 2,
                    }
                )
    return pd.DataFrame(rows)


def by_category():
    return pd.DataFrame(
        [
            {
                "decay_lambda": rate,
                "category": name,
                "nDCG@10": base - rate,
                "n_queries": count,
                "low": base - rate - 0.02,
                "high": base - rate + 0.02,
            }
            for name, base, count in (("temporal", 0.3, 321), ("single-hop", 0.5, 1841))
            for rate in LAMBDAS
        ]
    )


def ranking(scoring, *, count=4, contents=None):
    relevance = np.linspace(1, 0.4, count)
    age = np.linspace(2000, 10, count)
    importance = np.linspace(0.2, 0.8, count)
    parts = {
        "relevance": relevance,
        "age_hours": age,
        "decay": decay(age, decay_lambda=scoring.decay_lambda),
        "importance": importance,
        "recency": recency(age, recency_lambda=scoring.recency_lambda),
    }
    names = ("w_relevance", "w_importance", "w_recency")
    score = composite(
        relevance * parts["decay"],
        importance,
        parts["recency"],
        **dict(zip(names, scoring.weights(), strict=True)),
    )
    frame = pd.DataFrame({"score": score, **parts})
    frame.insert(0, "doc_id", [f"m{i}" for i in range(count)])
    frame.insert(1, "content", contents or [f"memory number {i}" for i in range(count)])
    frame = frame.sort_values("score", ascending=False)
    frame.insert(0, "rank", range(1, count + 1))
    return frame


def frontier():
    return pd.DataFrame(
        {
            "decay_lambda": [0.001, 0.0, 0.01, 0.0001],
            "R@10": [0.5, 0.6, 0.1, 0.58],
            "Fresh@1": [0.6, 0.3, 0.5, 0.5],
        }
    )


def differences():
    return pd.DataFrame(
        {
            "name": ["tuned", "no decay", "worse"],
            "difference": [0.04, 0.01, -0.03],
            "low": [0.02, -0.01, -0.05],
            "high": [0.06, 0.03, -0.01],
            "p_value": [0.0002, 0.31, 0.04],
            "measure": "nDCG@10",
        }
    )


def families():
    return pd.DataFrame(
        {
            "name": ["no decay", "decay"],
            "R@10": [0.6, 0.5],
            "R@10_low": [0.55, 0.45],
            "R@10_high": [0.65, 0.62],
        }
    )


def pushed_out():
    """The first and last bins are empty."""
    return pd.DataFrame(
        {
            "age_from": [0, 1 / 4, 7, 30, 90],
            "age_to": [1 / 4, 7, 30, 90, math.inf],
            "pushed_out": [0, 0, 40, 1200, 0],
            "pushed_out_relevant": [0, 0, 1, 30, 0],
            "queries_hurt": [0, 0, 1, 28, 0],
            "came_in": [0, 1100, 140, 0, 0],
            "came_in_relevant": [0, 4, 0, 0, 0],
        }
    )


def every_picture(ax=None):
    tuned = Scoring(decay_lambda=0.001, w_recency=0.2)
    return {
        "heatmap": lambda: plots.heatmap(sweep(), ax=ax),
        "curve": lambda: plots.curve(by_category(), ax=ax),
        "score_parts": lambda: plots.score_parts(
            ranking(tuned), scoring=tuned, relevant={"m1"}, ax=ax
        ),
        "trade_off": lambda: plots.trade_off(frontier(), ax=ax),
        "half_life": lambda: plots.half_life([1.0, 500, 3000], decay_lambda=0.001, ax=ax),
        "intervals": lambda: plots.intervals(differences(), ax=ax),
        "estimates": lambda: plots.estimates(families(), "R@10", ax=ax),
        "suppression": lambda: plots.suppression(pushed_out(), ax=ax),
    }


NAMES = list(every_picture())


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def title(ax):
    return ax.get_title(loc="left")


# All of them


@pytest.mark.parametrize("name", NAMES)
def test_it_returns_the_axes_it_was_given_or_its_own(name):
    _, ax = plt.subplots()
    assert every_picture(ax)[name]() is ax
    own = every_picture()[name]()
    assert own is not ax
    assert own.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_global_settings_stay_and_do_not_leak_in(name):
    with plt.style.context("dark_background"):
        before = dict(mpl.rcParams)
        ax = every_picture()[name]()
        assert dict(mpl.rcParams) == before
        ax.figure.canvas.draw()
        labels = [ax.xaxis.label, ax.title, *ax.get_xticklabels(), *ax.get_yticklabels()]
        assert not {"white", "#ffffff"} & {label.get_color() for label in labels[:1] + labels[2:]}
        assert ax.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_on_the_callers_dark_axes_the_labels_are_dark_too(name):
    with plt.style.context("dark_background"):
        _, ax = plt.subplots()
        every_picture(ax)[name]()
        assert ax.xaxis.label.get_color() == ax.yaxis.label.get_color() == "#1f1f1f"
        assert {label.get_color() for label in ax.get_xticklabels()} == {"#1f1f1f"}


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_written_as_pdf_without_a_warning(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = every_picture()[name]()
        ax.figure.savefig(tmp_path / "a.pdf", bbox_inches="tight")
    assert (tmp_path / "a.pdf").stat().st_size > 2000


@pytest.mark.parametrize("name", NAMES)
def test_the_axes_are_labelled(name):
    ax = every_picture()[name]()
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name in ("intervals", "estimates")
    assert title(ax)


@pytest.mark.parametrize(
    ("draw", "frame"),
    [
        (plots.heatmap, sweep()),
        (plots.curve, by_category()),
        (plots.trade_off, frontier()),
        (plots.intervals, differences()),
        (plots.score_parts, ranking(Scoring())),
        (plots.suppression, pushed_out()),
    ],
)
def test_the_frame_stays_as_it_was(draw, frame):
    before = frame.copy(deep=True)
    draw(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("draw", "frame", "column", "hint"),
    [
        (plots.heatmap, sweep().rename(columns={"nDCG@10": "nDCG@5"}), "nDCG@10", "nDCG@5"),
        (plots.curve, sweep().rename(columns={"decay_lambda": "decay"}), "decay_lambda", "decay"),
        (plots.trade_off, frontier().rename(columns={"Fresh@1": "fresh"}), "Fresh@1", "fresh"),
        (plots.intervals, differences().rename(columns={"low": "lower"}), "low", "lower"),
        (
            plots.score_parts,
            ranking(Scoring()).rename(columns={"decay": "decays"}),
            "decay",
            "decays",
        ),
    ],
)
def test_a_missing_column_is_named_with_a_close_one_and_all_there_are(draw, frame, column, hint):
    with pytest.raises(InvalidParameter) as caught:
        draw(frame)
    message = str(caught.value)
    assert f"no column {column!r}; did you mean {hint!r}?" in message
    assert ", ".join(frame.columns) in message
    assert plt.get_fignums() == []


@pytest.mark.parametrize("draw", [plots.heatmap, plots.curve, plots.trade_off, plots.intervals])
def test_what_is_no_frame_or_has_no_rows_is_refused(draw):
    with pytest.raises(InvalidParameter, match="DataFrame"):
        draw([1, 2])
    empty = {plots.trade_off: frontier(), plots.intervals: differences()}.get(draw, sweep())
    with pytest.raises(InvalidParameter, match="no rows"):
        draw(empty.head(0))


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


# score_parts


def test_the_bars_are_the_contributions_and_what_decay_took():
    scoring = Scoring(decay_lambda=0.001, w_recency=0.2)
    frame = ranking(scoring)
    ax = plots.score_parts(frame, scoring=scoring)
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    np.testing.assert_allclose(np.sum(widths[:3], axis=0), frame["score"])
    np.testing.assert_allclose(widths[0], 0.5 * frame["relevance"] * frame["decay"])
    np.testing.assert_allclose(widths[3], 0.5 * frame["relevance"] * (1 - frame["decay"]))
    starts = [bar.get_x() for bar in ax.containers[3]]
    np.testing.assert_allclose(starts, frame["score"])
    assert [bars.get_label() for bars in ax.containers] == [
        "relevance left by decay",
        "importance",
        "recency",
        "lost to decay",
    ]
    assert len({bars[0].get_hatch() for bars in ax.containers}) == 4
    assert ax.get_xlabel() == "score = 0.5 · relevance · decay + 0.3 · importance + 0.2 · recency"


def test_rank_one_is_at_the_top_whatever_the_order_of_the_rows():
    frame = ranking(Scoring())
    ax = plots.score_parts(frame.sort_values("rank", ascending=False))
    assert ax.yaxis_inverted()
    labels = ticks(ax.yaxis)
    assert [label.split()[-1] for label in labels] == ["1", "2", "3", "4"]
    assert labels[0].startswith(frame["content"].iloc[0])


def test_terms_that_weigh_nothing_and_decay_that_took_nothing_are_left_out():
    scoring = Scoring(decay_lambda=0, w_recency=0)
    ax = plots.score_parts(ranking(scoring), scoring=scoring)
    assert len(ax.containers) == 2


def test_what_updates_took_and_took_over_stands_apart():
    scoring = Scoring(decay_lambda=0.001, w_recency=0)
    frame = ranking(scoring)
    fresh = np.array([1.25, 0.8, 1, 1])
    kept = frame["relevance"] * frame["decay"]
    frame = frame.assign(freshness=fresh, score=frame["score"] + 0.5 * kept * (fresh - 1))
    ax = plots.score_parts(frame, scoring=scoring)
    bars = {bar.get_label(): [part.get_width() for part in bar] for bar in ax.containers}
    assert list(bars) == [
        *("relevance left by decay", "taken over from outdated", "importance"),
        *("lost to decay", "lost to an update"),
    ]
    np.testing.assert_allclose(bars["taken over from outdated"], 0.5 * kept * [0.25, 0, 0, 0])
    np.testing.assert_allclose(
        bars["lost to an update"], 0.5 * frame["relevance"] * [0, 0.2, 0, 0], atol=1e-12
    )
    in_score = np.sum(list(bars.values())[:3], axis=0)
    np.testing.assert_allclose(in_score, frame["score"])
    assert "relevance · freshness · decay" in ax.get_xlabel()


def test_relevant_memories_carry_a_star():
    ax = plots.score_parts(ranking(Scoring()), relevant=["m2", "elsewhere"])
    assert [label for label in ticks(ax.yaxis) if "★" in label] == [
        label for label in ticks(ax.yaxis) if "number 2" in label
    ]
    assert "★ relevant: 1 of 2 in these 4 hits" in texts(ax)


def test_score_and_age_stand_beside_the_bars():
    frame = ranking(Scoring())
    written = texts(plots.score_parts(frame))
    assert f"{frame['score'].iloc[0]:.3f}".removeprefix("0") in written
    assert "83.3 d" in written
    assert "age" not in texts(plots.score_parts(frame.drop(columns="age_hours")))


def test_contents_are_literal_short_and_on_one_line():
    contents = ["costs $5 or $6", "a\nb", "long " * 30, "\U000f0000" * 5]
    ax = plots.score_parts(ranking(Scoring(), contents=contents))
    labels = ticks(ax.yaxis)
    assert any(label.startswith("costs $5 or $6  ") for label in labels)
    assert any(label.startswith("a b  ") for label in labels)
    assert any("…" in label for label in labels)
    assert any(label.startswith("[m3]") for label in labels)
    assert max(map(len, labels)) < 52
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_a_negative_weight_builds_to_the_left():
    weights = (0.5, 0.3, -0.2)
    scoring = Scoring(w_recency=-0.2)
    ax = plots.score_parts(ranking(scoring), weights=weights)
    assert all(bar.get_width() <= 0 and bar.get_x() == 0 for bar in ax.containers[2])
    assert ax.get_xlabel().endswith("+ 0.3 · importance − 0.2 · recency")


def test_weights_that_do_not_give_the_scores_are_refused():
    frame = ranking(Scoring(decay_lambda=0, w_recency=0.4))
    with pytest.raises(InvalidParameter, match="the Scoring that the search ran with"):
        plots.score_parts(frame)
    with pytest.raises(InvalidParameter, match="not both"):
        plots.score_parts(frame, scoring=Scoring(), weights=(1, 0, 0))
    with pytest.raises(InvalidParameter, match="three finite numbers"):
        plots.score_parts(frame, weights=(1, 0))
    with pytest.raises(InvalidParameter, match="several doc_ids"):
        plots.score_parts(ranking(Scoring()), relevant="m1")


def test_no_hits_is_said():
    assert texts(plots.score_parts(ranking(Scoring()).head(0))) == ["no hits"]


# trade_off


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


# half_life


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
    tallest = int(next(text for text in texts(ax) if text.endswith(" entries")).split()[0])
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
    drawn = decay(x * 24, decay_lambda=scoring.decay_lambda, curve=curve, floor=0.2)
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


# suppression


def test_what_left_hangs_and_what_came_stands_with_the_relevant_part_at_the_line():
    ax = plots.suppression(pushed_out())
    assert ticks(ax.xaxis) == ["6 h to 7 d", "7 to 30 d", "30 to 90 d"]
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights == [[1100, 140, 0], [4, 0, 0], [0, -40, -1200], [0, -1, -30]]
    assert all(bar.get_y() == 0 for bars in ax.containers for bar in bars)
    assert texts(ax)[:-1] == [
        *("1,100\n4 relevant", "140"),
        *("40\n1 relevant\nin 1 query", "1,200\n30 relevant\nin 28 queries"),
        *("came in", "pushed out"),
    ]
    assert "1,240 pushed out, 31 of them relevant; 1,240 came in, 4 relevant" in texts(ax)[-1]
    low, high = ax.get_ylim()
    assert low < -1200 < 1100 < high
    ax.figure.canvas.draw()
    assert not any(label.startswith(("-", "−")) for label in ticks(ax.yaxis))


def test_where_decay_moved_nothing_every_bin_stands_empty():
    still = pushed_out()
    still.loc[:, "pushed_out":] = 0
    ax = plots.suppression(still)
    assert len(ticks(ax.xaxis)) == 5
    assert ticks(ax.xaxis)[-1] == "90 d and more"


def test_counts_that_are_none_are_refused():
    with pytest.raises(InvalidParameter, match="'came_in' must hold counts"):
        plots.suppression(pushed_out().assign(came_in=-1))
    with pytest.raises(InvalidParameter, match="pushed_out_relevant is more"):
        plots.suppression(pushed_out().assign(pushed_out_relevant=5000))
    with pytest.raises(InvalidParameter, match="no column 'came_in'"):
        plots.suppression(pushed_out().drop(columns="came_in"))
