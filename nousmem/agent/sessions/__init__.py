"""Sessions: the same conversation, weeks long, under several settings, to be read side by side.

Needs the extra `agent`.
"""

from __future__ import annotations

from nousmem.errors import requiring

with requiring(
    "pydantic-ai-slim", extra="agent", purpose="running an agent", modules=["pydantic_ai"]
):
    from nousmem.agent.sessions._frames import candidates_frame, support_frame
    from nousmem.agent.sessions._reading import parse_session, read_session, read_sessions
    from nousmem.agent.sessions._runner import run_session
    from nousmem.agent.sessions._session import Session
    from nousmem.agent.sessions.transcript import (
        Transcript,
        read_transcript,
        read_transcripts,
        write_transcript,
    )

__all__ = [
    "Session",
    "Transcript",
    "candidates_frame",
    "parse_session",
    "read_session",
    "read_sessions",
    "read_transcript",
    "read_transcripts",
    "run_session",
    "support_frame",
    "write_transcript",
]
