"""A picture of decay against the ages of a corpus: what a half-life does to it."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.errors import InvalidParameter
from nousmem.scoring import HOURS_PER_DAY, decay, half_life_days
from nousmem.viz import style
from nousmem.viz.plots import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["half_life"]

STRIP = 0.26
"""Height of the histogram under the curve, as a share of the curve's own."""


def half_life(ages_hours: ArrayLike, *, decay_lambda: float, ax: Axes | None = None) -> Axes:
    """Draw the share of relevance left against age, over a histogram of the corpus's ages.

    Args:
        ages_hours: Age of every entry since its last access, hours, at least 0; shape (entries,).
        decay_lambda: Rate per hour; 0 is no decay.
        ax: Where to draw; None is a new figure.

    Returns:
        The Axes: the curve above 0, the histogram below it, with the half-life and the share
        left at the median age marked.

    Raises:
        InvalidParameter: there are no ages, an age is negative or not a finite number, or the
            rate is.
        MissingDependency: matplotlib is not installed.
    """
    ages = _ages(ages_hours) / HOURS_PER_DAY
    rate: object = decay_lambda
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate < np.inf:
        raise InvalidParameter(
            f"decay_lambda must be a finite number, at least 0, got {decay_lambda!r}"
        )
    half = half_life_days(float(decay_lambda))
    median = float(np.median(ages))
    end = max(float(ages.max()) * 1.03, 1 / 24)
    left = float(decay(median * HOURS_PER_DAY, decay_lambda=decay_lambda))
    with style.drawing(ax, size=(6.4, 4.0)) as canvas:
        style.dress(canvas)
        canvas.set_xlim(0, end)
        canvas.set_ylim(-STRIP - 0.1, 1.06)
        canvas.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".50", ".75", "1"])
        canvas.hlines([0.25, 0.5, 0.75, 1.0], 0, end, color=style.GRID, linewidth=0.7, zorder=0)
        canvas.axhline(0, color=style.INK, linewidth=0.8)
        _histogram(canvas, ages, end)
        at = np.linspace(0, end, 400)
        canvas.plot(
            at,
            decay(at * HOURS_PER_DAY, decay_lambda=decay_lambda),
            color=style.PALETTE[0],
            linewidth=2.2,
        )
        _mark(
            canvas,
            median,
            left,
            f"median age {labels.duration(median)}: {_percent(left)} left",
            "o",
        )
        if half <= end:
            _mark(canvas, half, 0.5, f"half-life {labels.duration(half)}", "D")
        canvas.set_xlabel("age since last access, days")
        canvas.set_ylabel("share of relevance left", y=0.62)
        style.headline(
            canvas,
            "Decay off" if np.isinf(half) else f"Half-life {labels.duration(half)}",
            f"exp(−λ · age), λ = decay_lambda {decay_lambda:g} per hour; "
            f"bars: ages of {ages.size:,} entries",
        )
        return canvas


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


def _histogram(canvas: Any, ages: NDArray[np.float64], end: float) -> None:
    counts, edges = np.histogram(ages, bins=min(48, max(12, ages.size // 4)), range=(0, end))
    heights = STRIP * counts / counts.max()
    base = -STRIP - 0.06
    canvas.bar(
        edges[:-1],
        heights,
        width=np.diff(edges),
        bottom=base,
        align="edge",
        color="#9a9a9a",
        edgecolor=style.PAPER,
        linewidth=0.4,
    )
    canvas.plot(
        ages,
        np.full(ages.size, base - 0.02),
        linestyle="none",
        marker="|",
        markersize=4,
        markeredgewidth=0.6,
        color=style.INK,
        alpha=max(0.08, min(0.7, 60 / ages.size)),
        rasterized=ages.size > 2000,
    )
    tallest = int(counts.argmax())
    canvas.annotate(
        f"{counts.max():,}",
        xy=(float(edges[tallest : tallest + 2].mean()), base + STRIP),
        xytext=(0, 1),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=style.SMALL - 1,
        color=style.MUTED,
    )


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.3g} %"


def _mark(canvas: Any, day: float, share: float, text: str, marker: str) -> None:
    canvas.vlines(day, 0, share, color=style.INK, linewidth=0.9, linestyle=(0, (4, 2)))
    canvas.plot(
        [day], [share], marker=marker, color=style.PALETTE[1], linestyle="none", clip_on=False
    )
    # Where the curve is high there is only the title above it.
    under = share > 0.85
    right = day > 0.6 * canvas.get_xlim()[1]
    canvas.annotate(
        text,
        xy=(day, share),
        xytext=(-7 if right else 7, -9 if under else 6),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top" if under else "bottom",
    )
