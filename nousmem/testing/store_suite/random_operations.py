"""Random sequences of operations, compared with a plain dict that does the same."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nousmem.entry import Entry, MemoryType, Vector
from nousmem.errors import EntryNotFound
from nousmem.scope import Scope
from nousmem.stores.base import searches_vectors
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    ZEBRA,
    StoreCase,
    assert_same,
    close,
    later,
    scores,
)

IDS = ("a", "b", "c")
WORDS = (ZEBRA, MOSQUITO, LYNX)
USERS = (None, "", "alice", "bob")
HEADS = ((1.0, 0.0), (1.0, 1.0), (1.0, 2.0), (0.0, 1.0), (-1.0, 0.5))
"""First numbers of the vectors in play: no two of them have one cosine with the first."""
LENGTH = 20
"""How many operations a sequence has."""

Operation = tuple[str, Any]
"""A name and what is given, in plain values that a failure can show: see `_Dice.operation`."""


class Model:
    """What a store must look like from outside: a dict of entries."""

    def __init__(self) -> None:
        self.held: dict[str, Entry] = {}

    def put(self, entries: list[Entry], /) -> int:
        """Keep the entries by id."""
        self.held.update({entry.id: entry for entry in entries})
        return len(entries)

    def get(self, entry_id: str, /) -> Entry:
        """Return the entry, or raise EntryNotFound."""
        if entry_id not in self.held:
            raise EntryNotFound(entry_id)
        return self.held[entry_id]

    def update(self, entry_id: str, /, *, now: datetime, **changes: Any) -> Entry:
        """Replace the entry by one with the changes."""
        self.held[entry_id] = self.get(entry_id).replace(**changes, updated_at=now)
        return self.held[entry_id]

    def delete(self, entry_ids: list[str], /) -> int:
        """Forget the entries."""
        return sum(self.held.pop(entry_id, None) is not None for entry_id in entry_ids)

    def touch(self, entry_ids: list[str], /, *, now: datetime) -> int:
        """Count an access of each entry."""
        known = [entry_id for entry_id in entry_ids if entry_id in self.held]
        for entry_id in known:
            entry = self.held[entry_id]
            self.held[entry_id] = entry.replace(
                access_count=entry.access_count + 1, last_accessed_at=now
            )
        return len(known)

    def visible(self, user: str | None, kind: MemoryType | None) -> list[Entry]:
        """Return the entries of a user (None: of all) and a type, the oldest first."""
        chosen = [
            entry
            for entry in self.held.values()
            if user in (None, entry.user_id) and kind in (None, entry.type)
        ]
        return sorted(chosen, key=lambda entry: (entry.created_at, entry.id))


class _Dice:
    """Draws operations; the same seed draws the same ones."""

    def __init__(self, seed: int, vectors: list[Vector]) -> None:
        self.random = np.random.default_rng(seed)
        self.vectors = vectors

    def one_of(self, values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def some_ids(self) -> list[str]:
        return [entry_id for entry_id in IDS if self.one_of([True, False])] or [self.one_of(IDS)]

    def fields(self) -> dict[str, Any]:
        return {
            "content": self.one_of(WORDS),
            "user_id": self.one_of(USERS),
            "type": self.one_of(list(MemoryType)),
            "importance": self.one_of([0.0, 0.1, 1.0]),
            "embedding": self.one_of([None, *self.vectors]),
            "metadata": self.one_of([{}, {"x": 1}, {"y": [None]}]),
        }

    def entry(self, entry_id: str) -> dict[str, Any]:
        return {"id": entry_id, "created_at": later(self.one_of(range(4))), **self.fields()}

    def operation(self) -> Operation:
        name = self.one_of(["put", "update", "update", "touch", "delete", "read"])
        now = later(self.one_of(range(4)))
        if name == "put":
            return name, [self.entry(self.one_of(IDS)) for _ in range(self.one_of([1, 2, 3]))]
        if name == "update":
            changes = {key: value for key, value in self.fields().items() if self.one_of([0, 0, 1])}
            return name, (self.one_of(IDS), changes, now)
        if name == "touch":
            return name, (self.some_ids(), now)
        return name, self.some_ids() if name == "delete" else self.one_of(USERS)

    def sequence(self) -> list[Operation]:
        first = ("put", [self.entry(entry_id) for entry_id in IDS])
        return [first, *(self.operation() for _ in range(LENGTH - 1))]


class RandomOperations(StoreCase):
    """No sequence of writes makes a store differ from a dict."""

    def test_random_operations_agree_with_a_dict(self) -> None:
        """Reads after random puts, updates, deletes and touches give what a dict gives."""
        if not self.random_sequences:
            pytest.skip("this suite declares random_sequences = 0")
        vectors = [self.vector(*head) for head in HEADS]
        for seed in range(self.random_sequences):
            operations = _Dice(seed, vectors).sequence()
            if self._differs(operations):
                for at in reversed(range(len(operations))):
                    fewer = operations[:at] + operations[at + 1 :]
                    operations = fewer if self._differs(fewer) else operations
                self._compare_with_note(operations)
                pytest.fail(f"the sequence of seed {seed} differed once, and then no more")

    def _differs(self, operations: list[Operation]) -> bool:
        try:
            self._compare(operations)
        except Exception:  # noqa: BLE001  # whatever a store raises is a difference
            return True
        return False

    def _compare_with_note(self, operations: list[Operation]) -> None:
        try:
            self._compare(operations)
        except Exception as error:
            steps = "\n".join(f"  {name} {given}" for name, given in operations)
            error.add_note(f"The operations, those that change nothing left out:\n{steps}")
            raise

    def _compare(self, operations: list[Operation]) -> None:
        model = Model()
        with tempfile.TemporaryDirectory() as folder:
            store: Any = self.open_store(Path(folder))
            try:
                for name, given in operations:
                    if name == "read":
                        self._compare_reads(store, model, given)
                    elif name != "touch" or hasattr(store, "touch"):
                        assert _do(store, name, given) == _do(model, name, given), (name, given)
                for user in USERS:
                    self._compare_reads(store, model, user)
                if self.persistent:
                    close(store)
                    store = self.open_store(Path(folder))
                    self._compare_reads(store, model, None)
            finally:
                close(store)

    def _compare_reads(self, store: Any, model: Model, user: str | None) -> None:
        scope = Scope(user_id=user)
        for kind in (None, MemoryType.EPISODIC):
            wanted = model.visible(user, kind)
            got = store.list(scope=scope, type=kind)
            assert [entry.id for entry in got] == [entry.id for entry in wanted]
            for one, other in zip(got, wanted, strict=True):
                assert_same(one, other)
                assert_same(store.get(one.id), other)
            assert store.list(scope=scope, type=kind, limit=2) == wanted[:2]
            for word in WORDS:
                hits = scores(store.search_text(word, scope=scope, type=kind))
                assert sorted(hits) == sorted(e.id for e in wanted if e.content == word)
            if searches_vectors(store):
                query = self.vector(*HEADS[0])
                hits = scores(store.search_vector(query, scope=scope, type=kind, min_score=-2))
                cosines = {
                    entry.id: float(entry.embedding[0]) / float(np.linalg.norm(entry.embedding))
                    for entry in wanted
                    if entry.embedding is not None
                }
                assert hits == pytest.approx(cosines, abs=1e-6)


def _do(target: Any, name: str, given: Any) -> object:
    """Do one write; return its result, or the kind of error it is."""
    try:
        if name == "update":
            entry_id, changes, now = given
            return target.update(entry_id, now=now, **changes)
        if name == "touch":
            return target.touch(given[0], now=given[1])
        if name == "put":
            return target.put([Entry(**fields) for fields in given])
        return target.delete(given)
    except EntryNotFound as error:
        return EntryNotFound, error.entry_id
