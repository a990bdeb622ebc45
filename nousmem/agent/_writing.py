"""How an agent's memory changes: one rule each for adding, replacing and forgetting.

The tools and the reflection write through these functions, so both keep the same order: nothing
outside the scope is touched, nothing is said twice, each change is all or nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from nousmem.agent._access import MemoryAccess
from nousmem.embeddings import embed
from nousmem.entry import Entry
from nousmem.errors import EntryNotFound
from nousmem.retrieval.evidence import CHARACTERS_SEARCHED
from nousmem.retrieval.finding import started
from nousmem.scope import SCOPE_FIELDS
from nousmem.upkeep.duplicates import spoken

__all__ = ["Change", "add", "change", "find", "remove", "undo_change"]

_LOG = logging.getLogger(__name__)
_DUPLICATES_LOOKED_AT = 30
_CHANGED_BY_CHANGES = (
    "content",
    "type",
    "importance",
    "evergreen",
    "metadata",
    "superseded_by",
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class Change:
    """What one operation did to the store."""

    did: Literal["added", "merged", "updated", "removed", "nothing"]
    """"merged" is a memory said again: the entry that was there stands for both."""
    entry: Entry
    """The entry it was about, as it is now; after a removal, as it was."""
    before: tuple[Entry, ...] = ()
    """The entries that were changed or removed, as they were."""
    after: tuple[Entry, ...] = ()
    """The entries that were written, as they are."""


def add(access: MemoryAccess, content: str, **values: Any) -> Change:
    """Store a new memory, or strengthen the one that says the same.

    Two memories say the same when their texts are equal, whatever their case and spacing, and
    agent, user, namespace and type are; in the scope "session", the session as well. Then the
    entry that is there gets the greater importance, the metadata of both (the new values
    winning), and counts as accessed now. This holds for all that share the open store; two
    processes that say the same in the same instant make two.

    Args:
        access: Whose memory.
        content: The text.
        values: Further fields of Entry: type, importance, evergreen, metadata.

    Raises:
        InvalidEntry: a value is not valid.
        EmbeddingMismatch: the store was filled by another embedder.
    """
    now = access.now()
    owner = {name: getattr(access, name) for name in SCOPE_FIELDS}
    entry = _embedded(access, Entry(content, id=access.new_id(), created_at=now, **owner, **values))
    with access.write_lock:
        same = _said_before(access, entry)
        if same is None:
            access.opened_store.put([entry])
            return Change("added", entry, after=(entry,))
        merged = access.opened_store.update(
            same.id,
            now=now,
            importance=max(same.importance, entry.importance),
            evergreen=same.evergreen or entry.evergreen,
            metadata={**same.metadata, **entry.metadata},
            last_accessed_at=now,
        )
        return Change("merged", merged, before=(same,), after=(merged,))


def change(access: MemoryAccess, entry_id: str, **values: Any) -> Change:
    """Give a memory another text, importance or type.

    A new text makes a new entry, with the metadata, scope and evergreen of the old one, and the
    old one stays as history: `as_of` an earlier instant it is still found. When another memory
    says the new text already, that one replaces the old. Other values are changed in place.

    Args:
        access: Whose memory.
        entry_id: Which entry.
        values: content, importance, type: only what changes.

    Raises:
        EntryNotFound: there is no such entry in scope, or it is history already.
        InvalidEntry: a value is not valid.
        EmbeddingMismatch: the store was filled by another embedder.
    """
    now = access.now()
    found = find(access, entry_id)
    meant = found.replace(**values)
    # Outside the lock: an embedder may be far away, and others write to this store.
    embedded = _embedded(access, meant) if meant.content != found.content else meant
    with access.write_lock:
        old = find(access, entry_id)
        if old.superseded_at is not None:
            raise EntryNotFound(entry_id)
        wanted = old.replace(**values)
        differing = {name for name in values if getattr(wanted, name) != getattr(old, name)}
        if not differing:
            return Change("nothing", old)
        if "content" not in differing:
            changed = access.opened_store.update(
                old.id, now=now, **{name: getattr(wanted, name) for name in differing}
            )
            return Change("updated", changed, before=(old,), after=(changed,))
        vector = {"embedding": embedded.embedding, "embedder": embedded.embedder}
        new = _successor(wanted, id=access.new_id(), now=now).replace(**vector)
        same = _said_before(access, new)
        if same is not None and same.id == old.id:
            # Case or spacing alone: nothing that history would be kept for.
            spelled = {name: getattr(wanted, name) for name in differing}
            changed = access.opened_store.update(old.id, now=now, **spelled, **vector)
            return Change("updated", changed, before=(old,), after=(changed,))
        current = new if same is None else same
        history = old.replace(superseded_at=now, superseded_by=current.id, updated_at=now)
        written = (history, new) if same is None else (history,)
        access.opened_store.put(written)
        return Change("updated", current, before=(old,), after=written)


def remove(access: MemoryAccess, entry_id: str) -> Change:
    """Erase a memory, and the history it replaced.

    Raises:
        EntryNotFound: there is no such entry in scope.
    """
    with access.write_lock:
        entry = find(access, entry_id)
        gone = _with_history(access, entry)
        access.opened_store.delete([one.id for one in gone])
    return Change("removed", entry, before=tuple(gone))


def find(access: MemoryAccess, entry_id: str) -> Entry:
    """Return the entry with this id, if it is in scope; history is found, too.

    Raises:
        EntryNotFound: there is none, or it is somebody else's: the two cannot be told apart.
    """
    entry = access.opened_store.get(entry_id)
    if not access.sees(entry):
        raise EntryNotFound(entry_id)
    return entry


def undo_change(access: MemoryAccess, done: Change) -> bool:
    """Put back what a change replaced or removed; return whether it could.

    It cannot once an entry concerned has been changed or said again, or another one says what
    would come back; then nothing is done. Accesses do not count as changes, and are kept.
    """
    written = {entry.id: entry for entry in done.after}
    restored = {entry.id for entry in done.before}
    with access.write_lock:
        if not all(_still(access, entry) for entry in done.after):
            return False
        put_back: list[Entry] = []
        for entry in done.before:
            current = _present(access, entry.id)
            if current is not None and entry.id not in written:
                return False
            again = () if entry.superseded_at is not None else _saying_the_same(access, entry)
            if any(one.id not in restored | set(written) for one in again):
                return False
            put_back.append(
                entry
                if current is None
                else _with_accesses(entry, of=current, since=written[entry.id])
            )
        if put_back:
            access.opened_store.put(put_back)
        access.opened_store.delete([entry_id for entry_id in written if entry_id not in restored])
    return True


def _embedded(access: MemoryAccess, entry: Entry) -> Entry:
    embedder = access.opened_embedder
    if embedder is None:
        return entry
    try:
        return started(lambda: embed([entry], embedder)[0], access.embedder_seconds)()
    except Exception as error:  # noqa: BLE001  # anybody's embedder; the memory is worth more
        _LOG.warning("memory stored without a vector, the embedder failed: %s", error)
        return entry


def _said_before(access: MemoryAccess, entry: Entry) -> Entry | None:
    return next(_saying_the_same(access, entry), None)


def _saying_the_same(access: MemoryAccess, entry: Entry) -> Iterator[Entry]:
    place: dict[str, Any] = {name: getattr(entry, name) for name in SCOPE_FIELDS}
    if access.default_search_scope != "session":
        del place["session_id"]
    text = spoken(entry.content)
    # The start of a long text finds the whole, in a store that compares substrings as well.
    found = access.opened_store.search_text(
        entry.content[:CHARACTERS_SEARCHED],
        scope=place,
        type=entry.type,
        limit=_DUPLICATES_LOOKED_AT,
    )
    return (one for one, _ in found if spoken(one.content) == text)


def _successor(wanted: Entry, *, id: str, now: datetime) -> Entry:
    return wanted.replace(
        id=id, created_at=now, updated_at=now, last_accessed_at=now, access_count=0
    )


def _with_history(access: MemoryAccess, entry: Entry) -> Sequence[Entry]:
    found = {entry.id: entry}
    waiting = [entry.id]
    while waiting:
        replaced = access.opened_store.list(
            scope={"superseded_by": waiting.pop()}, include_superseded=True
        )
        for one in replaced:
            if one.id not in found and access.sees(one):
                found[one.id] = one
                waiting.append(one.id)
    return list(found.values())


def _present(access: MemoryAccess, entry_id: str) -> Entry | None:
    try:
        return access.opened_store.get(entry_id)
    except EntryNotFound:
        return None


def _still(access: MemoryAccess, entry: Entry) -> bool:
    found = _present(access, entry.id)
    return found is not None and all(
        getattr(found, name) == getattr(entry, name) for name in _CHANGED_BY_CHANGES
    )


def _with_accesses(entry: Entry, *, of: Entry, since: Entry) -> Entry:
    counted = of.access_count - since.access_count
    if counted <= 0:
        return entry
    return entry.replace(
        access_count=entry.access_count + counted, last_accessed_at=of.last_accessed_at
    )
