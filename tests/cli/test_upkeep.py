"""check, forget, export, import and reembed, as a user meets them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import nousmem as nm

T0 = datetime(2026, 3, 15, tzinfo=UTC)


Run = Callable[..., Any]


@pytest.fixture(params=["sqlite:{}/my memories.db", "duckdb:{}/my memories.duckdb?text=bm25"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    address = request.param.format(tmp_path)
    with nm.open_store(address) as store:
        store.put(
            [
                nm.Entry("Ada drinks tea", id="m1", user_id="ada", agent_id="x", created_at=T0),
                nm.Entry("Bo drinks tea", id="m2", user_id="bo", namespace="n", created_at=T0),
                nm.Entry("Ada drank xylophone", id="m0", user_id="ada", superseded_at=T0),
            ]
        )
    return address


def path_of(url: str) -> Path:
    return Path(url.partition(":")[2].partition("?")[0])


def left(url: str) -> list[str]:
    with nm.open_store(url) as store:
        return sorted(entry.id for entry in store.list(include_superseded=True))


def damage(url: str) -> None:
    if url.startswith("sqlite:"):
        connection = sqlite3.connect(path_of(url), isolation_level=None)
        connection.execute("UPDATE entries SET terms = 'something else' WHERE id = 'm1'")
        connection.close()
    else:
        with duckdb.connect(str(path_of(url))) as connection:
            connection.execute("UPDATE postings SET tf = 9")


def test_check(nousmem: Run, url: str) -> None:
    done = nousmem("check", url)
    assert (done.status, done.out) == (0, f"no faults: {url}\n")
    done = nousmem("check", url, "--json")
    assert (done.status, done.json) == (0, [])
    damage(url)
    done = nousmem("check", url, "--json")
    assert done.status == 1
    assert done.json
    assert all(fault["rows"] > 0 and not fault["repaired"] for fault in done.json)
    done = nousmem("check", url)
    assert done.status == 1
    assert "index" in done.out
    done = nousmem("check", url, "--repair", "--json")
    assert done.status == 0
    assert all(fault["repaired"] for fault in done.json)
    assert nousmem("check", url).status == 0


def test_forget(nousmem: Run, url: str) -> None:
    done = nousmem("forget", url, "--user-id", "ada", "--json")
    assert done.status == 0, done.err
    assert done.json == {"erased": 2, "place": url}
    assert left(url) == ["m2"]
    for file in path_of(url).parent.glob("my memories*"):
        assert b"xylophone" not in file.read_bytes()
    done = nousmem("forget", url, "--user-id", "nobody")
    assert (done.status, done.out) == (0, f"erased 0 entries: {url}\n")
    assert nousmem("forget", url, "--everything").status == 0
    assert left(url) == []


@pytest.mark.parametrize(
    ("option", "value", "gone"),
    [("--agent-id", "x", "m1"), ("--namespace", "n", "m2"), ("--session-id", "s", None)],
)
def test_forget_by_any_part_of_a_scope(
    nousmem: Run, url: str, option: str, value: str, gone: str | None
) -> None:
    assert nousmem("forget", url, option, value).status == 0
    assert left(url) == [i for i in ("m0", "m1", "m2") if i != gone]


@pytest.mark.parametrize("arguments", [[], ["--everything", "--user-id", "ada"]])
def test_forget_must_be_told_what(nousmem: Run, url: str, arguments: list[str]) -> None:
    done = nousmem("forget", url, *arguments)
    assert done.status == 2
    assert "--user-id" in done.err
    assert "--everything" in done.err
    assert left(url) == ["m0", "m1", "m2"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_export_and_import(nousmem: Run, url: str, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"all.{kind}"
    done = nousmem("export", url, file, "--json")
    assert done.status == 0, done.err
    assert done.json == {"exported": 3, "place": str(file)}
    other = f"sqlite:{tmp_path}/other.db"
    done = nousmem("import", other, file)
    assert (done.status, done.out) == (0, f"imported 3 entries: {other}\n")
    with nm.open_store(url) as one, nm.open_store(other) as two:
        assert one.list(include_superseded=True) == two.list(include_superseded=True)
    assert nousmem("export", url, file, "--user-id", "bo", "--json").json["exported"] == 1
    assert nousmem("import", other, file, "--json").json == {"imported": 1, "place": other}


def test_reembed(nousmem: Run, url: str) -> None:
    done = nousmem("reembed", url, "--embedder", "hashing", "--json")
    assert done.status == 0, done.err
    assert done.json == {"reembedded": 3, "place": url}
    model = nm.open_embedder("hashing")
    with nm.open_store(url) as store:
        embedders = {entry.embedder for entry in store.list(include_superseded=True)}
        assert embedders == {model.fingerprint}
        assert (
            nm.Search(store, model, retrieval=nm.Retrieval(legs=["vector"]))("Bo drinks tea")[
                0
            ].entry.id
            == "m2"
        )
    done = nousmem("reembed", url, "--embedder", "hashing")
    assert (done.status, done.out) == (0, f"reembedded 0 entries: {url}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "memory:", "{}/none.jsonl"], "none.jsonl: No such file"),
        (["import", "memory:", "{}/bad.jsonl"], "bad.jsonl, line 2: not JSON"),
        (["import", "memory:", "{}/bad.csv"], "there is no file at"),
        (["import", "memory:", "{}/bad.toml"], ".jsonl or .parquet"),
        (["export", "memory:", "{}/out.csv"], ".jsonl or .parquet"),
        (["export", "memory:", "{}/no/such/out.jsonl"], "cannot write"),
        (["export", "sqlite:{}/typo.db", "{}/out.jsonl"], "typo.db does not exist"),
        (["check", "duckdb:{}/typo.duckdb?text=bm25"], "typo.duckdb does not exist"),
        (["forget", "sqlite:{}/typo.db", "--user-id", "ada"], "typo.db does not exist"),
        (["reembed", "sqlite:{}/typo.db", "--embedder", "hashing"], "typo.db does not exist"),
        (["reembed", "memory:", "--embedder", "none"], "needs an embedder"),
        (["reembed", "memory:", "--embedder", "hashin"], "hashing"),
        (["check", "sqlit:x"], "sqlite"),
        (["check", "sqlite:{}/bad.jsonl"], "bad.jsonl"),
        (["check", "duckdb:{}/bad.jsonl"], "bad.jsonl"),
    ],
)
def test_user_errors_end_with_status_2_and_one_line(
    nousmem: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"content": "fine"}\noops\n')
    (tmp_path / "bad.toml").write_text("")
    before = sorted(tmp_path.iterdir())
    done = nousmem(*(argument.format(tmp_path) for argument in arguments))
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert sorted(tmp_path.iterdir()) == before, "nothing is made by mistake"


def test_import_reads_a_table_of_ones_own(nousmem: Run, tmp_path: Path) -> None:
    table = tmp_path / "notes.csv"
    table.write_text("Text;Date\nAda drinks tea;2026-01-02\nBo sails;2026-01-03\n")
    done = nousmem("import", f"sqlite:{tmp_path}/x.db", table, "--user-id", "ada", "--json")
    assert done.json["imported"] == 2
    with nm.open_store(f"sqlite:{tmp_path}/x.db") as store:
        entries = store.list()
    assert [entry.content for entry in entries] == ["Ada drinks tea", "Bo sails"]
    assert {entry.user_id for entry in entries} == {"ada"}


def test_an_import_of_nothing_makes_no_store(nousmem: Run, tmp_path: Path) -> None:
    done = nousmem("import", f"sqlite:{tmp_path}/x.db", tmp_path / "nothing.jsonl")
    assert done.status == 2
    assert "No such file" in done.err
    assert not (tmp_path / "x.db").exists()


def test_a_store_that_cannot_be_looked_after(nousmem: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nousmem.cli._opening.open_store", lambda url: object())
    for arguments in (["check", "memory:"], ["forget", "memory:", "--everything"]):
        done = nousmem(*arguments)
        assert done.status == 2
        assert "cannot be looked after" in done.err


def test_as_a_process_of_its_own(url: str) -> None:
    damage(url)
    done = subprocess.run(
        [sys.executable, "-c", "from nousmem.cli import main; main()", "check", url, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)[0]["repaired"] is False
