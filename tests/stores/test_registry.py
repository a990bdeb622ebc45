"""Stores by URL, and by the name of one's own code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter, StoreError, UnknownName
from nousmem.stores.registry import is_own_store

OWN = """
import nousmem as nm
from nousmem.stores.memory import MemoryStore

class Mine(MemoryStore):
    pass

OPEN = Mine()

def opened():
    return Mine()

def in_a_file():
    return nm.open_store("sqlite:/no/such/folder/x.db")

def of(path):
    return Mine()

def nothing():
    return None

def a_class():
    return Mine

def failing():
    raise ConnectionError("the server is away")
"""


@pytest.mark.parametrize("name", ["mine:Mine", "mine:opened"])
def test_a_store_of_ones_own_is_opened_anew_each_time(
    own_code: Callable[..., Path], name: str
) -> None:
    own_code(mine=OWN)
    store = nm.open_store(name)
    store.put([nm.Entry("tea with Mira", id="a")])
    assert nm.Search(name)("tea").to_frame().empty
    assert [hit.entry.id for hit in nm.Search(store)("tea with Mira")] == ["a"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mine:OPEN",
            "store 'mine:OPEN' is MemoryStore.*: expected a class or function that opens a",
        ),
        ("mine:of", "store 'mine:of' cannot be called so: missing a required argument: 'path'"),
        ("mine:nothing", "store 'mine:nothing' returned None, which is no open store: it lacks pu"),
        ("mine:a_class", "store 'mine:a_class' returned <class 'mine.Mine'>.*: it is a class"),
        ("mine:failing", "store 'mine:failing' failed: ConnectionError: the server is away"),
        ("mine:absent", "store 'mine:absent': module 'mine' has no 'absent'"),
        ("absent_one:x", "store 'absent_one:x': there is no module 'absent_one' on"),
    ],
)
def test_what_is_no_store_of_ones_own(
    own_code: Callable[..., Path], name: str, message: str
) -> None:
    own_code(mine=OWN)
    with pytest.raises(InvalidParameter, match=message):
        nm.open_store(name)


def test_what_the_store_says_itself_passes(own_code: Callable[..., Path]) -> None:
    own_code(mine=OWN)
    with pytest.raises(StoreError, match="/no/such/folder"):
        nm.open_store("mine:in_a_file")


def test_the_kinds_there_are_win(
    own_code: Callable[..., Path], tmp_path: Path, monkeypatch
) -> None:
    own_code(sqlite="raise AssertionError\n")
    monkeypatch.chdir(tmp_path)
    assert not is_own_store("sqlite:memories")
    store = nm.open_store("sqlite:memories")
    store.put([nm.Entry("tea")])
    assert (tmp_path / "memories").exists()


@pytest.mark.parametrize(
    "url", ["", "sqlit", "sqlit:memories.db", "sqlit:a/b.db", "https://example.org"]
)
def test_an_unknown_kind(url: str) -> None:
    with pytest.raises(UnknownName, match=r"unknown store .*Known: .*package\.module:object"):
        nm.open_store(url)
