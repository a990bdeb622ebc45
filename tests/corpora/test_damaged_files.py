"""Every file of every loader, damaged in every way a file gets damaged: one clear error each.

The error names the file, and where in it the damage is.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import nousmem as nm
from nousmem.corpora.assistant_year._files import read

TURNS = [
    {"dia_id": f"D1:{at}", "speaker": "Zoë", "text": text}
    for at, text in enumerate(["I keep bees in Malmö.", "They make honey.", "Not the bees."], 1)
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": TURNS},
        "qa": [{"question": "Who keeps bees?", "category": 4, "evidence": ["D1:1"], "answer": "Z"}],
    }
]
AUDIT = [
    {
        "question_id": "locomo_0_qa0",
        "question": "Who keeps bees?",
        "error_type": "WRONG_CITATION",
        "correct_evidence": ["D1:2"],
        "correct_answer": "Zoë",
    }
]
CHAT = [{"role": "user", "content": "I live in Malmö.", "has_answer": True}]
LONGMEMEVAL = [
    {
        "question_id": "k1",
        "question_type": "multi-session",
        "question": "Where do I live?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "Malmö",
        "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/03/01 (Wed) 10:00"],
        "haystack_sessions": [CHAT],
    }
]
MESSAGE = {"role": "user", "id": 0, "content": "I live in Malmö.", "time_anchor": "March-15-2024"}
BATCHES = [{"batch_number": 1, "turns": [[MESSAGE]]}]
PROBES = {"recall": [{"question": "Où?", "answer": "Malmö", "source_chat_ids": [0]}]}
PACKED = [{"chat_id": 1, "batches": BATCHES, "probing_questions": PROBES}]
DOCUMENTS = [{"_id": f"d{at}", "text": f"Zoë tells story {at}."} for at in range(8)]
QUESTIONS = [{"_id": "q1", "text": "What does Zoë tell?"}, {"_id": "q2", "text": "Où est Zoë?"}]
INSTANT = "2026-03-15T12:00:00Z"


def as_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


JUDGED = [("q1", "d6"), ("q2", "d7"), ("q2", "d5")]
SMART = "".join(f".I {at}\n.T\nZoë\n.W\nZoë tells story {at}.\n" for at in range(1, 9))

Load = Callable[[Path], nm.Corpus]

SOURCES: dict[str, tuple[Load, dict[str, str]]] = {
    "locomo": (
        lambda folder: nm.load_corpus("locomo", path=folder, corrections=True),
        {"locomo10.json": as_json(LOCOMO), "locomo_audit_errors.json": as_json(AUDIT)},
    ),
    "longmemeval": (
        lambda folder: nm.load_corpus("longmemeval", path=folder),
        {"longmemeval_s_cleaned.json": as_json(LONGMEMEVAL)},
    ),
    "beam packed": (
        lambda folder: nm.load_corpus("beam", path=folder),
        {"beam_100k.json": as_json(PACKED)},
    ),
    "beam folders": (
        lambda folder: nm.load_corpus("beam", path=folder),
        {
            "1/chat.json": as_json(BATCHES),
            "1/topic.json": as_json({"title": "Malmö"}),
            "1/probing_questions/probing_questions.json": as_json(PROBES),
        },
    ),
    "beir": (
        lambda folder: nm.load_corpus("beir", path=folder),
        {
            "corpus.jsonl": as_lines(DOCUMENTS),
            "queries.jsonl": as_lines(QUESTIONS),
            "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
            + "".join(f"{query}\t{doc}\t1\n" for query, doc in JUDGED),
        },
    ),
    "trec, tagged": (
        lambda folder: nm.load_corpus("trec", path=folder),
        {
            "documents.sgml": "".join(
                f"<DOC><DOCNO>{row['_id']}</DOCNO>\n<TEXT>{row['text']}</TEXT></DOC>\n"
                for row in DOCUMENTS
            ),
            "topics.xml": "".join(
                f"<top><num>{row['_id']}</num>\n<title>{row['text']}</title></top>\n"
                for row in QUESTIONS
            ),
            "qrels.txt": "".join(f"{query} 0 {doc} 1\n" for query, doc in JUDGED),
        },
    ),
    "cranfield": (
        lambda folder: nm.load_corpus("trec", path=folder),
        {
            "cran.all.1400": SMART,
            "cran.qry": "".join(f".I {at}\n.W\nOù est Zoë?\n" for at in (1, 2)),
            "cranqrel": "1 7 1\n2 8 1\n2 6 3\n",
        },
    ),
    "tables, csv": (
        lambda folder: nm.load_corpus("tables", path=folder),
        {
            "entries.csv": "id,content,created_at\n"
            + "".join(f'{row["_id"]},"{row["text"]}",{INSTANT}\n' for row in DOCUMENTS),
            "queries.csv": 'query_id,text,category\nq1,"Où est Zoë?",x\nq2,"Qui est Zoë?",x\n',
            "qrels.csv": "query_id,doc_id,relevance\n"
            + "".join(f"{query},{doc},1\n" for query, doc in JUDGED),
        },
    ),
    "tables, jsonl": (
        lambda folder: nm.load_corpus("tables", path=folder),
        {
            "entries.jsonl": as_lines([{**row, "created_at": INSTANT} for row in DOCUMENTS]),
            "queries.jsonl": as_lines(QUESTIONS),
            "qrels.jsonl": as_lines([{"query_id": query, "_id": doc} for query, doc in JUDGED]),
        },
    ),
    "assistant-year": (
        read,
        {
            "entries.jsonl": as_lines(
                [
                    {
                        "id": row["_id"],
                        "content": row["text"],
                        "type": "semantic",
                        "importance": 0.5,
                        "created_at": INSTANT,
                    }
                    for row in DOCUMENTS
                ]
            ),
            "queries.jsonl": as_lines(
                [
                    {"query_id": row["_id"], "text": row["text"], "category": "x", "now": INSTANT}
                    for row in QUESTIONS
                ]
            ),
            "qrels.tsv": "query_id\tdoc_id\trelevance\n"
            + "".join(f"{query}\t{doc}\t1\n" for query, doc in JUDGED),
        },
    ),
}

FILES = [(source, name) for source, (_, files) in SOURCES.items() for name in files]
WITH_ACCENTS = [(s, name) for s, name in FILES if not SOURCES[s][1][name].isascii()]
WHOLE_JSON = [(source, name) for source, name in FILES if name.endswith(".json")]


def middle(data: bytes) -> int:
    return len(data) * 2 // 3


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "the file is empty"),
    "UTF-16": (lambda data: data.decode().encode("utf-16"), "this is UTF-16"),
    "no text": (lambda data: b"\x00\x01\x02" + data, "byte 0 is NUL"),
    "compressed": (gzip.compress, "compressed with gzip"),
    "a web page": (lambda data: b"<!DOCTYPE html><title>Sign in</title>", "is a web page"),
    "a pointer": (
        lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "Git LFS pointer",
    ),
    "overwritten": (
        lambda data: data[: middle(data)] + b"\xff\x00\x91" * 9 + data[middle(data) :],
        r"bytes? [\d,]+",
    ),
    "half downloaded into reserved room": (
        lambda data: data[: middle(data)] + b"\x00" * (len(data) - middle(data)),
        r"byte [\d,]+ is NUL",
    ),
}


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Path]:
    def place(source: str) -> Path:
        for name, content in SOURCES[source][1].items():
            file = tmp_path / "data" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return tmp_path / "data"

    return place


def damaged(folder: Path, name: str, damage: Callable[[bytes], bytes]) -> Path:
    file = folder / name
    file.write_bytes(damage(file.read_bytes()))
    return file


def fault_of(load: Load, folder: Path, file: Path) -> str:
    """Return what is said, without the file's name, which must be in it."""
    with pytest.raises(nm.CorpusError) as caught:
        load(folder)
    said = str(caught.value)
    assert str(file) in said
    assert "\n" not in said
    return said.replace(str(file), "")


@pytest.mark.parametrize("source", SOURCES)
def test_whole_files_load(place, source: str):
    corpus = SOURCES[source][0](place(source))
    assert corpus.entries
    assert corpus.queries


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("source", "name"), FILES)
def test_damage_is_named_with_file_and_place(place, source: str, name: str, damage: str):
    spoil, said = DAMAGES[damage]
    folder = place(source)
    fault = fault_of(SOURCES[source][0], folder, damaged(folder, name, spoil))
    assert re.search(said, fault)


@pytest.mark.parametrize(("source", "name"), WITH_ACCENTS)
def test_latin_1_is_named_with_its_place(place, source: str, name: str):
    folder = place(source)
    file = damaged(folder, name, lambda data: data.decode().encode("latin-1"))
    fault = fault_of(SOURCES[source][0], folder, file)
    assert re.search(r"bytes? [\d,]+.*not.*UTF-8.*Latin-1", fault)


@pytest.mark.parametrize(("source", "name"), WHOLE_JSON)
def test_json_cut_off_anywhere_is_refused(place, source: str, name: str):
    folder = place(source)
    whole = (folder / name).read_bytes()
    for length in range(1, len(whole), 7):
        (folder / name).write_bytes(whole[:length])
        fault = fault_of(SOURCES[source][0], folder, folder / name)
        assert re.search(r"(line \d+ column \d+|at \$\[\d+\]|bytes? [\d,]+)", fault)
        assert re.search("breaks off|break off|UTF-8", fault)


@pytest.mark.parametrize(("source", "name"), [one for one in FILES if one not in WHOLE_JSON])
def test_a_line_cut_off_is_named(place, source: str, name: str):
    folder = place(source)
    whole = (folder / name).read_bytes().rstrip()
    record = whole.rfind(b"\n.I ")
    (folder / name).write_bytes(whole[: record + 5 if record > 0 else whole.rfind(b"\n") + 3])
    with pytest.raises(nm.CorpusError) as caught:
        SOURCES[source][0](folder)
    assert re.search(rf"{name}.*line \d+", str(caught.value))


def test_half_a_parquet_file(tmp_path: Path):
    for name in ("entries", "queries", "qrels"):
        table = pd.DataFrame({"query_id": ["q1"], "text": ["Zoë"], "doc_id": ["q1"]})
        table.to_parquet(tmp_path / f"{name}.parquet")
    assert nm.load_corpus("tables", path=tmp_path).entries
    for name in ("entries", "queries", "qrels"):
        file = tmp_path / f"{name}.parquet"
        whole = file.read_bytes()
        for length in (0, 3, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            assert "not a whole Parquet file" in fault_of(
                lambda folder: nm.load_corpus("tables", path=folder), tmp_path, file
            )
        file.write_bytes(whole)
