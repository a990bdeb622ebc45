"""Search goes on where an embedder does not, and says so."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import httpx
import pytest

import nousmem as nm
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.search import DegradedSearchWarning, OtherEmbedderWarning

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


@pytest.fixture
def store() -> nm.Store:
    filled = nm.open_store("memory:")
    filled.put(
        nm.Entry(text, id=str(at), created_at=NOW)
        for at, text in enumerate(
            ["User prefers dark mode", "Deploys run on Fridays", "The dark roast is for guests"]
        )
    )
    return filled


def rows(hits: Hits) -> list[tuple[str, float]]:
    return [(hit.entry.id, hit.score) for hit in hits]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("refused"),
        TimeoutError("read timed out"),
        ValueError("not JSON"),
        httpx.ReadTimeout("slow"),
        MemoryError(),
        KeyError("embedding"),
    ],
    ids=repr,
)
def test_whatever_an_embedder_raises_degrades(store: nm.Store, error: Exception) -> None:
    class Failing(nm.embeddings.HashingEmbedder):
        def embed_queries(self, texts):
            raise error

    with pytest.warns(DegradedSearchWarning, match="without vectors") as warned:
        hits = nm.Search(store, Failing())("dark mode", now=NOW)
    assert warned[0].filename == __file__, "the warning names the line that searches"
    assert type(error).__name__ in (hits.degraded or "")
    assert rows(hits) == rows(nm.Search(store)("dark mode", now=NOW))
    with pytest.raises(nm.EmbedderError, match=type(error).__name__):
        nm.Search(store, Failing(), on_embedder_error="raise")("dark mode", now=NOW)


def test_an_embedder_is_not_waited_for_forever(store: nm.Store) -> None:
    answer = threading.Event()

    class Hung(nm.embeddings.HashingEmbedder):
        def embed_queries(self, texts):
            answer.wait()
            return super().embed_queries(texts)

    search = nm.Search(store, Hung(), embedder_seconds=0.05)
    began = time.monotonic()
    try:
        with pytest.warns(DegradedSearchWarning, match="did not answer within 0.05 seconds"):
            hits = search("dark mode", now=NOW)
        assert time.monotonic() - began < 5
    finally:
        answer.set()
    assert hits.degraded == "the embedder did not answer within 0.05 seconds"
    assert rows(hits) == rows(nm.Search(store)("dark mode", now=NOW))


def test_settings_of_another_embedder_are_run_with_a_warning(store: nm.Store) -> None:
    measured = nm.Settings(embedder="minilm:384")
    own = nm.embeddings.HashingEmbedder()
    with pytest.warns(OtherEmbedderWarning, match=r"'minilm:384'.*'none'"):
        nm.Search(store, settings=measured)("dark mode", now=NOW)
    with pytest.warns(OtherEmbedderWarning, match=own.fingerprint):
        nm.Search(store, own, settings=measured)("dark mode", now=NOW)
    nm.Search(store, own, settings=measured.replace(embedder=own.fingerprint))("dark", now=NOW)
