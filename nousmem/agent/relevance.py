"""Whether anything a search found has to do with the message it was found for.

A ranking always has a first, whatever was asked: relevance is normalised by the best candidate,
and importance is added to it. So what is shown to a model unasked has to pass an absolute test
as well: the share of the message's words it holds, or the cosine, neither of which is normalised.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.agent.access import MemoryAccess, searched_part
from nousmem.candidates import LEGS, Candidates
from nousmem.hits import Hit, Hits
from nousmem.scoring import Floats
from nousmem.search import MIN_POOL
from nousmem.stores.text import analyse_document, analyse_query

__all__ = [
    "Evidence",
    "Found",
    "asks_no_evidence",
    "content_terms",
    "find_relevant",
    "is_about_the_user",
    "texts_looked_up",
]

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
        pool = max(MIN_POOL, limit)
        hits, degraded = access.look_up(words, now=now, pool=pool, limit=None, min_score=min_score)
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


def texts_looked_up(query: str) -> tuple[str, ...]:
    """Return the texts that are searched for a message, one after the other until one finds.

    A small store takes "how do we" for three rare words that a memory lacks. So where nothing
    reaches the least score, the words that mean something are searched alone.
    """
    return tuple(dict.fromkeys((query, _without_function_words(query))))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What says that candidates have to do with a message, whatever their rank."""

    words: Floats
    """Shape (n,): the share held of the message's words that mean something, of which 8 count;
    above 1 where more are held."""
    cosines: Floats
    """Shape (n,): NaN where the vector leg did not return the candidate."""
    foreign: NDArray[np.bool_]
    """Shape (n,): shares no word at all with the message."""

    @classmethod
    def of(cls, query: str, candidates: Candidates) -> Evidence:
        """Compare the candidates with a message that has words that mean something."""
        spoken, terms = set(analyse_query(query)), content_terms(query)
        counted = max(1, min(len(terms), _WORDS_COUNTED))
        held = [set(analyse_document(entry.content)) for entry in candidates.entries]
        return cls(
            words=np.array([len(one & terms) / counted for one in held], dtype=np.float64),
            cosines=candidates.leg_scores[LEGS.index("vector")],
            foreign=np.array([one.isdisjoint(spoken) for one in held], dtype=np.bool_),
        )

    def shown(
        self, ranked: NDArray[np.intp], *, min_words: float, min_cosine: float
    ) -> NDArray[np.bool_]:
        """Return which of some candidates have evidence enough to be shown.

        Args:
            ranked: Shape (m,): rows of those that reach the least score.
            min_words: As in `find_relevant`.
            min_cosine: As in `find_relevant`.
        """
        # A comparison with NaN is false.
        near = self.cosines[ranked] >= min_cosine
        evident = near | (self.words[ranked] >= max(min_words, _ONE_WORD))
        if evident.any() and np.isnan(self.cosines).all():
            return evident | self.foreign[ranked]
        return evident


def asks_no_evidence(*, min_words: float, min_cosine: float) -> bool:
    """Whether these thresholds, of `find_relevant`, are reached by anything."""
    return min_words <= 0 and min_cosine <= -1


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
