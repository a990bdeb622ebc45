"""Loops of a replay: entries that are returned because they were returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.replays.clocks import Bools, CandidateEntries, Places
from nousmem.evaluation.replays.turns import Turn
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays

__all__ = ["LoopCounter", "LoopCounts", "judged_relevant"]

Ints = NDArray[np.int64]

LOOP_LENGTH = 2
"""Boosted returns in a row that make a loop."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopCounts:
    """What boosting did under each of s settings; every array has shape (s,).

    A return is boosted where the entry was returned earlier in the replay and is not among the
    first `limit` of the static ranking of this query. A chain is the boosted returns of one entry
    that follow each other without a return between them that the static ranking gives too. A loop
    is a chain of at least two: the first boosted return brought about the second.
    """

    returned: Ints
    """Places taken, by anything."""
    boosted: Ints
    """Places taken by boosted returns."""
    boosted_relevant: Ints
    """Those of them that are relevant to the query."""
    lost_relevant: Ints
    """Places of relevant entries in the static rankings that the replay does not give them."""
    loops: Ints
    """Chains of at least two."""
    looping_entries: Ints
    """Entries that have such a chain."""
    longest: Ints
    """Length of the longest chain, 0 for none."""
    longest_entry: Ints
    """The entry that has it, of equals the one with the least id; -1 for none."""

    @classmethod
    def joined(cls, parts: Sequence[tuple[Places, LoopCounts]]) -> LoopCounts:
        """Return them in one, each part at the places of its settings."""
        order = np.argsort(np.concatenate([places for places, _ in parts]))
        return cls(
            **{
                f.name: np.concatenate([getattr(part, f.name) for _, part in parts])[order]
                for f in fields(cls)
            }
        )


class LoopCounter:
    """Counts, turn by turn, under s settings.

    Attributes:
        returned: Shape (s, e): how often each entry was returned.
        boosted: Shape (s, e): how often by boosting.
        boosted_relevant: Shape (s, e): how often of these it was relevant.
        longest: Shape (s, e): its longest chain.
    """

    def __init__(self, arrays: CandidateArrays, entries: CandidateEntries, static: Bools) -> None:
        """Start with nothing returned.

        Args:
            arrays: The candidates.
            entries: Those of these arrays are among them.
            static: Shape (s, n, c): the first places of the static rankings.
        """
        shape = (len(static), len(entries))
        self.returned = np.zeros(shape, dtype=np.int32)
        self.boosted = np.zeros(shape, dtype=np.int32)
        self.boosted_relevant = np.zeros(shape, dtype=np.int32)
        self.longest = np.zeros(shape, dtype=np.int32)
        self._chain = np.zeros(shape, dtype=np.int32)
        self._loops = np.zeros(len(static), dtype=np.int64)
        self._lost = np.zeros(len(static), dtype=np.int64)
        self._static = static
        self._relevant = judged_relevant(arrays)

    def count(self, turn: Turn) -> None:
        """Take in the next turn."""
        own, returned = turn.entries, turn.returned
        static = self._static[:, turn.query, : len(own)]
        relevant = self._relevant[turn.query, : len(own)]
        boosted = returned & ~static & (self.returned[:, own] > 0)
        before = self._chain[:, own]
        chain = np.where(boosted, before + 1, np.where(returned, 0, before))
        self._chain[:, own] = chain
        self.longest[:, own] = np.maximum(self.longest[:, own], chain)
        self.returned[:, own] += returned
        self.boosted[:, own] += boosted
        self.boosted_relevant[:, own] += boosted & relevant
        self._loops += (boosted & (chain == LOOP_LENGTH)).sum(axis=1)
        self._lost += (static & ~returned & relevant).sum(axis=1)

    def totals(self) -> LoopCounts:
        """Return what was counted, by setting."""
        longest = self.longest.max(axis=1, initial=0).astype(np.int64)
        return LoopCounts(
            returned=self.returned.sum(axis=1, dtype=np.int64),
            boosted=self.boosted.sum(axis=1, dtype=np.int64),
            boosted_relevant=self.boosted_relevant.sum(axis=1, dtype=np.int64),
            lost_relevant=self._lost.copy(),
            loops=self._loops.copy(),
            looping_entries=(self.longest >= LOOP_LENGTH).sum(axis=1, dtype=np.int64),
            longest=longest,
            longest_entry=np.where(longest > 0, self.longest.argmax(axis=1), -1).astype(np.int64),
        )


def judged_relevant(arrays: CandidateArrays) -> Bools:
    """Return which candidates are judged relevant to their query, shape (n, c)."""
    relevant = np.zeros(arrays.present.shape, dtype=bool)
    judged = len(arrays.judgements.doc_ids)
    rows, columns = arrays.watched_query[:judged], arrays.watched_column[:judged]
    found = columns >= 0
    relevant[rows[found], columns[found]] = True
    return relevant
