"""The ranking formulas, over arrays: the only copy, used by `Search` and by the sweep alike.

Every function broadcasts, so that one call can score the candidates of one query, of many
queries, or of many settings at once. Times are hours, rates are per hour, scores are float64.
Source: specification, "Search & Scoring".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.entry import epoch_microseconds
from nousmem.errors import InvalidParameter

__all__ = [
    "HOURS_PER_DAY",
    "LN_2",
    "Floats",
    "age_hours",
    "composite",
    "convex_relevance",
    "decay",
    "epoch_seconds",
    "fused_relevance",
    "half_life_days",
    "heard_ranks",
    "recency",
    "rrf",
    "score_order",
]

Floats = NDArray[np.float64]
"""An array of float64; its shape is said where it is used."""

HOURS_PER_DAY: Final = 24.0
"""Between rates, which are per hour, and half-lives, which are in days."""
LN_2: Final = math.log(2)


def epoch_seconds(moment: datetime) -> int:
    """Return whole seconds since 1970-01-01 UTC, rounded down: the resolution of ages."""
    return epoch_microseconds(moment) // 1_000_000


def age_hours(since: ArrayLike, now: ArrayLike) -> Floats:
    """Return hours from an instant (last access, creation) to `now`, never negative.

    Args:
        since: Whole seconds since 1970, any shape.
        now: Whole seconds since 1970, broadcast against `since`.
    """
    seconds = np.asarray(now, dtype=np.int64) - np.asarray(since, dtype=np.int64)
    return np.maximum(seconds, 0) / 3600.0


def rrf(
    ranks: ArrayLike, *, k: float | Floats = 60.0, leg_weights: Sequence[float] | None = None
) -> Floats:
    """Return reciprocal rank fusion: the sum over legs of weight / (k + rank).

    Args:
        ranks: Shape (legs, ..., candidates); ranks from 1, and 0 where a leg did not return the
            candidate.
        k: Dampening constant, any number for which no k + rank is zero.
        leg_weights: One a leg; None is 1 each.

    Returns:
        Shape (..., candidates).

    Raises:
        InvalidParameter: k + rank is zero for some rank.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009; specification, "Hybrid Search".
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    present = ranks > 0
    bottom = np.where(present, k + ranks, 1.0)
    if not bottom.all():
        raise InvalidParameter(f"rrf_k {k} makes k + rank zero; use a k of at least 0")
    weights = np.ones(len(ranks)) if leg_weights is None else np.asarray(leg_weights, dtype=float)
    total = np.zeros(ranks.shape[1:])
    for weight, there, below in zip(weights, present, bottom, strict=True):
        total = total + np.where(there, weight / below, 0.0)
    return total


def fused_relevance(
    ranks: ArrayLike,
    text_scores: ArrayLike,
    *,
    k: float | Floats = 60.0,
    leg_weights: Sequence[float] | None = None,
    over_maximum: bool = True,
    text_leg: int | None = 0,
) -> Floats:
    """Return the relevance of each candidate by its ranks, before decay.

    When a leg other than text returned anything for the query, relevance is RRF over its
    maximum, so that the best candidate has 1.0; with the text leg alone it is the leg's own
    score.

    Args:
        ranks: Shape (legs, ..., candidates); 0 where absent.
        text_scores: Shape (..., candidates); read only where text stands alone.
        k: As in `rrf`.
        leg_weights: As in `rrf`; a leg that weighs 0 counts as one that returned nothing.
        over_maximum: Whether RRF is divided by its maximum.
        text_leg: The row of the text leg; None for none.

    Returns:
        Shape (..., candidates).
    """
    ranks = heard_ranks(ranks, leg_weights)
    text_scores = np.asarray(text_scores, dtype=np.float64)
    if ranks.shape[-1] == 0:
        return np.zeros(text_scores.shape)
    fused = rrf(ranks, k=k, leg_weights=leg_weights)
    if over_maximum:
        best = fused.max(axis=-1, keepdims=True)
        fused = fused / np.where(best > 0, best, 1.0)
    if text_leg is None:
        return fused
    others = np.any(np.delete(ranks, text_leg, axis=0) > 0, axis=(0, -1))
    return np.where(np.expand_dims(others, -1), fused, text_scores)


def convex_relevance(
    ranks: ArrayLike, leg_scores: ArrayLike, *, leg_weights: Sequence[float] | None = None
) -> Floats:
    """Return the relevance of each candidate by its scores: their weighted mean over legs.

    The legs' scores are absolute (text score, cosine), so nothing is rescaled within a query; a
    leg that did not return the candidate counts as 0, and one that returned nothing for the query
    is left out of the mean.

    Args:
        ranks: Shape (legs, ..., candidates); 0 where absent.
        leg_scores: Shape (legs, ..., candidates); read where present.
        leg_weights: One a leg, at least 0; None is 1 each.

    Returns:
        Shape (..., candidates).

    Source: Bruch, Gai and Ingber, ACM TOIS 2023, "An Analysis of Fusion Functions for Hybrid
    Retrieval" (convex combination), without their normalisation.
    """
    ranks = heard_ranks(ranks, leg_weights)
    weights = np.ones(len(ranks)) if leg_weights is None else np.asarray(leg_weights, dtype=float)
    total, whole = np.zeros(ranks.shape[1:]), np.zeros((*ranks.shape[1:-1], 1))
    for weight, leg, scores in zip(
        weights, ranks, np.asarray(leg_scores, dtype=np.float64), strict=True
    ):
        total = total + weight * np.where(leg > 0, scores, 0.0)
        whole = whole + weight * np.any(leg > 0, axis=-1, keepdims=True)
    return total / np.where(whole > 0, whole, 1.0)


def heard_ranks(ranks: ArrayLike, leg_weights: Sequence[float] | None) -> NDArray[Any]:
    """Return the ranks, 0 throughout for a leg that has no weight."""
    ranks = np.asarray(ranks)
    if leg_weights is None or all(leg_weights):
        return ranks
    weighs = np.asarray(leg_weights, dtype=np.float64) != 0
    return ranks * weighs.reshape(-1, *[1] * (ranks.ndim - 1))


def decay(
    hours: ArrayLike,
    *,
    decay_lambda: ArrayLike,
    evergreen: ArrayLike = False,
    curve: Callable[[Any, Any], Any],
    floor: float = 0.0,
) -> Floats:
    """Return the share of relevance that age leaves.

    Args:
        hours: Age, hours, at least 0.
        decay_lambda: Rate per hour; 0 is exactly no decay, whatever the curve.
        evergreen: Where true, the share is exactly 1.
        curve: A function of hours and rate, such as `exponential`.
        floor: Share that age never takes, 0 to 1: floor + (1 - floor) · curve. Two ages keep
            their order, which cutting the curve off at the floor would not leave them.

    Source: specification, "Scoring & Decay" (exponential).
    """
    rate = np.asarray(decay_lambda, dtype=np.float64)
    share = np.asarray(curve(hours, rate), dtype=np.float64)
    if floor:
        share = floor + (1.0 - floor) * share
    return np.where(np.asarray(evergreen, dtype=bool) | (rate == 0), 1.0, share)


def recency(hours: ArrayLike, *, recency_lambda: ArrayLike) -> Floats:
    """Return exp(-recency_lambda · hours), the third term of the composite; 1 is "just now".

    Evergreen entries are not exempt: they are as recent as their last access.
    """
    return np.exp(-np.asarray(recency_lambda, dtype=np.float64) * np.asarray(hours))


def composite(parts: Iterable[tuple[ArrayLike, ArrayLike]]) -> Floats:
    """Return the weighted sum of the parts of a score: weight and value of each.

    Added from left to right, nothing clamped; all broadcast.

    Source: specification, "Scoring & Decay".
    """
    products = (np.multiply(weight, value, dtype=np.float64) for weight, value in parts)
    return functools.reduce(np.add, products)


def score_order(scores: Floats) -> NDArray[np.intp]:
    """Return the indices that sort `scores` best first, along the last axis.

    Equal scores keep the order they are given in. Candidates are therefore always held by
    descending doc_id, which makes this the tie rule of trec_eval: the greater doc_id first.
    """
    return np.argsort(-scores, axis=-1, kind="stable")


def half_life_days(rate: float) -> float:
    """Return the days after which exp(-rate · hours) is one half; infinite for rate 0."""
    return math.inf if rate == 0 else LN_2 / rate / HOURS_PER_DAY
