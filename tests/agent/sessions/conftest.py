from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.agent.sessions import Session, Transcript, parse_session, run_session

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
SETTINGS = {"default": nm.Scoring(), "no-decay": nm.Scoring(decay_lambda=0)}

TEXT = """
about = "A name, a town, and time."

[[agents]]
id = "assistant"

[[users]]
id = "ada"
name = "Ada"

[[users]]
id = "bo"

[facts.town]
says = ["Sellby"]

[[memories]]
id = "name"
user = "ada"
content = "The cat of Ada is called Biscuit"
importance = 0.7
created_at = 2025-01-01T12:00:00Z

[[memories]]
id = "late"
user = "ada"
content = "Ada keeps bees in the orchard"
created_at = 2025-06-01T12:00:00Z

[[memories]]
id = "of-bo"
user = "bo"
content = "The cat of Bo is called Crumb"
created_at = 2025-01-01T12:00:00Z

[[turns]]
id = "cat"
at = 2025-01-02T12:00:00Z
user = "ada"
text = "What is my cat called?"
expects = ["name"]
forbids = ["of-bo", "late"]
answer = "Biscuit"

[[turns.model]]
calls = [{ tool = "recall", args = { query = "cat called" } }]

[[turns.model]]
reply = "Biscuit"

[[turns]]
at = 2025-01-03T12:00:00Z
user = "ada"
text = "I live in Sellby, near the mill."

[[turns.model]]
calls = [
    { tool = "remember", args = { content = "Ada lives in Sellby" } },
    { tool = "forget", args = { id = "name" } },
]

[[turns.model]]
reply = "Noted."

[[turns]]
id = "bees"
at = 2025-08-01T12:00:00Z
user = "ada"
text = "Where does Ada keep bees, and in which town does she live?"
expects = ["late", "town"]
answer = "In the orchard, in Sellby."

[[turns.model]]
reply = "In the orchard."
"""


@pytest.fixture
def session() -> Session:
    return parse_session(TEXT, name="small")


@pytest.fixture
def transcripts(session: Session) -> dict[str, Transcript]:
    return run_session(session, model="scripted", settings=SETTINGS, embedder="hashing")


@pytest.fixture
def written() -> Path:
    """Return the folder of the sessions that are part of the repository."""
    return Path(__file__).parents[3] / "evals" / "sessions"
