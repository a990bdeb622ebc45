"""Memories that say the same thing twice: found, and made one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.scope import GLOBAL, SCOPE_FIELDS, ScopeLike
from nousmem.stores.base import Store
from nousmem.stores.filters import check_min_score

__all__ = ["DuplicateGroup", "find_duplicates", "merge_duplicates", "spoken"]


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Entries of one scope and type that say the same, the oldest first."""

    entries: tuple[Entry, ...]
    """Two at least, the oldest first."""

    @property
    def merged(self) -> Entry:
        """The one entry that stands for the group.

        The newest entry's text, vector and id; the highest importance; evergreen if any is;
        accesses added up; the earliest creation and the latest access; metadata of all, the newest
        entry's values winning.
        """
        newest = self.entries[-1]
        metadata: dict[str, Any] = {}
        for entry in self.entries:
            metadata.update(entry.metadata)
        return newest.replace(
            importance=max(entry.importance for entry in self.entries),
            evergreen=any(entry.evergreen for entry in self.entries),
            metadata=metadata,
            access_count=sum(entry.access_count for entry in self.entries),
            created_at=min(entry.created_at for entry in self.entries),
            last_accessed_at=max(entry.last_accessed_at for entry in self.entries),
        )


def find_duplicates(
    store: Store, *, scope: ScopeLike = GLOBAL, similarity: float | None = None
) -> list[DuplicateGroup]:
    """Return the groups of entries that say the same; the largest group first.

    Entries are compared within one scope (all four fields) and type only: nothing is the
    duplicate of another user's memory.

    Args:
        store: Where to look.
        scope: Whose entries.
        similarity: None takes equal texts, whatever their case and spacing. A cosine from 0 to 1
            takes vectors at least that similar as well, each compared with every other of its
            scope and type (quadratic in them). What is similar to the same entry is one group.

    Raises:
        InvalidParameter: the similarity is not from 0 to 1.
    """
    if similarity is not None and not 0 <= check_min_score(similarity) <= 1:
        raise InvalidParameter(f"similarity must be from 0 to 1, got {similarity!r}")
    groups: list[DuplicateGroup] = []
    for alike in _grouped(store.list(scope=scope), _place):
        if similarity is None:
            found = _grouped(alike, lambda entry: spoken(entry.content))
        else:
            found = _connected(alike, similarity)
        groups += [DuplicateGroup(tuple(group)) for group in found if len(group) > 1]
    return sorted(groups, key=lambda group: (-len(group.entries), group.entries[0].id))


def merge_duplicates(
    store: Store, groups: Iterable[DuplicateGroup], *, now: datetime
) -> list[DuplicateGroup]:
    """Make each group one entry; return the groups that were merged, as they were by then.

    Args:
        store: Where the entries are.
        groups: As `find_duplicates` returns them. A group any of whose entries is gone, or has
            another text, scope or type by now, is passed over. Other changes are kept.
        now: Becomes `updated_at` of the merged entries.
    """
    merged: list[DuplicateGroup] = []
    present = {entry.id: entry for entry in store.list()}
    for group in groups:
        if any(not _unchanged(entry, present.get(entry.id)) for entry in group.entries):
            continue
        current = DuplicateGroup(tuple(present[entry.id] for entry in group.entries))
        survivor = current.merged.replace(updated_at=now)
        gone = [entry.id for entry in group.entries[:-1]]
        # The survivor first: if the process dies in between, nothing is lost.
        store.put([survivor])
        store.delete(gone)
        for entry_id in gone:
            del present[entry_id]
        present[survivor.id] = survivor
        merged.append(current)
    return merged


def _unchanged(found: Entry, present: Entry | None) -> bool:
    return (
        present is not None
        and present.content == found.content
        and _place(present) == _place(found)
    )


def _place(entry: Entry) -> tuple[Any, ...]:
    return (*(getattr(entry, name) for name in SCOPE_FIELDS), entry.type)


def spoken(text: str) -> str:
    """Return the form in which two texts are compared: case and spacing do not count."""
    # Not NFKC, which takes 10² for 102.
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def _grouped(entries: Iterable[Entry], key: Callable[[Entry], Any]) -> list[list[Entry]]:
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(key(entry), []).append(entry)
    return list(groups.values())


def _connected(entries: Sequence[Entry], similarity: float) -> list[list[Entry]]:
    """Join entries with equal texts or similar vectors, and what is joined to these."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    first: dict[str, int] = {}
    links = [(first.setdefault(spoken(entry.content), at), at) for at, entry in enumerate(entries)]
    embedded = [at for at, entry in enumerate(entries) if entry.embedding is not None]
    if embedded:
        matrix = np.stack([np.asarray(entries[at].embedding, dtype=np.float64) for at in embedded])
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        for row, vector in enumerate(matrix):
            near = np.flatnonzero(matrix[:row] @ vector >= similarity - 1e-9)
            links += [(embedded[row], embedded[one]) for one in near.tolist()]
    n = len(entries)
    rows, columns = zip(*links, strict=True)
    graph = csr_array((np.ones(len(links)), (rows, columns)), shape=(n, n))
    _, labels = connected_components(graph, directed=False)
    label_of = {entry.id: label for entry, label in zip(entries, labels, strict=True)}
    return _grouped(entries, lambda entry: label_of[entry.id])
