"""A ranking as an explorer shows it: each hit taken apart, and what moved against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nousmem.entry import Entry
from nousmem.retrieval.hits import Hits
from nousmem.scoring import HOURS_PER_DAY, Scoring, score_order

__all__ = ["Missing", "Ranking", "Row", "marks_of", "movement", "rank_entries"]


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a ranking, with every part of its score."""

    rank: int
    before: int | None
    """Its rank under the baseline, from 1; None: not among the hits there."""
    entry: Entry
    score: float
    text_rank: int
    """Rank in the text leg; 0 where that leg did not return it. Likewise `vector_rank`."""
    vector_rank: int
    relevance: float
    """After fusion, before freshness and decay."""
    freshness: float
    """What relevance is multiplied by beside updates; 1 changes nothing."""
    decay: float
    """Share of relevance that age leaves."""
    recency: float
    age_days: float
    weights: tuple[float, float, float]
    """In force: relevance, importance, recency."""
    grade: int | None
    """The judged relevance; None where nobody judged."""
    mark: str = ""
    """"newest" or "outdated", where the query's fact was updated."""

    @property
    def contributions(self) -> dict[str, float]:
        """What makes up the score, by term; "other" where the three do not add up to it."""
        relevance, importance, recency = self.weights
        parts = {
            "relevance": relevance * self.relevance * self.freshness * self.decay,
            "importance": importance * self.entry.importance,
            "recency": recency * self.recency,
        }
        rest = self.score - sum(parts.values())
        if abs(rest) > 1e-9:
            parts["other"] = rest
        return parts

    @property
    def lost(self) -> float:
        """What age took from the score."""
        return self.weights[0] * self.relevance * self.freshness * (1 - self.decay)

    @property
    def outdone(self) -> float:
        """What newer entries took from the score; negative: what it took over from older ones."""
        return self.weights[0] * self.relevance * (1 - self.freshness)

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
    scoring: Scoring
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
    weights = hits.scoring.weights()

    def row(entry: Entry, rank: int) -> Row:
        at = column[entry.id]
        return Row(
            rank=rank,
            before=before.get(entry.id),
            entry=entry,
            score=float(parts.score[at]),
            text_rank=int(candidates.ranks[0, at]),
            vector_rank=int(candidates.ranks[1, at]),
            relevance=float(parts.relevance[at]),
            freshness=float(parts.freshness[at]),
            decay=float(parts.decay[at]),
            recency=float(parts.recency[at]),
            age_days=float(parts.age_hours[at]) / HOURS_PER_DAY,
            weights=weights,
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
    return Ranking(
        rows=tuple(row(hit.entry, hit.rank) for hit in hits),
        suppressed=tuple(row(hit.entry, hit.rank) for hit in hits.suppressed),
        missing=tuple(sorted(missing, key=lambda one: (one.rank is None, one.rank or 0))),
        scoring=hits.scoring,
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


def _places(hits: Hits) -> dict[str, int]:
    """Return every candidate's rank, shown or not."""
    score = hits.parts.score
    order = [int(at) for at in score_order(score) if not np.isnan(score[at])]
    return {hits.candidates.entries[at].id: rank for rank, at in enumerate(order, 1)}
