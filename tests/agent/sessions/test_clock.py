from __future__ import annotations

import pytest

from nousmem.agent import Memory, remember
from nousmem.agent.sessions._clock import SessionClock, numbered_ids
from nousmem.errors import InvalidParameter

from .conftest import NOON


def test_new_memories_are_numbered_and_ids_that_are_taken_left_out():
    memory = Memory(
        store="memory:", clock=SessionClock(NOON), new_id=numbered_ids({"m0002"}), user_id="ada"
    )
    ids = [remember(memory, f"fact {n}")["id"] for n in range(3)]
    assert ids == ["m0001", "m0003", "m0004"]
    assert {entry.created_at for entry in memory.opened_store.list()} == {NOON}


def test_a_source_of_ids_is_a_function():
    with pytest.raises(InvalidParameter, match="new_id must be a function"):
        Memory(store="memory:", new_id="m1")  # type: ignore[arg-type]
