"""put, get and delete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from nousmem.entry import Entry
from nousmem.errors import EmbeddingMismatch, EntryNotFound, InvalidEntry, InvalidParameter
from nousmem.stores.base import Store, TouchStore, VectorStore, searches_vectors
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    READS,
    ZEBRA,
    StoreCase,
    assert_same,
    each,
    ids,
    later,
)


class Writing(StoreCase):
    """An entry is there from the moment it is put until the moment it is deleted."""

    def test_put_then_get(self, store: Store) -> None:
        """What was put is what get returns."""
        entry = self.entry("a", metadata={"source": "chat"}, user_id="alice")
        store.put([entry])
        assert_same(store.get("a"), entry)

    def test_put_is_found_at_once(self, store: Store) -> None:
        """No index has to be rebuilt by hand between a write and a search."""
        for n, entry_id in enumerate(["a", "b", "c"], start=1):
            store.put([self.entry(entry_id)])
            assert len(self.found(store, ZEBRA)) == n

    def test_put_is_found_at_once_by_its_vector(self, vector_store: VectorStore) -> None:
        """The same for vectors, also where an earlier search may have kept them in memory."""
        for n, entry_id in enumerate(["a", "b", "c"], start=1):
            vector_store.put([self.entry(entry_id)])
            assert len(self.read(vector_store, "search_vector")) == n

    def test_put_returns_how_many_were_given(self, store: Store) -> None:
        """New or replaced makes no difference."""
        assert store.put([self.entry("a"), self.entry("b")]) == 2
        assert store.put([self.entry("b"), self.entry("c"), self.entry("d")]) == 3
        assert len(store.list()) == 4

    def test_put_of_nothing(self, store: Store) -> None:
        """An empty iterable is no mistake."""
        assert store.put([]) == 0
        assert store.list() == []

    def test_put_takes_a_generator(self, store: Store) -> None:
        """Entries may come from anything that can be iterated once."""
        assert store.put(self.entry(name) for name in "abc") == 3
        assert [entry.id for entry in store.list()] == ["a", "b", "c"]
        assert self.found(store, ZEBRA) == ["a", "b", "c"]

    def test_put_replaces_the_whole_entry(self, store: Store) -> None:
        """Nothing of the replaced entry remains: no field, and no text that can be found."""
        store.put(
            [
                self.entry(
                    "a", user_id="alice", metadata={"kept": True}, evergreen=True, access_count=3
                )
            ]
        )
        newer = Entry(MOSQUITO, id="a", created_at=later(1))
        store.put([newer])
        assert_same(store.get("a"), newer)
        assert [entry.id for entry in store.list()] == ["a"]
        assert self.found(store, ZEBRA) == []
        assert self.found(store, MOSQUITO) == ["a"]

    def test_put_replaces_the_vector(self, vector_store: VectorStore) -> None:
        """A replaced entry is not found by its old vector."""
        vector_store.put([self.entry("a"), self.entry("b")])
        vector_store.put([self.entry("a", embedding=None)])
        vector_store.put([self.entry("b", embedding=self.vector(0, 1))])
        assert self.read(vector_store, "search_vector") == []
        assert ids(vector_store.search_vector(self.vector(0, 1))) == ["b"]

    def test_put_keeps_the_last_of_two_with_one_id(self, store: Store) -> None:
        """Of two entries with one id in the same call, the last wins, in every index."""
        last = Entry(MOSQUITO, id="a", created_at=later(1))
        assert store.put([self.entry("a"), self.entry("b"), last]) == 3
        assert_same(store.get("a"), last)
        assert [entry.id for entry in store.list()] == ["b", "a"]
        assert self.found(store, ZEBRA) == ["b"]
        assert self.found(store, MOSQUITO) == ["a"]
        if searches_vectors(store):
            assert self.read(store, "search_vector") == ["b"]

    def test_put_is_all_or_nothing(self, store: Store) -> None:
        """One refused entry in the middle, and neither new nor replaced entries are stored."""
        before = self.entry("a", ZEBRA)
        store.put([before])
        odd = np.ones(self.dimension + 1)
        with pytest.raises(EmbeddingMismatch):
            store.put(
                [
                    self.entry("a", MOSQUITO),
                    self.entry("b", MOSQUITO),
                    self.entry("c", MOSQUITO, embedding=odd),
                    self.entry("d", MOSQUITO),
                ]
            )
        assert [entry.id for entry in store.list()] == ["a"]
        assert_same(store.get("a"), before)
        assert self.found(store, MOSQUITO) == []
        if searches_vectors(store):
            assert self.read(store, "search_vector") == ["a"]

    def test_put_is_all_or_nothing_in_an_empty_store(self, store: Store) -> None:
        """Entries of one call must agree with each other, too."""
        odd = np.ones(self.dimension + 1)
        with pytest.raises(EmbeddingMismatch):
            store.put([self.entry("a"), self.entry("b", embedding=odd)])
        assert store.list() == []
        assert self.found(store, ZEBRA) == []
        assert store.put([self.entry("c")]) == 1, "the store must work on after a refusal"

    def test_put_survives_a_source_that_fails(self, store: Store) -> None:
        """When the iterable itself raises, its error comes out and nothing is stored."""

        def broken() -> Iterator[Entry]:
            yield self.entry("a")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.put(broken())
        assert store.list() == []
        assert self.found(store, ZEBRA) == []

    def test_put_refuses_what_is_no_entry(self, store: Store) -> None:
        """Text, mappings, or one entry in place of several: InvalidEntry, and nothing is stored."""
        wrong: list[Any] = [[self.entry("a"), ZEBRA], [{"content": ZEBRA}], [None], ZEBRA]

        def check(entries: Any) -> None:
            with pytest.raises(InvalidEntry):
                store.put(entries)
            assert store.list() == []

        each([*wrong, self.entry("a")], check)

    def test_one_text_is_not_several_ids(self, store: Store) -> None:
        """An id given in place of a list of ids is refused, not read letter by letter."""
        store.put([self.entry(name) for name in ["a", "b", "ab"]])
        with pytest.raises(InvalidParameter):
            store.delete("ab")
        if hasattr(store, "touch"):
            with pytest.raises(InvalidParameter):
                cast("TouchStore", store).touch("ab", now=later(1))
        assert [entry.access_count for entry in store.list()] == [0, 0, 0]

    def test_get_of_an_unknown_id(self, store: Store) -> None:
        """An unknown id is EntryNotFound, which knows the id."""
        store.put([self.entry("a")])
        with pytest.raises(EntryNotFound) as caught:
            store.get("b")
        assert caught.value.entry_id == "b"

    def test_ids_are_compared_exactly(self, store: Store) -> None:
        """Neither case, nor spaces, nor wildcards, nor Unicode forms make two ids the same."""
        names = [
            "a",
            "A",
            "a ",
            "%",
            "_",
            "*",
            "caf\u00e9",
            "cafe\u0301",
            "1",
            "01",
            "'",
            "\U0001f600",
        ]
        store.put([self.entry(name) for name in names])
        for nobody in ("a\x00", "\x00", "a\ud800", "b"):
            assert store.delete([nobody]) == 0
            with pytest.raises(EntryNotFound):
                store.get(nobody)
        assert sorted(entry.id for entry in store.list()) == sorted(names)
        for name in names:
            assert store.get(name).id == name
        assert store.delete(["A", "%"]) == 2
        assert sorted(entry.id for entry in store.list()) == sorted(set(names) - {"A", "%"})

    def test_delete_returns_how_many_existed(self, store: Store) -> None:
        """Unknown ids are no mistake; an id named twice existed once."""
        store.put([self.entry(name) for name in "abcd"])
        assert store.delete([]) == 0
        assert store.delete(["nobody"]) == 0
        assert store.delete(["a", "nobody", "b", "a"]) == 2
        assert store.delete(name for name in ["a", "c"]) == 1
        assert [entry.id for entry in store.list()] == ["d"]

    @pytest.mark.parametrize("operation", READS)
    def test_delete_leaves_nothing_findable(self, store: Store, operation: str) -> None:
        """A deleted entry is gone from every read, and the others stay."""
        store.put([self.entry(name) for name in "abc"])
        store.delete(["b"])
        assert sorted(self.read(store, operation)) == ["a", "c"]
        with pytest.raises(EntryNotFound):
            store.get("b")

    def test_a_reused_id_inherits_nothing(self, store: Store) -> None:
        """An entry put under the id of a deleted one has only its own text and vector."""
        store.put([self.entry("a", metadata={"old": 1}, access_count=5)])
        store.delete(["a"])
        fresh = Entry(LYNX, id="a", created_at=later(2))
        store.put([fresh])
        assert_same(store.get("a"), fresh)
        assert self.found(store, ZEBRA) == []
        assert self.found(store, LYNX) == ["a"]
        if searches_vectors(store):
            assert self.read(store, "search_vector") == []

    def test_an_empty_store(self, store: Store) -> None:
        """Nothing in, nothing out, and no error."""
        assert store.list() == []
        assert ids(store.search_text(ZEBRA)) == []
        assert store.delete(["a"]) == 0
        with pytest.raises(EntryNotFound):
            store.get("a")

    def test_a_store_that_was_emptied(self, store: Store) -> None:
        """A store from which everything was deleted is like a new one."""
        store.put([self.entry(name, embedder="first-model") for name in "ab"])
        store.delete(["a", "b"])
        assert store.list() == []
        assert self.found(store, ZEBRA) == []
        assert store.put([self.entry("c", embedder="second-model")]) == 1
