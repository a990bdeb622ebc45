from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.agent.sessions import Transcript, parse_session, run_session
from nousmem.agent.sessions.ratings import Rating
from nousmem.errors import SessionError
from nousmem.viz.session_index import session_index, write_session_index

TEXT = """
name = "NAME"
about = "ABOUT"
[[agents]]
id = "assistant"
[[users]]
id = "ada"
[[memories]]
id = "bees"
content = "The bees of Ada are in the orchard"
created_at = 2025-01-01T12:00:00Z
[[turns]]
at = 2025-08-01T13:00:00Z
text = "Where are the bees?"
expects = ["bees"]
"""
SETTINGS = {"default": nm.Scoring(), "flat": nm.Scoring(decay_lambda=0)}


def ran(name: str, about: str = "A year") -> dict[str, Transcript]:
    text = TEXT.replace("NAME", name).replace("ABOUT", about)
    return run_session(parse_session(text), settings=SETTINGS)


@pytest.fixture(scope="module")
def transcripts() -> dict[str, dict[str, Transcript]]:
    return {name: ran(name) for name in ("bees", "bees and more")}


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [
        [" ".join(re.sub("<[^>]+>", " ", one).split()) for one in re.split("</t[hd]>", row)][:-1]
        for row in rows
    ]


def test_each_session_has_its_figures_its_winner_and_a_link(transcripts):
    page = session_index(transcripts)
    assert cells(page) == [
        ["session", "needed", "default", "flat", "won"],
        ["bees A year", "1", "0", "★ 1", "flat"],
        ["bees and more A year", "1", "0", "★ 1", "flat"],
        ["all 2", "2", "0", "★ 2", "flat"],
    ]
    assert 'href="bees%20and%20more.html"' in page
    told = " ".join(re.sub("<[^>]+>", "", page).split())
    assert "Found by default alone: 0. By flat alone: 2. By both: 0, by neither: 0." in told
    assert "toss of a coin, so uneven a result came in 50.0 % of cases" in told
    assert "No language model took part" in page


def test_where_settings_are_level_nobody_wins(transcripts):
    page = session_index(
        {name: {"a": one["flat"], "b": one["flat"]} for name, one in transcripts.items()}
    )
    assert [row[-1] for row in cells(page)[1:]] == ["tie"] * 3
    assert "nothing to tell them apart" in page


def test_one_setting_has_no_rival(transcripts):
    page = session_index({"bees": {"flat": transcripts["bees"]["flat"]}})
    assert cells(page)[0] == ["session", "needed", "flat"]
    assert "★" not in page.partition("<tbody>")[2]
    assert "How sure" not in page


def test_ratings_of_these_sessions_are_summed_up(transcripts):
    ratings = [
        Rating(
            session=session,
            turn=f"t{n}",
            settings=("default", "flat"),
            better="flat",
            rated_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for n, session in enumerate(["bees", "bees", "another"])
    ]
    told = re.sub("<[^>]+>", "", session_index(transcripts, ratings=ratings))
    assert "default better in 0 turns, flat in 2, the same in 0" in told


def test_what_people_wrote_is_text(tmp_path: Path):
    hostile = {"bees": ran("bees", "<script>x</script> \\u202e <b>")}
    write_session_index(hostile, tmp_path / "out" / "index.html")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in page
    assert "\u202e" not in page
    assert "default-src 'none'" in page


def test_without_transcripts_there_is_no_page():
    with pytest.raises(SessionError, match="no transcript"):
        session_index({})
