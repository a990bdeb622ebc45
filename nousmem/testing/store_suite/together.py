"""Several threads, and several handles, on one store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from nousmem.stores.base import Store, TouchStore, searches_vectors
from nousmem.testing.store_suite._case import MOSQUITO, ZEBRA, OpenAt, StoreCase, later

THREADS = 4
TIMES = 15
BATCH = 20


class Together(StoreCase):
    """An agent works in several threads at once: no write is lost, none is seen by half."""

    def test_writes_of_several_threads_all_arrive(self, store: Store) -> None:
        """Entries put from threads other than the one that opened the store are all there."""

        def put(thread: int) -> None:
            for n in range(TIMES):
                store.put([self.entry(f"{thread}-{n:02}")])
                store.update(f"{thread}-{n:02}", content=MOSQUITO, now=later(1))
                assert store.get(f"{thread}-{n:02}").content == MOSQUITO

        at_once([lambda thread=thread: put(thread) for thread in range(THREADS)])
        wanted = sorted(f"{thread}-{n:02}" for thread in range(THREADS) for n in range(TIMES))
        assert [entry.id for entry in store.list()] == wanted
        assert self.found(store, MOSQUITO) == wanted
        assert self.found(store, ZEBRA) == []

    def test_accesses_of_several_threads_are_all_counted(self, store: Store) -> None:
        """An access adds to what is stored, not to what was read a moment ago."""
        if not hasattr(store, "touch"):
            pytest.skip("this store has no touch: accesses are recorded by update")
        touched = cast("TouchStore", store)
        store.put([self.entry("a"), self.entry("b")])

        def touch() -> None:
            for _ in range(TIMES):
                touched.touch(["a", "b"], now=later(1))

        at_once([touch] * THREADS)
        assert [entry.access_count for entry in store.list()] == [THREADS * TIMES] * 2

    def test_a_reader_never_sees_half_a_write(self, store: Store) -> None:
        """While batches are put, replaced and deleted, every read finds whole batches."""
        entries = [self.entry(f"{n:02}") for n in range(BATCH)]
        names = [entry.id for entry in entries]
        done: list[bool] = []

        def write() -> None:
            try:
                for _ in range(TIMES):
                    store.put(entries)
                    store.put(entry.replace(importance=0.9) for entry in entries)
                    store.delete(names)
            finally:
                done.append(True)

        def read() -> None:
            while not done:
                assert len(store.list()) in (0, BATCH)
                assert len({entry.importance for entry in store.list()}) <= 1
                assert len(store.search_text(ZEBRA, limit=BATCH)) in (0, BATCH)
                if searches_vectors(store):
                    assert len(store.search_vector(self.vector(1), limit=BATCH)) in (0, BATCH)

        at_once([write, read])
        assert store.list() == []

    def test_two_handles_see_each_other(self, open_at: OpenAt) -> None:
        """What one handle writes, another that was open before finds at once, in every leg."""
        if not self.shared:
            pytest.skip("this store does not declare shared = True")
        one, two = open_at("shared"), open_at("shared")
        one.put([self.entry(name) for name in "abc"])
        for operation in self.reads(two):
            assert sorted(self.read(two, operation)) == ["a", "b", "c"]
        two.update("a", content=MOSQUITO, embedding=self.vector(0, 1), now=later(1))
        two.delete(["b"])
        two.put([self.entry("d")])
        for operation in self.reads(one):
            expected = ["a", "c", "d"] if operation == "list" else ["c", "d"]
            assert sorted(self.read(one, operation)) == expected
        assert self.found(one, MOSQUITO) == ["a"]
        assert one.get("a").updated_at == later(1)


def at_once(tasks: Iterable[Callable[[], Any]]) -> None:
    """Run each task in a thread of its own, and raise the first error of any of them."""
    tasks = list(tasks)
    with ThreadPoolExecutor(len(tasks)) as threads:
        for running in [threads.submit(task) for task in tasks]:
            running.result()
