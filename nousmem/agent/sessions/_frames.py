"""Transcripts as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nousmem.agent.sessions.transcript import Transcript
from nousmem.errors import SessionError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["candidates_frame", "support_frame"]

_COLUMNS = [
    "session",
    "setting",
    "turn",
    "at",
    "text",
    "memory",
    "expected",
    "in_prompt",
    "how",
    "why",
]


def support_frame(transcripts: Iterable[Transcript]) -> pd.DataFrame:
    """Return whether each memory that a turn names was in the prompt, one a row.

    Columns:
        session, setting, turn: Where.
        at, text: When the turn was taken, UTC, and what was said.
        memory: Id of a memory or a fact.
        expected: It should be in the prompt; False where the turn forbids it.
        in_prompt: It was.
        how: injected, recalled (by the tool), history (earlier in the conversation) or absent.
        why: Why it was absent.

    Args:
        transcripts: Such as `run_session(…).values()`.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = [
        {
            "session": one.header.session,
            "setting": one.header.setting,
            "turn": turn.turn,
            "at": turn.at,
            "text": turn.text,
            "memory": support.wanted,
            "expected": expected,
            "in_prompt": support.in_prompt,
            "how": support.how,
            "why": support.why,
        }
        for one in transcripts
        for turn in one.turns
        for expected, named in ((True, turn.support), (False, turn.intruders))
        for support in named
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def candidates_frame(transcript: Transcript, turn: str) -> pd.DataFrame:
    """Return what the search for a turn looked at, best first, with every part of the score.

    Columns:
        id, content, type, created_at: The memory.
        shown, why_not: Whether it stood in the prompt, and why not.
        rank, score: By composite score.
        text_rank, text_score, vector_rank, vector_score: Of the legs, missing where the leg did
            not find it; the vector's score is the cosine.
        relevance, age_hours, decay, importance, recency: As `Hits.to_frame` has them.
        Columns for legs and terms of somebody's own, as `Hits.to_frame` has them.

    Args:
        transcript: Of one setting.
        turn: The turn's id.

    Raises:
        SessionError: there is no such turn.
    """
    import pandas as pd

    for record in transcript.turns:
        if record.turn == turn:
            rows = [asdict(one) for one in record.candidates]
            for row in rows:
                row.update(row.pop("own"))
            return pd.DataFrame(rows)
    known = ", ".join(record.turn for record in transcript.turns)
    raise SessionError(f"there is no turn {turn!r} in {transcript.header.session}; turns: {known}")
