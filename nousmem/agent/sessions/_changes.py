"""What happened to a store between two looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from nousmem.agent.sessions.transcript import ChangeRecord
from nousmem.entry import ENTRY_FIELDS, Entry
from nousmem.stores.base import Store

__all__ = ["look", "store_changes"]

_ACCESSES: Final = {"access_count", "last_accessed_at"}
_LEFT_OUT: Final = {"embedding", "updated_at"}


def look(store: Store) -> list[Entry]:
    """Return everything in a store, history as well; a full scan."""
    return store.list(include_superseded=True)


def store_changes(before: Sequence[Entry], after: Sequence[Entry]) -> list[ChangeRecord]:
    """Return what became of each memory, in the order of `after`, then those that are gone."""
    old = {entry.id: entry for entry in before}
    new = {entry.id for entry in after}
    changes: list[ChangeRecord] = []
    for entry in after:
        if entry.id not in old:
            changes.append(ChangeRecord(change="added", id=entry.id, content=entry.content))
            continue
        differing = {
            name: (_plain(getattr(old[entry.id], name)), _plain(getattr(entry, name)))
            for name in ENTRY_FIELDS
            if name not in _LEFT_OUT and getattr(old[entry.id], name) != getattr(entry, name)
        }
        if differing:
            changes.append(
                ChangeRecord(
                    change=_kind(set(differing)),
                    id=entry.id,
                    content=entry.content,
                    fields=differing,
                )
            )
    changes += [
        ChangeRecord(change="deleted", id=entry.id, content=entry.content)
        for entry in before
        if entry.id not in new
    ]
    return changes


def _kind(names: set[str]) -> Any:
    if "superseded_at" in names:
        return "superseded"
    return "touched" if names <= _ACCESSES else "changed"


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
