"""The formulas as the parameters choose among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nousmem.scoring.formulas import (
    Floats,
    age_hours,
    convex_relevance,
    decay,
    fused_relevance,
    heard_ranks,
)
from nousmem.scoring.parameters import Scoring
from nousmem.scoring.updates import freshness

__all__ = ["decay_hours", "decay_under", "freshness_under", "relevance_under"]


def relevance_under(scoring: Scoring, ranks: ArrayLike, leg_scores: ArrayLike) -> Floats:
    """Return the relevance of each candidate before decay, as the parameters have it.

    Args:
        scoring: Its `fusion`, `rrf_k`, `w_text` and `w_vector` are read.
        ranks: Shape (2, ..., candidates): of the text leg, of the vector leg; 0 where absent.
        leg_scores: Shape (2, ..., candidates): the legs' own scores; read where present.

    Returns:
        Shape (..., candidates); NaN where no leg that has a weight returned the candidate, which
        then is none.
    """
    ranks, leg_scores = np.asarray(ranks), np.asarray(leg_scores, dtype=np.float64)
    weights = (scoring.w_text, scoring.w_vector)
    if scoring.fusion == "convex":
        relevance = convex_relevance(ranks, leg_scores, leg_weights=weights)
    else:
        relevance = fused_relevance(
            ranks,
            np.where(ranks[0] > 0, leg_scores[0], 0.0),
            k=scoring.rrf_k,
            leg_weights=weights,
            over_maximum=scoring.fusion == "rrf",
        )
    return np.where(np.any(heard_ranks(ranks, weights) > 0, axis=0), relevance, np.nan)


def freshness_under(
    scoring: Scoring, relevance: ArrayLike, similarity: ArrayLike, *, created: ArrayLike
) -> Floats:
    """Return what relevance is multiplied by for the sake of updates, as the parameters have it.

    Args:
        scoring: Its parameters named `update_` are read.
        relevance: Shape (..., candidates): as `relevance_under` returns it.
        similarity: Shape (..., candidates, candidates): as `successor_similarity` returns it.
        created: Shape (..., candidates): whole seconds since 1970.
    """
    return freshness(
        relevance,
        similarity,
        penalty=scoring.update_penalty,
        min_similarity=scoring.update_similarity,
        min_ratio=scoring.update_ratio,
        takeover=scoring.update_takeover,
        gap_lambda=scoring.update_lambda,
        created=created,
        depth=scoring.update_depth,
    )


def decay_under(
    scoring: Scoring,
    *,
    last_accessed: ArrayLike,
    created: ArrayLike,
    now: ArrayLike,
    evergreen: ArrayLike,
    importance: ArrayLike = 0.0,
    decay_lambda: ArrayLike | None = None,
) -> Floats:
    """Return the share of relevance that age leaves, as the parameters have it.

    Args:
        scoring: Its parameters named `decay_` are read.
        last_accessed: Whole seconds since 1970.
        created: Whole seconds since 1970.
        now: Whole seconds since 1970.
        evergreen: Where true, the share is exactly 1.
        importance: 0 to 1; read where `decay_importance` is set.
        decay_lambda: Rates in place of the scoring's, for settings that differ in nothing else.
    """
    rate = np.asarray(scoring.decay_lambda if decay_lambda is None else decay_lambda)
    if scoring.decay_importance:
        rate = rate * (1.0 - scoring.decay_importance * np.asarray(importance, dtype=np.float64))
    return decay(
        decay_hours(scoring, last_accessed=last_accessed, created=created, now=now),
        decay_lambda=rate,
        evergreen=evergreen,
        curve=scoring.decay_curve,
        floor=scoring.decay_floor,
    )


def decay_hours(
    scoring: Scoring, *, last_accessed: ArrayLike, created: ArrayLike, now: ArrayLike
) -> Floats:
    """Return the age that decay counts, hours, by the clock of the scoring.

    Args:
        scoring: Its `decay_clock` is read.
        last_accessed: Whole seconds since 1970.
        created: Whole seconds since 1970.
        now: Whole seconds since 1970.
    """
    return age_hours(created if scoring.decay_clock == "creation" else last_accessed, now)
