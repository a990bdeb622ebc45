"""A ranking as an explorer shows it: each hit taken apart, and what moved against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from nousmem.entry import Entry
from nousmem.retrieval.hits import Hits
from nousmem.scoring import HOURS_PER_DAY, Scoring, score_order

__all__ = [
    "LegPlace",
    "Missing",
    "Ranking",
    "Row",
    "TermPart",
    "marks_of",
    "movement",
    "rank_entries",
]

_FURTHER: Final = 20
"""Candidates taken apart beside the hits: as far down as anybody reads."""


@dataclass(frozen=True, slots=True)
class LegPlace:
    """Where a leg has an entry."""

    name: str
    rank: int
    """From 1; 0 where the leg did not return it."""
    score: float
    """The leg's own; NaN where it has none."""
    weight: float


@dataclass(frozen=True, slots=True)
class TermPart:
    """One addend of a score."""

    term: str
    """relevance, or the name of a term."""
    value: float
    """After freshness and decay, where age takes from it."""
    weight: float
    raw: float
    """The value before these."""
    decays: bool = False

    @property
    def contribution(self) -> float:
        """What it adds to the score."""
        return self.weight * self.value


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a ranking, with every part of its score."""

    rank: int
    """Among the candidates; of a hit, its rank in the list."""
    before: int | None
    """Its rank under the baseline, from 1; None: not among the hits there."""
    entry: Entry
    score: float
    legs: tuple[LegPlace, ...]
    parts: tuple[TermPart, ...]
    """What is added up: relevance, importance, recency, and the terms of one's own."""
    relevance: float
    """The legs fused and the terms that age takes from; before freshness and decay."""
    freshness: float
    """What relevance is multiplied by beside updates; 1 changes nothing."""
    decay: float
    """Share of relevance that age leaves."""
    age_days: float
    grade: int | None
    """The judged relevance; None where nobody judged."""
    mark: str = ""
    """"newest" or "outdated", where the query's fact was updated."""

    @property
    def contributions(self) -> dict[str, float]:
        """What makes up the score, by term."""
        return {part.term: part.contribution for part in self.parts}

    @property
    def w_relevance(self) -> float:
        """The weight of relevance."""
        return self.parts[0].weight

    @property
    def lost(self) -> float:
        """What age took from the score."""
        return self.w_relevance * self.relevance * self.freshness * (1 - self.decay)

    @property
    def outdone(self) -> float:
        """What newer entries took from the score; negative: what it took over from older ones."""
        return self.w_relevance * self.relevance * (1 - self.freshness)

    @property
    def relevant(self) -> bool:
        """Whether it was judged relevant."""
        return bool(self.grade)


@dataclass(frozen=True, slots=True)
class Missing:
    """A relevant entry that is not among the hits shown."""

    doc_id: str
    entry: Entry | None
    """None where it is no candidate."""
    rank: int | None
    """Its rank among all candidates; None where it is none."""
    grade: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one question, what decay pushed out, and what is relevant and not shown."""

    rows: tuple[Row, ...]
    suppressed: tuple[Row, ...]
    """What would be a hit without decay; ranks are those without it, scores those with it."""
    missing: tuple[Missing, ...]
    further: tuple[Row, ...]
    """Candidates that are no hits, best first: the next ones, and those of `suppressed` and
    `missing`."""
    scoring: Scoring
    own_terms: tuple[str, ...]
    """The terms of one's own, whether they have a weight or not."""
    n_candidates: int
    n_relevant: int


def rank_entries(
    hits: Hits,
    baseline: Hits,
    *,
    grades: Mapping[str, int] | None = None,
    marks: Mapping[str, str] | None = None,
) -> Ranking:
    """Take a ranking apart.

    Args:
        hits: The ranking shown.
        baseline: The ranking of the same question that it is compared with.
        grades: The judged relevance of entries, by id; None: nothing is judged.
        marks: "newest" or "outdated" by id.
    """
    grades, marks = grades or {}, marks or {}
    candidates, parts = hits.candidates, hits.parts
    column = {entry.id: at for at, entry in enumerate(candidates.entries)}
    before = {hit.entry.id: hit.rank for hit in baseline}
    taken = _Taken(hits)

    def row(entry: Entry, rank: int) -> Row:
        at = column[entry.id]
        return Row(
            rank=rank,
            before=before.get(entry.id),
            entry=entry,
            score=float(parts.score[at]),
            legs=taken.legs(at),
            parts=taken.parts(at),
            relevance=float(parts.relevance[at]),
            freshness=float(parts.freshness[at]),
            decay=float(parts.decay[at]),
            age_days=float(parts.age_hours[at]) / HOURS_PER_DAY,
            grade=grades.get(entry.id),
            mark=marks.get(entry.id, ""),
        )

    shown = {hit.entry.id for hit in hits}
    places = _places(hits)
    relevant = [doc_id for doc_id, grade in grades.items() if grade > 0]
    missing = [
        Missing(
            doc_id=doc_id,
            entry=candidates.entries[column[doc_id]] if doc_id in column else None,
            rank=places.get(doc_id),
            grade=grades[doc_id],
            mark=marks.get(doc_id, ""),
        )
        for doc_id in relevant
        if doc_id not in shown
    ]
    suppressed = hits.suppressed
    wanted = {hit.entry.id for hit in suppressed} | {one.doc_id for one in missing}
    others = [doc_id for doc_id in places if doc_id not in shown]
    wanted |= set(others[:_FURTHER])
    return Ranking(
        rows=tuple(row(hit.entry, hit.rank) for hit in hits),
        suppressed=tuple(row(hit.entry, hit.rank) for hit in suppressed),
        missing=tuple(sorted(missing, key=lambda one: (one.rank is None, one.rank or 0))),
        further=tuple(
            row(candidates.entries[column[doc_id]], places[doc_id])
            for doc_id in others
            if doc_id in wanted
        ),
        scoring=hits.scoring,
        own_terms=tuple(term.name for term in candidates.terms),
        n_candidates=len(places),
        n_relevant=len(relevant),
    )


def movement(rank: int, before: int | None) -> str:
    """Return how far a hit moved against the baseline: "▲2", "▼1", "=", "new"."""
    if before is None:
        return "new"
    if before == rank:
        return "="
    return f"▲{before - rank}" if before > rank else f"▼{rank - before}"


def marks_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return "newest" and "outdated" by entry id, as a query's metadata has them."""
    return {
        str(doc_id): name for name in ("outdated", "newest") for doc_id in metadata.get(name, ())
    }


class _Taken:
    """The arrays of a ranking, read entry by entry."""

    def __init__(self, hits: Hits) -> None:
        self._candidates, self._addends = hits.candidates, hits.parts.addends
        scoring = hits.scoring
        self._leg_weights = [scoring.leg_weight(name) for name in self._candidates.legs]
        self._decaying = {
            term.name: self._candidates.term_values(term, scoring)
            for term in self._candidates.terms
            if term.decays and scoring.term_weight(term.name)
        }
        of_terms = sum(scoring.term_weight(name) * own for name, own in self._decaying.items())
        self._fused = hits.parts.relevance - of_terms

    def legs(self, at: int) -> tuple[LegPlace, ...]:
        found = self._candidates
        return tuple(
            LegPlace(name, int(found.ranks[row, at]), float(found.leg_scores[row, at]), weight)
            for row, (name, weight) in enumerate(zip(found.legs, self._leg_weights, strict=True))
        )

    def parts(self, at: int) -> tuple[TermPart, ...]:
        return tuple(
            TermPart(
                term=part.term,
                value=float(part.value[at]),
                weight=part.weight,
                raw=float(self._raw(part.term, part.value)[at]),
                decays=part.term == "relevance" or part.term in self._decaying,
            )
            for part in self._addends
        )

    def _raw(self, term: str, value: Any) -> Any:
        return self._fused if term == "relevance" else self._decaying.get(term, value)


def _places(hits: Hits) -> dict[str, int]:
    """Return every candidate's rank, shown or not, best first."""
    score = hits.parts.score
    order = [int(at) for at in score_order(score) if not np.isnan(score[at])]
    return {hits.candidates.entries[at].id: rank for rank, at in enumerate(order, 1)}
