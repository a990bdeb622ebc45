"""The names of the parameters that are numbers: what a function of somebody's own may read."""

from __future__ import annotations

from typing import Final

__all__ = ["DECAY_NUMBERS", "NUMBERS", "UPDATE_NUMBERS"]

UPDATE_NUMBERS: Final = (
    "update_penalty",
    "update_takeover",
    "update_lambda",
    "update_similarity",
    "update_ratio",
    "update_depth",
)
"""Those of the built-in update rule."""
DECAY_NUMBERS: Final = ("decay_lambda", "decay_floor", "decay_importance")
"""Those of decay, whatever its curve."""
NUMBERS: Final = (*UPDATE_NUMBERS, *DECAY_NUMBERS, "recency_lambda", "rrf_k", "min_score")
