"""`nousmem lab`: the notebooks, copied once, and a server that answers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from nousmem.cli import main; main()", "lab"]


def test_notebooks_are_copied_and_one_s_own_are_kept(tmp_path: Path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "01-quick-start.ipynb").write_text("mine")
    done = subprocess.run(
        [*COMMAND, "lab", "--only-copy"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (tmp_path / "lab" / "01-quick-start.ipynb").read_text() == "mine"
    copied = sorted((tmp_path / "lab").glob("*.ipynb"))
    assert len(copied) >= 16
    assert done.stdout.strip() == f"{len(copied) - 1} notebooks copied to lab/, 1 were there"


def test_jupyterlab_opens_there(tmp_path: Path):
    pytest.importorskip("jupyterlab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path), "JUPYTER_TOKEN": "t"}
    # The server refuses to run as the superuser unless it is told to.
    (tmp_path / "jupyter_server_config.py").write_text("c.ServerApp.allow_root = True\n")
    server = subprocess.Popen(
        [*COMMAND, "lab", "--no-browser", "--port", str(port)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        page = ""
        for _ in range(300):
            try:
                url = f"http://127.0.0.1:{port}/api/contents?token=t"
                with urllib.request.urlopen(url, timeout=5) as answer:
                    page = answer.read().decode()
                break
            except OSError:
                assert server.poll() is None
                time.sleep(0.2)
        assert re.search(r"01-quick-start\.ipynb", page)
    finally:
        server.terminate()
        server.wait(timeout=20)
