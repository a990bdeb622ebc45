"""A LongMemEval file of any size is read in little memory: what is kept is what was asked for.

The file is made up, in the official schema. NOUSMEM_BIG_FILE_MB says how large; the published one
has 277 MB.
"""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nousmem as nm
from nousmem.corpora.reading import stream_json_array

MEGABYTE = 1_000_000
SIZE = int(os.environ.get("NOUSMEM_BIG_FILE_MB", "12")) * MEGABYTE
MOST = 16 * MEGABYTE
"""Whatever the file's size. A question has half a megabyte; a letter, once read, four bytes."""

WORDS = ("we", "saw", "the", "bees", "in", "Malmö", "🐝", "and", "all", "their", "honey", "sold")
RARE = "temporal-reasoning"


def question(number: int, kind: str) -> dict[str, Any]:
    """Return a question with a haystack of 50 sessions of 10 turns, half a megabyte."""
    sessions = []
    for session in range(50):
        words = " ".join(WORDS[(number + session + at) % len(WORDS)] for at in range(170))
        turns = []
        for turn in range(10):
            role = ("user", "assistant")[turn % 2]
            said = {"role": role, "content": f"{number} {session} {turn} {words}"}
            turns.append({**said, "has_answer": turn == 0} if session == 7 else said)
        sessions.append(turns)
    return {
        "question_id": f"q{number}",
        "question_type": kind,
        "question": "What was sold?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "honey",
        "answer_session_ids": ["s7"],
        "haystack_session_ids": [f"s{session}" for session in range(50)],
        "haystack_dates": ["2023/03/01 (Wed) 10:00"] * 50,
        "haystack_sessions": sessions,
    }


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A file of that size, and how many questions it has: the first and last of a rare kind."""
    path = tmp_path_factory.mktemp("big") / "longmemeval_s_cleaned.json"
    count = 0
    with path.open("w", encoding="utf-8") as stream:

        def write(kind: str) -> None:
            nonlocal count
            stream.write("[" if count == 0 else ", ")
            json.dump(question(count, kind), stream, ensure_ascii=False)
            count += 1

        write(RARE)
        while stream.tell() < SIZE:
            write("multi-session")
        write(RARE)
        stream.write("]")
    return path, count


def peak_of(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return what `work` returns, and the most memory that it held, in bytes."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_element_by_element(big: tuple[Path, int]):
    path, count = big
    assert path.stat().st_size >= SIZE
    found, peak = peak_of(lambda: sum(1 for _ in stream_json_array(path)))
    assert found == count
    assert peak < MOST


def test_loading_a_few_questions(big: tuple[Path, int]):
    path, count = big

    def load() -> nm.Corpus:
        return nm.load_corpus("longmemeval", path=path, question_types=[RARE])

    first = nm.load_corpus("longmemeval", path=path, max_questions=1)  # imports pandas, too
    assert len(first.entries) == 500
    corpus, peak = peak_of(load)
    assert [query.query_id for query in corpus.queries] == ["q0", f"q{count - 1}"]
    assert len(corpus.entries) == 1_000
    assert corpus.card.excluded == {"multi-session": count - 2}
    assert peak < MOST
