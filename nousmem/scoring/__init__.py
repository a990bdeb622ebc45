"""The ranking: its formulas, and the parameters it is tuned by."""

from __future__ import annotations

from nousmem.scoring._choices import (
    decay_hours,
    decay_under,
    freshness_under,
    relevance_under,
)
from nousmem.scoring._curves import CURVES
from nousmem.scoring._formulas import (
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
from nousmem.scoring._fusions import FUSIONS, LegArrays, convex
from nousmem.scoring._parameters import (
    CHOICES,
    DECAY_PARAMETERS,
    FUNCTIONS,
    PARAMETERS,
    UPDATE_PARAMETERS,
    Scoring,
    Weights,
    check_parameter_names,
    decay_lambda_of,
    own_weight,
)
from nousmem.scoring._updates import RULES, foremost, freshness, successor_similarity
from nousmem.scoring.functions import (
    Function,
    called,
    described_function,
    over_any_shape,
    parameters_read,
    takes_any_shape,
)

__all__ = [
    "CHOICES",
    "CURVES",
    "DECAY_PARAMETERS",
    "FUNCTIONS",
    "FUSIONS",
    "HOURS_PER_DAY",
    "PARAMETERS",
    "RULES",
    "UPDATE_PARAMETERS",
    "Floats",
    "Function",
    "LegArrays",
    "Scoring",
    "Weights",
    "age_hours",
    "called",
    "check_parameter_names",
    "composite",
    "convex",
    "convex_relevance",
    "decay",
    "decay_hours",
    "decay_lambda_of",
    "decay_under",
    "described_function",
    "epoch_seconds",
    "foremost",
    "freshness",
    "freshness_under",
    "fused_relevance",
    "half_life_days",
    "over_any_shape",
    "own_weight",
    "parameters_read",
    "recency",
    "relevance_under",
    "rrf",
    "score_order",
    "successor_similarity",
    "takes_any_shape",
]
