from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nousmem.corpora import Corpus, corpus_from_frames, load_tables
from nousmem.entry import Entry, MemoryType
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter
from nousmem.scope import Scope

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


def entries() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "docno": [1, 2, 3],
            "Text": ["Ada keeps bees", "Ben has a boat", "Cy rides"],
            "timestamp": ["2026-03-15T12:00:00Z", "2026-03-14T12:00:00+02:00", "2026-03-13"],
            "user": ["ada", "ben", "ben"],
            "importance": [0.1, 0.5, 1.0],
            "source": ["mail", None, "talk"],
        }
    )


def queries() -> pd.DataFrame:
    return pd.DataFrame(
        {"qid": [7, 8], "question": ["who keeps bees?", "who rides?"], "user": ["ada", "ben"]}
    )


def qrels() -> pd.DataFrame:
    return pd.DataFrame({"qid": [7, 7, 8], "docno": [1, 2, 3], "label": [2, -1, 1]})


def contents(corpus: Corpus) -> list[Any]:
    return [corpus.entries, corpus.queries, corpus.qrels.to_dict("list"), corpus.card.faults]


def test_columns_are_found_by_their_usual_names():
    corpus = corpus_from_frames(entries(), queries(), qrels(), name="mine", licence="ours")
    assert corpus.entries[0] == Entry(
        "Ada keeps bees",
        id="1",
        user_id="ada",
        importance=0.1,
        created_at=NOON,
        metadata={"source": "mail"},
    )
    assert corpus.entries[1].created_at == datetime(2026, 3, 14, 10, tzinfo=UTC)
    assert corpus.entries[1].metadata == {}
    assert corpus.entries[2].created_at == datetime(2026, 3, 13, tzinfo=UTC)
    assert [(q.query_id, q.text, q.now, q.scope) for q in corpus.queries] == [
        ("7", "who keeps bees?", NOON, Scope(user_id="ada")),
        ("8", "who rides?", NOON, Scope(user_id="ben")),
    ]
    assert corpus.qrels["relevance"].tolist() == [2, 0, 1]
    assert corpus.card.faults == {"judgement below 0, read as not relevant": 1}
    assert (corpus.name, corpus.card.title, corpus.card.licence) == ("mine", "mine", "ours")


def test_the_callers_tables_stay_as_they_were():
    tables = entries(), queries(), qrels()
    copies = [table.copy() for table in tables]
    corpus_from_frames(*tables)
    for table, copy in zip(tables, copies, strict=True):
        pd.testing.assert_frame_equal(table, copy)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_every_kind_of_file_gives_the_same(tmp_path: Path, suffix: str):
    tables = {"entries": entries(), "queries": queries(), "qrels": qrels()}
    for name, table in tables.items():
        file = tmp_path / f"{name}{suffix}"
        match suffix:
            case ".csv" | ".tsv":
                table.to_csv(file, index=False, sep="," if suffix == ".csv" else "\t")
            case ".parquet":
                table.to_parquet(file)
            case _:
                table.to_json(file, orient="records", lines=suffix == ".jsonl")
    expected = contents(corpus_from_frames(*tables.values()))
    assert contents(load_tables(tmp_path)) == expected
    paths = [tmp_path / f"{name}{suffix}" for name in tables]
    assert contents(corpus_from_frames(paths[0], str(paths[1]), paths[2])) == expected


def test_pandas_types_are_undone():
    table = entries().assign(
        timestamp=pd.to_datetime(["2026-03-15 12:00"] * 3),
        seen=pd.to_datetime(["2026-03-15", None, None]),
        count=pd.array([1, None, 3], dtype="Int64"),
        tags=[np.array([1, 2]), None, None],
    )
    judged = qrels().assign(docno=[1.0, 2.0, 3.0])
    corpus = corpus_from_frames(table, queries(), judged)
    assert corpus.entries[0].created_at == NOON
    assert corpus.entries[0].metadata == {
        "source": "mail",
        "seen": "2026-03-15T00:00:00",
        "count": 1,
        "tags": [1, 2],
    }
    assert corpus.entries[1].metadata == {}


def test_typed_fields_of_a_text_file(tmp_path: Path):
    file = tmp_path / "entries.csv"
    file.write_text(
        "id,content,type,evergreen,access_count,metadata,embedding\n"
        'a,"Ada, who keeps bees",procedural,Yes,4,"{""k"": 1}","[0.5, 1]"\n',
        encoding="utf-8",
    )
    judged = [{"query": "bees?", "id": "a"}]
    (entry,) = corpus_from_frames(file, None, judged).entries
    assert entry.content == "Ada, who keeps bees"
    assert (entry.type, entry.evergreen, entry.access_count) == (MemoryType.PROCEDURAL, True, 4)
    assert entry.metadata == {"k": 1}
    assert entry.embedding is not None
    assert entry.embedding.tolist() == [0.5, 1.0]


def test_other_columns_are_named():
    table = entries().rename(columns={"Text": "remark", "docno": "number"})
    corpus = corpus_from_frames(
        table,
        queries().rename(columns={"question": "ask"}),
        qrels().rename(columns={"docno": "number"}),
        entry_columns={"content": "remark", "id": "number"},
        query_columns={"text": "ask"},
        qrels_columns={"doc_id": "number"},
    )
    assert corpus.entries[0].content == "Ada keeps bees"
    with pytest.raises(InvalidParameter, match="entries have no column 'remrk'; columns: number"):
        corpus_from_frames(table, queries(), qrels(), entry_columns={"content": "remrk"})
    with pytest.raises(InvalidParameter, match="queries have no field 'txt'; fields: query_id"):
        corpus_from_frames(table, queries(), qrels(), query_columns={"txt": "question"})


class ListStore:
    """The least that is a store."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def put(self, entries):
        raise NotImplementedError

    get = update = delete = search_text = put

    def list(self, **filters):
        return self._entries


def test_a_store_and_a_table_of_judgements():
    kept = [Entry("Ada keeps bees", id="a", created_at=NOON), Entry("x", id="b", created_at=NOON)]
    judged = pd.DataFrame({"question": ["bees?", "bees?", "x?"], "doc_id": ["a", "b", "b"]})
    for source in (ListStore(kept), kept, tuple(kept)):
        corpus = corpus_from_frames(source, None, judged)
        assert corpus.entries == tuple(kept)
        assert [(q.query_id, q.text, q.now) for q in corpus.queries] == [
            ("q1", "bees?", NOON),
            ("q2", "x?", NOON),
        ]
        assert corpus.qrels["query_id"].tolist() == ["q1", "q1", "q2"]
        assert corpus.qrels["relevance"].tolist() == [1, 1, 1]


def test_queries_without_ids_are_matched_by_their_text():
    judged = pd.DataFrame({"query": ["who rides?"], "docno": [3]})
    corpus = corpus_from_frames(entries(), queries().drop(columns="qid"), judged)
    assert [query.query_id for query in corpus.queries] == ["q2"]
    assert corpus.card.excluded == {"no entry judged relevant": 1}


def test_the_circumstances_of_a_query():
    asked = queries().assign(
        now=["2026-03-20T00:00:00Z", None],
        as_of=["2026-03-19", None],
        category=["bees", None],
        difficulty=[1, None],
    )
    corpus = corpus_from_frames(
        entries(), asked, qrels(), now=datetime(2026, 4, 1, tzinfo=UTC), partition_field="user_id"
    )
    first, second = corpus.queries
    assert first.now == datetime(2026, 3, 20, tzinfo=UTC)
    assert first.as_of == datetime(2026, 3, 19, tzinfo=UTC)
    assert (first.category, first.metadata) == ("bees", {"difficulty": 1.0})
    assert second.now == datetime(2026, 4, 1, tzinfo=UTC)
    assert (second.as_of, second.category, second.metadata) == (None, "", {})
    assert [p.name for p in corpus.partitions()] == ["ada", "ben"]


def test_all_faults_are_reported_at_once():
    bad_entries = entries().assign(Text=["ok", " ", "ok"], importance=[2.0, 0.5, 0.5])
    bad_queries = queries().assign(question=["ok?", None])
    bad_qrels = pd.DataFrame({"qid": [7, 8, 9, 7], "docno": [1, 3, 3, 99], "label": [1, 1, 1, 0.5]})
    with pytest.raises(CorpusError) as caught:
        corpus_from_frames(bad_entries, bad_queries, bad_qrels, name="mine")
    assert str(caught.value).removeprefix("corpus 'mine': ").split("; ") == [
        "entries: importance must be a number from 0 to 1, got 2.0 (row 1)",
        "entries: content must not be blank, got ' ' (row 2)",
        "queries: the text is missing (row 2)",
        "qrels name a query that does not exist (9)",
        "qrels name an entry that does not exist (99)",
        "qrels: the relevance is not a whole number (row 4)",
    ]


def test_missing_columns_are_reported_at_once():
    with pytest.raises(CorpusError) as caught:
        corpus_from_frames(
            entries().drop(columns="Text"),
            queries().drop(columns="question"),
            qrels().drop(columns=["docno", "qid"]),
        )
    for part in (
        "entries have no column for content (usual names: content, text, memory",
        "queries have no column for text",
        "qrels have no column for doc_id",
        "qrels have no column for query_id",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"docno": [1, 1, 3]}, r"entries: the id repeats \(1\)"),
        ({"docno": [1, None, 3]}, r"entries: id is missing \(row 2\)"),
        ({"timestamp": ["2026-03-15", None, "soon"]}, r"created_at is missing \(row 2\)"),
        (
            {"timestamp": ["2026-03-15", None, "soon"]},
            r"1 of 2 values of created_at is no ISO 8601 instant .* 'soon' in row 3",
        ),
        ({"evergreen": ["true", "maybe", "no"]}, r"evergreen must be true or false, got 'maybe'"),
        ({"metadata": ["{}", "{", None]}, r"expected JSON, got '\{' \(row 2\)"),
        ({"embedding": [[1.0], [0.0], [1.0]]}, r"all zeros: .* \(row 2\)"),
    ],
)
def test_faults_of_entries(changes: dict[str, Any], problem: str):
    with pytest.raises(CorpusError, match=problem):
        corpus_from_frames(entries().assign(**changes), queries(), qrels())


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([{"qid": 7, "docno": 1}, {"qid": 7, "docno": 1, "label": 2}], "not a whole number"),
        ([{"qid": 7, "docno": 1, "label": 0}], "no query has an entry judged above 0"),
        (
            [{"qid": 7, "docno": 1, "label": 0}, {"qid": 7, "docno": 1, "label": 2}],
            r"twice, differently \(row 2\)",
        ),
    ],
)
def test_faults_of_judgements(table: list[dict[str, Any]], problem: str):
    with pytest.raises(CorpusError, match=problem):
        corpus_from_frames(entries(), queries(), table)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("t.csv", b"id,content\na,b,c\n", "line 2: expected 2 columns as in the header, got 3"),
        ("t.csv", b"id,id\na,b\n", "line 1: a column name repeats: id, id"),
        ("t.csv", b'id,content\na,"never closed', "line 2: unexpected end of data"),
        ("t.csv", b"id,content\na,caf\xe9\n", r"byte 16 \(line 2\) is 0xe9, not UTF-8"),
        ("t.csv", "id,content\na,b\n".encode("utf-16"), "this is UTF-16"),
        ("t.csv", b"", "the file is empty"),
        ("t.jsonl", b'{"id": 1}\n[1]\n', r"line 2 \$: expected an object"),
        ("t.json", b'{"id": 1}', "expected a list"),
        ("t.parquet", b"PAR1 but not whole", "not a whole Parquet file"),
        ("t.xlsx", b"x", "expected a file ending in .csv"),
    ],
)
def test_damaged_files_are_named_with_the_place(
    tmp_path: Path, name: str, content: bytes, problem: str
):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(CorpusError, match=problem) as caught:
        corpus_from_frames(file, queries(), qrels())
    assert str(file) in str(caught.value)


def test_what_is_no_table():
    with pytest.raises(InvalidParameter, match=r"queries: expected a data frame.*got int"):
        corpus_from_frames(entries(), 7, qrels())  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"qrels: expected rows.*got int: '1'"):
        corpus_from_frames(entries(), queries(), [1, 2])  # type: ignore[list-item]


def test_a_folder_without_tables(tmp_path: Path):
    with pytest.raises(CorpusFileMissing, match=r"holds none of entries\.csv"):
        load_tables(tmp_path)
    with pytest.raises(CorpusFileMissing, match="needs path="):
        load_tables()
    with pytest.raises(CorpusFileMissing, match="no file at"):
        corpus_from_frames(tmp_path / "absent.csv", queries(), qrels())
