from __future__ import annotations

import sys

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nousmem.agent.sessions import Transcript
from nousmem.agent.sessions.judge import JUDGE_PROMPT, judge_transcripts
from nousmem.errors import MissingDependency


def test_the_judge_sees_question_answer_and_reply_and_nothing_else(
    transcripts: dict[str, Transcript],
):
    pytest.importorskip("pydantic_evals")
    asked: list[str] = []

    def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert info.instructions == JUDGE_PROMPT
        question = str(messages[0].parts[-1].content)  # type: ignore[union-attr]
        asked.append(question)
        if "bees" in question:
            raise RuntimeError("the judge is ill")
        args = {"score": 1, "reason": "It names Biscuit."}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, args)])

    grades = judge_transcripts(transcripts, model=FunctionModel(judge))
    assert list(grades["turn"]) == ["cat", "bees"] * 2
    assert list(grades["score"].dropna()) == [1.0, 1.0]
    assert list(grades["reason"])[::2] == ["It names Biscuit."] * 2
    assert "the judge is ill" in grades["error"][1]
    assert 'user: "What is my cat called?"\ngood answer: "Biscuit"\nreply: "Biscuit"' in asked
    assert not any("default" in question for question in asked)


def test_without_its_package_the_extra_is_named(
    transcripts: dict[str, Transcript], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pydantic_evals", None)
    with pytest.raises(MissingDependency, match=r"nousmem\[judge\]"):
        judge_transcripts(transcripts, model="test")
