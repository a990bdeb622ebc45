"""Opening what other systems write: files, or values and objects already in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node, read_json, read_json_lines, stream_json_array
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter

__all__ = ["IN_MEMORY", "LINE_SUFFIXES", "documents", "inside", "is_path", "present"]

LINE_SUFFIXES: Final = (".jsonl", ".ndjson")
"""Endings of files that hold one JSON document a line."""

IN_MEMORY: Final = Path("the data given")
"""Stands for the file in messages about values that came from none."""


def is_path(given: object) -> bool:
    """Return whether `given` names a file; text always does."""
    return isinstance(given, str | os.PathLike)


def present(given: PathLike) -> Path:
    """Return the path of a file that is there, `~` written out.

    Raises:
        CorpusFileMissing: there is no file at the path.
    """
    path = Path(given).expanduser()
    if not path.is_file():
        raise CorpusFileMissing(f"there is no file at {path}")
    return path


def documents(given: PathLike | Any) -> Iterator[Node]:
    """Yield the elements of a JSON array, the lines of JSON Lines, or the one JSON document.

    An array is read one element at a time, so that a large export is never held whole.

    Args:
        given: A path; or one record; or any iterable of records. A record is a mapping, or an
            object with `model_dump` (Pydantic) or `dict` (LangGraph's items).

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged; the message names the place.
        InvalidParameter: neither a path nor records.
    """
    if not is_path(given):
        yield from _in_memory(given)
        return
    path = present(given)
    if path.suffix.lower() in LINE_SUFFIXES:
        yield from read_json_lines(path)
    elif _first_character(path) == "[":
        yield from stream_json_array(path)
    else:
        yield read_json(path)


def inside(node: Node, *names: str) -> Iterator[Node]:
    """Yield the records in the first of `names` that is a list in the object; else the object."""
    wrapper = node.mapping()
    for name in names:
        if isinstance(wrapper.get(name), list):
            yield from node[name].items()
            return
    yield node


def _in_memory(given: Any) -> Iterator[Node]:
    value = _plain(given)
    if isinstance(value, Mapping):
        yield Node(value, IN_MEMORY)
    elif isinstance(value, list):
        yield from Node(value, IN_MEMORY).items()
    elif isinstance(given, Iterable) and not isinstance(given, bytes):
        for index, item in enumerate(cast("Iterable[Any]", given)):
            yield Node(_plain(item), IN_MEMORY, f"$[{index}]")
    else:
        raise InvalidParameter(
            f"expected the path of a file, or records, got {type(given).__name__}"
        )


def _plain(value: Any) -> Any:
    """Return a value as JSON would hold it: models as objects, instants as ISO text."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        return {str(key): _plain(item) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, date | UUID):
        return value.isoformat() if isinstance(value, date) else str(value)
    if isinstance(value, Enum):
        return _plain(value.value)
    dump = getattr(value, "model_dump", None) or getattr(value, "dict", None)
    return _plain(dump()) if callable(dump) and not isinstance(value, type) else value


def _first_character(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1].decode("latin-1")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
