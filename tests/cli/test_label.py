"""Labelling in a terminal, and through a pipe."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import nousmem as nm
from nousmem.evaluation.judging.proposing import read_qrels

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


Label = Callable[..., Any]


@pytest.fixture
def label(nousmem: Label, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Label:
    """Give a function that runs `nousmem label` in this process, with keys on standard input."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(nousmem, "label", keys="")


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:{tmp_path}/memories.db"
    with nm.open_store(address) as store:
        store.put(
            nm.Entry(text, id=key, user_id=user, created_at=NOON)
            for key, user, text in (
                ("m1", "ada", "Ada drinks [bold]tea[/bold]"),
                ("m2", "ada", "Ada drinks coffee \x1b[2Jnow"),
                ("m3", "bo", "Bo drinks tea"),
                ("m4", "bo", "Bo sails"),
            )
        )
    return address


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    file = tmp_path / "queries.csv"
    file.write_text(
        "query_id,question,user_id\n"
        "drink,what does ada drink,ada\n"
        "odd,xyzzy,\n"
        ",who sails or drinks,bo\n"
    )
    return file


def test_a_table_of_memories_in_place_of_a_store(label: Label, tmp_path: Path) -> None:
    (tmp_path / "entries.csv").write_text("Text;Date\nAda drinks tea;2026-01-02\nBo sails;\n")
    (tmp_path / "queries.csv").write_text("question\nwho drinks tea?\n")
    refused = label("entries.csv", "queries.csv")
    assert refused.status == 2
    assert "created_at is missing (row 2)" in refused.err
    (tmp_path / "entries.csv").write_text("Text;Date\nAda drinks tea;2026-01-02\n")
    done = label("entries.csv", "queries.csv", keys="2")
    assert done.status == 0, done.err
    corpus = nm.corpus_from_frames("entries.csv", "queries.csv", "qrels.tsv")
    assert corpus.qrels["relevance"].tolist() == [2]


def test_an_empty_store_is_told(label: Label, queries: Path) -> None:
    done = label("sqlite::memory:", queries)
    assert done.status == 2
    assert "is empty" in done.err


def test_the_whole_way(label: Label, url: str, queries: Path, tmp_path: Path) -> None:
    done = label(url, queries, keys="2 0\n1 0\n")
    assert done.status == 0, done.err
    assert "what does ada drink" in done.out
    assert "odd: nothing is found" in done.out
    assert "4 of 4 candidates judged, 2 of these relevant" in done.out
    qrels = read_qrels("qrels.tsv")
    assert qrels["query_id"].tolist() == ["drink", "drink", "q3", "q3"]
    assert qrels["relevance"].tolist() == [2, 0, 1, 0]
    assert set(qrels["doc_id"]) == {"m1", "m2", "m3", "m4"}
    assert set(qrels["pool"]) == {"text@30"}
    with nm.open_store(url) as store:
        corpus = nm.corpus_from_frames(store, queries, "qrels.tsv")
    assert len(corpus.queries) == 2
    assert corpus.queries[1].scope == nm.Scope(user_id="bo")


def test_it_goes_on_where_it_stopped(label: Label, url: str, queries: Path) -> None:
    first = label(url, queries, keys="2q0000")
    assert "1 of 4 candidates judged" in first.out
    second = label(url, queries, keys="s u 0 s")
    assert "1 of 4 candidates are judged already" in second.out
    assert read_qrels("qrels.tsv")["relevance"].tolist() == [2, 0]
    third = label(url, queries, "--json", keys="1")
    assert third.status == 0
    assert (third.json["judged"], third.json["relevant"]) == (3, 2)
    assert "who sails" in third.err


def test_json_summary(label: Label, url: str, queries: Path) -> None:
    done = label(url, queries, "--embedder", "hashing", "--json", "--out", "x/q.tsv", keys="20")
    document = done.json
    assert document["file"] == "x/q.tsv"
    assert document["without_candidates"] == ["odd"]
    assert [row["n_judged"] for row in document["queries"]] == [2, 0]
    assert {row["leg"] for row in document["legs"]} <= {"text", "vector"}
    none = label(url, queries, "--json", "--out", "none.tsv")
    assert (none.json["judged"], none.json["legs"]) == (0, [])
    assert not Path("none.tsv").exists()


def test_a_wrong_key_is_named(label: Label, url: str, queries: Path) -> None:
    done = label(url, queries, keys="x2")
    assert "no key 'x'" in done.out
    assert read_qrels("qrels.tsv")["relevance"].tolist() == [2]


def test_memories_are_shown_as_they_are(label: Label, url: str, queries: Path) -> None:
    done = label(url, queries, keys="00")
    assert "[bold]tea[/bold]" in done.out
    assert "\x1b[2J" not in done.out
    assert "�[2Jnow" in done.out


def test_the_pool_alone(label: Label, url: str, queries: Path) -> None:
    done = label(url, queries, "--propose-only", "--depth", 1)
    assert done.status == 0, done.err
    assert "wrote 2 candidates of 2 queries to pool.csv; nothing is found for odd" in done.out
    pool = pd.read_csv("pool.csv")
    assert pool["query_id"].tolist() == ["drink", "q3"]
    assert set(pool["pool"]) == {"text@1"}
    assert not Path("qrels.tsv").exists()
    done = label(url, queries, "--propose-only", "--json", "--out", "p.csv", "--seed", 3)
    assert done.json == {
        "candidates": 4,
        "queries": 2,
        "without_candidates": ["odd"],
        "file": "p.csv",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sqlite:nope.db", "queries.csv"], "nope.db does not exist"),
        (["sqlite:memories.db", "nope.csv"], "nope.csv"),
        (["sqlite:memories.db", "queries.csv", "--depth", "0"], "depth"),
        (["sqlite:memories.db", "queries.csv", "--embedder", "minlm"], "minilm"),
        (["sqlite:memories.db", "queries.csv", "--out", "queries.csv"], "name another one"),
        (["sqlite:memories.db", "queries.csv", "--propose-only", "--out", "no/p.csv"], "no/p.csv"),
    ],
)
def test_user_errors(label: Label, url: str, queries: Path, arguments, message) -> None:
    before = queries.read_bytes()
    done = label(*arguments, keys="2")
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not Path("nope.db").exists()
    assert queries.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("end", [b"q", b"\x03", b"\x04"], ids=["q", "Ctrl-C", "Ctrl-D"])
def test_single_keys_at_a_terminal(url: str, queries: Path, tmp_path: Path, end: bytes) -> None:
    import pty
    import termios

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from nousmem.cli import main; main()", "label", url, str(queries)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
    )
    os.close(theirs)
    seen = b""
    try:
        for keys in (b"2", b"\x1b[A", b"0", b"\x1b[B", b"1", end):
            # The next key is pressed when its candidate is on the screen.
            while not seen.rstrip(b"\n").rpartition(b"\n")[2].startswith(b"["):
                part = os.read(process.stdout.fileno(), 4096)
                assert part, seen
                seen += part
            # What is typed before the command waits for a key is thrown away.
            while termios.tcgetattr(ours)[3] & termios.ICANON:
                assert process.poll() is None, seen
                time.sleep(0.01)
            os.write(ours, keys)
            seen = b""
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(ours)
    assert process.returncode == 0, rest
    assert b"2 of 4 candidates judged" in rest
    qrels = read_qrels(tmp_path / "qrels.tsv")
    assert qrels["query_id"].tolist() == ["drink", "q3"]
    assert qrels["relevance"].tolist() == [0, 1]
