import pickle
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from nousmem.embeddings import HashingEmbedder, LocalEmbedder
from nousmem.errors import EmbedderError, InvalidParameter, MissingDependency
from nousmem.testing._embedder_conformance import EmbedderConformance

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="needs the extra agent")


class TestContract(EmbedderConformance):
    """A real server with a real model."""

    longest = 200  # its time grows with the square of the length

    @pytest.fixture(autouse=True)
    def _serve(self, e5_server):
        self.url = e5_server

    def make_embedder(self):
        return LocalEmbedder(
            "e5-passage", base_url=self.url, query_model="e5-query", dimension=384, timeout=300.0
        )


@pytest.fixture
def local(server):
    def make(**options):
        values = {"base_url": server.url, "dimension": 32, "max_retries": 0, **options}
        return LocalEmbedder("small", **values)

    return make


TEXTS = ["dark mode", "Lisbon", "peanuts"]


def test_the_defaults_are_those_of_the_specification():
    embedder = LocalEmbedder()
    assert embedder.dimension == 768
    assert embedder.fingerprint == "local:nomic-embed-text:768"
    assert embedder._endpoint._base_url == "http://localhost:11434/v1"


def test_rows_follow_the_texts(local):
    np.testing.assert_array_equal(
        local().embed_documents(TEXTS), HashingEmbedder(32).embed_documents(TEXTS)
    )


def test_batches(local, server):
    texts = [f"memory {n}" for n in range(7)]
    rows = local(batch_size=3).embed_documents(texts)
    assert [len(body["input"]) for _, _, body in server.requests] == [3, 3, 1]
    np.testing.assert_array_equal(rows, HashingEmbedder(32).embed_documents(texts))


def test_long_texts_do_not_share_a_request(local, server):
    local().embed_documents(["a " * 60_000, "b " * 60_000, "short"])
    assert [len(body["input"]) for _, _, body in server.requests] == [1, 2]


def test_queries_have_a_model_and_a_prompt_of_their_own(local, server):
    embedder = local(query_model="small-query", query_prompt="Q: ", document_prompt="D: ")
    embedder.embed_queries(["one"])
    embedder.embed_documents(["two"])
    sent = [(body["model"], body["input"]) for _, _, body in server.requests]
    assert sent == [("small-query", ["Q: one"]), ("small", ["D: two"])]
    assert not embedder.symmetric
    assert local().symmetric


def test_fingerprints_tell_settings_apart(local):
    made = [
        local(),
        local(dimension=16),
        local(query_model="other"),
        local(query_prompt="x"),
        local(document_prompt="x"),
    ]
    assert len({embedder.fingerprint for embedder in made}) == len(made)
    assert local(batch_size=1, timeout=1).fingerprint == local().fingerprint


def test_no_key_of_openai_is_sent_to_another_server(local, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    local().embed_documents(TEXTS)
    local(api_key="mine").embed_documents(TEXTS)
    sent = [headers["Authorization"] for _, headers, _ in server.requests]
    assert sent == ["Bearer none", "Bearer mine"]


def test_an_empty_text_is_sent_as_a_space(local, server):
    local().embed_documents(["", "x"])
    assert server.requests[0][2]["input"] == [" ", "x"]


def test_a_lone_surrogate_is_refused_before_anything_is_sent(local, server):
    for verb in (local().embed_documents, local().embed_queries):
        with pytest.raises(EmbedderError, match=r"text 2 of 3 .*U\+D800 after 4 characters"):
            verb(["tea", "half\ud800", "bees"])
    assert server.requests == []
    rows = local().embed_documents(["a whole pair: \U0001f41d"])
    assert rows.shape == (1, 32)


def test_wrong_order_of_the_answer(local, server):
    server.faults = ["reversed"]
    np.testing.assert_array_equal(
        local().embed_documents(TEXTS), HashingEmbedder(32).embed_documents(TEXTS)
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (500, "answered with status 500 for model 'small': fault 500"),
        (429, "status 429.*limits how much may be asked"),
        (404, "status 404"),
        ("truncated", "something that is not JSON: Expecting"),
        ("hangs up", "only part of one, from the embedding server"),
        ("page", "something that is not a list of embeddings"),
        ("other JSON", "something that is not a list of embeddings"),
        ("list", "something that is not a list of embeddings"),
        ("same index", "numbers its 3 vectors 0, 0, 0; expected each of 0 to 2 once"),
        ("no index", "cannot be told apart"),
        ("one missing", "returned 2 vectors for 3 texts"),
        ("one short", r"lengths \[31, 32\] in one answer"),
        ("zeros", "text 1 of 3: its vector is all zeros"),
        ("text", "not a matrix of 3 vectors"),
        ("null", "something that is not a list of embeddings"),
    ],
)
def test_a_fault_is_one_clear_error(local, server, fault, said):
    server.faults = [fault]
    with pytest.raises(EmbedderError, match=said):
        local().embed_documents(TEXTS)
    assert len(server.requests) == 1


def test_a_slow_answer(local, server):
    server.faults = ["slow"]
    with pytest.raises(
        EmbedderError, match=r"did not answer 3 texts within 0\.2 s \(tried 1 times"
    ):
        local(timeout=0.2).embed_documents(TEXTS)


def test_a_server_that_is_not_there(local):
    with pytest.raises(EmbedderError, match=r"no answer.*http://127.*refused"):
        local(base_url="http://127.0.0.1:9/v1").embed_documents(TEXTS)


def test_a_model_of_another_length(local):
    with pytest.raises(
        EmbedderError, match="length 32 for model 'small', expected 768; pass dimension=32"
    ):
        local(dimension=768).embed_documents(TEXTS)


def test_a_passing_fault_is_retried(local, server):
    server.faults = [503, None]
    rows = local(max_retries=1).embed_documents(TEXTS)
    assert rows.shape == (3, 32)
    assert len(server.requests) == 2


def test_nothing_is_asked_for_no_texts(local, server):
    assert local().embed_queries([]).shape == (0, 32)
    assert server.requests == []


def test_another_process_may_have_a_copy(local):
    embedder = local()
    embedder.embed_documents(TEXTS)
    copy = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(copy.embed_queries(TEXTS), embedder.embed_queries(TEXTS))


def test_without_the_client_package(local, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingDependency, match=r"pip install 'nousmem\[agent\]'"):
        local().embed_documents(TEXTS)


@pytest.mark.parametrize(
    "options",
    [
        {"dimension": 0},
        {"dimension": 1.5},
        {"batch_size": 0},
        {"max_retries": -1},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "30"},
    ],
)
def test_options_out_of_range(local, options):
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        local(**options)


def test_the_server_says_how_long_its_vectors_are(local, server):
    embedder = local(dimension=None)
    assert repr(embedder) == "LocalEmbedder('small')"
    assert server.requests == []
    np.testing.assert_array_equal(
        embedder.embed_documents(TEXTS), HashingEmbedder(32).embed_documents(TEXTS)
    )
    assert embedder.dimension == 32
    assert embedder.fingerprint == local().fingerprint
    assert [len(body["input"]) for _, _, body in server.requests] == [1, 3]
    assert embedder.embed_queries([]).shape == (0, 32)


def test_a_length_once_said_must_stay(local, server):
    embedder = local(dimension=None)
    assert embedder.dimension == 32
    server.dimension = 16
    with pytest.raises(EmbedderError, match="length 16 for model 'small', expected 32"):
        embedder.embed_documents(TEXTS)


def test_a_server_that_cannot_say_how_long_its_vectors_are(local, server):
    server.faults = [500]
    with pytest.raises(EmbedderError, match="answered with status 500 for model 'small'"):
        _ = local(dimension=None).fingerprint
