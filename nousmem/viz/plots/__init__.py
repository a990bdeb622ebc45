"""Frames in, matplotlib Axes out: one function a picture.

Every function takes a table whose columns its docstring lists and leaves it unchanged, draws on
`ax` or, without one, on a new figure of a fitting size, and returns the Axes. Save with
`save(ax, path)`, or with `ax.figure.savefig(path, bbox_inches="tight")`.

`heatmap`, `curve` and `trade_off` take the result of a sweep or an experiment as well, and leave
out of the grid the baseline that was measured beside it, which `swept.frame` has as its last row;
`score_parts` takes the hits. What takes a Scoring takes Settings.

For one column of a journal, give an Axes of that width; letters keep their size, and what has no
room beside the picture goes below it or is left out:

    figure, ax = plt.subplots(figsize=(3.5, 2.8), layout="constrained")
    plots.trade_off(swept, ax=ax)
"""

from __future__ import annotations

from nousmem.viz.plots._ages import half_life
from nousmem.viz.plots._differences import estimates, intervals
from nousmem.viz.plots._rankings import score_parts
from nousmem.viz.plots._suppressions import suppression
from nousmem.viz.plots._sweeps import curve, heatmap
from nousmem.viz.plots._tradeoffs import trade_off
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
