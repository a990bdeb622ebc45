from __future__ import annotations

import math
from pathlib import Path

import pytest

from nousmem.agent.sessions.ratings import Rating, RatingFile, summarise_ratings
from nousmem.errors import SessionError

from .conftest import NOON


def rating(turn: str, better: str, **values: str) -> Rating:
    return Rating(
        session="s", turn=turn, settings=("a", "b"), better=better, rated_at=NOON, **values
    )


def test_a_later_rating_of_the_same_turn_replaces_the_earlier(tmp_path: Path):
    file = RatingFile(tmp_path / "new" / "ratings.jsonl")
    assert file.read() == []
    file.put(rating("t1", "a", comment="knows the <name>\n“Ω”"))
    file.put(rating("t2", "same"))
    file.put(rating("t1", "b", comment="no, wrong"))
    file.put(rating("t1", "a", rater="somebody else"))
    assert [(one.turn, one.better, one.comment) for one in file.read()] == [
        ("t1", "b", "no, wrong"),
        ("t2", "same", ""),
        ("t1", "a", ""),
    ]
    assert len(file.path.read_text(encoding="utf-8").splitlines()) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not a rating"),
        ("[]", "line 2: expected a rating"),
        ('{"session": "s"}', "line 2: not a rating"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, line: str, message: str):
    file = RatingFile(tmp_path / "ratings.jsonl")
    file.put(rating("t1", "a"))
    file.path.write_text(file.path.read_text() + line)
    with pytest.raises(SessionError, match=message):
        file.read()


def test_a_verdict_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(SessionError, match="better must be one of"):
        RatingFile(tmp_path / "ratings.jsonl").put(rating("t1", "c"))


def test_who_won_and_how_sure():
    found = [rating(f"t{n}", "a") for n in range(8)] + [rating("t8", "b"), rating("t9", "same")]
    (row,) = summarise_ratings(found).to_dict("records")
    assert (row["a_better"], row["b_better"], row["same"]) == (8, 1, 1)
    # Two-sided: as uneven as 8 of 9, or more.
    assert row["p"] == pytest.approx(2 * (math.comb(9, 8) + 1) / 2**9)
    assert row["a_share"] == pytest.approx(8 / 9)
    assert row["low"] < 8 / 9 < row["high"]
    undecided = summarise_ratings([rating("t1", "same")]).iloc[0]
    assert undecided["p"] == 1
    assert math.isnan(undecided["a_share"])
    assert summarise_ratings([]).empty
