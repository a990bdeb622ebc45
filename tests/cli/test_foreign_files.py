"""`nousmem import --from` and `nousmem export --to`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm
from nousmem.importers import list_targets, read_memories

SAMPLES = Path(__file__).parent.parent / "importers" / "samples"
MAY_1 = datetime(2024, 5, 1, 10, tzinfo=UTC)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="told")
def status_and_streams(nousmem: Callable[..., Any]) -> Run:
    """Give a function that runs the command: status, output, errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        done = nousmem(*arguments)
        return done.status, done.out, done.err

    return run


def entries(url: str, **options: Any) -> list[nm.Entry]:
    with nm.open_store(url) as store:
        return store.list(**options)


@pytest.mark.parametrize(
    ("source", "count"),
    [("mem0", 4), ("langgraph", 5), ("letta", 2), ("graphiti", 2), ("chatgpt", 2)],
)
def test_import_from(told: Run, tmp_path: Path, source: str, count: int) -> None:
    file = SAMPLES / f"{source}.json"
    for name in (source, "auto"):
        url = f"sqlite:{tmp_path}/{name}.db"
        status, out, err = told("import", url, file, "--from", name)
        assert (status, out, err) == (0, f"imported {count} entries: {url}\n", "")
        kept = entries(url, include_superseded=True)
        wanted = read_memories(file, source=source)
        assert sorted(kept, key=lambda e: e.id) == sorted(wanted, key=lambda e: e.id)


def test_import_chat_log_with_what_it_does_not_say(told: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("role,content,timestamp\nuser,Hi,2024-05-01 10:00\n")
    url = f"sqlite:{tmp_path}/m.db"
    status, _, err = told("import", url, file, "--from", "chat-log")
    assert status == 2
    assert f"{file}: at row 1 $.timestamp" in err
    assert "--assume-utc" in err
    assert not (tmp_path / "m.db").exists()
    scope = ["--user-id", "ada", "--agent-id", "x", "--session-id", "s", "--namespace", "n"]
    options = ["--from", "chat-log", "--assume-utc", *scope, "--json"]
    status, out, _ = told("import", url, file, *options)
    assert (status, json.loads(out)) == (0, {"imported": 1, "place": url})
    (hi,) = entries(url)
    assert (hi.content, hi.created_at, hi.metadata) == ("Hi", MAY_1, {"role": "user"})
    assert (hi.user_id, hi.agent_id, hi.session_id, hi.namespace) == ("ada", "x", "s", "n")


def test_import_without_vectors(told: Run, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/m.db"
    assert told("import", url, SAMPLES / "letta.json", "--from", "letta", "--no-vectors")[0] == 0
    assert entries(url)[0].embedding is None


@pytest.mark.parametrize("target", list_targets())
def test_export_to(told: Run, tmp_path: Path, target: str) -> None:
    url = f"sqlite:{tmp_path}/m.db"
    ada = nm.Entry("Ada drinks tea", id="a", user_id="ada", created_at=MAY_1, embedding=[1, 2])
    bo = nm.Entry("Bo drinks tea", id="b", user_id="bo", created_at=MAY_1, importance=0.9)
    old = nm.Entry("Bo drinks milk", id="c", user_id="bo", created_at=MAY_1, superseded_at=MAY_1)
    with nm.open_store(url) as store:
        store.put([ada, bo, old])
    file = tmp_path / "out.json"
    status, out, _ = told("export", url, file, "--to", target)
    assert (status, out) == (0, f"exported 2 entries: {file}\n")
    assert read_memories(file) == [ada, bo], "history stays behind"
    assert "embedding" not in file.read_text()
    status, out, _ = told("export", url, file, "--to", target, "--user-id", "bo", "--json")
    assert json.loads(out) == {"exported": 1, "place": str(file)}
    assert read_memories(file) == [bo]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "memory:", "{}/x.json", "--from", "memo0"], "did you mean 'mem0'"),
        (["import", "memory:", "{}/no.json", "--from", "mem0"], "no.json"),
        (["import", "memory:", "{}/x.json", "--from", "mem0"], "x.json: at $[0]: the field"),
        (["import", "memory:", "{}/x.json", "--from", "auto"], "known source"),
        (["import", "memory:", "{}/x.jsonl", "--user-id", "ada"], "need --from"),
        (["import", "memory:", "{}/x.jsonl", "--assume-utc"], "need --from"),
        (["export", "memory:", "{}/out.json", "--to", "chatgpt"], "unknown target 'chatgpt'"),
        (["export", "memory:", "{}/no/out.json", "--to", "mem0"], "cannot write"),
    ],
)
def test_user_errors(told: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "x.json").write_text('[{"a": 1}]')
    status, out, err = told(*(argument.format(tmp_path) for argument in arguments))
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out.json").exists()
