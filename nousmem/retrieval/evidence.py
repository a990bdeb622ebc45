"""Whether anything a search found has to do with the message it was found for.

A ranking always has a first, whatever was asked: relevance is normalised by the best candidate,
and importance is added to it. So what is shown to a model unasked has to pass an absolute test
as well: the share of the message's words it holds, or the cosine, neither of which is normalised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nousmem.retrieval.candidates import Candidates
from nousmem.scoring import Floats
from nousmem.stores.text import analyse_document, analyse_query

__all__ = [
    "CHARACTERS_SEARCHED",
    "Evidence",
    "asks_no_evidence",
    "content_terms",
    "is_about_the_user",
    "searched_part",
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

CHARACTERS_SEARCHED: Final = 4000
"""Of a text that somebody wrote; see `searched_part`."""

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


def searched_part(text: str) -> str:
    """Return what of a user's text is searched for: of more than 4,000 characters, both ends.

    A file pasted into a message would otherwise be a query of a hundred thousand words, for which
    a text leg takes minutes; what is asked about it stands before or after it.
    """
    if len(text) <= CHARACTERS_SEARCHED:
        return text
    half = CHARACTERS_SEARCHED // 2
    return f"{text[:half]} {text[-half:]}"


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
            cosines=candidates.scores_of("vector"),
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
