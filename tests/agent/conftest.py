from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import nousmem as nm
from nousmem.agent import MemoryAccess

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **delta: float) -> None:
        self.now += timedelta(**delta)


@pytest.fixture(autouse=True)
def closed_loop() -> Iterator[None]:
    """Give run_sync an event loop, and close it, which run_sync never does."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory:", "sqlite::memory:"])
def store(request: pytest.FixtureRequest) -> nm.Store:
    return nm.open_store(request.param)


@pytest.fixture
def access(store: nm.Store, clock: Clock) -> MemoryAccess:
    return MemoryAccess(store=store, agent_id="assistant", user_id="alice", clock=clock)


class BrokenEmbedder:
    """Fails whenever it is asked."""

    fingerprint = "broken"
    dimension = 2

    def embed_documents(self, texts: Any) -> Any:
        raise RuntimeError("the model is out of memory")

    embed_queries = embed_documents


class BrokenStore:
    """Holds nothing, and fails whenever it is asked."""

    def _fail(self, *args: Any, **options: Any) -> Any:
        raise OSError("the disk is full")

    put = get = update = delete = list = search_text = _fail


@pytest.fixture
def broken_embedder() -> BrokenEmbedder:
    return BrokenEmbedder()


@pytest.fixture
def broken_store() -> BrokenStore:
    return BrokenStore()
