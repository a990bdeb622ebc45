"""A picture of what decay pushed out of the first places, by age, and what came in for it."""

from __future__ import annotations

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

__all__ = ["suppression"]

SOURCE: Final = "evaluation.suppression(swept, setting)"

COUNTS: Final = (
    "pushed_out",
    "pushed_out_relevant",
    "queries_hurt",
    "came_in",
    "came_in_relevant",
)

LEAST: Final = 5.5
"""Size of the smallest letters, points."""

SIDES_INCHES: Final = 1.5
"""Height that the names of both sides take."""

PALE: Final = 0.32
"""How much of its colour the part of a bar has that is not relevant; the rest is paper."""


def suppression(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what decay pushed out, downwards, and what it brought in, upwards, by age.

    The dark part of a bar, at the zero line, is relevant.

    Args:
        frame: One bin of age a row. Columns: age_from, age_to (days; to may be infinite);
            pushed_out, pushed_out_relevant, came_in, came_in_relevant (entries, counted once a
            query); queries_hurt (queries that lost a relevant entry). Empty bins at either end
            are left out.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no numbers of at least 0, the frame is
            empty, or more is relevant than was moved.
        MissingDependency: matplotlib is not installed.
    """
    needed = ["age_from", "age_to", *COUNTS]
    rows = frames.require_rows(frames.require(frame, needed, source=SOURCE), source=SOURCE)
    begins, ends, *counts = (frames.numbers(rows, name) for name in needed)
    out, out_relevant, hurt, came, came_relevant = _checked(counts)
    kept = _filled(out + came)
    with style.drawing(ax, size=(7.4, 4.6)) as canvas:
        style.dress(canvas, grid="y")
        names = [_age(a, b) for a, b in zip(begins[kept], ends[kept], strict=True)]
        each = layout.size(canvas)[0] / len(names)
        sides = (came[kept], came_relevant[kept], None), (out[kept], out_relevant[kept], hurt[kept])
        words = [_words(*side) for side in sides]
        if _widest(words) * LEAST * layout.LETTER > 0.95 * each:
            words = [_words(*side, brief=True) for side in sides]
        small = _fitting(_widest(words), each)
        _draw_bars(canvas, came[kept], came_relevant[kept], style.PALETTE[0], sign=1)
        _draw_bars(canvas, out[kept], out_relevant[kept], style.PALETTE[1], sign=-1)
        canvas.axhline(0, color=style.INK, linewidth=1.0)
        _write(canvas, came[kept], words[0], small)
        _write(canvas, -out[kept], words[1], small)
        if max(map(len, names)) * style.SMALL * layout.LETTER > 0.95 * each:
            names = [name.replace(" to ", " to\n").replace(" and ", "\nand ") for name in names]
        style.name_ticks(canvas.xaxis, range(len(names)), names)
        widest = max(len(line) for name in names for line in name.split("\n"))
        canvas.tick_params(axis="x", length=0, labelsize=_fitting(widest, each))
        canvas.spines["bottom"].set_visible(False)
        canvas.set_xlim(-0.6, len(names) - 0.4)
        canvas.set_ylim(*_limits(canvas, came, out, words))
        canvas.yaxis.set_major_formatter(_size)
        canvas.locator_params(axis="y", nbins=8, integer=True)
        layout.name_axes(canvas, "age that decay counts", "entries, over all queries")
        layout.headline(
            canvas,
            "What decay pushed out of the first places",
            f"dark: relevant. In all {out.sum():,.0f} pushed out, {out_relevant.sum():,.0f} of "
            f"them relevant; {came.sum():,.0f} came in, {came_relevant.sum():,.0f} relevant",
        )
        layout.settle(canvas)
        # Where both do not fit above each other, the figures' own words tell which is which.
        brief = layout.size(canvas)[1] < SIDES_INCHES
        _name_side(canvas, "in" if brief else "came in", style.PALETTE[0], top=True)
        _name_side(canvas, "out" if brief else "pushed out", style.PALETTE[1], top=False)
        return canvas


def _checked(counts: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    for name, column in zip(COUNTS, counts, strict=True):
        if not (np.isfinite(column).all() and (column >= 0).all()):
            raise InvalidParameter(f"the column {name!r} must hold counts of at least 0")
    for name, whole, part in (("pushed_out", 0, 1), ("came_in", 3, 4)):
        if (counts[part] > counts[whole]).any():
            raise InvalidParameter(f"{name}_relevant is more than {name} in some row")
    return counts


def _filled(moved: NDArray[np.float64]) -> slice:
    """Return the bins from the first to the last in which anything moved; all where nothing did."""
    bins = np.flatnonzero(moved)
    return slice(int(bins[0]), int(bins[-1]) + 1) if len(bins) else slice(None)


def _age(begin: float, end: float) -> str:
    if np.isinf(end):
        return f"{labels.duration(begin)} and more"
    if begin >= 1:
        return f"{begin:g} to {labels.duration(end)}"
    return f"{labels.duration(begin) if begin else '0'} to {labels.duration(end)}"


def _draw_bars(
    canvas: Any,
    moved: NDArray[np.float64],
    relevant: NDArray[np.float64],
    colour: str,
    *,
    sign: int,
) -> None:
    places = np.arange(len(moved))
    canvas.bar(places, sign * moved, width=0.72, color=_paled(colour), linewidth=0)
    canvas.bar(places, sign * relevant, width=0.72, color=colour, linewidth=0)


def _words(
    moved: NDArray[np.float64],
    relevant: NDArray[np.float64],
    hurt: NDArray[np.float64] | None,
    *,
    brief: bool = False,
) -> list[list[str]]:
    """Return the lines that each bar is labelled with, none where nothing moved."""
    found: list[list[str]] = []
    for place, (count, part) in enumerate(zip(moved, relevant, strict=True)):
        lines = [f"{count:,.0f}"] if count else []
        if part:
            lines.append(f"{part:,.0f} {'rel.' if brief else 'relevant'}")
        if hurt is not None and hurt[place] and not brief:
            lines.append(f"in {hurt[place]:,.0f} {'query' if hurt[place] == 1 else 'queries'}")
        found.append(lines)
    return found


def _widest(words: list[list[list[str]]]) -> int:
    return max((len(line) for side in words for lines in side for line in lines), default=1)


def _fitting(letters: int, inches: float) -> float:
    return float(np.clip(0.95 * inches / (letters * layout.LETTER), LEAST, style.SMALL))


def _limits(
    canvas: Any,
    came: NDArray[np.float64],
    out: NDArray[np.float64],
    words: list[list[list[str]]],
) -> tuple[float, float]:
    """Return the ends of the vertical axis that leave room for the words beyond the bars."""
    above, under = (11.5 * max(map(len, side)) + 6 for side in words)
    height = 72 * layout.size(canvas)[1]
    top, bottom = max(float(came.max()), 1.0), max(float(out.max()), 1.0)
    each = (top + bottom) / max(height - above - under, height / 3)
    return -bottom - under * each, top + above * each


def _write(canvas: Any, heights: NDArray[np.float64], words: list[list[str]], size: float) -> None:
    for place, (height, lines) in enumerate(zip(heights, words, strict=True)):
        if lines:
            canvas.annotate(
                "\n".join(lines),
                xy=(place, height),
                xytext=(0, 3 if height > 0 else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if height > 0 else "top",
                fontsize=size,
                linespacing=1.15,
                bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.6},
            )


def _name_side(canvas: Any, words: str, colour: str, *, top: bool) -> None:
    canvas.annotate(
        words,
        xy=(1, int(top)),
        xycoords="axes fraction",
        xytext=(4, 0),
        textcoords="offset points",
        va="top" if top else "bottom",
        rotation=270,
        color=style.ink_of(colour),
        fontweight="bold",
        annotation_clip=False,
    )


def _size(value: float, _: int) -> str:
    return f"{abs(value):,.0f}"


def _paled(colour: str) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - PALE * (255 - part)):02x}" for part in parts)
