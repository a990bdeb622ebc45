"""search_vector: cosines, their order, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nousmem.errors import EmbeddingMismatch, InvalidVector
from nousmem.stores.base import Store, VectorStore
from nousmem.testing.store_suite._case import ZEBRA, StoreCase, each, ids, later, scores

TOLERANCE = 1e-6


class Vectors(StoreCase):
    """A score is the cosine of the two vectors: a similarity, the same number in every store."""

    def test_scores_are_cosines(self, vector_store: VectorStore) -> None:
        """Identical is 1, at 45 degrees 0.7071, orthogonal 0, opposite -1."""
        vector_store.put(
            [
                self.entry("identical", embedding=self.vector(1)),
                self.entry("near", embedding=self.vector(1, 1)),
                self.entry("orthogonal", embedding=self.vector(0, 0, 1)),
                self.entry("opposite", embedding=self.vector(-1)),
            ]
        )
        found = scores(vector_store.search_vector(self.vector(1), min_score=-2))
        assert list(found) == ["identical", "near", "orthogonal", "opposite"]
        assert found["identical"] == pytest.approx(1, abs=TOLERANCE)
        assert found["near"] == pytest.approx(0.5**0.5, abs=TOLERANCE)
        assert found["orthogonal"] == pytest.approx(0, abs=TOLERANCE)
        assert found["opposite"] == pytest.approx(-1, abs=TOLERANCE)

    def test_zero_and_negative_cosines_are_dropped_by_default(
        self, vector_store: VectorStore
    ) -> None:
        """min_score is 0 unless given, and a score must be above it."""
        vector_store.put(
            [
                self.entry("identical"),
                self.entry("orthogonal", embedding=self.vector(0, 1)),
                self.entry("opposite", embedding=self.vector(-1)),
            ]
        )
        assert ids(vector_store.search_vector(self.vector(1))) == ["identical"]
        assert ids(vector_store.search_vector(self.vector(0, 0, 1))) == []

    def test_the_length_of_a_vector_does_not_count(self, vector_store: VectorStore) -> None:
        """A cosine is of directions, for tiny and for huge numbers too."""
        sizes = {"tiny": 1e-25, "small": 0.01, "one": 1.0, "large": 300.0, "huge": 1e25}
        vector_store.put(
            self.entry(name, embedding=self.vector(size, 2 * size)) for name, size in sizes.items()
        )
        for size in sizes.values():
            found = scores(vector_store.search_vector(self.vector(size, 2 * size)))
            assert set(found) == set(sizes)
            assert list(found.values()) == pytest.approx([1.0] * len(sizes), abs=TOLERANCE)

    def test_scores_agree_with_numpy(self, vector_store: VectorStore) -> None:
        """Random vectors: the same cosines, in the same order, as the formula in float64."""
        random = np.random.default_rng(11)
        rows = random.standard_normal((60, self.dimension)).astype(np.float32)
        query = random.standard_normal(self.dimension).astype(np.float32)
        vector_store.put(self.entry(f"{n:02}", embedding=row) for n, row in enumerate(rows))
        norms = np.linalg.norm(rows.astype(float), axis=1) * np.linalg.norm(query.astype(float))
        cosines = rows.astype(float) @ query.astype(float) / norms
        wanted = {f"{n:02}": cosines[n] for n in np.argsort(-cosines)}
        found = scores(vector_store.search_vector(query, limit=100, min_score=-2))
        assert found == pytest.approx(wanted, abs=TOLERANCE)
        assert list(found) == list(wanted)
        positive = [name for name, cosine in wanted.items() if cosine > 0]
        assert ids(vector_store.search_vector(query, limit=100)) == positive
        assert ids(vector_store.search_vector(query, limit=5)) == positive[:5]

    def test_equal_cosines_go_to_the_greater_id(self, vector_store: VectorStore) -> None:
        """Ties are ordered by descending id, compared by code point, before the cut."""
        names = ["b", "B", "a", "10", "9", "\u00e9", "\ufb01", "\U0001f600", "aa"]
        vector_store.put([self.entry(name) for name in names])
        order = sorted(names, reverse=True)
        assert ids(vector_store.search_vector(self.vector(1))) == order
        for limit in range(1, len(names)):
            assert ids(vector_store.search_vector(self.vector(1), limit=limit)) == order[:limit]

    def test_min_score_is_a_strict_bound_of_cosines(self, vector_store: VectorStore) -> None:
        """Every hit has score > min_score, and every entry that has is a hit."""
        vector_store.put(
            [self.entry(f"{n}", embedding=self.vector(1, n, -n)) for n in (0, 1, 2, 3, 5, 8, 13)]
        )
        hits = scores(vector_store.search_vector(self.vector(1)))
        assert len(hits) == 7
        for bound in [-1.0, 0.0, *hits.values()]:
            wanted = [entry_id for entry_id, score in hits.items() if score > bound]
            assert ids(vector_store.search_vector(self.vector(1), min_score=bound)) == wanted
            few = vector_store.search_vector(self.vector(1), min_score=bound, limit=2)
            assert ids(few) == wanted[:2]

    def test_entries_without_a_vector_are_not_found(self, vector_store: VectorStore) -> None:
        """Only entries with an embedding take part, and none is needed."""
        assert ids(vector_store.search_vector(self.vector(1))) == []
        vector_store.put([self.entry("without", embedding=None)])
        assert ids(vector_store.search_vector(self.vector(1), min_score=-2)) == []
        vector_store.put([self.entry("with")])
        assert ids(vector_store.search_vector(self.vector(1), min_score=-2)) == ["with"]

    def test_any_sequence_of_numbers_is_a_vector(self, vector_store: VectorStore) -> None:
        """Lists, tuples, whole numbers, float32 and float64 arrays are all accepted."""
        vector_store.put([self.entry("a")])
        plain = [1, *[0] * (self.dimension - 1)]
        queries: list[Any] = [
            plain,
            tuple(plain),
            [float(x) for x in plain],
            np.array(plain),
            np.array(plain, dtype=np.float32),
            np.array(plain, dtype=np.float64),
            np.array([plain, plain], dtype=np.float64).T[:, 0],
        ]
        for query in queries:
            found = scores(vector_store.search_vector(query))
            assert found == pytest.approx({"a": 1.0}, abs=TOLERANCE)

    def test_what_is_no_vector_is_refused(self, vector_store: VectorStore) -> None:
        """A query without a direction is an error, whatever the store holds."""
        rest = [0.5] * (self.dimension - 1)
        bad: list[Any] = [
            [float("nan"), *rest],
            [float("-inf"), *rest],
            [0.0] * self.dimension,
            [],
            [[1.0, *rest]],
            ZEBRA,
            None,
        ]

        def check(query: Any) -> None:
            with pytest.raises(InvalidVector):
                vector_store.search_vector(query)

        each(bad, check)
        vector_store.put([self.entry("a")])
        each(bad, check)

    def test_a_query_of_another_length_is_refused(self, vector_store: VectorStore) -> None:
        """A vector that cannot be compared is an error, never a score of 0."""
        vector_store.put([self.entry("a")])
        for length in (1, self.dimension - 1, self.dimension + 1):
            with pytest.raises(EmbeddingMismatch):
                vector_store.search_vector(np.ones(length))

    def test_a_query_of_another_embedder_is_refused(self, vector_store: VectorStore) -> None:
        """The error names both embedders; a query that names none is not checked."""
        vector_store.put([self.entry("a", embedder="first-model")])
        with pytest.raises(EmbeddingMismatch) as caught:
            vector_store.search_vector(self.vector(1), embedder="second-model")
        assert "first-model" in str(caught.value)
        assert "second-model" in str(caught.value)
        assert ids(vector_store.search_vector(self.vector(1), embedder="first-model")) == ["a"]
        assert ids(vector_store.search_vector(self.vector(1))) == ["a"]

    def test_filters_do_not_hide_a_mismatch(self, vector_store: VectorStore) -> None:
        """The store has one embedder, also for a scope that is empty."""
        vector_store.put([self.entry("a", embedder="first-model")])
        nobody = {"user_id": "nobody"}
        with pytest.raises(EmbeddingMismatch):
            vector_store.search_vector(self.vector(1), embedder="second-model", scope=nobody)
        with pytest.raises(EmbeddingMismatch):
            vector_store.search_vector(np.ones(self.dimension + 1), scope=nobody)

    def test_a_second_embedder_is_refused(self, store: Store) -> None:
        """Both put and update refuse it and name both; a vector set by hand is taken."""
        before = [self.entry(name, embedder="first-model") for name in "ab"]
        store.put(before)
        stranger = self.entry("d", embedder="second-model")
        for write in (
            lambda: store.put([self.entry("c"), stranger]),
            lambda: store.update(
                "a", embedding=self.vector(1), embedder="second-model", now=later(1)
            ),
        ):
            with pytest.raises(EmbeddingMismatch) as caught:
                write()
            assert "first-model" in str(caught.value)
            assert "second-model" in str(caught.value)
        assert store.list() == before
        store.put([self.entry("c", embedder=None)])
        assert [entry.id for entry in store.list()] == ["a", "b", "c"]

    def test_two_embedders_in_one_put_are_refused(self, store: Store) -> None:
        """Entries of one call must agree with each other, too."""
        with pytest.raises(EmbeddingMismatch):
            store.put(
                [
                    self.entry("a", embedder="first-model"),
                    self.entry("b", embedder="second-model"),
                ]
            )
        assert store.list() == []

    def test_the_fingerprint_is_known_from_any_entry(self, store: Store) -> None:
        """Vectors set by hand, before or after, do not make the store forget its embedder."""
        store.put([self.entry("hand")])
        store.put([self.entry("a", embedder="first-model"), self.entry("z")])
        with pytest.raises(EmbeddingMismatch):
            store.put([self.entry("b", embedder="second-model")])
        store.delete(["hand", "z"])
        with pytest.raises(EmbeddingMismatch):
            store.put([self.entry("b", embedder="second-model")])
