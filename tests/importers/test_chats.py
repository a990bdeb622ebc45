"""conversations.json of ChatGPT, and plain chat logs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import nousmem as nm
from nousmem.importers import read_chat_log, read_chatgpt, read_memories, write_chat_log

CHATGPT = Path(__file__).parent / "samples" / "chatgpt.json"
MAY_1 = datetime(2024, 5, 1, 10, tzinfo=UTC)


def conversation(**changes: Any) -> dict[str, Any]:
    return json.loads(CHATGPT.read_text(encoding="utf-8"))[0] | changes


def test_chatgpt_current_branch() -> None:
    question, answer = read_chatgpt(CHATGPT)
    assert question.content == "Where is this?"
    assert (question.id, question.session_id) == ("c-1/q", "c-1")
    assert question.type is nm.MemoryType.EPISODIC
    assert question.created_at == datetime(2024, 5, 1, 10, 0, 10, 250_000, tzinfo=UTC)
    assert question.metadata["role"] == "user"
    assert question.metadata["parts"][0]["asset_pointer"] == "file-service://file-1"
    assert question.metadata["conversation"]["title"] == "Moving"
    assert "mapping" not in question.metadata["conversation"]
    assert answer.content == "That is Lisbon."
    assert answer.metadata["role"] == "assistant"
    assert answer.metadata["metadata"] == {"model_slug": "gpt-4o"}
    assert answer.metadata["channel"] == "final"
    assert answer.created_at == datetime(2024, 5, 1, 10, 0, 26, tzinfo=UTC), "as the one before"


def test_chatgpt_all_branches_and_roles() -> None:
    contents = [entry.content for entry in read_chatgpt(CHATGPT, branch="all")]
    assert contents == ["Where is this?", "That is Porto.", "That is Lisbon."]
    everyone = read_chatgpt(CHATGPT, roles=None)
    assert [entry.metadata["role"] for entry in everyone] == ["user", "tool", "assistant"]
    assert everyone[1].metadata["author"] == {"name": "browser"}
    (user,) = read_chatgpt(CHATGPT, roles=["user"], scope=nm.Scope(user_id="ada"))
    assert user.user_id == "ada"
    with pytest.raises(nm.InvalidParameter, match="roles"):
        read_chatgpt(CHATGPT, roles="user")
    with pytest.raises(nm.InvalidParameter, match="branch"):
        read_chatgpt(CHATGPT, branch="newest")


def test_the_same_message_in_two_conversations() -> None:
    both = [conversation(), conversation(conversation_id="c-2", id="c-2")]
    entries = read_memories(both)
    assert [entry.id for entry in entries] == ["c-1/q", "c-1/a-new", "c-2/q", "c-2/a-new"]


def test_chatgpt_without_a_current_node_or_times() -> None:
    lost = conversation(current_node=None)
    assert [entry.id for entry in read_chatgpt([lost])] == ["c-1/q", "c-1/a-new"]
    timeless = conversation(create_time=None)
    timeless["mapping"]["q"]["message"]["create_time"] = None
    with pytest.raises(nm.CorpusError, match=r"\$\[0\].mapping.q.message: .*created_at="):
        read_chatgpt([timeless])
    question = read_chatgpt([timeless], created_at=MAY_1)[0]
    assert question.created_at == MAY_1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"current_node": "gone"}, "no message 'gone'"),
        ({"mapping": []}, "mapping: expected an object"),
        ({"mapping": None}, "'mapping' is missing or null"),
        ({"conversation_id": None, "id": None}, "neither 'conversation_id' nor 'id'"),
    ],
)
def test_damaged_conversations(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(nm.CorpusError, match=problem) as raised:
        read_chatgpt([conversation(), conversation(**change)])
    assert "$[1]" in str(raised.value)


def test_a_tree_that_is_none() -> None:
    round_trip = conversation()
    round_trip["mapping"]["root"]["parent"] = "a-new"
    with pytest.raises(nm.CorpusError, match="its own ancestor"):
        read_chatgpt([round_trip])


LOG = [
    {"role": "user", "content": "I moved to Lisbon", "timestamp": "2024-05-01T10:00:00Z"},
    {"role": "assistant", "content": None, "timestamp": "2024-05-01T10:00:01Z", "tool_calls": [1]},
    {"role": "assistant", "content": "Noted", "timestamp": "2024-05-01T10:00:02Z", "tokens": 3},
]


def write_log(path: Path) -> Path:
    kind = path.suffix
    if kind == ".json":
        path.write_text(json.dumps(LOG))
    elif kind == ".jsonl":
        path.write_text("\n".join(map(json.dumps, LOG)))
    else:
        frame = pd.DataFrame(LOG).drop(columns=["tool_calls"])
        if kind == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    return path


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "tsv", "parquet"])
def test_chat_logs_of_all_kinds(tmp_path: Path, kind: str) -> None:
    path = write_log(tmp_path / f"log.{kind}")
    moved, noted = read_memories(path, scope=nm.Scope(session_id="s1"))
    assert (moved.content, noted.content) == ("I moved to Lisbon", "Noted")
    assert moved.metadata == {"role": "user"}
    assert float(noted.metadata["tokens"]) == 3
    assert moved.created_at == MAY_1
    assert moved.type is nm.MemoryType.EPISODIC
    assert {moved.session_id, noted.session_id} == {"s1"}
    again = read_memories(path, scope=nm.Scope(session_id="s1"))
    assert [entry.id for entry in again] == [moved.id, noted.id], "importing twice adds nothing"
    other = read_memories(path, scope=nm.Scope(session_id="s2"))
    assert not {entry.id for entry in other} & {moved.id, noted.id}


def test_data_frames() -> None:
    frame = pd.DataFrame(
        {
            "Sender": ["Ada", "Bo"],
            "Message": ["Tea?", "Yes"],
            "Sent at": pd.to_datetime([MAY_1, MAY_1]),
            "Thread": [7, 7],
        }
    )
    tea, yes = read_memories(frame)
    assert (tea.content, tea.metadata, tea.created_at) == ("Tea?", {"role": "Ada"}, MAY_1)
    assert yes.session_id == "7"


def test_the_same_words_twice_are_two_memories() -> None:
    log = [{"role": "user", "content": "ok", "timestamp": 1714557600}] * 2
    one, two = read_chat_log(log)
    assert one.id != two.id
    assert [entry.id for entry in read_chat_log(log)] == [one.id, two.id]


def test_conversations_of_messages() -> None:
    data = [
        {
            "id": "c1",
            "title": "Moving",
            "created_at": "2024-05-01T10:00:00Z",
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}]},
            ],
        }
    ]
    brief, hi = read_memories(data)
    assert (hi.content, hi.session_id, hi.created_at) == ("Hi", "c1", MAY_1)
    assert hi.metadata == {
        "role": "user",
        "parts": [{"type": "image"}],
        "conversation": {"title": "Moving"},
    }
    assert brief.metadata["role"] == "system"
    assert [e.content for e in read_chat_log(data, roles={"user"})] == ["Hi"]


def test_columns_may_be_said() -> None:
    log = [{"who": "Ada", "text": "note", "message": "Tea?", "at": 1714557600, "id": 5}]
    with pytest.raises(nm.CorpusError, match="says no time"):
        read_chat_log(log)
    columns = {"content": "message", "role": "who", "timestamp": "at"}
    (tea,) = read_chat_log(log, columns=columns)
    assert (tea.id, tea.content, tea.created_at) == ("5", "Tea?", MAY_1)
    assert tea.metadata == {"role": "Ada", "text": "note"}
    with pytest.raises(nm.InvalidParameter, match="no field 'rolle'"):
        read_chat_log(log, columns={"rolle": "who"})
    with pytest.raises(nm.InvalidParameter, match="no message has the role 'whom'"):
        read_chat_log(log, columns=columns | {"role": "whom"})


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"role": "user", "words": "x"}, "looks like the content of a message"),
        ({"role": "user", "content": 5}, r"content: expected text, got int 5"),
        ({"role": "user", "content": "x", "time": "noon"}, "time: expected an ISO 8601"),
        ({"role": "user", "content": "x", "time": "2024-05-01 10:00"}, "--assume-utc"),
        ({"role": "user", "content": "x"}, "created_at="),
        ({"role": [], "content": "x", "time": 1}, "role: expected text"),
        ({"role": "user", "content": "x", "time": 1, "metadata": {"a": float("nan")}}, "metadata"),
        ({"messages": [3]}, r"\$\[1\].messages\[0\]: expected an object"),
    ],
)
def test_damaged_chat_logs(record: dict[str, Any], problem: str) -> None:
    with pytest.raises(nm.CorpusError, match=problem) as raised:
        read_chat_log([LOG[0], record])
    assert "$[1]" in str(raised.value)


def test_a_role_in_the_metadata_does_not_hide_the_role() -> None:
    (entry,) = read_chat_log([LOG[0] | {"metadata": {"role": "x", "a": 1}}])
    assert entry.metadata == {"role": "x", "a": 1, "chat-log": {"role": "user"}}
    assert read_chat_log(write_chat_log([entry])) == [entry]
