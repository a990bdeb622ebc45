"""What a shell hands to the command and takes from it: pipes, empty variables, terminals."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import nousmem as nm
from nousmem.cli import _output as output
from nousmem.errors import StoreError
from nousmem.upkeep.transfer import export_entries

Run = Callable[..., Any]
T0 = datetime(2026, 3, 15, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:{tmp_path / 'memories.db'}"
    with nm.open_store(address) as store:
        store.put(
            nm.Entry(f"Mira drinks tea, {n} – täglich", id=f"m{n}", user_id="mira", created_at=T0)
            for n in range(300)
        )
    return address


OPTIONS = ["--user-id", "--agent-id", "--session-id", "--namespace"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", ["search", "export", "import", "forget", "mcp"])
def test_an_empty_scope_is_a_variable_that_is_not_set(
    nousmem: Run, url: str, tmp_path: Path, command: str, option: str
) -> None:
    (tmp_path / "own.csv").write_text("content\nBo drinks coffee\n")
    rest = {
        "search": ["tea"],
        "export": [tmp_path / "out.jsonl"],
        "import": [tmp_path / "own.csv"],
        "forget": [],
        "mcp": [],
    }
    done = nousmem(command, url, *rest[command], option, "")
    assert (done.status, done.out) == (2, "")
    assert f"{option} is given without a value" in done.err
    assert not (tmp_path / "out.jsonl").exists()
    with nm.open_store(url) as store:
        assert len(store.list()) == 300


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = f'"{sys.executable}" -c "from nousmem.cli import main; main()"'
    return subprocess.run(
        ["/bin/bash", "-c", line.replace("NOUSMEM", command)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        encoding="utf-8",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_entries_go_through_a_pipe(url: str, tmp_path: Path) -> None:
    copy = f"sqlite:{tmp_path / 'copy.db'}"
    ran = shell(f"set -o pipefail; NOUSMEM export '{url}' - | NOUSMEM import '{copy}' - --json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {"imported": 300, "place": copy}
    assert ran.stderr == "exported 300 entries: -\n"
    with nm.open_store(url) as one, nm.open_store(copy) as other:
        assert one.list() == other.list()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_reader_that_has_enough_ends_the_command_without_a_trace(url: str) -> None:
    ran = shell(f"NOUSMEM export '{url}' - | head -n 1")
    assert ran.stdout.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert "Error" not in ran.stderr


def test_what_is_no_entry_on_standard_input_is_named(
    nousmem: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Given:
        buffer = io.BytesIO(b'{"content": "Bo drinks tea"}\n\n{"content": 5}\n')

    monkeypatch.setattr(sys, "stdin", Given())
    done = nousmem("import", "memory:", "-")
    assert done.status == 2
    assert "standard input, line 3" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "{url}", "-", "--to", "mem0"], "name one, - is not"),
        (["import", "{url}", "-", "--from", "mem0"], "name the file instead"),
        (["import", "{url}", "-", "--column", "content=note"], "name the file instead"),
    ],
)
def test_standard_streams_carry_what_export_writes(
    nousmem: Run, url: str, arguments: list[str], message: str
) -> None:
    done = nousmem(*(one.format(url=url) for one in arguments))
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_export_that_fails_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    file = tmp_path / f"backup.{ending}"
    with nm.open_store("memory:") as store:
        store.put([nm.Entry("Mira drinks tea", id="a", created_at=T0)])
        export_entries(store, file)
        before = file.read_bytes()
        for name in ("_write_parquet", "write_entry_lines"):
            monkeypatch.setattr(f"nousmem.upkeep.transfer.{name}", write_half)
        with pytest.raises(StoreError, match=r"backup\..*No space left"):
            export_entries(store, file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def write_half(entries: Any, target: Any) -> int:
    if isinstance(target, Path):
        target.write_bytes(b"half")
    else:
        target.write("half")
    raise OSError(28, "No space left on device")


ROWS = [
    {"rank": 1, "doc_id": "mira-0001", "content": "Mira drinks tea " * 5, "score": 0.5},
    {"rank": 2, "doc_id": "[bold]odd[/bold]", "content": "Bo", "score": None},
]


def printed(width: int, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(output, "Console", lambda **_: Console(file=stream, width=width))
    output.print_table(rows, title="found")
    return stream.getvalue()


def test_a_table_that_does_not_fit_becomes_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = (printed(width, ROWS, monkeypatch) for width in (100, 40))
    assert "rank   doc_id" in wide
    assert "doc_id   mira-0001" in narrow
    assert "rank     2" in narrow
    assert max(map(len, narrow.splitlines())) <= 40
    for text in (wide, narrow):
        assert "[bold]odd[/bold]" in text
        assert "found" in text
    assert printed(40, [], monkeypatch) == "nothing to show\n"
