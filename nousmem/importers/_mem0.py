"""mem0: what `Memory.get_all` and `MemoryClient.get_all` return, as JSON.

The open-source shape is what mem0ai 2.2.1 itself writes; the hosted service's pages, the older
plain lists, and fields such as `categories` are unverified.

| mem0 | Entry |
|---|---|
| `id`, `memory` | `id`, `content` |
| `user_id`, `agent_id`, `run_id` | `user_id`, `agent_id`, `session_id` |
| `created_at`, `updated_at` | the same |
| `metadata` | `metadata` |
| `metadata.memory_type` = `procedural_memory` | `type` procedural; the metadata keeps it |
| anything else: `hash`, `actor_id`, `role`, `expiration_date`, … | `metadata`, under its own name |

Times: mem0 writes ISO text with an offset, releases before 2 in US/Pacific, later ones in UTC.
An `expiration_date` is kept but not acted upon; mem0 leaves expired memories out of `get_all`
unless asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node
from nousmem.entry import Entry, MemoryType
from nousmem.importers._documents import documents, inside
from nousmem.importers._records import Record, Terms, are_texts, collect, hoist, is_text, iso, pack
from nousmem.scope import GLOBAL, Scope

__all__ = ["read_mem0", "write_mem0"]

SOURCE: Final = "mem0"
WRAPPERS: Final = ("results", "memories")

_PROCEDURAL: Final = "procedural_memory"
_FOREIGN: Final = {
    **dict.fromkeys(
        ("hash", "actor_id", "role", "attributed_to", "expiration_date", "app_id"), is_text
    ),
    "categories": are_texts,
}
_ASSIGNED: Final = ("id", "created_at", "updated_at", "last_accessed_at")


def read_mem0(
    path_or_data: PathLike | Any,
    *,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the memories that mem0's `get_all` returned.

    Args:
        path_or_data: A JSON or JSON Lines file, or the value itself: `{"results": [...]}`, a list
            of memories, or a list of pages.
        scope: Scope fields for memories that name none.
        created_at: When memories without a time were made; None refuses them.
        assume_utc: Read times without an offset as UTC, instead of refusing them.
        vectors: Take over vectors that `write_mem0` kept.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or a record is not a memory; names file and place.
    """
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    return collect(
        (node, read_record(Record(node, SOURCE, terms)))
        for page in documents(path_or_data)
        for node in _memories(page)
    )


def write_mem0(entries: Iterable[Entry], *, vectors: bool = False) -> dict[str, Any]:
    """Return entries in the shape of mem0's `get_all`: `{"results": [...]}`.

    mem0 takes a record in with `add(record["memory"], user_id=…, metadata=record["metadata"],
    infer=False)`. It gives it an id and times of its own, so ours are kept in the metadata as
    well; `read_mem0` restores them.

    Args:
        entries: What is written. mem0 knows no superseded memories: leave them out, or it serves
            them as current.
        vectors: Keep vectors too, in the metadata; mem0 makes its own.
    """
    return {"results": [_record(entry, vectors=vectors) for entry in entries]}


def read_record(record: Record) -> Entry:
    """Return the entry of one memory."""
    metadata = record.object("metadata")
    procedural = metadata.get("memory_type") == _PROCEDURAL
    return record.entry(
        record.need("memory").text(),
        metadata=metadata,
        id=record.name("id"),
        type=MemoryType.PROCEDURAL if procedural else None,
        user_id=record.name("user_id"),
        agent_id=record.name("agent_id"),
        session_id=record.name("run_id"),
        created_at=record.instant("created_at"),
        updated_at=record.instant("updated_at"),
    )


def _memories(page: Node) -> Iterator[Node]:
    if page.get("results") is not None:
        following, relations = page.get("next"), page.get("relations")
        if following is not None:
            _warn(page, f"another page follows this one: {following.value}")
        if relations is not None and (count := sum(1 for _ in relations.items())):
            _warn(page, f"{count:,} relations of mem0's graph are not memories and stay behind")
    yield from inside(page, *WRAPPERS)


def _warn(page: Node, problem: str) -> None:
    warnings.warn(f"{page.file}: at {page.place}: {problem}", stacklevel=6)


def _record(entry: Entry, *, vectors: bool) -> dict[str, Any]:
    metadata, foreign = hoist(entry.metadata, _FOREIGN, SOURCE)

    def build(kept: Mapping[str, Any]) -> dict[str, Any]:
        scope = {
            "user_id": entry.user_id,
            "agent_id": entry.agent_id,
            "run_id": entry.session_id,
        }
        return {
            "id": entry.id,
            "memory": entry.content,
            "metadata": {**metadata, **kept},
            "created_at": iso(entry.created_at),
            "updated_at": iso(entry.updated_at),
            **{name: value for name, value in scope.items() if value is not None},
            **foreign,
        }

    return pack(entry, build, read_record, source=SOURCE, vectors=vectors, always=_ASSIGNED)
