from datetime import UTC, datetime

import pytest

from nousmem.corpora._dates import parse_beam_anchor, parse_locomo_date, parse_longmemeval_date


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:05 am on 1 January, 2022", datetime(2022, 1, 1, 0, 5, tzinfo=UTC)),
        ("12:30 pm on 29 February, 2024", datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
    ],
)
def test_locomo(text: str, moment: datetime):
    assert parse_locomo_date(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8 May 2023",
        "13:56 pm on 8 May, 2023",
        "0:10 am on 8 May, 2023",
        "1:56 pm on 31 June, 2023",
        "1:56 pm on 8 Mai, 2023",
    ],
)
def test_locomo_refuses(text: str):
    with pytest.raises(ValueError, match=r"\w"):
        parse_locomo_date(text)


def test_longmemeval():
    assert parse_longmemeval_date("2023/05/20 (Sat) 02:21") == datetime(
        2023, 5, 20, 2, 21, tzinfo=UTC
    )
    assert parse_longmemeval_date("2023/05/20") == datetime(2023, 5, 20, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2023-05-20 02:21", "2023/13/20 (Sat) 02:21", "yesterday"])
def test_longmemeval_refuses(text: str):
    with pytest.raises(ValueError, match=r"\w"):
        parse_longmemeval_date(text)


def test_beam():
    assert parse_beam_anchor("March-05-2024") == datetime(2024, 3, 5, tzinfo=UTC)
    with pytest.raises(ValueError, match="expected a date such as 'March-15-2024'"):
        parse_beam_anchor("2024-03-05")
    with pytest.raises(ValueError, match="no month is called 'Marz'"):
        parse_beam_anchor("Marz-05-2024")
