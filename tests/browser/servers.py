"""JupyterLab and Voilà, each started for a test on a free port with a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    kind: str
    url: str
    token: str
    folder: Path

    def page_of(self, notebook: str) -> str:
        """Return the address at which a notebook of the folder is shown."""
        if self.kind == "voila":
            return f"{self.url}/voila/render/{notebook}"
        return f"{self.url}/lab/tree/{notebook}?token={self.token}"


@contextlib.contextmanager
def serving(kind: str, folder: Path, *, dark: bool = False) -> Iterator[Server]:
    """Run "lab" or "voila" on the notebooks of a folder; ended by its process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token, home = secrets.token_hex(16), folder / "home"
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False})
    )
    local = [f"--port={port}", "--no-browser", "--ip=127.0.0.1"]
    command = {
        "lab": [
            "jupyterlab",
            *local,
            "--allow-root",
            f"--IdentityProvider.token={token}",
            f"--ServerApp.root_dir={folder}",
        ],
        "voila": ["voila", *local, f"--theme={'dark' if dark else 'light'}", str(folder)],
    }[kind]
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONWARNINGS": "ignore",
    }
    with (home / f"{kind}.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        server = Server(kind, f"http://127.0.0.1:{port}", token, folder)
        _wait_for(server, process, home / f"{kind}.log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    ready = "/api?token=" + server.token if server.kind == "lab" else "/voila/static/main.css"
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            try:
                urllib.request.urlopen(server.url + ready, timeout=2).close()
            except urllib.error.HTTPError as error:
                error.close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"{server.kind} does not answer:\n{log.read_text()[-3000:]}")
