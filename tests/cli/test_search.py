"""`nousmem search`: what settings it runs, what it says of an entry, and of nobody's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

import nousmem as nm
from nousmem.agent import Memory, recall
from nousmem.agent._relevance import find_relevant
from nousmem.agent.mcp_server import FixedAccess, memory_server

Run = Callable[..., Any]

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
OWN_PARTS = """
from dataclasses import dataclass

import numpy as np

import nousmem as nm


@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@dataclass(frozen=True)
class Topics:
    name: str = "topics"

    def search(self, request):
        words = set(request.query.lower().split())
        found = [
            (entry, len(words & set(entry.metadata.get("topics", []))))
            for entry in request.entries()
        ]
        found = sorted((one for one in found if one[1]), key=lambda one: (-one[1], one[0].id))
        return found[: request.depth]
"""


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


@pytest.fixture
def year(tmp_path: Path) -> str:
    """A year of notes; topics are in their metadata alone."""
    place = f"sqlite:{tmp_path / 'year.db'}"
    topics = ("bicycle", "bread", "river", "tea")
    entries = [
        nm.Entry(
            f"note {at}: the {topics[at % 3]} again, before noon",
            id=f"note-{at:02}",
            importance=(at % 11) / 10,
            access_count=at * 7 % 40,
            metadata={"topics": [topics[(at + 1) % 4]]},
            created_at=NOW - timedelta(days=9 * at),
        )
        for at in range(40)
    ]
    with nm.open_store(place) as store:
        store.put(nm.embed(entries, nm.open_embedder("hashing")))
    return place


def test_search_memory_recall_mcp_and_the_shell_give_the_same_list(
    nousmem: Run, year: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured is what runs: ids and scores bit for bit, with parts of one's own."""
    (tmp_path / "own_parts_of_a_user.py").write_text(OWN_PARTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    query, limit = "which river or bread before noon", 12
    embedder = nm.open_embedder("hashing")
    settings = nm.Settings(
        retrieval=nm.Retrieval(
            legs=["text", "vector", "own_parts_of_a_user:Topics"],
            terms=["own_parts_of_a_user:frequency"],
            depth=15,
        ),
        scoring=nm.Scoring(
            half_life_days=200, w_vector=0.7, weights={"frequency": 0.15, "topics": 1.5}
        ),
        injection=nm.Injection(
            inject_limit=limit, inject_min_score=0, inject_min_words=0, inject_min_cosine=-1
        ),
        embedder=embedder.fingerprint,
    )
    file = tmp_path / "chosen.toml"
    file.write_text(settings.to_toml())
    with nm.open_store(year) as store:
        hits = nm.Search(store, embedder, settings=settings)(query, limit=limit, now=NOW)
        expected = [(hit.entry.id, hit.score) for hit in hits]
        assert len(expected) == limit
        assert hits.to_frame()["topics_rank"].notna().any()
        # Its own parts have a say.
        plain = nm.Search(store, embedder, scoring=nm.Scoring(half_life_days=200, w_vector=0.7))
        assert [hit.entry.id for hit in plain(query, limit=limit, now=NOW)] != [
            doc_id for doc_id, _ in expected
        ]
    options = ("--embedder", "hashing", "--limit", limit, "--now", NOW.isoformat(), "--json")
    told = nousmem("search", year, query, "--settings", file, *options)
    assert told.err == ""
    assert [(row["doc_id"], row["score"]) for row in told.json["hits"]] == expected
    assert nm.Settings.from_dict(told.json["settings"]) == settings
    changes = [
        "legs=text,vector,own_parts_of_a_user:Topics",
        "terms=own_parts_of_a_user:frequency",
        "depth=15",
        "half_life_days=200",
        "w_vector=0.7",
        "w_frequency=0.15",
        "w_topics=1.5",
    ]
    given = [one for change in changes for one in ("--set", change)]
    told = nousmem("search", year, query, *given, *options)
    assert [(row["doc_id"], row["score"]) for row in told.json["hits"]] == expected

    with nm.open_store(year) as store:
        ways = {"store": store, "embedder": embedder, "clock": lambda: NOW}
        memory = Memory(**ways, settings=nm.Settings.from_toml(file))
        found = find_relevant(memory, query, now=NOW, injection=memory.settings_in_force.injection)
        assert [(hit.entry.id, hit.score) for hit in found.hits] == expected

        # Recalling counts an access, which changes the next ranking.
        before = store.list()
        result = recall(memory, query, limit=limit, explain=True)
        assert _explained(result) == expected
        store.put(before)
        access = FixedAccess(**ways, settings=settings, explain_recall=True)

        async def ask() -> Any:
            async with Client(memory_server(access)) as client:
                arguments = {"query": query, "limit": limit, "explain": True}
                return (await client.call_tool("recall", arguments)).structured_content

        told = asyncio.run(ask())
        assert _explained(told) == expected
        assert [one["score"] for one in told["memories"]] == [
            round(score, 4) for _, score in expected
        ]


def _explained(result: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the ids, and the scores in full as their parts add up."""
    found: list[tuple[str, float]] = []
    for one in result["memories"]:
        total = 0.0
        for addend in one["parts"]["addends"].values():
            total += addend["contribution"]
        found.append((one["id"], total))
    return found


def test_legs_and_depth_have_options_of_their_own(nousmem: Run, year: str) -> None:
    options = ("--embedder", "hashing", "--now", NOW.isoformat(), "--json")
    for legs in ("text", "vector", "text,vector"):
        told = nousmem("search", year, "bread", "--legs", legs, "--depth", 7, *options).json
        assert told["settings"]["retrieval"] == {"legs": legs.split(","), "depth": 7, "terms": []}
        assert len(told["hits"]) >= 7
        same = ("--set", f"legs={legs}", "--set", "depth=7")
        assert nousmem("search", year, "bread", *same, *options).json == told
    refused = nousmem("search", year, "bread", "--legs", "vectr")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "did you mean 'vector'" in refused.err


def test_a_preset_is_chosen_by_name(nousmem: Run, year: str) -> None:
    options = ("--now", NOW.isoformat(), "--json")
    for name in ("documented", "recommended"):
        told = nousmem("search", year, "bread", "--preset", name, *options).json
        assert nm.Settings.from_dict(told["settings"]) == nm.Settings.preset(name)


def test_the_least_score_is_the_settings_unless_it_is_given(nousmem: Run, year: str) -> None:
    options = ("bread", "--now", NOW.isoformat(), "--set", "min_score=0.3", "--json")
    scores = [row["score"] for row in nousmem("search", year, *options).json["hits"]]
    more = nousmem("search", year, *options, "--min-score", 0).json["hits"]
    assert min(scores) >= 0.3
    assert len(more) > len(scores)


def test_evidence_may_be_asked_for(nousmem: Run, tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path / 'two.db'}"
    with nm.open_store(place) as store:
        store.put([nm.Entry("bees on the roof", id="a"), nm.Entry("the roof leaks", id="b")])
    query = ("search", place, "which bees are on the roof", "--json")
    assert {row["doc_id"] for row in nousmem(*query).json["hits"]} == {"a", "b"}
    asked = nousmem(*query, "--min-words", 1, "--min-cosine", 2).json["hits"]
    assert [row["doc_id"] for row in asked] == ["a"]


def test_why_an_entry_stands_where_it_stands(nousmem: Run, year: str) -> None:
    command = ("search", year, "bread", "--limit", 2, "--now", NOW.isoformat())
    first = nousmem(*command, "--json").json["hits"][0]["doc_id"]
    told = nousmem(*command, "--why", first, "--json").json["why"]
    assert (told["doc_id"], told["rank"], told["why"]) == (first, 1, "rank 1 of 2")
    assert sum(part["contribution"] for part in told["parts"]) == pytest.approx(told["score"])
    shown = nousmem(*command, "--why", first).out
    assert f"{first}: rank 1 of 2" in shown
    assert "relevance" in shown
    cut = nousmem(*command, "--why", "note-37", "--json").json["why"]
    assert cut["rank"] is None
    assert "limit is 2" in cut["why"]
    nobody = nousmem(*command, "--why", "nobody")
    assert nobody.status == 0
    assert "nobody: no entry has the id 'nobody'" in nobody.out


@pytest.mark.filterwarnings("default::nousmem.retrieval.OtherEmbedderWarning")
def test_settings_of_another_embedder_are_run_with_a_warning(
    nousmem: Run, year: str, tmp_path: Path
) -> None:
    file = tmp_path / "best.toml"
    file.write_text(nm.Settings(embedder="minilm:384").to_toml())
    done = nousmem("search", year, "bread", "--settings", tmp_path)
    assert done.status == 0
    assert done.err.startswith("nousmem: warning: the settings were measured with the embedder")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "rrf=5"), "did you mean 'rrf_k'"),
        (("--set", "rrf_k"), "each parameter once as NAME=VALUE, got 'rrf_k'"),
        (("--set", "rrf_k=x"), "rrf_k: 'x' is not a number"),
        (("--set", "w_frequency=1"), "w_frequency is a weight of no leg or term"),
        (("--settings", "absent.toml"), "cannot read the settings absent.toml"),
        (("--preset", "recomended"), "did you mean 'recommended'"),
        (("--preset", "documented", "--settings", "x.toml"), "a file or a preset, not both"),
        (("--legs", "vector"), "needs an embedder"),
        (("--min-words", "nan"), "min_words must be a finite number"),
        (("--set", "terms=no_such.module:x"), "there is no module 'no_such'"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(
    nousmem: Run, url: str, options: tuple[str, ...], message: str
) -> None:
    done = nousmem("search", url, "tea", *options)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
