"""The file formats of TREC collections: records of documents and topics, lines of judgements."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nousmem.corpora.reading import read_lines, read_text
from nousmem.errors import CorpusError

__all__ = ["Record", "read_documents", "read_qrels", "read_topics"]


@dataclass(frozen=True, slots=True)
class Record:
    """A document or topic."""

    id: str
    text: str
    """Title and text of a document, the question of a topic; white space as single spaces."""
    title: str
    place: str
    """File and line, for messages."""


_SMART_RECORD: Final = re.compile(r"\.I\s+(\S+)\s*")
_SMART_FIELD: Final = re.compile(r"\.([A-Z])\s*")
_FLAGS: Final = re.DOTALL | re.IGNORECASE
_TAG: Final = re.compile(r"<[^>]*>")


def read_documents(file: Path) -> Iterator[Record]:
    """Yield the documents of a file of SMART records, `<DOC>` records, or id-tab-text lines.

    Raises:
        CorpusError: the file is none of these, or a record has no id.
    """
    yield from _read(file, tag="DOC", id_tags=("DOCNO", "DOCID", "DOCHDR"), of_documents=True)


def read_topics(file: Path) -> Iterator[Record]:
    """Yield the topics of a file of SMART records, `<top>` records, or id-tab-text lines.

    A topic's text is its title; a SMART record's is its `.W` field.

    Raises:
        CorpusError: the file is none of these, or a record has no number.
    """
    yield from _read(file, tag="top", id_tags=("num",), of_documents=False)


def read_qrels(file: Path) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield (line number, (topic, document, relevance)) for each judgement.

    Raises:
        CorpusError: a line has neither three nor four columns, or another number than the first.
    """
    width = 0
    for number, line in enumerate(read_lines(file), start=1):
        columns = line.split()
        if not columns:
            continue
        # A line that was cut short may look like one of the other kind.
        width = width or len(columns)
        if len(columns) != width or width not in {3, 4}:
            raise CorpusError(
                f"{file}: line {number}: expected topic, (iteration,) document and relevance, "
                f"got {line[:80]!r}"
            )
        yield number, (columns[0], columns[-2], columns[-1])


def _read(file: Path, *, tag: str, id_tags: tuple[str, ...], of_documents: bool) -> list[Record]:
    lines = read_lines(file)
    first = next((line.strip() for line in lines if line.strip()), "")
    if _SMART_RECORD.fullmatch(first):
        return list(_smart(file, lines, of_documents=of_documents))
    if re.match(rf"<({tag}|\?xml|topics|xml|root)\b", first, re.IGNORECASE):
        return list(_tagged(file, tag, id_tags, of_documents=of_documents))
    if "\t" in first:
        return list(_tabbed(file, lines))
    raise CorpusError(
        f"{file}: line 1: expected a record ('.I 1' or '<{tag}>') or id, tab, text; "
        f"got {first[:80]!r}"
    )


def _smart(file: Path, lines: list[str], *, of_documents: bool) -> Iterator[Record]:
    identifier, start = "", 0
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate([*lines, ".I end"], start=1):
        if opened := _SMART_RECORD.fullmatch(line):
            if identifier:
                yield _smart_record(identifier, fields, f"{file}: line {start}", of_documents)
            identifier, start, fields, current = opened[1], number, {}, None
        # A field that comes twice is text that looks like one.
        elif (named := _SMART_FIELD.fullmatch(line)) and named[1] not in fields:
            current = fields.setdefault(named[1], [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            raise CorpusError(
                f"{file}: line {number}: text outside a field of a record: {line[:80]!r}"
            )


def _smart_record(
    identifier: str,
    fields: dict[str, list[str]],
    place: str,
    of_documents: bool,  # noqa: FBT001
) -> Record:
    if "W" not in fields:
        raise CorpusError(
            f"{place}: record {identifier} has no .W field (truncated, or only partly downloaded?)"
        )
    title = _squeeze(" ".join(fields.get("T", [])))
    body = _squeeze(" ".join(fields["W"]))
    return Record(identifier, _squeeze(f"{title} {body}") if of_documents else body, title, place)


def _tagged(
    file: Path, tag: str, id_tags: tuple[str, ...], *, of_documents: bool
) -> Iterator[Record]:
    text = read_text(file)
    pattern = re.compile(rf"<{tag}\b[^>]*>(.*?)(</{tag}>|(?=<{tag}\b)|\Z)", _FLAGS)
    found = False
    for match in pattern.finditer(text):
        found = True
        place = f"{file}: line {text.count(chr(10), 0, match.start()) + 1}"
        if not match[2]:
            raise CorpusError(f"{place}: <{tag}> is not closed (truncated?)")
        identifier = next(filter(None, (_part(match[1], name) for name in id_tags)), "")
        identifier = identifier.removeprefix("Number:").strip()
        if not identifier:
            raise CorpusError(f"{place}: <{tag}> has no <{id_tags[0]}>")
        title = _part(match[1], "title") or _part(match[1], "headline")
        title = title.removeprefix("Topic:").strip()
        if of_documents:
            body = re.sub(rf"<({'|'.join(id_tags)})\b.*?</\1>", " ", match[1], flags=_FLAGS)
            content = _squeeze(html.unescape(_TAG.sub(" ", body)))
        else:
            content = title or _part(match[1], "query") or _part(match[1], "desc")
        yield Record(identifier, content, title, place)
    if not found:
        raise CorpusError(f"{file}: holds no <{tag}> record")


def _part(record: str, name: str) -> str:
    """Return the text of a tag, which topics of old do not close."""
    match = re.search(rf"<{name}\b[^>]*>(.*?)(?:<|\Z)", record, re.DOTALL | re.IGNORECASE)
    return _squeeze(html.unescape(match[1])) if match else ""


def _tabbed(file: Path, lines: list[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        identifier, tab, text = line.partition("\t")
        if not tab or not identifier.strip():
            raise CorpusError(f"{file}: line {number}: expected id, tab, text; got {line[:80]!r}")
        yield Record(identifier.strip(), _squeeze(text), "", f"{file}: line {number}")


def _squeeze(text: str) -> str:
    return " ".join(text.split())
