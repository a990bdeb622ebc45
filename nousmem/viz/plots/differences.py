"""A picture of differences with their intervals: a forest plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.viz import style
from nousmem.viz.plots import frames, labels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["intervals"]

SOURCE = "one row a difference: name, difference, low, high"


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
    middle, low, high = (frames.numbers(rows, name) for name in needed[1:])
    if not np.isfinite([middle, low, high]).all():
        raise InvalidParameter("difference, low and high must be finite in every row")
    wrong = (low > middle) | (middle > high)
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidParameter(
            f"expected low <= difference <= high, got {low[i]:g}, {middle[i]:g}, {high[i]:g} "
            f"for {rows['name'].iloc[i]!r}"
        )
    names, measure = _names(rows)
    with style.drawing(ax, size=(7.8, min(14.0, 1.4 + 0.36 * len(rows)))) as canvas:
        style.dress(canvas, grid="x")
        canvas.axvline(0, color=style.INK, linewidth=1.0, zorder=1)
        for y, (centre, left, right) in enumerate(zip(middle, low, high, strict=True)):
            _draw_row(canvas, y, centre, left, right)
        style.name_ticks(canvas.yaxis, range(len(rows)), names)
        canvas.tick_params(axis="y", length=0, labelsize=style.TEXT_SIZE)
        canvas.spines["left"].set_visible(False)
        canvas.set_ylim(len(rows) - 0.4, -0.6)
        canvas.margins(x=0.06)
        canvas.locator_params(axis="x", nbins=7)
        style.share_ticks(canvas.xaxis, signed=True)
        _figures(canvas, rows, middle, low, high)
        canvas.set_xlabel(f"difference in {measure}" if measure else "difference")
        style.headline(
            canvas,
            "Differences with intervals",
            "filled: the interval excludes zero; hollow: it does not",
        )
        return canvas


def _names(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return the rows' names, and the measure where there is one for all."""
    names = [str(name) for name in rows["name"].tolist()]
    if "measure" not in rows.columns:
        return names, ""
    measures = [str(measure) for measure in rows["measure"].tolist()]
    if len(set(measures)) == 1:
        return names, measures[0]
    return [f"{name}, {measure}" for name, measure in zip(names, measures, strict=True)], ""


def _draw_row(canvas: Any, y: int, centre: float, left: float, right: float) -> None:
    clear = left > 0 or right < 0
    colour = style.PALETTE[0] if clear else style.MUTED
    canvas.errorbar(
        [centre],
        [y],
        xerr=[[centre - left], [right - centre]],
        marker="o",
        markersize=6.5,
        markerfacecolor=colour if clear else style.PAPER,
        markeredgecolor=colour,
        markeredgewidth=1.3,
        ecolor=colour,
        elinewidth=1.6,
        capsize=3,
        linestyle="none",
        zorder=3,
    )


def _figures(
    canvas: Any,
    rows: pd.DataFrame,
    middle: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Write difference, interval and p in columns at the right."""
    signed = [[labels.share(v, signed=True) for v in values] for values in (middle, low, high)]
    columns = [
        ("difference", 52, signed[0]),
        ("interval", 132, [f"[{a}, {b}]" for a, b in zip(signed[1], signed[2], strict=True)]),
    ]
    if "p_value" in rows.columns:
        columns.append(("p", 172, [_p(value) for value in frames.numbers(rows, "p_value")]))
    for name, offset, texts in columns:
        for y, text in [(-0.95, name), *enumerate(texts)]:
            colour = style.MUTED if y < 0 else style.INK
            style.beside(canvas, text, y=y, points=offset, colour=colour)


def _p(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "< .001" if value < 0.001 else labels.share(value)
