"""forget, compact and check: what is erased, what stays, and that a whole store has no fault."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nousmem.errors import EntryNotFound, InvalidScope
from nousmem.scope import GLOBAL, Scope
from nousmem.stores.base import KeptStore, Store
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    READS,
    ZEBRA,
    StoreCase,
    assert_same,
    each,
    later,
)

NARROWS_NOTHING: list[Any] = [GLOBAL, Scope(), {}]
MEANS_NOTHING: list[Any] = [{"user": "alice"}, {"user_id": 7}, None, "alice"]


class Caring(StoreCase):
    """What a store that can be looked after erases is gone, and nothing else is."""

    @pytest.fixture
    def kept_store(self, store: Store) -> KeptStore:
        """Give a new, empty store that can forget, or skip the test."""
        return able(store, "forget")

    @pytest.mark.parametrize("operation", READS)
    def test_forget_erases_a_scope_and_nothing_else(
        self, kept_store: KeptStore, operation: str
    ) -> None:
        """Every entry of the scope goes, whatever its type; those of all others stay."""
        owners = ["alice", "alice", "alice2", "Alice", "alic", "a%", "", "bob", None]
        kept_store.put(
            self.entry(f"{n}", user_id=owner, type="episodic" if n else "semantic")
            for n, owner in enumerate(owners)
        )
        assert len(self.read(kept_store, operation)) == len(owners)
        assert kept_store.forget(Scope(user_id="alice")) == 2
        assert sorted(self.read(kept_store, operation)) == ["2", "3", "4", "5", "6", "7", "8"]
        assert kept_store.forget(Scope(user_id="alice")) == 0
        assert kept_store.forget({"user_id": "bob", "type": "semantic"}) == 0
        assert kept_store.forget({"user_id": None, "type": "episodic"}) == 1
        assert kept_store.forget(Scope(user_id="")) == 1
        assert sorted(self.read(kept_store, operation)) == ["2", "3", "4", "5", "7"]

    def test_forget_erases_history_too(self, kept_store: KeptStore) -> None:
        """Superseded entries are invisible to searches, and no less somebody's."""
        kept_store.put(
            [
                self.entry("old", user_id="alice", superseded_at=later(5), superseded_by="new"),
                self.entry("new", user_id="alice", created_at=later(5)),
                self.entry("other", user_id="bob", superseded_at=later(5)),
            ]
        )
        assert kept_store.forget(Scope(user_id="alice")) == 2
        assert [e.id for e in kept_store.list(include_superseded=True)] == ["other"]
        assert self.read(kept_store, "list", as_of=later(1)) == ["other"]
        with pytest.raises(EntryNotFound):
            kept_store.get("old")

    def test_forget_needs_somebody_to_forget(self, kept_store: KeptStore) -> None:
        """Everything goes only when everything is asked for by name."""
        entries = [self.entry("a", user_id="alice"), self.entry("b")]
        kept_store.put(entries)

        def refused(scope: Any) -> None:
            with pytest.raises(InvalidScope):
                kept_store.forget(scope)

        each([*NARROWS_NOTHING, *MEANS_NOTHING], refused)
        with pytest.raises(InvalidScope):
            kept_store.forget(Scope(user_id="alice"), everything=True)
        assert kept_store.list() == entries
        assert kept_store.forget(GLOBAL, everything=True) == 2
        assert kept_store.list(include_superseded=True) == []
        assert kept_store.put([self.entry("c", embedder="another-model")]) == 1

    def test_a_whole_store_has_no_fault(self, store: Store) -> None:
        """Check finds nothing after ordinary work, and neither it nor compact changes anything."""
        kept_store = able(store, "check", "compact")
        kept_store.put([self.entry(name, user_id="alice") for name in "abcd"])
        kept_store.put([self.entry("a", MOSQUITO), self.entry("e", embedding=None)])
        kept_store.update("b", content=LYNX, now=later(1))
        kept_store.delete(["c", "d"])
        before = kept_store.list()
        found = {name: self.read(kept_store, name) for name in self.reads(kept_store)}
        for repair in (False, True):
            assert list(kept_store.check(repair=repair)) == []
            kept_store.compact()
            for got, wanted in zip(kept_store.list(), before, strict=True):
                assert_same(got, wanted)
            assert {name: self.read(kept_store, name) for name in found} == found
        assert self.found(kept_store, LYNX) == ["b"]
        assert self.found(kept_store, ZEBRA) == ["e"]


def able(store: Store, *abilities: str) -> KeptStore:
    """Return the same store, or skip the test if it lacks one of the methods."""
    for name in abilities:
        if not hasattr(store, name):
            pytest.skip(f"this store has no {name}")
    return cast("KeptStore", store)
