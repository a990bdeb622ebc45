"""Data sets in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv.

Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval
Models", NeurIPS 2021.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import TIMELESS
from nousmem.corpora._judgements import Judgements, qrels_frame
from nousmem.corpora.files import PathLike, combined_checksum
from nousmem.corpora.reading import read_json_lines, read_lines
from nousmem.entry import Entry
from nousmem.errors import CorpusError, CorpusFileMissing, UnknownName

__all__ = ["load_beir"]


def load_beir(path: PathLike | None = None, *, split: str = "test") -> Corpus:
    """Load a folder in BEIR's layout as one undivided corpus.

    An entry's content is title and text, joined by a space, as BEIR's own code joins them. There
    is no time in it: all entries and queries are dated alike, so that decay changes nothing.
    Documents without text, judgements of unknown documents, and queries that the split does not
    judge are left out and counted.

    Args:
        path: The folder.
        split: Which judgements: the name of a file in qrels/, such as "test" or "dev".

    Raises:
        CorpusFileMissing: no path is given, or a file is missing in the folder.
        CorpusError: a file is damaged.
        UnknownName: qrels/ has no such split.
    """
    if path is None:
        raise CorpusFileMissing(
            "corpus 'beir' needs path=, a folder with corpus.jsonl, queries.jsonl and qrels/"
        )
    folder = Path(path).expanduser()
    documents, questions = folder / "corpus.jsonl", folder / "queries.jsonl"
    for file in (documents, questions):
        if not file.is_file():
            raise CorpusFileMissing(f"corpus 'beir': the folder {folder} holds no {file.name}")
    judged = _split_file(folder, split)
    faults: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    entries, blank = _read_entries(documents, faults)
    texts = _read_queries(questions, faults)
    judgements = Judgements(set(entries), set(texts), blank, faults)
    for number, line in enumerate(read_lines(judged), start=1):
        columns = line.split("\t")
        if not line.strip() or (number == 1 and _is_header(columns)):
            continue
        if len(columns) != 3:
            raise CorpusError(
                f"{judged}: line {number}: expected query-id, corpus-id and score parted by tabs, "
                f"got {line[:80]!r}"
            )
        query_id, doc_id, label = (column.strip() for column in columns)
        judgements.add(query_id, doc_id, label, place=f"{judged}: line {number}")
    kept = judgements.answerable(texts, excluded, place=str(judged))
    return Corpus(
        "beir",
        entries=tuple(entries.values()),
        queries=tuple(Query(query_id, texts[query_id], now=TIMELESS) for query_id in kept),
        qrels=qrels_frame(judgements.rows_for(kept)),
        card=Card(
            f"{folder.resolve().name} (BEIR layout)",
            licence="the data set's own",
            source=f"{folder.resolve().name}, in BEIR's layout",
            description=f"Split: {split}. No time in it: every age is 0.",
            checksum=combined_checksum([documents, questions, judged]),
            faults=dict(faults),
            excluded=dict(excluded),
        ),
    )


def _split_file(folder: Path, split: str) -> Path:
    file = folder / "qrels" / f"{split}.tsv"
    if file.is_file():
        return file
    known = [found.stem for found in (folder / "qrels").glob("*.tsv")]
    if not known:
        raise CorpusFileMissing(f"corpus 'beir': the folder {folder / 'qrels'} holds no .tsv file")
    raise UnknownName("split", split, known)


def _read_entries(file: Path, faults: Counter[str]) -> tuple[dict[str, Entry], set[str]]:
    entries: dict[str, Entry] = {}
    blank: set[str] = set()
    for node in read_json_lines(file):
        doc_id = _identifier(node["_id"].value)
        title = node.get("title")
        text = node.get("text")
        parts = [part.text().strip() for part in (title, text) if part is not None]
        content = " ".join(filter(None, parts))
        if not content:
            blank.add(doc_id)
            faults["document without text, left out"] += 1
        elif doc_id in entries:
            raise node["_id"].error(f"the document id {doc_id!r} repeats")
        else:
            entries[doc_id] = node.entry(
                content,
                id=doc_id,
                created_at=TIMELESS,
                metadata={} if not title or not title.value else {"title": title.value},
            )
    return entries, blank


def _read_queries(file: Path, faults: Counter[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for node in read_json_lines(file):
        query_id = _identifier(node["_id"].value)
        if query_id in texts:
            raise node["_id"].error(f"the query id {query_id!r} repeats")
        text = node["text"].text()
        if text.strip():
            texts[query_id] = text
        else:
            faults["query without text, left out"] += 1
    return texts


def _identifier(value: Any) -> str:
    return str(value)


def _is_header(columns: list[str]) -> bool:
    try:
        int(columns[-1])
    except ValueError:
        return True
    return False
