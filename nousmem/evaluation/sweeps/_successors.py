"""How similar the candidates of many queries are to those that are newer: worked out when asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Vector
from nousmem.retrieval.candidates import Candidates
from nousmem.scoring import successor_similarity

__all__ = ["Successors", "similarity_of"]


class Successors:
    """The vectors of candidates, and the similarities that a sweep needs of them.

    The vectors of an entry that several queries found are kept once. The similarities are worked
    out on the first call, and kept: 4 · n · c² bytes for n queries of up to c candidates, so 22 MB
    for 1,536 queries of 60.
    """

    def __init__(self, candidates: Sequence[Candidates]) -> None:
        known: dict[tuple[str, str | None], Vector] = {}
        self._width = max((len(one) for one in candidates), default=0)
        self._rows = [
            (
                [
                    _shared(known, entry.id, entry.embedder, entry.embedding)
                    for entry in one.entries
                ],
                [entry.embedder for entry in one.entries],
                one.created,
                one.evergreen,
            )
            for one in candidates
        ]
        self._kept: NDArray[np.float32] | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, candidates: Sequence[Candidates]) -> Successors | None:
        """Return None where no candidate has a vector."""
        some = any(entry.embedding is not None for one in candidates for entry in one.entries)
        return cls(candidates) if some else None

    def similarity(self) -> NDArray[np.float32]:
        """Return shape (n, c, c): as `successor_similarity` returns it, NaN for padding."""
        with self._lock:
            if self._kept is None:
                shape = (len(self._rows), self._width, self._width)
                kept = np.full(shape, np.nan, dtype=np.float32)
                for at, (vectors, spaces, created, evergreen) in enumerate(self._rows):
                    n = len(vectors)
                    kept[at, :n, :n] = successor_similarity(
                        vectors, spaces, created=created, evergreen=evergreen
                    )
                self._kept = kept
            return self._kept

    def __getstate__(self) -> dict[str, Any]:
        # A lock cannot go to another process.
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


def similarity_of(successors: Successors | None, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the similarities, NaN throughout where there are none.

    An update rule of somebody's own is asked all the same: it may look at instants alone.

    Args:
        successors: Of n queries, with up to c candidates each.
        shape: (n, c).
    """
    if successors is not None:
        return successors.similarity()
    return np.full((*shape, shape[-1]), np.nan, dtype=np.float32)


def _shared(
    known: dict[tuple[str, str | None], Vector],
    entry_id: str,
    space: str | None,
    vector: Vector | None,
) -> Vector | None:
    if vector is None:
        return None
    first = known.setdefault((entry_id, space), vector)
    return first if np.array_equal(first, vector) else vector
