"""LongMemEval: questions a user asks about months of chats with an assistant.

Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory", ICLR 2025;
github.com/xiaowu0162/LongMemEval, MIT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, get_args

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import parse_longmemeval_date
from nousmem.corpora._judgements import qrels_frame, updated_fact
from nousmem.corpora.files import DataFile, PathLike, checksum, checksum_faults, find_file
from nousmem.corpora.reading import Node, stream_json_array
from nousmem.entry import Entry, MemoryType
from nousmem.errors import CorpusError, InvalidParameter, UnknownName
from nousmem.scope import GLOBAL, Scope

__all__ = ["HAYSTACKS", "POOLS", "QUESTION_TYPES", "LongMemEvalGranularity", "load_longmemeval"]

_HUB: Final = "the Hugging Face hub, data set xiaowu0162/longmemeval-cleaned (MIT)"

HAYSTACKS: Final = (
    DataFile(
        "longmemeval/longmemeval_s_cleaned.json",
        source=_HUB,
        sha256="d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
    ),
    DataFile(
        "longmemeval/longmemeval_s_mini4.json",
        source="four questions of the full file",
        derived=True,
    ),
)
"""Files with a haystack of sessions for each question."""

POOLS: Final = (
    DataFile("longmemeval/longmemeval_oracle.json", source=_HUB),
    DataFile(
        "longmemeval/longmemeval_evidence_pool.json",
        source="the evidence turns of longmemeval_oracle.json",
        derived=True,
    ),
)
"""Files with the evidence sessions alone."""

QUESTION_TYPES: Final = (
    "knowledge-update",
    "multi-session",
    "single-session-assistant",
    "single-session-preference",
    "single-session-user",
    "temporal-reasoning",
)

LongMemEvalGranularity = Literal["turn", "round", "session"]


def load_longmemeval(
    path: PathLike | None = None,
    *,
    granularity: LongMemEvalGranularity = "turn",
    pool: bool | None = None,
    as_of: bool = False,
    question_types: Iterable[str] | None = None,
    max_questions: int | None = None,
) -> Corpus:
    """Load LongMemEval: a haystack for each question, or the evidence of all as one pool.

    With haystacks, each question's sessions are a partition of their own (namespace = question
    id). With the pool, the evidence turns of all questions share one store. Ages are counted
    from the question's date; a turn's time is its session's plus its position in seconds.
    Abstention questions (`_abs`) are left out and counted; so are questions without evidence.

    A knowledge-update question whose evidence has several dates carries in its metadata
    `newest` and `outdated`, lists of entry ids: what `Fresh@k` is computed from.

    The file is read question by question. The full file makes about 250,000 entries: choose by
    `question_types` or `max_questions` where that is too much.

    Args:
        path: A file in the official schema (longmemeval_s_cleaned.json, longmemeval_oracle.json)
            or an evidence pool; or a folder that holds one.
        granularity: What an entry is: a "turn" (one message), a "round" (a user's message with
            the replies to it), or a whole "session". A pool has turns.
        pool: Whether to load evidence turns alone, as one corpus. None: only if that is all the
            file has.
        as_of: Whether a question sees only what is dated up to it. Evidence dated later is then
            no longer judged relevant.
        question_types: Keep these, of `QUESTION_TYPES`. None: all. The haystacks of others are
            not looked at, nor are their faults counted.
        max_questions: Stop after so many questions of the file.

    Raises:
        CorpusFileMissing: the file is not on this disk.
        CorpusError: the file is damaged, or has no haystacks though `pool` is False.
        InvalidParameter: an unknown granularity, or one that a pool does not have.
        UnknownName: an unknown question type.
    """
    if granularity not in get_args(LongMemEvalGranularity):
        names = ", ".join(get_args(LongMemEvalGranularity))
        raise InvalidParameter(f"granularity must be one of {names}, got {granularity!r}")
    if pool and granularity != "turn":
        raise InvalidParameter(f"an evidence pool has turns, not granularity={granularity!r}")
    if max_questions is not None and max_questions < 1:
        raise InvalidParameter(f"max_questions must be at least 1, got {max_questions!r}")
    wanted = _wanted_types(question_types)
    candidates = {True: POOLS, False: HAYSTACKS, None: (*HAYSTACKS, *POOLS)}[pool]
    file = find_file("longmemeval", candidates, path=path)
    reader = _Reader(granularity, as_of=as_of, wanted=wanted)
    for number, node in enumerate(stream_json_array(file)):
        if number == max_questions:
            break
        pooled = node.get("haystack_sessions") is None
        if pooled and granularity != "turn":
            raise InvalidParameter(f"an evidence pool has turns, not granularity={granularity!r}")
        if number == 0:
            pool = _check_mode(file, pool, pooled=pooled)
        reader.read(node, pool=bool(pool))
    if not reader.queries:
        raise CorpusError(f"{file}: no question is left; left out: {dict(reader.excluded)}")
    return _build(reader, file, pool=bool(pool), max_questions=max_questions)


def _build(reader: _Reader, file: Path, *, pool: bool, max_questions: int | None) -> Corpus:
    digest = checksum(file)
    published = [known for known in (*HAYSTACKS, *POOLS) if known.name == file.name]
    description = [
        "Evidence turns of all questions, one pool."
        if pool
        else f"A haystack for each question. Granularity: {reader.granularity}.",
        "Questions see only what is dated up to them." if reader.as_of else "",
        f"The first {max_questions} questions of the file." if max_questions else "",
    ]
    return Corpus(
        "longmemeval",
        entries=tuple(reader.entries),
        queries=tuple(reader.queries),
        qrels=qrels_frame(reader.judgements),
        card=Card(
            "LongMemEval, questions about a user's chat history",
            licence="MIT",
            source=f"Wu et al. 2025, github.com/xiaowu0162/LongMemEval, {file.name}",
            description=" ".join(filter(None, description)),
            checksum=digest,
            faults={**checksum_faults(digest, published), **reader.faults},
            excluded=dict(reader.excluded),
        ),
        partition_field=None if pool else "namespace",
        fold_field="namespace",
    )


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    type: str
    asked: datetime | None


@dataclass(frozen=True, slots=True)
class _Session:
    name: str
    """Unique among the question's sessions."""
    date: datetime
    turns: tuple[Node, ...]
    is_evidence: bool
    only_evidence: bool = False
    """Whether every turn is evidence, as in a pool that was wrapped for that."""


@dataclass(frozen=True, slots=True)
class _Document:
    entry: Entry
    relevant: bool
    session_date: datetime

    def later_than(self, moment: datetime | None) -> bool:
        return moment is not None and self.session_date > moment


class _Reader:
    """Collects entries, queries and judgements, one question at a time."""

    def __init__(
        self, granularity: LongMemEvalGranularity, *, as_of: bool, wanted: frozenset[str] | None
    ) -> None:
        self.granularity: LongMemEvalGranularity = granularity
        self.as_of = as_of
        self._wanted = wanted
        self.entries: list[Entry] = []
        self.queries: list[Query] = []
        self.judgements: list[tuple[str, str, int]] = []
        self.faults: Counter[str] = Counter()
        self.excluded: Counter[str] = Counter()
        self._texts: set[str] = set()

    def read(self, node: Node, *, pool: bool) -> None:
        question = _Question(
            node["question_id"].text(),
            node["question_type"].text(),
            None
            if (asked := node.get("question_date")) is None
            else asked.date(parse_longmemeval_date),
        )
        if not pool and self._is_unwanted(question):
            self.excluded[question.type] += 1
            return
        documents = [
            document
            for session in self._sessions(node)
            for document in self._documents(question, session, pool=pool)
        ]
        relevant = [document for document in documents if document.relevant]
        self._count_faults(question, relevant, pool=pool)
        visible = (
            [d for d in relevant if question.asked and d.entry.created_at <= question.asked]
            if self.as_of
            else relevant
        )
        reason = self._reason_to_exclude(question, relevant, visible)
        if reason:
            self.excluded[reason] += 1
        # A haystack serves its own question; the pool serves everybody's.
        if pool or not reason:
            self.entries += [document.entry for document in documents]
        if not reason:
            self._add_query(node, question, visible, pool=pool)

    def _add_query(
        self, node: Node, question: _Question, relevant: list[_Document], *, pool: bool
    ) -> None:
        metadata: dict[str, Any] = {"answer": _answer(node["answer"])}
        if question.type == "knowledge-update":
            metadata |= updated_fact((d.entry.id, d.session_date) for d in relevant)
        if question.asked is None:  # excluded before; said for the type checker
            return
        self.queries.append(
            Query(
                question.id,
                node["question"].text(),
                now=question.asked,
                scope=GLOBAL if pool else Scope(namespace=question.id),
                category=question.type,
                as_of=question.asked if self.as_of else None,
                metadata=metadata,
            )
        )
        self.judgements += [(question.id, document.entry.id, 1) for document in relevant]

    def _sessions(self, node: Node) -> Iterator[_Session]:
        evidence = {item.text() for item in node["answer_session_ids"].items()}
        if node.get("haystack_sessions") is None:
            sessions = list(node["sessions"].items())
            if len(sessions) != len(evidence):
                self.faults["number of session ids differs from the sessions"] += 1
            for number, session in enumerate(sessions, start=1):
                moment = session["date"].date(parse_longmemeval_date)
                turns = tuple(session["turns"].items())
                yield _Session(f"s{number}", moment, turns, is_evidence=True, only_evidence=True)
            return
        columns = [
            list(node[key].items())
            for key in ("haystack_session_ids", "haystack_dates", "haystack_sessions")
        ]
        if len({len(column) for column in columns}) != 1:
            counts = ", ".join(str(len(column)) for column in columns)
            raise node.error(f"session ids, dates and sessions differ in number: {counts}")
        seen: Counter[str] = Counter()
        for identifier, date, session in zip(*columns, strict=True):
            name = identifier.text()
            seen[name] += 1
            if seen[name] > 1:
                self.faults["session id repeated in a haystack"] += 1
            yield _Session(
                name if seen[name] == 1 else f"{name}~{seen[name]}",
                date.date(parse_longmemeval_date),
                tuple(session.items()),
                is_evidence=name in evidence,
            )

    def _documents(
        self, question: _Question, session: _Session, *, pool: bool
    ) -> Iterator[_Document]:
        owner = f"{question.id}/{session.name}"
        turns: list[tuple[int, Node]] = []
        for number, turn in enumerate(session.turns, start=1):
            if turn["content"].text().strip():
                turns.append((number, turn))
            else:
                self.faults["turn without text, left out"] += 1
        for group in _groups(turns, self.granularity):
            first, node = group[0]
            whole = self.granularity == "session"
            if whole or session.only_evidence:
                relevant = session.is_evidence
            else:
                relevant = any(_has_answer(turn) for _, turn in group)
            if pool and not relevant:
                continue
            text = _content(group, self.granularity)
            if pool:
                if text in self._texts:
                    self.faults["evidence turn with the text of another"] += 1
                self._texts.add(text)
            entry = node.entry(
                text,
                id=owner if whole else f"{owner}/{first}",
                type=MemoryType.EPISODIC,
                namespace=question.id,
                session_id=owner,
                created_at=session.date + timedelta(seconds=group[-1][0] - 1),
                metadata={"role": node["role"].text()} if len(group) == 1 else {},
            )
            yield _Document(entry, relevant, session.date)

    def _count_faults(self, question: _Question, relevant: list[_Document], *, pool: bool) -> None:
        if question.asked is None:
            self.faults["question without a date"] += 1
        if not relevant:
            unit = "turn" if pool else self.granularity
            self.faults[f"question without an evidence {unit}"] += 1
        late = {d.entry.session_id for d in relevant if d.later_than(question.asked)}
        if late:
            self.faults["evidence session dated after its question"] += len(late)
            self.faults["question with evidence dated after it"] += 1

    def _is_unwanted(self, question: _Question) -> bool:
        if self._wanted is None or question.type in self._wanted:
            return False
        return not question.id.endswith("_abs")

    def _reason_to_exclude(
        self, question: _Question, relevant: list[_Document], visible: list[_Document]
    ) -> str:
        if question.id.endswith("_abs"):
            return "abstention"
        if self._is_unwanted(question):
            return question.type
        if question.asked is None:
            return "no date"
        if not relevant:
            return "no evidence"
        return "" if visible else "all evidence is dated after the question"


def _groups(
    turns: list[tuple[int, Node]], granularity: LongMemEvalGranularity
) -> Iterator[list[tuple[int, Node]]]:
    if granularity == "session":
        if turns:
            yield turns
        return
    group: list[tuple[int, Node]] = []
    for number, turn in turns:
        opens = granularity == "turn" or turn["role"].text() == "user"
        if group and opens:
            yield group
            group = []
        group.append((number, turn))
    if group:
        yield group


def _content(group: list[tuple[int, Node]], granularity: LongMemEvalGranularity) -> str:
    if granularity == "turn":
        return group[0][1]["content"].text()
    return "\n".join(f"{turn['role'].text()}: {turn['content'].text()}" for _, turn in group)


def _has_answer(turn: Node) -> bool:
    mark = turn.get("has_answer")
    if mark is None:
        return False
    if not isinstance(mark.value, bool):
        raise mark.error(f"expected true or false, got {mark.value!r}")
    return mark.value


def _answer(node: Node) -> str:
    parts = node.items() if isinstance(node.value, list) else [node]
    return "; ".join(str(part.value) for part in parts)


def _check_mode(file: Path, pool: bool | None, *, pooled: bool) -> bool:  # noqa: FBT001
    if pool is False and pooled:
        raise CorpusError(
            f"{file}: this is an evidence pool without haystacks: load it with pool=True"
        )
    return pooled if pool is None else pool


def _wanted_types(names: Iterable[str] | None) -> frozenset[str] | None:
    if names is None:
        return None
    wanted = frozenset([names] if isinstance(names, str) else names)
    for name in wanted:
        if name not in QUESTION_TYPES:
            raise UnknownName("LongMemEval question type", name, QUESTION_TYPES)
    return wanted
