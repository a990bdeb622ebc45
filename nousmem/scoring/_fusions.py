"""How the ranked lists of the legs become relevance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.scoring._formulas import Floats, convex_relevance, fused_relevance
from nousmem.scoring.functions import Function, over_any_shape

__all__ = ["FUSIONS", "LegArrays", "convex", "rrf", "rrf_raw"]


@dataclass(frozen=True, slots=True, eq=False)
class LegArrays:
    """What the legs found, as a fusion is given it."""

    names: tuple[str, ...]
    """The legs, in the order of the arrays' first axis."""
    ranks: NDArray[Any]
    """Shape (legs, ..., candidates): rank from 1, 0 where the leg did not return the candidate."""
    scores: Floats
    """Shape (legs, ..., candidates): the leg's own score, NaN where it has none."""
    weights: tuple[float, ...]
    """One a leg, at least 0."""

    @property
    def text_scores(self) -> Floats:
        """The scores of the text leg, shape (..., candidates); 0 where absent."""
        if "text" not in self.names:
            return np.zeros(self.ranks.shape[1:])
        row = self.names.index("text")
        return np.where(self.ranks[row] > 0, self.scores[row], 0.0)


@over_any_shape
def rrf(legs: LegArrays, *, rrf_k: float) -> Floats:
    """Reciprocal rank fusion over its maximum; the text leg's own score where it is alone.

    See `fused_relevance`.
    """
    return _fused(legs, rrf_k, over_maximum=True)


@over_any_shape
def rrf_raw(legs: LegArrays, *, rrf_k: float) -> Floats:
    """Reciprocal rank fusion as it is; the text leg's own score where it is alone."""
    return _fused(legs, rrf_k, over_maximum=False)


@over_any_shape
def convex(legs: LegArrays) -> Floats:
    """The weighted mean of the legs' own scores; see `convex_relevance`."""
    return convex_relevance(legs.ranks, legs.scores, leg_weights=legs.weights)


def _fused(legs: LegArrays, k: float, *, over_maximum: bool) -> Floats:
    text = legs.names.index("text") if "text" in legs.names else None
    return fused_relevance(
        legs.ranks,
        legs.text_scores,
        k=k,
        leg_weights=legs.weights,
        over_maximum=over_maximum,
        text_leg=text,
    )


FUSIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {"rrf": rrf, "rrf_raw": rrf_raw, "convex": convex}
)
"""The built-in fusions. One of somebody's own takes `LegArrays` and returns relevance, one value a
candidate; what it returns for a candidate that no leg with a weight found is not looked at."""
