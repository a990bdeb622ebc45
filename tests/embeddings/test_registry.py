import pytest

from nousmem.embeddings import (
    CachedEmbedder,
    Embedder,
    HashingEmbedder,
    LocalEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    open_embedder,
)
from nousmem.errors import InvalidParameter, UnknownName


@pytest.mark.parametrize(
    ("name", "kind", "inner"),
    [
        ("minilm", CachedEmbedder, SentenceTransformerEmbedder),
        ("openai", CachedEmbedder, OpenAIEmbedder),
        ("st:someone/some-model", CachedEmbedder, SentenceTransformerEmbedder),
        ("hashing", HashingEmbedder, None),
        ("local", LocalEmbedder, None),
    ],
)
def test_names(name, kind, inner, monkeypatch, tmp_path):
    monkeypatch.setenv("NOUSMEM_CACHE", str(tmp_path / "cache"))
    embedder = open_embedder(name)
    assert type(embedder) is kind
    if inner is not None:
        assert type(embedder.embedder) is inner
    assert not (tmp_path / "cache").exists()


def test_names_satisfy_the_contract():
    for name in ("hashing", "local", "minilm", "openai"):
        assert isinstance(open_embedder(name), Embedder)


@pytest.mark.parametrize("name", [None, "none"])
def test_no_embedder(name):
    assert open_embedder(name) is None


def test_an_embedder_is_returned_as_it_is():
    embedder = HashingEmbedder()
    assert open_embedder(embedder) is embedder


@pytest.mark.parametrize(
    ("name", "hint"), [("mini-lm", "minilm"), ("hash", "hashing"), ("opnai", "openai")]
)
def test_an_unknown_name_gets_a_hint(name, hint):
    with pytest.raises(UnknownName, match=f"did you mean '{hint}'"):
        open_embedder(name)


@pytest.mark.parametrize("name", ["", "st:", "MINILM ", "xyz"])
def test_an_unknown_name(name):
    with pytest.raises(UnknownName, match="Known: hashing, local, minilm, none, openai, st:"):
        open_embedder(name)


@pytest.mark.parametrize("value", [3, ["minilm"], HashingEmbedder])
def test_what_is_neither_name_nor_embedder(value):
    with pytest.raises(InvalidParameter, match="expected an embedder or its name"):
        open_embedder(value)
