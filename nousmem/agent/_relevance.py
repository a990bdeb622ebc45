"""The memories that are shown to an agent unasked, for a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nousmem.agent._access import MemoryAccess
from nousmem.entry import Entry
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.evidence import asks_no_evidence, searched_part
from nousmem.retrieval.hits import Hit, Hits
from nousmem.retrieval.settings import Injection
from nousmem.retrieval.showing import looked_up, shown_rows
from nousmem.scoring import score_order

__all__ = ["Found", "find_relevant"]


@dataclass(frozen=True, slots=True)
class Found:
    """What may be shown for a message."""

    hits: Sequence[Hit]
    """Best first."""
    ranking: Hits | None = None
    """The search they come from, with all its candidates; None when nothing was searched for."""


def find_relevant(
    access: MemoryAccess, query: str, *, now: datetime, injection: Injection
) -> Found:
    """Return the memories to show unasked for a message.

    The ranking is the documented one: composite score, at least `inject_min_score`, at most
    `inject_limit`. On top of it, a memory needs evidence that does not depend on the others: a
    cosine of at least `inject_min_cosine`, or at least the share `inject_min_words` of the
    message's words that mean something. A message of function words and greetings alone finds
    nothing.

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
        injection: The thresholds. With `inject_min_cosine` at -1 and `inject_min_words` at 0, no
            evidence is asked for.
    """
    if not query.strip() or injection.inject_limit == 0:
        return Found(())
    least = injection.inject_min_score
    retrieval = access.settings_in_force.retrieval
    deep = retrieval.depth_for(injection.inject_limit)
    depth = None if deep == retrieval.depth_for(None) else deep
    searches: list[Hits] = []

    def find(text: str) -> Candidates:
        searches.append(access.look_up(text, now=now, depth=depth, limit=None, min_score=least))
        return searches[-1].candidates

    def everything() -> list[Entry]:
        entries = access.opened_store.list(scope=access.scope)
        if not entries:
            access.unseen.after_nothing()
        return entries

    found = Found(())
    for lookup in looked_up(
        searched_part(query),
        find,
        everything=everything,
        now=now,
        needs_words=not asks_no_evidence(
            min_words=injection.inject_min_words, min_cosine=injection.inject_min_cosine
        ),
        terms=retrieval.own_terms,
    ):
        if lookup.overview:
            searches.append(
                Hits(
                    lookup.candidates,
                    access.settings_in_force,
                    now=now,
                    limit=None,
                    min_score=least,
                )
            )
        ranking = searches[-1]
        scores = ranking.parts.score
        order = score_order(scores)
        rows = shown_rows(lookup, (order, scores[order]), injection)
        if rows is not None:
            hits = {hit.entry.id: hit for hit in ranking}
            ids = lookup.candidates.ids
            return Found(tuple(hits[ids[row]] for row in rows.tolist()), ranking)
        found = Found((), ranking)
    return found
