import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nousmem.corpora import Corpus, load_beam, load_corpus
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter


def user(number: int, content: str, anchor: str | None = None) -> dict[str, Any]:
    dated = {} if anchor is None else {"time_anchor": anchor}
    return {"role": "user", "id": number, "content": content, **dated}


def assistant(number: int, content: str = "Certainly.") -> dict[str, Any]:
    return {"role": "assistant", "id": number, "content": content}


BATCHES = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [user(0, "I start a garden. ->-> 1,1", "March-15-2024"), assistant(1)],
            [user(4, "The pond is 2 m wide ->-> 1,2)"), assistant(5)],
        ],
    },
    {
        "batch_number": 2,
        "time_anchor": None,
        "turns": [
            [user(6, "The pond is 3 m wide now. ->-> 2,N/A", "April-02-2024"), assistant(7)],
            [user(8, "x -> y stays; I never had a pond. ->-> 2,3, 4\n"), assistant(9, "")],
        ],
    },
]

QUESTIONS: dict[str, Any] = {
    "abstention": [{"question": "Do I have a dog?", "ideal_response": "Unknown."}],
    "knowledge_update": [
        {
            "question": "How wide is the pond?",
            "answer": "3 m",
            "source_chat_ids": {"original_info": [4], "updated_info": [6]},
        },
        {
            "question": "What did I start?",
            "answer": "a garden",
            "source_chat_ids": {"original_info": [0], "updated_info": [0]},
        },
    ],
    "contradiction_resolution": [
        {
            "question": "Did I ever have a pond?",
            "ideal_answer": "You said both.",
            "source_chat_ids": {"first_statement": [6, 5], "second_statement": [8]},
        }
    ],
    "event_ordering": [{"question": "In which order?", "source_chat_ids": [[0, 4], 4, 99]}],
    "summarization": [
        {"question": "What was said?", "source_chat_ids": [1, 5]},
        {"question": "What else?", "source_chat_ids": []},
    ],
}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    chat = {
        "chat_id": 7,
        "topic": {"title": "A garden"},
        "batches": BATCHES,
        "probing_questions": QUESTIONS,
    }
    path = tmp_path / "packed.json"
    path.write_text(json.dumps([chat]), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chat = tmp_path / "100K" / "7"
    (chat / "probing_questions").mkdir(parents=True)
    (chat / "chat.json").write_text(json.dumps(BATCHES), encoding="utf-8")
    (chat / "topic.json").write_text('{"title": "A garden"}', encoding="utf-8")
    (chat / "probing_questions" / "probing_questions.json").write_text(
        json.dumps(QUESTIONS), encoding="utf-8"
    )
    return tmp_path / "100K"


def relevant(corpus: Corpus) -> dict[str, list[str]]:
    return {str(q): group["doc_id"].tolist() for q, group in corpus.qrels.groupby("query_id")}


def test_user_messages_are_entries(packed: Path):
    corpus = load_beam(packed)
    assert [(entry.id, entry.content) for entry in corpus.entries] == [
        ("chat-7/0", "I start a garden."),
        ("chat-7/4", "The pond is 2 m wide"),
        ("chat-7/6", "The pond is 3 m wide now."),
        ("chat-7/8", "x -> y stays; I never had a pond."),
    ]
    assert [entry.session_id for entry in corpus.entries] == ["chat-7/1"] * 2 + ["chat-7/2"] * 2
    assert corpus.entries[0].metadata == {"role": "user", "topic": "A garden"}
    assert corpus.partition_field == corpus.fold_field == "namespace"


def test_stated_dates_are_carried_forward(packed: Path):
    corpus = load_beam(packed)
    assert [entry.created_at for entry in corpus.entries] == [
        datetime(2024, 3, 15, tzinfo=UTC),
        datetime(2024, 3, 15, 0, 0, 2, tzinfo=UTC),
        datetime(2024, 4, 2, tzinfo=UTC),
        datetime(2024, 4, 2, 0, 0, 2, tzinfo=UTC),
    ]
    assert {query.now for query in corpus.queries} == {datetime(2024, 4, 2, 0, 0, 3, tzinfo=UTC)}


def test_sources_are_the_relevant_entries(packed: Path):
    corpus = load_beam(packed)
    assert relevant(corpus) == {
        "chat-7/knowledge_update/1": ["chat-7/4", "chat-7/6"],
        "chat-7/knowledge_update/2": ["chat-7/0"],
        "chat-7/contradiction_resolution/1": ["chat-7/6", "chat-7/8"],
        "chat-7/event_ordering/1": ["chat-7/0", "chat-7/4"],
    }
    assert corpus.card.excluded == {
        "abstention": 1,
        "no source among the entries": 1,
        "no sources": 1,
    }
    assert corpus.card.faults == {
        "plan reference at the end of a message, cut off": 4,
        "message without a date, dated by the last one stated": 6,
        "update said in the message that it updates": 1,
        "source repeated in a question": 2,
        "source that is not a message of the chat": 1,
        "question without sources": 1,
    }


def test_updates_and_contradictions_are_marked(packed: Path):
    first, second, contradiction, _ = load_beam(packed).queries
    assert first.metadata == {"answer": "3 m", "newest": ["chat-7/6"], "outdated": ["chat-7/4"]}
    assert second.metadata == {"answer": "a garden"}
    assert contradiction.metadata == {
        "answer": "You said both.",
        "first_statement": ["chat-7/6"],
        "second_statement": ["chat-7/8"],
    }


def test_the_published_folders_give_the_same(packed: Path, folder: Path):
    expected = load_beam(packed)
    for place in (folder, folder / "7"):
        corpus = load_beam(place)
        assert corpus.entries == expected.entries
        assert corpus.queries == expected.queries
        assert corpus.qrels.equals(expected.qrels)


def test_messages_of_both(packed: Path):
    corpus = load_beam(packed, roles=("user", "assistant"))
    assert len(corpus.entries) == 7
    assert corpus.card.faults["message without text, left out"] == 1
    assert relevant(corpus)["chat-7/summarization/1"] == ["chat-7/1", "chat-7/5"]
    for roles in ((), ("system",)):
        with pytest.raises(InvalidParameter, match="roles must be among user, assistant"):
            load_beam(packed, roles=roles)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"id": 4', '"id": 0', r"turns\[1\]\[0\]: the message id 0 repeats"),
        ('"March-15-2024"', '"15.3.2024"', r"time_anchor: expected a date such as"),
        ('"id": 5', '"id": "five"', r"\.id: expected a whole number, got str 'five'"),
        ('"role": "user"', '"role": "bot"', r"\.role: expected user or assistant, got 'bot'"),
        ('"batches"', '"bunches"', r"\$\[0\]: the field 'batches' is missing"),
        ('"original_info": [4]', '"original_info": ["a"]', r"original_info\[0\]: expected a whole"),
    ],
)
def test_damage_is_named_with_its_place(packed: Path, old: str, new: str, problem: str):
    text = packed.read_text(encoding="utf-8")
    assert old in text
    packed.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CorpusError, match=problem):
        load_beam(packed)


def test_nothing_to_ask(packed: Path):
    packed.write_text("[]", encoding="utf-8")
    with pytest.raises(CorpusError, match="no question is left"):
        load_beam(packed)


def test_no_date_at_all(packed: Path):
    text = packed.read_text(encoding="utf-8")
    packed.write_text(text.replace("time_anchor", "anchor"), encoding="utf-8")
    with pytest.raises(CorpusError, match="no message of the chat has a time_anchor"):
        load_beam(packed)


def test_missing_files(folder: Path, tmp_path: Path):
    (folder / "7" / "probing_questions" / "probing_questions.json").unlink()
    with pytest.raises(CorpusFileMissing, match=r"probing_questions\.json is missing beside"):
        load_beam(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusFileMissing, match="holds no chat"):
        load_beam(tmp_path / "empty")
    with pytest.raises(CorpusFileMissing, match=r"Get the folder 100K from github\.com"):
        load_beam()


@pytest.mark.corpus
@pytest.mark.usefixtures("data")
class TestPublished:
    def test_counts(self):
        corpus = load_corpus("beam")
        assert len(corpus.partitions()) == 20
        assert len(load_beam(roles=("user", "assistant")).entries) == 5_732
        assert len(corpus.queries) == 336
        assert sum(corpus.card.excluded.values()) + 336 == 400
        assert sum("->->" in entry.content for entry in corpus.entries) == 0

    def test_the_published_folder_gives_the_same(self, data: Path):
        packed = load_corpus("beam").partitions()[0]
        unpacked = load_beam(data / "beam" / "chats" / "100K").partitions()[0]
        assert unpacked == packed

    def test_the_measured_text_row(self, fts5_row):
        row = fts5_row(load_corpus("beam"))
        assert row["nDCG@10"] == pytest.approx(0.5104, abs=5e-5)
