"""Where the arithmetic of resampling is known exactly."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from nousmem import evaluation as ev


def test_groups_of_unequal_size_weigh_by_their_queries() -> None:
    """Every sample of groups has this mean, whichever are drawn."""
    groups = ["a"] + ["b"] * 9 + ["c"] * 5 + [f"d{at}" for at in range(9)]
    same = ev.paired_interval(np.full(len(groups), 0.2), np.zeros(len(groups)), groups=groups)
    assert (same.low, same.difference, same.high) == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize(("n", "exact"), [(1, 1.0), (2, 0.5), (4, 0.125)])
def test_patterns_of_signs_as_extreme_as_what_was_seen_count(n: int, exact: float) -> None:
    """All queries gain alike: of 2^n patterns, the two of one sign are as extreme."""
    p_value = ev.paired_p_value(np.full(n, 0.1), np.zeros(n))
    assert p_value == pytest.approx(exact, abs=0.02)


def test_no_p_value_is_below_one_in_the_patterns_drawn() -> None:
    """The pattern that was seen is one of those there are."""
    values = np.linspace(0.1, 1, 60)
    assert ev.paired_p_value(values, np.zeros(60), resamples=99) == 1 / 100


def test_holm_lets_no_greater_p_value_become_the_smaller() -> None:
    """3 · .01, then 2 · .012 and .025, which the first is above."""
    assert ev.holm([0.01, 0.012, 0.025]) == pytest.approx([0.03, 0.03, 0.03])
    assert ev.holm([0.025, 0.5, 0.4]) == pytest.approx([0.075, 0.8, 0.8])


def compared(n: int) -> pd.DataFrame:
    base = np.zeros(n)
    base[0] = 0.3
    values = {"base": np.zeros((1, n)), "own": base[np.newaxis]}
    ids = [f"q{at:02d}" for at in range(n)]
    return ev.compare_values(values, ["R@5"], query_ids=ids, baseline="base")


def test_the_effect_size_is_over_the_deviation_of_a_sample() -> None:
    """One difference of .3 among four: the sum of squares is .09 - 4 · .075², over three."""
    with pytest.warns(ev.FewQueriesWarning):
        row = compared(4).iloc[0]
    assert row["effect_size"] == pytest.approx(0.075 / math.sqrt((0.09 - 4 * 0.075**2) / 3))


def test_fifty_queries_are_enough_not_to_be_warned_of() -> None:
    with pytest.warns(ev.FewQueriesWarning, match="49"):
        compared(49)
    compared(50)  # a warning would be an error


def test_few_groups_are_told_what_would_show_and_the_way_out() -> None:
    values = {"base": np.zeros((1, 60)), "own": np.tile([[0.1, 0.3]], 30)}
    ids, groups = [f"q{at:02d}" for at in range(60)], ["a", "b"] * 30
    with pytest.warns(ev.FewQueriesWarning, match="only 2 groups.*grouped=False") as caught:
        table = ev.compare_values(values, ["R@5"], query_ids=ids, groups=groups, baseline="base")
    assert f"would show is {table['detectable'][0]:.2g}, in R@5" in str(caught[0].message)
