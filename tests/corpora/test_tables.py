"""Tables as people have them lying about: exports of spreadsheets, without ids, with repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

import nousmem as nm
from nousmem.corpora import corpus_from_frames, load_tables, read_entries
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter

NOTES = [
    ["Text", "Date", "Tags"],
    ["Jörg is allergic to hazelnuts", "2025-01-06 08:00", "health"],
    ["Jörg lives in Blåvik, near the quay", "2025-01-11", "home; family"],
    ["Jörg is allergic to hazelnuts", "2025-01-06 08:00", "food"],
]


def written(path: Path, rows: list[list[str]], separator: str) -> Path:
    lines = (separator.join(f'"{cell}"' if separator in cell else cell for cell in r) for r in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t")]
)
def test_the_separator_is_told_from_the_header(tmp_path: Path, name: str, separator: str):
    rows = read_entries(written(tmp_path / name, NOTES, separator))
    assert [row.content for row in rows] == [NOTES[1][0], NOTES[2][0]]
    assert rows[1].metadata == {"Tags": "home; family"}


def test_a_quoted_name_does_not_count(tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_text('id,text,"a;b;c;d"\n1,x,y\n')
    assert read_entries(file)[0].metadata == {"a;b;c;d": "y"}


def test_rows_of_empty_cells_are_no_rows(tmp_path: Path):
    file = written(tmp_path / "a.csv", [*NOTES, ["", "", ""], ["", "", ""]], ";")
    assert len(read_entries(file)) == 2


def test_ids_are_made_and_depend_on_nothing_else_in_the_table(tmp_path: Path):
    first = read_entries(written(tmp_path / "a.csv", NOTES, ","))
    again = read_entries(written(tmp_path / "b.csv", [NOTES[0], NOTES[2], NOTES[1]], ";"))
    assert [entry.id for entry in again] == [first[1].id, first[0].id]
    theirs = read_entries(tmp_path / "a.csv", scope=nm.Scope(user_id="ida"))
    assert {entry.user_id for entry in theirs} == {"ida"}
    assert not {entry.id for entry in theirs} & {entry.id for entry in first}, "two users' own"


def test_without_ids_judgements_name_the_text(tmp_path: Path):
    notes = written(tmp_path / "a.csv", NOTES, ";")
    judged = [{"Question": "allergies?", "Text": NOTES[1][0]}]
    corpus = corpus_from_frames(notes, [{"Question": "allergies?"}], judged)
    assert corpus.qrels["doc_id"].tolist() == [corpus.entries[0].id]
    assert corpus.card.faults == {"row repeats an earlier one, left out": 1}
    with pytest.raises(CorpusError, match=r"an entry that does not exist \(somewhere else\)"):
        corpus_from_frames(notes, None, [{"Question": "x", "Text": "somewhere else"}])
    later = [
        {"text": NOTES[1][0], "date": "2025-01-06"},
        {"text": NOTES[1][0], "date": "2026-01-06"},
    ]
    with pytest.raises(CorpusError, match="several entries have this text"):
        corpus_from_frames(later, None, judged)


def test_a_column_of_dates_that_is_not_read_is_told():
    rows = [{"text": "x", "Datum": "06.01.2025"}, {"text": "y", "Datum": None}]
    with pytest.warns(UserWarning, match="'Datum' looks like one"):
        read_entries(rows)
    read_entries(
        [{"text": "x", "Version": "1.2.3 and more", "Code": "a-1"}, {"text": "y", "Version": "z"}]
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"importance": "half"}, "importance must be a number such as 0.5, got 'half'"),
        ({"access_count": "many"}, "access_count must be a whole number, got 'many'"),
        ({"metadata": "[1]"}, r"metadata must be a JSON object, got '\[1\]'"),
        ({"text": 5}, "content must be text, got int"),
    ],
)
def test_a_cell_of_the_wrong_kind_is_told(row: dict[str, object], message: str):
    with pytest.raises(CorpusError, match=message):
        read_entries([{"id": "a", "text": "x", **row}])


@pytest.mark.parametrize("relevance", ["1e300", "99999999999999999999999", "inf", "nan", "0.5"])
def test_a_relevance_that_no_measure_takes_is_told(relevance: str):
    judged = [{"qid": "q", "doc_id": "a", "relevance": relevance}]
    with pytest.raises(CorpusError, match=r"not a whole number \(row 1\)"):
        corpus_from_frames([{"id": "a", "text": "x"}], [{"qid": "q", "text": "x"}], judged)


def test_tables_without_rows_are_told(tmp_path: Path):
    for name in ("entries", "queries", "qrels"):
        (tmp_path / f"{name}.csv").write_text("id,text,doc_id\n")
    with pytest.raises(
        CorpusError, match=r"entries have no rows; queries have.*; qrels have no rows"
    ):
        load_tables(tmp_path)


def test_missing_judgements_say_how_to_make_them(tmp_path: Path):
    with pytest.raises(InvalidParameter, match="nousmem label"):
        corpus_from_frames([{"text": "x"}], [{"text": "y"}], None)
    (tmp_path / "entries.csv").write_text("text\nx\n")
    with pytest.raises(CorpusFileMissing, match=r"qrels\.csv.*nousmem label"):
        load_tables(tmp_path)


def test_marks_of_updated_facts_are_read_from_text(tmp_path: Path):
    file = tmp_path / "queries.csv"
    file.write_text('qid,question,newest,outdated\nq,where?,"[""2""]",[1]\n')
    entries = [{"id": 1, "text": "Ambleton"}, {"id": 2, "text": "Sellby"}]
    corpus = corpus_from_frames(entries, file, [{"qid": "q", "doc_id": 2}])
    assert corpus.queries[0].metadata == {"newest": ["2"], "outdated": ["1"]}
    file.write_text("qid,question,newest\nq,where?,2\n")
    with pytest.raises(CorpusError, match="newest must be a list of entry ids"):
        corpus_from_frames(entries, file, [{"qid": "q", "doc_id": 2}])
