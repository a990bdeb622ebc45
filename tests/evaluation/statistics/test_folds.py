"""Folds that are as level as whole groups allow."""

from __future__ import annotations

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation.statistics.folds import fitting_folds


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


def test_folds_that_are_not_asked_for_fit_the_groups(corpus: nm.Corpus) -> None:
    """Three users; asked for, five folds are too many."""
    swept = ev.sweep(corpus, store="memory", grid={"w_importance": [0, 0.3]}, measures=["R@5"])
    assert len(swept.cross_validated("R@5").chosen) == 3
    with pytest.raises(nm.InvalidParameter, match="2 to the number of groups, 3; got 5"):
        swept.cross_validated("R@5", folds=5)
    assert fitting_folds(["a", "b", "a"]) == 2
    assert fitting_folds([f"u{at}" for at in range(9)]) == 5
