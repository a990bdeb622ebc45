"""The page of a session, above all with memories that try to leave it."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nousmem as nm
from nousmem.agent.sessions import Transcript, parse_session, run_session
from nousmem.errors import SessionError
from nousmem.viz._pages import visible
from nousmem.viz._session_view import session_view
from nousmem.viz.session_page import session_page, write_session_page

HOSTILE = (
    "</li></bdi></script><script>alert(1)</script><img src=x onerror=alert(2)> "
    "{{ 7*7 }} {% raw %} \" ' & --> ]]> \u202egnp.exe \u0085 \U000e0041 bees"
)
TEXT = """
about = '''HOSTILE'''
[[agents]]
id = "assistant"
[[users]]
id = "ada"
name = '''HOSTILE'''
[[memories]]
id = "bees<b>"
content = '''HOSTILE'''
importance = 0.5
created_at = 2025-01-01T12:00:00Z
[[turns]]
id = "first"
at = 2025-01-01T13:00:00Z
text = "Where are the bees?"
answer = '''HOSTILE'''
expects = ["bees<b>"]
[[turns]]
id = "second"
at = 2025-08-01T13:00:00Z
text = '''Where are the bees now? HOSTILE'''
expects = ["bees<b>"]
[[turns]]
id = "third"
at = 2025-08-02T13:00:00Z
text = "Tell me about bees."
[[turns.model]]
reply = '''HOSTILE'''
[[turns.operations]]
action = "forget"
id = "bees<b>"
content = '''HOSTILE'''
[memory]
auto_update_memory = true
""".replace("HOSTILE", HOSTILE.replace("\u0085", "\\u0085"))

SETTINGS = {"default": nm.Scoring(), "no decay": nm.Scoring(decay_lambda=0)}


@pytest.fixture(scope="module")
def transcripts() -> dict[str, Transcript]:
    return run_session(parse_session(TEXT), model="extractive", settings=SETTINGS)


class Page(HTMLParser):
    """Notes what a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_stays_text(transcripts: dict[str, Transcript]) -> None:
    page = session_page(transcripts)
    read = Page()
    read.feed(page)
    read.close()
    assert read.open == []
    assert {"script", "img"}.isdisjoint(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert not [
        value for name, value in read.attributes if name in ("src", "href") and value[0] != "#"
    ]
    assert "<script>alert(1)</script>" in read.text
    assert "{{ 7*7 }}" in read.text
    assert "\\u202egnp.exe" in read.text
    assert not [c for c in page if not c.isprintable() and c != "\n"]


def test_hostile_operations_stay_text() -> None:
    session = parse_session(TEXT)
    last = replace(session, turns=session.turns[2:])
    page = session_page(run_session(last, model="scripted"))
    read = Page()
    read.feed(page)
    assert {"script", "img"}.isdisjoint(read.tags)
    assert "Reflection" in read.text
    assert "− deleted" in read.text
    assert read.text.count("<script>alert(1)</script>") >= 3


def test_differences_are_said_in_words(transcripts: dict[str, Transcript]) -> None:
    page = session_page(transcripts)
    assert "≠ differs in: memories shown, expected memories, reply" in page
    assert "◆ only under no decay" in page
    assert "◇ missing here:" in page
    assert "No language model took part." in page
    assert "age leaves 1% of its relevance" in page
    first, second, _ = session_view(transcripts).turns
    assert first.differences == ()
    assert second.differences[0] == "memories shown"
    assert [len(cell.shown) for cell in second.cells] == [0, 1]
    assert [len(cell.missing_here) for cell in second.cells] == [1, 0]


def test_one_setting_alone_has_nothing_to_differ_from(transcripts: dict[str, Transcript]) -> None:
    page = session_page([transcripts["default"]])
    assert "differs in" not in page
    assert "only under" not in page


@nm.term
def buzzing(candidates: Any) -> Any:
    return np.array([entry.content.count("bees") / 10 for entry in candidates.entries])


@dataclass(frozen=True)
class Oldest:
    name: str = "oldest"

    def search(self, request: Any) -> list[tuple[nm.Entry, float]]:
        return [(one, -float(at)) for at, one in enumerate(request.entries()[: request.depth])]


def test_parts_of_ones_own_are_shown_and_named_even_where_they_cannot_be_loaded() -> None:
    settings = nm.Settings(
        retrieval=nm.Retrieval(legs=["text", Oldest()], terms=[buzzing]),
        scoring=nm.Scoring(weights={"buzzing": 0.2}),
    )
    one = run_session(parse_session(TEXT), model="extractive", settings={"own": settings})["own"]
    page = html.unescape(session_page([one]))
    assert "<dt>oldest rank (score)</dt><dd>1 (-0.000)</dd>" in page.replace("(0.000)", "(-0.000)")
    assert "<dt>buzzing</dt><dd>0." in page
    assert "test_session_page:buzzing" in page
    assert "cannot be loaded" not in page
    gone = json.loads(json.dumps(one.header.settings).replace(":buzzing", ":hissing"))
    page = html.unescape(session_page([replace(one, header=replace(one.header, settings=gone))]))
    assert "test_session_page:hissing" in page
    assert "(parts of it cannot be loaded here)" in page


def test_transcripts_of_other_turns_are_refused(transcripts: dict[str, Transcript]) -> None:
    other = run_session(parse_session(TEXT, name="other"), model="extractive")["default"]
    with pytest.raises(SessionError, match="do not have the same turns"):
        session_page([transcripts["default"], other])
    with pytest.raises(SessionError, match="no transcript"):
        session_page({})


def test_the_page_is_written(transcripts: dict[str, Transcript], tmp_path: Path) -> None:
    write_session_page(transcripts, tmp_path / "new" / "page.html")
    assert (
        (tmp_path / "new" / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    )
    with pytest.raises(SessionError, match="cannot write"):
        write_session_page(transcripts, tmp_path)


def test_what_does_not_show_is_spelled_out() -> None:
    assert visible("a\u202eb\x1bc\n\td\u200de é 中") == "a\\u202eb\\u001bc\n\td\u200de é 中"
