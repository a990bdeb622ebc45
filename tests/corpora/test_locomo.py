import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nousmem.corpora import Corpus, load_corpus, load_locomo
from nousmem.corpora.files import CHECKSUM_FAULT
from nousmem.entry import MemoryType
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter, UnknownName
from nousmem.scope import Scope


def turn(dia_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, **more}


def question(text: str, category: int, evidence: list[str], **more: Any) -> dict[str, Any]:
    return {"question": text, "category": category, "evidence": evidence, "answer": "yes", **more}


CONVERSATIONS: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn("D1:1", "Ada", "I keep bees."),
                turn("D1:2", "Ben", "Look!", blip_caption="a red boat", img_url=["http://a/b"]),
            ],
            "session_2_date_time": "12:00 am on 1 June, 2023",
            "session_2": [
                turn("D2:1", "Ben", "The boat is sold.", blip_caption="an empty pier"),
                turn("D2:2", "Ada", "Oh no."),
                turn("D2:3", "Ben", "It was time."),
            ],
            "session_3_date_time": "9:00 am on 2 June, 2023",
        },
        "observation": {
            "session_1_observation": {"Ada": [["Ada keeps bees.", "D1:1"]]},
            "session_2_observation": {
                "Ben": [["Ben sold his boat.", ["D2:1", "D2:3"]], ["Ben is calm.", "D2:3, D2:9"]]
            },
            "session_7_observation": {"Ada": [["Ada was never here.", "D7:1"]]},
        },
        "qa": [
            question("What does Ada keep?", 4, ["D1:1"]),
            question("Which of Ben's things is gone?", 1, ["D1:2; D2:1", "D2:1"], answer=7),
            question("When was the boat sold?", 2, ["D2:01", "D", "D9:9"]),
            question("Is Ada kind?", 3, []),
            question("What does Ada keep?", 4, ["D:1:1"]),
            question("Why did Ada sail?", 5, ["D1:2"], adversarial_answer="for fun"),
            question("Was Ada sad?", 3, ["D2:2"]),
        ],
    },
    {
        "sample_id": "conv-2",
        "conversation": {
            "session_1_date_time": "11:59 pm on 31 December, 2022",
            "session_1": [turn("D1:1", "Cy", "Happy new year!")],
        },
        "observation": {},
        "qa": [question("Who wished a happy new year?", 4, ["D1:1"])],
    },
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def write(document: Any) -> Path:
        path = tmp_path / "locomo10.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


@pytest.fixture
def path(write) -> Path:
    return write(CONVERSATIONS)


def relevant(corpus: Corpus) -> dict[str, list[str]]:
    return {str(q): group["doc_id"].tolist() for q, group in corpus.qrels.groupby("query_id")}


def test_turns_are_entries(path: Path):
    corpus = load_locomo(path)
    by_id = {entry.id: entry for entry in corpus.entries}
    assert [entry.content for entry in corpus.entries] == [
        "Ada: I keep bees.",
        "Ben: Look! [a red boat]",
        "Ben: The boat is sold. [an empty pier]",
        "Ada: Oh no.",
        "Ben: It was time.",
        "Cy: Happy new year!",
    ]
    shown = by_id["conv-1/D1:2"]
    assert shown.created_at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert (shown.namespace, shown.session_id) == ("conv-1", "conv-1/D1")
    assert (shown.type, shown.importance) == (MemoryType.EPISODIC, 0.5)
    assert shown.metadata == {
        "speaker": "Ben",
        "dia_id": "D1:2",
        "caption": "a red boat",
        "img_url": ["http://a/b"],
    }
    assert by_id["conv-2/D1:1"].created_at == datetime(2022, 12, 31, 23, 59, tzinfo=UTC)


def test_questions_with_their_circumstances(path: Path):
    corpus = load_locomo(path)
    assert [query.query_id for query in corpus.queries] == [
        "conv-1/q0",
        "conv-1/q1",
        "conv-1/q2",
        "conv-1/q4",
        "conv-1/q6",
        "conv-2/q0",
    ]
    query = corpus.queries[1]
    assert query.now == datetime(2023, 6, 1, 0, 0, 2, tzinfo=UTC)
    assert query.as_of is None
    assert query.scope == Scope(namespace="conv-1")
    assert query.category == "multi-hop"
    assert query.metadata == {"answer": "7", "evidence": ["D1:2", "D2:1"]}
    assert [p.name for p in corpus.partitions()] == ["conv-1", "conv-2"]
    assert corpus.fold_field == "namespace"


def test_evidence_is_repaired_and_every_fault_counted(path: Path):
    corpus = load_locomo(path)
    assert relevant(corpus) == {
        "conv-1/q0": ["conv-1/D1:1"],
        "conv-1/q1": ["conv-1/D1:2", "conv-1/D2:1"],
        "conv-1/q2": ["conv-1/D2:1"],
        "conv-1/q4": ["conv-1/D1:1"],
        "conv-1/q6": ["conv-1/D2:2"],
        "conv-2/q0": ["conv-2/D1:1"],
    }
    assert corpus.card.faults == {
        CHECKSUM_FAULT: 1,
        "session date without a session": 1,
        "caption without img_url": 1,
        "answer is a number, not text": 1,
        "evidence id repaired": 3,
        "evidence id repeated": 1,
        "evidence id unreadable": 1,
        "evidence id without a turn": 1,
        "question without evidence": 1,
        "question repeated in its conversation": 1,
        "adversarial question with an answer": 1,
    }
    assert corpus.card.excluded == {"no evidence": 1, "adversarial": 1}


def test_categories(path: Path):
    corpus = load_locomo(path, categories=["adversarial", "temporal"])
    assert [query.category for query in corpus.queries] == ["temporal", "adversarial"]
    assert corpus.queries[1].metadata["adversarial_answer"] == "for fun"
    assert corpus.card.excluded == {"single-hop": 3, "multi-hop": 1, "open-domain": 2}
    with pytest.raises(UnknownName, match="did you mean 'multi-hop'"):
        load_locomo(path, categories=["multihop"])


def test_sessions_as_entries(path: Path):
    corpus = load_locomo(path, granularity="session")
    assert [entry.id for entry in corpus.entries] == ["conv-1/D1", "conv-1/D2", "conv-2/D1"]
    assert corpus.entries[0].content == 'Ada said, "I keep bees."\nBen said, "Look!"'
    assert corpus.entries[1].created_at == datetime(2023, 6, 1, 0, 0, 2, tzinfo=UTC)
    assert relevant(corpus)["conv-1/q1"] == ["conv-1/D1", "conv-1/D2"]


def test_observations_as_entries(path: Path):
    corpus = load_locomo(path, granularity="observation")
    assert [(entry.id, entry.content) for entry in corpus.entries] == [
        ("conv-1/O1:1", "Ada keeps bees."),
        ("conv-1/O2:1", "Ben sold his boat."),
        ("conv-1/O2:2", "Ben is calm."),
    ]
    assert corpus.entries[2].metadata == {"speaker": "Ben", "dia_ids": ["D2:3"]}
    assert relevant(corpus)["conv-1/q1"] == ["conv-1/O2:1"]
    assert corpus.card.excluded["no observation holds the evidence"] == 2
    assert corpus.card.faults["observations of a session that does not exist"] == 1
    assert corpus.card.faults["observation evidence id repaired"] == 1
    assert corpus.card.faults["observation evidence id without a turn"] == 1


def correction(number: int, text: str, evidence: list[str]) -> dict[str, Any]:
    return {
        "question_id": f"locomo_0_qa{number}",
        "question": text,
        "error_type": "WRONG_CITATION",
        "correct_evidence": evidence,
        "correct_answer": "honey bees",
    }


def test_corrections_replace_evidence_and_answer(path: Path):
    audit = [
        correction(0, "What does Ada keep?", ["D2:2", "D8:8"]),
        correction(6, "Was Ada sad?", []),
    ]
    file = path.with_name("locomo_audit_errors.json")
    file.write_text(json.dumps(audit), encoding="utf-8")
    for where in (True, file, path.parent):
        corpus = load_locomo(path, corrections=where)
        assert relevant(corpus)["conv-1/q0"] == ["conv-1/D2:2"]
        assert corpus.queries[0].metadata["answer"] == "honey bees"
        assert corpus.queries[0].metadata["audit"] == "WRONG_CITATION"
        assert corpus.card.faults["evidence corrected by the audit"] == 2
        assert corpus.card.faults["audit evidence id without a turn"] == 1
        assert corpus.card.excluded["no evidence"] == 2
    assert relevant(load_locomo(path, corrections=False))["conv-1/q0"] == ["conv-1/D1:1"]


def test_corrections_of_another_version_are_refused(path: Path):
    file = path.with_name("locomo_audit_errors.json")
    file.write_text(json.dumps([correction(0, "What else?", [])]), encoding="utf-8")
    with pytest.raises(CorpusError, match="another version of the file"):
        load_locomo(path, corrections=file)
    file.write_text(json.dumps([{"question_id": "17"}]), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"\$\[0\]\.question_id: expected 'locomo_<i>_qa<j>'"):
        load_locomo(path, corrections=file)
    file.unlink()
    with pytest.raises(CorpusFileMissing, match=r"locomo_audit_errors\.json"):
        load_locomo(path, corrections=True)


def change(document: Any, place: list[Any], value: Any) -> Any:
    """Return a copy with one value replaced, or removed when `value` is ...."""
    changed = copy.deepcopy(document)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ([0, "sample_id"], ..., r"\$\[0\]: the field 'sample_id' is missing"),
        ([0, "conversation"], [], r"\$\[0\]\.conversation: expected an object, got list"),
        ([0, "conversation", "session_1_date_time"], ..., "session_1_date_time is missing"),
        ([0, "conversation", "session_1_date_time"], "May", "expected a date such as"),
        ([0, "conversation", "session_1", 1, "text"], 5, r"session_1\[1\]\.text: expected text"),
        ([0, "conversation", "session_1", 1, "text"], "\ud800", "lone surrogate"),
        ([0, "conversation"], {}, "the conversation has no turns"),
        ([0, "qa", 2, "category"], 6, r"qa\[2\]\.category: expected 1 to 5, got 6"),
        ([0, "qa", 2, "evidence"], "D1:1", r"qa\[2\]\.evidence: expected a list"),
        ([0, "conversation", "session_1", 1, "dia_id"], "D1:1", "1 entries repeat an id"),
    ],
)
def test_damage_is_named_with_its_place(write, place: list[Any], value: Any, problem: str):
    path = write(change(CONVERSATIONS, place, value))
    with pytest.raises(CorpusError, match=problem):
        load_locomo(path)


def test_nothing_to_ask(write):
    with pytest.raises(CorpusError, match=r"no question is left; left out: \{\}"):
        load_locomo(write([]))
    with pytest.raises(CorpusError, match=r"no question is left; left out: \{'single-hop': 3"):
        load_locomo(write(CONVERSATIONS), categories=[])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_half_a_download(path: Path, share: float):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(CorpusError, match=r"locomo10\.json: line 1 column \d+: .*breaks off"):
        load_locomo(path)


def test_an_unknown_granularity(path: Path):
    with pytest.raises(InvalidParameter, match="turn, session, observation, got 'word'"):
        load_locomo(path, granularity="word")  # type: ignore[arg-type]


@pytest.mark.corpus
@pytest.mark.usefixtures("data")
class TestPublished:
    def test_counts(self):
        corpus = load_corpus("locomo")
        assert len(corpus.entries) == 5_882
        assert len(corpus.queries) == 1_536
        assert len(corpus.partitions()) == 10
        assert corpus.card.excluded == {"adversarial": 446, "no evidence": 4}
        assert corpus.card.faults == {
            "session date without a session": 16,
            "caption without img_url": 316,
            "answer is a number, not text": 6,
            "question without evidence": 4,
            "evidence id repaired": 6,
            "evidence id unreadable": 1,
            "evidence id without a turn": 2,
            "evidence id repeated": 1,
            "question repeated in its conversation": 11,
            "adversarial question with an answer": 2,
        }
        assert sum("caption" in entry.metadata for entry in corpus.entries) == 1_226
        five = load_corpus("locomo", categories=["adversarial", "multi-hop", "temporal"])
        assert five.queries_frame()["category"].value_counts().to_dict() == {
            "adversarial": 446,
            "temporal": 321,
            "multi-hop": 282,
        }

    def test_sessions(self):
        assert len(load_corpus("locomo", granularity="session").entries) == 272

    def test_corrections(self):
        corpus = load_corpus("locomo", corrections=True)
        assert corpus.card.faults["evidence corrected by the audit"] == 93
        assert len(corpus.queries) == 1_535

    def test_the_measured_text_row(self, fts5_row):
        assert fts5_row(load_corpus("locomo")) == pytest.approx(
            {"R@5": 0.4670, "R@10": 0.5512, "RR": 0.4036, "nDCG@10": 0.4151, "Success@10": 0.6204},
            abs=5e-5,
        )
