"""Entries as rows of a table: the columns, and the way there and back, for the SQL stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from nousmem.entry import Entry, MemoryType, Vector, restore_entry

__all__ = ["COLUMNS", "INSTANTS", "entry_of", "row_of"]

COLUMNS: Final = (
    "id",
    "content",
    "type",
    "importance",
    "evergreen",
    "metadata",
    "agent_id",
    "session_id",
    "user_id",
    "namespace",
    "embedder",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "superseded_at",
    "superseded_by",
)
"""The columns of an entry, in the order of its row; the embedding is kept apart."""

_TYPES: Final = {one.value: one for one in MemoryType}

INSTANTS: Final = ("created_at", "updated_at", "last_accessed_at", "superseded_at")
"""The columns that hold instants, which every database writes its own way."""


def row_of(entry: Entry, *, encode: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`.

    Args:
        entry: The entry.
        encode: How the database writes one value: called with a datetime, a MemoryType, a
            mapping (metadata) or a plain value.
    """
    return tuple(encode(getattr(entry, name)) for name in COLUMNS)


def entry_of(
    row: Sequence[Any], vector: Vector | None, *, decode_instant: Callable[[Any], Any]
) -> Entry:
    """Return the entry that a row stands for.

    Args:
        row: The values of `COLUMNS`; metadata as JSON text or as a mapping.
        vector: Its embedding, shape (dimension,), float32.
        decode_instant: From what the database returns to a UTC datetime.
    """
    # By position, not by name: searches spend much of their time here.
    (
        entry_id,
        content,
        memory_type,
        importance,
        evergreen,
        metadata,
        agent_id,
        session_id,
        user_id,
        namespace,
        embedder,
        access_count,
        created_at,
        updated_at,
        last_accessed_at,
        superseded_at,
        superseded_by,
    ) = row
    return restore_entry(
        (
            content,
            entry_id,
            _TYPES[memory_type],
            importance,
            bool(evergreen),
            _metadata(metadata),
            agent_id,
            session_id,
            user_id,
            namespace,
            vector,
            embedder,
            access_count,
            decode_instant(created_at),
            decode_instant(updated_at),
            decode_instant(last_accessed_at),
            None if superseded_at is None else decode_instant(superseded_at),
            superseded_by,
        )
    )


def _metadata(stored: Any) -> Any:
    if stored == "{}":
        return {}
    return json.loads(stored) if isinstance(stored, str) else stored
