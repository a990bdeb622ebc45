import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nousmem.viz.plots import labels


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (math.log(2) / 0.001 / 24, "28.9 d"),
        (math.log(2) / 0.0001 / 24, "289 d"),
        (math.log(2) / 0.00001 / 24, "2,890 d"),
        (7 / 24, "7 h"),
        (1.0, "1 d"),
        (0.999999, "24 h"),
        (1 / 48, "30 min"),
        (math.inf, "off"),
    ],
)
def test_a_duration_has_three_significant_digits_and_a_fitting_unit(days, text):
    assert labels.duration(days) == text


def test_durations_that_would_look_alike_get_more_digits():
    assert labels.durations([28.91, 28.94, 3.0]) == ["28.91 d", "28.94 d", "3 d"]


@given(st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=6, unique=True))
def test_different_values_never_share_a_text_unless_they_agree_to_seven_digits(values):
    rounded = {f"{value:.6e}" for value in values}
    assert len(set(labels.plain(values))) >= len(rounded)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.4312, ".431"), (1.0, "1.000"), (0.9996, "1.000"), (-0.05, "−.050"), (-0.0001, ".000")],
)
def test_a_share_has_no_leading_zero(value, text):
    assert labels.share(value) == text


def test_a_signed_share_carries_its_sign():
    assert [labels.share(v, signed=True) for v in (0.02, -0.02, 0)] == ["+.020", "−.020", ".000"]
    assert [labels.share(v, signed=True) for v in (1, -1, -1.25)] == ["+1.000", "−1.000", "−1.250"]


def test_values_of_a_rate_are_half_lives_and_others_numbers():
    assert labels.values_of("decay_lambda", [0, 0.001]) == ["off", "28.9 d"]
    assert labels.values_of("half_life_days", [math.inf, 30]) == ["off", "30 d"]
    assert labels.values_of("w_recency", [0.25, math.nan]) == ["0.25", "rule"]


@pytest.mark.parametrize("name", ["nDCG@10", "R@5", "AllRel@3", "Fresh@1", "RR", "AP"])
def test_measures_are_told_from_parameters(name):
    assert labels.is_measure(name)
    assert not labels.is_measure("w_importance")
    assert labels.measure_label(name).startswith(f"{name} (")
