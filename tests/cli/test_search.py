"""`nousmem search` where nothing is found because nobody is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm

Run = Callable[..., Any]


@pytest.fixture
def url(tmp_path: Path) -> str:
    place = f"sqlite:{tmp_path / 'memories.db'}"
    users = "abcdef"
    with nm.open_store(place) as store:
        store.put([nm.Entry("tea at noon", user_id=one, agent_id="cook") for one in users])
        store.put([nm.Entry("tea at four", user_id="a", agent_id="maid")])
    return place


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--user-id", "x"),
            "no entry has user_id 'x'; the store has user_id 'a', 'b', 'c', 'd', 'e' and 1 more\n",
        ),
        (
            ("--namespace", "home", "--user-id", "b"),
            "no entry has namespace 'home'; the store has no namespace in any entry\n",
        ),
        (
            ("--agent-id", "maid", "--user-id", "b"),
            "no entry has agent_id 'maid' and user_id 'b' together\n",
        ),
    ],
)
def test_a_scope_without_entries_is_told(
    nousmem: Run, url: str, options: tuple[str, ...], said: str
) -> None:
    done = nousmem("search", url, "tea", *options)
    assert (done.status, done.out, done.err) == (0, "nothing to show\n", said)
    assert nousmem("search", url, "tea", *options, "--json").json["hits"] == []


@pytest.mark.parametrize("query", ["tea", "spaceship"])
def test_a_scope_with_entries_is_not(nousmem: Run, url: str, query: str) -> None:
    done = nousmem("search", url, query, "--user-id", "b")
    assert (done.status, done.err) == (0, "")
