"""What comes out is what went in: text, metadata, instants, vectors."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from nousmem.entry import Entry
from nousmem.stores.base import Store
from nousmem.testing.store_suite._case import READS, T0, ZEBRA, StoreCase, assert_same, each, later

CONTENTS = [
    "naïve café, Ærøskøbing, Straße",
    "cafe\u0301 with a combining accent",
    "用户喜欢混合检索",
    "தமிழ் வாக்கியம்",
    "مرحبا بالعالم",
    "\U0001f469\u200d\U0001f4bb writes code \U0001f680",
    "  leading, trailing and   inner spaces  ",
    "line\r\nbreaks\n\nand\ttabs",
    """quotes ' " ` '' \\ and ; --""",
    "\ufeffa byte order mark",
    "\x01\x1f control characters \x7f",
    "null",
    "123",
    "zebra " * 5000,
]

METADATA: list[dict[str, Any]] = [
    {},
    {"": "empty key", " ": "blank key"},
    {"type": "t", "id": 1, "content": None, "session_id": "s", "existing": True, "metadata": {}},
    {"deep": {"list": [1, [2, {"three": [None, False]}]], "text": "ünïcode \U0001f600"}},
    {"true": True, "one": 1, "float": 1.0, "text": "1", "none": None, "no": False, "zero": 0},
    {"big": 2**60 + 1, "small": -(2**53) - 1, "tenth": 0.1, "tiny": 5e-324, "huge": 1.7e308},
    {"a.b": 1, "$x": 2, "a/b": 3, "it's": 4, 'say "hi"': 5, "\\": 6, "'; DROP TABLE x; --": 7},
    {"date": "2026-03-15T12:00:00Z", "json": '{"a": [1]}', "text": "null"},
]

INSTANTS = [
    datetime(2026, 3, 15, 12, 0, 0, 123456, tzinfo=UTC),
    datetime(2026, 3, 15, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 3, 15, 12, 0, 0, 999999, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1582, 10, 10, 1, 2, 3, 4, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 3, 29, 2, 30, tzinfo=UTC),
    datetime(2026, 3, 15, 17, 30, 0, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))),
]


class Keeping(StoreCase):
    """Every field of an entry survives, exactly."""

    def test_content(self, store: Store) -> None:
        """The text comes back character by character."""
        store.put(Entry(text, id=f"{n:02}", created_at=T0) for n, text in enumerate(CONTENTS))

        def check(n: int) -> None:
            assert store.get(f"{n:02}").content == CONTENTS[n]
            assert store.list()[n].content == CONTENTS[n]

        each(range(len(CONTENTS)), check)

    def test_metadata(self, store: Store) -> None:
        """Metadata is any JSON; its keys collide with nothing, its numbers keep their type."""
        entries = [self.entry(f"{n}", metadata=value) for n, value in enumerate(METADATA)]
        store.put(entries)

        def check(n: int) -> None:
            assert_same(store.get(f"{n}"), entries[n])
            assert_same(store.list()[n], entries[n])

        each(range(len(METADATA)), check)

    def test_instants(self, store: Store) -> None:
        """Times are kept to the microsecond, before 1970 too, and come back in UTC."""

        def check(moment: datetime) -> None:
            entry = self.entry(
                "a",
                created_at=moment,
                updated_at=T0,
                last_accessed_at=moment,
                superseded_at=moment,
                superseded_by="b",
            )
            store.put([entry])
            assert_same(store.get("a"), entry)
            assert_same(store.list(include_superseded=True)[0], entry)

        each(INSTANTS, check)

    def test_four_different_instants(self, store: Store) -> None:
        """No time stands for another one."""
        entry = self.entry(
            "a",
            created_at=later(1),
            updated_at=later(2),
            last_accessed_at=later(3),
            superseded_at=later(4),
        )
        store.put([entry])
        assert_same(store.get("a"), entry)

    @pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system cannot change time zone")
    def test_the_time_zone_of_the_process_does_not_matter(self, store: Store) -> None:
        """Written in Tokyo, read in Los Angeles: the same instants."""
        entry = self.entry("a")
        with time_zone("Asia/Tokyo"):
            store.put([entry])
            assert_same(store.get("a"), entry)
        with time_zone("America/Los_Angeles"):
            assert_same(store.get("a"), entry)
            assert [found.id for found in store.list(as_of=T0)] == ["a"]
            assert store.list(as_of=T0 - timedelta(microseconds=1)) == []

    def test_embeddings_keep_every_bit(self, store: Store) -> None:
        """An embedding comes back as the same float32 numbers."""
        random = np.random.default_rng(7)
        rows = random.standard_normal((20, self.dimension)).astype(np.float32)
        rows[0, :3] = np.float32(0.1), np.float32(1 / 3), np.float32(-0.0)
        rows[1, :3] = np.float32(1e-38), np.float32(1e-45), np.float32(-2.5)
        entries = [self.entry(f"{n:02}", embedding=row) for n, row in enumerate(rows)]
        store.put(entries)
        for entry in entries:
            assert_same(store.get(entry.id), entry)

    def test_every_other_field(self, store: Store) -> None:
        """Scope fields, importance, counts and the embedder's fingerprint."""
        full = self.entry(
            "a",
            type="episodic",
            importance=0.1 + 0.2,
            evergreen=True,
            agent_id="agent",
            session_id="",
            user_id="alice's \\ 50%",
            namespace="\U0001f600",
            embedder="some-model v1.0 (normalised)",
            access_count=2**40,
        )
        bare = Entry("bare", id="b", created_at=later(1))
        store.put([full, bare])
        assert_same(store.get("a"), full)
        assert_same(store.get("b"), bare)

    @pytest.mark.parametrize("operation", READS)
    def test_every_read_returns_whole_entries(self, store: Store, operation: str) -> None:
        """The list and the searches return the same entries as get."""
        entry = self.entry(
            "a",
            metadata={"x": [1, 2.5, "ü"]},
            importance=0.7,
            user_id="alice",
            embedding=self.vector(0.1, 0.7),
            embedder="some-model",
            last_accessed_at=later(2),
        )
        store.put([entry])
        (got,) = self.entries(store, operation)
        assert_same(got, entry)

    def test_many_entries_in_one_put(self, store: Store) -> None:
        """A batch larger than any internal block is stored whole."""
        entries = [
            self.entry(f"{n:05}", metadata={"n": n}, embedding=self.vector(1, n))
            for n in range(2500)
        ]
        assert store.put(entries) == len(entries)
        for got, wanted in zip(store.list(), entries, strict=True):
            assert_same(got, wanted)
        assert store.delete(entry.id for entry in entries[1:]) == len(entries) - 1
        assert self.found(store, ZEBRA) == ["00000"]


@contextmanager
def time_zone(name: str) -> Generator[None]:
    """Run the block with another local time zone, then restore the old one."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
