"""update and touch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest

from nousmem.entry import MemoryType
from nousmem.errors import EmbeddingMismatch, EntryNotFound, InvalidEntry, InvalidVector
from nousmem.scope import Scope
from nousmem.stores.base import Store, TouchStore, VectorStore
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    READS,
    T0,
    ZEBRA,
    StoreCase,
    assert_same,
    each,
    ids,
    later,
)

REFUSED_CHANGES: list[dict[str, Any]] = [
    {"contnet": MOSQUITO},
    {"importance": 0.9, "colour": "red"},
    {"id": "b"},
    {"importance": 1.5},
    {"importance": "high"},
    {"content": "  "},
    {"content": None},
    {"type": "declarative"},
    {"access_count": -1},
    {"user_id": 7},
    {"metadata": [1]},
]


class Changing(StoreCase):
    """A changed entry is changed everywhere, and only where it was asked for."""

    def test_update_changes_what_is_named(self, store: Store) -> None:
        """The named fields change, the others stay; the new entry is returned and stored."""
        before = self.entry(
            "a",
            metadata={"category": "animals"},
            user_id="alice",
            namespace="zoo",
            access_count=4,
            last_accessed_at=later(3),
        )
        store.put([before, self.entry("b")])
        wanted = before.replace(
            importance=0.9, type="procedural", evergreen=True, updated_at=later(5)
        )
        got = store.update("a", importance=0.9, type="procedural", evergreen=True, now=later(5))
        assert_same(got, wanted)
        assert_same(store.get("a"), wanted)
        assert_same(store.get("b"), self.entry("b"))
        assert store.get("a").type is MemoryType.PROCEDURAL

    def test_update_keeps_metadata_when_the_text_changes(self, store: Store) -> None:
        """Metadata, scope and times belong to the entry, not to its text."""
        before = self.entry("a", metadata={"category": "animals"}, user_id="alice")
        store.put([before])
        store.update("a", content=MOSQUITO, now=later(1))
        assert_same(store.get("a"), before.replace(content=MOSQUITO, updated_at=later(1)))

    def test_update_replaces_metadata(self, store: Store) -> None:
        """A metadata given is the new metadata; nothing is merged."""
        store.put([self.entry("a", metadata={"old": 1})])
        store.update("a", metadata={"new": 2}, now=later(1))
        assert store.get("a").metadata == {"new": 2}

    def test_update_can_unset_a_field(self, store: Store) -> None:
        """None unsets a scope field, and the embedding."""
        store.put([self.entry("a", user_id="alice")])
        store.update("a", user_id=None, embedding=None, now=later(1))
        assert store.get("a").user_id is None
        assert store.get("a").embedding is None

    def test_update_sets_updated_at_to_now(self, store: Store) -> None:
        """updated_at is the instant given; created_at and last_accessed_at stay."""
        store.put([self.entry("a")])
        store.update("a", importance=0.1, now=later(7.5))
        entry = store.get("a")
        assert entry.updated_at == later(7.5)
        assert entry.created_at == entry.last_accessed_at == T0

    def test_update_without_now_takes_the_clock(self, store: Store) -> None:
        """Without `now`, updated_at is the wall clock."""
        store.put([self.entry("a")])
        start = datetime.now(UTC)
        store.update("a", importance=0.1)
        assert start - timedelta(milliseconds=1) <= store.get("a").updated_at
        assert store.get("a").updated_at <= datetime.now(UTC) + timedelta(milliseconds=1)

    def test_a_time_without_a_zone_is_refused(self, store: Store) -> None:
        """`now` says which instant it is; what does not is an error, and nothing changes."""
        before = self.entry("a")
        store.put([before])
        with pytest.raises(InvalidEntry):
            store.update("a", importance=0.1, now=T0.replace(tzinfo=None))
        if hasattr(store, "touch"):
            with pytest.raises(InvalidEntry):
                self.touching(store).touch(["a"], now=T0.replace(tzinfo=None))
        assert_same(store.get("a"), before)

    def test_update_of_an_unknown_id(self, store: Store) -> None:
        """An unknown id is EntryNotFound, and nothing is created."""
        with pytest.raises(EntryNotFound) as caught:
            store.update("a", content=MOSQUITO, now=T0)
        assert caught.value.entry_id == "a"
        assert store.list() == []

    def test_update_refuses(self, store: Store) -> None:
        """A field that is unknown or cannot change, or a bad value: nothing is changed."""
        before = self.entry("a")
        store.put([before])

        def check(changes: dict[str, Any]) -> None:
            with pytest.raises(InvalidEntry):
                store.update("a", now=later(1), **changes)
            assert_same(store.get("a"), before)
            assert [entry.id for entry in store.list()] == ["a"]

        each(REFUSED_CHANGES, check)

    def test_update_refuses_a_vector_of_another_length(self, store: Store) -> None:
        """The rule of put holds for update."""
        before = self.entry("a", MOSQUITO)
        store.put([before, self.entry("b")])
        with pytest.raises(EmbeddingMismatch):
            store.update("a", embedding=np.ones(self.dimension + 1), content=LYNX, now=later(1))
        assert_same(store.get("a"), before)
        assert self.found(store, LYNX) == []

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0])
    def test_update_refuses_what_is_no_vector(self, store: Store, bad: float) -> None:
        """A vector with NaN or infinity in it, or of zeros, has no direction."""
        before = self.entry("a")
        store.put([before])
        with pytest.raises(InvalidVector):
            store.update("a", embedding=[bad] * self.dimension, now=later(1))
        assert_same(store.get("a"), before)

    def test_update_moves_the_text(self, store: Store) -> None:
        """The new text is found, the old one is not."""
        store.put([self.entry("a"), self.entry("b")])
        store.update("a", content=MOSQUITO, now=later(1))
        assert self.found(store, ZEBRA) == ["b"]
        assert self.found(store, MOSQUITO) == ["a"]

    def test_update_of_the_text_drops_the_vector(self, vector_store: VectorStore) -> None:
        """A vector belongs to its text: a new text without a new vector has none."""
        vector_store.put([self.entry("a"), self.entry("b")])
        assert self.read(vector_store, "search_vector") == ["b", "a"]
        entry = vector_store.update("a", content=MOSQUITO, now=later(1))
        assert entry.embedding is None
        assert entry.embedder is None
        assert self.read(vector_store, "search_vector") == ["b"]

    def test_update_to_the_same_text_keeps_the_vector(self, vector_store: VectorStore) -> None:
        """A text that does not change keeps its vector."""
        vector_store.put([self.entry("a")])
        vector_store.update("a", content=ZEBRA, importance=0.9, now=later(1))
        assert self.read(vector_store, "search_vector") == ["a"]

    def test_update_moves_the_vector(self, vector_store: VectorStore) -> None:
        """Text and vector given together move together."""
        vector_store.put([self.entry("a"), self.entry("b")])
        assert self.read(vector_store, "search_vector") == ["b", "a"]
        vector_store.update("a", content=MOSQUITO, embedding=self.vector(0, 1), now=later(1))
        assert self.read(vector_store, "search_vector") == ["b"]
        assert ids(vector_store.search_vector(self.vector(0, 1))) == ["a"]
        assert self.found(vector_store, MOSQUITO) == ["a"]

    def test_update_of_another_field_keeps_text_and_vector(self, vector_store: VectorStore) -> None:
        """A change of importance does not touch what is found."""
        vector_store.put([self.entry("a", embedder="some-model")])
        vector_store.update("a", importance=1.0, now=later(1))
        assert self.read(vector_store, "search_vector") == ["a"]
        assert self.found(vector_store, ZEBRA) == ["a"]
        assert vector_store.get("a").embedder == "some-model"

    @pytest.mark.parametrize("operation", READS)
    def test_update_moves_between_scopes_and_types(self, store: Store, operation: str) -> None:
        """A changed scope or type is what every filter sees."""
        store.put([self.entry("a", user_id="alice"), self.entry("b", user_id="alice")])
        store.update("a", user_id="bob", type="episodic", now=later(1))
        assert self.read(store, operation, scope=Scope(user_id="alice")) == ["b"]
        assert self.read(store, operation, scope=Scope(user_id="bob")) == ["a"]
        assert self.read(store, operation, type="episodic") == ["a"]
        assert self.read(store, operation, type="semantic") == ["b"]

    @pytest.mark.parametrize("operation", READS)
    def test_update_can_supersede(self, store: Store, operation: str) -> None:
        """An entry marked as superseded disappears from reads, but not from get."""
        store.put([self.entry("a"), self.entry("b", created_at=later(2))])
        assert sorted(self.read(store, operation)) == ["a", "b"]
        store.update("a", superseded_at=later(2), superseded_by="b", now=later(2))
        assert self.read(store, operation) == ["b"]
        assert store.get("a").superseded_by == "b"

    def touching(self, store: Store) -> TouchStore:
        """Return the same store, or skip the test if it has no touch."""
        if not hasattr(store, "touch"):
            pytest.skip("this store has no touch: accesses are recorded by update")
        return cast("TouchStore", store)

    def test_touch_records_an_access(self, store: Store) -> None:
        """The count grows by one and last_accessed_at moves; nothing else changes."""
        store = self.touching(store)
        before = self.entry("a", user_id="alice", metadata={"x": 1}, access_count=2)
        store.put([before, self.entry("b"), self.entry("c")])
        assert store.touch(["a", "b"], now=later(4)) == 2
        assert_same(store.get("a"), before.replace(access_count=3, last_accessed_at=later(4)))
        assert_same(store.get("c"), self.entry("c"))
        assert store.touch((name for name in ["a"]), now=later(6)) == 1
        assert store.get("a").access_count == 4
        assert store.get("a").last_accessed_at == later(6)
        assert store.get("a").updated_at == T0

    def test_touch_counts_an_id_once(self, store: Store) -> None:
        """An id named twice in one call was accessed once, as for delete."""
        store = self.touching(store)
        store.put([self.entry("a"), self.entry("b")])
        assert store.touch(["a", "b", "a"], now=later(1)) == 2
        assert [entry.access_count for entry in store.list()] == [1, 1]

    def test_touch_ignores_unknown_ids(self, store: Store) -> None:
        """Unknown ids are not counted and not created."""
        store = self.touching(store)
        store.put([self.entry("a")])
        assert store.touch(["nobody", "a"], now=later(1)) == 1
        assert store.touch(["nobody"], now=later(1)) == 0
        assert store.touch([], now=later(1)) == 0
        assert [entry.id for entry in store.list()] == ["a"]

    def test_touch_is_seen_by_searches(self, store: Store) -> None:
        """Hits carry the new access time: decay is counted from it."""
        store = self.touching(store)
        store.put([self.entry("a")])
        for operation in self.reads(store):
            self.read(store, operation)
        store.touch(["a"], now=later(9))
        for operation in self.reads(store):
            (entry,) = self.entries(store, operation)
            assert entry.last_accessed_at == later(9)
            assert entry.access_count == 1
