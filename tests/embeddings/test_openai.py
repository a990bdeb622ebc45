from importlib.util import find_spec

import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder, OpenAIEmbedder
from nousmem.errors import EmbedderError

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="needs the extra agent")

TEXTS = ["dark mode", "Lisbon"]


def test_the_defaults_are_those_of_the_specification():
    embedder = OpenAIEmbedder()
    assert embedder.dimension == 1536
    assert embedder.fingerprint == "openai:text-embedding-3-small:1536"


def test_without_a_key(monkeypatch, server):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        OpenAIEmbedder(base_url=server.url).embed_queries(TEXTS)
    assert server.requests == []


def test_the_key_comes_from_the_environment_or_the_argument(monkeypatch, server):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    for key in (None, "sk-argument"):
        OpenAIEmbedder(base_url=server.url, api_key=key, dimension=32).embed_documents(TEXTS)
    sent = [headers["Authorization"] for _, headers, _ in server.requests]
    assert sent == ["Bearer sk-environment", "Bearer sk-argument"]


def test_rows_follow_the_texts(server):
    embedder = OpenAIEmbedder(base_url=server.url, api_key="sk", dimension=32, batch_size=1)
    server.faults = ["reversed"]
    for verb in (embedder.embed_documents, embedder.embed_queries):
        np.testing.assert_array_equal(verb(TEXTS), HashingEmbedder(32).embed_documents(TEXTS))


def test_the_dimension_is_asked_for_where_the_model_can(server):
    for model in ("text-embedding-3-large", "text-embedding-ada-002"):
        OpenAIEmbedder(model, base_url=server.url, api_key="sk", dimension=32).embed_documents(
            TEXTS
        )
    assert [body.get("dimensions") for _, _, body in server.requests] == [32, None]


def test_a_refused_key_is_said(server):
    server.faults = [401]
    embedder = OpenAIEmbedder(base_url=server.url, api_key="sk-wrong", dimension=32)
    with pytest.raises(EmbedderError, match="status 401"):
        embedder.embed_documents(TEXTS)
    assert "sk-wrong" not in repr(embedder)


def test_the_server_says_how_long_its_vectors_are(server, monkeypatch):
    embedder = OpenAIEmbedder("own-model", base_url=server.url, api_key="sk", dimension=None)
    assert embedder.fingerprint == "openai:own-model:32"
    assert embedder.embed_documents(TEXTS).shape == (2, 32)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        _ = OpenAIEmbedder("own-model", base_url=server.url, dimension=None).dimension
