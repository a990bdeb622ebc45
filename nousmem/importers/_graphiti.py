"""Graphiti and Zep: episodes, the raw events that their knowledge graph is built from.

The shapes are those of `EpisodicNode` in graphiti-core 0.31.2 and of `Episode` in zep-cloud 4.0.1,
dumped to JSON; what the hosted service really sends, and Zep's older field names (`session_id`,
`thread_id`, `graph_id`), are unverified. Facts (entity edges) and entities are not episodes and
are refused.

| Graphiti, Zep | Entry |
|---|---|
| `uuid`, `content` | `id`, `content`; `type` episodic |
| `valid_at`; Zep: `reference_time` | `created_at`: when it happened, not when it was stored |
| `created_at` | `created_at` if there is neither; else `metadata`, under its own name |
| `group_id` (not ""); Zep: `graph_uuid`, `graph_id` | `namespace` |
| `user_uuid`, `user_id`; `thread_uuid`, `thread_id`, `session_id` | `user_id`; `session_id` |
| `episode_metadata`; Zep: `metadata` | `metadata` |
| anything else: `source`, `name`, `entity_edges`, … | `metadata`, under its own name |

Times: ISO text with an offset or `Z`; both count in UTC. A graph with
`store_raw_episode_content=False` has blank episodes, which are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from nousmem.corpora.files import PathLike
from nousmem.entry import Entry, MemoryType
from nousmem.importers._documents import documents, inside
from nousmem.importers._records import Record, Terms, are_texts, collect, hoist, is_text, iso, pack
from nousmem.scope import GLOBAL, Scope

__all__ = ["read_graphiti", "write_graphiti"]

SOURCE: Final = "graphiti"
WRAPPERS: Final = ("episodes", "items", "results")

_GROUP_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_DEFAULTS: Final[Mapping[str, Any]] = {
    "name": "",
    "labels": [],
    "source": "text",
    "source_description": "",
    "entity_edges": [],
}
_SOURCES: Final = ("message", "json", "text", "fact_triple")
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _is_aware(value: object) -> bool:
    try:
        return datetime.fromisoformat(str(value)).utcoffset() is not None
    except ValueError:
        return False


_FOREIGN: Final[Mapping[str, Callable[[Any], bool]]] = {
    "name": is_text,
    "labels": lambda value: are_texts(value) and all(map(_LABEL.fullmatch, value)),
    "source": lambda value: value in _SOURCES,
    "source_description": is_text,
    "entity_edges": are_texts,
    "created_at": _is_aware,
}


def read_graphiti(
    path_or_data: PathLike | Any,
    *,
    scope: Scope = GLOBAL,
    created_at: datetime | None = None,
    assume_utc: bool = False,
    vectors: bool = True,
) -> list[Entry]:
    """Return the episodes of Graphiti or Zep.

    Args:
        path_or_data: A JSON or JSON Lines file, or the value itself: a list of episodes (objects
            or models), or an object that holds one under `episodes`, `items` or `results`.
        scope: Scope fields for episodes that name none.
        created_at: When episodes without a time were made; None refuses them.
        assume_utc: Read times without an offset as UTC, instead of refusing them.
        vectors: Take over vectors that `write_graphiti` kept.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged or a record is not an episode; names file and place.
    """
    terms = Terms(scope=scope, created_at=created_at, assume_utc=assume_utc, vectors=vectors)
    return collect(
        (node, read_record(Record(node, SOURCE, terms)))
        for document in documents(path_or_data)
        for node in inside(document, *WRAPPERS)
    )


def write_graphiti(entries: Iterable[Entry], *, vectors: bool = False) -> list[dict[str, Any]]:
    """Return entries as episodes: `EpisodicNode(**record)` takes each.

    A namespace that is no valid `group_id` (letters, digits, `_`, `-`) has the other characters
    replaced by `_`; `read_graphiti` restores it. graphiti-core 0.31.2 saves everything of a node
    but its `episode_metadata`: what is kept there survives in the file, not in the graph.

    Args:
        entries: What is written. Graphiti knows no superseded episodes: leave them out, or it
            serves them as current.
        vectors: Keep vectors too, in the metadata; Graphiti makes its own.
    """
    return [_record(entry, vectors=vectors) for entry in entries]


def read_record(record: Record) -> Entry:
    """Return the entry of one episode."""
    if "fact" in record.node.mapping() and "content" not in record.node.mapping():
        raise record.node.error("this is a fact (an entity edge), not an episode")
    for name, default in _DEFAULTS.items():
        record.discard(name, default)
    record.discard("group_id", "")
    content = record.need("content").text()
    if not content.strip():
        raise record.node.error(
            "the content is blank: the graph was built with store_raw_episode_content=False?"
        )
    return record.entry(
        content,
        metadata=record.object("episode_metadata", "metadata"),
        type=MemoryType.EPISODIC,
        id=record.name("uuid", "uuid_"),
        namespace=record.name("group_id", "graph_id", "graph_uuid") or None,
        user_id=record.name("user_id", "user_uuid"),
        session_id=record.name("session_id", "thread_id", "thread_uuid"),
        created_at=record.instant("valid_at", "reference_time", "created_at"),
    )


def _record(entry: Entry, *, vectors: bool) -> dict[str, Any]:
    metadata, foreign = hoist(entry.metadata, _FOREIGN, SOURCE)
    group = entry.namespace or ""
    if not _GROUP_ID.fullmatch(group):
        group = re.sub(r"[^A-Za-z0-9_-]", "_", group)

    def build(kept: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "uuid": entry.id,
            **_DEFAULTS,
            **foreign,
            "group_id": group,
            "content": entry.content,
            "valid_at": iso(entry.created_at),
            "episode_metadata": {**metadata, **kept},
        }

    return pack(entry, build, read_record, source=SOURCE, vectors=vectors)
