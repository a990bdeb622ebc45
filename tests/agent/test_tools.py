from __future__ import annotations

import logging
import subprocess
import sys
from datetime import timedelta
from threading import Barrier, Event, Thread
from typing import Any

import pytest

import nousmem as nm
from nousmem.agent import MemoryAccess, forget, recall, remember
from nousmem.agent._writing import change


def contents(access: MemoryAccess) -> list[str]:
    return [entry.content for entry in access.opened_store.list()]


def access_like(access: MemoryAccess, **options: Any) -> MemoryAccess:
    return MemoryAccess(store=access.opened_store, clock=access.clock, **options)


class TestRemember:
    def test_the_same_thing_twice_is_one_entry(self, access: MemoryAccess, clock):
        first = remember(access, "Keeps bees", importance=0.8, metadata={"a": 1, "b": 1})
        clock.advance(hours=1)
        again = remember(
            access, "  keeps   BEES ", importance=0.3, evergreen=True, metadata={"b": 2}
        )
        assert again["id"] == first["id"]
        (entry,) = access.opened_store.list()
        assert (entry.content, entry.importance, entry.evergreen) == ("Keeps bees", 0.8, True)
        assert entry.metadata == {"a": 1, "b": 2}
        assert entry.last_accessed_at == entry.updated_at == clock.now

    def test_what_counts_as_the_same_is_what_find_duplicates_says(self, access: MemoryAccess):
        texts = ["Straße 10²", "strasse 10²", "Straße 102", "é t", "e\u0301  T", "et"]
        loose = nm.open_store("memory:")
        loose.put(nm.Entry(text, agent_id="assistant", user_id="alice") for text in texts)
        groups = nm.find_duplicates(loose)
        for text in texts:
            remember(access, text)
        assert len(contents(access)) == len(texts) - sum(len(g.entries) - 1 for g in groups)

    @pytest.mark.parametrize(
        "other",
        [
            {"agent_id": "assistant", "user_id": "bob"},
            {"agent_id": "other", "user_id": "alice"},
            {"agent_id": "assistant", "user_id": "alice", "namespace": "n"},
            {"agent_id": "assistant"},
        ],
    )
    def test_somebody_else_s_memory_is_not_the_same(self, access: MemoryAccess, other):
        remember(access, "Keeps bees")
        remember(access_like(access, **other), "Keeps bees")
        assert contents(access) == ["Keeps bees"] * 2

    def test_another_type_is_not_the_same(self, access: MemoryAccess):
        remember(access, "Feeding the bees")
        remember(access, "Feeding the bees", type="procedural")
        assert len(contents(access)) == 2

    @pytest.mark.parametrize(("search_scope", "kept"), [("agent", 1), ("session", 2)])
    def test_sessions_are_told_apart_when_they_are_searched_apart(self, store, search_scope, kept):
        for session in ("monday", "tuesday"):
            access = MemoryAccess(
                store=store,
                agent_id="a",
                user_id="u",
                session_id=session,
                default_search_scope=search_scope,
            )
            remember(access, "Keeps bees")
        assert len(store.list()) == kept

    def test_what_was_replaced_can_be_learnt_again(self, access: MemoryAccess, clock):
        first = remember(access, "Likes blue")
        clock.advance(days=1)
        change(access, first["id"], content="Likes green")
        clock.advance(days=1)
        again = remember(access, "Likes blue")
        assert again["id"] != first["id"]
        assert sorted(contents(access)) == ["Likes blue", "Likes green"]

    def test_many_at_once_make_one_entry(self, access: MemoryAccess):
        barrier = Barrier(8)

        def say_it() -> None:
            barrier.wait()
            remember(access, "Keeps bees")

        threads = [Thread(target=say_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert contents(access) == ["Keeps bees"]

    def test_a_failing_embedder_costs_the_vector_alone(self, store, broken_embedder, caplog):
        access = MemoryAccess(store=store, embedder=broken_embedder)
        with caplog.at_level(logging.WARNING):
            assert remember(access, "Keeps bees")["status"] == "remembered"
        assert store.list()[0].embedding is None
        assert "out of memory" in caplog.text

    def test_the_vector_carries_its_embedder(self, store):
        embedder = nm.open_embedder("hashing")
        remember(MemoryAccess(store=store, embedder=embedder), "Keeps bees")
        assert store.list()[0].embedder == embedder.fingerprint

    def test_another_embedder_s_store_is_said_to_be_one(self, store):
        store.put([nm.Entry("Sails", embedding=[1.0, 0.0], embedder="other")])
        access = MemoryAccess(store=store, embedder="hashing")
        for result in (remember(access, "Keeps bees"), recall(access, "bees")):
            assert result["status"] == "error"
            assert "other" in result["message"]

    @pytest.mark.parametrize(
        "metadata", [{"type": "x"}, {"existing": 1}, {"session_id": "s"}, {"id": "i", "content": 2}]
    )
    def test_metadata_keys_never_meet_the_fields_of_an_entry(self, access, metadata):
        given = remember(access, "Keeps bees", metadata=metadata)
        (entry,) = access.opened_store.list()
        assert (entry.id, entry.content, entry.session_id) == (given["id"], "Keeps bees", None)
        assert recall(access, "bees")["memories"][0]["metadata"] == metadata


class TestRecall:
    def test_accesses_are_recorded_in_one_write(self, access: MemoryAccess, clock, monkeypatch):
        for text in ("Keeps bees", "Keeps hens", "Keeps time"):
            remember(access, text)
        store, writes = access.opened_store, []
        touch = type(store).touch
        monkeypatch.setattr(
            type(store), "touch", lambda *args, **more: writes.append(1) or touch(*args, **more)
        )
        clock.advance(hours=1)
        assert recall(access, "keeps", limit=3)["count"] == 3
        assert writes == [1]
        for entry in store.list():
            assert (entry.access_count, entry.last_accessed_at) == (1, clock.now)
            assert entry.updated_at == entry.created_at

    def test_accesses_that_cannot_be_recorded_do_not_hide_what_was_found(
        self, access, monkeypatch, caplog
    ):
        remember(access, "Keeps bees")

        def fail(*args: Any, **more: Any) -> int:
            raise OSError("read-only")

        monkeypatch.setattr(type(access.opened_store), "touch", fail)
        assert recall(access, "bees")["count"] == 1
        assert "read-only" in caplog.text

    def test_a_failing_embedder_leaves_the_text_leg(self, store, broken_embedder, caplog):
        remember(MemoryAccess(store=store), "Keeps bees")
        assert recall(MemoryAccess(store=store, embedder=broken_embedder), "bees")["count"] == 1
        assert "without vectors" in caplog.text

    def test_nothing_of_others_is_found(self, access: MemoryAccess):
        for user in ("alice", "bob"):
            remember(access_like(access, agent_id="assistant", user_id=user), f"{user} keeps bees")
        found = recall(access, "who keeps bees", limit=50)["memories"]
        assert [one["content"] for one in found] == ["alice keeps bees"]

    def test_a_type_is_searched_for_among_all(self, access: MemoryAccess):
        for n in range(40):
            remember(access, f"Bees bees bees {n}", importance=1.0)
        remember(access, "How to feed the bees", type="procedural", importance=0.0)
        assert recall(access, "bees", type="procedural", limit=1)["count"] == 1

    def test_a_store_without_touch_is_updated_entry_by_entry(self, clock):
        class Plain:
            """A store with the required operations alone."""

            def __init__(self) -> None:
                inner = nm.open_store("memory:")
                for name in ("put", "get", "update", "delete", "list", "search_text"):
                    setattr(self, name, getattr(inner, name))

        access = MemoryAccess(store=Plain(), clock=clock)
        remember(access, "Keeps bees")
        recall(access, "bees")
        recall(access, "bees")
        assert access.opened_store.list()[0].access_count == 2


class TestForget:
    @pytest.mark.parametrize("owner", [{"user_id": "bob"}, {"user_id": None}, {"agent_id": "x"}])
    def test_others_memories_cannot_be_forgotten_nor_told_from_absent_ones(self, access, owner):
        entry = nm.Entry("Sails", **{"agent_id": "assistant", "user_id": "alice", **owner})
        access.opened_store.put([entry])
        theirs, absent = forget(access, entry.id), forget(access, "nope")
        assert theirs["status"] == absent["status"] == "not_found"
        assert theirs["message"].replace(entry.id, "nope") == absent["message"]
        assert contents(access) == ["Sails"]

    def test_the_history_of_a_memory_goes_with_it(self, access: MemoryAccess, clock):
        entry_id = remember(access, "Lives in Arden")["id"]
        for town in ("Brill", "Corve"):
            clock.advance(days=1)
            entry_id = change(access, entry_id, content=f"Lives in {town}").entry.id
        remember(access, "Keeps bees")
        assert forget(access, entry_id)["status"] == "forgotten"
        everything = access.opened_store.list(include_superseded=True)
        assert [entry.content for entry in everything] == ["Keeps bees"]

    def test_twice_is_once(self, access: MemoryAccess):
        entry_id = remember(access, "Keeps bees")["id"]
        assert forget(access, entry_id)["status"] == "forgotten"
        assert forget(access, entry_id)["status"] == "not_found"

    def test_dropping_one_access_leaves_the_store_of_the_other(self, store, clock):
        one = MemoryAccess(store=store, agent_id="one", clock=clock)
        other = MemoryAccess(store=store, agent_id="other", clock=clock)
        remember(one, "Keeps bees")
        remember(other, "Sails")
        del one
        assert recall(other, "sails")["count"] == 1
        assert len(store.list()) == 2


class TestAccess:
    @pytest.mark.parametrize(
        "options",
        [
            {"store": None},
            {"store": object()},
            {"store": "memory:", "embedder": object()},
            {"store": "memory:", "scoring": {"decay_lambda": 0}},
            {"store": "memory:", "default_search_scope": "agents"},
            {"store": "memory:", "default_search_scope": "user"},
            {"store": "memory:", "user_id": 5},
            {"store": "memory:", "clock": 5},
            {"store": "nothing:"},
            {"store": "memory:", "embedder": "nothing"},
        ],
    )
    def test_a_wrong_option_is_refused(self, options):
        with pytest.raises(nm.NousmemError):
            MemoryAccess(**options)

    def test_an_unknown_option_is_refused(self):
        with pytest.raises(TypeError, match="agent_name"):
            MemoryAccess(store="memory:", agent_name="assistant")

    def test_a_clock_without_a_time_zone_is_an_error(self, access):
        naive = MemoryAccess(store="memory:", clock=lambda: access.now().replace(tzinfo=None))
        assert "time zone" in remember(naive, "Keeps bees")["message"]

    def test_a_url_opens_the_store(self):
        access = MemoryAccess(store="sqlite::memory:", embedder="hashing")
        remember(access, "Keeps bees")
        assert recall(access, "bees")["count"] == 1


def test_history_is_found_as_of_then_and_not_now(access: MemoryAccess, clock):
    entry_id = remember(access, "Lives in Arden")["id"]
    then = clock.now
    clock.advance(days=30)
    change(access, entry_id, content="Lives in Brill")
    store = access.opened_store
    assert contents(access) == ["Lives in Brill"]
    search = nm.Search(store)
    assert [hit.entry.content for hit in search("lives in")] == ["Lives in Brill"]
    past = search("lives in", as_of=then + timedelta(days=29))
    assert [hit.entry.content for hit in past] == ["Lives in Arden"]


TOOLS_ALONE = """
import sys
sys.modules["pydantic_ai"] = None  # an import raises
import nousmem as nm
from nousmem.agent import MemoryAccess, forget, recall, remember
access = MemoryAccess(store="memory:")
remember(access, "Keeps bees")
assert recall(access, "bees")["count"] == 1
try:
    from nousmem.agent import Memory
except nm.MissingDependency as error:
    assert "nousmem[agent]" in str(error)
else:
    raise SystemExit("Memory was there")
"""


def test_the_tools_need_no_agent_framework():
    subprocess.run([sys.executable, "-W", "error", "-c", TOOLS_ALONE], check=True, timeout=120)


def test_reading_is_not_changing_in_a_store_that_cannot_touch(clock):
    class Plain:
        """Offers what is required of a store, and no more."""

        def __init__(self) -> None:
            inner = nm.open_store("memory:")
            for name in ("put", "get", "update", "delete", "list", "search_text"):
                setattr(self, name, getattr(inner, name))

    access = MemoryAccess(store=Plain(), clock=clock)
    entry_id = remember(access, "Keeps bees")["id"]
    made = clock.now
    clock.advance(days=1)
    recall(access, "bees")
    entry = access.opened_store.get(entry_id)
    assert (entry.access_count, entry.last_accessed_at, entry.updated_at) == (1, clock.now, made)


def test_many_accesses_that_say_the_same_make_one_entry_each(store):
    accesses = [MemoryAccess(store=store, user_id="ada") for _ in range(6)]
    together = Barrier(len(accesses))

    def say(access: MemoryAccess) -> None:
        for n in range(20):
            together.wait(30)
            assert remember(access, f"Fact number {n}")["status"] == "remembered"

    threads = [Thread(target=say, args=(access,)) for access in accesses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry.content for entry in store.list()) == sorted(
        f"Fact number {n}" for n in range(20)
    )


def test_a_store_that_cannot_be_told_from_others_can_be_used():
    class Unhashable:
        """Anybody's own."""

        __hash__ = None  # type: ignore[assignment]

        def __init__(self) -> None:
            inner = nm.open_store("memory:")
            for name in ("put", "get", "update", "delete", "list", "search_text"):
                setattr(self, name, getattr(inner, name))

    assert remember(MemoryAccess(store=Unhashable()), "Keeps bees")["status"] == "remembered"


@pytest.mark.parametrize("verb", ["remember", "change"])
def test_others_write_while_an_embedder_is_slow(store, verb):
    class Slow:
        """Answers when somebody else has written."""

        fingerprint, dimension = "slow", 2

        def __init__(self) -> None:
            self.asked, self.go_on = Event(), Event()

        def embed_documents(self, texts: list[str]) -> Any:
            self.asked.set()
            assert self.go_on.wait(30)
            return [[1.0, 0.0] for _ in texts]

        embed_queries = embed_documents

    slow = Slow()
    near = MemoryAccess(store=store, user_id="bob")
    far = MemoryAccess(store=store, user_id="ada", embedder=slow)
    entry_id = remember(MemoryAccess(store=store, user_id="ada"), "Lives in Arden")["id"]
    act = {
        "remember": lambda: remember(far, "Sails"),
        "change": lambda: change(far, entry_id, content="Sails"),
    }
    thread = Thread(target=act[verb])
    thread.start()
    assert slow.asked.wait(30)
    writing = Thread(target=lambda: remember(near, "Keeps bees"))
    writing.start()
    writing.join(10)
    waited = writing.is_alive()
    slow.go_on.set()
    thread.join()
    writing.join()
    assert not waited
    (sails,) = (entry for entry in store.list() if entry.content == "Sails")
    assert sails.embedder == "slow"
    assert sails.embedding is not None
