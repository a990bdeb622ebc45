"""Freshness: what an entry keeps of its relevance beside newer entries that say the like.

Decay takes relevance from everything old, whether or not anything has replaced it. What stands
here takes it only from an entry beside which, among the candidates of the same query, stands one
that is newer, similar and about as relevant: most likely its update.

Similarity is the cosine between the vectors of two entries. Without vectors nothing is known to
be similar, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.entry import Vector
from nousmem.scoring._formulas import Floats, score_order
from nousmem.scoring.functions import Function, over_any_shape

__all__ = ["RULES", "by_freshness", "foremost", "freshness", "successor_similarity"]


def successor_similarity(
    vectors: Sequence[Vector | None],
    spaces: Sequence[object],
    *,
    created: ArrayLike,
    evergreen: ArrayLike,
) -> NDArray[np.float32]:
    """Return the cosine of each entry with each newer one.

    Args:
        vectors: Length c: the entries' embeddings, None for none.
        spaces: Length c: what made each embedding. Those of two makers are not compared.
        created: Shape (c,): whole seconds since 1970.
        evergreen: Shape (c,): where true, nothing succeeds the entry.

    Returns:
        Shape (c, c), -1 to 1: of the entry of the row with that of the column. NaN where the
        second is not the newer one, where the first is evergreen, and where vectors are missing
        or of two makers. It takes 4 · c² bytes, and v² · dimension multiplications for v vectors.
        The cosine of two entries does not depend on what else is there.
    """
    n = len(vectors)
    cosines = np.full((n, n), np.nan, dtype=np.float32)
    members: dict[object, list[int]] = {}
    for at, (vector, space) in enumerate(zip(vectors, spaces, strict=True)):
        if vector is not None:
            members.setdefault((space, len(vector)), []).append(at)
    for rows in members.values():
        matrix = np.array([vectors[row] for row in rows], dtype=np.float32)
        # Scaled first, so that the square of no component overflows or vanishes.
        matrix /= np.abs(matrix).max(axis=1, keepdims=True)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        # Pair by pair: a matrix product's last bits depend on which others are in the matrix, and
        # for so few rows it costs more to wake the threads that share it.
        cosines[np.ix_(rows, rows)] = np.einsum("id,jd->ij", matrix, matrix)
    created = np.asarray(created)
    follows = created[np.newaxis, :] > created[:, np.newaxis]
    follows &= ~np.asarray(evergreen, dtype=bool)[:, np.newaxis]
    cosines[~follows] = np.nan
    return cosines


def freshness(
    relevance: ArrayLike,
    similarity: ArrayLike,
    *,
    penalty: float,
    min_similarity: float,
    min_ratio: float,
    takeover: float = 0.0,
    gap_lambda: float = 0.0,
    created: ArrayLike | None = None,
    depth: int = 0,
) -> Floats:
    """Return what relevance is multiplied by to set updates before what they update.

    An entry is outdated by each newer candidate whose similarity is at least `min_similarity` and
    whose relevance is at least `min_ratio` times its own. In this order:

    1. An update takes over, of the relevance that the most relevant entry it outdates is ahead by,
       the share `takeover`.
    2. What is outdated loses the share `penalty`, and decays by its age gap to the newest of the
       candidates that outdate it: exp(-`gap_lambda` · hours).
    3. With `depth`, all this is among the first `depth` candidates alone, and moves none of them
       behind the others: should a value fall below the least relevance among them, their values
       are stretched or drawn together, in order, to run from their least to their greatest
       relevance.

    Args:
        relevance: Shape (..., c): before decay; NaN where there is no candidate. Candidates of
            relevance 0 or less are left alone.
        similarity: Shape (..., c, c): as `successor_similarity` returns it.
        penalty: 0 to 1.
        min_similarity: -1 to 1.
        min_ratio: At least 0.
        takeover: 0 to 1.
        gap_lambda: Per hour; 0 is no decay by the gap.
        created: Shape (..., c): whole seconds since 1970; read where `gap_lambda` is above 0.
        depth: Candidates looked at, by relevance; 0 is all.

    Returns:
        Shape (..., c): exactly 1 where nothing changes, above 1 where an update has taken over.
    """
    relevance = np.asarray(relevance, dtype=np.float64)
    similarity = np.asarray(similarity)
    factor = np.ones(relevance.shape)
    first = foremost(relevance, depth)
    if first.shape != relevance.shape:
        own = np.take_along_axis(relevance, first, axis=-1)
        among = np.take_along_axis(similarity, first[..., :, np.newaxis], axis=-2)
        among = np.take_along_axis(among, first[..., np.newaxis, :], axis=-1)
    else:
        own, among = relevance, similarity
    own = np.where(own > 0, own, np.nan)
    outdates = among >= min_similarity
    outdates &= own[..., np.newaxis, :] >= min_ratio * own[..., :, np.newaxis]
    kept = np.where(outdates.any(axis=-1), 1.0 - penalty, 1.0)
    if gap_lambda:
        since = np.take_along_axis(np.broadcast_to(np.asarray(created), relevance.shape), first, -1)
        kept = kept * np.exp(-gap_lambda * _gap_hours(outdates, since))
    if takeover:
        overtaken = np.where(outdates, own[..., :, np.newaxis], 0.0).max(axis=-2, initial=0.0)
        kept = kept * (1.0 + takeover * np.maximum(overtaken - own, 0.0) / own)
    if depth:
        kept = _fitted(own, kept)
    np.put_along_axis(factor, first, np.where(np.isnan(own), 1.0, kept), axis=-1)
    return factor


def _gap_hours(outdates: NDArray[np.bool_], created: NDArray[np.int64]) -> Floats:
    """Return the hours from each entry to the newest that outdates it, 0 where none does."""
    gaps = created[..., np.newaxis, :] - created[..., :, np.newaxis]
    return np.where(outdates, gaps, 0).max(axis=-1, initial=0) / 3600.0


def foremost(relevance: Floats, depth: int) -> NDArray[np.intp]:
    """Return which candidates are looked at, ascending: the most relevant, or all at depth 0.

    Args:
        relevance: Shape (..., c); NaN comes last, equals in the order given.
        depth: How many.

    Returns:
        Shape (..., min(depth, c)), or (..., c).
    """
    n = relevance.shape[-1]
    if not 0 < depth < n:
        return np.broadcast_to(np.arange(n, dtype=np.intp), relevance.shape)
    ahead = score_order(np.where(np.isnan(relevance), -np.inf, relevance))
    return np.sort(ahead[..., :depth], axis=-1)


def _fitted(relevance: Floats, kept: Floats) -> Floats:
    values = relevance * kept
    least, most = _range(relevance)
    low, high = _range(values)
    # Where all are equally relevant there is no room between least and most.
    fallen = (low < least) & (least < most) & (low < high)
    scale = (most - least) / np.where(fallen, high - low, 1.0)
    drawn = least + (values - low) * scale
    return np.where(fallen, drawn / relevance, kept)


def _range(values: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest of the last axis, leaving out NaN."""
    there = ~np.isnan(values)
    low = np.min(values, axis=-1, keepdims=True, initial=np.inf, where=there)
    return low, np.max(values, axis=-1, keepdims=True, initial=-np.inf, where=there)


@over_any_shape
def by_freshness(
    relevance: Floats,
    similarity: Floats,
    created: NDArray[np.int64],
    *,
    update_penalty: float,
    update_takeover: float,
    update_lambda: float,
    update_similarity: float,
    update_ratio: float,
    update_depth: int,
) -> Floats:
    """Set updates before what they update; see `freshness`."""
    return freshness(
        relevance,
        similarity,
        penalty=update_penalty,
        min_similarity=update_similarity,
        min_ratio=update_ratio,
        takeover=update_takeover,
        gap_lambda=update_lambda,
        created=created,
        depth=update_depth,
    )


RULES: Final[Mapping[str, Function]] = MappingProxyType({"freshness": by_freshness})
"""The built-in update rules: functions of relevance, shape (c,), NaN where there is no candidate;
of the cosine of each entry with each newer one, shape (c, c), NaN for none; and of the instants of
creation, shape (c,), seconds since 1970. They return what relevance is multiplied by, shape (c,).
One of somebody's own is called for every query."""
