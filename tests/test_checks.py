import numpy as np
import pytest

from nousmem.checks import check_choice, check_flag, check_number, check_whole
from nousmem.errors import InvalidParameter


def test_a_whole_number_is_returned_as_pythons():
    for value in (3, np.int64(3), np.uint8(3)):
        assert (check_whole("k", value, least=3), type(check_whole("k", value, least=3))) == (
            3,
            int,
        )


@pytest.mark.parametrize("value", [2, -1, 3.0, np.float64(3), True, np.bool_(True), "3", None])
def test_what_is_no_whole_number_is_refused_with_its_bound(value: object):
    with pytest.raises(InvalidParameter, match=r"^k must be a whole number of at least 3, got "):
        check_whole("k", value, least=3)


def test_a_finite_number_is_returned_as_pythons():
    assert type(check_number("x", np.float32(0.5))) is float
    assert check_number("x", 2) == 2.0


@pytest.mark.parametrize("value", [np.nan, np.inf, True, "1", None, 1j])
def test_what_is_no_finite_number_is_refused(value: object):
    with pytest.raises(InvalidParameter, match=r"^x must be a finite number, got "):
        check_number("x", value)


def test_switches_and_choices():
    assert check_flag("on", value=False) is False
    assert check_choice("way", "a", ("a", "b")) == "a"
    with pytest.raises(InvalidParameter, match=r"^on must be True or False, got 1$"):
        check_flag("on", 1)
    with pytest.raises(InvalidParameter, match=r"^way must be one of a, b, got 'c'$"):
        check_choice("way", "c", ("a", "b"))
