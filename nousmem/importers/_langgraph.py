"""LangGraph and LangMem: the items of a `BaseStore`, as `item.dict()` gives them.

The shape is what langgraph-checkpoint 4.3.2 (`InMemoryStore`) and langmem 0.0.30 (its memory tools)
themselves write; the SQLite and Postgres stores are unverified.

| LangGraph | Entry |
|---|---|
| `namespace`, a list of labels | `namespace`: see `encode_labels`; no labels are None |
| `namespace` and `key` | `id`: the labels and the key, encoded together, since two namespaces may hold the same key |
| `created_at`, `updated_at` | the same |
| the text in `value` | `content`: `value.content`, or `value.content.content` as LangMem's memories have it, or `value.text` or `value.memory`; else the whole value, as JSON |
| the value without that text | `metadata` |
| anything else: `score`, … | `metadata`, under its own name |

Times: ISO text with an offset; LangGraph counts in UTC.
"""  # noqa: E501  # a table's row is one line

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeGuard
from urllib.parse import unquote

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node
from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.importers._documents import documents, inside
from nousmem.importers._records import KEPT, Record, Terms, collect, iso, pack
from nousmem.scope import GLOBAL, Scope

__all__ = ["decode_labels", "encode_labels", "read_langgraph", "write_langgraph"]

SOURCE: Final = "langgraph"
WRAPPERS: Final = ("items", "results")

_TEXT_FIELDS: Final = ("content", "text", "memory")
_NAMED: Final = ("user_id", "agent_id", "session_id")
_NOWHERE: Final = Path()
_ASSIGNED: Final = ("created_at", "updated_at", "last_accessed_at")


def encode_labels(labels: Sequence[str]) -> str:
    """Return labels as one text: joined by `/`, where a label's own `%` is `%25` and `/` is `%2F`.

    No two sequences of labels give the same text: `("a", "b/c")` is `a/b%2Fc`, and `("a/b", "c")`
    is `a%2Fb/c`. A single plain label stands for itself.
    """
    return "/".join(label.replace("%", "%25").replace("/", "%2F") for label in labels)


def decode_labels(text: str) -> list[str]:
    """Return the labels that `encode_labels` joined."""
    return [unquote(label) for label in text.split("/")]


def read_langgraph(
    path_or_data: PathLike | Any,
    *,
    labels: Mapping[str, int] | None = None,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the items of a LangGraph store.

    Args:
        path_or_data: A JSON or JSON Lines file, or the value itself: a list of items, as objects
            or as `Item`s (`store.search(())` returns such).
        labels: Which label of the namespace names which field of the scope: `{"user_id": 1}` for
            namespaces such as `("memories", "ada")`. Positions count from 0, or from the end if
            negative. The entry's namespace keeps all labels.
        scope: Scope fields for items that name none.
        created_at: When items without a time were made; None refuses them.
        assume_utc: Read times without an offset as UTC, instead of refusing them.
        vectors: Take over vectors that `write_langgraph` kept.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or a record is not an item; names file and place.
        InvalidParameter: `labels` names no field of a scope, or a position is not a whole number.
    """
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    positions = _checked(labels or {})
    return collect(
        (node, read_record(Record(node, SOURCE, terms), labels=positions))
        for document in documents(path_or_data)
        for node in inside(document, *WRAPPERS)
    )


def write_langgraph(
    entries: Iterable[Entry],
    *,
    namespace: Sequence[str] = ("memories",),
    vectors: bool = False,
) -> list[dict[str, Any]]:
    """Return entries as items.

    LangGraph takes one in with `store.put(tuple(item["namespace"]), item["key"], item["value"])`.
    It sets times of its own, so ours are kept in the value as well; `read_langgraph` restores
    them.

    Args:
        entries: What is written. LangGraph knows no superseded items: leave them out, or it
            serves them as current.
        namespace: Labels for entries whose namespace LangGraph would refuse: none, a blank label,
            or a first label `langgraph`. A `.` in a label becomes `%2E`.
        vectors: Keep vectors too, in the value; LangGraph makes its own.
    """
    used: set[tuple[str, str]] = set()
    return [
        _record(entry, *_address(entry, list(namespace), used), vectors=vectors)
        for entry in entries
    ]


def read_record(record: Record, *, labels: Mapping[str, int] | None = None) -> Entry:
    """Return the entry of one item."""
    path = [label.text() for label in record.need("namespace").items()]
    key = record.name("key")
    if key is None:
        raise record.node.error("the field 'key' is missing or null")
    value = record.need("value")
    fields = dict(value.mapping())
    kept = {KEPT: fields.pop(KEPT)} if KEPT in fields else {}
    content, rest = _split(fields, value)
    named: dict[str, Any] = {
        name: path[position]
        for name, position in (labels or {}).items()
        if -len(path) <= position < len(path)
    }
    return record.entry(
        content,
        metadata={**rest, **kept},
        id=encode_labels([*path, key]),
        namespace=encode_labels(path) if path else None,
        created_at=record.instant("created_at"),
        updated_at=record.instant("updated_at"),
        **named,
    )


def _checked(labels: Mapping[str, int]) -> Mapping[str, int]:
    for name, position in labels.items():
        if name not in _NAMED or isinstance(position, bool) or not isinstance(position, int):
            raise InvalidParameter(
                f"labels map a field of the scope ({', '.join(_NAMED)}) to a position, "
                f"got {name!r}: {position!r}"
            )
    return labels


def _split(fields: dict[str, Any], value: Node) -> tuple[str, dict[str, Any]]:
    """Part a value into its text and the rest."""
    inner = fields.get("content")
    if _is_object(inner) and isinstance(inner.get("content"), str):
        text = inner["content"]
        rest = {name: item for name, item in inner.items() if name != "content"}
        return text, {**fields, "content": rest}
    for name in _TEXT_FIELDS:
        if isinstance(fields.get(name), str):
            return fields[name], {n: item for n, item in fields.items() if n != name}
    if not fields:
        raise value.error("the value is empty: there is nothing to remember")
    return json.dumps(fields, ensure_ascii=False), fields


def _values(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the values that an entry may have come from, the strictest first; the last fits any."""
    metadata = {name: value for name, value in entry.metadata.items() if name != KEPT}
    inner = metadata.get("content")
    if metadata:
        yield metadata
    if _is_object(inner) and "content" not in inner:
        yield {**metadata, "content": {**inner, "content": entry.content}}
    yield {**metadata, "content": entry.content}


def _record(entry: Entry, labels: list[str], key: str, *, vectors: bool) -> dict[str, Any]:
    metadata = {name: value for name, value in entry.metadata.items() if name != KEPT}
    value: dict[str, Any] = {}
    for value in _values(entry):
        if _split(value, Node(value, _NOWHERE)) == (entry.content, metadata):
            break

    def build(kept: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "namespace": labels,
            "key": key,
            "value": {**value, **kept},
            "created_at": iso(entry.created_at),
            "updated_at": iso(entry.updated_at),
        }

    return pack(entry, build, read_record, source=SOURCE, vectors=vectors, always=_ASSIGNED)


def _address(entry: Entry, default: list[str], used: set[tuple[str, str]]) -> tuple[list[str], str]:
    """Return the labels and the key of an entry, which no other entry has."""
    labels = _labels(entry.namespace, default)
    path = encode_labels(labels)
    key = decode_labels(entry.id)[-1]
    if encode_labels([*labels, key]) != entry.id or not key:
        key = entry.id
    while (path, key) in used:
        key += "~"
    used.add((path, key))
    return labels, key


def _labels(namespace: str | None, default: list[str]) -> list[str]:
    labels = [] if namespace is None else decode_labels(namespace)
    labels = [label.replace(".", "%2E") for label in labels]
    refused = not labels or not all(labels) or labels[0] == "langgraph"
    return default if refused else labels


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
