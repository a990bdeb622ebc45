"""What was measured is what runs: a sweep, Search, an agent, MCP and the shell rank bit for bit."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from mcp.client import Client

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.agent import MemoryAccess
from nousmem.agent._tools import recall
from nousmem.agent.mcp_server import memory_server
from nousmem.cli import main

EMBEDDER = nm.open_embedder("hashing")
N_SETTINGS = 200
LIMIT = 10


def ways(mine: ModuleType, key: str) -> list[nm.Retrieval]:
    """Ways to retrieve: legs, depths, terms; built in and of one's own."""
    own = [mine.frequency, mine.brevity]
    return [
        nm.Retrieval(),
        nm.Retrieval(depth=10),
        nm.Retrieval(legs=["text"], depth=50),
        nm.Retrieval(legs=["vector"], depth=40, terms=own),
        nm.Retrieval(legs=["vector", "text"], terms=own),
        nm.Retrieval(legs=["text", "vector", mine.MetadataLeg(key)], depth=20, terms=own[:1]),
    ]


def random_settings(mine: ModuleType, key: str, *, seed: int) -> list[nm.Settings]:
    """Draw settings over everything there is."""
    rng = random.Random(seed)
    drawn: dict[nm.Settings, None] = {}
    while len(drawn) < N_SETTINGS:
        retrieval = rng.choice(ways(mine, key))
        own = [*retrieval.term_names, *(set(retrieval.leg_names) - {"text", "vector"})]
        scoring = nm.Scoring(
            decay_lambda=rng.choice([0, 1e-5, 1e-4, 1e-3]),
            w_relevance=rng.choice([0.3, 0.5, 1]),
            w_importance=rng.choice([0, 0.02, 0.3]),
            w_recency=rng.choice([None, 0, 0.1]),
            rrf_k=rng.choice([5, 60]),
            fusion=rng.choice(["rrf", "rrf_raw", "convex", mine.reciprocal_score]),
            decay_curve=rng.choice(["exponential", "step", "power", mine.linear]),
            decay_floor=rng.choice([0, 0.2]),
            update_penalty=rng.choice([0, 0, 0.1]),
            update_rule=rng.choice(["freshness", "freshness", mine.ByCount(0.1)]),
            weights={name: rng.choice([0, 0.1, 0.7]) for name in own},
        )
        drawn[nm.Settings(retrieval=retrieval, scoring=scoring)] = None
    return list(drawn)


def swept_over(corpus: nm.Corpus, settings: list[nm.Settings]) -> ev.SweepResult:
    """Measure them in one sweep: each is a grid of one."""
    grids = [
        {
            **{name: [value] for name, value in one.retrieval.to_dict().items() if value},
            **{
                f"w_{name}" if name in one.scoring.weights else name: [value]
                for name, value in (one.scoring.to_dict() | dict(one.scoring.weights)).items()
                if name != "weights"
            },
        }
        for one in settings
    ]
    return ev.sweep(
        corpus,
        store="sqlite::memory:",
        embedder=EMBEDDER,
        grid=grids,
        measures=["nDCG@10"],
        as_of=False,
    )


# Settings drawn at random switch the rule of recency as they like.
pytestmark = pytest.mark.filterwarnings("ignore::nousmem.evaluation.ConfoundedGridWarning")


def check(
    corpus: nm.Corpus, mine: ModuleType, key: str, tmp_path: Path, capsys, monkeypatch, *, seed: int
) -> None:
    settings = random_settings(mine, key, seed=seed)
    swept = swept_over(corpus, settings)
    assert [one.replace(embedder=None, injection=nm.Injection()) for one in swept.settings][
        :N_SETTINGS
    ] == settings
    # They differ in what they find, or the round trip would be idle.
    assert len(np.unique(swept.frame["nDCG@10"].round(9))) > N_SETTINGS / 4
    rng = random.Random(seed)
    stores: dict[str, nm.Store] = {}
    for partition in corpus.partitions():
        url = f"sqlite:{tmp_path / (partition.name or 'all')}.db"
        stores[partition.name] = nm.open_store(url)
        stores[partition.name].put(nm.embed(partition.entries, EMBEDDER))
    measured = {query.query_id: query for query in swept.queries}
    queries = [query for query in corpus.queries if query.query_id in measured]
    for row in range(N_SETTINGS):
        own, query = swept.settings[row], rng.choice(queries)
        field = corpus.partition_field
        name = "" if field is None else getattr(query.scope, field)
        store = stores[name]
        run = swept.run(row)
        run = run[run["query_id"] == query.query_id].head(LIMIT)
        expected = list(zip(run["doc_id"], run["score"], strict=True))
        assert expected

        file = tmp_path / "settings.toml"
        file.write_text(own.to_toml(), encoding="utf-8")
        read = nm.Settings.from_toml(file)
        assert read == own
        hits = nm.Search(store, EMBEDDER, settings=read)(
            query.text, scope=query.scope, now=query.now, limit=LIMIT
        )
        assert [(hit.entry.id, hit.score) for hit in hits] == expected

        access = MemoryAccess(
            store=store,
            embedder=EMBEDDER,
            settings=read,
            user_id=query.scope.user_id,
            agent_id=query.scope.agent_id,
            clock=lambda query=query: query.now,
        )
        looked_up = access.look_up(query.text, now=query.now, limit=LIMIT)
        assert [(hit.entry.id, hit.score) for hit in looked_up] == expected
        rounded = [(doc_id, round(score, 4)) for doc_id, score in expected]
        if row % 10 == 0:
            with monkeypatch.context() as patched:
                # What is recalled would be counted as accessed.
                patched.setattr("nousmem.agent._tools._count_access", lambda *_, **__: None)
                recalled = recall(access, query.text, limit=LIMIT)
                assert [(one["id"], one["score"]) for one in recalled["memories"]] == rounded
                over_mcp = asyncio.run(recall_by_mcp(access, query.text))
            assert [(one["id"], one["score"]) for one in over_mcp["memories"]] == rounded
        if row % 20 == 0:
            whose = [
                part
                for option in ("user_id", "agent_id")
                if (value := getattr(query.scope, option)) is not None
                for part in (f"--{option.replace('_', '-')}", value)
            ]
            arguments = [
                *("nousmem", "search", f"sqlite:{tmp_path / (name or 'all')}.db", query.text),
                *("--settings", str(file), "--embedder", "hashing", "--limit", str(LIMIT)),
                *("--now", query.now.isoformat(), "--json", *whose),
            ]
            monkeypatch.setattr(sys, "argv", arguments)
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
            shown = json.loads(capsys.readouterr().out)["hits"]
            assert [(one["doc_id"], one["score"]) for one in shown] == expected


async def recall_by_mcp(access: MemoryAccess, query: str) -> dict:
    async with Client(memory_server(access)) as client:
        result = await client.call_tool("recall", {"query": query, "limit": LIMIT})
        return result.structured_content


def test_on_assistant_year(mine: ModuleType, tmp_path: Path, capsys, monkeypatch) -> None:
    corpus = nm.load_corpus("assistant-year")
    queries = corpus.queries[::4]
    kept = corpus.qrels["query_id"].isin([query.query_id for query in queries])
    few = dataclasses.replace(corpus, queries=queries, qrels=corpus.qrels[kept])
    check(few, mine, "fact", tmp_path, capsys, monkeypatch, seed=11)


@pytest.mark.corpus
@pytest.mark.skipif("NOUSMEM_DATA" not in os.environ, reason="NOUSMEM_DATA is not set")
def test_on_locomo(mine: ModuleType, tmp_path: Path, capsys, monkeypatch) -> None:
    corpus = nm.load_corpus("locomo")
    check(corpus, mine, "speaker", tmp_path, capsys, monkeypatch, seed=12)
