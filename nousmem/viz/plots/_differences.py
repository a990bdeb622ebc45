"""Pictures of values with their intervals, a row each: forest plots."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.viz import style
from nousmem.viz.plots import _frames as frames
from nousmem.viz.plots import _layout as layout
from nousmem.viz.plots import labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["estimates", "intervals"]

SOURCE: Final = "one row a difference: name, difference, low, high"

LEAST: Final = 5.0
"""Width of a figure, inches, in which a name has a line of its own, however long."""

LONGEST: Final = 16
"""Letters of a name in one line, in a figure of less."""


def intervals(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw differences with their intervals, one row each, in the frame's order from the top.

    A filled point's interval lies on one side of zero; a hollow one's holds it.

    Args:
        frame: One row a difference. Columns: name (text, what is compared), difference, low,
            high (the difference and its interval's ends, low <= difference <= high); optional
            p_value (0 to 1, written beside it) and measure (text; written on the axis where it
            is the same in all rows, with the name otherwise).
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no finite numbers, the frame is empty, or
            a difference lies outside its interval.
        MissingDependency: matplotlib is not installed.
    """
    needed = ["name", "difference", "low", "high"]
    rows = frames.require_rows(frames.require(frame, needed, source=SOURCE), source=SOURCE)
    values = _ordered(rows, needed)
    names, measure = _names(rows)
    with style.drawing(ax, size=(7.8, min(14.0, 1.4 + 0.36 * len(rows)))) as canvas:
        canvas.axvline(0, color=style.INK, linewidth=1.0, zorder=1)
        clear = (values[1] > 0) | (values[2] < 0)
        _draw_rows(canvas, names, values, clear)
        style.share_ticks(canvas.xaxis, signed=True)
        narrow = layout.is_narrow(canvas)
        columns = _figures(rows, values, intervals=not narrow)
        layout.columns_beside(canvas, columns)
        layout.name_axes(canvas, f"difference in {measure}" if measure else "difference")
        layout.headline(
            canvas,
            "Differences with intervals",
            "filled: the interval excludes zero; hollow: it does not",
            lift=11.5 if narrow else 0,
        )
        return canvas


def estimates(
    frame: pd.DataFrame,
    column: str,
    *,
    name: str = "name",
    title: str = "",
    label: str = "",
    goal: float | None = None,
    signed: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates with their intervals, one row each, in the frame's order from the top.

    Several columns of one frame stand side by side on Axes that share their vertical axis:
    `plt.subplots(1, 2, sharey=True, layout="constrained")`.

    Args:
        frame: One row an estimate. Columns: `name` (text, what is measured); `column` and, with
            `_low` and `_high` behind its name, the ends of its interval, low <= estimate <= high.
        column: What is drawn.
        name: Column that names the rows.
        title: Over the picture; "" is the name of the column.
        label: What the values are, under the axis; "" is the name of the column, with its
            meaning where that is known.
        goal: What an estimate should at least be, a dashed line: points that reach it are filled,
            others hollow. None is no goal, and all are filled.
        signed: Whether the estimates are differences, written with their sign, from a line at 0.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no finite numbers, the frame is empty, or
            an estimate lies outside its interval.
        MissingDependency: matplotlib is not installed.
    """
    needed = [name, column, f"{column}_low", f"{column}_high"]
    source = f"one row an estimate: {', '.join(needed)}"
    rows = frames.require_rows(frames.require(frame, needed, source=source), source=source)
    values = _ordered(rows, needed)
    names = [str(text) for text in rows[name].tolist()]
    with style.drawing(ax, size=(6.4, min(14.0, 1.4 + 0.3 * len(rows)))) as canvas:
        if signed:
            canvas.axvline(0, color=style.INK, linewidth=1.0, zorder=1)
        if goal is not None:
            canvas.axvline(goal, color=style.INK, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        reached = np.ones(len(rows), dtype=bool) if goal is None else values[0] >= goal
        _draw_rows(canvas, names, values, reached)
        style.share_ticks(canvas.xaxis, signed=signed)
        texts = [labels.share(value, signed=signed) for value in values[0]]
        layout.columns_beside(canvas, [("", 34, texts)])
        layout.name_axes(canvas, label or labels.measure_label(column))
        aim = "" if goal is None else f"dashed: {labels.share(goal, signed=signed)}, reached where"
        layout.headline(canvas, title or column, f"{aim} filled" if aim else "bars: low to high")
        return canvas


def _ordered(rows: pd.DataFrame, needed: Sequence[str]) -> NDArray[np.float64]:
    """Return shape (3, rows): each value, and the ends of its interval around it."""
    values = np.stack([frames.numbers(rows, column) for column in needed[1:]])
    _, column, low, high = needed
    if not np.isfinite(values).all():
        raise InvalidParameter(f"{column}, {low} and {high} must be finite in every row")
    wrong = (values[1] > values[0]) | (values[0] > values[2])
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidParameter(
            f"expected {low} <= {column} <= {high}, got {values[1, i]:g}, {values[0, i]:g}, "
            f"{values[2, i]:g} for {rows[needed[0]].iloc[i]!r}"
        )
    return values


def _names(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return the rows' names, and the measure where there is one for all."""
    names = [str(name) for name in rows["name"].tolist()]
    if "measure" not in rows.columns:
        return names, ""
    measures = [str(measure) for measure in rows["measure"].tolist()]
    if len(set(measures)) == 1:
        return names, measures[0]
    return [f"{name}, {measure}" for name, measure in zip(names, measures, strict=True)], ""


def _draw_rows(
    canvas: Any, names: Sequence[str], values: NDArray[np.float64], filled: NDArray[np.bool_]
) -> None:
    style.dress(canvas, grid="x")
    for y, (centre, left, right) in enumerate(values.T):
        colour = style.PALETTE[0] if filled[y] else style.MUTED
        canvas.errorbar(
            [centre],
            [y],
            xerr=[[centre - left], [right - centre]],
            marker="o",
            markersize=6.5,
            markerfacecolor=colour if filled[y] else style.PAPER,
            markeredgecolor=colour,
            markeredgewidth=1.3,
            ecolor=colour,
            elinewidth=1.6,
            capsize=3,
            linestyle="none",
            zorder=3,
        )
    narrow = layout.is_narrow(canvas)
    # Beside one Axes of several in a wide figure there is room.
    alone = canvas.get_figure(root=True).get_figwidth() < LEAST
    texts = [textwrap.fill(name, LONGEST) if alone else name for name in names]
    style.name_ticks(canvas.yaxis, range(len(names)), texts)
    canvas.tick_params(axis="y", length=0, labelsize=style.SMALL if narrow else style.TEXT_SIZE)
    canvas.spines["left"].set_visible(False)
    canvas.set_ylim(len(names) - 0.4, -0.6)
    canvas.margins(x=0.06)
    canvas.locator_params(axis="x", nbins=3 if narrow else 7)


def _figures(
    rows: pd.DataFrame, values: NDArray[np.float64], *, intervals: bool
) -> list[tuple[str, float, list[str]]]:
    """Return what is written in columns at the right: difference, interval and p."""
    middle, low, high = ([labels.share(v, signed=True) for v in part] for part in values)
    columns: list[tuple[str, float, list[str]]] = [("difference", 52, middle)]
    if intervals:
        texts = [f"[{a}, {b}]" for a, b in zip(low, high, strict=True)]
        columns.append(("interval", 132, texts))
    if "p_value" in rows.columns:
        end = columns[-1][1] + 40
        columns.append(("p", end, [_p(value) for value in frames.numbers(rows, "p_value")]))
    return columns


def _p(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "< .001" if value < 0.001 else labels.share(value)
