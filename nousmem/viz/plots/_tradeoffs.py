"""A picture of two measures against each other: what forgetting buys, and what it costs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.scoring import half_life_days
from nousmem.viz import style
from nousmem.viz.plots import _frames as frames
from nousmem.viz.plots import _layout as layout
from nousmem.viz.plots import labels
from nousmem.viz.plots.given import Measured, baseline_values, tried_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["trade_off"]

SIDES: Final = np.array(
    [[1, 0], [0.8, 0.9], [0.8, -0.9], [0, 1], [-0.8, 0.9], [0, -1], [-0.8, -0.9], [-1, 0]]
)
"""Where beside its point a label may stand, the preferred side first."""

EDGE: Final = "#a8a8a8"

MARKER: Final = np.array([3.2, 3.2])
"""Half the size of a marker, points."""

SWEEP = "swept.frame, one row a half-life"


def trade_off(
    frame: pd.DataFrame | Measured,
    *,
    x: str = "R@10",
    y: str = "Fresh@1",
    label: str = "half_life_days",
    by: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw two measures against each other, settings joined in the order of their half-life.

    Filled points are the Pareto set over all curves: no other point is at least as good in both
    measures and better in one. The grey line is its edge: what lies within is dominated.

    Args:
        frame: The result of a sweep, or an experiment's winner: the settings tried, and as a cross
            the baseline where it is none of them. Or a table, one row a setting. Columns: `x` and
            `y` (measures, larger is better); `label` (half_life_days in days, infinite for no
            decay; or decay_lambda per hour, or any number; half_life_days may be missing where
            decay_lambda is there); `by` (text). Rows in which a measure is missing are left out.
        x: Measure across.
        y: Measure upwards.
        label: Column that orders and names the points.
        by: Column with one curve for each value; None is a single curve.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no numbers, the frame is empty, or two
            points of one curve have the same label.
        MissingDependency: matplotlib is not installed.
    """
    x, y = str(x), str(y)
    tried = tried_frame(frame)
    derive = label == "half_life_days" and "decay_lambda" in getattr(tried, "columns", ())
    needed = [x, y, *([by] if by else [])]
    rows = frames.require_rows(
        frames.require(tried, needed if derive else [*needed, label], source=SWEEP), source=SWEEP
    )
    if label not in rows.columns:
        rows = rows.assign(
            half_life_days=[half_life_days(rate) for rate in frames.numbers(rows, "decay_lambda")]
        )
    steps = frames.numbers(rows, label)
    order = -steps if label == "half_life_days" else steps
    across, upwards = frames.numbers(rows, x), frames.numbers(rows, y)
    rows = rows.assign(**{x: across, y: upwards, "_step": steps, "_order": order})
    rows = rows[~np.isnan(across) & ~np.isnan(upwards)]
    if rows.empty:
        raise InvalidParameter(f"no row has both {x!r} and {y!r}")
    rows = rows.sort_values("_order", kind="stable").reset_index(drop=True)
    rows["_pareto"] = pareto(rows[x].to_numpy(), rows[y].to_numpy())
    curves = frames.lines(rows, by)
    for name, part in curves:
        _refuse_repeats(part, label, name)
    with style.drawing(ax, size=(6.2, 4.6) if by is None else (8.4, 5.2)) as canvas:
        style.dress(canvas, grid="both")
        for i, (name, part) in enumerate(curves):
            _draw_curve(canvas, part, x=x, y=y, look=style.look(i), name=name)
        against = baseline_values(frame, x, y)
        if against is not None:
            canvas.plot(
                *([value] for value in against), marker="x", markersize=8.0, markeredgewidth=1.6,
                color=style.INK, linestyle="none", label="_baseline", zorder=4,
            )  # fmt: skip
        canvas.margins(0.14)
        canvas.autoscale_view()
        _draw_edge(canvas, rows[rows["_pareto"]].sort_values(x), x=x, y=y)
        style.share_ticks(canvas.xaxis)
        style.share_ticks(canvas.yaxis)
        layout.name_axes(canvas, labels.measure_label(x), labels.measure_label(y))
        noun = "half-lives of relevance" if labels.is_half_life(label) else f"values of {label}"
        layout.headline(
            canvas,
            f"{y} against {x}",
            f"points: {noun}; filled: Pareto set, with its edge in grey"
            + ("" if against is None else "; ×: the baseline"),
        )
        if by is not None:
            layout.place_legend(canvas, title=labels.parameter_label(by))
        layout.settle(canvas)
        _name_points(canvas, [part for _, part in curves], x=x, y=y, label=label)
        return canvas


def pareto(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points no other point dominates, larger being better in both.

    A point dominates another where it is at least as good in both and better in one; equal points
    do not dominate each other.
    """
    at_least = (x[:, None] >= x) & (y[:, None] >= y)
    better = (x[:, None] > x) | (y[:, None] > y)
    dominated: NDArray[np.bool_] = np.any(at_least & better, axis=0)
    return ~dominated


def _refuse_repeats(part: pd.DataFrame, label: str, name: str) -> None:
    repeated = part["_step"].duplicated(keep=False).to_numpy()
    if not repeated.any():
        return
    where = f" of {name!r}" if name else ""
    raise InvalidParameter(
        f"{int(repeated.sum())} rows{where} share a value of {label!r}, so their curve has no "
        "order: select one setting of the other parameters, or name one of them with by="
    )


def _draw_curve(
    canvas: Any, part: pd.DataFrame, *, x: str, y: str, look: dict[str, Any], name: str
) -> None:
    canvas.plot(
        part[x], part[y], markerfacecolor=style.PAPER, label=style.drawable(name) or None, **look
    )
    best = part[part["_pareto"]]
    canvas.plot(
        best[x],
        best[y],
        linestyle="none",
        marker=look["marker"],
        color=look["color"],
        markersize=8.0,
        label="_pareto",
        zorder=3,
    )


def _draw_edge(canvas: Any, best: pd.DataFrame, *, x: str, y: str) -> None:
    left, right, bottom, top = *canvas.get_xlim(), *canvas.get_ylim()
    across, upwards = best[x].tolist(), best[y].tolist()
    canvas.plot(
        [left, *across, across[-1]],
        [upwards[0], *upwards, bottom],
        drawstyle="steps-pre",
        color=EDGE,
        linewidth=1.0,
        label="_edge",
        zorder=1,
    )
    canvas.set_xlim(left, right)
    canvas.set_ylim(bottom, top)


def _name_points(canvas: Any, curves: list[pd.DataFrame], *, x: str, y: str, label: str) -> None:
    """Write the labels that find room: first the curves' ends, then the Pareto set, then others.

    Distances are in points, so that a label is as large as its letters. An end is always named,
    at the place where it covers least. An end that several curves share is named once, in no
    curve's colour; where points coincide, only the first of them is named.
    """
    scale = 72 / canvas.get_figure(root=True).dpi
    paths = [canvas.transData.transform(part[[x, y]].to_numpy()) * scale for part in curves]
    ink = np.concatenate([layout.along(path, 120) for path in paths])
    ink = np.concatenate(
        [ink, *(layout.filled_box(point, MARKER) for path in paths for point in path)]
    )
    wanted = [
        (i not in (0, len(path) - 1), not best, number, i, text)
        for number, (path, part) in enumerate(zip(paths, curves, strict=True))
        for i, (text, best) in enumerate(
            zip(
                labels.values_of(label, part["_step"].tolist()),
                part["_pareto"].tolist(),
                strict=True,
            )
        )
    ]
    ends = Counter((text, _spot(paths[at][i])) for inner, _, at, i, text in wanted if not inner)
    named: dict[tuple[int, int], str] = {}
    for inner, _, number, i, text in sorted(wanted):
        point = paths[number][i]
        spot = _spot(point)
        if spot in named and (inner or named[spot] == text):
            continue
        half = np.array([2.6 * len(text) + 1, 5.0])
        offsets = [(half + reach) * side for reach in (4.5, 10.0) for side in SIDES]
        covered = [
            int((np.abs(ink - point - offset) < half).all(axis=1).sum()) for offset in offsets
        ]
        choice = int(np.argmin(covered))
        if inner and covered[choice]:
            continue
        canvas.annotate(
            text,
            xy=tuple(curves[number][[x, y]].iloc[i]),
            xytext=tuple(offsets[choice]),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=style.SMALL,
            color=style.INK if ends[text, spot] > 1 else style.ink_of(style.look(number)["color"]),
        )
        named[spot] = text
        ink = np.concatenate([ink, layout.filled_box(point + offsets[choice], half)])


def _spot(point: NDArray[np.float64]) -> tuple[int, int]:
    """Return a point of the page, alike for points that cannot be told apart."""
    return round(float(point[0])), round(float(point[1]))
