"""Which of the candidates may be shown for a message that did not ask for any.

A ranking always has a first, whatever was asked. What is shown to a model unasked has to pass an
absolute test as well (`Evidence`). An agent and the laboratory choose by what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry
from nousmem.retrieval.candidates import Candidates, score_candidates
from nousmem.retrieval.evidence import (
    Evidence,
    asks_no_evidence,
    content_terms,
    is_about_the_user,
    texts_looked_up,
)
from nousmem.retrieval.settings import Injection
from nousmem.retrieval.terms import Term
from nousmem.scoring import Floats, Scoring, score_order

__all__ = ["Lookup", "is_overview", "looked_up", "ranked", "shown_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """What was found for one of the texts that are searched for a message."""

    candidates: Candidates
    evidence: Evidence | None
    """None where the message has no word that means something."""
    overview: bool = False
    """The candidates are the whole scope, since the message asks for all that is known."""


def is_overview(message: str) -> bool:
    """Whether a message asks what is known of its author, and has no word to match."""
    return not content_terms(message) and is_about_the_user(message)


def looked_up(
    message: str,
    find: Callable[[str], Candidates],
    *,
    everything: Callable[[], Iterable[Entry]],
    now: datetime,
    needs_words: bool = True,
    as_of: datetime | None = None,
    terms: Sequence[Term] = (),
) -> Iterator[Lookup]:
    """Find candidates for the texts of a message, one text after the other.

    Args:
        message: What the user wrote.
        find: Takes a text, returns its Candidates.
        everything: Takes nothing, returns every entry of the scope.
        now: The instant ages are counted from.
        needs_words: Whether a message without a word that means something is not looked up.
        as_of: The instant the store is seen at; None is the present.
        terms: Those of somebody's own, which the whole scope is ranked by as well.
    """
    if is_overview(message):
        union = Candidates.union(
            {"text": [(entry, 1.0) for entry in everything()]},
            now=now,
            query=message,
            as_of=as_of,
            terms=terms,
        )
        yield Lookup(union, None, overview=True)
        return
    has_words = bool(content_terms(message))
    if not has_words and needs_words:
        return
    texts = texts_looked_up(message)
    for text in texts if has_words else texts[:1]:
        candidates = find(text)
        yield Lookup(candidates, Evidence.of(message, candidates) if has_words else None)


def ranked(candidates: Candidates, scoring: Scoring) -> tuple[NDArray[np.intp], Floats]:
    """Return the candidates' rows, best first, and their scores."""
    scores = score_candidates(candidates, scoring).score
    order = score_order(scores)
    return order, scores[order]


def shown_rows(
    lookup: Lookup, ranking: tuple[NDArray[np.intp], Floats], injection: Injection
) -> NDArray[np.intp] | None:
    """Return which candidates of a lookup may be shown, best first; None to look further.

    Args:
        lookup: One of `looked_up`.
        ranking: As `ranked` returns it.
        injection: The thresholds.
    """
    order, scores = ranking
    rows = order[scores >= injection.inject_min_score]
    unasked = lookup.overview or asks_no_evidence(
        min_words=injection.inject_min_words, min_cosine=injection.inject_min_cosine
    )
    if not unasked:
        if lookup.evidence is None:
            return rows[:0]
        rows = rows[
            lookup.evidence.shown(
                rows,
                min_words=injection.inject_min_words,
                min_cosine=injection.inject_min_cosine,
            )
        ]
        if not len(rows):
            return None
    return rows[: injection.inject_limit]
