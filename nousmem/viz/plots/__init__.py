"""Frames in, matplotlib Axes out: one function a picture.

Every function takes a table whose columns its docstring lists and leaves it unchanged, draws on
`ax` or, without one, on a new figure of a fitting size, and returns the Axes. Save with
`save(ax, path)`, or with `ax.figure.savefig(path, bbox_inches="tight")`.

For one column of a journal, give an Axes of that width; letters keep their size, and what has no
room beside the picture goes below it or is left out:

    figure, ax = plt.subplots(figsize=(3.5, 2.8), layout="constrained")
    plots.trade_off(swept.frame, ax=ax)
"""

from __future__ import annotations

from nousmem.viz.plots.ages import half_life
from nousmem.viz.plots.differences import estimates, intervals
from nousmem.viz.plots.rankings import score_parts
from nousmem.viz.plots.suppressions import suppression
from nousmem.viz.plots.sweeps import curve, heatmap
from nousmem.viz.plots.tradeoffs import trade_off
from nousmem.viz.style import save

__all__ = [
    "curve",
    "estimates",
    "half_life",
    "heatmap",
    "intervals",
    "save",
    "score_parts",
    "suppression",
    "trade_off",
]
