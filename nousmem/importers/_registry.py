"""All sources by name, and which of them a file looks like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter, StoreError, UnknownName
from nousmem.importers import _chat_log as chat_log
from nousmem.importers import _chatgpt as chatgpt
from nousmem.importers import _graphiti as graphiti
from nousmem.importers import _langgraph as langgraph
from nousmem.importers import _letta as letta
from nousmem.importers import _mem0 as mem0
from nousmem.importers._documents import LINE_SUFFIXES, documents, inside, is_path, present
from nousmem.references import REFERENCE_FORM, is_reference, load_reference, run_named

__all__ = ["list_sources", "list_targets", "read_memories", "write_memories"]

_Keys = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Source:
    """One system that memories come from."""

    read: Callable[..., list[Entry]]
    recognise: Callable[[_Keys], bool]
    """Whether a record is of this system, by its fields."""
    write: Callable[..., Any] | None = None
    wrappers: tuple[str, ...] = ()


def _has_any(record: _Keys, *names: str) -> bool:
    return any(name in record for name in names)


def _is_letta(record: _Keys) -> bool:
    return "text" in record and (
        _has_any(record, "archive_id", "embedding_config", "is_deleted", "organization_id")
        or str(record.get("id")).startswith("passage-")
    )


def _is_graphiti(record: _Keys) -> bool:
    return "content" in record and (
        _has_any(record, "valid_at", "reference_time", "group_id", "source_description")
        or {"uuid", "processed"} <= record.keys()
    )


def _is_chat_log(record: _Keys) -> bool:
    if isinstance(record.get("messages"), list):
        return True
    found = chat_log.guess_fields(record)
    return "content" in found and bool(found & {"role", "timestamp"})


# In the order they are tried: chat logs last, since their names are the commonest.
_SOURCES: Final[Mapping[str, _Source]] = {
    mem0.SOURCE: _Source(
        mem0.read_mem0, lambda record: "memory" in record, mem0.write_mem0, mem0.WRAPPERS
    ),
    langgraph.SOURCE: _Source(
        langgraph.read_langgraph,
        lambda record: {"namespace", "key", "value"} <= record.keys(),
        langgraph.write_langgraph,
        langgraph.WRAPPERS,
    ),
    chatgpt.SOURCE: _Source(
        chatgpt.read_chatgpt, lambda record: "mapping" in record, None, chatgpt.WRAPPERS
    ),
    letta.SOURCE: _Source(letta.read_letta, _is_letta, letta.write_letta, letta.WRAPPERS),
    graphiti.SOURCE: _Source(
        graphiti.read_graphiti, _is_graphiti, graphiti.write_graphiti, graphiti.WRAPPERS
    ),
    chat_log.SOURCE: _Source(chat_log.read_chat_log, _is_chat_log, chat_log.write_chat_log),
}


def list_sources() -> list[str]:
    """Return the names of the systems that memories can be read from."""
    return sorted(_SOURCES)


def list_targets() -> list[str]:
    """Return the names of the systems that memories can be written for."""
    return sorted(name for name, source in _SOURCES.items() if source.write is not None)


def read_memories(
    path_or_data: PathLike | Any, *, source: str | None = None, **options: Any
) -> list[Entry]:
    """Return the memories that another system wrote, as entries.

    Args:
        path_or_data: A file, or what it would hold; see the reader of the source.
        source: mem0, langgraph, letta, graphiti, chatgpt or chat-log; None to tell it from the
            fields of the first record. `package.module:function` names a reader of your own: it
            takes `path_or_data` and the options, and returns entries. It is imported from
            Python's search path, and so run.
        **options: The options of the source's reader, such as `scope=Scope(user_id="ada")` for
            memories that name no user, or `assume_utc=True` for times without an offset.

    Returns:
        The entries in the order of the file. One without any record has none.

    Raises:
        UnknownName: there is no such source.
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged, a record is not what the source writes, or no source
            writes such records; names file and place.
        InvalidParameter: neither a path nor records; an option has a value it may not have; a
            reader of your own cannot be imported, fails, or returns something else.
    """
    if source is not None and source not in _SOURCES:
        if is_reference(source):
            return _read_by_own(source, path_or_data, options)
        raise UnknownName("source", source, (*_SOURCES, REFERENCE_FORM))
    if source is None:
        if not is_path(path_or_data) and not isinstance(path_or_data, Mapping):
            path_or_data = _held(path_or_data)
        source = _recognise(path_or_data)
    return _SOURCES[source].read(path_or_data, **options) if source else []


def write_memories(entries: Iterable[Entry], path: PathLike, *, target: str, **options: Any) -> int:
    """Write entries to a file as another system has them; return how many.

    What the format cannot hold is kept in the records' metadata, under the key `nousmem`, and
    `read_memories` restores it. Vectors are left out unless `vectors=True`.

    Args:
        entries: What is written. The other systems know no superseded entries and would serve
            them as current: leave them out.
        path: A file, replaced if it exists. One ending in .jsonl or .ndjson gets one record a
            line; any other one JSON document.
        target: mem0, langgraph, letta, graphiti or chat-log.
        **options: The options of the target's writer.

    Raises:
        UnknownName: there is no such target.
        StoreError: the file cannot be written.
    """
    file = Path(path).expanduser()
    known = {name: source for name, source in _SOURCES.items() if source.write is not None}
    if target not in known:
        raise UnknownName("target", target, known)
    write = cast("Callable[..., Any]", known[target].write)
    data: Any = write(entries, **options)
    # mem0 wraps its records in an object; the others are a list of them.
    records: list[Any] = data["results"] if target == mem0.SOURCE else data
    by_line = file.suffix.lower() in LINE_SUFFIXES
    try:
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            for value in records if by_line else [data]:
                text = json.dumps(value, ensure_ascii=False, indent=None if by_line else 1)
                stream.write(text + "\n")
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}") from error
    return len(records)


def _read_by_own(source: str, path_or_data: Any, options: Mapping[str, Any]) -> list[Entry]:
    """Return what somebody's own reader reads."""
    reader, what = load_reference(source, what="source", known=_SOURCES), f"source {source!r}"
    if not callable(reader):
        raise InvalidParameter(f"{what} is {reader!r}: expected a function that returns entries")
    found: object = run_named(reader, path_or_data, what=what, options=options)
    if not isinstance(found, Iterable):
        raise InvalidParameter(f"{what} returned {found!r}: expected entries")
    # Of a generator, the reading begins here.
    entries = run_named(list, cast("Iterable[Any]", found), what=what)
    wrong = next((one for one in entries if not isinstance(one, Entry)), None)
    if wrong is not None:
        raise InvalidParameter(f"{what} returned {wrong!r} among its entries: expected an Entry")
    return entries


def _held(data: Any) -> Any:
    if hasattr(data, "iloc") or not isinstance(data, Iterable) or isinstance(data, bytes):
        return data
    return list(cast("Iterable[Any]", data))


def _recognise(given: Any) -> str | None:
    """Return the source whose records these look like; None if there is no record."""
    is_file = is_path(given)
    if hasattr(given, "iloc") or (
        is_file and present(given).suffix.lower() in chat_log.TABLE_SUFFIXES
    ):
        return chat_log.SOURCE
    for document in documents(given):
        is_empty = False
        for name, source in _SOURCES.items():
            first = next(inside(document, *source.wrappers), None)
            if first is None:
                is_empty = True
            elif source.recognise(first.mapping()):
                return name
        if not is_empty:
            raise document.error(
                f"no known source writes such a record ({_fields(document)}); say source=: "
                f"{', '.join(list_sources())}"
            )
    return None


def _fields(node: Node) -> str:
    names = list(node.mapping())
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"fields {', '.join(names[:8])}{more}" if names else "no fields"
