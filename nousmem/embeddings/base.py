"""The contract of embedders: texts to vectors, queries and documents apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "Matrix"]

Matrix = NDArray[np.float32]
"""Shape (n, dimension), float32, one row a text, in the order of the texts."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one length.

    Queries and documents have verbs of their own, since many models embed them differently. An
    embedder whose verbs give the same vectors may say so in an attribute `symmetric = True`;
    then one cached vector serves both.

    No vector is all zeros, whatever the text, and a text's vector does not depend on the texts
    beside it. Both verbs may be called from several threads. No texts give shape (0, dimension).
    `nousmem.testing` checks an embedder against everything said here.
    """

    @property
    def fingerprint(self) -> str:
        """What made a vector: model, version and settings; equal only if the vectors would be."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text, shape (len(texts), dimension).

        Raises:
            EmbedderError: the model failed or is out of reach.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each query, shape (len(texts), dimension).

        Raises:
            EmbedderError: the model failed or is out of reach.
        """
        ...
