from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import nousmem as nm
from nousmem.agent.sessions import (
    Session,
    Transcript,
    candidates_frame,
    parse_session,
    run_session,
)
from nousmem.errors import InvalidParameter, SessionError
from nousmem.retrieval.legs import LegRequest

from .conftest import SETTINGS, TEXT


def turn(transcript: Transcript, name: str) -> Any:
    return next(one for one in transcript.turns if one.turn == name)


def test_support_is_told_with_its_reason(transcripts: dict[str, Transcript]):
    cat = turn(transcripts["default"], "cat")
    assert [(one.wanted, one.in_prompt, one.how) for one in cat.support] == [
        ("name", True, "injected")
    ]
    assert [one.in_prompt for one in cat.intruders] == [False, False]
    of_bo, late = cat.intruders
    assert of_bo.why == "it is another agent's or another user's memory"
    assert late.why == "no memory in the store says it"  # it is dated later
    bees = turn(transcripts["default"], "bees")
    assert [one.in_prompt for one in bees.support] == [False, False]
    assert "is below inject_min_score 0.3; age leaves 23% of its relevance" in bees.support[0].why
    assert [one.in_prompt for one in turn(transcripts["no-decay"], "bees").support] == [True, True]
    assert transcripts["default"].supported == (1, 3)
    assert transcripts["no-decay"].supported == (3, 3)


def test_every_part_of_a_score_is_kept(transcripts: dict[str, Transcript]):
    record = turn(transcripts["default"], "bees")
    late = next(one for one in record.candidates if one.id == "late")
    scoring = transcripts["default"].scoring
    w_relevance, w_importance, w_recency = scoring.term_weights()
    assert late.age_hours == 61 * 24
    parts = w_relevance * late.relevance * late.decay + w_importance * late.importance
    assert late.score == pytest.approx(parts + w_recency * late.recency, abs=1e-5)
    assert late.text_rank == 1
    assert late.vector_score is not None
    assert [one.rank for one in record.candidates] == sorted(one.rank for one in record.candidates)


def test_tools_are_called_and_changes_told_apart(transcripts: dict[str, Transcript]):
    first, second, _ = transcripts["default"].turns
    assert [(one.role, one.tool) for one in first.messages] == [
        ("memory", ""),
        ("user", ""),
        ("assistant", "recall"),
        ("tool", "recall"),
        ("assistant", ""),
    ]
    assert [(one.change, one.id) for one in first.changes] == [("touched", "name")]
    assert [(one.change, one.id) for one in second.changes] == [
        ("added", "m0001"),
        ("deleted", "name"),
    ]
    assert first.tokens.requests == 2
    assert first.tokens.output > 0


def test_recalled_and_earlier_words_count_as_in_the_prompt():
    text = TEXT.replace('text = "I live', 'conversation = "c"\ntext = "I live')
    text += """
[[turns]]
id = "asks"
at = 2025-08-02T12:00:00Z
user = "ada"
conversation = "c"
text = "Anything else?"
expects = ["town", "late"]

[[turns.model]]
calls = [{ tool = "recall", args = { query = "bees" } }]

[[turns.model]]
reply = "No."
"""
    found = run_session(parse_session(text), model="scripted")["default"]
    assert [one.how for one in turn(found, "asks").support] == ["history", "recalled"]


def test_the_store_of_a_setting_is_fresh_and_the_clock_follows_the_dates(session: Session):
    seen: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("recall", {"query": "Ada Sellby bees cat"})])
        seen.append(str(messages[-1].parts[0].content))  # type: ignore[union-attr]
        return ModelResponse([TextPart("ok")])

    found = run_session(session, model=FunctionModel(model), settings=SETTINGS)
    assert len(seen) == 6
    assert [text.count("bees") for text in seen] == [0, 0, 1] * 2
    assert found["default"].header.stand_in
    touched = [change for one in found["no-decay"].turns for change in one.changes]
    assert {change.fields["last_accessed_at"][1][:10] for change in touched} == {
        "2025-01-02",
        "2025-01-03",
        "2025-08-01",
    }


def test_a_reflection_changes_memory():
    text = TEXT + "\n[memory]\nauto_update_memory = true\n"
    operations = '\n[[turns.operations]]\naction = "update"\nid = "name"\ncontent = "The cat of '
    operations += 'Ada is called Pepper"\n'
    text = text.replace('reply = "Biscuit"\n', 'reply = "Biscuit"\n' + operations)
    first = run_session(parse_session(text), model="scripted")["default"].turns[0]
    assert [one["status"] for one in first.reflections[0]["outcomes"]] == ["applied"]
    assert [(one.change, one.content) for one in first.changes] == [
        ("superseded", "The cat of Ada is called Biscuit"),
        ("added", "The cat of Ada is called Pepper"),
    ]
    assert first.changes[0].fields["superseded_by"] == (None, "m0001")


def test_a_model_that_fails_leaves_a_note_and_the_session_goes_on(session: Session):
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if "cat" in str(messages[0]):
            raise ModelHTTPError(503, "elsewhere")
        return ModelResponse([TextPart("ok")])

    found = run_session(session, model=FunctionModel(model))["default"]
    assert found.failed == ["cat"]
    assert "503" in (found.turns[0].error or "")
    assert found.turns[1].reply == "ok"


def test_what_cannot_run_is_refused_before_the_first_turn(session: Session):
    with pytest.raises(InvalidParameter, match="'no-such:model' cannot be used"):
        run_session(session, model="no-such:model")
    with pytest.raises(InvalidParameter, match="must be Settings or a Scoring"):
        run_session(session, settings={"a": 0.5})  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter, match="unknown option 'inject_min'"):
        run_session(session, options={"inject_min": 0})
    with pytest.raises(InvalidParameter, match="at least one setting"):
        run_session(session, settings={})
    without = parse_session(TEXT.replace('[[turns.model]]\nreply = "In the orchard."', ""))
    with pytest.raises(SessionError, match="there is none in bees"):
        run_session(without, model="scripted")
    with pytest.raises(nm.errors.UnknownName):
        run_session(session, embedder="no-such")


def test_it_runs_where_an_event_loop_is_running_already(session: Session):
    async def notebook() -> dict[str, Transcript]:
        return run_session(session, model="extractive")

    assert asyncio.run(notebook())["default"].header.model == "extractive"


def test_a_setting_is_run_as_a_whole(session: Session):
    settings = {
        "default": nm.Settings(),
        "shown": nm.Settings(injection=nm.Injection(inject_min_score=0)),
        "vectors": nm.Settings(retrieval=nm.Retrieval(legs=["vector"], depth=1)),
    }
    found = run_session(session, model="scripted", settings=settings, embedder="hashing")
    assert {name: one.settings for name, one in found.items()} == settings
    assert {name: one.scoring for name, one in found.items()} == dict.fromkeys(
        settings, nm.Scoring()
    )
    assert found["default"].supported == (1, 3)
    assert found["shown"].supported == (3, 3)
    assert all(one.text_rank is None for one in turn(found["vectors"], "cat").candidates)
    assert {len(one.candidates) for one in found["vectors"].turns} == {0, 1}


def test_an_option_of_the_session_comes_before_every_setting():
    text = TEXT + "\n[memory]\ninject_min_score = 0\n"
    found = run_session(parse_session(text), model="scripted", settings=SETTINGS)
    assert [one.supported for one in found.values()] == [(3, 3), (3, 3)]
    assert found["default"].settings == nm.Settings()
    assert found["default"].header.options == {"inject_min_score": 0}


def test_parts_of_ones_own_are_recorded(session: Session):
    settings = nm.Settings(
        retrieval=nm.Retrieval(legs=["text", Newest()], terms=[length]),
        scoring=nm.Scoring(weights={"length": 0.1}),
    )
    found = run_session(session, model="scripted", settings={"own": settings})["own"]
    (cat,) = (one for one in turn(found, "cat").candidates if one.id == "name")
    assert cat.own == {"newest_rank": 1, "newest_score": 1.0, "length": 0.032}
    frame = candidates_frame(found, "cat")
    assert frame["newest_rank"].tolist() == [1]
    assert "own" not in frame.columns
    assert found.settings == settings


@nm.term
def length(candidates: Any) -> Any:
    return [len(entry.content) / 1000 for entry in candidates.entries]


@dataclass(frozen=True)
class Newest:
    """A leg that finds the newest entries."""

    name: str = "newest"

    def search(self, request: LegRequest) -> list[tuple[nm.Entry, float]]:
        newest = sorted(request.entries(), key=lambda entry: entry.created_at, reverse=True)
        return [(entry, 1 / rank) for rank, entry in enumerate(newest[: request.depth], 1)]
