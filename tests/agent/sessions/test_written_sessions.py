"""The sessions of the repository: they run, and show what they were written to show."""

from __future__ import annotations

from pathlib import Path

import pytest

import nousmem as nm
from nousmem.agent.sessions import read_session, read_sessions, run_session

SETTINGS = {
    "default": nm.Scoring(),
    "tuned": nm.Scoring(half_life_days=2890, w_importance=0.05),
}


@pytest.mark.parametrize("model", ["scripted", "extractive"])
def test_every_session_runs_and_keeps_forbidden_memories_out(written: Path, model: str):
    sessions = read_sessions(written)
    assert len(sessions) == 5
    needed = {"default": 0, "tuned": 0}
    for session in sessions:
        found = run_session(session, model=model, settings=SETTINGS)
        for name, one in found.items():
            assert one.failed == []
            needed[name] += one.supported[0]
        # Of what may not cross a scope, nothing does, under any setting.
        crossed = "it is another agent's or another user's memory"
        if session.name == "two-agents":
            kept = [item for one in found.values() for t in one.turns for item in t.intruders]
            assert not any(item.in_prompt for item in kept)
            assert sum(item.why == crossed for item in kept) >= 16
    assert needed["tuned"] > needed["default"]


def test_a_poisoned_memory_stays_inside_its_quotation(written: Path):
    session = read_session(written / "poisoned.toml")
    found = run_session(session, model="extractive", settings=SETTINGS)
    blocks = [
        message.text
        for one in found.values()
        for turn in one.turns
        for message in turn.messages
        if message.role == "memory"
    ]
    poisoned = [block for block in blocks if "9999" in block]
    assert poisoned
    for block in poisoned:
        assert block.count("</retrieved_memories>") == 1
        assert block.endswith("</retrieved_memories>")
        assert not any(mark in block for mark in ("<system>", "[INST]", "<script>"))


def test_the_figures_in_the_readme_are_true(written: Path):
    settings = {**SETTINGS, "fast-decay": nm.Scoring(decay_lambda=0.005)}
    table = {
        cells[0]: [int(cell) for cell in cells[2:5]]
        for line in (written / "README.md").read_text(encoding="utf-8").splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 8
        and cells[2].isdigit()
    }
    embedder = nm.open_embedder("minilm")
    measured: dict[str, list[int]] = {}
    intruders = [0, 0, 0]
    for session in read_sessions(written):
        found = run_session(session, model="extractive", settings=settings, embedder=embedder)
        measured[session.name] = [one.supported[0] for one in found.values()]
        intruders = [n + one.intruders for n, one in zip(intruders, found.values(), strict=True)]
    measured["all"] = [sum(column) for column in zip(*measured.values(), strict=True)]
    measured["forbidden ones shown"] = intruders
    assert measured == table
