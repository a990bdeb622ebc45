"""What a session run leaves behind: one record a turn, kept as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from nousmem.errors import SessionError
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring

__all__ = [
    "CandidateRecord",
    "ChangeRecord",
    "Message",
    "Support",
    "Timing",
    "Tokens",
    "Transcript",
    "TranscriptHeader",
    "TurnRecord",
    "read_transcript",
    "read_transcripts",
    "write_transcript",
]

FORMAT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptHeader:
    """What was run, and with what."""

    session: str
    about: str
    setting: str
    """The name of the setting."""
    settings: dict[str, Any]
    """What it is, as `Settings.to_dict` gives it."""
    options: dict[str, Any]
    """Options of `Memory` that the session sets; thresholds among them come before the
    setting's."""
    model: str
    stand_in: bool
    """No language model took part: the replies say nothing about one."""
    embedder: str | None
    """Its fingerprint."""
    store: str
    instructions: dict[str, str]
    """What each agent was told, by id."""
    users: dict[str, str]
    """Who they are, by id."""
    versions: dict[str, str]
    session_sha256: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """A memory that the search for a turn looked at, with every part of its score."""

    id: str
    content: str
    type: str
    created_at: datetime
    shown: bool
    """It stands in the prompt."""
    why_not: str = ""
    """Why it does not."""
    rank: int
    """By composite score, from 1."""
    score: float
    """The composite score."""
    text_rank: int | None
    text_score: float | None
    vector_rank: int | None
    vector_score: float | None
    """Cosine."""
    relevance: float
    """After fusion, before decay."""
    age_hours: float
    decay: float
    importance: float
    recency: float
    own: dict[str, float | None] = field(default_factory=dict[str, "float | None"])
    """Of legs and terms of somebody's own: NAME_rank, NAME_score; NAME."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing that the model was sent or said in a turn."""

    role: Literal["memory", "user", "assistant", "tool"]
    """"memory" is the block of memories put before the user's words."""
    text: str = ""
    tool: str = ""
    """The tool called, or the one whose result this is."""
    args: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Whether a memory that a turn names was in the prompt."""

    wanted: str
    """Id of a memory or a fact."""
    in_prompt: bool
    how: Literal["injected", "recalled", "history", "absent"]
    """"recalled": in the result of a tool; "history": in earlier turns of the conversation."""
    why: str = ""
    """Why it was absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """What a turn did to one memory."""

    change: Literal["added", "changed", "superseded", "deleted", "touched"]
    """"touched": its accesses alone were counted."""
    id: str
    content: str
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict[str, tuple[Any, Any]])
    """Before and after, of the fields that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a turn's requests took; of a stand-in, an estimate by Pydantic AI."""

    requests: int = 0
    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn under one setting."""

    turn: str
    at: datetime
    user: str
    agent: str
    conversation: str | None
    text: str
    answer: str
    """A good answer, as the session file has it."""
    reply: str
    messages: list[Message]
    """In order, without those of earlier turns; what the agent was told is in the header."""
    candidates: list[CandidateRecord]
    """The 8 best of the search, those shown, and those the turn names; by rank."""
    support: list[Support]
    """Of what the turn expects."""
    intruders: list[Support]
    """Of what the turn forbids."""
    changes: list[ChangeRecord]
    reflections: list[dict[str, Any]]
    """Operations with what became of each, `problem` and `error`."""
    tokens: Tokens
    searched: str | None = None
    """The words searched for; None when nothing was."""
    search_error: str | None = None
    """Why there was no search, or no vector leg."""
    error: str | None = None
    """Why the model gave no reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """All that differs from one run of a stand-in to the next."""

    run_at: datetime | None = None
    """By the wall clock."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """By turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One session under one setting."""

    header: TranscriptHeader
    """What was run, and with what."""
    turns: list[TurnRecord]
    """One for each turn of the session, by date."""
    timing: Timing
    """What differs from run to run, kept apart."""

    @property
    def settings(self) -> Settings:
        """How memories were found, ranked and shown.

        What is somebody's own is loaded from where the settings say.
        """
        return Settings.from_dict(self.header.settings)

    @property
    def scoring(self) -> Scoring:
        """How memories were ranked."""
        return self.settings.scoring

    @property
    def supported(self) -> tuple[int, int]:
        """How many expected memories were in the prompt, and how many there are."""
        found = [one.in_prompt for turn in self.turns for one in turn.support]
        return sum(found), len(found)

    @property
    def intruders(self) -> int:
        """How many memories were in a prompt that forbids them."""
        return sum(one.in_prompt for turn in self.turns for one in turn.intruders)

    @property
    def failed(self) -> list[str]:
        """The turns in which the model gave no reply."""
        return [turn.turn for turn in self.turns if turn.error is not None]


def write_transcript(transcript: Transcript, path: str | Path) -> None:
    """Write a header line, a line for each turn, and a last line of times.

    Two runs with a stand-in differ in the last line alone.

    Raises:
        SessionError: the file cannot be written.
    """
    lines = [
        _line("header", transcript.header),
        *(_line("turn", turn) for turn in transcript.turns),
        _line("timing", transcript.timing),
    ]
    file = Path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Half a character, which a model may say, is written as the JSON escape that it is.
        text = "".join(f"{line}\n" for line in lines)
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise SessionError(f"cannot write {file}: {error.strerror or error}") from error


def read_transcripts(folder: str | Path) -> dict[str, dict[str, Transcript]]:
    """Read every transcript of a folder: session to setting to transcript, in order of names.

    Files whose name ends in `ratings.jsonl` are left alone: they may stand beside.

    Raises:
        SessionError: there is none, or one is damaged.
    """
    files = sorted(
        file for file in Path(folder).glob("*.jsonl") if not file.name.endswith("ratings.jsonl")
    )
    found: dict[str, dict[str, Transcript]] = {}
    for file in files:
        one = read_transcript(file)
        found.setdefault(one.header.session, {})[one.header.setting] = one
    if not found:
        raise SessionError(f"{folder}: no transcript (*.jsonl); nousmem session writes them")
    return found


def read_transcript(path: str | Path) -> Transcript:
    """Read what `write_transcript` wrote.

    Raises:
        SessionError: the file cannot be read, or a line is not what it should be.
    """
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SessionError(f"{file}: cannot be read: {error}") from error
    if len(lines) < 2:
        raise SessionError(f"{file}: a header, turns and a line of times are needed")
    kinds = {"header": TranscriptHeader, "turn": TurnRecord, "timing": Timing}
    wanted = ["header", *["turn"] * (len(lines) - 2), "timing"]
    read: list[Any] = [
        _read(f"{file}: line {number}", line, kind, kinds[kind])
        for number, (line, kind) in enumerate(zip(lines, wanted, strict=True), 1)
    ]
    header: TranscriptHeader = read[0]
    if header.format != FORMAT:
        raise SessionError(f"{file}: line 1: format {header.format}, this version reads {FORMAT}")
    return Transcript(header=header, turns=read[1:-1], timing=read[-1])


def _line(kind: str, record: Any) -> str:
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(cast("Any", type(record)))
    values: Mapping[str, Any] = adapter.dump_python(record, mode="json")
    return json.dumps({"kind": kind, **values}, ensure_ascii=False)


def _read(place: str, line: str, kind: str, record: type[Any]) -> Any:
    from pydantic import TypeAdapter, ValidationError

    try:
        found: Any = json.loads(line)
    except ValueError as error:
        raise SessionError(f"{place}: not JSON: {error}") from None
    values = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if values.pop("kind", None) != kind:
        raise SessionError(f"{place}: expected a {kind} of a transcript")
    try:
        return TypeAdapter(record).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SessionError(f"{place}: {where}: {first['msg']}") from None
