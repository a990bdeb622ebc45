"""Frames in, matplotlib Axes out: one function a picture.

Every function takes a table whose columns its docstring lists and leaves it unchanged, draws on
`ax` or, without one, on a new figure of a fitting size, and returns the Axes. Save with
`save(ax, path)`, or with `ax.figure.savefig(path, bbox_inches="tight")`.
"""

from __future__ import annotations

from nousmem.viz.plots.ages import half_life
from nousmem.viz.plots.differences import intervals
from nousmem.viz.plots.rankings import score_parts
from nousmem.viz.plots.suppressions import suppression
from nousmem.viz.plots.sweeps import curve, heatmap
from nousmem.viz.plots.tradeoffs import trade_off
from nousmem.viz.style import save

__all__ = [
    "curve",
    "half_life",
    "heatmap",
    "intervals",
    "save",
    "score_parts",
    "suppression",
    "trade_off",
]
