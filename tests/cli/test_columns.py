"""--column names the columns of a table of one's own, the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm
from nousmem.corpora import read_entries
from nousmem.errors import CorpusError, InvalidParameter

Run = Callable[..., Any]

NAMED = {
    "content": "note",
    "id": "ref",
    "queries.text": "asked",
    "queries.query_id": "nr",
    "qrels.query_id": "nr",
    "qrels.doc_id": "ref",
}
OPTIONS = [part for field, column in NAMED.items() for part in ("--column", f"{field}={column}")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tables"
    place.mkdir()
    (place / "entries.csv").write_text("ref,note\n1,Mira drinks tea\n2,Bo drinks coffee\n")
    (place / "queries.csv").write_text("asked,nr\nwho drinks tea,first\n")
    (place / "qrels.csv").write_text("nr,ref,grade\nfirst,1,1\n")
    return place


def held(url: str) -> dict[str, str]:
    with nm.open_store(url) as store:
        return {entry.id: entry.content for entry in store.list()}


def test_load_takes_a_folder_and_its_columns(nousmem: Run, folder: Path) -> None:
    url = f"sqlite:{folder / 'memories.db'}"
    done = nousmem("load", folder, url, *OPTIONS, "--json")
    assert (done.status, done.json["corpus"], done.json["queries"]) == (0, "tables", 1)
    assert held(url) == {"1": "Mira drinks tea", "2": "Bo drinks coffee"}
    corpus = nm.load_corpus("tables", path=folder, columns=NAMED)
    assert corpus.qrels.to_dict("records") == [{"query_id": "first", "doc_id": "1", "relevance": 1}]


@pytest.mark.parametrize("way", [(), ("--from", "table")])
def test_import_takes_columns(nousmem: Run, folder: Path, way: tuple[str, ...]) -> None:
    url = f"sqlite:{folder / 'memories.db'}"
    named = ("--column", "content=note", "--column", "entries.id=ref")
    done = nousmem("import", url, folder / "entries.csv", *named, "--user-id", "mira", *way)
    assert done.status == 0
    assert held(url) == {"1": "Mira drinks tea", "2": "Bo drinks coffee"}
    (folder / "own.jsonl").write_text('{"ref": 3, "note": "Ada plays go"}\n')
    assert nousmem("import", url, folder / "own.jsonl", *named, *way).status == 0
    assert held(url)["3"] == "Ada plays go"


def test_lines_of_another_shape_say_how_to_read_them(nousmem: Run, folder: Path) -> None:
    (folder / "own.jsonl").write_text('{"ref": 3, "note": "Ada plays go"}\n')
    done = nousmem("import", "memory:", folder / "own.jsonl")
    assert done.status == 2
    assert "has no field 'ref'" in done.err
    assert "import --from table" in done.err


def test_label_takes_columns_of_both_tables(nousmem: Run, folder: Path) -> None:
    out = folder / "pool.csv"
    done = nousmem(
        "label",
        folder / "entries.csv",
        folder / "queries.csv",
        *("--column", "content=note", "--column", "id=ref"),
        *("--column", "queries.text=asked", "--column", "queries.query_id=nr"),
        *("--propose-only", "--out", out, "--json"),
    )
    assert (done.status, done.json["queries"]) == (0, 1)
    assert "first" in out.read_text()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("note", "expected FIELD=COLUMN"),
        ("=note", "expected FIELD=COLUMN"),
        ("content=", "expected FIELD=COLUMN"),
        ("memories.content=note", "no table 'memories'"),
        ("colour=note", "entries have no field 'colour'"),
        ("text=note", "did you mean content, queries.text, qrels.text?"),
        ("note=content", "the field comes first, the column second, content=note"),
        ("content=notes", "entries have no column 'notes'; columns: ref, note"),
        ("queries.text=asked", "import reads memories alone"),
    ],
)
def test_a_column_that_cannot_be_is_explained(
    nousmem: Run, folder: Path, option: str, message: str
) -> None:
    done = nousmem("import", "memory:", folder / "entries.csv", "--column", option)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_missing_column_is_told_with_those_there_are(nousmem: Run, folder: Path) -> None:
    done = nousmem("import", "memory:", folder / "entries.csv")
    assert "the table has: ref, note): name it, entries.content=COLUMN" in done.err


def test_a_store_or_a_corpus_has_no_columns_to_name(nousmem: Run, folder: Path) -> None:
    url = f"sqlite:{folder / 'memories.db'}"
    nousmem("import", url, folder / "entries.csv", "--column", "content=note")
    named = ("--column", "content=note", "--column", "queries.text=asked")
    done = nousmem("label", url, folder / "queries.csv", *named)
    assert "which has no columns to name" in done.err
    with pytest.raises(InvalidParameter, match="no option 'columns'"):
        nm.load_corpus("assistant-year", columns={"content": "note"})


def test_a_guess_between_two_columns_is_never_silent() -> None:
    rows = [{"id": "1", "message": "Mira drinks tea", "body": "Bo drinks coffee"}]
    with pytest.warns(UserWarning, match=r"'message' is taken for the content, and 'body'"):
        read_entries(rows)
    assert read_entries(rows, columns={"content": "body"})[0].content == "Bo drinks coffee"
    exact = [{"id": "1", "content": "Mira drinks tea", "text": "Bo drinks coffee"}]
    assert read_entries(exact)[0].content == "Mira drinks tea"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (46022.5, "spreadsheet's dates"),
        (1_767_225_600_000, "divide milliseconds by 1000"),
        ("31.12.2025", "is no ISO 8601 instant"),
        ("12/31/2025", "is no ISO 8601 instant"),
    ],
)
def test_a_date_is_never_guessed(value: object, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_entries([{"content": "Mira drinks tea", "created_at": value}])


def test_what_a_spreadsheet_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "memories.csv"
    file.write_bytes(
        '\ufeffsep=;\r\nid;content;importance\r\n1;"Mira drinks\nGrüntee; daily";0,8\r\n'.encode()
    )
    (entry,) = read_entries(file)
    assert (entry.content, entry.importance) == ("Mira drinks\nGrüntee; daily", 0.8)


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_sweep_and_compare_take_columns(nousmem: Run, folder: Path, tmp_path: Path) -> None:
    where = ("--path", folder, *OPTIONS, "--measures", "R@10")
    swept = nousmem("sweep", "tables", *where, "--grid", "w_importance=0.3", "--json")
    assert swept.status == 0
    assert [row["R@10"] for row in swept.json["rows"]] == [1.0]
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(nm.Settings().to_toml())
    other.write_text(nm.Settings().replace(w_importance=0).to_toml())
    compared = nousmem("compare", one, other, "--corpus", "tables", *where, "--json")
    assert compared.status == 0
    assert compared.json["rows"][0]["mean"] == 1.0
    unnamed = nousmem("sweep", "tables", "--path", folder, "--grid", "w_importance=0")
    assert unnamed.status == 2


def test_a_file_for_a_folder_is_told(nousmem: Run, folder: Path) -> None:
    for where in ((folder / "entries.csv", "memory:"), ("tables", "memory:", "--path")):
        given = (*where, folder / "entries.csv") if "--path" in where else where
        assert "is a file; expected a folder" in nousmem("load", *given).err
    assert "there is no folder at" in nousmem("load", "tables", "memory:", "--path", "absent").err
    assert "no file or folder at absent.csv" in nousmem("load", "absent.csv", "memory:").err
