"""Commands given the name of one's own code: `package.module:object`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

OWN = """
import nousmem as nm
from nousmem.embeddings import HashingEmbedder
from nousmem.stores._sqlite import SQLiteStore

def load_mine(path=None):
    notes = [
        {"id": f"n{at}", "text": f"Mira and the {word}", "date": "2026-01-01"}
        for at, word in enumerate(["kiln", "oar", "mill", "fern"])
    ]
    return nm.corpus_from_frames(
        notes,
        [{"qid": f"q{at}", "question": "which kiln?", "now": "2026-02-01"} for at in range(60)],
        [{"qid": f"q{at}", "doc_id": "n0", "label": 1} for at in range(60)],
        name="mine" if path is None else path,
    )

def one_file():
    return SQLiteStore("mine.db")

class Words(HashingEmbedder):
    pass

def read_notes(file):
    return [nm.Entry(line) for line in file.read_text().splitlines()]

def fail():
    return {}["no\\nkey"]
"""


@pytest.fixture(autouse=True)
def _written(own_code: Callable[..., Path], tmp_path: Path, monkeypatch) -> None:
    own_code(mine=OWN)
    monkeypatch.chdir(tmp_path)


def test_a_corpus_is_swept(nousmem, tmp_path: Path) -> None:
    options = ["--embedder", "mine:Words", "--json"]
    swept = nousmem("sweep", "mine:load_mine", *options)
    assert swept.status == 0, swept.err
    assert swept.json["corpus"] == "mine:load_mine"
    assert swept.json["n_queries"] == 60
    assert swept.json["provenance"]["embedder"] == "hashing-1:256"
    with_path = nousmem("sweep", "mine:load_mine", "--path", "notes", "--json")
    assert with_path.json["provenance"]["corpus"]["name"] == "notes"
    # A folder of that name is not what is meant.
    (tmp_path / "mine:load_mine").mkdir()
    assert nousmem("sweep", "mine:load_mine", "--json").json["n_queries"] == 60


def test_a_file_of_an_experiment_names_them(nousmem, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[corpus]\nname = "mine:load_mine"\n[retrieval]\nembedder = "mine:Words"\n'
    )
    assert nousmem("sweep", "mine.toml", "--json").status == 0
    assert nousmem("gate", "mine.toml", "--baseline", "b.json", "--update").status == 0
    assert nousmem("gate", "mine.toml", "--baseline", "b.json").out.endswith("held\n")


def test_a_store_is_filled_searched_and_written(nousmem, tmp_path: Path) -> None:
    loaded = nousmem(
        "load", "mine:load_mine", "mine:one_file", "--embedder", "mine:Words", "--json"
    )
    assert loaded.json["entries"] == 4
    (tmp_path / "notes.txt").write_text("Mira and the dune\n")
    done = nousmem("import", "mine:one_file", "notes.txt", "--from", "mine:read_notes", "--json")
    assert done.status == 0, done.err
    found = nousmem("search", "mine:one_file", "kiln", "--embedder", "mine:Words", "--json").json
    assert found["hits"][0]["doc_id"] == "n0"
    exported = nousmem("export", "mine:one_file", "all.jsonl", "--json")
    assert exported.json["exported"] == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "mine:fail"], "corpus 'mine:fail' failed: KeyError: 'no"),
        (["sweep", "mine:lode_mine"], "did you mean 'load_mine'"),
        (["sweep", "mine:load_mine", "--embedder", "mine:fail"], "embedder 'mine:fail' failed"),
        (["sweep", "mine:load_mine", "--store", "mine:fail"], "store 'mine:fail' failed"),
        (["sweep", "mine:load_mine", "--column", "content=note"], "'columns'"),
        (["load", "absent_one:load", "memory:"], "no module 'absent_one' on Python's search path"),
        (["search", "mine:Words", "x"], "store 'mine:Words' returned"),
        (["import", "memory:", "notes.txt", "--from", "mine:absent"], "source 'mine:absent'"),
        (
            ["import", "memory:", "notes.txt", "--from", "mine:read_notes", "--user-id", "mira"],
            "source 'mine:read_notes' cannot be called so: got an unexpected keyword argument",
        ),
    ],
)
def test_errors_are_one_line_and_status_2(nousmem, arguments: list[str], message: str) -> None:
    done = nousmem(*arguments)
    assert done.status == 2
    assert message in done.err
    # Before a sweep begins, a line says how much there is to do.
    *before, last = done.err.splitlines()
    assert message in last
    assert [one for one in before if "to retrieve" not in one] == []
    assert done.out == ""


def test_the_current_folder_is_on_nobodys_path(tmp_path: Path) -> None:
    """The console script does not look where somebody stands, unless it is told to."""
    (tmp_path / "here.py").write_text(OWN)
    script = tmp_path / "bin" / "nousmem"
    script.parent.mkdir()
    script.write_text("from nousmem.cli import main\nmain()\n")

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(script), "sweep", "here:load_mine", "--json"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **environment},
        )

    away = run()
    assert away.returncode == 2
    assert "no module 'here' on Python's search path" in away.stderr
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert run(PYTHONPATH=path).returncode == 0
