"""The laboratory's face in a notebook: sliders over rankings, sweeps and decay.

Needs the extra `notebooks`; importing this package alone loads neither ipywidgets nor matplotlib.
"""

from __future__ import annotations

from nousmem.viz.explorer._decay_designer import DecayDesigner
from nousmem.viz.explorer._ranking_explorer import RankingExplorer
from nousmem.viz.explorer._sweep_explorer import SweepExplorer

__all__ = ["DecayDesigner", "RankingExplorer", "SweepExplorer"]
