"""The ranking: its formulas, and the parameters it is tuned by."""

from __future__ import annotations

from nousmem.scoring.choices import (
    decay_hours,
    decay_under,
    freshness_under,
    relevance_under,
)
from nousmem.scoring.formulas import (
    HOURS_PER_DAY,
    Floats,
    age_hours,
    composite,
    convex_relevance,
    decay,
    epoch_seconds,
    fused_relevance,
    half_life_days,
    recency,
    rrf,
    score_order,
)
from nousmem.scoring.parameters import (
    CHOICES,
    DECAY_PARAMETERS,
    PARAMETERS,
    RECENCY_PARAMETERS,
    RELEVANCE_PARAMETERS,
    UPDATE_PARAMETERS,
    Scoring,
    check_parameter_names,
    decay_lambda_of,
)
from nousmem.scoring.updates import foremost, freshness, successor_similarity

__all__ = [
    "CHOICES",
    "DECAY_PARAMETERS",
    "HOURS_PER_DAY",
    "PARAMETERS",
    "RECENCY_PARAMETERS",
    "RELEVANCE_PARAMETERS",
    "UPDATE_PARAMETERS",
    "Floats",
    "Scoring",
    "age_hours",
    "check_parameter_names",
    "composite",
    "convex_relevance",
    "decay",
    "decay_hours",
    "decay_lambda_of",
    "decay_under",
    "epoch_seconds",
    "foremost",
    "freshness",
    "freshness_under",
    "fused_relevance",
    "half_life_days",
    "recency",
    "relevance_under",
    "rrf",
    "score_order",
    "successor_similarity",
]
