"""Letta: archival memory, as passages listed through its API and dumped to JSON.

The shape is that of the `Passage` model of letta-client 1.12.1; what a running server writes, and
the fields of older servers (`agent_id`, `organization_id`), are unverified. Agent files (.af) hold
no passages.

| Letta | Entry |
|---|---|
| `id`, `text` | `id`, `content` |
| `archive_id` | `namespace`: an archive is shared between agents |
| `agent_id` (older servers) | `agent_id`; newer passages name none, so say `scope=` |
| `created_at`, `updated_at` | the same |
| `metadata` | `metadata` |
| `embedding` | `embedding`, without a fingerprint: Letta's model is in `embedding_config` |
| `is_deleted` | `superseded_at` = `updated_at`: history, which searches leave out |
| anything else: `tags`, `file_id`, `source_id`, … | `metadata`, under its own name |

Times: ISO text with an offset or `Z`; Letta counts in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from nousmem.corpora.files import PathLike
from nousmem.entry import Entry
from nousmem.importers._documents import documents, inside
from nousmem.importers._records import Record, Terms, are_texts, collect, hoist, is_text, iso, pack
from nousmem.scope import GLOBAL, Scope

__all__ = ["read_letta", "write_letta"]

SOURCE: Final = "letta"
WRAPPERS: Final = ("passages",)

_FOREIGN: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        (
            "file_id",
            "file_name",
            "source_id",
            "organization_id",
            "created_by_id",
            "last_updated_by_id",
        ),
        is_text,
    ),
    "tags": are_texts,
    "embedding_config": lambda value: isinstance(value, dict),
}
_ASSIGNED: Final = ("id", "updated_at", "last_accessed_at")


def read_letta(
    path_or_data: PathLike | Any,
    *,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the passages of Letta's archival memory.

    Args:
        path_or_data: A JSON or JSON Lines file, or the value itself: a list of passages (objects
            or `Passage` models), or `{"passages": [...]}`.
        scope: Scope fields for passages that name none, such as `Scope(agent_id=...)`.
        created_at: When passages without a time were made; None refuses them.
        assume_utc: Read times without an offset as UTC, instead of refusing them.
        vectors: Take over the passages' vectors. A store that has vectors of another length
            refuses them.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or a record is not a passage; names file and place.
    """
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    return collect(
        (node, read_record(Record(node, SOURCE, terms)))
        for document in documents(path_or_data)
        for node in inside(document, *WRAPPERS)
    )


def write_letta(entries: Iterable[Entry], *, vectors: bool = False) -> list[dict[str, Any]]:
    """Return entries as passages.

    Letta takes one in with `client.archives.passages.create(archive_id, text=…, metadata=…,
    tags=…, created_at=…)`. It gives it an id of its own, so ours is kept in the metadata as well;
    `read_letta` restores it.

    Args:
        entries: What is written. Superseded ones are marked `is_deleted`.
        vectors: Keep vectors too, in the field `embedding`; Letta makes its own.
    """
    return [_record(entry, vectors=vectors) for entry in entries]


def read_record(record: Record) -> Entry:
    """Return the entry of one passage."""
    if "agents" in record.node.mapping() and "text" not in record.node.mapping():
        raise record.node.error("this is an agent file, which holds no archival passages")
    created_at, updated_at = record.instant("created_at"), record.instant("updated_at")
    deleted = record.take("is_deleted")
    is_deleted = deleted is not None and deleted.value is True
    record.discard("tags", [])
    embedding = record.take("embedding")
    return record.entry(
        record.need("text").text(),
        metadata=record.object("metadata", "metadata_"),
        id=record.name("id"),
        namespace=record.name("archive_id"),
        agent_id=record.name("agent_id"),
        created_at=created_at,
        updated_at=updated_at,
        superseded_at=(updated_at or created_at) if is_deleted else None,
        embedding=None if embedding is None else embedding.value,
    )


def _record(entry: Entry, *, vectors: bool) -> dict[str, Any]:
    metadata, foreign = hoist(entry.metadata, _FOREIGN, SOURCE)
    embedding = entry.embedding if vectors else None

    def build(kept: Mapping[str, Any]) -> dict[str, Any]:
        fields = {
            "archive_id": entry.namespace,
            "agent_id": entry.agent_id,
            "embedding": None if embedding is None else embedding.tolist(),
        }
        return {
            "id": entry.id,
            "text": entry.content,
            "created_at": iso(entry.created_at),
            "updated_at": iso(entry.updated_at),
            "is_deleted": entry.superseded_at is not None,
            "metadata": {**metadata, **kept},
            **{name: value for name, value in fields.items() if value is not None},
            **foreign,
        }

    return pack(entry, build, read_record, source=SOURCE, vectors=vectors, always=_ASSIGNED)
