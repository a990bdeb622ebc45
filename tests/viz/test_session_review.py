"""The review in a notebook, worked as a script would."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import ipywidgets
import pytest

import nousmem as nm
from nousmem.agent.sessions import Transcript, parse_session, run_session
from nousmem.agent.sessions.ratings import RatingFile
from nousmem.errors import InvalidParameter
from nousmem.viz._session_review import SessionReview

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
TURN = """
[[turns]]
at = 2025-0{month}-01T13:00:00Z
text = "Where are the <bees>?"
expects = ["bees"]
"""
TEXT = """
[[agents]]
id = "assistant"
[[users]]
id = "ada"
[[memories]]
id = "bees"
content = "The bees are <i>in</i> the orchard"
created_at = 2025-01-01T12:00:00Z
""" + "".join(TURN.format(month=month) for month in (1, 6, 7, 8, 9))


@pytest.fixture(scope="module")
def transcripts() -> dict[str, Transcript]:
    settings = {"default": nm.Scoring(), "flat": nm.Scoring(decay_lambda=0)}
    return run_session(parse_session(TEXT), model="extractive", settings=settings)


def review(transcripts: dict[str, Transcript], tmp_path: Path, **options: object) -> SessionReview:
    path = tmp_path / "ratings.jsonl"
    return SessionReview(transcripts, path, clock=lambda: NOON, **options)  # type: ignore[arg-type]


def sides(one: SessionReview) -> list[str]:
    return [column.value for column in one.widget.children[1].children]


def test_rating_by_buttons_goes_through_the_turns_that_differ(transcripts, tmp_path):
    one = review(transcripts, tmp_path)
    assert [turn.record.turn for turn in one.view.turns if turn.differences] == [
        "t2",
        "t3",
        "t4",
        "t5",
    ]
    better = []
    for _ in range(4):
        side = "a" if "orchard" in sides(one)[0] else "b"
        better.append(side)
        one.comment.value = f"  it is {side} "
        one.buttons[side].click()
    assert set(better) == {"a", "b"}  # which is A changes from turn to turn
    ratings = RatingFile(one.file.path).read()
    assert [(r.turn, r.better, r.comment) for r in ratings] == [
        (turn, "flat", f"it is {side}")
        for turn, side in zip(("t2", "t3", "t4", "t5"), better, strict=True)
    ]
    assert one.summary().iloc[0][["a", "b", "b_better"]].tolist() == ["default", "flat", 4]


def test_it_goes_on_where_it_ended(transcripts, tmp_path):
    one = review(transcripts, tmp_path)
    one.rate("same", "no matter")
    one.rate("a")
    again = review(transcripts, tmp_path)
    assert again.current.record.turn == "t4"
    again.buttons["previous"].click()
    again.buttons["previous"].click()
    assert again.comment.value == "no matter"
    again.buttons["b"].click()
    assert len(RatingFile(again.file.path).read()) == 2
    other = review(transcripts, tmp_path, rater="bo")
    assert other.current.record.turn == "t2"


def test_names_are_hidden_until_asked_for(transcripts, tmp_path):
    hidden = "".join(sides(review(transcripts, tmp_path)))
    assert "default" not in hidden
    assert "flat" not in hidden
    told = "".join(sides(review(transcripts, tmp_path, blind=False)))
    assert "default" in told


def test_what_people_and_memories_say_is_escaped(transcripts, tmp_path):
    one = review(transcripts, tmp_path)
    shown = "".join(w.value for w in one.widget.children if isinstance(w, ipywidgets.HTML))
    shown += "".join(sides(one))
    assert "&lt;i&gt;in&lt;/i&gt;" in shown
    assert "<i>" not in shown
    assert "<bees>" not in shown
    assert "a stand-in, no language model" in shown


def test_a_damaged_file_is_told_and_nothing_is_lost(transcripts, tmp_path):
    one = review(transcripts, tmp_path)
    one.rate("a")
    with pytest.raises(InvalidParameter, match="verdict must be one of a, b, same"):
        one.rate("c")
    with pytest.raises(InvalidParameter, match="two settings are compared"):
        review({"default": transcripts["default"]}, tmp_path)
    with pytest.raises(InvalidParameter, match="name two of default, flat"):
        review(transcripts, tmp_path, settings=("default", "tuned"))


def test_settings_that_do_not_differ_leave_nothing_to_rate(transcripts, tmp_path):
    same = {"one": transcripts["flat"], "two": transcripts["flat"]}
    assert review(same, tmp_path).current is None
