"""Samples that the packages themselves wrote (versions below), read and written back.

mem0ai 2.2.1, langgraph-checkpoint 4.3.2 with langmem 0.0.30, letta-client 1.12.1,
graphiti-core 0.31.2, zep-cloud 4.0.1. conversations.json of ChatGPT is written by hand.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nousmem import MemoryType
from nousmem.importers import (
    read_graphiti,
    read_langgraph,
    read_letta,
    read_mem0,
    read_memories,
    write_graphiti,
    write_langgraph,
    write_letta,
    write_mem0,
)

SAMPLES = Path(__file__).parent / "samples"
MAY_1 = datetime(2024, 5, 1, 10, tzinfo=UTC)


def sample(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v not in (None, [], {}, False)}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def in_utc(value: Any) -> Any:
    """Return a value with every instant in it written the same way."""
    if isinstance(value, dict):
        return {k: in_utc(v) for k, v in value.items()}
    if isinstance(value, list):
        return [in_utc(v) for v in value]
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError):
        return value


def bare(value: Any) -> Any:
    """Return records without what only our own reader looks at."""
    if isinstance(value, dict):
        return without_nulls({k: bare(v) for k, v in value.items() if k != "nousmem"})
    return [bare(v) for v in value] if isinstance(value, list) else value


def test_mem0() -> None:
    noted, brewing, moved, tea = read_mem0(SAMPLES / "mem0.json")
    assert tea.content == "Ada drinks white tea"
    assert tea.id == "f352d7a9-645f-439d-9010-7347429d2c2b"
    assert (tea.user_id, tea.agent_id, tea.session_id, tea.namespace) == ("ada", None, None, None)
    assert tea.created_at == datetime(2026, 11, 30, 13, 18, 13, 590996, tzinfo=UTC)
    assert tea.updated_at == datetime(2026, 11, 30, 13, 18, 13, 758130, tzinfo=UTC)
    assert tea.metadata == {
        "topic": "drinks",
        "hash": "74506abf757225f301772e50e8fd4ec5",
        "role": "user",
    }
    assert (moved.user_id, moved.agent_id, moved.session_id) == ("ada", "concierge", "r1")
    assert moved.created_at == datetime(2024, 5, 1, 17, tzinfo=UTC)
    assert moved.metadata["actor_id"] == "ada"
    assert brewing.type is MemoryType.PROCEDURAL
    assert brewing.metadata["memory_type"] == "procedural_memory"
    assert noted.type is MemoryType.SEMANTIC


def test_langgraph() -> None:
    tea, coffee, moved, triple, cats = read_langgraph(SAMPLES / "langgraph.json")
    assert (tea.content, tea.metadata) == ("Ada drinks green tea", {"topic": "drinks"})
    assert (tea.namespace, tea.id) == ("a/b%2Fc", "a/b%2Fc/k1")
    assert (coffee.content, coffee.metadata) == ("Bo drinks coffee", {})
    assert (coffee.namespace, coffee.id) == ("a%2Fb/c", "a%2Fb/c/k1")
    assert tea.created_at == datetime(2026, 11, 30, 13, 18, 15, 273658, tzinfo=UTC)
    assert tea.updated_at == datetime(2026, 11, 30, 13, 18, 15, 273668, tzinfo=UTC)
    assert (moved.content, moved.namespace) == ("Ada moved to Lisbon", "memories/ada")
    assert moved.metadata == {"kind": "Memory", "content": {}}
    assert json.loads(triple.content) == triple.metadata == sample("langgraph")[3]["value"]
    assert cats.content == "Ada has two cats"
    named = read_langgraph(SAMPLES / "langgraph.json", labels={"user_id": 1, "agent_id": -3})
    assert [entry.user_id for entry in named] == ["b/c", "c", "ada", "ada", "ada"]
    assert {entry.agent_id for entry in named} == {None}


def test_letta() -> None:
    tea, porto = read_letta(SAMPLES / "letta.json")
    assert (tea.id, tea.content, tea.namespace) == (
        "passage-6a1d",
        "Ada drinks green tea",
        "archive-31",
    )
    assert (tea.created_at, tea.updated_at) == (MAY_1, datetime(2024, 5, 2, 9, 30, tzinfo=UTC))
    assert tea.metadata["topic"] == "tea"
    assert tea.metadata["tags"] == ["drinks"]
    assert tea.metadata["created_by_id"] == "user-00"
    assert tea.metadata["embedding_config"]["embedding_model"] == "made-up"
    assert tea.superseded_at is None
    assert np.array_equal(tea.embedding, np.float32([0.25, -0.5, 0.125]))
    assert tea.embedder is None
    assert porto.superseded_at == MAY_1, "deleted is history"
    assert porto.metadata == {}
    assert read_letta(SAMPLES / "letta.json", vectors=False)[0].embedding is None


def test_graphiti() -> None:
    moved, cats = read_graphiti(SAMPLES / "graphiti.json")
    assert (moved.id, moved.content) == ("e-1", "ada: I moved to Lisbon")
    assert moved.type is MemoryType.EPISODIC
    assert (moved.created_at, moved.namespace) == (MAY_1, "house-7")
    assert moved.metadata == {
        "topic": "moving",
        "name": "chat 1",
        "source": "message",
        "source_description": "chat",
        "entity_edges": ["edge-1"],
        "created_at": "2024-05-03T00:00:00Z",
    }
    assert cats.namespace is None
    assert cats.metadata == {"name": "note", "created_at": "2024-05-03T00:00:00Z"}


def test_zep() -> None:
    (moved,) = read_graphiti(SAMPLES / "zep.json")
    assert (moved.id, moved.content, moved.created_at) == ("z-1", "I moved to Lisbon", MAY_1)
    assert (moved.user_id, moved.session_id, moved.namespace) == ("u-1", "t-1", "g-1")
    assert moved.metadata == {
        "topic": "moving",
        "created_at": "2024-05-03T00:00:00Z",
        "processed": True,
        "role": "user",
        "role_name": "Ada",
        "source": "message",
    }


@pytest.mark.parametrize(
    ("name", "read", "write"),
    [
        ("mem0", read_mem0, write_mem0),
        ("letta", read_letta, write_letta),
        ("graphiti", read_graphiti, write_graphiti),
        ("langgraph", read_langgraph, write_langgraph),
    ],
)
def test_what_was_read_is_written_as_it_was(name: str, read: Any, write: Any) -> None:
    given = sample(name)
    written = bare(write(read(given), vectors=True))
    wanted = without_nulls(given)
    if name == "langgraph":
        # Text under another name than `content` goes back under `content`.
        wanted[1]["value"] = {"content": wanted[1]["value"]["text"]}
    assert in_utc(written) == in_utc(wanted)


@pytest.mark.parametrize("name", ["mem0", "langgraph", "letta", "graphiti", "zep", "chatgpt"])
def test_the_source_is_told_from_the_shape(name: str) -> None:
    source = {"zep": "graphiti"}.get(name, name)
    path = SAMPLES / f"{name}.json"
    assert read_memories(path) == read_memories(str(path), source=source)
    assert read_memories(sample(name)) == read_memories(path), "as a value too"
    assert read_memories(path)
