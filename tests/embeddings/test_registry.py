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
        ("local:mxbai-embed-large", LocalEmbedder, None),
        ("local:bge", LocalEmbedder, None),  # and no module `local`
        ("openai:whatever", CachedEmbedder, OpenAIEmbedder),  # and no module `openai`
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
    ("name", "hint"),
    [
        ("mini-lm", "minilm"),
        ("hash", "hashing"),
        ("opnai", "openai"),
        ("opnai:small", "openai"),
        ("lokal:small", "local"),
    ],
)
def test_an_unknown_name_gets_a_hint(name, hint):
    with pytest.raises(UnknownName, match=f"did you mean '{hint}'"):
        open_embedder(name)


@pytest.mark.parametrize("name", ["", "st:", "local:", "openai:", "MINILM ", "xyz", "minilm:"])
def test_an_unknown_name(name):
    with pytest.raises(UnknownName, match="Known: hashing, local, local:MODEL, minilm, none, ope"):
        open_embedder(name)


@pytest.mark.parametrize("value", [3, ["minilm"], HashingEmbedder])
def test_what_is_neither_name_nor_embedder(value):
    with pytest.raises(InvalidParameter, match="expected an embedder or its name"):
        open_embedder(value)


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("openai:text-embedding-3-large", "openai:text-embedding-3-large:3072"),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small:1536"),
        ("local:nomic-embed-text", "local:nomic-embed-text:768"),
    ],
)
def test_a_model_by_name_whose_length_is_known(name, fingerprint):
    assert open_embedder(name).fingerprint == fingerprint


OWN = """
from nousmem.embeddings import CachedEmbedder, HashingEmbedder

class Small(HashingEmbedder):
    def __init__(self, dimension=8):
        super().__init__(dimension)

SMALL = Small(16)
number = 3

def make():
    return Small(32)

def make_with(dimension):
    return Small(dimension)

def make_nothing():
    return None

def make_class():
    return Small

def fail():
    raise OSError("no licence")

class Untold(Small):
    @property
    def dimension(self):
        raise RuntimeError("a server must not be asked yet")

    fingerprint = dimension
"""


@pytest.mark.parametrize(
    ("name", "dimension"), [("mine:Small", 8), ("mine:SMALL", 16), ("mine:make", 32)]
)
def test_an_embedder_of_ones_own(own_code, name, dimension):
    own_code(mine=OWN)
    embedder = open_embedder(name)
    assert isinstance(embedder, HashingEmbedder)
    assert embedder.embed_queries(["tea"]).shape == (1, dimension)


def test_an_embedder_of_ones_own_is_asked_nothing_when_it_is_opened(own_code):
    own_code(mine=OWN)
    assert open_embedder("mine:Untold") is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine:number", "embedder 'mine:number' is 3: expected an embedder, with fingerprint, dim"),
        ("mine:make_with", "embedder 'mine:make_with' cannot be called so: missing.*'dimension'"),
        ("mine:make_nothing", "embedder 'mine:make_nothing' returned None: expected an embedder"),
        ("mine:make_class", "embedder 'mine:make_class' returned <class 'mine.Small'>: expected"),
        ("mine:fail", "embedder 'mine:fail' failed: OSError: no licence"),
        ("mine:absent", "embedder 'mine:absent': module 'mine' has no 'absent'"),
        ("mint:x", "embedder 'mint:x': there is no module 'mint' on"),
    ],
)
def test_what_is_no_embedder_of_ones_own(own_code, name, message):
    own_code(mine=OWN)
    with pytest.raises(InvalidParameter, match=message):
        open_embedder(name)
