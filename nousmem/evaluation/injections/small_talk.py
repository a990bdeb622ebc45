"""Messages that need no memory: what an agent shows for them, it shows for nothing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final

from nousmem.retrieval.evidence import content_terms
from nousmem.stores.text import analyse_query

__all__ = ["SMALL_TALK", "ForeignSmallTalkWarning", "warn_of_foreign_talk"]

_ENGLISH: Final = 0.25
"""Least share of function words. Ten questions of the English corpora have .36 at least; questions
in German, French and Spanish have .12, in Dutch .2, of words that are spelled alike, such as
"was"."""
_ENOUGH_WORDS: Final = 20


class ForeignSmallTalkWarning(UserWarning):
    """The small talk is in another language than the queries."""


SMALL_TALK: Final = (
    "Hello!",
    "Hi, are you there?",
    "Good morning",
    "Thanks, that was quick.",
    "Ok, great.",
    "Never mind.",
    "See you tomorrow!",
    "Sorry, I pressed enter too early",
    "Could you say that again?",
    "Please answer more briefly.",
    "What is the capital of Mongolia?",
    "How many bones does an adult human have?",
    "Why is the sky blue?",
    "Who painted the ceiling of the Sistine Chapel?",
    "At what temperature does lead melt?",
    "How far away is the moon?",
    "Which gas makes up most of the air?",
    "In which century was the printing press invented?",
    "What does photosynthesis mean?",
    "How do submarines dive?",
    "Convert 72 degrees Fahrenheit to Celsius.",
    "What is 17 times 23?",
    "What is the derivative of x squared?",
    "Is 97 a prime number?",
    "How many litres are in a gallon?",
    "Translate 'the window is open' into Portuguese.",
    "What is another word for happy?",
    "How is 'rhythm' spelled?",
    "What is the plural of octopus?",
    "Write a limerick about a penguin.",
    "Tell me a joke about electricians.",
    "Give me three names for a pirate ship.",
    "Write a regular expression that matches hexadecimal colours.",
    "What does HTTP status 418 stand for?",
    "How do I reverse a list in Python?",
    "Explain the difference between TCP and UDP.",
    "What is the difference between a stack and a queue?",
    "Sort these numbers: 9, 2, 7, 4",
    "Summarise the plot of Hamlet in one sentence.",
    "Who wrote The Origin of Species?",
    "What are the rules of curling?",
    "How does a rainbow form?",
    "What is the chemical symbol of tungsten?",
    "Which planet has the most moons?",
    "How long is a light year in kilometres?",
    "asdf asdf",
    "qwertzuiop",
    "???",
    "lorem ipsum dolor sit amet",
    "hmm",
)
"""English; greetings, knowledge of the world, arithmetic, words, code, and nonsense."""


def warn_of_foreign_talk(queries: Sequence[str], *, stacklevel: int) -> None:
    """Warn where `SMALL_TALK` is asked beside queries that are hardly English.

    Greetings in a language that no memory is in are easily left alone, so `quiet` would be that of
    nobody's users. Fewer than 20 words say nothing of their language.

    Args:
        queries: Their texts.
        stacklevel: Of the warning.
    """
    n_words = n_function_words = 0
    for text in queries:
        words, meaning = analyse_query(text), content_terms(text)
        n_words += len(words)
        n_function_words += sum(word not in meaning for word in words)
    if n_words < _ENOUGH_WORDS or n_function_words >= _ENGLISH * n_words:
        return
    warnings.warn(
        f"the default small talk is English, but only {n_function_words / n_words:.0%} of the "
        "words of the queries are English function words, such as 'the' or 'what': quiet says "
        "little of users who write otherwise. Give small_talk= what yours say",
        ForeignSmallTalkWarning,
        stacklevel=stacklevel,
    )
