"""Folds that are as level as whole groups allow."""

from __future__ import annotations

import numpy as np
import pytest

from nousmem import evaluation as ev


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_groups_are_dealt_first(seed: int) -> None:
    """Half of the queries are one user's; dealt last, they would come on top of others."""
    groups = [f"u{at:02d}" for at in range(30)] + ["a"] * 30
    fold = ev.fold_of(groups, folds=2, seed=seed)
    assert np.bincount(fold).tolist() == [30, 30]


@pytest.mark.parametrize("seed", range(3))
def test_folds_are_level_in_queries_not_in_groups(seed: int) -> None:
    groups = ["a"] * 4 + ["b"] * 4 + ["c"] * 2 + ["d"] * 2 + ["e"] * 2 + ["f"] * 2
    assert np.bincount(ev.fold_of(groups, folds=2, seed=seed)).tolist() == [8, 8]
    lone = ["a"] * 9 + list("bcdefghij")
    assert np.bincount(ev.fold_of(lone, folds=2, seed=seed)).tolist() == [9, 9]
