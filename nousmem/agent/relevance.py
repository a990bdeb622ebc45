"""Whether anything a search found has to do with the message it was found for.

A ranking always has a first, whatever was asked: relevance is normalised by the best candidate,
and importance is added to it. So what is shown to a model unasked has to pass an absolute test
as well: the share of the message's words it holds, or the cosine, neither of which is normalised.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from nousmem.agent.access import MemoryAccess
from nousmem.candidates import LEGS, Candidates
from nousmem.hits import Hit, Hits
from nousmem.search import MIN_POOL
from nousmem.stores.text import analyse_document, analyse_query

__all__ = ["Found", "content_terms", "find_relevant", "is_about_the_user"]

_FUNCTION_WORDS: Final = """
a about above after again all already also always am an and any are aren as at be because been
before being below between both but by can cannot could couldn d did didn do does doesn doing don
down during each else ever every few for from further get give go got had hadn has hasn have haven
having he her here hers herself him himself his how i if in into is isn it its itself just know let
like ll m make many may maybe me might mine more most much must my myself need no nor not now of off
on once one only or other our ours ourselves out over own please put re really recall remember s
same say see shall she should shouldn so some something still such sure t take tell than that the
their theirs them themselves then there these they thing think this those through to too under until
up us use ve very want was wasn we well were weren what when where which while who whom whose why
will with won would wouldn yes yet you your yours yourself yourselves
hello hi hey thanks thank ok okay bye goodbye cheers great fine cool nice welcome sorry yeah
yep nope
"""

_WORDS_COUNTED: Final = 8
_ONE_WORD: Final = 1e-9  # "no evidence in words" is not evidence, whatever the least share

_GREETING: Final = re.compile(
    r"\bgood (?:morning|afternoon|evening|night|day|bye)\b", re.IGNORECASE
)

_ABOUT_THE_USER: Final = re.compile(
    r"\babout (?:me|us|myself|ourselves)\b|\bwho (?:am i|are we)\b"
    r"|\b(?:know|remember|recall) (?:me|us)\b",
    re.IGNORECASE,
)


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
        query: The user's message.
        now: The instant ages are counted from.
        limit: At most this many.
        min_score: Least composite score.
        min_words: Least share of words, 0 to 1; of a long message 8 count.
        min_cosine: Least cosine. With it at -1 and `min_words` at 0, no evidence is asked for.
    """
    if not query.strip() or limit == 0:
        return Found(())
    anything_goes = min_words <= 0 and min_cosine <= -1
    terms = content_terms(query)
    if not terms and is_about_the_user(query):
        everything = access.opened_store.list(scope=access.scope)
        candidates = Candidates.union({"text": [(entry, 1.0) for entry in everything]})
        ranked = Hits(
            candidates, access.scoring, query=query, now=now, limit=limit, min_score=min_score
        )
        return Found(tuple(ranked), ranking=ranked)
    if not terms and not anything_goes:
        return Found(())
    found = Found(())
    # A small store takes "how do we" for three rare words that a memory lacks. So where nothing
    # reaches the least score, the words that mean something are searched alone.
    for words in dict.fromkeys((query, _without_function_words(query))):
        pool = max(MIN_POOL, limit)
        hits, degraded = access.look_up(words, now=now, pool=pool, limit=None, min_score=min_score)
        if anything_goes:
            return Found(tuple(hits[:limit]), degraded, hits)
        shown = _evident(hits, query, min_words=min_words, min_cosine=min_cosine)
        evident = tuple(hit for hit in hits if hit.entry.id in shown)
        found = Found(evident[:limit], degraded, hits)
        if shown:
            break
    return found


def _evident(hits: Hits, query: str, *, min_words: float, min_cosine: float) -> set[str]:
    """Return the ids of what may be shown."""
    spoken, terms = set(analyse_query(query)), content_terms(query)
    counted = min(len(terms), _WORDS_COUNTED)
    cosines = _cosines(hits)
    evident: set[str] = set()
    unjudged: set[str] = set()
    for hit in hits:
        held = set(analyse_document(hit.entry.content))
        cosine = cosines.get(hit.entry.id)
        share = len(held & terms) / counted
        if (cosine is not None and cosine >= min_cosine) or share >= max(min_words, _ONE_WORD):
            evident.add(hit.entry.id)
        elif not cosines and held.isdisjoint(spoken):
            unjudged.add(hit.entry.id)
    return evident | unjudged if evident else evident


def _cosines(hits: Hits) -> dict[str, float]:
    row = hits.candidates.leg_scores[LEGS.index("vector")]
    return {
        entry.id: float(cosine)
        for entry, cosine in zip(hits.candidates.entries, row, strict=True)
        if not math.isnan(cosine)
    }


def content_terms(query: str) -> set[str]:
    """Return the index terms of a message without function words and greetings."""
    return set(analyse_query(_GREETING.sub(" ", query))) - _function_terms()


def _without_function_words(query: str) -> str:
    words = _GREETING.sub(" ", query).split()
    return " ".join(word for word in words if not _function_terms().issuperset(analyse_query(word)))


def is_about_the_user(query: str) -> bool:
    """Whether a message asks what is known of its author."""
    return _ABOUT_THE_USER.search(query) is not None


@cache
def _function_terms() -> frozenset[str]:
    return frozenset(analyse_query(_FUNCTION_WORDS))
