"""Where an explorer's candidates come from: as `Search` finds them, from what a user names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import nousmem as nm
from nousmem.errors import InvalidParameter
from nousmem.viz import RankingExplorer
from nousmem.viz.explorer._sources import open_sources

OWN = """
import nousmem as nm

def load_mine():
    return nm.load_corpus("assistant-year")

STORE = nm.open_store("memory:")
STORE.put([nm.Entry("tea")])

def opened():
    return STORE

def nothing():
    return None
"""


def test_a_corpus_or_a_store_of_ones_own_is_explored(own_code: Callable[..., Path]) -> None:
    own_code(mine=OWN)
    corpus, store, held = open_sources(
        {"year": "mine:load_mine", "opened": "mine:opened", "held": "mine:STORE"}, embedder=None
    )
    assert isinstance(corpus.corpus, nm.Corpus)
    assert store.corpus is None
    assert not store.empty
    assert not held.empty
    with pytest.raises(InvalidParameter, match="source 'mine:nothing' returned None: expected a C"):
        open_sources("mine:nothing", embedder=None)


def test_it_reads_as_deep_as_search_for_as_many_hits() -> None:
    noon = datetime(2026, 3, 15, 12, tzinfo=UTC)
    store = nm.open_store("sqlite::memory:")
    store.put(
        nm.Entry(f"tea {'and bread ' * (at % 7)}", id=f"e{at}", created_at=noon - timedelta(at))
        for at in range(90)
    )
    explorer = RankingExplorer(store, now=noon, limit=50)
    explorer.own.value = "tea"
    for limit, settings in ((50, nm.Settings()), (10, nm.Settings()), (50, nm.Settings())):
        explorer.limit.value = limit
        hits = nm.Search(store, settings=settings)("tea", now=noon, limit=limit)
        assert explorer.depth == settings.retrieval.depth_for(limit) == max(30, limit)
        assert len(hits) == limit
        assert [(one.entry.id, one.score) for one in explorer.hits] == [
            (one.entry.id, one.score) for one in hits
        ]
    explorer.controls["depth"].value = "20"
    assert len(explorer.hits) == explorer.depth == 20


class Flaky:
    """An embedder whose server goes away."""

    fingerprint, dimension = "flaky", 4
    away = False

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        if self.away:
            raise ConnectionError("nobody is there")
        return self.embed_documents(texts)


def test_an_embedder_that_fails_is_said_until_it_is_back(corpus: nm.Corpus) -> None:
    embedder = Flaky()
    explorer = RankingExplorer(corpus, embedder=embedder)
    for away in (True, False):
        embedder.away = away
        explorer.own.value = "how hot is bread"
        assert len(explorer.hits) == 10
        assert bool(explorer.hits.degraded) == away
        assert ("text leg only" in explorer._note.value) == away
        explorer.query.value = "q1"
    assert explorer.wait(60)


def test_settings_of_another_embedder_are_said(corpus: nm.Corpus) -> None:
    settings = nm.Settings(embedder="made-up")
    explorer = RankingExplorer(corpus, embedder="hashing", settings=settings)
    assert "&#x27;made-up&#x27;, and run with &#x27;hashing-" in explorer._note.value
    explorer.controls["w_vector"].value = "0"
    assert explorer._note.value == ""
    own = settings.replace(embedder=nm.open_embedder("hashing").fingerprint)
    assert RankingExplorer(corpus, embedder="hashing", settings=own)._note.value == ""
    assert explorer.wait(60)
