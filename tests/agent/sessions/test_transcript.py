from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nousmem.agent.sessions import (
    Session,
    Transcript,
    read_transcript,
    read_transcripts,
    run_session,
    write_transcript,
)
from nousmem.errors import SessionError
from nousmem.viz.session_page import write_session_page

from .conftest import SETTINGS


def test_what_is_written_is_read_back(transcripts: dict[str, Transcript], tmp_path: Path):
    for name, one in transcripts.items():
        write_transcript(one, tmp_path / "out" / f"{name}.jsonl")
    (tmp_path / "out" / "ratings.jsonl").write_text("{}")
    assert read_transcripts(tmp_path / "out") == {"small": transcripts}
    header = transcripts["default"].header
    assert header.stand_in
    assert header.model == "scripted"
    assert header.versions.keys() == {"nousmem", "pydantic-ai-slim"}


@pytest.mark.parametrize("model", ["scripted", "extractive"])
def test_two_runs_give_the_same_bytes_but_for_the_times(
    session: Session, tmp_path: Path, model: str
):
    for run in ("a", "b"):
        found = run_session(session, model=model, settings=SETTINGS, embedder="hashing")
        for name, one in found.items():
            write_transcript(one, tmp_path / run / f"{name}.jsonl")
    for name in SETTINGS:
        first, second = (
            (tmp_path / run / f"{name}.jsonl").read_bytes().splitlines() for run in ("a", "b")
        )
        assert len(first) == 5
        assert first[:-1] == second[:-1]
        assert b"seconds" in first[-1]
        assert b"seconds" not in b"".join(first[:-1])


def test_a_damaged_transcript_is_refused_with_its_line(
    transcripts: dict[str, Transcript], tmp_path: Path
):
    file = tmp_path / "t.jsonl"
    write_transcript(transcripts["default"], file)
    lines = file.read_text().splitlines()
    for damaged, message in (
        ([], "a header, turns and a line of times"),
        ([*lines[:2], lines[2][:50], *lines[3:]], "line 3: not JSON"),
        ([lines[1], *lines[1:]], "line 1: expected a header"),
        ([lines[0].replace('"format": 2', '"format": 9'), *lines[1:]], "format 9"),
        ([lines[0], lines[1].replace('"user"', '"usher"', 1), *lines[2:]], "line 2: user: "),
    ):
        file.write_text("\n".join(damaged))
        with pytest.raises(SessionError, match=message):
            read_transcript(file)
    with pytest.raises(SessionError, match="no transcript"):
        read_transcripts(tmp_path / "nowhere")


def test_half_a_character_that_a_model_says_is_kept(session: Session, tmp_path: Path):
    def half(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("bees \ud83d")])

    (found,) = run_session(session, model=FunctionModel(half)).values()
    write_transcript(found, tmp_path / "t.jsonl")
    read = read_transcript(tmp_path / "t.jsonl")
    assert [turn.reply for turn in read.turns] == ["bees \ud83d"] * len(read.turns)
    write_session_page([found], tmp_path / "t.html")
    assert "bees \\ud83d" in (tmp_path / "t.html").read_text()
