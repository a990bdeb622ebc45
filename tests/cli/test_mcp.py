from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm
from nousmem.cli._app import app
from nousmem.cli._opening import opened

RUN = [sys.executable, "-W", "error", "-c", "from nousmem.cli import main; main()", "mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


NOISY = """
import sys
sys.modules["pydantic_ai"] = None
from nousmem.agent import _tools as tools
def recall(*args, **options):
    print("a library prints something")
    return {"status": "found", "count": 0, "memories": []}
tools.recall = recall
from nousmem.cli import main
main()
"""


def test_standard_output_holds_the_protocol_alone_and_ends_with_the_input():
    """Whatever is printed, whatever the client sends; and no agent framework is needed."""
    messages = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "recall", "arguments": {"query": "bees"}}},
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", NOISY, "mcp", "memory:"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("not JSON at all\n")
        answers: list[dict[str, Any]] = []
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline()))
        rest, complaints = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "nousmem"
    assert answers[1]["result"]["structuredContent"]["status"] == "found"
    assert (rest, process.returncode) == ("", 0)
    assert "a library prints something" in complaints


def test_an_interrupt_ends_it_though_nothing_is_said():
    process = subprocess.Popen([*RUN, "memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["bogus:x"], "store 'bogus:x': there is no module 'bogus'"),
        (["memory:", "--embedder", "minilmm"], "did you mean 'minilm'"),
        (["memory:", "--http", "here"], "--http must be PORT or HOST:PORT, got 'here'"),
        (["memory:", "--http", "203.0.113.1:0"], "cannot listen on 203.0.113.1:0"),
        (["memory:", "--settings", "absent.toml"], "cannot read the settings absent.toml"),
        (["memory:", "--preset", "recomended"], "did you mean 'recommended'"),
        (["memory:", "--set", "w_frequency=1"], "w_frequency is a weight of no leg or term"),
        (["memory:", "--set", "legs=vector"], "needs an embedder"),
    ],
)
def test_a_wrong_option_is_refused(options: list[str], message: str):
    with pytest.raises(nm.NousmemError) as caught:
        app(["mcp", *options], standalone_mode=False)
    assert message in str(caught.value)


def test_the_options_reach_the_memory_that_is_served(monkeypatch: pytest.MonkeyPatch):
    served: list[Any] = []
    monkeypatch.setattr("nousmem.cli._mcp._serve", lambda access, _: served.append(access))
    options = ["--preset", "recommended", "--set", "depth=7", "--evidence", "--explain"]
    app(["mcp", "memory:", *options], standalone_mode=False)
    app(["mcp", "memory:"], standalone_mode=False)
    asked, plain = served
    assert asked.settings == nm.Settings.preset("recommended").replace(depth=7)
    assert (asked.recall_evidence, asked.explain_recall) == (True, True)
    assert plain.settings == nm.Settings()
    assert (plain.recall_evidence, plain.explain_recall) == (False, False)


def test_a_refusal_is_one_line_and_status_2():
    done = run("memory:", "--http", "here")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


WITHOUT = "import sys; sys.modules['mcp'] = None; from nousmem.cli import main; main()"


def test_without_the_extra_it_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "mcp", "memory:"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr == "nousmem: nousmem mcp needs the package 'mcp': pip install 'nousmem[mcp]'\n"
    )


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_home_is_understood_where_no_shell_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A desktop assistant's configuration holds the store's URL as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    with opened(f"{kind}:~/m.db") as store:
        store.put([nm.Entry("Keeps bees")])
    assert (tmp_path / "m.db").is_file()
    with opened(f"{kind}:~/m.db", exists=True) as store:
        assert len(store.list()) == 1
