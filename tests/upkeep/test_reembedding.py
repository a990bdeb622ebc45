"""Another embedder for a store: every vector, all at once, and no text embedded twice."""

from datetime import UTC, datetime

import numpy as np
import pytest

import nousmem as nm
from nousmem.embeddings import CachedEmbedder

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


class Model:
    """Vectors of random numbers seeded by text and name; dies after `lives` texts."""

    def __init__(self, name: str, dimension: int = 4, *, lives: int | None = None) -> None:
        self.fingerprint, self.dimension = name, dimension
        self.lives, self.seen = lives, []

    def embed_documents(self, texts):
        return self.embed(texts)

    def embed_queries(self, texts):
        return self.embed(texts)

    def embed(self, texts):
        if self.lives is not None and len(self.seen) + len(texts) > self.lives:
            raise nm.EmbedderError("the model ran out of memory")
        self.seen += texts
        seeds = [list(f"{self.fingerprint} {text}".encode()) for text in texts]
        rows = [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)


@pytest.fixture(params=["memory:", "sqlite::memory:", "duckdb::memory:"])
def store(request):
    with nm.open_store(request.param) as store:
        yield store


@pytest.fixture
def cached(tmp_path):
    """Give a function that puts this test's own cache in front of a model."""
    return lambda model: CachedEmbedder(model, tmp_path / "vectors.db")


def notes(n: int, **fields) -> list[nm.Entry]:
    return [nm.Entry(f"note {i}", id=f"n{i:05}", created_at=T0, **fields) for i in range(n)]


def vectors(store: nm.Store) -> dict[str, bytes]:
    return {
        entry.id: entry.embedding.tobytes()
        for entry in store.list(include_superseded=True)
        if entry.embedding is not None
    }


def test_every_vector_is_changed_and_nothing_else(store, cached):
    old, new = Model("old", 3), Model("new", 5)
    store.put(nm.embed(notes(20, metadata={"a": [1, 2.0]}, user_id="ada"), old))
    store.put([nm.Entry("set by hand", id="hand", embedding=[1, 2, 3], created_at=T0)])
    store.put([nm.Entry("without", id="none", created_at=T0)])
    (past,) = nm.embed([nm.Entry("history", id="past", superseded_at=T0, created_at=T0)], old)
    store.put([past])
    before = store.list(include_superseded=True)
    assert nm.reembed(store, cached(new)) == 23
    after = store.list(include_superseded=True)
    assert after == [entry.replace(embedding=entry.embedding, embedder="new") for entry in after]
    assert {entry.embedder for entry in after} == {"new"}
    expected = new.embed_documents([entry.content for entry in after])
    assert [entry.embedding.tobytes() for entry in after] == [row.tobytes() for row in expected]
    bare = [entry.replace(embedding=None) for entry in after]
    assert bare == [entry.replace(embedding=None) for entry in before]


BY_VECTOR = nm.Retrieval(legs=["vector"])


def test_the_old_embedder_is_refused_afterwards(store, cached):
    old, new = Model("old"), Model("new")
    store.put(nm.embed(notes(3), old))
    assert nm.Search(store, old, retrieval=BY_VECTOR)("note 1")[0].entry.id == "n00001"
    nm.reembed(store, cached(new))
    with pytest.raises(nm.EmbeddingMismatch, match=r"'old'.*'new'.*reembed"):
        nm.Search(store, old)("note 1")
    with pytest.raises(nm.EmbeddingMismatch, match="'old'"):
        store.put(nm.embed(notes(1), old))
    assert nm.Search(store, new, retrieval=BY_VECTOR)("note 1")[0].entry.id == "n00001"


@pytest.mark.parametrize("dimension", [4, 7])
def test_a_failure_changes_nothing_and_the_next_run_goes_on(store, cached, dimension):
    store.put(nm.embed(notes(1300), Model("old")))
    before = vectors(store)
    dying = Model("new", dimension, lives=1100)
    with pytest.raises(nm.EmbedderError, match="out of memory"):
        nm.reembed(store, cached(dying))
    assert vectors(store) == before
    assert {entry.embedder for entry in store.list()} == {"old"}
    assert 500 < len(dying.seen) <= 1100
    second = Model("new", dimension)
    assert nm.reembed(store, cached(second)) == 1300
    witness, *rest = second.seen  # embedded anew, to see that the model is still the same
    assert witness in dying.seen
    assert sorted([*dying.seen, *rest]) == sorted(f"note {i}" for i in range(1300))
    assert {entry.embedder for entry in store.list()} == {"new"}


def test_a_failed_write_leaves_no_mixture(cached, monkeypatch, tmp_path):
    with nm.open_store(f"sqlite:{tmp_path}/memories.db") as store:
        store.put(nm.embed(notes(50), Model("old")))
        before = vectors(store)
        put = store._vectors.put

        def dies(numbered):
            put(numbered[:25])
            raise RuntimeError("power cut")

        with monkeypatch.context() as patched:
            patched.setattr(store._vectors, "put", dies)
            with pytest.raises(RuntimeError):
                nm.reembed(store, cached(Model("new", 7)))
        assert vectors(store) == before
        assert len(store.search_vector([1, 0, 0, 0], embedder="old", min_score=-2, limit=99)) == 50


def test_nothing_to_do(store, cached):
    model = Model("new")
    assert nm.reembed(store, cached(model)) == 0
    store.put(nm.embed(notes(4), model))
    before = store.list()
    model.seen.clear()
    assert nm.reembed(store, cached(model)) == 0
    assert store.list() == before
    assert model.seen == ["note 0"]  # whether the model is still the same


def test_only_what_lacks_a_vector_is_embedded(store, cached):
    model = Model("new")
    store.put(nm.embed(notes(4), model))
    store.put(
        [nm.Entry("fresh", id="fresh"), nm.Entry("by hand", id="hand", embedding=[1, 0, 0, 0])]
    )
    model.seen.clear()
    assert nm.reembed(store, cached(model)) == 2
    assert model.seen[0] == "note 0"  # whether the model is still the same
    assert sorted(model.seen[1:]) == ["by hand", "fresh"]
    assert {entry.embedder for entry in store.list()} == {"new"}


class Renamed(Model):
    """Another model that a server gives out under the name of the one before."""

    def embed(self, texts):
        return -super().embed(texts)


def test_a_model_that_changed_under_its_name_renews_every_vector(store, cached):
    store.put(nm.embed(notes(6), Model("new")))
    before = vectors(store)
    with pytest.warns(UserWarning, match="'new' is another model than the one"):
        assert nm.reembed(store, cached(Renamed("new"))) == 6
    after = vectors(store)
    assert {key for key in before if before[key] != after[key]} == set(before)
    assert nm.reembed(store, cached(Renamed("new"))) == 0


def test_vectors_cached_of_a_model_that_changed_under_its_name_are_not_served(store, cached):
    cached(Model("new")).embed_documents([f"note {i}" for i in range(3)])
    store.put(nm.embed(notes(6), Model("old")))
    model = Renamed("new")
    with pytest.warns(UserWarning, match="every text is embedded anew"):
        assert nm.reembed(store, cached(model)) == 6
    wanted = Renamed("new").embed_documents([entry.content for entry in store.list()])
    for entry, row in zip(store.list(), wanted, strict=True):
        np.testing.assert_array_equal(entry.embedding, row)


def test_equal_texts_are_embedded_once(store, cached):
    store.put([nm.Entry("the same", id=f"{n}", user_id=f"{n}") for n in range(9)])
    model = Model("new")
    assert nm.reembed(store, cached(model)) == 9
    assert model.seen == ["the same"]


@pytest.mark.parametrize("change", ["added", "changed", "deleted", "touched"])
def test_what_is_written_meanwhile_is_not_lost(store, cached, change):
    class Slow(Model):
        def embed_documents(self, texts):
            if not self.seen:
                if change == "added":
                    store.put([nm.Entry("late", id="late")])
                elif change == "changed":
                    store.update("n00001", content="changed meanwhile")
                elif change == "deleted":
                    store.delete(["n00001"])
                else:
                    store.touch(["n00001"], now=T0)
            return super().embed_documents(texts)

    store.put(nm.embed(notes(3), Model("old")))
    nm.reembed(store, cached(Slow("new", 5)))
    after = {entry.id: entry for entry in store.list()}
    assert len(after) == {"added": 4, "deleted": 2}.get(change, 3)
    if change == "changed":
        assert after["n00001"].content == "changed meanwhile"
    if change == "touched":
        assert after["n00001"].access_count == 1
    expected = Model("new", 5).embed_documents([entry.content for entry in after.values()])
    assert np.array_equal(np.stack([entry.embedding for entry in after.values()]), expected)
