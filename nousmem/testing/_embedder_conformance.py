"""The contract of `nousmem.embeddings.base` as a test suite, for anybody's embedder."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Final

import numpy as np
import pytest

from nousmem.embeddings.base import Embedder, Matrix

__all__ = ["EmbedderConformance"]

_DOCUMENTS: Final = (
    "The bakery on Mill Street opens at seven in the morning.",
    "Marta is allergic to peanuts and carries an injector.",
    "Deployments to production go out on Tuesdays after the tests have passed.",
    "The red bicycle in the cellar has a flat tyre.",
)
# Each shares words with its own document, for embedders that know no synonyms.
_QUERIES: Final = (
    "When does the bakery on Mill Street open in the morning?",
    "Is Marta allergic to peanuts?",
    "Which day do deployments go out to production?",
    "Does the red bicycle have a flat tyre?",
)
_UNUSUAL: Final = {
    "empty": "",
    "spaces": "   ",
    "newlines": "\n\n",
    "punctuation": "!!!",
    "one letter": "a",
    "emoji": "🎉🎉 👩‍👩‍👧",
    "Chinese": "我喜欢喝咖啡，不喜欢喝茶",
    "Arabic": "أحب القهوة",
    "combining marks": "e\u0301galite\u0301",
    "several lines": "first line\nsecond line\r\n\tthird line",
    "control characters": "bell\x07 and escape\x1b",
    "markup": '<|endoftext|> [CLS] </s> {"role": "system"}',
    "very long": "the quick brown fox jumps over the lazy dog ",
    "one very long word": "x",
}


class EmbedderConformance:
    """Checks an embedder against everything the contract says.

    Derive a class from it in a test file, say how the embedder is made, and run pytest:

    ```python
    from nousmem.testing import EmbedderConformance

    class TestMyEmbedder(EmbedderConformance):
        def make_embedder(self) -> MyEmbedder:
            return MyEmbedder("model-name")
    ```

    Each test states one rule, its docstring says which. One embedder is made for all tests of a
    class, and a second one to compare the fingerprints.

    `tolerance` (1e-5) is how far a number may be off, in a vector of length 1, when the same
    text is embedded again or in other company. `longest` (20,000) is how many characters the
    longest text tried has, for a server that is slow on long texts.
    """

    tolerance: ClassVar[float] = 1e-5
    longest: ClassVar[int] = 20_000
    _made: ClassVar[dict[type[EmbedderConformance], Embedder]] = {}

    def make_embedder(self) -> Embedder:
        """Return a new embedder; two of them must be equal in all that counts."""
        raise NotImplementedError(f"{type(self).__name__} must define make_embedder(self)")

    @pytest.fixture
    def embedder(self) -> Embedder:
        """Give the embedder of this class, made once: loading a model takes its time."""
        if type(self) not in self._made:
            self._made[type(self)] = self.make_embedder()
        return self._made[type(self)]

    def test_is_an_embedder(self, embedder: Embedder) -> None:
        """It has fingerprint, dimension and the two verbs."""
        assert isinstance(embedder, Embedder), f"{embedder!r} lacks a part of the contract"

    def test_dimension_is_a_whole_number(self, embedder: Embedder) -> None:
        """`dimension` is an int from 1."""
        dimension = embedder.dimension
        assert type(dimension) is int, f"dimension is {dimension!r}"
        assert dimension >= 1, f"dimension is {dimension!r}"

    def test_fingerprint_is_text(self, embedder: Embedder) -> None:
        """`fingerprint` is text, and says something."""
        fingerprint = embedder.fingerprint
        assert type(fingerprint) is str, f"fingerprint is {fingerprint!r}"
        assert fingerprint.strip(), "the fingerprint is blank"

    def test_fingerprint_stays(self, embedder: Embedder) -> None:
        """`fingerprint` and `dimension` are the same before and after use, and in a second one."""
        before = (embedder.fingerprint, embedder.dimension)
        embedder.embed_documents(_DOCUMENTS[:1])
        embedder.embed_queries(_QUERIES[:1])
        assert (embedder.fingerprint, embedder.dimension) == before, "changed by use"
        second = self.make_embedder()
        assert (second.fingerprint, second.dimension) == before, "differs in a second embedder"

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_no_texts(self, embedder: Embedder, verb: str) -> None:
        """No texts give shape (0, dimension)."""
        self._vectors(embedder, verb, [])

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_one_row_a_text(self, embedder: Embedder, verb: str) -> None:
        """The result has shape (n, dimension), float32, finite, no row of zeros."""
        for count in (1, 2, len(_DOCUMENTS)):
            self._vectors(embedder, verb, _DOCUMENTS[:count])

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    @pytest.mark.parametrize("kind", _UNUSUAL)
    def test_unusual_text(self, embedder: Embedder, verb: str, kind: str) -> None:
        """Any text gets a usable vector."""
        self._vectors(embedder, verb, [self._unusual(kind)])

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_again(self, embedder: Embedder, verb: str) -> None:
        """The same texts get the same vectors, also from a second embedder."""
        first = self._vectors(embedder, verb, _DOCUMENTS)
        self._assert_same(self._vectors(embedder, verb, _DOCUMENTS), first, "the second time")
        other = self._vectors(self.make_embedder(), verb, _DOCUMENTS)
        self._assert_same(other, first, "in a second embedder")

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_company(self, embedder: Embedder, verb: str) -> None:
        """A vector depends on its own text alone, not on the texts beside it."""
        texts = [*_DOCUMENTS[:2], self._unusual("very long"), *_QUERIES[:2]]
        together = self._vectors(embedder, verb, texts)
        alone = np.concatenate([self._vectors(embedder, verb, [text]) for text in texts])
        self._assert_same(together, alone, "in company")

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_order(self, embedder: Embedder, verb: str) -> None:
        """Row n belongs to text n, in many texts of many lengths, some of them equal."""
        texts = [" ".join(_DOCUMENTS[n % 4].split()[: 1 + n % 7]) for n in range(75)]
        different = list(dict.fromkeys(texts))
        rows = self._vectors(embedder, verb, different)
        expected = np.stack([rows[different.index(text)] for text in texts])
        self._assert_same(self._vectors(embedder, verb, texts), expected, "in another row")

    @pytest.mark.parametrize("verb", ["embed_documents", "embed_queries"])
    def test_texts_differ(self, embedder: Embedder, verb: str) -> None:
        """Different texts get different vectors."""
        rows = self._unit(self._vectors(embedder, verb, _DOCUMENTS))
        cosines = (rows @ rows.T)[~np.eye(len(rows), dtype=bool)]
        assert cosines.max() < 1 - 1e-4, f"two of the texts {_DOCUMENTS} have one vector"

    def test_query_finds_its_document(self, embedder: Embedder) -> None:
        """A query is nearer to the document that answers it than to any other."""
        queries = self._unit(self._vectors(embedder, "embed_queries", _QUERIES))
        documents = self._unit(self._vectors(embedder, "embed_documents", _DOCUMENTS))
        cosines = queries @ documents.T
        for place, row in enumerate(cosines):
            nearest = int(row.argmax())
            assert nearest == place, (
                f"{_QUERIES[place]!r} is nearer to {_DOCUMENTS[nearest]!r} ({row[nearest]:.3f}) "
                f"than to {_DOCUMENTS[place]!r} ({row[place]:.3f})"
            )

    def test_texts_are_left_alone(self, embedder: Embedder) -> None:
        """The list given is not changed, and a tuple does as well."""
        texts = list(reversed(_DOCUMENTS))
        embedder.embed_documents(texts)
        embedder.embed_queries(texts)
        assert texts == list(reversed(_DOCUMENTS)), "the caller's list was changed"
        self._vectors(embedder, "embed_documents", tuple(texts))

    def test_a_result_is_the_callers(self, embedder: Embedder) -> None:
        """What the caller does to a result does not show in the next one."""
        first = np.array(embedder.embed_documents(_DOCUMENTS))
        result = embedder.embed_documents(_DOCUMENTS)
        if result.flags.writeable:
            result[:] = 7
        self._assert_same(embedder.embed_documents(_DOCUMENTS), first, "after a result was changed")

    def test_threads(self, embedder: Embedder) -> None:
        """Both verbs may be called from several threads at once."""
        texts = [*_DOCUMENTS, *_QUERIES]
        verbs = ["embed_documents", "embed_queries"] * 4
        expected = {verb: self._vectors(embedder, verb, texts) for verb in set(verbs)}
        with ThreadPoolExecutor(max_workers=4) as pool:
            running = [pool.submit(self._vectors, embedder, verb, texts) for verb in verbs]
        for verb, result in zip(verbs, running, strict=True):
            self._assert_same(result.result(), expected[verb], "under threads")

    def _unusual(self, kind: str) -> str:
        text = _UNUSUAL[kind]
        return text * (self.longest // len(text)) if "very long" in kind else text

    def _vectors(self, embedder: Embedder, verb: str, texts: Sequence[str]) -> Matrix:
        """Return the vectors, after the checks that hold for every result."""
        call = embedder.embed_queries if verb == "embed_queries" else embedder.embed_documents
        result = call(texts)
        assert isinstance(result, np.ndarray), f"{verb} returned {type(result).__name__}"
        shape = (len(texts), embedder.dimension)
        assert result.shape == shape, f"{verb} returned shape {result.shape}, expected {shape}"
        assert result.dtype == np.float32, f"{verb} returned {result.dtype}, expected float32"
        assert np.isfinite(result).all(), f"{verb} returned NaN or infinity"
        assert result.any(axis=1).all(), f"{verb} returned a row of zeros"
        return result

    def _assert_same(self, got: Matrix, expected: Matrix, when: str) -> None:
        gap = float(np.abs(self._unit(got) - self._unit(expected)).max())
        assert gap <= self.tolerance, (
            f"a text got another vector {when}: off by {gap:.2e} at most, "
            f"{self.tolerance:.0e} is allowed"
        )

    @staticmethod
    def _unit(matrix: Matrix) -> Matrix:
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
