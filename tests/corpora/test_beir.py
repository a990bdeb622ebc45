import json
from pathlib import Path
from typing import Any

import pytest

from nousmem.corpora import load_beir
from nousmem.errors import CorpusError, CorpusFileMissing, UnknownName

DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Bees", "text": "Bees make honey."},
    {"_id": "d2", "title": "", "text": "Boats float."},
    {"_id": 3, "text": "Cats sleep.", "metadata": {}},
    {"_id": "d4", "title": "", "text": " "},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "who makes honey?"},
    {"_id": "q2", "text": "what floats?"},
    {"_id": "q3", "text": "who sleeps?"},
    {"_id": "q4", "text": "unjudged"},
    {"_id": "q5", "text": ""},
]
QRELS = ["query-id\tcorpus-id\tscore", "q1\td1\t2", "q1\td2\t0", "q2\td2\t1", "q3\t3\t-1"]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(lines(DOCUMENTS), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(QUERIES), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(QRELS) + "\n", encoding="utf-8")
    return folder


def test_a_folder(folder: Path):
    corpus = load_beir(folder)
    assert [(entry.id, entry.content) for entry in corpus.entries] == [
        ("d1", "Bees Bees make honey."),
        ("d2", "Boats float."),
        ("3", "Cats sleep."),
    ]
    assert corpus.entries[0].metadata == {"title": "Bees"}
    assert [query.query_id for query in corpus.queries] == ["q1", "q2"]
    assert corpus.qrels.to_dict("list") == {
        "query_id": ["q1", "q1", "q2"],
        "doc_id": ["d1", "d2", "d2"],
        "relevance": [2, 0, 1],
    }
    assert corpus.card.excluded == {"no relevant document": 1, "not judged": 1}
    assert corpus.card.faults == {
        "document without text, left out": 1,
        "query without text, left out": 1,
        "judgement below 0, read as not relevant": 1,
    }


def test_there_is_no_time_in_it(folder: Path):
    corpus = load_beir(folder)
    assert {entry.created_at for entry in corpus.entries} == {query.now for query in corpus.queries}


def test_splits(folder: Path):
    (folder / "qrels" / "dev.tsv").write_text("q2\td2\t1\n", encoding="utf-8")
    assert [query.query_id for query in load_beir(folder, split="dev").queries] == ["q2"]
    with pytest.raises(UnknownName, match=r"unknown split 'tests'; did you mean 'test'"):
        load_beir(folder, split="tests")


def test_some_dangling_judgements_are_counted_and_many_refused(folder: Path):
    qrels = folder / "qrels" / "test.tsv"
    many = [f"q1\td{number % 2 + 1}\t0" for number in range(40)]
    few = ["q2\td2\t1", "q2\tnone\t1", "nobody\td1\t1", "q1\td4\t1"]
    qrels.write_text("\n".join([*many, *few]), encoding="utf-8")
    assert load_beir(folder).card.faults == {
        "document without text, left out": 1,
        "query without text, left out": 1,
        "judgement of a document that does not exist": 1,
        "judgement of a query that does not exist": 1,
        "judgement of a document without text": 1,
    }
    (folder / "corpus.jsonl").write_text(lines(DOCUMENTS[:1]), encoding="utf-8")
    with pytest.raises(CorpusError, match="24 of 44 judgements name a query or document that does"):
        load_beir(folder)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "corpus.jsonl",
            lines(DOCUMENTS) + '{"_id": "d',
            r"corpus.jsonl: line 5: not JSON.*breaks",
        ),
        ("corpus.jsonl", lines(DOCUMENTS[:1] * 2), "line 2 .*the document id 'd1' repeats"),
        ("corpus.jsonl", '{"text": "x"}\n', r"line 1 \$: the field '_id' is missing"),
        ("queries.jsonl", lines(QUERIES[:1] * 2), "the query id 'q1' repeats"),
        ("qrels/test.tsv", "a\tb\tc\nq1 d1 1\n", r"test.tsv: line 2: expected query-id"),
        ("qrels/test.tsv", "a\tb\tc\nq1\td1\tx\n", "line 2: expected a whole number .* got 'x'"),
        ("qrels/test.tsv", "q1\td1\t1\nq1\td1\t2\n", "line 2: judges query 'q1'.*earlier line"),
        ("qrels/test.tsv", "q1\td1\t0\n", "judges no document relevant"),
    ],
)
def test_damage_is_named_with_its_place(folder: Path, name: str, content: str, problem: str):
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=problem):
        load_beir(folder)


def test_missing_files(folder: Path):
    (folder / "qrels" / "test.tsv").unlink()
    with pytest.raises(CorpusFileMissing, match=r"qrels holds no \.tsv file"):
        load_beir(folder)
    (folder / "queries.jsonl").unlink()
    with pytest.raises(CorpusFileMissing, match=r"holds no queries\.jsonl"):
        load_beir(folder)
    with pytest.raises(CorpusFileMissing, match="needs path="):
        load_beir()
