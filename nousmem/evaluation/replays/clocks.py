"""What a replay touches: the entries of a store, and under each setting their accesses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays

__all__ = ["AccessClocks", "Bools", "CandidateEntries", "Places"]

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateEntries:
    """The store entries that candidates are, each once whatever query and retrieval found it."""

    doc_ids: tuple[str, ...]
    """Length e, in ascending order. Ids are unique in a corpus, so in its partitions too."""
    last_accessed: NDArray[np.int64]
    """Shape (e,): whole seconds since 1970, as the corpus has it."""
    access_count: NDArray[np.int64]
    """Shape (e,): as the corpus has it."""

    @classmethod
    def of(cls, found: Iterable[CandidateArrays]) -> CandidateEntries:
        """Collect those of several ways to retrieve."""
        found = list(found)
        doc_ids = tuple(
            sorted({doc_id for arrays in found for ids in arrays.doc_ids for doc_id in ids})
        )
        made = cls(doc_ids, *np.zeros((2, len(doc_ids)), dtype=np.int64))
        for arrays in found:
            for row, own in enumerate(made.places(arrays)):
                made.last_accessed[own] = arrays.last_accessed[row, : len(own)]
                made.access_count[own] = arrays.access_count[row, : len(own)]
        return made

    def places(self, arrays: CandidateArrays) -> tuple[Places, ...]:
        """Return for each query the entry, from 0 to e - 1, that each of its candidates is."""
        place = {doc_id: at for at, doc_id in enumerate(self.doc_ids)}
        return tuple(
            np.array([place[doc_id] for doc_id in ids], dtype=np.intp) for ids in arrays.doc_ids
        )

    def __len__(self) -> int:
        return len(self.doc_ids)


@dataclass(frozen=True, slots=True, eq=False)
class AccessClocks:
    """When and how often each entry was accessed, under each of s settings."""

    last_accessed: NDArray[np.int64]
    """Shape (s, e): whole seconds since 1970."""
    access_count: NDArray[np.int64]
    """Shape (s, e)."""

    @classmethod
    def of(cls, entries: CandidateEntries, n_settings: int) -> AccessClocks:
        """Start with what the corpus has."""
        return cls(
            np.tile(entries.last_accessed, (n_settings, 1)),
            np.tile(entries.access_count, (n_settings, 1)),
        )

    def touch(self, own: Places, returned: Bools, now: np.int64) -> None:
        """Count an access of what was returned, as a store's `touch` does.

        Args:
            own: Shape (c,): the entries that candidates are.
            returned: Shape (s, c).
            now: The instant of the access, even where the corpus has a later one.
        """
        rows, columns = np.nonzero(returned)
        self.last_accessed[rows, own[columns]] = now
        self.access_count[rows, own[columns]] += 1
