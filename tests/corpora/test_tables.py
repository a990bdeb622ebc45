"""Tables as people have them lying about: exports of spreadsheets, without ids, with repeats."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import nousmem as nm
from nousmem.corpora import corpus_from_frames, load_tables, read_entries
from nousmem.corpora.registry import recognise_corpus
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


PEOPLE = [
    {"id": "1", "text": "Mira drinks tea", "Person": "Anna"},
    {"id": "2", "text": "Bo drinks coffee", "Person": "Bernd"},
]
ASKED = [
    {"qid": "a", "question": "tea?", "user": "Anna"},
    {"qid": "b", "question": "coffee?", "user": "Bernd"},
]
JUDGED = [{"qid": "a", "id": "1"}, {"qid": "b", "id": "2"}]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (PEOPLE, r"the entries' column 'Person' seems to hold it: entries\.user_id=Person"),
        (
            [{"id": row["id"], "text": row["text"]} for row in PEOPLE],
            r"which column of the entries holds it\? entries\.user_id=COLUMN",
        ),
        (
            [{**row, "user": row["Person"].lower()} for row in PEOPLE],
            "the user_id of entries: anna, bernd",
        ),
    ],
)
def test_a_scope_that_no_entry_is_in_is_refused(entries: list[dict[str, str]], said: str):
    with pytest.raises(
        CorpusError, match=r"no entry has the user_id of 2 queries \(Anna, Bernd\)"
    ) as e:
        corpus_from_frames(entries, ASKED, JUDGED)
    assert re.search(said, str(e.value))


def test_queries_that_can_find_nothing_beside_others_are_told():
    entries = [{**row, "user": "Anna"} for row in PEOPLE]
    with pytest.warns(UserWarning, match=r"some queries .* the user_id of 1 query \(Bernd\)"):
        corpus_from_frames(entries, ASKED, JUDGED)
    apart = [{**row, "user": row["Person"], "agent": "x"} for row in PEOPLE]
    apart[1]["agent"] = "y"
    both = [{**row, "agent": "y"} for row in ASKED]
    with pytest.warns(UserWarning, match=r"the agent_id and user_id of 1 query \(y/Anna\)"):
        corpus_from_frames(apart, both, JUDGED)


def test_a_scope_that_is_there_or_not_asked_about_is_no_fault():
    entries = [{**row, "user": row["Person"]} for row in PEOPLE]
    assert len(corpus_from_frames(entries, ASKED, JUDGED).queries) == 2
    anybody = [{"qid": row["qid"], "question": row["question"]} for row in ASKED]
    assert len(corpus_from_frames(entries, anybody, JUDGED).queries) == 2


def test_texts_where_ids_are_expected_are_told():
    judged = [{"qid": "a", "id": "Mira drinks tea"}, {"qid": "a", "id": "nowhere"}]
    with pytest.raises(CorpusError) as caught:
        corpus_from_frames(PEOPLE, None, [{**row, "question": "tea?"} for row in judged])
    assert "texts, not ids: name it as qrels.content=id ('Mira drinks tea')" in str(caught.value)
    assert "an entry that does not exist (nowhere)" in str(caught.value)
    with pytest.raises(CorpusError, match=r"the entries' texts, qrels\.content=COLUMN"):
        corpus_from_frames(PEOPLE, None, [{"question": "tea?", "Notiz": "Mira drinks tea"}])


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        (["05.01.2025", "31.01.2025"], r"format='%d\.%m\.%Y'\)"),
        (["05.01.2025 10:30", "31.01.2025 09:00"], r"format='%d\.%m\.%Y %H:%M'\)"),
        (["13/01/2025", "05/01/2025"], "format='%d/%m/%Y'"),
        (["01/13/2025", "01/05/2025"], "format='%m/%d/%Y'"),
        (["05/01/2025", "04/01/2025"], "format='%d/%m/%Y' or '%m/%d/%Y'"),
    ],
)
def test_foreign_dates_are_one_line_and_hide_nothing(dates: list[str], said: str):
    entries = [{**row, "wann": date} for row, date in zip(PEOPLE, dates, strict=True)]
    entries[0]["importance"] = "much"
    asked = [{**row, "now": date} for row, date in zip(ASKED, dates, strict=True)]
    judged = [*JUDGED, {"qid": "c", "id": "2"}]
    with pytest.raises(CorpusError) as caught:
        corpus_from_frames(entries, asked, judged, entry_columns={"created_at": "wann"})
    dated, importance, now, qrels = str(caught.value).split("; ")
    assert "2 of 2 values of created_at are no ISO 8601 instants such" in dated
    assert f"the first {dates[0]!r} in row 1 (in Python: pd.to_datetime(table['wann']," in dated
    assert re.search(said, dated)
    assert re.search(said, now)
    assert "importance must be a number" in importance
    assert qrels == "qrels name a query that does not exist (c)"


def test_dates_of_two_kinds_have_no_line_of_pandas():
    rows = [{"text": "x", "date": "05.01.2025"}, {"text": "y", "date": "2025-01-05"}]
    with pytest.raises(CorpusError, match=r"1 of 2 values of created_at is no .* in row 1$"):
        read_entries(rows)


def test_values_of_one_kind_of_fault_are_one_line():
    rows = [{"id": n, "text": "x", "importance": "high" if n % 2 else "low"} for n in range(9)]
    with pytest.raises(CorpusError, match=r"got 'low' \(row 1\), 'high' \(row 2\) and 7 more$"):
        read_entries(rows)


def test_a_file_is_no_folder_of_tables(tmp_path: Path):
    file = tmp_path / "Notizen.csv"
    file.write_text("text\nx\n")
    with pytest.raises(CorpusFileMissing, match=r"is a file; expected a folder with entries\.csv"):
        load_tables(file)
    with pytest.raises(CorpusError, match=r"is a file; expected a folder with entries\.csv"):
        recognise_corpus(file)
    with pytest.raises(CorpusFileMissing, match=r"there is no folder at .*absent"):
        load_tables(tmp_path / "absent")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"text": "Frage"}, r"did you mean content, queries\.text, qrels\.text\?"),
        ({"as_of": "wann"}, r"did you mean queries\.as_of\?"),
        ({"Notiz": "content"}, "the field comes first, the column second, content=Notiz"),
        ({"Frage": "queries.text"}, "the column second, queries.text=Frage"),
        ({"colour": "Frage"}, "no field 'colour'; fields"),
    ],
)
def test_a_field_of_another_table_or_in_the_wrong_place_is_told(columns: dict[str, str], said: str):
    with pytest.raises(InvalidParameter, match=said):
        read_entries(PEOPLE, columns=columns)


def test_a_file_of_windows_says_what_reads_it(tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_bytes("id;text\n1;Jörg mag Tee – täglich\n".encode("cp1252"))
    with pytest.raises(CorpusError, match="not UTF-8") as caught:
        read_entries(file)
    call = re.search(r"pd\.read_csv\('a\.csv', (.*?)\)", str(caught.value))
    assert call is not None
    assert call[1] == "sep=None, engine='python', encoding='cp1252'"
    table = pd.read_csv(file, sep=None, engine="python", encoding="cp1252")
    assert read_entries(table)[0].content == "Jörg mag Tee – täglich"
