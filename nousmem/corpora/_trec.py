"""TREC test collections from their own files, Cranfield among them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import TIMELESS
from nousmem.corpora._judgements import Judgements, qrels_frame
from nousmem.corpora._trec_formats import Record, read_documents, read_qrels, read_topics
from nousmem.corpora.files import (
    CHECKSUM_FAULT,
    DataFile,
    PathLike,
    combined_checksum,
    find_file,
)
from nousmem.entry import Entry
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidEntry, InvalidParameter

__all__ = ["CRANFIELD", "load_trec"]

CRANFIELD: Final = DataFile(
    "cranfield",
    source="ir.dcs.gla.ac.uk/resources/test_collections/cran (cran.all.1400, cran.qry, cranqrel)",
    folder=True,
)

_CRANFIELD_FILES: Final = {
    "documents": "cran.all.1400",
    "topics": "cran.qry",
    "qrels": "cranqrel",
}
_CRANFIELD_CHECKSUM: Final = "0c5a28c7396fe8d8d09c0715e688758a25feae46d1bc80d5bb776f227c4254fa"
"""Of the three files together, in this order: see `combined_checksum`."""

_USUAL_NAMES: Final = {
    "documents": ("documents", "docs", "doc", "collection", "corpus"),
    "topics": ("topics", "topic", "queries", "query"),
    "qrels": ("qrels", "qrel"),
}


def load_trec(
    path: PathLike | None = None,
    *,
    documents: str | None = None,
    topics: str | None = None,
    qrels: str | None = None,
    graded: bool = False,
) -> Corpus:
    """Load a TREC collection as one undivided corpus; without a path, Cranfield.

    Documents may be SMART records (`.I .T .W`), TREC records (`<DOC>`), or lines of id, tab, text;
    topics SMART records, `<top>` records, or lines of id, tab, text; qrels four columns
    (topic, iteration, document, relevance) or three (without iteration). An entry's content is
    title and text. There is no time in it: everything is dated alike, so that decay changes
    nothing. Documents without text and judgements that refer to nothing are left out and counted.

    Cranfield (files named cran.all.1400, cran.qry, cranqrel): the qrels count the queries from 1
    in their order, whatever number they carry; codes run from 1 (a complete answer) to 4 (of
    minimum interest), and -1 is read as "not relevant".

    Args:
        path: The folder. Default: see `find_file`.
        documents: Name of the documents' file in the folder. Default: found by its name.
        topics: Name of the topics' file.
        qrels: Name of the judgements' file.
        graded: Whether relevance keeps its grades. False: every relevant document counts 1.
            Cranfield's codes 1 to 4 become grades 4 to 1.

    Raises:
        CorpusFileMissing: the folder or a file is not there.
        CorpusError: a file is damaged or in another format.
        InvalidParameter: several files have a usual name, so that one must be named.
    """
    folder = find_file("trec", [CRANFIELD], path=path, kind="folder")
    if folder.is_file():
        raise CorpusFileMissing(f"corpus 'trec': path= names a folder, but {folder} is a file")
    named = {"documents": documents, "topics": topics, "qrels": qrels}
    cranfield = not any(named.values()) and all(
        (folder / name).is_file() for name in _CRANFIELD_FILES.values()
    )
    files = {
        part: folder / _CRANFIELD_FILES[part] if cranfield else _file(folder, part, named[part])
        for part in named
    }
    digest = combined_checksum(list(files.values()))
    faults: Counter[str] = Counter()
    if cranfield and digest != _CRANFIELD_CHECKSUM:
        faults[CHECKSUM_FAULT] += 1
    excluded: Counter[str] = Counter()
    entries, blank = _entries(files["documents"], faults)
    texts = _topics(files["topics"], faults, by_order=cranfield)
    judgements = Judgements(set(entries), set(texts), blank, faults)
    for number, (topic, document, label) in read_qrels(files["qrels"]):
        relevance = _relevance(label, cranfield=cranfield, graded=graded)
        judgements.add(topic, document, relevance, place=f"{files['qrels']}: line {number}")
    kept = judgements.answerable(texts, excluded, place=str(files["qrels"]))
    return Corpus(
        "trec",
        entries=tuple(entries.values()),
        queries=tuple(Query(topic, texts[topic], now=TIMELESS) for topic in kept),
        qrels=qrels_frame(judgements.rows_for(kept)),
        card=_card(folder, digest, faults, excluded, cranfield=cranfield, graded=graded),
    )


def _card(
    folder: Path,
    digest: str,
    faults: Counter[str],
    excluded: Counter[str],
    *,
    cranfield: bool,
    graded: bool,
) -> Card:
    grades = "Relevance is graded." if graded else "Relevance is 0 or 1."
    name = folder.resolve().name
    return Card(
        "Cranfield, abstracts on aerodynamics" if cranfield else f"{name} (TREC files)",
        licence="none stated" if cranfield else "the collection's own",
        source="Cleverdon 1967, the Cranfield collection" if cranfield else name,
        description=f"No time in it: every age is 0. {grades}",
        checksum=digest,
        faults=dict(faults),
        excluded=dict(excluded),
    )


def _file(folder: Path, part: str, name: str | None) -> Path:
    if name is not None:
        if not (folder / name).is_file():
            raise CorpusFileMissing(f"corpus 'trec': the folder {folder} holds no {name}")
        return folder / name
    usual = _USUAL_NAMES[part]
    found = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and file.name.lower().replace("_", ".").split(".")[0] in usual
    )
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(file.name for file in found)
        raise InvalidParameter(f"several files may hold the {part} ({names}): name one, {part}=…")
    raise CorpusFileMissing(
        f"corpus 'trec': the folder {folder} holds no file called {' or '.join(usual)}: "
        f"name it, {part}=…"
    )


def _entries(file: Path, faults: Counter[str]) -> tuple[dict[str, Entry], set[str]]:
    entries: dict[str, Entry] = {}
    blank: set[str] = set()
    for record in read_documents(file):
        if record.id in entries or record.id in blank:
            raise CorpusError(f"{record.place}: the document id {record.id!r} repeats")
        if not record.text:
            blank.add(record.id)
            faults["document without text, left out"] += 1
            continue
        try:
            entries[record.id] = Entry(
                record.text,
                id=record.id,
                created_at=TIMELESS,
                metadata={"title": record.title} if record.title else {},
            )
        except InvalidEntry as error:
            raise CorpusError(f"{record.place}: {error}") from None
    return entries, blank


def _topics(file: Path, faults: Counter[str], *, by_order: bool) -> dict[str, str]:
    topics: dict[str, str] = {}
    records: list[Record] = list(read_topics(file))
    for ordinal, record in enumerate(records, start=1):
        identifier = str(ordinal) if by_order else record.id
        if by_order and record.id.lstrip("0") != identifier:
            faults["query number that is not the qrels', replaced by its ordinal"] += 1
        if identifier in topics:
            raise CorpusError(f"{record.place}: the topic {identifier!r} repeats")
        if record.text:
            topics[identifier] = record.text
        else:
            faults["query without text, left out"] += 1
    return topics


def _relevance(label: str, *, cranfield: bool, graded: bool) -> str:
    if not label.lstrip("+-").isdecimal() or int(label) <= 0:
        return label
    if not graded:
        return "1"
    return str(5 - int(label)) if cranfield and int(label) < 5 else label
