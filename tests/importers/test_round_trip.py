"""What a writer wrote, its reader restores: whatever an entry holds."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nousmem as nm
from nousmem.importers import list_targets, read_memories, write_memories
from nousmem.importers._registry import _SOURCES

# Names that some format gives a meaning.
NAMES = st.sampled_from(
    [
        *("content", "text", "memory", "kind", "role", "tags", "source", "name", "labels", "hash"),
        *("created_at", "metadata", "categories", "group_id", "parts", "conversation", "id"),
        *("nousmem", *list_targets()),
    ]
)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
TEXTS = WORDS.filter(str.strip) | st.sampled_from(["a/b", "a%2Fb", "memories/x", '{"a": 1}', "."])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES | WORDS, inner, max_size=2),
    max_leaves=5,
)
INSTANTS = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001  # Hypothesis wants them without
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
SCOPES = st.none() | st.sampled_from(["", "ada", "a/b", "50%", "langgraph", "v1.2", "a b"]) | WORDS

ENTRIES = st.builds(
    nm.Entry,
    TEXTS,
    id=WORDS.filter(bool) | st.sampled_from(["memories/x", "x", "a/b", "v1%2E2/k"]),
    type=st.sampled_from(nm.MemoryType),
    importance=st.floats(0, 1),
    evergreen=st.booleans(),
    metadata=st.dictionaries(NAMES | WORDS, JSON, max_size=3),
    agent_id=SCOPES,
    session_id=SCOPES,
    user_id=SCOPES,
    namespace=SCOPES,
    embedding=st.none() | st.just([0.1, -2.5]),
    embedder=st.none() | st.just("made-up:2"),
    access_count=st.integers(0, 3),
    created_at=INSTANTS,
    updated_at=INSTANTS,
    last_accessed_at=INSTANTS,
    superseded_at=st.none() | INSTANTS,
    superseded_by=st.none() | st.just("z"),
)


@pytest.mark.parametrize("target", list_targets())
@given(entries=st.lists(ENTRIES, max_size=3, unique_by=lambda entry: entry.id))
def test_nothing_is_lost(target: str, entries: list[nm.Entry]) -> None:
    data = _SOURCES[target].write(entries, vectors=True)
    data = json.loads(json.dumps(data, allow_nan=False))
    back = read_memories(data, source=target)
    assert back == entries
    for one, two in zip(back, entries, strict=True):
        assert json.dumps(one.metadata, sort_keys=True) == json.dumps(two.metadata, sort_keys=True)
        assert (one.embedding is None) == (two.embedding is None)
        assert one.embedding is None or np.array_equal(one.embedding, two.embedding)


@pytest.mark.parametrize("target", list_targets())
@given(entry=ENTRIES)
def test_without_vectors_all_else_is_kept(target: str, entry: nm.Entry) -> None:
    data = _SOURCES[target].write([entry])
    assert "embedd" not in re.sub(r'"metadata".*', "", json.dumps(data)) or entry.embedding is None
    (back,) = read_memories(data, source=target)
    assert back.embedding is None
    assert back == entry.replace(embedding=None)


@given(entries=st.lists(ENTRIES, max_size=4, unique_by=lambda entry: entry.id))
def test_langgraph_addresses_are_valid_and_never_shared(entries: list[nm.Entry]) -> None:
    items = _SOURCES["langgraph"].write(entries)
    addresses = [(tuple(item["namespace"]), item["key"]) for item in items]
    assert len(set(addresses)) == len(addresses)
    for labels, key in addresses:
        assert labels
        assert all(label and "." not in label for label in labels)
        assert labels[0] != "langgraph"
        assert key


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("target", list_targets())
def test_through_a_file(tmp_path: Path, target: str, ending: str) -> None:
    moment = datetime(2026, 3, 15, 12, tzinfo=UTC)
    entries = [
        nm.Entry("Ada trinkt Tee ☕", id="m1", user_id="ada", created_at=moment, importance=0.9),
        nm.Entry("first\nsecond", id="m2", metadata={"role": "user", "n": 1}, created_at=moment),
    ]
    path = tmp_path / f"out.{ending}"
    assert write_memories(entries, path, target=target) == 2
    assert read_memories(path, source=target) == entries
    assert read_memories(path) == entries, "the source can be told"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert ending == "json" or len(lines) == 2
    assert write_memories([], path, target=target) == 0
    if ending == "json":
        assert read_memories(path, source=target) == []


def test_errors_of_writing(tmp_path: Path) -> None:
    with pytest.raises(nm.UnknownName, match="unknown target 'letter'; did you mean 'letta'"):
        write_memories([], tmp_path / "x", target="letter")
    with pytest.raises(nm.UnknownName, match="target 'chatgpt'"):
        write_memories([], tmp_path / "x", target="chatgpt")
    with pytest.raises(nm.StoreError, match="cannot write"):
        write_memories([], tmp_path / "no" / "x", target="mem0")


def test_what_the_other_side_changed_meanwhile_is_what_counts() -> None:
    moment = datetime(2026, 3, 15, 12, tzinfo=UTC)
    entry = nm.Entry("Ada drinks tea", id="m1", created_at=moment, importance=0.9)
    for target, field in [("mem0", "memory"), ("letta", "text")]:
        data: Any = json.loads(json.dumps(_SOURCES[target].write([entry])))
        record = data["results"][0] if target == "mem0" else data[0]
        record[field] = "Ada drinks coffee"
        (back,) = read_memories(data)
        assert back == entry.replace(content="Ada drinks coffee")
