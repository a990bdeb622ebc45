"""Our records against the packages they are meant for, where these are installed.

Tried with mem0ai 2.2.1 (with its local Qdrant), langgraph-checkpoint 4.3.2, langmem 0.0.30,
letta-client 1.12.1, graphiti-core 0.31.2 and zep-cloud 4.0.1. No test needs a network or a key.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm
from nousmem.importers import (
    read_graphiti,
    read_langgraph,
    read_letta,
    read_mem0,
    write_graphiti,
    write_langgraph,
    write_letta,
    write_mem0,
)

# Other people's packages warn as they please.
pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLES = Path(__file__).parent / "samples"
MAY_1 = datetime(2024, 5, 1, 10, tzinfo=UTC)
ENTRIES = [
    nm.Entry(
        "Ada drinks tea",
        id="m1",
        importance=0.9,
        user_id="ada",
        session_id="r1",
        namespace="house.7/north wing",
        metadata={"topic": "drinks", "source": "e-mail", "tags": "none", "name": 7},
        created_at=MAY_1,
    ),
    nm.Entry(
        "Boil water, wait two minutes, pour",
        id="m2",
        type="procedural",
        evergreen=True,
        user_id="ada",
        agent_id="concierge",
        created_at=MAY_1,
    ),
]


def sample(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def test_mem0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    pytest.importorskip("mem0")
    from mem0 import Memory
    from mem0.configs.base import MemoryItem
    from mem0.embeddings.mock import MockEmbeddings

    qdrant = {"path": str(tmp_path / "q"), "embedding_model_dims": 10, "collection_name": "x"}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": str(tmp_path / "history.db"),
        }
    )
    memory.embedding_model = MockEmbeddings()
    for record in write_mem0(ENTRIES)["results"]:
        assert MemoryItem(**record).memory == record["memory"]
        memory.add(
            record["memory"],
            user_id=record.get("user_id"),
            agent_id=record.get("agent_id"),
            run_id=record.get("run_id"),
            metadata=record["metadata"],
            infer=False,
        )
    back = {e.id: e for e in read_mem0(memory.get_all(filters={"user_id": "ada"}))}
    memory.close()
    for entry in ENTRIES:
        added = {k: back[entry.id].metadata[k] for k in ("hash", "role")}
        assert added["role"] == "user", "mem0 adds these two"
        assert back[entry.id] == entry.replace(metadata={**entry.metadata, **added})


def test_langgraph() -> None:
    pytest.importorskip("langgraph.store.memory")
    from langgraph.store.memory import InMemoryStore

    store = InMemoryStore()
    for item in write_langgraph(ENTRIES):
        store.put(tuple(item["namespace"]), item["key"], item["value"])
    back = {entry.id: entry for entry in read_langgraph(store.search(()))}
    assert [back[entry.id] for entry in ENTRIES] == ENTRIES
    assert store.search(())[0].dict().keys() >= sample("langgraph")[0].keys()


def test_langmem() -> None:
    pytest.importorskip("langmem")
    from langgraph.store.memory import InMemoryStore
    from langmem import create_manage_memory_tool

    store = InMemoryStore()
    tool = create_manage_memory_tool(namespace=("memories", "ada"), store=store)
    tool.invoke({"content": "Ada has two cats", "action": "create"})
    (entry,) = read_langgraph(store.search(()), labels={"user_id": 1})
    assert (entry.content, entry.user_id) == ("Ada has two cats", "ada")
    assert entry.id == f"memories/ada/{store.search(())[0].key}"


def test_letta() -> None:
    pytest.importorskip("letta_client")
    from letta_client.types.passage import Passage

    records = write_letta(ENTRIES, vectors=True)
    passages = [Passage.model_validate(record) for record in records]
    assert read_letta(passages) == ENTRIES
    assert read_letta([p.model_dump(mode="json") for p in passages]) == ENTRIES
    assert [Passage.model_validate(r).model_dump(mode="json") for r in sample("letta")] == sample(
        "letta"
    )


def test_graphiti() -> None:
    pytest.importorskip("graphiti_core")
    from graphiti_core.helpers import validate_group_id
    from graphiti_core.nodes import EpisodicNode

    nodes = [EpisodicNode(**record) for record in write_graphiti(ENTRIES)]
    assert all(validate_group_id(node.group_id) for node in nodes)
    assert [node.valid_at for node in nodes] == [MAY_1, MAY_1]
    back = read_graphiti(nodes)
    # A node that does not say when it was stored is given the time it was made at.
    assert [e.metadata.pop("created_at", "") != "" for e in back] == [True, True]
    assert back == ENTRIES
    assert [EpisodicNode(**r).model_dump(mode="json") for r in sample("graphiti")] == sample(
        "graphiti"
    )


def test_zep() -> None:
    pytest.importorskip("zep_cloud")
    from zep_cloud.types import Episode

    episodes = [Episode(**record) for record in sample("zep")["items"]]
    assert read_graphiti(episodes) == read_graphiti(SAMPLES / "zep.json")
