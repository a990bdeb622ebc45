"""Text to vectors without a model: hashed words and pieces of words.

Nothing is learnt and nothing is downloaded: two texts are near when they share words or parts
of words. It tells texts apart well enough for tests, CI and trying things out; it knows no
synonyms.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import regex

from nousmem.checks import check_whole
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.checks import check_texts

__all__ = ["HashingEmbedder"]

# A word is a run of letters and digits. Scripts that do not space their words give one
# character at a time (their pairs are features too), and so do symbols such as emoji.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_TOKEN = regex.compile(
    rf"{_UNSPACED}\p{{M}}*"
    r"|[\p{L}\p{N}][\p{L}\p{M}\p{N}_]*|[\p{So}\p{Sk}]"
)
_UNSPACED_PAIR = regex.compile(rf"(?={_UNSPACED}{{2}})..", regex.DOTALL)
_PIECE_LENGTHS = (3, 4)

# Without a corpus there is no document frequency to weigh words by: the words that make up most
# of any English sentence are turned down instead, or two questions would always be alike.
_FREQUENT_TEXT = (
    "a about all also am an and any are as at be been but by can could did do does for from get "
    "had has have he her him his how i if in into is it its just like me my no not of on or our "
    "out she so some than that the their them then there these they this to up us was we were "
    "what when where which who why will with would you your"
)
_FREQUENT = frozenset(_FREQUENT_TEXT.split())
_FREQUENT_WEIGHT = 0.2


class HashingEmbedder:
    """Deterministic vectors from hashed features; no model, no network, no state.

    The features of a text are its words and the 3- and 4-character pieces of each word, case
    folded and NFKC-normalised; the pieces of a word weigh as much as the word, together. In
    scripts without spaces they are the characters and pairs of characters. Each is hashed to one
    of `dimension` places with a sign; a feature that occurs n times weighs sqrt(n); the vector
    has length 1. The vectors are the same in every process and on every machine.

    Source: feature hashing, Weinberger et al. 2009; character pieces as in fastText,
    Bojanowski et al. 2017.

    Args:
        dimension: Length of the vectors, at least 2. Fewer places means more features that
            share one: 256 does for thousands of short texts, 1,024 ranks better.

    Raises:
        InvalidParameter: `dimension` is not a whole number from 2.
    """

    symmetric = True
    """Queries and documents get the same vectors, so that one cached vector serves both."""

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = check_whole("dimension", dimension, least=2)

    def __repr__(self) -> str:
        return f"HashingEmbedder(dimension={self._dimension})"

    @property
    def fingerprint(self) -> str:
        """The version of the features and the dimension."""
        return f"hashing-1:{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text, shape (len(texts), dimension).

        Never all zeros: a text without words counts by its characters.
        """
        checked = check_texts(texts)
        matrix = np.empty((len(checked), self._dimension), dtype=np.float32)
        for row, text in enumerate(checked):
            matrix[row] = self._embed(text)
        return matrix

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return the same vectors as `embed_documents`: shape (len(texts), dimension)."""
        return self.embed_documents(texts)

    def _embed(self, text: str) -> Matrix:
        features = _features(text)
        hashes = np.fromiter((value for value, _ in features), np.uint64, len(features))
        weights = np.fromiter((weight for _, weight in features), np.float64, len(features))
        places = (hashes >> np.uint64(1)) % np.uint64(self._dimension)
        signs = 1.0 - 2.0 * (hashes & np.uint64(1)).astype(np.float64)
        vector = np.bincount(places.astype(np.intp), signs * weights, self._dimension)
        norm = math.sqrt(float(vector @ vector))
        if norm < 1e-6:  # the signs of a very short text can cancel each other
            vector[_hash(f"text {text}") % self._dimension] = 1.0
            norm = 1.0
        return (vector / norm).astype(np.float32)


def _features(text: str) -> list[tuple[int, float]]:
    """Return hash and weight of every distinct feature; at least one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = _TOKEN.findall(folded)
    if not words:
        return [(_hash(f"char {char}"), math.sqrt(n)) for char, n in Counter(text).items()] or [
            (_hash("empty"), 1.0)
        ]
    features: list[tuple[int, float]] = []
    for word, count in Counter(words).items():
        scale = math.sqrt(count) * (_FREQUENT_WEIGHT if word in _FREQUENT else 1.0)
        features.extend((value, weight * scale) for value, weight in _word_features(word))
    pairs = Counter(_UNSPACED_PAIR.findall(folded, overlapped=True))
    features.extend((_hash(f"part {pair}"), math.sqrt(count)) for pair, count in pairs.items())
    return features


@functools.lru_cache(maxsize=65_536)
def _word_features(word: str) -> tuple[tuple[int, float], ...]:
    """Return hash and weight of the word and of its pieces."""
    padded = f"<{word}>"
    pieces = Counter(
        padded[start : start + length]
        for length in _PIECE_LENGTHS
        for start in range(len(padded) - length + 1)
    )
    features = [(_hash(f"word {word}"), 1.0)]
    if len(word) > 1:
        share = 1.0 / math.sqrt(pieces.total())
        features += [(_hash(f"part {piece}"), share * math.sqrt(n)) for piece, n in pieces.items()]
    return tuple(features)


def _hash(feature: str) -> int:
    """Return 64 bits that depend on the text alone, unlike the built-in hash."""
    return int.from_bytes(
        blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )
