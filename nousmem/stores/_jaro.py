"""Jaro similarity of whole texts: what the in-memory store documents as its text search.

Texts are compared by what a reader calls a character (grapheme clusters: a letter with its
accents, a family emoji), after lower-casing, without Unicode normalisation.

Source: specification, "ETS"; Jaro, Journal of the American Statistical Association 84 (1989),
with half a transposition counted as a half.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from operator import ne
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray
from rapidfuzz.distance import Jaro
from rapidfuzz.process import cdist

__all__ = ["Folded", "fold", "jaro", "nearest"]

Folded = str | tuple[str, ...]
"""A text ready to compare, one item a character: a plain string where every character is one
code point, else a tuple of clusters."""

_CLUSTER: Final = regex.compile(r"\X")

# A cluster of two code points holds a line break, or a code point of a class that joins.
_JOINS: Final = regex.compile(
    r"\r\n|[^\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]"
)

_ROUNDING: Final = 1e-12


def fold(text: str) -> Folded:
    """Return `text` lower-cased and cut into characters, for `nearest`.

    Lower-casing is code point by code point: a sigma at the end of a word is not special.
    """
    return _characters(text.replace("Σ", "σ").lower())


def _characters(text: str) -> Folded:
    if (text.isascii() and "\r" not in text) or not _JOINS.search(text):
        return text
    return tuple(_CLUSTER.findall(text))


def jaro(a: str, b: str) -> float:
    """Return the Jaro similarity of two texts as they are, 0 to 1; symmetric.

    With m characters matched, each with an equal one less than half the longer length away, and t
    the matched ones that stand in another order: (m/|a| + m/|b| + (m - t/2)/m) / 3. Equal texts
    have 1, also when empty; texts without a match have 0.
    """
    return _Pattern(_characters(a)).similarity(_characters(b))


def nearest(
    query: str, contents: Sequence[Folded], *, limit: int, min_score: float = 0.0
) -> list[tuple[int, float]]:
    """Return positions in `contents` and their similarity to `query`, best first.

    Every content is looked at once, by a bound that is cheap; the few that can be among the best
    are then compared exactly. Time grows with the characters in `contents`.

    Args:
        query: A user's text; folded here.
        contents: Folded texts.
        limit: How many are wanted, at least 0.
        min_score: Only those with a similarity above it.

    Returns:
        The best `limit`, and any others that tie with the last of them, so that the caller
        decides between equals. Equal similarities by position.
    """
    if limit <= 0 or not contents:
        return []
    pattern = _Pattern(fold(query))
    bounds = _upper_bounds(pattern.characters, contents)
    best: list[float] = []
    found: list[tuple[float, int]] = []
    threshold = min_score
    order: list[int] = np.argsort(-bounds, kind="stable").tolist()
    for position in order:
        if bounds[position] < threshold:
            break
        score = pattern.similarity(contents[position])
        if score <= min_score or score < threshold:
            continue
        found.append((-score, position))
        if len(best) < limit:
            heapq.heappush(best, score)
        else:
            heapq.heappushpop(best, score)
        if len(best) == limit:
            threshold = best[0]
    return [(position, -score) for score, position in sorted(found) if -score >= threshold]


def _upper_bounds(query: Folded, contents: Sequence[Folded]) -> NDArray[np.float64]:
    # RapidFuzz rounds half a transposition down, so it is never below the exact value, and at
    # most 1/18 above. Two empty texts are equal, whatever it makes of them.
    bounds = cdist([query], contents, scorer=Jaro.similarity, dtype=np.float64)[0]
    return bounds + _ROUNDING if query else np.ones(len(contents))


class _Pattern:
    """A text to compare many others with: where each of its characters stands, as bits."""

    def __init__(self, characters: Folded) -> None:
        self.characters = characters
        places: dict[str, int] = {}
        for i, character in enumerate(characters):
            places[character] = places.get(character, 0) | 1 << i
        self._places = places

    def similarity(self, other: Folded) -> float:
        """Return the Jaro similarity with `other`."""
        mine = self.characters
        if mine == other:
            return 1.0
        reach = max(len(mine), len(other)) // 2 - 1
        if reach < 0:
            return 0.0
        window = (1 << (2 * reach + 1)) - 1
        free = (1 << len(mine)) - 1
        places = self._places
        matched: list[str] = []
        for i, character in enumerate(other):
            standing = places.get(character)
            if standing is None:
                continue
            near = window << i - reach if i > reach else window >> reach - i
            standing &= free & near
            if standing:
                free ^= standing & -standing
                matched.append(character)
        m = len(matched)
        if m == 0:
            return 0.0
        taken = (character for i, character in enumerate(mine) if not free >> i & 1)
        moved = sum(map(ne, taken, matched))
        return (m / len(mine) + m / len(other) + (m - moved / 2) / m) / 3
