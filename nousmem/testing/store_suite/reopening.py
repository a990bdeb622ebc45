"""Stores apart from each other, and the same store again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nousmem.errors import EmbeddingMismatch, EntryNotFound
from nousmem.stores.base import Store, searches_vectors
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    ZEBRA,
    OpenAt,
    StoreCase,
    assert_same,
    close,
    later,
)

Reopen = Callable[[Store | None], Store]
"""Closes the store, if one is given, and opens what is at its place."""


class Reopening(StoreCase):
    """A store is what it was opened on, no more and no less."""

    def test_two_stores_share_nothing(self, open_at: OpenAt) -> None:
        """Two stores open at once keep their entries, and their embedders, to themselves."""
        one, two = open_at("one"), open_at("two")
        one.put([self.entry("a", embedder="first-model")])
        two.put(
            [
                self.entry("a", MOSQUITO, embedder="second-model"),
                self.entry("b", MOSQUITO, embedding=None),
            ]
        )
        assert [entry.id for entry in one.list()] == ["a"]
        assert self.found(one, MOSQUITO) == []
        assert self.found(two, ZEBRA) == []
        two.delete(["a"])
        assert_same(one.get("a"), self.entry("a", embedder="first-model"))
        with pytest.raises(EntryNotFound):
            one.get("b")
        close(one)
        assert [entry.id for entry in two.list()] == ["b"]

    def test_closing_twice_is_harmless(self, store: Store) -> None:
        """A store that can be closed can be closed again."""
        if not hasattr(store, "close"):
            pytest.skip("this store has no close")
        close(store)
        close(store)

    @pytest.fixture
    def reopen(self, open_at: OpenAt) -> Reopen:
        """Give a function that closes a store and opens it again, or skip the test."""
        if not self.persistent:
            pytest.skip("this store does not declare persistent = True")

        def reopen(store: Store | None) -> Store:
            close(store)
            return open_at("kept")

        return reopen

    def test_reopening_keeps_everything(self, reopen: Reopen) -> None:
        """Entries, text search and vectors are there after closing and opening again."""
        entries = [
            self.entry("a", metadata={"x": [1, "ü"]}, user_id="alice", embedder="some-model"),
            self.entry("b", MOSQUITO, created_at=later(1), embedding=None),
            self.entry("c", created_at=later(2), superseded_at=later(3), superseded_by="a"),
            self.entry("d", embedding=self.vector(0.6, 0.8), created_at=later(4), access_count=2),
        ]
        store = reopen(None)
        store.put(entries)
        before = {operation: self.read(store, operation) for operation in self.reads(store)}
        store = reopen(store)
        for got, wanted in zip(store.list(include_superseded=True), entries, strict=True):
            assert_same(got, wanted)
        assert {operation: self.read(store, operation) for operation in before} == before
        assert self.found(store, MOSQUITO) == ["b"]

    def test_reopening_keeps_updates_and_deletions(self, reopen: Reopen) -> None:
        """What was changed stays changed, and what was deleted stays away."""
        store = reopen(None)
        store.put([self.entry(name) for name in "abc"])
        store.update("a", content=MOSQUITO, now=later(1))
        store.delete(["b"])
        store = reopen(store)
        assert [entry.id for entry in store.list()] == ["a", "c"]
        assert store.get("a").updated_at == later(1)
        assert self.found(store, ZEBRA) == ["c"]
        assert self.found(store, MOSQUITO) == ["a"]
        if searches_vectors(store):
            assert self.read(store, "search_vector") == ["c"]

    def test_a_reopened_store_can_be_written(self, reopen: Reopen) -> None:
        """It replaces, changes and deletes the entries that were there before."""
        store = reopen(None)
        store.put([self.entry(name) for name in "abc"])
        store = reopen(store)
        store.put([self.entry("a", MOSQUITO), self.entry("d")])
        store.update("b", content=LYNX, now=later(1))
        store.delete(["c"])
        for _ in range(2):
            assert [entry.id for entry in store.list()] == ["a", "b", "d"]
            assert self.found(store, ZEBRA) == ["d"]
            assert self.found(store, MOSQUITO) == ["a"]
            assert self.found(store, LYNX) == ["b"]
            store = reopen(store)

    def test_reopening_keeps_the_embedder(self, reopen: Reopen) -> None:
        """The store still refuses another embedder and another length."""
        store = reopen(None)
        store.put([self.entry("a", embedder="first-model")])
        store = reopen(store)
        with pytest.raises(EmbeddingMismatch):
            store.put([self.entry("b", embedder="second-model")])
        with pytest.raises(EmbeddingMismatch):
            store.put([self.entry("b", embedding=np.ones(self.dimension + 1))])
