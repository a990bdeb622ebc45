"""The scores of one query on the clocks of a replay, under many settings at once.

What does not depend on access is computed once for all queries; the rest anew at each turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.evaluation.replays.clocks import Places
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.terms import Term
from nousmem.scoring import (
    Floats,
    Scoring,
    age_hours,
    composite,
    decay_under,
    epoch_seconds,
    freshness_under,
    recency,
)

__all__ = ["TurnScores"]

_NO_UPDATES: Final = {
    "update_rule": "freshness",
    "update_penalty": 0,
    "update_takeover": 0,
    "update_lambda": 0,
}

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Weighed:
    """A setting that weighs terms of somebody's own."""

    row: int
    scoring: Scoring
    terms: tuple[Term, ...]
    """In the order they are added in."""
    rule_sees_terms: bool
    """Whether an update rule is given relevance with terms in it, which depend on access."""

    @classmethod
    def of(cls, row: int, scoring: Scoring, terms: Sequence[Term]) -> _Weighed:
        """Leave out the terms that have no weight."""
        weighed = tuple(term for term in terms if scoring.term_weight(term.name))
        decaying = any(term.decays for term in weighed)
        return cls(row, scoring, weighed, decaying and scoring.prefers_updates())

    def columns(self, candidates: Candidates) -> list[Floats]:
        """Return the terms' columns, each of shape (c,)."""
        return [
            term.values(candidates, self.scoring, shape=(len(candidates),)) for term in self.terms
        ]

    def relevance(self, fused: Floats, columns: Sequence[Floats]) -> Floats:
        """Return what an update rule is given, shape (c,)."""
        for term, values in zip(self.terms, columns, strict=True):
            if term.decays:
                fused = fused + self.scoring.term_weight(term.name) * values
        return fused

    def added_to(
        self, scores: Floats, columns: Sequence[Floats], *, fresh: Floats | float, share: Floats
    ) -> Floats:
        """Return the scores with the terms added, shape (c,)."""
        for term, values in zip(self.terms, columns, strict=True):
            weight = self.scoring.term_weight(term.name)
            if term.decays:
                scores = scores + self.scoring.w_relevance * weight * (values * fresh * share)
            else:
                scores = scores + weight * values
        return scores


class TurnScores:
    """Scores the candidates of one query after another, under s settings.

    Args:
        arrays: The candidates.
        settings: How they are weighed.
    """

    def __init__(self, arrays: CandidateArrays, settings: Sequence[Scoring]) -> None:
        self._arrays = arrays
        weighed = [_Weighed.of(row, one, arrays.terms) for row, one in enumerate(settings)]
        self._weighed = [one for one in weighed if one.terms]
        # Where freshness is worked out at each turn, the table is of relevance without it.
        plain = [
            scoring.replace(**_NO_UPDATES) if one.rule_sees_terms else scoring
            for scoring, one in zip(settings, weighed, strict=True)
        ]
        self._tables, self._table_at = _relevance_tables(arrays, plain)
        self._decays = _grouped(settings, _decay_key)
        self._rates = np.array([[one.decay_lambda] for one in settings])
        weights = np.array([one.term_weights() for one in settings], dtype=np.float64)
        self._weights = [weights[:, [at]] for at in range(weights.shape[1])]
        self._recency_lambda = np.array([[one.recency_lambda] for one in settings])
        self._min_score = np.array([[one.min_score] for one in settings])

    def at(self, query: int, last_accessed: _Ints, access_count: _Ints) -> Floats:
        """Return the composite scores of a query's c candidates, shape (s, c).

        Args:
            query: Its place in the arrays.
            last_accessed: Shape (s, c): whole seconds since 1970.
            access_count: Shape (s, c).

        Returns:
            -inf where there is no candidate, or one below the setting's `min_score`.
        """
        arrays, filled = self._arrays, slice(0, last_accessed.shape[1])
        share = self._decay(query, last_accessed)
        relevance = self._tables[self._table_at, query, filled]
        added: list[tuple[_Weighed, list[Floats], Floats | float]] = []
        for one in self._weighed:
            columns = one.columns(
                _accessed(
                    arrays.candidates[query].seen, last_accessed[one.row], access_count[one.row]
                )
            )
            fresh = 1.0
            if one.rule_sees_terms:
                fresh = self._freshness(query, one, one.relevance(relevance[one.row], columns))
                relevance[one.row] = relevance[one.row] * fresh
            added.append((one, columns, fresh))
        hours = age_hours(last_accessed, arrays.now[query])
        built_in = (
            relevance * share,
            arrays.importance[query, filled],
            recency(hours, recency_lambda=self._recency_lambda),
        )
        scores = composite(zip(self._weights, built_in, strict=True))
        for one, columns, fresh in added:
            scores[one.row] = one.added_to(
                scores[one.row], columns, fresh=fresh, share=share[one.row]
            )
        return np.where(scores >= self._min_score, scores, -np.inf)

    def _decay(self, query: int, last_accessed: _Ints) -> Floats:
        arrays, filled = self._arrays, slice(0, last_accessed.shape[1])
        share = np.empty(last_accessed.shape)
        for scoring, rows in self._decays:
            # A curve of somebody's own is asked for one setting at a time, as in a search.
            own = not isinstance(scoring.decay_curve, str)
            for part in rows if own else [rows]:
                share[part] = decay_under(
                    scoring,
                    last_accessed=last_accessed[part],
                    created=arrays.created[query, filled],
                    now=arrays.now[query],
                    evergreen=arrays.evergreen[query, filled],
                    importance=arrays.importance[query, filled],
                    decay_lambda=None if own else self._rates[part],
                )
        return share

    def _freshness(self, query: int, one: _Weighed, relevance: Floats) -> Floats:
        n, arrays = len(relevance), self._arrays
        similarity = np.full((n, n), np.nan, dtype=np.float32)
        if arrays.successors is not None:
            similarity = arrays.successors.similarity()[query, :n, :n]
        return freshness_under(
            one.scoring, relevance, similarity, created=arrays.created[query, :n]
        )


def _accessed(candidates: Candidates, last_accessed: _Ints, access_count: _Ints) -> Candidates:
    """Return candidates with other columns of access, as they were at their `as_of`."""
    if candidates.as_of is not None:
        last_accessed = np.minimum(last_accessed, epoch_seconds(candidates.as_of))
    return replace(candidates, last_accessed=last_accessed, access_count=access_count)


def _decay_key(scoring: Scoring) -> Hashable:
    """Return what settings must share for their decay to be one call; the rate may differ."""
    own = not isinstance(scoring.decay_curve, str)
    return (scoring if own else scoring.replace(decay_lambda=0)).decay_parameters()


def _relevance_tables(
    arrays: CandidateArrays, settings: Sequence[Scoring]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return each relevance table once, shape (distinct, n, c), and the table of each setting."""
    groups = _grouped(settings, arrays.relevance_key)
    table_at = np.empty(len(settings), dtype=np.intp)
    for at, (_, rows) in enumerate(groups):
        table_at[rows] = at
    return np.stack([arrays.relevance_under(scoring) for scoring, _ in groups]), table_at


def _grouped(
    settings: Sequence[Scoring], key: Callable[[Scoring], Hashable]
) -> list[tuple[Scoring, Places]]:
    """Return, for each key, one setting and the rows of all that have it."""
    rows: dict[Hashable, list[int]] = {}
    for at, setting in enumerate(settings):
        rows.setdefault(key(setting), []).append(at)
    return [(settings[own[0]], np.array(own, dtype=np.intp)) for own in rows.values()]
