"""Pictures of rankings and sweeps (`from nousmem.viz import plots`), and widgets for notebooks.

Needs the extra `notebooks`; importing this package alone loads neither matplotlib nor ipywidgets.
"""

from __future__ import annotations

from nousmem.viz.explorer import DecayDesigner, RankingExplorer, SweepExplorer

__all__ = ["DecayDesigner", "RankingExplorer", "SweepExplorer"]
