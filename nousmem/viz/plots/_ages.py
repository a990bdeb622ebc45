"""A picture of decay against the ages of a corpus: what a half-life does to it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.errors import InvalidParameter
from nousmem.retrieval.settings import Settings
from nousmem.scoring import HOURS_PER_DAY, Scoring, decay_under, half_life_days
from nousmem.viz import style
from nousmem.viz._own_parts import part_name
from nousmem.viz.plots import _layout as layout
from nousmem.viz.plots import labels
from nousmem.viz.plots.given import scoring_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["half_life"]

SECONDS: Final = HOURS_PER_DAY * 3600
"""In a day."""

STRIP: Final = 0.26
"""Height of the histogram under the curve, as a share of the curve's own."""
BASE: Final = -STRIP - 0.09
"""Where the histogram stands, in units of the curve."""
LOWEST: Final = 2.1
"""Height of an Axes, inches, below which no words fit between histogram and curve."""

FORMULAS: Final = {
    "exponential": "exp(−λ · age)",
    "hyperbolic": "1 / (1 + age / half-life)",
    "power": "1 / √(1 + 3 · age / half-life)",
    "step": "1 before the half-life, 0 after",
}

CLOCKS: Final = {"last_access": "age since last access", "creation": "age since creation"}

SIDES: Final = np.array([[1, 1], [1, 1], [1, 1], [-1, -1], [1, -1], [-1, 1], [-1, 1], [0, -1]])
REACH: Final = np.array(
    [[7, 1], [7, 13], [7, 25], [-7, -1], [7, -3], [-7, 1], [-7, 13], [0, -8]], dtype=np.float64
)
"""Where beside its point a text may stand, the preferred place first: the side its centre is on,
and how far it is moved, points. The curve falls, so that there is room above it at the right and
below it at the left."""

IMPORTANCES: Final = (0.0, 0.5, 1.0)
"""What curves are drawn for where importance slows decay."""


def half_life(
    ages_hours: ArrayLike,
    *,
    decay_lambda: float | None = None,
    scoring: Scoring | Settings | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of relevance left against age, over a histogram of the corpus's ages.

    Where importance slows decay there is a curve each for the importances 0, 0.5 and 1, and what
    is marked is on that of 0.

    Args:
        ages_hours: Age of every entry by the clock of decay, hours, at least 0; shape (entries,).
        decay_lambda: Rate per hour of exponential decay since last access; 0 is no decay.
        scoring: In its place, what decay is set to, a Scoring or Settings: decay_lambda,
            decay_curve, decay_clock (which names the axis: count `ages_hours` by it), decay_floor
            and decay_importance are read, and what a curve of one's own reads.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes: the curve above 0, the histogram below it, with the half-life and the share
        left at the median age marked. A curve of one's own has no half-life that is known.

    Raises:
        InvalidParameter: there are no ages, an age is negative or not a finite number, the rate
            is, `scoring` is something else, or not exactly one of it and `decay_lambda` is given.
        ExtensionError: a curve of one's own fails, or returns what it may not.
        MissingDependency: matplotlib is not installed.
    """
    ages = _ages(ages_hours) / HOURS_PER_DAY
    scoring = _scoring(decay_lambda, scoring)
    half = half_life_days(scoring.decay_lambda)
    median = float(np.median(ages))
    end = max(float(ages.max()) * 1.03, 1 / 24)
    slowed = scoring.decay_importance > 0 and scoring.decay_lambda > 0
    importances = IMPORTANCES if slowed else IMPORTANCES[:1]
    with style.drawing(ax, size=(7.6 if slowed else 6.4, 4.0)) as canvas:
        style.dress(canvas)
        canvas.set_xlim(0, end)
        canvas.set_ylim(-STRIP - 0.13, 1.14)
        canvas.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".50", ".75", "1"])
        canvas.hlines([0.25, 0.5, 0.75, 1.0], 0, end, color=style.GRID, linewidth=0.7, zorder=0)
        canvas.axhline(0, color=style.INK, linewidth=0.8)
        _histogram(canvas, ages, end)
        curves = _draw_curves(canvas, scoring, importances, end)
        left = float(_left(scoring, median * SECONDS))
        marks = [(median, left, f"median age {labels.duration(median)}: {_percent(left)} left")]
        if half <= end and isinstance(scoring.decay_curve, str):
            share = (1 + scoring.decay_floor) / 2
            rest = f": {_percent(share)} left" if scoring.decay_floor else ""
            marks.append((half, share, f"half-life {labels.duration(half)}{rest}"))
        layout.name_axes(canvas, f"{CLOCKS[scoring.decay_clock]}, days", "share of relevance left")
        canvas.yaxis.label.set_y(0.62)
        if slowed:
            layout.place_legend(canvas, handles=curves[::-1])
        layout.headline(
            canvas,
            _title(scoring),
            f"{_formula(scoring)}; bars: ages of {ages.size:,} entries",
        )
        layout.settle(canvas)
        if layout.size(canvas)[1] > LOWEST:
            _name_tallest(canvas, ages, end)
        _mark(canvas, marks, curves)
        return canvas


def _scoring(decay_lambda: float | None, scoring: Scoring | Settings | None) -> Scoring:
    if (decay_lambda is None) == (scoring is None):
        raise InvalidParameter("give decay_lambda or scoring, and not both")
    if scoring is not None:
        return scoring_of(scoring)
    rate: object = decay_lambda
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate < np.inf:
        raise InvalidParameter(
            f"decay_lambda must be a finite number, at least 0, got {decay_lambda!r}"
        )
    return Scoring(decay_lambda=float(rate))


def _left(scoring: Scoring, seconds: ArrayLike, *, importance: float = 0.0) -> NDArray[np.float64]:
    """Return the share left at these ages, by the function that ranks with it."""
    return decay_under(
        scoring,
        last_accessed=0,
        created=0,
        now=seconds,
        evergreen=False,
        importance=importance,
    )


def _title(scoring: Scoring) -> str:
    half = half_life_days(scoring.decay_lambda)
    if np.isinf(half):
        return "Decay off"
    if not isinstance(scoring.decay_curve, str):
        return f"Decay by {part_name(scoring.decay_curve)}"
    return f"Half-life {labels.duration(half)}"


def _formula(scoring: Scoring) -> str:
    curve = scoring.decay_curve
    curve = FORMULAS[curve] if isinstance(curve, str) else f"{part_name(curve)}(age)"
    if scoring.decay_floor:
        curve = f"{scoring.decay_floor:g} + {1 - scoring.decay_floor:.4g} · {curve}"
    rate = f"decay_lambda {scoring.decay_lambda:.4g}"
    if scoring.decay_importance:
        rate += f" · (1 − {scoring.decay_importance:g} · importance)"
    return f"{curve}, {'λ = ' if 'λ' in curve else ''}{rate} per hour"


def _draw_curves(
    canvas: Any, scoring: Scoring, importances: Sequence[float], end: float
) -> list[Any]:
    # Age has the resolution of a second.
    seconds = np.rint(np.linspace(0, end, 400) * SECONDS)
    half = half_life_days(scoring.decay_lambda)
    if half < end:
        # A step's drop is at one age, not between two that happen to be looked at.
        seconds = np.sort([*seconds, np.ceil(half * SECONDS) - 1, np.ceil(half * SECONDS)])
    return [
        canvas.plot(
            seconds / SECONDS,
            _left(scoring, seconds, importance=importance),
            color=style.PALETTE[0],
            linewidth=2.2 if importance == 0 else 1.4,
            linestyle=style.DASHES[i],
            label=f"importance {importance:g}",
        )[0]
        for i, importance in enumerate(importances)
    ]


def _ages(values: ArrayLike) -> NDArray[np.float64]:
    try:
        ages = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise InvalidParameter(f"ages_hours must be numbers, got {type(values).__name__}") from None
    if ages.size == 0:
        raise InvalidParameter("ages_hours must hold the age of at least one entry")
    if not np.isfinite(ages).all() or ages.min() < 0:
        raise InvalidParameter("ages_hours must be finite and at least 0")
    return ages


def _counts(ages: NDArray[np.float64], end: float) -> tuple[NDArray[Any], NDArray[np.float64]]:
    return np.histogram(ages, bins=min(48, max(12, ages.size // 4)), range=(0, end))


def _histogram(canvas: Any, ages: NDArray[np.float64], end: float) -> None:
    counts, edges = _counts(ages, end)
    heights = STRIP * counts / counts.max()
    canvas.bar(
        edges[:-1],
        heights,
        width=np.diff(edges),
        bottom=BASE,
        align="edge",
        color="#9a9a9a",
        edgecolor=style.PAPER,
        linewidth=0.4,
    )
    canvas.plot(
        ages,
        np.full(ages.size, BASE - 0.02),
        linestyle="none",
        marker="|",
        markersize=4,
        markeredgewidth=0.6,
        color=style.INK,
        alpha=max(0.08, min(0.7, 60 / ages.size)),
        rasterized=ages.size > 2000,
    )


def _name_tallest(canvas: Any, ages: NDArray[np.float64], end: float) -> None:
    """Write over the tallest bar how many entries it is of."""
    counts, edges = _counts(ages, end)
    tallest = int(counts.argmax())
    place = float(edges[tallest : tallest + 2].mean())
    canvas.annotate(
        f"{counts.max():,} {'entry' if counts.max() == 1 else 'entries'}",
        xy=(place, BASE + STRIP),
        xytext=(0, 1),
        textcoords="offset points",
        ha="left" if place < 0.1 * end else "right" if place > 0.9 * end else "center",
        va="bottom",
        fontsize=style.SMALL - 1,
        color=style.MUTED,
    )


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.3g} %"


def _mark(canvas: Any, marks: Sequence[tuple[float, float, str]], curves: Sequence[Any]) -> None:
    """Mark ages, with the share left and a text where it covers least."""
    scale = 72 / canvas.get_figure(root=True).dpi
    to_points: Any = canvas.transData
    bounds = np.array(canvas.get_window_extent().get_points()) * scale
    ink = np.concatenate(
        [layout.along(to_points.transform(line.get_xydata()) * scale, 8) for line in curves]
    )
    # The last first: what stands at the right of an earlier point is above it.
    for (day, share, text), marker in sorted(zip(marks, "oD", strict=False), reverse=True):
        canvas.vlines(day, 0, share, color=style.INK, linewidth=0.9, linestyle=(0, (4, 2)))
        canvas.plot(
            [day], [share], marker=marker, color=style.PALETTE[1], linestyle="none", clip_on=False
        )
        point = to_points.transform((day, share)) * scale
        half = np.array([36 * len(text) * style.TEXT_SIZE * layout.LETTER, 6.5])
        centres = np.clip(point + SIDES * half + REACH, bounds[0] + half, bounds[1] - half)
        covered = [int((np.abs(ink - centre) < half).all(axis=1).sum()) for centre in centres]
        choice = int(np.argmin(covered))
        canvas.annotate(
            text,
            xy=(day, share),
            xytext=tuple(centres[choice] - point),
            textcoords="offset points",
            ha="center",
            va="center",
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.4},
        )
        # Rather over a curve, which shows on both sides of it, than over a text.
        box = layout.filled_box(centres[choice], half + 1)
        ink = np.concatenate([ink, np.repeat(box, 1000, axis=0)])
