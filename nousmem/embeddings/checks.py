"""What goes into an embedder and what comes out, checked: one vector a text, every one usable."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nousmem.embeddings.base import Matrix
from nousmem.errors import EmbedderError, InvalidParameter

__all__ = ["check_texts", "check_vectors"]


def check_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list.

    Raises:
        InvalidParameter: one text was given instead of a sequence of them, or an item is not
            text.
    """
    if isinstance(texts, str):
        raise InvalidParameter(
            f"expected a list of texts, got one text: {texts[:60]!r}; put it in a list"
        )
    checked = list(texts)
    for place, text in enumerate(checked):
        if not isinstance(text, str):
            raise InvalidParameter(
                f"expected a list of texts, got {type(text).__name__} at place {place}: {text!r}"
            )
    return checked


def check_vectors(vectors: object, *, count: int, dimension: int, embedder: str) -> Matrix:
    """Return what an embedder gave back as a float32 matrix of shape (count, dimension).

    Args:
        vectors: What the embedder returned.
        count: How many texts it was given.
        dimension: The length it promised.
        embedder: Its fingerprint, for the message.

    Raises:
        EmbedderError: the shape is another one, or a row is not finite or all zeros.
    """
    try:
        # A vector past the range of float32 becomes infinite, and is refused below.
        with np.errstate(over="ignore"):
            matrix = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise EmbedderError(
            f"embedder {embedder!r} returned {type(vectors).__name__}, which is not a matrix of "
            f"{count} vectors of length {dimension}"
        ) from None
    if matrix.shape != (count, dimension):
        raise EmbedderError(
            f"embedder {embedder!r} returned an array of shape {matrix.shape} for {count} texts; "
            f"expected ({count}, {dimension}): one vector of its own dimension for each text"
        )
    # The square sum of a row is finite and positive unless the row is unusable or extreme, so
    # that one pass usually settles it.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", matrix, matrix)
    for place in np.flatnonzero(~(np.isfinite(squares) & (squares > 0))):
        row = matrix[place]
        if not np.isfinite(row).all():
            fault = "holds NaN or infinity"
        elif not row.any():
            fault = "is all zeros, so it has no direction to compare"
        else:
            continue
        raise EmbedderError(
            f"embedder {embedder!r} failed on text {place + 1} of {count}: its vector {fault}"
        )
    return matrix
