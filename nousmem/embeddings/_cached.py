"""An embedder that remembers on disk what it has embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from nousmem.embeddings.base import Embedder, Matrix
from nousmem.embeddings.checks import check_texts, check_vectors
from nousmem.embeddings.vector_cache import VectorCache, cache_path, text_key, utc_now

__all__ = ["CachedEmbedder"]

_TEXTS_A_WRITE: Final = 512
_SAME_MODEL: Final = 0.999  # batches and hardware move the cosine of equal models by some 1e-6


class CachedEmbedder:
    """Another embedder, with a file of vectors in front of it.

    A text is embedded once, ever: a second run loads no model. Vectors are kept by the embedder's
    fingerprint, so that one model's are never given out as another's, and by verb, unless the
    embedder says that both give the same. The file keeps hashes of the texts, not the texts; it
    may be shared by any number of processes. What has been embedded is written every 512 texts,
    so that an interrupted run loses little.

    Reading costs about 15 µs a text, opening the file about half a millisecond a call.

    Args:
        embedder: What embeds the texts that are not in the file.
        path: The cache file, a SQLite database. None: embeddings.sqlite in the folder that the
            environment variable NOUSMEM_CACHE names, else in the user's cache folder.
        clock: Gives the instant that is noted as the last use.
    """

    def __init__(
        self,
        embedder: Embedder,
        path: str | Path | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._embedder = embedder
        self._cache = VectorCache(cache_path(path))
        self._clock = clock
        self._dimension: int | None = None

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._embedder!r})"

    @property
    def embedder(self) -> Embedder:
        """The embedder behind the file."""
        return self._embedder

    @property
    def path(self) -> Path:
        """The cache file."""
        return self._cache.path

    @property
    def symmetric(self) -> bool:
        """Whether queries and documents are known to get the same vectors."""
        return bool(getattr(self._embedder, "symmetric", False))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the embedder behind: the vectors are its vectors."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """Length of every vector, from the file if it is known there."""
        if self._dimension is None:
            known = self._cache.dimension(self.fingerprint)
            self._dimension = self._embedder.dimension if known is None else known
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text, shape (len(texts), dimension).

        Raises:
            EmbedderError: the embedder failed, or the cache file cannot be used.
        """
        return self._embed(check_texts(texts), role="document")

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each query, shape (len(texts), dimension).

        Raises:
            EmbedderError: the embedder failed, or the cache file cannot be used.
        """
        return self._embed(check_texts(texts), role="query")

    def still_made_so(self, text: str, vector: Matrix) -> bool:
        """Whether the embedder behind the file makes the vector that is kept of a document.

        A server may serve another model under the name of an earlier one; its vectors point
        elsewhere. The text is embedded anew, whatever the file holds.

        Args:
            text: The document.
            vector: What is kept of it, shape (dimension,).

        Raises:
            EmbedderError: the embedder failed.
        """
        fresh = self._compute([text], role="document")[0].astype(np.float64)
        kept = vector.astype(np.float64)
        cosine = fresh @ kept / np.linalg.norm(fresh) / np.linalg.norm(kept)
        return bool(cosine >= _SAME_MODEL)

    def kept_document(self, texts: Sequence[str]) -> tuple[str, Matrix] | None:
        """Return one of the documents that the file has, with its vector; None if it has none."""
        role = "" if self.symmetric else "document"
        for start in range(0, len(texts), _TEXTS_A_WRITE):
            keys = {text_key(text, role=role): text for text in texts[start:][:_TEXTS_A_WRITE]}
            stored = self._cache.read(self.fingerprint, list(keys), now=self._clock())
            for key, vector in stored.items():
                return keys[key], np.frombuffer(vector, dtype="<f4")
        return None

    def _embed(self, texts: list[str], *, role: str) -> Matrix:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        shared = "" if self.symmetric else role
        keys = {text: text_key(text, role=shared) for text in texts}
        stored = self._cache.read(self.fingerprint, list(keys.values()), now=self._clock())
        missing = sorted((text for text in keys if keys[text] not in stored), key=len)
        for start in range(0, len(missing), _TEXTS_A_WRITE):
            part = missing[start : start + _TEXTS_A_WRITE]
            rows = self._compute(part, role=role)
            fresh = {keys[text]: row for text, row in zip(part, rows, strict=True)}
            self._cache.write(self.fingerprint, fresh, now=self._clock())
            stored.update({key: row.astype("<f4").tobytes() for key, row in fresh.items()})
        joined = b"".join([stored[keys[text]] for text in texts])
        matrix = np.frombuffer(joined, dtype="<f4").reshape(len(texts), -1)
        return matrix.astype(np.float32)

    def _compute(self, texts: list[str], *, role: str) -> Matrix:
        verb = self._embedder.embed_queries if role == "query" else self._embedder.embed_documents
        return check_vectors(
            verb(texts), count=len(texts), dimension=self.dimension, embedder=self.fingerprint
        )
