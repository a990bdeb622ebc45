"""What the legs found for one query, as arrays: the input of every ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry, Vector
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.scoring import (
    Floats,
    Scoring,
    age_hours,
    composite,
    decay_hours,
    decay_under,
    epoch_seconds,
    foremost,
    freshness_under,
    recency,
    relevance_under,
    successor_similarity,
)
from nousmem.stores.base import ScoredEntries, Store, searches_vectors

__all__ = ["LEGS", "Candidates", "ScoreParts", "retrieve", "score_candidates"]

LEGS = ("text", "vector")
"""The legs there are; text is always the first row of an array over legs."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The union of the legs' lists, by descending doc_id (which is the tie rule)."""

    entries: tuple[Entry, ...]
    """Length n, as the store returned them."""
    ranks: NDArray[np.int64]
    """Shape (len(LEGS), n): rank from 1 in each leg, 0 where the leg did not return it."""
    leg_scores: Floats
    """Shape (len(LEGS), n): the leg's own score, NaN where absent."""
    importance: Floats
    """Shape (n,): 0 to 1."""
    last_accessed: NDArray[np.int64]
    """Shape (n,): whole seconds since 1970."""
    created: NDArray[np.int64]
    """Shape (n,): whole seconds since 1970."""
    evergreen: NDArray[np.bool_]
    """Shape (n,): exempt from decay."""

    @classmethod
    def union(cls, legs: Mapping[str, ScoredEntries]) -> Candidates:
        """Unite ranked lists, best first, by the name of their leg.

        Where two lists hold an entry, the later list's object is kept; where one list holds it
        twice, its last rank counts.
        """
        found: dict[str, Entry] = {}
        for name in LEGS:
            found.update((entry.id, entry) for entry, _ in legs.get(name, ()))
        entries = tuple(found[entry_id] for entry_id in sorted(found, reverse=True))
        column = {entry.id: at for at, entry in enumerate(entries)}
        ranks = np.zeros((len(LEGS), len(entries)), dtype=np.int64)
        leg_scores = np.full(ranks.shape, np.nan)
        for row, name in enumerate(LEGS):
            for rank, (entry, score) in enumerate(legs.get(name, ()), 1):
                ranks[row, column[entry.id]] = rank
                leg_scores[row, column[entry.id]] = score
        return cls(
            entries=entries,
            ranks=ranks,
            leg_scores=leg_scores,
            importance=np.array([entry.importance for entry in entries], dtype=np.float64),
            last_accessed=np.array(
                [epoch_seconds(entry.last_accessed_at) for entry in entries], dtype=np.int64
            ),
            created=np.array(
                [epoch_seconds(entry.created_at) for entry in entries], dtype=np.int64
            ),
            evergreen=np.array([entry.evergreen for entry in entries], dtype=bool),
        )

    def successor_similarity(self, among: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the cosine of each entry with each newer one, shape (n, n), NaN where none.

        The entries' own vectors are compared; those of two embedders, or of an embedder and one
        set by hand, are not.

        Args:
            among: Which entries are compared; the others have none.
        """
        compared = set(among.tolist())
        return successor_similarity(
            [one.embedding if at in compared else None for at, one in enumerate(self.entries)],
            [entry.embedder for entry in self.entries],
            created=self.created,
            evergreen=self.evergreen,
        )

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreParts:
    """Every part of the composite score, each of shape (n,)."""

    relevance: Floats
    """After fusion, before freshness and decay; NaN, and so the score, where no leg with a weight
    returned the entry."""
    freshness: Floats
    """What relevance is multiplied by beside updates; 1 where nothing changes, and throughout
    unless the scoring prefers updates."""
    age_hours: Floats
    """Hours that decay counts, at least 0: since last access or creation, by the scoring's
    clock."""
    decay: Floats
    """Share of relevance that age leaves, 0 to 1; by the scoring's curve and clock."""
    importance: Floats
    """0 to 1."""
    recency: Floats
    """0 to 1; since last access always."""
    score: Floats
    """The composite."""


def score_candidates(candidates: Candidates, scoring: Scoring, *, now: datetime) -> ScoreParts:
    """Return the parts of every candidate's score, in the candidates' order.

    Where the scoring prefers updates, every candidate within its `update_depth` is compared with
    every other.
    """
    relevance = relevance_under(scoring, candidates.ranks, candidates.leg_scores)
    fresh = np.ones(len(candidates))
    if scoring.prefers_updates():
        compared = foremost(relevance, scoring.update_depth)
        similarity = candidates.successor_similarity(compared)
        fresh = freshness_under(scoring, relevance, similarity, created=candidates.created)
    moments = {
        "last_accessed": candidates.last_accessed,
        "created": candidates.created,
        "now": np.int64(epoch_seconds(now)),
    }
    share = decay_under(
        scoring, **moments, evergreen=candidates.evergreen, importance=candidates.importance
    )
    recent = recency(
        age_hours(candidates.last_accessed, epoch_seconds(now)),
        recency_lambda=scoring.recency_lambda,
    )
    w_relevance, w_importance, w_recency = scoring.weights()
    score = composite(
        relevance * fresh * share,
        candidates.importance,
        recent,
        w_relevance=w_relevance,
        w_importance=w_importance,
        w_recency=w_recency,
    )
    hours = decay_hours(scoring, **moments)
    return ScoreParts(
        relevance=relevance,
        freshness=fresh,
        age_hours=hours,
        decay=share,
        importance=candidates.importance,
        recency=recent,
        score=score,
    )


def retrieve(
    store: Store,
    query: str,
    *,
    vector: Vector | None = None,
    embedder: str | None = None,
    legs: Sequence[str] = LEGS,
    depth: int = 30,
    scope: ScopeLike = GLOBAL,
    type: str | None = None,
    as_of: datetime | None = None,
) -> Candidates:
    """Read the legs of one query, each to the depth `depth`, and unite them.

    Args:
        store: Where to look.
        query: A user's text.
        vector: The query's vector, shape (dimension,); without it the vector leg is left out.
        embedder: Fingerprint of the embedder that made `vector`.
        legs: Which legs to read.
        depth: Entries read from each leg.
        scope: Whose memories; applied in every leg before the cut, as are `type` and `as_of`.
        type: Only this memory type.
        as_of: The instant the store is seen at.
    """
    found: dict[str, ScoredEntries] = {}
    if "text" in legs:
        found["text"] = store.search_text(query, scope=scope, type=type, limit=depth, as_of=as_of)
    if "vector" in legs and vector is not None and searches_vectors(store):
        found["vector"] = store.search_vector(
            vector, scope=scope, type=type, limit=depth, as_of=as_of, embedder=embedder
        )
    return Candidates.union(found)
