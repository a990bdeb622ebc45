import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nousmem.corpora import Corpus, load_corpus, load_longmemeval
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter, UnknownName
from nousmem.scope import GLOBAL, Scope


def message(role: str, content: str, answer: bool | None = None) -> dict[str, Any]:
    mark = {} if answer is None else {"has_answer": answer}
    return {"role": role, "content": content, **mark}


def asked(question_id: str, kind: str, sessions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A question; `sessions` maps session id to (date, messages)."""
    return {
        "question_id": question_id,
        "question_type": kind,
        "question": f"Question {question_id}?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "blue",
        "answer_session_ids": [name for name in sessions if name.startswith("answer")],
        "haystack_session_ids": list(sessions),
        "haystack_dates": [date for date, _ in sessions.values()],
        "haystack_sessions": [messages for _, messages in sessions.values()],
        **more,
    }


OLD = [
    message("user", "My door is red.", True),
    message("assistant", "Noted.", False),
    message("assistant", "Anything else?", False),
    message("user", "", False),
    message("user", "No."),
]
NEW = [message("user", "I painted my door blue.", True), message("assistant", "Nice.", False)]
CHATTER = [message("user", "How far is the moon?"), message("assistant", "Far.")]
MARCH, APRIL, JUNE = "2023/03/01 (Wed) 10:00", "2023/04/01 (Sat) 10:00", "2023/06/02 (Fri) 08:00"

QUESTIONS = [
    asked(
        "k1",
        "knowledge-update",
        {"answer_1": (MARCH, OLD), "c": (APRIL, CHATTER), "answer_2": (APRIL, NEW)},
    ),
    asked("k2", "knowledge-update", {"answer_1": (MARCH, OLD), "answer_2": (JUNE, NEW)}),
    asked("m1", "multi-session", {"answer_1": (JUNE, NEW), "c": (MARCH, CHATTER)}, answer=3),
    asked("m2", "multi-session", {"c": (MARCH, CHATTER)}),
    asked("s1_abs", "single-session-user", {"answer_1": (MARCH, OLD)}),
]


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "haystacks.json", QUESTIONS)


def wrapped(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same evidence as a pool: dated sessions of evidence turns only."""
    pool = copy.deepcopy(questions)
    for question in pool:
        names = question.pop("haystack_session_ids")
        dates, sessions = question.pop("haystack_dates"), question.pop("haystack_sessions")
        question["answer"] = [question["answer"]]
        question["sessions"] = [
            {"date": date, "turns": [message(t["role"], t["content"]) for t in turns[:1]]}
            for name, date, turns in zip(names, dates, sessions, strict=True)
            if name.startswith("answer")
        ]
    return pool


def relevant(corpus: Corpus) -> dict[str, list[str]]:
    return {str(q): group["doc_id"].tolist() for q, group in corpus.qrels.groupby("query_id")}


def test_a_haystack_for_each_question(path: Path):
    corpus = load_longmemeval(path)
    assert [p.name for p in corpus.partitions()] == ["k1", "k2", "m1"]
    assert [entry.id for entry in corpus.partitions()[0].entries] == [
        "k1/answer_1/1",
        "k1/answer_1/2",
        "k1/answer_1/3",
        "k1/answer_1/5",
        "k1/c/1",
        "k1/c/2",
        "k1/answer_2/1",
        "k1/answer_2/2",
    ]
    fourth = corpus.entries[3]
    assert fourth.content == "No."
    assert fourth.created_at == datetime(2023, 3, 1, 10, 0, 4, tzinfo=UTC)
    assert (fourth.namespace, fourth.session_id) == ("k1", "k1/answer_1")
    assert fourth.metadata == {"role": "user"}
    query = corpus.queries[0]
    assert query.now == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert (query.as_of, query.scope, query.category) == (
        None,
        Scope(namespace="k1"),
        "knowledge-update",
    )
    assert relevant(corpus) == {
        "k1": ["k1/answer_1/1", "k1/answer_2/1"],
        "k2": ["k2/answer_1/1", "k2/answer_2/1"],
        "m1": ["m1/answer_1/1"],
    }


def test_what_is_left_out_is_counted(path: Path):
    card = load_longmemeval(path).card
    assert card.excluded == {"no evidence": 1, "abstention": 1}
    assert card.faults == {
        "turn without text, left out": 3,
        "question without an evidence turn": 1,
        "evidence session dated after its question": 2,
        "question with evidence dated after it": 2,
    }


def test_updated_facts_are_marked(path: Path):
    queries = {query.query_id: query for query in load_longmemeval(path).queries}
    assert queries["k1"].metadata == {
        "answer": "blue",
        "newest": ["k1/answer_2/1"],
        "outdated": ["k1/answer_1/1"],
    }
    assert queries["m1"].metadata == {"answer": "3"}


def test_seen_as_of_the_question(path: Path):
    corpus = load_longmemeval(path, as_of=True)
    assert all(query.as_of == query.now for query in corpus.queries)
    assert relevant(corpus)["k2"] == ["k2/answer_1/1"]
    assert "newest" not in corpus.queries[1].metadata
    assert corpus.card.excluded["all evidence is dated after the question"] == 1


def test_rounds(path: Path):
    corpus = load_longmemeval(path, granularity="round")
    assert [(e.id, e.content) for e in corpus.partitions()[0].entries] == [
        ("k1/answer_1/1", "user: My door is red.\nassistant: Noted.\nassistant: Anything else?"),
        ("k1/answer_1/5", "user: No."),
        ("k1/c/1", "user: How far is the moon?\nassistant: Far."),
        ("k1/answer_2/1", "user: I painted my door blue.\nassistant: Nice."),
    ]
    assert relevant(corpus)["k1"] == ["k1/answer_1/1", "k1/answer_2/1"]


def test_sessions(path: Path):
    corpus = load_longmemeval(path, granularity="session")
    assert [e.id for e in corpus.partitions()[0].entries] == ["k1/answer_1", "k1/c", "k1/answer_2"]
    assert relevant(corpus)["k1"] == ["k1/answer_1", "k1/answer_2"]
    assert corpus.card.faults["question without an evidence session"] == 1


def test_a_repeated_session_id_stays_apart(tmp_path: Path):
    question = copy.deepcopy(QUESTIONS[0])
    question["haystack_session_ids"][1] = "answer_1"
    corpus = load_longmemeval(write(tmp_path / "haystacks.json", [question]))
    assert "k1/answer_1~2/1" in {entry.id for entry in corpus.entries}
    assert corpus.card.faults["session id repeated in a haystack"] == 1


@pytest.mark.parametrize("form", [lambda questions: questions, wrapped], ids=["official", "pool"])
def test_the_pool_is_the_same_from_both_forms(tmp_path: Path, form: Callable[..., Any]):
    file = write(tmp_path / "longmemeval_oracle.json", form(QUESTIONS))
    corpus = load_longmemeval(file, pool=True)
    assert [entry.content for entry in corpus.entries] == [
        "My door is red.",
        "I painted my door blue.",
        "My door is red.",
        "I painted my door blue.",
        "I painted my door blue.",
        "My door is red.",
    ]
    assert corpus.partition_field is None
    assert [query.query_id for query in corpus.queries] == ["k1", "k2", "m1"]
    assert {query.scope for query in corpus.queries} == {GLOBAL}
    assert corpus.queries[1].metadata["answer"] == "blue"
    assert len(corpus.queries[1].metadata["newest"]) == 1
    assert corpus.card.faults["evidence turn with the text of another"] == 4
    assert corpus.card.excluded == {"no evidence": 1, "abstention": 1}


def test_a_pool_is_recognised(tmp_path: Path):
    file = write(tmp_path / "longmemeval_oracle.json", wrapped(QUESTIONS))
    assert load_longmemeval(tmp_path).partition_field is None
    with pytest.raises(CorpusError, match="evidence pool without haystacks"):
        load_longmemeval(file, pool=False)
    for pool in (True, None):
        with pytest.raises(InvalidParameter, match="an evidence pool has turns"):
            load_longmemeval(file, granularity="session", pool=pool)


def test_a_question_without_a_date(tmp_path: Path):
    undated = {**QUESTIONS[0], "question_id": "k9", "question_date": None}
    corpus = load_longmemeval(
        write(tmp_path / "pool.json", [*wrapped(QUESTIONS), *wrapped([undated])])
    )
    assert corpus.card.faults["question without a date"] == 1
    assert corpus.card.excluded["no date"] == 1
    assert any(entry.namespace == "k9" for entry in corpus.entries)


def test_fewer_questions(path: Path):
    corpus = load_longmemeval(path, max_questions=1)
    assert [query.query_id for query in corpus.queries] == ["k1"]
    assert "first 1 questions" in corpus.card.description
    corpus = load_longmemeval(path, question_types=["multi-session"])
    assert [query.query_id for query in corpus.queries] == ["m1"]
    assert corpus.card.excluded["knowledge-update"] == 2
    with pytest.raises(UnknownName, match="did you mean 'multi-session'"):
        load_longmemeval(path, question_types=["multisession"])
    with pytest.raises(InvalidParameter, match="at least 1"):
        load_longmemeval(path, max_questions=0)
    with pytest.raises(InvalidParameter, match="turn, round, session, got 'word'"):
        load_longmemeval(path, granularity="word")  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="no question is left"):
        load_longmemeval(path, question_types=["temporal-reasoning"])


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("question_id", None, r"\$\[0\]: the field 'question_id' is missing or null"),
        ("question_date", "May", r"\$\[0\]\.question_date: expected a date such as"),
        ("haystack_dates", [MARCH], "differ in number: 3, 1, 3"),
        ("haystack_sessions", [[{"role": "user"}], [], []], r"\[0\]\[0\]: the field 'content'"),
        ("haystack_sessions", [[message("user", "x", "yes")], [], []], "expected true or false"),  # type: ignore[arg-type]
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, key: str, value: Any, problem: str):
    file = write(tmp_path / "haystacks.json", [{**QUESTIONS[0], key: value}])
    with pytest.raises(CorpusError, match=problem):
        load_longmemeval(file)


def test_half_a_file(path: Path):
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(CorpusError, match=r"at \$\[\d\]: the file breaks off"):
        load_longmemeval(path)


def test_the_full_file_is_named_when_nothing_is_there():
    with pytest.raises(CorpusFileMissing, match=r"longmemeval_s_cleaned\.json \(sha256 d6f21ea9"):
        load_longmemeval()
    with pytest.raises(CorpusFileMissing, match=r"Get longmemeval_oracle\.json"):
        load_longmemeval(pool=True)


@pytest.mark.corpus
@pytest.mark.usefixtures("data")
class TestPublished:
    def test_haystacks(self, data: Path):
        corpus = load_longmemeval(data / "longmemeval" / "longmemeval_s_mini4.json")
        assert len(corpus.partitions()) == 4
        assert len(corpus.entries) == 2_113
        assert len(corpus.qrels) == 6

    def test_pool(self):
        corpus = load_corpus("longmemeval", pool=True)
        assert len(corpus.entries) == 896
        assert len(corpus.queries) == 470
        assert corpus.card.excluded == {"abstention": 30}
        assert corpus.card.faults == {
            "question without an evidence turn": 21,
            "question without a date": 21,
            "evidence session dated after its question": 59,
            "question with evidence dated after it": 42,
            "evidence turn with the text of another": 26,
        }
        assert sum("newest" in query.metadata for query in corpus.queries) == 70

    def test_the_measured_text_row(self, fts5_row):
        row = fts5_row(load_corpus("longmemeval", pool=True))
        assert row["nDCG@10"] == pytest.approx(0.7090, abs=5e-5)
