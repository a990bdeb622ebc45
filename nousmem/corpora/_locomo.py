"""LoCoMo: ten long conversations between two people, with questions about them.

Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024;
github.com/snap-research/LoCoMo, CC BY-NC 4.0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import parse_locomo_date
from nousmem.corpora._judgements import qrels_frame
from nousmem.corpora._locomo_audit import Correction, load_corrections
from nousmem.corpora.files import DataFile, PathLike, checksum, checksum_faults, find_file
from nousmem.corpora.reading import Node, read_json
from nousmem.entry import Entry, MemoryType
from nousmem.errors import CorpusError, InvalidParameter, UnknownName
from nousmem.scope import Scope

__all__ = ["CATEGORIES", "LOCOMO", "Granularity", "load_locomo"]

LOCOMO: Final = DataFile(
    "locomo10.json",
    source="github.com/snap-research/LoCoMo (data/locomo10.json, CC BY-NC 4.0)",
    sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
    url="https://raw.githubusercontent.com/snap-research/LoCoMo/main/data/locomo10.json",
)

CATEGORIES: Final[dict[int, str]] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
"""The file's category numbers; their order is not the paper's."""

Granularity = Literal["turn", "session", "observation"]

_EVIDENCE: Final = re.compile(r"D:?(\d+):(\d+)")
_SESSION: Final = re.compile(r"session_(\d+)")
_SESSION_DATE: Final = re.compile(r"session_(\d+)_date_time")
_OBSERVATIONS: Final = re.compile(r"session_(\d+)_observation")


def load_locomo(
    path: PathLike | None = None,
    *,
    granularity: Granularity = "turn",
    categories: Iterable[str] = ("multi-hop", "temporal", "open-domain", "single-hop"),
    corrections: PathLike | bool | None = None,
) -> Corpus:
    """Load LoCoMo: one partition (namespace) for each conversation.

    A turn's text is `speaker: text [caption]`, its time the session's plus its position in
    seconds. Ages are counted from the conversation's last turn. The questions have no date, so
    `as_of` is None. Questions without evidence that exists are left out and counted.

    Args:
        path: locomo10.json, or a folder that holds it. Default: see `find_file`.
        granularity: What an entry is: a "turn"; a whole "session" (its turns as
            `speaker said, "text"` lines, dated at its last turn); or an "observation", the
            statements about a speaker that the file derives from each session.
        categories: Which questions: "multi-hop", "temporal", "open-domain", "single-hop",
            "adversarial".
        corrections: The independent audit's corrections (locomo_audit_errors.json): a path, or
            True to look for that file beside the corpus, then where corpora are looked for. They
            replace evidence and answers.

    Raises:
        CorpusFileMissing: the file is not there and cannot be downloaded.
        CorpusError: the file is damaged, is not LoCoMo, or no question is left.
        InvalidParameter: an unknown granularity.
        UnknownName: an unknown category.
    """
    if granularity not in get_args(Granularity):
        raise InvalidParameter(
            f"granularity must be one of {', '.join(get_args(Granularity))}, got {granularity!r}"
        )
    wanted = _wanted_categories(categories)
    file = find_file("locomo", [LOCOMO], path=path)
    digest = checksum(file)
    faults: Counter[str] = Counter(checksum_faults(digest, [LOCOMO]))
    excluded: Counter[str] = Counter()
    corrected = load_corrections(corrections, beside=file)
    entries: list[Entry] = []
    queries: list[Query] = []
    judgements: list[tuple[str, str, int]] = []
    for index, node in enumerate(read_json(file).items()):
        conversation = _read_conversation(node, faults)
        documents = _DOCUMENTS[granularity](conversation, faults)
        entries += documents.entries
        for question in _read_questions(conversation, corrected.get(index, {}), faults):
            relevant = documents.citing(question.evidence)
            if question.category not in wanted:
                excluded[question.category] += 1
            elif not question.evidence:
                excluded["no evidence"] += 1
            elif not relevant:
                excluded[f"no {granularity} holds the evidence"] += 1
            else:
                queries.append(question.query(conversation))
                judgements += [(queries[-1].query_id, doc_id, 1) for doc_id in relevant]
    if not queries:
        raise CorpusError(f"{file}: no question is left; left out: {dict(excluded)}")
    card = Card(
        "LoCoMo, ten long conversations",
        licence="CC BY-NC 4.0",
        source="Maharana et al. 2024, github.com/snap-research/LoCoMo, data/locomo10.json",
        description=f"Granularity: {granularity}. Categories: {', '.join(sorted(wanted))}."
        + (" Evidence and answers corrected by dial481/locomo-audit." if corrected else ""),
        checksum=digest,
        faults=dict(faults),
        excluded=dict(excluded),
    )
    return Corpus(
        "locomo",
        entries=tuple(entries),
        queries=tuple(queries),
        qrels=qrels_frame(judgements),
        card=card,
        partition_field="namespace",
        fold_field="namespace",
    )


@dataclass(frozen=True, slots=True)
class _Turn:
    dia_id: str
    session: int
    created_at: datetime
    node: Node
    speaker: str
    text: str
    caption: str
    img_url: list[Any]


@dataclass(frozen=True, slots=True)
class _Conversation:
    name: str
    node: Node
    turns: tuple[_Turn, ...]
    turn_ids: frozenset[str]
    now: datetime
    """When the last turn was said."""

    @property
    def scope(self) -> Scope:
        return Scope(namespace=self.name)

    def sessions(self) -> Iterator[tuple[int, list[_Turn]]]:
        by_number: dict[int, list[_Turn]] = {}
        for turn in self.turns:
            by_number.setdefault(turn.session, []).append(turn)
        yield from by_number.items()


@dataclass(frozen=True, slots=True)
class _Documents:
    entries: list[Entry]
    cited_by: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """For each turn id, the ids of the entries that hold it."""

    def citing(self, evidence: Iterable[str]) -> list[str]:
        return list(
            dict.fromkeys(doc for turn_id in evidence for doc in self.cited_by.get(turn_id, ()))
        )


@dataclass(frozen=True, slots=True)
class _Question:
    number: int
    text: str
    category: str
    evidence: tuple[str, ...]
    metadata: dict[str, Any]

    def query(self, conversation: _Conversation) -> Query:
        return Query(
            f"{conversation.name}/q{self.number}",
            self.text,
            now=conversation.now,
            scope=conversation.scope,
            category=self.category,
            metadata={**self.metadata, "evidence": list(self.evidence)},
        )


def _wanted_categories(categories: Iterable[str]) -> frozenset[str]:
    wanted = frozenset([categories] if isinstance(categories, str) else categories)
    for name in wanted:
        if name not in CATEGORIES.values():
            raise UnknownName("LoCoMo category", name, CATEGORIES.values())
    return wanted


def _read_conversation(node: Node, faults: Counter[str]) -> _Conversation:
    name = node["sample_id"].text()
    conversation = node["conversation"]
    dates: dict[int, datetime] = {}
    sessions: dict[int, Node] = {}
    for key, value in conversation.fields():
        if match := _SESSION_DATE.fullmatch(key):
            dates[int(match[1])] = value.date(parse_locomo_date)
        elif match := _SESSION.fullmatch(key):
            sessions[int(match[1])] = value
    if spare := len(dates.keys() - sessions.keys()):
        faults["session date without a session"] += spare
    turns: list[_Turn] = []
    for number, session in sorted(sessions.items(), key=lambda item: item[0]):
        if number not in dates:
            raise session.error(f"the session has no date: session_{number}_date_time is missing")
        for position, turn in enumerate(session.items()):
            moment = dates[number] + timedelta(seconds=position)
            turns.append(_read_turn(turn, number, moment, faults))
    if not turns:
        raise conversation.error("the conversation has no turns")
    ids = frozenset(turn.dia_id for turn in turns)
    now = max(turn.created_at for turn in turns)
    return _Conversation(name, node, tuple(turns), ids, now)


def _read_turn(node: Node, session: int, moment: datetime, faults: Counter[str]) -> _Turn:
    caption = node.get("blip_caption")
    images = node.get("img_url")
    if caption is not None and images is None:
        faults["caption without img_url"] += 1
    return _Turn(
        dia_id=node["dia_id"].text(),
        session=session,
        created_at=moment,
        node=node,
        speaker=node["speaker"].text(),
        text=node["text"].text(),
        caption="" if caption is None else caption.text(),
        img_url=[] if images is None else [image.value for image in images.items()],
    )


def _turn_documents(conversation: _Conversation, _faults: Counter[str]) -> _Documents:
    documents = _Documents([])
    for turn in conversation.turns:
        metadata: dict[str, Any] = {"speaker": turn.speaker, "dia_id": turn.dia_id}
        if turn.caption:
            metadata["caption"] = turn.caption
        if turn.img_url:
            metadata["img_url"] = turn.img_url
        doc_id = f"{conversation.name}/{turn.dia_id}"
        caption = f" [{turn.caption}]" if turn.caption else ""
        documents.entries.append(
            turn.node.entry(
                f"{turn.speaker}: {turn.text}{caption}",
                id=doc_id,
                type=MemoryType.EPISODIC,
                namespace=conversation.name,
                session_id=f"{conversation.name}/D{turn.session}",
                created_at=turn.created_at,
                metadata=metadata,
            )
        )
        documents.cited_by.setdefault(turn.dia_id, []).append(doc_id)
    return documents


def _session_documents(conversation: _Conversation, _faults: Counter[str]) -> _Documents:
    documents = _Documents([])
    for number, turns in conversation.sessions():
        doc_id = f"{conversation.name}/D{number}"
        documents.entries.append(
            turns[0].node.entry(
                "\n".join(f'{turn.speaker} said, "{turn.text}"' for turn in turns),
                id=doc_id,
                type=MemoryType.EPISODIC,
                namespace=conversation.name,
                session_id=doc_id,
                created_at=turns[-1].created_at,
                metadata={"session": number, "n_turns": len(turns)},
            )
        )
        documents.cited_by.update((turn.dia_id, [doc_id]) for turn in turns)
    return documents


def _observation_documents(conversation: _Conversation, faults: Counter[str]) -> _Documents:
    documents = _Documents([])
    ends = {number: turns[-1].created_at for number, turns in conversation.sessions()}
    for key, session in conversation.node["observation"].fields():
        match = _OBSERVATIONS.fullmatch(key)
        if match is None:
            continue
        number = int(match[1])
        if number not in ends:
            faults["observations of a session that does not exist"] += 1
            continue
        count = 0
        for speaker, statements in session.fields():
            for statement in statements.items():
                count += 1
                doc_id = f"{conversation.name}/O{number}:{count}"
                content, cited = _read_observation(statement, conversation, faults)
                documents.entries.append(
                    statement.entry(
                        content,
                        id=doc_id,
                        type=MemoryType.SEMANTIC,
                        namespace=conversation.name,
                        session_id=f"{conversation.name}/D{number}",
                        created_at=ends[number],
                        metadata={"speaker": speaker, "dia_ids": list(cited)},
                    )
                )
                for turn_id in cited:
                    documents.cited_by.setdefault(turn_id, []).append(doc_id)
    return documents


def _read_observation(
    node: Node, conversation: _Conversation, faults: Counter[str]
) -> tuple[str, tuple[str, ...]]:
    parts = list(node.items())
    if len(parts) != 2:
        raise node.error(f"expected [statement, evidence], got a list of {len(parts)}")
    statement, evidence = parts
    cited = [evidence] if isinstance(evidence.value, str) else list(evidence.items())
    found = _read_evidence(cited, conversation.turn_ids, faults, of="observation ")
    return statement.text(), found


_DOCUMENTS: Final = {
    "turn": _turn_documents,
    "session": _session_documents,
    "observation": _observation_documents,
}


def _read_questions(
    conversation: _Conversation, corrections: Mapping[int, Correction], faults: Counter[str]
) -> Iterator[_Question]:
    seen: set[tuple[str, str]] = set()
    for number, node in enumerate(conversation.node["qa"].items()):
        category = CATEGORIES.get(node["category"].whole())
        if category is None:
            raise node["category"].error(f"expected 1 to 5, got {node['category'].value}")
        text = node["question"].text()
        if (category, text) in seen:
            faults["question repeated in its conversation"] += 1
        seen.add((category, text))
        cited = list(node["evidence"].items())
        if not cited:
            faults["question without evidence"] += 1
        evidence = _read_evidence(cited, conversation.turn_ids, faults)
        metadata = _read_answers(node, category, faults)
        if number in corrections:
            correction = corrections[number]
            correction.check(node, text)
            metadata |= {"answer": correction.answer, "audit": correction.error_type}
            corrected = _read_evidence(
                correction.evidence, conversation.turn_ids, faults, of="audit "
            )
            if set(corrected) != set(evidence):
                faults["evidence corrected by the audit"] += 1
                evidence = corrected
        yield _Question(number, text, category, evidence, metadata)


def _read_answers(node: Node, category: str, faults: Counter[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for key in ("answer", "adversarial_answer"):
        answer = node.get(key)
        if answer is None:
            continue
        if not isinstance(answer.value, str):
            faults["answer is a number, not text"] += 1
        answers[key] = str(answer.value)
    if category == "adversarial" and "answer" in answers:
        faults["adversarial question with an answer"] += 1
    return answers


def _read_evidence(
    cited: Iterable[Node], turn_ids: frozenset[str], faults: Counter[str], *, of: str = ""
) -> tuple[str, ...]:
    """Return the turn ids that are cited and exist, each once, counting every repair."""
    kept: dict[str, None] = {}
    for node in cited:
        text = node.text()
        ids = [f"D{int(a)}:{int(b)}" for a, b in _EVIDENCE.findall(text)]
        if not ids:
            faults[f"{of}evidence id unreadable"] += 1
        elif ids != [text]:
            faults[f"{of}evidence id repaired"] += 1
        for turn_id in ids:
            if turn_id not in turn_ids:
                faults[f"{of}evidence id without a turn"] += 1
            elif turn_id in kept:
                faults[f"{of}evidence id repeated"] += 1
            else:
                kept[turn_id] = None
    return tuple(kept)
