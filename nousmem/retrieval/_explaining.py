"""Why an entry stands where it stands, or does not stand at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nousmem.retrieval.candidates import Candidates, ScoreParts
from nousmem.scoring import Scoring

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Unfound", "addends_frame", "described_relevance"]


@dataclass(frozen=True, slots=True, eq=False)
class Unfound:
    """What is known of an entry that is no candidate."""

    why: str
    """Why it is none, in words."""
    candidates: Candidates | None = None
    """The candidates, and this entry as deeper legs would have found it; None where it may not be
    shown, or no leg finds it at any depth."""


def addends_frame(
    candidates: Candidates, parts: ScoreParts, scoring: Scoring, at: int
) -> pd.DataFrame:
    """Return what makes up one candidate's score; see `Hits.explain`."""
    import pandas as pd

    values = [float(part.value[at]) for part in parts.addends]
    weights = [part.weight for part in parts.addends]
    details = {
        "relevance": described_relevance(candidates, parts, scoring, at),
        "recency": f"{candidates.age_hours[at]:.4g} h since access",
    }
    for term in candidates.terms:
        if term.decays:
            details[term.name] = f"part of relevance: decay {parts.decay[at]:.3g} is in it"
    return pd.DataFrame(
        {
            "term": [part.term for part in parts.addends],
            "value": values,
            "weight": weights,
            "contribution": np.multiply(values, weights),
            "detail": [details.get(part.term, "") for part in parts.addends],
        }
    )


def described_relevance(
    candidates: Candidates, parts: ScoreParts, scoring: Scoring, at: int
) -> str:
    """Return how the relevance of one candidate came to be, in words."""
    legs = [
        f"{name} rank {candidates.ranks[row, at]} ({candidates.leg_scores[row, at]:.4g})"
        if candidates.ranks[row, at]
        else f"not by {name}"
        for row, name in enumerate(candidates.legs)
        if scoring.leg_weight(name) and candidates.ranks[row].any()
    ]
    told = [", ".join(legs), f"{parts.relevance[at]:.4g} before age"]
    if parts.freshness[at] != 1:
        told.append(f"updates leave {parts.freshness[at]:.3g} of it")
    if parts.decay[at] != 1:
        told.append(f"age leaves {parts.decay[at]:.3g} of it ({parts.age_hours[at]:.4g} h)")
    return "; ".join(one for one in told if one)
