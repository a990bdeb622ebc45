"""What the stores that rank by BM25 share: which words are looked up, and what a score means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["informative_terms", "match_score"]

_COMMON_FROM: Final = 300
_COMMON_SHARE: Final = 0.05
_KEPT: Final = 3


def match_score(bm25: float, ideal: float) -> float:
    """Return a BM25 score as a similarity from 0 to 1 that means the same in any store.

    Raw BM25 shrinks with the store: in a store of one, a perfect match weighs next to nothing.
    Divided by what the query's words weigh there, it is the matched share of rare words, with
    more for repetition: x = bm25 / ideal. The score is 1 - 4^-x: .75 for an entry of average
    length that holds every word once, .5 for one that holds half of them by weight. It rises with
    BM25, so the order is BM25's.

    Args:
        bm25: The entry's BM25, at least 0.
        ideal: The sum of the query words' inverse document frequencies, above 0.
    """
    return 1.0 - 4.0 ** -(bm25 / ideal)


def informative_terms(frequencies: Mapping[str, int], n_entries: int) -> list[str]:
    """Return the terms worth looking up: the common ones only when there is little else.

    A term is common when more than 300 entries and more than 5 % of them hold it. The three
    rarest are always kept, so a query of common words still finds what it can. Reading the long
    lists of common words is what makes a query slow in a large store; leaving them out moved
    nDCG@10 on LoCoMo by less than .0005, in one store a conversation and in one for all.

    Args:
        frequencies: Term to the number of entries that hold it, above 0.
        n_entries: Entries in the store.
    """
    common = max(_COMMON_FROM, _COMMON_SHARE * n_entries)
    rarest_first = sorted(frequencies, key=lambda term: (frequencies[term], term))
    return [
        term
        for place, term in enumerate(rarest_first)
        if place < _KEPT or frequencies[term] <= common
    ]
