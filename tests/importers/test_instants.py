from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nousmem.corpora.reading import Node
from nousmem.errors import CorpusError
from nousmem.importers._instants import read_instant

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EPOCH = 1714564800


def node(value: Any) -> Node:
    return Node(value, Path("some.json"), "$[3].created_at")


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01T12:00:00Z",
        "2024-05-01T12:00:00+00:00",
        "2024-05-01T05:00:00-07:00",
        "2024-05-01 17:30:00+05:30",
        " 2024-05-01 12:00:00 UTC ",
        "2024-05-01T12:00:00.000000000Z",
        EPOCH,
        float(EPOCH),
        str(EPOCH),
        f"{EPOCH}.000000",
        EPOCH * 1000,
        str(EPOCH * 1000),
        EPOCH * 10**6,
        EPOCH * 10**9,
    ],
)
def test_instants(value: Any) -> None:
    assert read_instant(node(value), assume_utc=False) == NOON
    assert read_instant(node(value), assume_utc=True) == NOON


def test_fractions_and_early_dates() -> None:
    assert read_instant(node(EPOCH + 0.25), assume_utc=False).microsecond == 250_000
    assert read_instant(node(EPOCH * 1000 + 250), assume_utc=False).microsecond == 250_000
    assert read_instant(node(0), assume_utc=False) == datetime(1970, 1, 1, tzinfo=UTC)
    assert read_instant(node(-86400), assume_utc=False) == datetime(1969, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize("value", ["2024-05-01T12:00:00", "2024-05-01 12:00", "20240501T1200"])
def test_naive_times_are_refused_unless_said_to_be_utc(value: str) -> None:
    assert read_instant(node(value), assume_utc=True) == NOON
    with pytest.raises(CorpusError, match=r"some.json: at \$\[3\].created_at: .*assume_utc=True"):
        read_instant(node(value), assume_utc=False)


def test_dates_without_a_time() -> None:
    for value in ("2024-05-01", "20240501"):
        assert read_instant(node(value), assume_utc=True) == NOON.replace(hour=0)


@pytest.mark.parametrize("value", ["yesterday", "", True, [], {}, 1e300, float("nan"), "2024"])
def test_no_instants(value: Any) -> None:
    with pytest.raises(CorpusError, match=r"some.json: at \$\[3\].created_at: "):
        read_instant(node(value), assume_utc=True)
