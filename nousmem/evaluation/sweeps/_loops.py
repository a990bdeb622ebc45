"""The loops of the compiled sweep engine, as plain Python that numba compiles.

Loops and comparisons stand written out, because they become vector instructions that way. Shapes:
n queries, c candidates, w watched entries, b settings of a block.

Those named `write_` put one measure of a block into `values`, shape (settings, measures, n): of
setting `rows[s]`, in `column`. They take `ranks`, shape (b, w), rank from 1 and 0 for none, of
which `starts`, shape (n + 1,), says where the entries of each query start; and a table by rank,
shape (c + 1,), of what a rank is worth, in which rank 0 and those past the measure's cutoff are
"out": looking up is faster than branching.
"""

# ruff: noqa: C901, PLR0912, PLR0917 (compiled functions take arrays by position, and call no others)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nousmem.scoring import Floats

__all__ = [
    "rank_watched",
    "write_average_precision",
    "write_enough_found",
    "write_fresh",
    "write_ndcg",
    "write_reciprocal_rank",
    "write_share_found",
]

Ints = NDArray[np.int64]
Ranks = NDArray[np.int32]


def rank_watched(
    relevance: Floats,
    decay: Floats,
    recency: Floats,
    importance: Floats,
    relevance_at: Ints,
    decay_at: Ints,
    recency_at: Ints,
    weights: Floats,
    extra: Floats | None,
    extra_at: Ints | None,
    extra_weights: Floats | None,
    min_scores: Floats,
    starts: Ints,
    columns: Ints,
    places: Ints,
    ranks: Ranks,
) -> None:
    """Put the rank of every watched entry under every setting into `ranks`, 0 for none.

    Where there is no candidate, relevance is NaN, and no comparison with it is true. What scores
    less than the setting's `min_scores` is ahead of nothing that reaches it. `extra` holds the
    tables of somebody's own terms, of which each setting adds those it weighs; None is none.
    """
    width = importance.shape[1]
    decayed = np.empty(width)
    scores = np.empty(width)
    for q in range(len(importance)):
        last_relevance = last_decay = -1
        for s in range(len(weights)):
            if relevance_at[s] != last_relevance or decay_at[s] != last_decay:
                last_relevance, last_decay = relevance_at[s], decay_at[s]
                for i in range(width):
                    decayed[i] = relevance[last_relevance, q, i] * decay[last_decay, q, i]
            w_relevance, w_importance, w_recency = weights[s, 0], weights[s, 1], weights[s, 2]
            if w_recency == 0:
                for i in range(width):
                    scores[i] = w_relevance * decayed[i] + w_importance * importance[q, i]
            else:
                at = recency_at[s]
                for i in range(width):
                    total = w_relevance * decayed[i] + w_importance * importance[q, i]
                    scores[i] = total + w_recency * recency[at, q, i]
            # Where there are none, this is left out of what is compiled.
            if extra is not None and extra_at is not None and extra_weights is not None:
                for e in range(extra_weights.shape[1]):
                    weight = extra_weights[s, e]
                    if weight != 0:
                        at = extra_at[s, e]
                        for i in range(width):
                            scores[i] += weight * extra[at, q, i]
            for j in range(starts[q], starts[q + 1]):
                column = columns[j]
                if column < 0 or not scores[column] >= min_scores[s]:
                    ranks[s, places[j]] = 0
                    continue
                own = scores[column]
                ahead = 0
                not_behind = 0
                for i in range(width):
                    ahead += scores[i] > own
                    not_behind += scores[i] >= own
                if not_behind - ahead > 1:
                    for i in range(column):
                        ahead += scores[i] == own
                ranks[s, places[j]] = 1 + ahead


def write_ndcg(
    column: int,
    discounts: Floats,
    starts: Ints,
    gains: Floats,
    ideal: Floats,
    ranks: Ranks,
    rows: Ints,
    values: Floats,
) -> None:
    """Write the discounted gains over the ideal ones; `discounts` is infinite where out."""
    for s in range(len(rows)):
        for q in range(len(ideal)):
            total = 0.0
            for j in range(starts[q], starts[q + 1]):
                total += gains[j] / discounts[ranks[s, j]]
            values[rows[s], column, q] = total / ideal[q]


def write_reciprocal_rank(
    column: int, shares: Floats, starts: Ints, ranks: Ranks, rows: Ints, values: Floats
) -> None:
    """Write the greatest of `shares`, which is 1 / rank, and 0 where out."""
    for s in range(len(rows)):
        for q in range(len(starts) - 1):
            best = 0.0
            for j in range(starts[q], starts[q + 1]):
                best = max(best, shares[ranks[s, j]])
            values[rows[s], column, q] = best


def write_average_precision(
    column: int,
    places: Floats,
    starts: Ints,
    n_relevant: Floats,
    ranks: Ranks,
    rows: Ints,
    values: Floats,
) -> None:
    """Write the mean over the relevant entries of the precision at their `places`, inf where out.

    The places of a query are put in order as they come.
    """
    found = np.empty(ranks.shape[1])
    for s in range(len(rows)):
        for q in range(len(n_relevant)):
            n_found = 0
            for j in range(starts[q], starts[q + 1]):
                place = places[ranks[s, j]]
                at = n_found
                while at > 0 and found[at - 1] > place:
                    found[at] = found[at - 1]
                    at -= 1
                found[at] = place
                n_found += 1
            total = 0.0
            for at in range(n_found):
                total += (at + 1) / found[at]
            values[rows[s], column, q] = total / n_relevant[q]


def write_share_found(
    column: int,
    found: Floats,
    starts: Ints,
    whole: Floats,
    ranks: Ranks,
    rows: Ints,
    values: Floats,
) -> None:
    """Write the number found over `whole`; `found` is 1, and 0 where out."""
    for s in range(len(rows)):
        for q in range(len(whole)):
            count = 0.0
            for j in range(starts[q], starts[q + 1]):
                count += found[ranks[s, j]]
            values[rows[s], column, q] = count / whole[q]


def write_enough_found(
    column: int,
    found: Floats,
    starts: Ints,
    needed: Floats,
    ranks: Ranks,
    rows: Ints,
    values: Floats,
) -> None:
    """Write 1 where at least `needed` are found, else 0; `found` as above."""
    for s in range(len(rows)):
        for q in range(len(needed)):
            count = 0.0
            for j in range(starts[q], starts[q + 1]):
                count += found[ranks[s, j]]
            values[rows[s], column, q] = 1.0 if count >= needed[q] else 0.0


def write_fresh(
    column: int,
    places: Floats,
    starts: Ints,
    first: int,
    newest: NDArray[np.bool_],
    ranks: Ranks,
    rows: Ints,
    values: Floats,
) -> None:
    """Write 1 where the best newest entry is ahead of every outdated one; NaN for no marks.

    `places` is infinite where out, and no infinite place is ahead of another.
    """
    for s in range(len(rows)):
        for q in range(len(starts) - 1):
            best = outdated = np.inf
            for j in range(starts[q], starts[q + 1]):
                place = places[ranks[s, j]]
                if newest[j - first]:
                    best = min(best, place)
                else:
                    outdated = min(outdated, place)
            if starts[q] == starts[q + 1]:
                values[rows[s], column, q] = np.nan
            else:
                values[rows[s], column, q] = 1.0 if best < outdated else 0.0
