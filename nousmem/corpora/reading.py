"""Reading corpus files so that whatever is wrong with one is named with its place."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeGuard

from nousmem.entry import Entry
from nousmem.errors import CorpusError, InvalidEntry, InvalidVector

__all__ = [
    "Node",
    "read_json",
    "read_json_lines",
    "read_lines",
    "read_text",
    "stream_json_array",
]

BROKEN_OFF: Final = "the file breaks off here (truncated, or only partly downloaded?)"

_CHUNK: Final = 1 << 17
_EDGE: Final = 16
_AFTER_VALUE: Final = frozenset(" \t\r\n,]")

_FOREIGN_STARTS: Final = (
    (b"\xff\xfe", "is UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16: save it as UTF-8"),
    (b"\x1f\x8b", "is compressed with gzip: unpack it first"),
    (b"PK\x03\x04", "is a zip archive: unpack it first"),
    (b"version https://git-lfs", "is a Git LFS pointer, not the data: fetch the file itself"),
    (b"<!doctype html", "is a web page, not the data: fetch the file itself"),
    (b"<html", "is a web page, not the data: fetch the file itself"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a file, with the place it stands at, so that a complaint can name both."""

    value: Any
    file: Path
    place: str = "$"
    """A JSON path, such as `$[3].qa[0].question`; or a line and a path, `line 7 $.text`."""

    def error(self, problem: str) -> CorpusError:
        """Return (not raise) an error that names the file, the place and the problem."""
        return CorpusError(f"{self.file}: at {self.place}: {problem}")

    def __getitem__(self, key: str) -> Node:
        """Return the field `key` of an object.

        Raises:
            CorpusError: not an object, or the field is absent or null.
        """
        found = self.get(key)
        if found is None:
            raise self.error(f"the field {key!r} is missing or null")
        return found

    def get(self, key: str) -> Node | None:
        """Return the field `key` of an object; None when it is absent or null.

        Raises:
            CorpusError: not an object.
        """
        value = self.mapping().get(key)
        return None if value is None else Node(value, self.file, _join(self.place, key))

    def fields(self) -> Iterator[tuple[str, Node]]:
        """Yield an object's keys and values.

        Raises:
            CorpusError: not an object.
        """
        for key, value in self.mapping().items():
            yield key, Node(value, self.file, _join(self.place, key))

    def mapping(self) -> Mapping[str, Any]:
        """Return the value, which must be an object."""
        if not _is_object(self.value):
            raise self._expected("an object")
        return self.value

    def items(self) -> Iterator[Node]:
        """Yield the elements of a list.

        Raises:
            CorpusError: not a list.
        """
        if not _is_list(self.value):
            raise self._expected("a list")
        for index, value in enumerate(self.value):
            yield Node(value, self.file, f"{self.place}[{index}]")

    def text(self) -> str:
        """Return the value, which must be text."""
        if not isinstance(self.value, str):
            raise self._expected("text")
        return self.value

    def whole(self) -> int:
        """Return the value, which must be a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self._expected("a whole number")
        return self.value

    def date(self, parse: Callable[[str], datetime]) -> datetime:
        """Return the text read by `parse`."""
        text = self.text()
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(f"{error}, got {text!r}") from None

    def entry(self, content: str, **fields: Any) -> Entry:
        """Return an entry made from this place of the file.

        Raises:
            CorpusError: the values are not valid in an entry.
        """
        try:
            return Entry(content, **fields)
        except (InvalidEntry, InvalidVector) as error:
            raise self.error(str(error)) from None

    def _expected(self, what: str) -> CorpusError:
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return self.error(f"expected {what}, got {type(self.value).__name__} {shown}")


def read_text(path: Path) -> str:
    """Return a file's text, decoded as UTF-8 (a byte order mark is dropped).

    Raises:
        CorpusError: unreadable, empty, in another encoding, or not a text file at all.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    _check_start(path, data)
    _check_written(path, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, data, error.start) from None


def read_lines(path: Path) -> list[str]:
    """Return a file's lines without their ends, read as `read_text` reads."""
    # Not splitlines(), which also splits at separators that JSON and plain text may contain.
    text = read_text(path).replace("\r\n", "\n").removesuffix("\n")
    return text.split("\n")


def read_json(path: Path) -> Node:
    """Return the JSON document in a file.

    Raises:
        CorpusError: as for `read_text`; or the text is not JSON, or breaks off.
    """
    text = read_text(path)
    try:
        return Node(json.loads(text), path)
    except json.JSONDecodeError as error:
        broken_off = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        raise CorpusError(
            f"{path}: line {error.lineno} column {error.colno}: "
            + (BROKEN_OFF if broken_off else f"not JSON: {error.msg}")
        ) from None
    except RecursionError:
        raise CorpusError(f"{path}: not a corpus file: JSON nested too deeply") from None


def read_json_lines(path: Path) -> Iterator[Node]:
    """Yield one JSON document for each line that is not blank.

    Raises:
        CorpusError: as for `read_text`; or a line is not JSON.
    """
    lines = read_lines(path)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            hint = f"; {BROKEN_OFF}" if number == len(lines) else ""
            raise CorpusError(f"{path}: line {number}: not JSON: {reason}{hint}") from None
        yield Node(value, path, f"line {number} $")


def stream_json_array(path: Path) -> Iterator[Node]:
    """Yield the elements of a JSON array one by one, holding little more than one in memory.

    Raises:
        CorpusError: as for `read_json`; the message names the element that is damaged.
    """
    decoder = json.JSONDecoder()
    window = _Window(path)
    if window.skip_space() != "[":
        raise CorpusError(f"{path}: expected a JSON list, starting with '['")
    window.advance(1)
    index = 0
    while True:
        following = window.skip_space()
        if not following:
            raise window.broken(index, BROKEN_OFF)
        if following == "]":
            window.advance(1)
            if window.skip_space():
                raise CorpusError(f"{path}: there is text after the end of the JSON list")
            return
        if index:
            if following != ",":
                raise window.broken(index, f"expected ',' or ']', got {following!r}")
            window.advance(1)
            window.skip_space()
        yield Node(window.decode(decoder, index), path, f"$[{index}]")
        index += 1


class _Window:
    """The part of a text file that is being decoded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._chunks = _text_chunks(path)
        self._text = ""
        self._position = 0

    def _grow(self, chunks: int = 1) -> bool:
        fetched = list(itertools.islice(self._chunks, chunks))
        if not fetched:
            return False
        rest = self._text[self._position :]
        self._text = ""  # not held beside what takes its place
        self._text = "".join([rest, *fetched])
        self._position = 0
        return True

    def advance(self, count: int) -> None:
        self._position += count

    def skip_space(self) -> str:
        """Move to the next character that is not space; return it, or "" at the end."""
        while True:
            while self._position < len(self._text):
                if not self._text[self._position].isspace():
                    return self._text[self._position]
                self._position += 1
            if not self._grow():
                return ""

    def decode(self, decoder: json.JSONDecoder, index: int) -> Any:
        """Read one JSON value, fetching more text for as long as it is incomplete."""
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                # An error at the window's edge may only mean that the rest is not fetched yet.
                at_edge = error.pos > len(self._text) - _EDGE or error.msg.startswith("Untermin")
                if not at_edge:
                    raise self.broken(index, f"not JSON: {error.msg}") from None
            except RecursionError:
                raise self.broken(index, "JSON nested too deeply") from None
            else:
                # A number may go on beyond the window, even as `1.` goes on to `1.5`.
                if self._text[end : end + 1] in _AFTER_VALUE or not self._grow():
                    self._position = end
                    return value
                continue
            # Doubling what there is of the element keeps the attempts linear in its length.
            if not self._grow(1 + (len(self._text) - self._position) // _CHUNK):
                raise self.broken(index, BROKEN_OFF)

    def broken(self, index: int, problem: str) -> CorpusError:
        return CorpusError(f"{self._path}: at $[{index}]: {problem}")


def _text_chunks(path: Path) -> Iterator[str]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    offset = 0
    try:
        with path.open("rb") as stream:
            _check_start(path, stream.read(_CHUNK))
            stream.seek(0)
            while True:
                data = stream.read(_CHUNK)
                _check_written(path, data, offset=offset)
                text = decoder.decode(data, final=not data)
                if text:
                    yield text
                elif not data:
                    return
                offset += len(data)
    except UnicodeDecodeError:
        raise CorpusError(
            f"{path}: bytes {offset:,} to {offset + _CHUNK:,} are not all UTF-8 "
            "(it may be Latin-1, or break off here)"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def _check_start(path: Path, data: bytes) -> None:
    if not data.strip():
        raise CorpusError(f"{path}: the file is empty")
    start = data[:200].lstrip().lower()
    for mark, problem in _FOREIGN_STARTS:
        if data.startswith(mark) or start.startswith(mark.lower()):
            raise CorpusError(f"{path}: this {problem}")
    if b"\x00" in data[:200]:
        raise CorpusError(f"{path}: byte {data.index(0)} is NUL: not a text file in UTF-8")


def _check_written(path: Path, data: bytes, *, offset: int = 0) -> None:
    # Room that a download reserved and never filled reads as zeros; no text file has any.
    hole = data.find(0)
    if hole >= 0:
        raise CorpusError(f"{path}: byte {offset + hole:,} is NUL: {BROKEN_OFF}")


def _not_utf8(path: Path, data: bytes, offset: int) -> CorpusError:
    line = data.count(b"\n", 0, offset) + 1
    in_python = (
        f"; in Python, pd.read_csv({path.name!r}, sep=None, engine='python', encoding='cp1252') "
        "reads what Excel writes on Windows"
        if path.suffix.lower() in {".csv", ".tsv"}
        else ""
    )
    return CorpusError(
        f"{path}: byte {offset:,} (line {line}) is 0x{data[offset]:02x}, not UTF-8: "
        f"save the file as UTF-8 (it may be Latin-1){in_python}"
    )


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if key.isidentifier() else f"{place}[{key!r}]"


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
