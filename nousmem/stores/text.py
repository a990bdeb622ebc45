"""From text to index terms: the one analyser of every word index, on both of its sides.

A document and a query that mean the same words must come out as the same terms, so whichever
store keeps the index, it keeps what `analyse_document` returns and looks up what `analyse_query`
returns.

The steps are: compatibility normalisation and case folding, diacritics of Latin, Greek and
Cyrillic removed ("zurich" finds "Zürich"), words cut at anything that is not a letter, mark or
number, English suffixes removed ("deploy" finds "deployment"). Words of other languages hardly
ever end like English ones, and are kept. Text of scripts written without spaces becomes
overlapping pairs of characters, and its single characters as well on the document side.

A term holds letters, marks and numbers only: inside double quotes it is safe in any query
syntax, and no tokenizer that takes every non-ASCII character for a letter can split it.

Source: Porter2, snowballstem.org, "The English (Porter2) stemming algorithm"; pairs of characters
as in Lucene's CJKAnalyzer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final, cast

import regex
import Stemmer

__all__ = ["MAX_TERM", "analyse_document", "analyse_query"]

MAX_TERM: Final = 64
"""Characters kept of a word; longer ones are keys and encoded data rather than language."""

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")

# Besides diacritics: soft hyphen, joiners, word joiner, byte order mark and variation selectors,
# which stand inside words (or after emoji) without being part of their spelling.
_NOT_SPELLED: Final = re.compile(
    "[\u0300-\u036f\u00ad\u200c\u200d\u2060\ufeff\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)

# The prolonged sound mark belongs to both kana, so to neither script.
_UNSPACED: Final = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc]"
    r"&&[\p{L}\p{M}\p{N}]]"
)
_WORD: Final = regex.compile(
    rf"{_UNSPACED}[{_UNSPACED}\p{{M}}]*"
    rf"|[[\p{{L}}\p{{N}}]--{_UNSPACED}][[\p{{L}}\p{{Mn}}\p{{Mc}}\p{{N}}]--{_UNSPACED}]*",
    regex.V1,
)
_STARTS_UNSPACED: Final = regex.compile(_UNSPACED, regex.V1)


def analyse_document(text: str) -> list[str]:
    """Return the index terms of a stored text, in its order, repeated as often as they occur."""
    return _analyse(text, singles=True)


def analyse_query(text: str) -> list[str]:
    """Return the terms to look up for a user's text, in its order; [] if it has no word.

    Differs from `analyse_document` in scripts without spaces alone: only pairs of characters are
    looked up, unless a character stands alone, since single ones match far too much.
    """
    return _analyse(text, singles=False)


def _analyse(text: str, *, singles: bool) -> list[str]:
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
    else:
        words = list(_words(_fold(text), singles=singles))
    # A stemmer serves one thread at a time; a fresh one without a cache costs less than a lock.
    stemmer = cast("Any", Stemmer).Stemmer("english", 0)
    return stemmer.stemWords([word[:MAX_TERM] for word in words])


def _fold(text: str) -> str:
    # Decomposed to take the diacritics off; composed again for Hangul, kana and Indic letters.
    bare = _NOT_SPELLED.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare.casefold())


def _words(folded: str, *, singles: bool) -> Iterable[str]:
    for word in _WORD.findall(folded):
        if word.isascii() or len(word) == 1 or not _STARTS_UNSPACED.match(word):
            yield word
        else:
            if singles:
                yield from word
            for i in range(len(word) - 1):
                yield word[i : i + 2]
