import json
import pickle
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from nousmem.embeddings import (
    CachedEmbedder,
    HashingEmbedder,
    SentenceTransformerEmbedder,
    cache_path,
    cache_summary,
    prune_cache,
    vector_cache,
)
from nousmem.embeddings.vector_cache import VectorCache, text_key
from nousmem.errors import EmbedderError, InvalidEntry, InvalidParameter
from nousmem.testing._embedder_conformance import EmbedderConformance

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class TestContract(EmbedderConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path_factory):
        self.path = tmp_path_factory.getbasetemp() / "contract.sqlite"

    def make_embedder(self):
        return CachedEmbedder(HashingEmbedder(), self.path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "cache.sqlite"


def test_a_text_is_embedded_once_ever(path, counting):
    first = counting()
    rows = CachedEmbedder(first, path).embed_documents(["a", "b", "a"])
    assert sorted(first.documents) == ["a", "b"]
    second = counting()
    again = CachedEmbedder(second, path).embed_documents(["b", "c", "a"])
    assert second.documents == ["c"]
    np.testing.assert_array_equal(again[[2, 0, 2]], rows)
    np.testing.assert_array_equal(again, counting().embed_documents(["b", "c", "a"]))


def test_many_texts_keep_their_order(path, counting):
    texts = [f"{'word ' * (n % 11)}{n % 1500}" for n in range(2500)]
    expected = counting().embed_documents(texts)
    cached = CachedEmbedder(counting(), path)
    cached.embed_documents(texts[700:1300])
    np.testing.assert_array_equal(cached.embed_documents(texts), expected)
    np.testing.assert_array_equal(CachedEmbedder(counting(), path).embed_documents(texts), expected)


def test_queries_and_documents_are_kept_apart(path, counting):
    embedder = counting()
    cached = CachedEmbedder(embedder, path)
    cached.embed_documents(["a"])
    queries = cached.embed_queries(["a"])
    assert embedder.queries == ["a"]
    np.testing.assert_array_equal(queries, counting().embed_queries(["a"]))
    np.testing.assert_array_equal(cached.embed_documents(["a"]), counting().embed_documents(["a"]))


def test_one_vector_serves_both_verbs_of_a_symmetric_embedder(path, counting):
    embedder = counting(symmetric=True)
    cached = CachedEmbedder(embedder, path)
    cached.embed_documents(["a"])
    np.testing.assert_array_equal(cached.embed_queries(["a"]), embedder.embed_documents(["a"]))
    assert embedder.queries == []
    assert cached.symmetric


def test_no_vector_of_another_model(path, counting):
    first = CachedEmbedder(counting("one"), path).embed_documents(["a"])
    second = CachedEmbedder(counting("two"), path).embed_documents(["a"])
    np.testing.assert_array_equal(second, counting("two").embed_documents(["a"]))
    assert not np.array_equal(first, second)


def test_two_models_with_one_fingerprint(path, counting):
    CachedEmbedder(counting("one", 8), path).embed_documents(["a"])
    other = CachedEmbedder(counting("one", 16), path)
    with pytest.raises(EmbedderError, match=r"shape \(1, 16\).*expected \(1, 8\)"):
        other.embed_documents(["b"])


def test_two_models_with_one_fingerprint_at_once(path, counting):
    other = CachedEmbedder(counting("one", 16), path)
    assert other.dimension == 16
    CachedEmbedder(counting("one", 8), path).embed_documents(["a"])
    with pytest.raises(EmbedderError, match="two models share a fingerprint"):
        other.embed_documents(["b"])


def test_the_dimension_is_known_from_the_file(path, counting):
    CachedEmbedder(counting(dimension=12), path).embed_documents(["a"])
    unknowing = counting()
    del unknowing.dimension
    assert CachedEmbedder(unknowing, path).dimension == 12
    assert CachedEmbedder(unknowing, path).embed_documents([]).shape == (0, 12)


def test_a_second_run_loads_no_model(path):
    # The vectors come from another embedder here, under the fingerprint of the model.
    class Stand(HashingEmbedder):
        fingerprint = SentenceTransformerEmbedder().fingerprint

    CachedEmbedder(Stand(384), path).embed_documents(["one", "two"])
    code = f"""
import sys, json
from nousmem.embeddings import CachedEmbedder, SentenceTransformerEmbedder, embed
from nousmem.entry import Entry
cached = CachedEmbedder(SentenceTransformerEmbedder(), {str(path)!r})
done = embed([Entry("two"), Entry("one")], cached)
cached.embed_queries(["one"])
print(json.dumps([len(done[0].embedding), "torch" in sys.modules]))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == [384, False]


def test_an_interrupted_run_keeps_what_it_has(path, counting):
    class Interrupted(type(counting())):
        def embed_documents(self, texts):
            if self.documents:
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    texts = [f"text {n}" for n in range(1200)]
    first = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(first, path).embed_documents(texts)
    second = counting()
    CachedEmbedder(second, path).embed_documents(texts)
    assert len(second.documents) == len(texts) - len(first.documents) < len(texts)


@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_an_unusable_vector_is_not_kept(path, counting, bad):
    embedder = counting()
    embedder.embed_documents = lambda texts: np.full((len(texts), 8), bad, dtype=np.float32)
    with pytest.raises(EmbedderError, match="counting:1"):
        CachedEmbedder(embedder, path).embed_documents(["a"])
    assert cache_summary(path) == []


DAMAGE = {
    "short": "substr(vector, 1, 7)",
    "empty": "zeroblob(0)",
    "long": "zeroblob(36)",
    "no blob": "'00000000000000000000000000000000'",
    "a number": "17",
}


@pytest.mark.parametrize("damaged", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_row_is_embedded_again_and_mended(path, counting, damaged):
    texts = [f"text {n}" for n in range(5)]
    CachedEmbedder(counting(), path).embed_documents(texts)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            f"UPDATE vectors SET vector = {damaged} WHERE key = ?",
            (text_key("text 3", role="document"),),
        )
    embedder, again = counting(), counting()
    expected = counting().embed_documents(texts)
    np.testing.assert_array_equal(CachedEmbedder(embedder, path).embed_documents(texts), expected)
    assert embedder.documents == ["text 3"]
    np.testing.assert_array_equal(CachedEmbedder(again, path).embed_documents(texts), expected)
    assert again.documents == []


def test_a_whole_row_is_not_written_over(path, counting):
    cached = CachedEmbedder(counting(), path)
    rows = cached.embed_documents(["a"])
    other = {text_key("a", role="document"): np.ones(8, dtype=np.float32)}
    VectorCache(path).write("counting:1", other, now=NOON)
    np.testing.assert_array_equal(cached.embed_documents(["a"]), rows)


def test_an_embedder_that_takes_over_a_pruned_ones_number(path, counting, monkeypatch):
    """A prune and another embedder's write come between two steps of one read."""
    CachedEmbedder(counting("one"), path).embed_documents(["a"])
    look_up = vector_cache._embedder_row

    def interrupted(db, fingerprint):
        row = look_up(db, fingerprint)
        monkeypatch.setattr(vector_cache, "_embedder_row", look_up)
        prune_cache(path)
        CachedEmbedder(counting("two"), path).embed_documents(["a"])
        return row

    cached = CachedEmbedder(counting("one"), path)
    assert cached.dimension == 8
    monkeypatch.setattr(vector_cache, "_embedder_row", interrupted)
    rows = cached.embed_documents(["a"])
    np.testing.assert_array_equal(rows, counting("one").embed_documents(["a"]))


def test_a_result_may_be_changed(path, counting):
    cached = CachedEmbedder(counting(), path)
    for _ in range(2):
        rows = cached.embed_documents(["a"])
        rows[:] = 0
    np.testing.assert_array_equal(cached.embed_documents(["a"]), counting().embed_documents(["a"]))


def test_the_file_holds_no_text(path, counting):
    CachedEmbedder(counting(), path).embed_documents(["the alarm code is 4711"])
    assert all(b"alarm" not in file.read_bytes() for file in path.parent.iterdir())


def test_processes_share_the_file(path):
    code = f"""
from nousmem.embeddings import CachedEmbedder, HashingEmbedder
cached = CachedEmbedder(HashingEmbedder(8), {str(path)!r})
for n in range(40):
    cached.embed_documents([f"text {{m}}" for m in range(n, n + 20)])
"""
    running = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)
    ]
    for process in running:
        _, complaints = process.communicate()
        assert process.returncode == 0, complaints
    assert [row.vectors for row in cache_summary(path)] == [59]


def test_threads_share_an_embedder(path, counting):
    cached = CachedEmbedder(counting(), path)
    texts = [f"text {n}" for n in range(30)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: cached.embed_documents(texts[n:]), range(20)))
    for n, rows in enumerate(results):
        np.testing.assert_array_equal(rows, counting().embed_documents(texts[n:]))


def test_a_copy_for_another_process(path):
    cached = pickle.loads(pickle.dumps(CachedEmbedder(HashingEmbedder(8), path)))
    assert cached.embed_documents(["a"]).shape == (1, 8)


def test_where_the_file_is(tmp_path, monkeypatch):
    monkeypatch.delenv("NOUSMEM_CACHE", raising=False)
    assert cache_path().name == "embeddings.sqlite"
    assert "nousmem" in str(cache_path())
    monkeypatch.setenv("NOUSMEM_CACHE", str(tmp_path))
    assert cache_path() == tmp_path / "embeddings.sqlite"
    assert CachedEmbedder(HashingEmbedder()).path == tmp_path / "embeddings.sqlite"
    assert cache_path(tmp_path / "other") == tmp_path / "other"
    assert cache_path("~/x") == Path.home() / "x"


def test_making_one_makes_no_file(path):
    cached = CachedEmbedder(HashingEmbedder(), path)
    assert cached.dimension == 256
    assert not path.parent.exists()


def test_a_file_that_is_no_cache(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, " * 100)
    for use in (
        lambda: CachedEmbedder(HashingEmbedder(), path).embed_documents(["a"]),
        lambda: cache_summary(path),
        lambda: prune_cache(path),
    ):
        with pytest.raises(EmbedderError, match=r"notes\.txt.*delete the file"):
            use()
    assert path.read_text().startswith("these are my notes")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbedderError, match="NOUSMEM_CACHE"):
        CachedEmbedder(HashingEmbedder(), tmp_path / "file" / "c.sqlite").embed_documents(["a"])


def test_a_file_of_a_newer_version(path, counting):
    CachedEmbedder(counting(), path).embed_documents(["a"])
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(EmbedderError, match="newer nousmem"):
        CachedEmbedder(counting(), path).embed_documents(["a"])


def test_one_text_instead_of_a_list(path, counting):
    with pytest.raises(InvalidParameter, match="put it in a list"):
        CachedEmbedder(counting(), path).embed_queries("what is this")


class TestSummaryAndPruning:
    @pytest.fixture
    def filled(self, path, counting):
        for days, (name, texts) in enumerate({"old": ["a", "b"], "new": ["a", "b", "c"]}.items()):
            embedder = CachedEmbedder(counting(name), path, clock=lambda d=days: NOON + d * DAY)
            embedder.embed_documents(texts)
        return path

    def test_summary(self, filled):
        rows = [
            (row.fingerprint, row.dimension, row.vectors, row.bytes, row.last_used)
            for row in cache_summary(filled)
        ]
        assert rows == [
            ("new", 8, 3, 96, NOON + DAY),
            ("old", 8, 2, 64, NOON),
        ]

    def test_reading_counts_as_use(self, filled, counting):
        later = NOON + 9 * DAY
        CachedEmbedder(counting("old"), filled, clock=lambda: later).embed_documents(["a"])
        assert [(row.fingerprint, row.last_used) for row in cache_summary(filled)] == [
            ("old", later),
            ("new", NOON + DAY),
        ]

    def test_no_file_is_an_empty_cache(self, path):
        assert cache_summary(path) == []
        assert prune_cache(path) == 0
        assert not path.exists()

    def test_prune_one_embedder(self, filled, counting):
        assert prune_cache(filled, fingerprint="old") == 2
        assert prune_cache(filled, fingerprint="unheard of") == 0
        assert [row.fingerprint for row in cache_summary(filled)] == ["new"]
        embedder = counting("old")
        CachedEmbedder(embedder, filled).embed_documents(["a"])
        assert embedder.documents == ["a"]

    def test_prune_what_is_long_unused(self, filled):
        assert prune_cache(filled, unused_since=NOON) == 0
        assert prune_cache(filled, unused_since=NOON + timedelta(hours=1)) == 2
        assert prune_cache(filled, fingerprint="new", unused_since=NOON) == 0
        assert [row.fingerprint for row in cache_summary(filled)] == ["new"]

    def test_prune_everything(self, filled):
        assert prune_cache(filled) == 5
        assert cache_summary(filled) == []

    def test_pruning_gives_the_space_back(self, path):
        CachedEmbedder(HashingEmbedder(), path).embed_documents([f"t {n}" for n in range(400)])
        before = path.stat().st_size
        prune_cache(path)
        assert path.stat().st_size < before / 4

    def test_an_instant_without_a_time_zone(self, filled):
        with pytest.raises(InvalidEntry, match="time zone"):
            prune_cache(filled, unused_since=datetime(2026, 1, 1))  # noqa: DTZ001 - the fault
