"""Pictures of a sweep: a measure over two parameters, and over one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.viz import style
from nousmem.viz.plots import _frames as frames
from nousmem.viz.plots import _layout as layout
from nousmem.viz.plots import labels
from nousmem.viz.plots.given import Measured, baseline_values, tried_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["curve", "heatmap"]

SWEEP = "swept.frame, one row a setting"
LARGEST: Final = 8.5
"""Size of the figures in a heatmap's cells, points, where there is room."""


def heatmap(
    frame: pd.DataFrame | Measured,
    *,
    x: str = "decay_lambda",
    y: str = "w_importance",
    measure: str = "nDCG@10",
    ax: Axes | None = None,
) -> Axes:
    """Draw a measure over two parameters, one cell a pair of values, the best one marked.

    Where further parameters vary in the frame, a cell shows the largest value over them, and the
    title says over which. Decay rates are shown as half-lives, from off and long to short.

    Args:
        frame: The result of a sweep, or an experiment's winner: the settings tried, and in words
            the baseline where it is none of them. Or a table, one row a setting. Columns: `x` and
            `y` (numbers or text; decay_lambda and recency_lambda per hour, half_life_days in days;
            an unset w_recency is shown as "rule"); `measure` (larger
            is better); any others.
        x: Column across. Where half-lives were tried in place of rates, "decay_lambda" is those.
        y: Column upwards.
        measure: Column the cells show.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no numbers, or the frame is empty or mixes
            categories.
        MissingDependency: matplotlib is not installed.
    """
    measure = str(measure)
    tried = tried_frame(frame)
    x, y = frames.decay_column(tried, x), frames.decay_column(tried, y)
    rows = frames.require_rows(frames.require(tried, [x, y, measure], source=SWEEP), source=SWEEP)
    if x == y:
        raise InvalidParameter(f"x and y must be two columns, got {x!r} twice")
    rows, others = frames.best_rows(rows, [x, y], measure)
    across, x_texts = _steps(rows, x)
    upwards, y_texts = _steps(rows, y)
    cells = np.full((len(y_texts), len(x_texts)), np.nan)
    cells[upwards, across] = rows[measure].to_numpy()
    high = float(np.nanmax(cells))
    best = np.isclose(cells, high, rtol=0, atol=1e-12)

    size = (max(4.6, 1.9 + 0.78 * len(x_texts)), max(3.0, 1.5 + 0.46 * len(y_texts)))
    with style.drawing(ax, size=(min(size[0], 15), min(size[1], 12))) as canvas:
        _draw_cells(canvas, cells, best, measure)
        style.name_ticks(canvas.xaxis, range(len(x_texts)), x_texts)
        style.name_ticks(canvas.yaxis, range(len(y_texts)), y_texts)
        layout.name_axes(canvas, labels.parameter_label(x), labels.parameter_label(y))
        if max(map(len, x_texts)) * len(x_texts) > 11 * size[0]:
            canvas.tick_params(axis="x", labelrotation=45)
        ties = int(best.sum()) - 1
        layout.headline(
            canvas,
            measure + _over(others),
            f"★ best: {labels.share(high)} at {_setting(rows, [x, y, *others], measure)}"
            + (f"; equal in {ties} more" if ties else "")
            + _beside(baseline_values(frame, measure)),
        )
        _fit_cells(canvas, cells.shape)
        return canvas


def curve(
    frame: pd.DataFrame | Measured,
    *,
    x: str = "decay_lambda",
    measure: str = "nDCG@10",
    by: str | None = "category",
    ax: Axes | None = None,
) -> Axes:
    """Draw a measure against one parameter, one line a category.

    Half-lives are on a logarithmic axis in days; "off" stands at its right end, behind a break
    in the axis. Where further parameters vary, a point is the largest value over them, and the
    title says over which.

    Args:
        frame: The result of a sweep, or an experiment's winner: the settings tried, and as a
            dashed line the baseline where it is none of them. Or a table, one row a setting, or
            one a setting and category. Columns: `x` (decay_lambda and recency_lambda per hour,
            half_life_days in days, or any number); `measure`; `by` (text, what the lines are);
            optional n_queries (int, queries behind a line, shown in the legend), and low and high
            together (ends of an interval of the measure, drawn as a band; not where the frame has
            a difference, whose interval they are then).
        x: Column across. Where half-lives were tried in place of rates, "decay_lambda" is those.
        measure: Column upwards.
        by: Column with one line for each value; None is a single line, and so is a frame
            without the column `category`.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes.

    Raises:
        InvalidParameter: a column is missing or holds no numbers, or the frame is empty or mixes
            categories.
        MissingDependency: matplotlib is not installed.
    """
    measure = str(measure)
    tried = tried_frame(frame)
    x = frames.decay_column(tried, x)
    needed = [x, measure] if by is None or by == "category" else [x, measure, by]
    rows = frames.require_rows(frames.require(tried, needed, source=SWEEP), source=SWEEP)
    if by is not None and by not in rows.columns:
        by = None
    rows, others = frames.best_rows(rows, [x] if by is None else [x, by], measure)
    values = frames.numbers(rows, x)
    if np.isnan(values).any():
        raise InvalidParameter(f"the column {x!r} must hold numbers in every row")
    if labels.is_half_life(x):
        days = np.array([labels.days_of(x, value) for value in values])
        if not (days > 0).all():
            raise InvalidParameter(f"the column {x!r} must give half-lives above 0")
        places = _log_places(days)
    else:
        days, places = None, values
    rows = rows.assign(_place=places, _off=False if days is None else np.isinf(days))

    groups = frames.lines(rows, by)
    ranged = _has_interval(rows)
    with style.drawing(ax, size=(6.4 if by is None else 7.6, 4.0)) as canvas:
        style.dress(canvas, grid="y")
        drawn = [
            _line(
                canvas,
                part,
                measure=measure,
                look={**style.look(i), "label": _legend_text(name, part)},
                # Intervals of "off" stand side by side, not on top of each other.
                aside=(i - (len(groups) - 1) / 2) * 0.012 if ranged else 0,
            )
            for i, (name, part) in enumerate(groups)
        ]
        if days is not None:
            _half_life_axis(canvas, days, places)
        across = labels.parameter_label(x) + ("" if days is None else ", days")
        layout.name_axes(canvas, across, labels.measure_label(measure))
        style.share_ticks(canvas.yaxis)
        canvas.margins(y=0.08)
        if by is not None:
            # In the order in which the lines end, so that the eye need not search.
            drawn.sort(key=lambda line: -float(line.get_ydata()[-1]))
            layout.place_legend(canvas, title=labels.parameter_label(by), handles=drawn)
        against = baseline_values(frame, measure)
        if against is not None:
            canvas.axhline(
                against[0], color=style.MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1
            )
        detail = "bands and bars: low to high" if ranged else ""
        detail += _beside(against, dashed=True)
        layout.headline(canvas, measure + _over(others), detail.removeprefix("; "))
        return canvas


def _over(others: list[str]) -> str:
    return f", best over {' and '.join(others)}" if others else ""


def _beside(baseline: list[float] | None, *, dashed: bool = False) -> str:
    """Say in words where a baseline that is none of the settings tried stands."""
    if baseline is None:
        return ""
    return f"; {'dashed: the ' if dashed else ''}baseline {labels.share(baseline[0])}"


def _setting(rows: pd.DataFrame, columns: list[str], measure: str) -> str:
    """Return the values that the best row has in these columns, no-break spaces before them."""
    at = int(frames.numbers(rows, measure).argmax())
    texts: list[str] = []
    for name in columns:
        if name not in rows.columns:
            continue
        value: Any = rows[name].iloc[at]
        if isinstance(value, str):
            texts.append(f"{name}\u00a0{labels.named([value])[0]}")
        elif value is None or math.isnan(value):
            value = labels.unset(name, "by\u00a0rule")
            texts.append(f"{name}\u00a0{value}")
        elif labels.is_half_life(name):
            half_life = labels.duration(labels.days_of(name, value))
            rate = f" ({name}\u00a0{value:.4g})" if name in labels.RATES else ""
            texts.append(f"half-life\u00a0{half_life}{rate}")
        else:
            texts.append(f"{name}\u00a0{value:.4g}")
    return ", ".join(texts)


def _steps(rows: pd.DataFrame, column: str) -> tuple[NDArray[np.intp], list[str]]:
    """Return each row's step on an axis, and the steps' texts, in drawing order."""
    if frames.is_text(rows, column):
        values: list[Any] = rows[column].tolist()
        names = [value if isinstance(value, str) else labels.unset(column) for value in values]
        steps = list(dict.fromkeys(names))
        return np.array([steps.index(name) for name in names]), labels.named(steps)
    found, index = np.unique(frames.numbers(rows, column), return_inverse=True)
    if column == "half_life_days":
        found, index = found[::-1], len(found) - 1 - index
    return index, labels.values_of(column, found.tolist())


def _fit_cells(canvas: Any, shape: tuple[int, ...]) -> None:
    """Write the figures no larger than the cells are once all that stands around them is there."""
    layout.settle(canvas)
    width, height = (72 * inches for inches in layout.size(canvas))
    # Six characters across and one up, in letters six tenths as wide as they are high.
    fitting = min(width / shape[1] / 4.2, height / shape[0] / 1.6)
    for text in canvas.texts:
        if text.get_fontsize() == LARGEST:
            text.set_fontsize(float(np.clip(fitting, 4.5, LARGEST)))


def _draw_cells(
    canvas: Any, cells: NDArray[np.float64], best: NDArray[np.bool_], measure: str
) -> None:
    import matplotlib as mpl
    from matplotlib import patheffects
    from matplotlib.patches import Rectangle

    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    mesh = canvas.pcolormesh(
        np.arange(cells.shape[1] + 1) - 0.5,
        np.arange(cells.shape[0] + 1) - 0.5,
        np.ma.masked_invalid(cells),
        cmap=mpl.colormaps["cividis"],
        vmin=low,
        vmax=high,
        edgecolors=style.PAPER,
        linewidth=1.2,
    )
    style.dress(canvas, ticks=False)
    for spine in canvas.spines.values():
        spine.set_visible(False)
    for (row, column), value in np.ndenumerate(cells):
        if np.isnan(value):
            text, ink = "–", style.MUTED
        else:
            text = ("★ " if best[row, column] else "") + labels.share(value)
            ink = style.ink_on(mesh.to_rgba(value))
        canvas.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=LARGEST,
            color=ink,
            fontweight="bold" if best[row, column] else "normal",
        )
        if best[row, column]:
            outline = Rectangle(
                (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#000000", linewidth=2.0
            )
            outline.set(clip_on=False, zorder=4)
            outline.set_path_effects([patheffects.withStroke(linewidth=4.5, foreground="#ffffff")])
            canvas.add_patch(outline)
    bar = canvas.get_figure().colorbar(mesh, ax=canvas, pad=0.02, aspect=24)
    bar.set_label(labels.measure_label(measure))
    bar.outline.set_visible(False)
    style.share_ticks(bar.ax.yaxis)
    bar.ax.tick_params(
        labelsize=style.SMALL, labelcolor=style.INK, labelfontfamily=style.families(), length=0
    )


def _log_places(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each half-life stands on the axis; infinity a step behind the longest."""
    finite = days[np.isfinite(days)]
    if finite.size == 0:
        return np.ones_like(days)
    decades = math.log10(finite.max() / finite.min())
    return np.where(np.isinf(days), finite.max() * 10 ** max(0.25, 0.16 * decades), days)


def _line(
    canvas: Any, part: pd.DataFrame, *, measure: str, look: dict[str, Any], aside: float
) -> Any:
    """Draw one line and its intervals; `aside` moves "off" by this share of the axis."""
    part = part.sort_values("_place")
    place, value = np.array(frames.numbers(part, "_place")), frames.numbers(part, measure)
    off: NDArray[np.bool_] = part["_off"].to_numpy(dtype=bool)
    if off.any():
        place[off] *= (place.max() / place.min()) ** aside
    (line,) = canvas.plot(place, value, markeredgecolor=style.PAPER, markeredgewidth=0.7, **look)
    if off.any() and not off.all():
        # Behind the break there is no scale, so the line does not go on as if there were one.
        line.set_data(np.insert(place, -1, np.nan), np.insert(value, -1, np.nan))
        canvas.plot(place[-2:], value[-2:], color=look["color"], linestyle=":", linewidth=0.9)
    if _has_interval(part):
        low, high = frames.numbers(part, "low"), frames.numbers(part, "high")
        shown = ~off
        canvas.fill_between(
            place[shown], low[shown], high[shown], color=look["color"], alpha=0.14, linewidth=0
        )
        if off.any():
            canvas.vlines(place[off], low[off], high[off], color=look["color"], linewidth=1.2)
    return line


def _has_interval(rows: pd.DataFrame) -> bool:
    # Beside a difference, as on a leaderboard, low and high are the ends of its interval.
    return {"low", "high"} <= set(rows.columns) and "difference" not in rows.columns


def _legend_text(name: str, part: pd.DataFrame) -> str:
    name = style.drawable(name)
    if "n_queries" not in part.columns:
        return name
    return f"{name} (n = {int(frames.numbers(part, 'n_queries')[0]):,})"


def _half_life_axis(canvas: Any, days: NDArray[np.float64], places: NDArray[np.float64]) -> None:
    finite = np.unique(days[np.isfinite(days)])
    canvas.set_xscale("log")
    at: list[float] = []
    if finite.size:
        span = max(math.log10(finite[-1] / finite[0]), 1e-9)
        ticks = finite
        if finite.size > 9:
            powers = range(math.floor(math.log10(finite[0])), math.ceil(math.log10(finite[-1])) + 1)
            ticks = np.array([m * 10.0**p for p in powers for m in (1, 3)])
            ticks = ticks[(ticks >= finite[0]) & (ticks <= finite[-1])]
        inches = canvas.get_window_extent().width / canvas.get_figure(root=True).dpi
        for tick in ticks:
            # Half an inch each: as wide as "1,390" and a space.
            if not at or math.log10(tick / at[-1]) / span * inches * 0.8 > 0.45:
                at.append(float(tick))
    texts = labels.plain(at)
    if np.isinf(days).any():
        at.append(float(places[np.isinf(days)][0]))
        texts.append("off")
        if finite.size:
            _break(canvas, math.sqrt(finite[-1] * at[-1]))
    style.name_ticks(canvas.xaxis, at, texts)
    canvas.set_xticks([], minor=True)


def _break(canvas: Any, place: float) -> None:
    """Mark a place where the horizontal axis leaves out what lies between."""
    canvas.plot(
        [place],
        [0],
        transform=canvas.get_xaxis_transform(),
        marker=[(-0.6, -1), (0.2, 1), (0.6, 1), (-0.2, -1), (-0.6, -1)],
        markersize=9,
        markerfacecolor=style.PAPER,
        markeredgecolor=style.INK,
        markeredgewidth=0.8,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )
