"""What is the same for all sources: guessing, options, and errors that name the place."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nousmem as nm
from nousmem.importers import (
    list_sources,
    read_graphiti,
    read_langgraph,
    read_letta,
    read_mem0,
    read_memories,
)
from nousmem.importers._langgraph import decode_labels, encode_labels

NOON = "2024-05-01T12:00:00Z"
MEM0 = {"id": "m1", "memory": "Ada drinks tea", "user_id": "ada", "created_at": NOON}
ITEM = {"namespace": ["a"], "key": "k", "value": {"content": "x"}, "created_at": NOON}
PASSAGE = {"id": "passage-1", "text": "Ada drinks tea", "created_at": NOON, "archive_id": None}
EPISODE = {"uuid": "e1", "content": "hello", "group_id": "g", "valid_at": NOON}


def test_unknown_sources() -> None:
    with pytest.raises(nm.UnknownName, match="unknown source 'memo0'; did you mean 'mem0'"):
        read_memories([MEM0], source="memo0")
    with pytest.raises(nm.CorpusError) as raised:
        read_memories([{"note": "x", "when": 3}])
    message = str(raised.value)
    assert "$[0]" in message
    assert "note, when" in message
    assert all(name in message for name in list_sources())


@pytest.mark.parametrize("data", [[], {"results": []}])
def test_nothing(data: Any) -> None:
    assert read_memories(data) == []


@pytest.mark.parametrize("data", [3, None, b"[]"])
def test_no_records_at_all(data: Any) -> None:
    with pytest.raises(nm.InvalidParameter, match="expected the path of a file, or records"):
        read_memories(data)


@pytest.mark.parametrize(
    "data",
    [
        {"results": [MEM0]},
        [MEM0],
        MEM0,
        [{"results": [MEM0]}, {"results": [MEM0 | {"id": "m2"}]}],
        (record for record in [MEM0]),
        [SimpleNamespace(model_dump=lambda: MEM0)],
        [MEM0 | {"created_at": datetime(2024, 5, 1, 12, tzinfo=UTC)}],
        [MEM0, MEM0],
    ],
)
def test_mem0_wrappings(data: Any) -> None:
    entries = read_memories(data)
    assert entries[0].content == "Ada drinks tea"
    assert entries[0].created_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert len(entries) == (2 if isinstance(data, list) and "results" in str(data[0]) else 1)


def test_mem0_pages_and_relations_are_pointed_out() -> None:
    page = {"count": 2, "next": "page 2", "previous": None, "results": [MEM0]}
    with pytest.warns(UserWarning, match="another page follows this one: page 2"):
        assert len(read_mem0(page)) == 1
    graph = {"results": [MEM0], "relations": [{"source": "ada"}]}
    with pytest.warns(UserWarning, match="1 relations of mem0's graph"):
        assert len(read_mem0(graph)) == 1


def test_foreign_fields_that_collide_are_nested() -> None:
    record = MEM0 | {"role": "user", "categories": ["x"], "metadata": {"role": "cook", "n": None}}
    (entry,) = read_mem0([record])
    assert entry.metadata == {
        "role": "cook",
        "n": None,
        "categories": ["x"],
        "mem0": {"role": "user"},
    }
    taken = record | {"metadata": {"role": "cook", "mem0": "mine"}}
    (entry,) = read_mem0([taken])
    assert entry.metadata["mem0"] == "mine"
    assert entry.metadata["mem0_"] == {"role": "user"}


def test_metadata_that_only_looks_kept_is_metadata() -> None:
    for value in ({"id": "x", "colour": "red"}, {}, "text", None):
        (entry,) = read_mem0([MEM0 | {"metadata": {"nousmem": value}}])
        assert entry.id == "m1"
        assert entry.metadata == {"nousmem": value}


def test_one_id_for_two_memories() -> None:
    with pytest.raises(nm.CorpusError, match=r"at \$\[1\]: the id 'm1' is that of \$\[0\]"):
        read_memories([MEM0, MEM0 | {"memory": "Bo drinks tea"}])


def test_scope_and_time_for_records_that_name_none() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    bare = {"memory": "Bo drinks tea"}
    with pytest.raises(nm.CorpusError, match=r"at \$\[1\]: the record says no time"):
        read_mem0([MEM0, bare])
    scope = nm.Scope(user_id="bo", agent_id="x")
    ada, bo = read_mem0([MEM0, bare], scope=scope, created_at=moment)
    assert (ada.user_id, ada.agent_id) == ("ada", "x")
    assert (bo.user_id, bo.created_at) == ("bo", moment)
    assert bo.id == read_mem0([bare], created_at=moment)[0].id, "made from the record"
    with pytest.raises(nm.InvalidParameter, match="scope must be a Scope"):
        read_mem0([MEM0], scope={"user_id": "x"})
    with pytest.raises(nm.InvalidEntry, match="time zone"):
        read_mem0([MEM0], created_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_two_namespaces_with_one_key() -> None:
    items = [ITEM | {"namespace": ["a", "b/c"]}, ITEM | {"namespace": ["a/b", "c"]}]
    one, two = read_langgraph(items)
    assert one.namespace != two.namespace
    assert one.id != two.id
    for labels in (["a", "b/c"], ["a/b", "c"], ["%2F", ""], ["100%"], ["ä b"], [""]):
        assert decode_labels(encode_labels(labels)) == labels
    with pytest.raises(nm.InvalidParameter, match="labels map"):
        read_langgraph(items, labels={"namespace": 0})
    with pytest.raises(nm.InvalidParameter, match="labels map"):
        read_langgraph(items, labels={"user_id": "1"})


@pytest.mark.parametrize(
    ("read", "good", "change", "problem"),
    [
        (read_mem0, MEM0, {"memory": None}, "'memory' is missing or null"),
        (read_mem0, MEM0, {"memory": ["x"]}, r"\$\[1\].memory: expected text, got list"),
        (read_mem0, MEM0, {"memory": " "}, "content must not be blank"),
        (read_mem0, MEM0, {"id": 1.5}, r"\$\[1\].id: expected text"),
        (read_mem0, MEM0, {"metadata": "x"}, r"\$\[1\].metadata: expected an object"),
        (read_mem0, MEM0, {"created_at": "2024-05-01T10:00:00"}, r"\[1\].created_at: .*no offset"),
        (read_mem0, MEM0, {"metadata": {"nousmem": {"importance": 7}}}, "importance"),
        (read_langgraph, ITEM, {"namespace": "a"}, r"\$\[1\].namespace: expected a list"),
        (read_langgraph, ITEM, {"namespace": [1]}, r"\$\[1\].namespace\[0\]: expected text"),
        (read_langgraph, ITEM, {"key": None}, "'key' is missing"),
        (read_langgraph, ITEM, {"value": "x"}, r"\$\[1\].value: expected an object"),
        (read_langgraph, ITEM, {"value": {}}, r"\$\[1\].value: the value is empty"),
        (read_letta, PASSAGE, {"text": None}, "'text' is missing or null"),
        (read_letta, PASSAGE, {"embedding": [0, 0]}, "all zeros"),
        (read_letta, PASSAGE, {"embedding": "x"}, "numbers"),
        (read_graphiti, EPISODE, {"content": ""}, "store_raw_episode_content"),
        (read_graphiti, EPISODE, {"valid_at": "soon"}, r"\$\[1\].valid_at: expected an ISO"),
    ],
)
def test_damaged_records(read: Any, good: Any, change: Any, problem: str) -> None:
    first = {**good, "id": "other", "uuid": "other", "key": "other"}
    with pytest.raises(nm.CorpusError, match=problem) as raised:
        read([first, good | change])
    assert "$[1]" in str(raised.value)


def test_what_is_not_what_it_was_taken_for() -> None:
    with pytest.raises(nm.CorpusError, match="an agent file"):
        read_letta({"agents": [], "blocks": []})
    with pytest.raises(nm.CorpusError, match="a fact"):
        read_graphiti([{"uuid": "x", "fact": "Ada likes tea"}])
    with pytest.raises(nm.CorpusError, match=r"at \$\[0\]: the field 'memory' is missing"):
        read_memories([ITEM], source="mem0")


WHOLE = json.dumps([MEM0, MEM0 | {"id": "m2"}], indent=1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (WHOLE[:-20].encode(), r"at \$\[1\]: the file breaks off here"),
        (WHOLE.replace(":", ";", 1).encode(), r"at \$\[0\]: not JSON"),
        (WHOLE.encode("utf-16"), "UTF-16"),
        (WHOLE.replace("Ada", "Adé").encode("latin-1"), "UTF-8"),
        (b"PK\x03\x04" + b"x" * 99, "zip archive: unpack it"),
        (b'{"results": [', "line 1 column .*the file breaks off"),
        (b"17", "expected an object, got int 17"),
        (b"[17]", r"at \$\[0\]: expected an object"),
    ],
)
@pytest.mark.parametrize("source", [None, "mem0"])
def test_damaged_files(tmp_path: Path, content: bytes, problem: str, source: str | None) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(content)
    with pytest.raises(nm.CorpusError, match=problem) as raised:
        read_memories(path, source=source)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("source", [None, *list_sources()])
def test_no_file(tmp_path: Path, source: str | None) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(nm.CorpusFileMissing, match="no file at"):
            read_memories(path, source=source)


def test_a_long_array_is_not_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    filler = "x" * 2000
    with path.open("w") as stream:
        stream.write("[")
        for number in range(10_000):
            record = MEM0 | {"id": f"m{number}", "role": filler}
            stream.write(("," if number else "") + json.dumps(record))
        stream.write("]")
    code = (
        "import sys, tracemalloc; from nousmem.importers._documents import documents\n"
        "tracemalloc.start(); n = sum(1 for _ in documents(sys.argv[1]))\n"
        "assert n == 10_000; print(tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert path.stat().st_size > 20_000_000
    assert int(done.stdout) < 15_000_000, "the whole would be more than the file"
