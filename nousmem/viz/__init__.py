"""Pictures of rankings and sweeps (`from nousmem.viz import plots`), and widgets for notebooks.

Needs the extra `notebooks`; importing this package alone loads neither matplotlib nor ipywidgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nousmem.viz._labelling import LabellingTable
from nousmem.viz.explorer import DecayDesigner, RankingExplorer, SweepExplorer

if TYPE_CHECKING:
    from nousmem.viz._session_review import SessionReview

__all__ = ["DecayDesigner", "LabellingTable", "RankingExplorer", "SessionReview", "SweepExplorer"]


def __getattr__(name: str) -> Any:
    """Import `SessionReview` when it is asked for, so that the others need no Pydantic AI."""
    if name != "SessionReview":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nousmem.viz._session_review import SessionReview

    return SessionReview
