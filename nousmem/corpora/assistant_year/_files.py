"""The corpus as files: entries.jsonl, queries.jsonl, qrels.tsv; written, read and found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Final

from nousmem.corpora._corpus import Corpus, Query
from nousmem.corpora._judgements import qrels_frame
from nousmem.corpora.assistant_year._generator import CARD, NAME
from nousmem.corpora.reading import Node, read_json_lines, read_lines
from nousmem.entry import Entry
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidEntry, InvalidScope
from nousmem.scope import SCOPE_FIELDS, Scope

__all__ = ["FILES", "bundled_folder", "load_bundled", "read", "write"]

ENTRIES: Final = "entries.jsonl"
QUERIES: Final = "queries.jsonl"
QRELS: Final = "qrels.tsv"
FILES: Final = (ENTRIES, QUERIES, QRELS)
"""The files of a corpus folder; its checksum is the sha256 over their bytes in this order."""

_QRELS_HEADER: Final = "query_id\tdoc_id\trelevance"
_ENTRY_REQUIRED: Final = ("id", "content", "type", "importance", "created_at")
_ENTRY_OPTIONAL: Final = (
    "evergreen",
    *SCOPE_FIELDS,
    "access_count",
    "updated_at",
    "last_accessed_at",
    "metadata",
)
_QUERY_REQUIRED: Final = ("query_id", "text", "category", "now")
_QUERY_OPTIONAL: Final = ("as_of", *SCOPE_FIELDS, "metadata")


def write(corpus: Corpus, folder: str | Path) -> None:
    """Write the corpus to `folder`, which is made if it is not there.

    Vectors and supersession are not part of the format. Values that an entry has by default are
    left out: evergreen false, no scope field, no use, no metadata. Instants end in Z. The same
    corpus gives the same bytes.

    Args:
        corpus: What to write.
        folder: Where; files of the same names are replaced.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = zip(
        *(corpus.qrels[name].tolist() for name in ("query_id", "doc_id", "relevance")), strict=True
    )
    lines = {
        ENTRIES: [_json(_entry_row(entry)) for entry in corpus.entries],
        QUERIES: [_json(_query_row(query)) for query in corpus.queries],
        QRELS: [_QRELS_HEADER, *(f"{query}\t{doc}\t{grade}" for query, doc, grade in rows)],
    }
    for name in FILES:
        text = "".join(f"{line}\n" for line in lines[name])
        (folder / name).write_bytes(text.encode("utf-8"))


def read(folder: str | Path) -> Corpus:
    """Return the corpus written to `folder`; its card has the checksum of the files.

    Raises:
        CorpusFileMissing: one of the files is not there.
        CorpusError: a line is not what its file holds, named with file and line; or ids repeat
            or do not exist.
    """
    folder = Path(folder)
    for name in FILES:
        if not (folder / name).is_file():
            raise CorpusFileMissing(
                f"expected {name} in {folder}; a corpus folder holds {', '.join(FILES)}"
            )
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((folder / name).read_bytes())
    return Corpus(
        NAME,
        entries=tuple(_entry(row) for row in read_json_lines(folder / ENTRIES)),
        queries=tuple(_query(row) for row in read_json_lines(folder / QUERIES)),
        qrels=qrels_frame(_judgements(folder / QRELS)),
        card=replace(CARD, checksum=digest.hexdigest()),
    )


def bundled_folder() -> Path:
    """Return the folder of the bundled files: in the installed package, or in the source tree.

    Raises:
        CorpusFileMissing: neither place has them.
    """
    installed = Path(str(resources.files("nousmem.corpora"))) / "bundled" / NAME
    checkout = Path(__file__).parents[3] / "datasets" / NAME
    for folder in (installed, checkout):
        if all((folder / name).is_file() for name in FILES):
            return folder
    raise CorpusFileMissing(
        f"the bundled corpus {NAME!r} is in neither {installed} nor {checkout}; reinstall nousmem, "
        "or make it anew with nousmem.corpora.assistant_year.generate()"
    )


def load_bundled() -> Corpus:
    """Return the bundled corpus, read from its files; equal to `generate(seed=7)`.

    Raises:
        CorpusFileMissing: the installation lacks the files.
        CorpusError: the files are damaged.
    """
    return read(bundled_folder())


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _entry_row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": entry.id,
        "content": entry.content,
        "type": str(entry.type),
        "importance": entry.importance,
        "created_at": _instant(entry.created_at.isoformat()),
    }
    if entry.evergreen:
        row["evergreen"] = True
    row |= {name: value for name in SCOPE_FIELDS if (value := getattr(entry, name)) is not None}
    if entry.access_count:
        row["access_count"] = entry.access_count
    for name in ("updated_at", "last_accessed_at"):
        moment = getattr(entry, name)
        if moment != entry.created_at:
            row[name] = _instant(moment.isoformat())
    if entry.metadata:
        row["metadata"] = entry.metadata
    return row


def _query_row(query: Query) -> dict[str, Any]:
    row: dict[str, Any] = {
        "query_id": query.query_id,
        "text": query.text,
        "category": query.category,
        "now": _instant(query.now.isoformat()),
    }
    if query.as_of is not None:
        row["as_of"] = _instant(query.as_of.isoformat())
    row |= {
        name: value for name in SCOPE_FIELDS if (value := getattr(query.scope, name)) is not None
    }
    if query.metadata:
        row["metadata"] = dict(query.metadata)
    return row


def _instant(text: str) -> str:
    return text.removesuffix("+00:00") + "Z"


def _entry(row: Node) -> Entry:
    fields = _fields(row, _ENTRY_REQUIRED, _ENTRY_OPTIONAL)
    return row.entry(fields.pop("content"), **fields)


def _query(row: Node) -> Query:
    fields = _fields(row, _QUERY_REQUIRED, _QUERY_OPTIONAL)
    for name in ("query_id", "text", "category"):
        if not row[name].text().strip():
            raise row.error(f"{name} must not be blank")
    scope = {name: fields.pop(name, None) for name in SCOPE_FIELDS}
    if "metadata" in fields:
        row["metadata"].mapping()
    try:
        return Query(fields.pop("query_id"), fields.pop("text"), scope=Scope(**scope), **fields)
    except (InvalidEntry, InvalidScope) as error:
        raise row.error(str(error)) from None


def _fields(row: Node, required: Iterable[str], optional: Iterable[str]) -> dict[str, Any]:
    fields = dict(row.mapping())
    known = (*required, *optional)
    for name in required:
        if name not in fields:
            raise row.error(f"expected the field {name!r}, which is not there")
    for name in fields:
        if name not in known:
            raise row.error(f"unknown field {name!r}; fields: {', '.join(known)}")
    return fields


def _judgements(path: Path) -> Iterable[tuple[str, str, int]]:
    header, *lines = read_lines(path)
    if header != _QRELS_HEADER:
        raise CorpusError(
            f"{path}: at line 1: expected the header {_QRELS_HEADER!r}, got {header[:60]!r}"
        )
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != 3 or cells[2] not in {"0", "1", "2"}:
            raise CorpusError(
                f"{path}: at line {number}: expected query_id, doc_id and a relevance of 0, 1 or "
                f"2, split by tabs, got {line[:60]!r}"
            )
        yield cells[0], cells[1], int(cells[2])
