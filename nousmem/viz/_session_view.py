"""Transcripts of one session laid side by side: what is to be seen, before anything is drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nousmem.agent.sessions.transcript import (
    CandidateRecord,
    ChangeRecord,
    Support,
    Transcript,
    TurnRecord,
)
from nousmem.errors import SessionError

__all__ = ["SessionView", "TurnCell", "TurnView", "session_view"]


@dataclass(frozen=True, slots=True)
class TurnCell:
    """One turn under one setting."""

    setting: str
    record: TurnRecord
    only_here: frozenset[str]
    """Contents of the memories that no other setting shows in this turn."""
    missing_here: tuple[str, ...]
    """Contents of the memories that every other setting shows, and this one does not."""
    seconds: float | None

    @property
    def shown(self) -> list[CandidateRecord]:
        """The memories in the prompt, best first."""
        return [one for one in self.record.candidates if one.shown]

    @property
    def not_shown(self) -> list[CandidateRecord]:
        """The other memories that the search looked at."""
        return [one for one in self.record.candidates if not one.shown]

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Tool, arguments and result of each call."""
        made = [one for one in self.record.messages if one.role == "assistant" and one.tool]
        results = [one.text for one in self.record.messages if one.role == "tool"]
        results += [""] * (len(made) - len(results))
        return [
            (one.tool, json.dumps(one.args, ensure_ascii=False), result)
            for one, result in zip(made, results, strict=False)
        ]

    @property
    def changes(self) -> list[ChangeRecord]:
        """What became of the memories, accesses aside."""
        return [one for one in self.record.changes if one.change != "touched"]

    @property
    def touched(self) -> int:
        """How many memories had their accesses counted."""
        return sum(one.change == "touched" for one in self.record.changes)

    @property
    def marks(self) -> list[tuple[str, str, Support]]:
        """Sign, words and memory, for everything the turn expects and forbids."""
        expected = [
            ("✓", "in the prompt", one) if one.in_prompt else ("✗", "not in the prompt", one)
            for one in self.record.support
        ]
        forbidden = [
            ("!", "should not be in the prompt", one)
            if one.in_prompt
            else ("✓", "kept out of the prompt", one)
            for one in self.record.intruders
        ]
        return expected + forbidden


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn under every setting."""

    number: int
    cells: tuple[TurnCell, ...]
    differences: tuple[str, ...]
    """In what the settings differ: memories shown, support, replies, changes."""

    @property
    def record(self) -> TurnRecord:
        """What is the same under every setting: who said what, and when."""
        return self.cells[0].record


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session under every setting."""

    transcripts: tuple[Transcript, ...]
    turns: tuple[TurnView, ...]

    @property
    def name(self) -> str:
        """The session's."""
        return self.transcripts[0].header.session

    @property
    def settings(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(one.header.setting for one in self.transcripts)


def session_view(transcripts: Mapping[str, Transcript] | Sequence[Transcript]) -> SessionView:
    """Lay transcripts of one session side by side.

    Args:
        transcripts: As `run_session` or `read_transcripts(folder)[session]` returns them.

    Raises:
        SessionError: there is none, or they are not of one session with the same turns.
    """
    given = tuple(transcripts.values() if isinstance(transcripts, Mapping) else transcripts)
    if not given:
        raise SessionError("no transcript to look at; nousmem session writes them")
    first = given[0]
    for one in given[1:]:
        same = [turn.turn for turn in one.turns] == [turn.turn for turn in first.turns]
        if one.header.session != first.header.session or not same:
            raise SessionError(
                f"transcripts of {first.header.session!r} and {one.header.session!r} do not have "
                "the same turns; run both settings on the same session file"
            )
    columns = [one.turns for one in given]
    turns = tuple(
        _turn(number, given, records)
        for number, records in enumerate(zip(*columns, strict=True), 1)
    )
    return SessionView(given, turns)


def _turn(
    number: int, transcripts: Sequence[Transcript], records: Sequence[TurnRecord]
) -> TurnView:
    shown = [[one.content for one in record.candidates if one.shown] for record in records]
    cells: list[TurnCell] = []
    for at, (transcript, record) in enumerate(zip(transcripts, records, strict=True)):
        others = [set(contents) for place, contents in enumerate(shown) if place != at]
        elsewhere = set[str]().union(*others)
        everywhere = set[str].intersection(*others) if others else set[str]()
        cells.append(
            TurnCell(
                setting=transcript.header.setting,
                record=record,
                only_here=frozenset(set(shown[at]) - elsewhere) if others else frozenset(),
                missing_here=tuple(sorted(everywhere - set(shown[at]))),
                seconds=transcript.timing.seconds.get(record.turn),
            )
        )
    compared = {
        "memories shown": [frozenset(contents) for contents in shown],
        "order of memories": [tuple(contents) for contents in shown],
        "expected memories": [
            tuple(one.in_prompt for one in [*record.support, *record.intruders])
            for record in records
        ],
        "reply": [record.reply for record in records],
        "changes to memory": [
            tuple((one.change, one.content) for one in record.changes if one.change != "touched")
            for record in records
        ],
    }
    differences = [name for name, values in compared.items() if len(set(values)) > 1]
    if "memories shown" in differences and "order of memories" in differences:
        differences.remove("order of memories")
    return TurnView(number, tuple(cells), tuple(differences))
