"""What the legs found for one query, as arrays: the input of every ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry
from nousmem.retrieval.terms import BUILT_IN_TERMS, Term
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
    relevance_under,
    successor_similarity,
)
from nousmem.stores.base import ScoredEntries

__all__ = ["LEGS", "Candidates", "Part", "ScoreParts", "score_candidates"]

LEGS = ("text", "vector")
"""The built-in legs."""


_READ_ONLY = (
    "ranks", "leg_scores", "importance", "access_count", "last_accessed", "created", "evergreen",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Candidates:
    """The union of the legs' lists, by descending doc_id (which is the tie rule).

    It is what a term is given: arrays over the n candidates of one query.
    """

    entries: tuple[Entry, ...]
    """Length n, as the store returned them."""
    legs: tuple[str, ...]
    """The legs asked for, in the order of the arrays over legs."""
    ranks: NDArray[np.int64]
    """Shape (legs, n): rank from 1 in each leg, 0 where the leg did not return it."""
    leg_scores: Floats
    """Shape (legs, n): the leg's own score, NaN where absent."""
    importance: Floats
    """Shape (n,): 0 to 1."""
    access_count: NDArray[np.int64]
    """Shape (n,): how often it was recalled."""
    last_accessed: NDArray[np.int64]
    """Shape (n,): whole seconds since 1970."""
    created: NDArray[np.int64]
    """Shape (n,): whole seconds since 1970."""
    evergreen: NDArray[np.bool_]
    """Shape (n,): exempt from decay."""
    query: str
    """The text searched for."""
    now: int
    """The instant ages are counted from, whole seconds since 1970."""
    as_of: datetime | None = None
    """The instant the store is seen at; None is the present."""
    terms: tuple[Term, ...] = ()
    """The terms of somebody's own that a scoring may weigh."""
    degraded: str | None = None
    """Why the vector leg is missing though it was asked for; None when it is not."""
    embedder: str | None = None
    """Fingerprint of what made the query's vector; None where there was none, or nobody knows."""

    def __post_init__(self) -> None:
        # Somebody's own functions are given these.
        for name in _READ_ONLY:
            getattr(self, name).flags.writeable = False

    @classmethod
    def union(
        cls,
        found: Mapping[str, ScoredEntries],
        *,
        now: datetime,
        legs: Sequence[str] = LEGS,
        query: str = "",
        as_of: datetime | None = None,
        terms: Sequence[Term] = (),
        degraded: str | None = None,
        embedder: str | None = None,
    ) -> Candidates:
        """Unite ranked lists, best first, by the name of their leg.

        Where two lists hold an entry, the later list's object is kept; where one list holds it
        twice, its last rank counts.
        """
        by_id: dict[str, Entry] = {}
        for name in legs:
            by_id.update((entry.id, entry) for entry, _ in found.get(name, ()))
        entries = tuple(by_id[entry_id] for entry_id in sorted(by_id, reverse=True))
        column = {entry.id: at for at, entry in enumerate(entries)}
        ranks = np.zeros((len(legs), len(entries)), dtype=np.int64)
        leg_scores = np.full(ranks.shape, np.nan)
        for row, name in enumerate(legs):
            for rank, (entry, score) in enumerate(found.get(name, ()), 1):
                ranks[row, column[entry.id]] = rank
                leg_scores[row, column[entry.id]] = score
        return cls(
            entries=entries,
            legs=tuple(legs),
            ranks=ranks,
            leg_scores=leg_scores,
            **_columns(entries),
            query=query,
            now=epoch_seconds(now),
            as_of=as_of,
            terms=tuple(terms),
            degraded=degraded,
            embedder=embedder,
        )

    def with_leg(self, name: str, scores: Floats) -> Candidates:
        """Return them with a leg's scores of all of them: its ranks are by score, ties as here.

        Args:
            name: Of `legs`.
            scores: Shape (n,): NaN where the leg has none.
        """
        row = self.legs.index(name)
        ranks, leg_scores = self.ranks.copy(), self.leg_scores.copy()
        order = np.argsort(-scores, kind="stable")[: int((~np.isnan(scores)).sum())]
        ranks[row] = 0
        ranks[row, order] = np.arange(1, len(order) + 1)
        leg_scores[row] = scores
        return replace(self, ranks=ranks, leg_scores=leg_scores)

    def joined_by(self, other: Candidates, at: int) -> Candidates:
        """Return them with one candidate more, which has the ranks that it has among others.

        Args:
            other: Candidates of the same legs and query.
            at: Its place among them.
        """
        ids = (*self.ids, other.ids[at])
        order = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
        entries = (*self.entries, other.entries[at])
        entries = tuple(entries[place] for place in order)
        return replace(
            self,
            entries=entries,
            ranks=np.column_stack([self.ranks, other.ranks[:, at]])[:, order],
            leg_scores=np.column_stack([self.leg_scores, other.leg_scores[:, at]])[:, order],
            **_columns(entries),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """The entries' ids, length n."""
        return tuple(entry.id for entry in self.entries)

    @property
    def age_hours(self) -> Floats:
        """Hours since last access, shape (n,), at least 0."""
        return age_hours(self.last_accessed, self.now)

    def scores_of(self, leg: str) -> Floats:
        """Return a leg's own scores, shape (n,); NaN where it did not return the candidate."""
        if leg not in self.legs:
            return np.full(len(self), np.nan)
        return self.leg_scores[self.legs.index(leg)]

    @cached_property
    def seen(self) -> Candidates:
        """The candidates as they were at `as_of`, as far as entries tell: what terms are given.

        What is later than that (an access, a change, a successor) is not there yet.
        """
        instant = self.as_of
        if instant is None or all(_known_by(entry, instant) for entry in self.entries):
            return self
        entries = tuple(_as_known(entry, instant) for entry in self.entries)
        return replace(self, entries=entries, **_columns(entries))

    def term_values(self, term: Term, scoring: Scoring) -> Floats:
        """Return a term's column, shape (n,).

        Raises:
            ExtensionError: the term fails, or returns what it may not.
        """
        return term.values(self.seen, scoring, shape=(len(self),))

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
class Part:
    """One addend of the composite score, over the candidates."""

    term: str
    """relevance, or the name of a term."""
    value: Floats
    """Shape (n,): after freshness and decay, where age takes from it."""
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class ScoreParts:
    """Every part of the composite score, each of shape (n,)."""

    relevance: Floats
    """The legs fused, and the weighted terms that age takes from; before freshness and decay. NaN,
    and so the score, where no leg with a weight returned the entry."""
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
    addends: tuple[Part, ...]
    """What is weighed and added, from left to right: relevance, importance, recency, and the
    terms of somebody's own that have a weight."""
    score: Floats
    """The composite."""


def score_candidates(candidates: Candidates, scoring: Scoring) -> ScoreParts:
    """Return the parts of every candidate's score, in the candidates' order.

    Where the scoring prefers updates, every candidate is compared with every other; by the
    built-in rule those within its `update_depth`.

    Raises:
        ExtensionError: a function of somebody's own fails, or returns what it may not.
    """
    fused = relevance_under(scoring, candidates.ranks, candidates.leg_scores, legs=candidates.legs)
    own = {
        term: candidates.term_values(term, scoring)
        for term in candidates.terms
        if scoring.term_weight(term.name)
    }
    relevance = fused
    for term, values in own.items():
        if term.decays:
            relevance = relevance + scoring.term_weight(term.name) * values
    fresh = np.ones(len(candidates))
    if scoring.prefers_updates():
        # The depth is the built-in rule's own: another is given every comparison.
        depth = scoring.update_depth if isinstance(scoring.update_rule, str) else 0
        compared = foremost(relevance, depth)
        similarity = candidates.successor_similarity(compared)
        fresh = freshness_under(scoring, relevance, similarity, created=candidates.created)
    moments = {
        "last_accessed": candidates.last_accessed,
        "created": candidates.created,
        "now": np.int64(candidates.now),
    }
    share = decay_under(
        scoring, **moments, evergreen=candidates.evergreen, importance=candidates.importance
    )
    built_in = {
        name: term.values(candidates, scoring, shape=(len(candidates),))
        for name, term in BUILT_IN_TERMS.items()
    }
    addends = (
        Part("relevance", fused * fresh * share, scoring.w_relevance),
        *(Part(name, values, scoring.term_weight(name)) for name, values in built_in.items()),
        *(
            Part(term.name, values * fresh * share, scoring.w_relevance * weight)
            if term.decays
            else Part(term.name, values, weight)
            for term, values in own.items()
            if (weight := scoring.term_weight(term.name))
        ),
    )
    return ScoreParts(
        relevance=relevance,
        freshness=fresh,
        age_hours=decay_hours(scoring, **moments),
        decay=share,
        **built_in,
        addends=addends,
        score=composite((part.weight, part.value) for part in addends),
    )


def _columns(entries: Sequence[Entry]) -> dict[str, NDArray[Any]]:
    return {
        "importance": np.array([entry.importance for entry in entries], dtype=np.float64),
        "access_count": np.array([entry.access_count for entry in entries], dtype=np.int64),
        "last_accessed": np.array(
            [epoch_seconds(entry.last_accessed_at) for entry in entries], dtype=np.int64
        ),
        "created": np.array([epoch_seconds(entry.created_at) for entry in entries], dtype=np.int64),
        "evergreen": np.array([entry.evergreen for entry in entries], dtype=bool),
    }


def _known_by(entry: Entry, instant: datetime) -> bool:
    superseded = entry.superseded_at
    return (
        entry.last_accessed_at <= instant
        and entry.updated_at <= instant
        and (superseded is None or superseded <= instant)
    )


def _as_known(entry: Entry, instant: datetime) -> Entry:
    if _known_by(entry, instant):
        return entry
    changes: dict[str, datetime | str | None] = {
        "last_accessed_at": min(entry.last_accessed_at, instant),
        "updated_at": min(entry.updated_at, instant),
    }
    if entry.superseded_at is not None and entry.superseded_at > instant:
        changes |= {"superseded_at": None, "superseded_by": None}
    return replace(entry, **changes)  # pyright: ignore[reportArgumentType]
