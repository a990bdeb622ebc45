"""The memories that are shown to an agent unasked, for a message."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from nousmem.agent.access import MemoryAccess
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.evidence import (
    Evidence,
    asks_no_evidence,
    content_terms,
    is_about_the_user,
    searched_part,
    texts_looked_up,
)
from nousmem.retrieval.hits import Hit, Hits
from nousmem.retrieval.search import MIN_DEPTH

__all__ = ["Found", "find_relevant"]


@dataclass(frozen=True, slots=True)
class Found:
    """What may be shown for a message."""

    hits: Sequence[Hit]
    """Best first."""
    degraded: str | None = None
    """Why the vector leg is missing; None when it is not."""
    ranking: Hits | None = None
    """The search they come from, with all its candidates; None when nothing was searched for."""


def find_relevant(
    access: MemoryAccess,
    query: str,
    *,
    now: datetime,
    limit: int,
    min_score: float,
    min_words: float,
    min_cosine: float,
) -> Found:
    """Return the memories to show unasked for a message.

    The ranking is the documented one: composite score, at least `min_score`, at most `limit`. On
    top of it, a memory needs evidence that does not depend on the others: a cosine of at least
    `min_cosine`, or at least the share `min_words` of the message's words that mean something.
    A message of function words and greetings alone finds nothing.

    A text leg may find what shares no word with the message, as the spelling of the in-memory
    store does. Where there are no vectors to judge it by, it is shown if another memory found
    has evidence, and not otherwise.

    A question about the user as a whole ("What do you know about me?") has no word to match; the
    whole scope answers it, ranked by age, importance and recency. This, and the list of function
    words, is English only.

    Args:
        access: Whose memory.
        query: The user's message; of a long one, both ends (`searched_part`).
        now: The instant ages are counted from.
        limit: At most this many.
        min_score: Least composite score.
        min_words: Least share of words, 0 to 1; of a long message 8 count.
        min_cosine: Least cosine. With it at -1 and `min_words` at 0, no evidence is asked for.
    """
    if not query.strip() or limit == 0:
        return Found(())
    query = searched_part(query)
    anything_goes = asks_no_evidence(min_words=min_words, min_cosine=min_cosine)
    terms = content_terms(query)
    if not terms and is_about_the_user(query):
        everything = access.opened_store.list(scope=access.scope)
        if not everything:
            access.unseen.after_nothing()
        candidates = Candidates.union({"text": [(entry, 1.0) for entry in everything]})
        ranked = Hits(
            candidates, access.scoring, query=query, now=now, limit=limit, min_score=min_score
        )
        return Found(tuple(ranked), ranking=ranked)
    if not terms and not anything_goes:
        return Found(())
    found = Found(())
    for words in texts_looked_up(query):
        depth = max(MIN_DEPTH, limit)
        hits, degraded = access.look_up(
            words, now=now, depth=depth, limit=None, min_score=min_score
        )
        if anything_goes:
            return Found(tuple(hits[:limit]), degraded, hits)
        evidence = Evidence.of(query, hits.candidates)
        row_of = {entry.id: at for at, entry in enumerate(hits.candidates.entries)}
        ranked = np.array([row_of[hit.entry.id] for hit in hits], dtype=np.intp)
        shown = evidence.shown(ranked, min_words=min_words, min_cosine=min_cosine)
        found = Found(tuple(itertools.compress(hits, shown))[:limit], degraded, hits)
        if shown.any():
            break
    return found
