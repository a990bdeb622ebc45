"""An experiment on a real cluster of separate processes, one of which dies."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nousmem import evaluation as ev

pytest.importorskip("distributed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(*arguments: str, log: Path) -> subprocess.Popen:
    with log.open("w") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )


# The library warns of what its own threads do when it is closed.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_that_dies_changes_nothing(experiment_file: Path, tmp_path: Path, files_of):
    text = experiment_file.read_text().replace("depth = [10, 20]", "depth = [5, 8, 10, 13, 16, 20]")
    experiment_file.write_text(text)
    experiment = ev.read_experiment(experiment_file)
    ev.run_experiment(experiment, out=tmp_path / "serial")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port),
        "--no-dashboard", log=tmp_path / "scheduler.log",
    )  # fmt: skip
    workers = [
        start(
            "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard",
            "--no-nanny", "--local-directory", str(tmp_path / f"worker-{at}"),
            log=tmp_path / f"worker-{at}.log",
        )
        for at in range(2)
    ]  # fmt: skip
    done_when_it_died: list[int] = []

    def end_one() -> None:
        first = tmp_path / "dask" / "conditions" / "000"
        while not first.exists() and scheduler.poll() is None:
            time.sleep(0.005)
        workers[0].kill()
        done_when_it_died.append(len(list(first.parent.glob("[0-9][0-9][0-9]"))))

    killer = threading.Thread(target=end_one, daemon=True)
    killer.start()
    try:
        ev.run_experiment(
            experiment, out=tmp_path / "dask", backend="dask", scheduler=address, jobs=4
        )
    finally:
        for process in (*workers, scheduler):
            process.terminate()
            process.wait(timeout=20)
    killer.join(timeout=5)
    assert workers[0].returncode == -9
    assert done_when_it_died[0] < 12  # it died in the middle
    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")
