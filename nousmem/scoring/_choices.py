"""The formulas as the parameters choose among them, for one query or for many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nousmem.scoring._formulas import Floats, age_hours, decay, heard_ranks
from nousmem.scoring._fusions import LegArrays
from nousmem.scoring._parameters import Scoring
from nousmem.scoring.functions import called

__all__ = ["decay_hours", "decay_under", "freshness_under", "relevance_under"]


def relevance_under(
    scoring: Scoring, ranks: ArrayLike, leg_scores: ArrayLike, *, legs: Sequence[str]
) -> Floats:
    """Return the relevance of each candidate before decay, as the parameters have it.

    Args:
        scoring: Its `fusion`, what that reads, and its weights of the legs.
        ranks: Shape (legs, ..., candidates): in each leg; 0 where absent.
        leg_scores: Shape (legs, ..., candidates): the legs' own scores; read where present.
        legs: Their names.

    Returns:
        Shape (..., candidates); NaN where no leg that has a weight returned the candidate, which
        then is none.

    Raises:
        ExtensionError: a fusion of somebody's own fails, or returns what it may not.
    """
    ranks, leg_scores = np.asarray(ranks), np.asarray(leg_scores, dtype=np.float64)
    weights = tuple(scoring.leg_weight(name) for name in legs)
    heard = np.any(heard_ranks(ranks, weights) > 0, axis=0)
    given = LegArrays(tuple(legs), ranks, leg_scores, weights)
    found = called(
        "fusion",
        scoring.fusion_function,
        given,
        scoring=scoring,
        shape=ranks.shape[1:],
        may_be_nan=not heard.all(),
    )
    return np.where(heard, found, np.nan)


def freshness_under(
    scoring: Scoring, relevance: ArrayLike, similarity: ArrayLike, *, created: ArrayLike
) -> Floats:
    """Return what relevance is multiplied by for the sake of updates, as the parameters have it.

    Args:
        scoring: Its `update_rule`, and what that reads.
        relevance: Shape (..., candidates): as `relevance_under` returns it.
        similarity: Shape (..., candidates, candidates): as `successor_similarity` returns it.
        created: Shape (..., candidates): whole seconds since 1970.

    Raises:
        ExtensionError: a rule of somebody's own fails, or returns what it may not.
    """
    relevance = np.asarray(relevance, dtype=np.float64)
    return called(
        "update_rule",
        scoring.update_function,
        relevance,
        np.asarray(similarity),
        np.asarray(created),
        scoring=scoring,
        shape=relevance.shape,
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

    Raises:
        ExtensionError: a curve of somebody's own fails, or returns what it may not.
    """
    rate = np.asarray(scoring.decay_lambda if decay_lambda is None else decay_lambda)
    if scoring.decay_importance:
        rate = rate * (1.0 - scoring.decay_importance * np.asarray(importance, dtype=np.float64))
    hours = decay_hours(scoring, last_accessed=last_accessed, created=created, now=now)

    def curve(hours: Floats, rate: Floats) -> Floats:
        shape = np.broadcast_shapes(hours.shape, rate.shape)
        return called(
            "decay_curve", scoring.curve_function, hours, rate, scoring=scoring, shape=shape
        )

    return decay(
        hours, decay_lambda=rate, evergreen=evergreen, curve=curve, floor=scoring.decay_floor
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
