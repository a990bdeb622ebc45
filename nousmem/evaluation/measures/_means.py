"""Means of measures over queries, and which mean is best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nousmem.scoring import Floats

__all__ = ["best_first", "query_means"]


def query_means(values: Floats) -> Floats:
    """Return the means over the last axis, over the queries a measure exists for; NaN for none."""
    means = np.array(values.mean(axis=-1))
    for at in map(tuple, np.argwhere(np.isnan(means))):
        exists = values[at][~np.isnan(values[at])]
        if len(exists):
            means[at] = exists.mean()
    return means


def best_first(means: Floats) -> NDArray[np.intp]:
    """Return the rows of some means, the highest first, of equals in their order; NaN last.

    What differs by the rounding of a sum alone is equal, so that the order in which queries come
    does not choose.
    """
    return np.argsort(-np.round(means, 12), kind="stable")
