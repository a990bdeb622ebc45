"""Folds of queries that keep together what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus, Query
from nousmem.errors import InvalidParameter

__all__ = ["DEFAULT_FOLDS", "fitting_folds", "fold_of", "query_groups"]

DEFAULT_FOLDS: Final = 5


def query_groups(corpus: Corpus, queries: Sequence[Query]) -> list[str]:
    """Return the group of each query: the value of the corpus's fold field in its scope.

    Queries of one user or conversation share memories and habits, so a setting tuned on some of
    them has seen the others. A query without a value is a group of its own; so is each query
    where all have the same value, as in the notes of one person.
    """
    values = [getattr(query.scope, corpus.fold_field) for query in queries]
    if len(set(values)) < 2:
        return [query.query_id for query in queries]
    return [
        query.query_id if value is None else value
        for query, value in zip(queries, values, strict=True)
    ]


def fitting_folds(groups: Sequence[str], folds: int = DEFAULT_FOLDS) -> int:
    """Return how many folds the groups are dealt into where that many are wanted.

    Args:
        groups: Group of each query, length n.
        folds: How many are wanted.

    Returns:
        `folds`, or the number of groups where there are fewer.
    """
    return min(folds, len(set(groups)))


def fold_of(groups: Sequence[str], *, folds: int, seed: int = 0) -> NDArray[np.intp]:
    """Deal groups into folds of about equal size; return the fold of each query.

    The result depends on the groups' names and sizes, not on the order of the queries.

    Args:
        groups: Group of each query, length n.
        folds: How many; at most the number of groups.
        seed: Shuffles the groups.

    Returns:
        Shape (n,): 0 to folds - 1.

    Raises:
        InvalidParameter: fewer than two folds, or more folds than groups.
    """
    names, sizes = np.unique(np.asarray(groups, dtype=np.str_), return_counts=True)
    if not 2 <= folds <= len(names):
        if len(names) < 2:
            raise InvalidParameter(
                "settings are tuned on some groups of queries and judged on the others, which "
                f"needs two groups at least, got {len(names)}"
            )
        raise InvalidParameter(
            f"folds must be from 2 to the number of groups, {len(names)}; got {folds!r}"
        )
    order = np.random.default_rng(seed).permutation(len(names))
    # The largest first into the emptiest fold keeps the folds level; the shuffle breaks ties.
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(folds, dtype=np.intp)
    chosen: dict[str, int] = {}
    for at in order.tolist():
        emptiest = int(filled.argmin())
        chosen[str(names[at])] = emptiest
        filled[emptiest] += sizes[at]
    return np.array([chosen[group] for group in groups], dtype=np.intp)
