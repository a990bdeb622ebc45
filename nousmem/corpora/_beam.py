"""BEAM: long chats with an assistant, and probing questions with the messages they rest on.

Tavakoli et al., "Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs",
2025; github.com/mohammadtavakoli78/BEAM.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import parse_beam_anchor
from nousmem.corpora._judgements import qrels_frame
from nousmem.corpora.files import (
    DataFile,
    PathLike,
    checksum_faults,
    combined_checksum,
    find_file,
)
from nousmem.corpora.reading import Node, read_json
from nousmem.entry import Entry, MemoryType
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter
from nousmem.scope import Scope

__all__ = ["BEAM", "load_beam"]

_UPSTREAM: Final = "github.com/mohammadtavakoli78/BEAM (chats/100K)"

BEAM: Final = (
    DataFile(
        "beam/beam_100k.json",
        source=f"{_UPSTREAM}, its chat folders packed into one list",
        derived=True,
        sha256="ea4f75eed81b550c8ea3a5b1244a9ea583fe8e2ef14a97e8bc0d0c042c8666db",
    ),
    DataFile("beam/chats/100K", source=_UPSTREAM, folder=True),
)

_ROLES: Final = ("user", "assistant")

_ANSWERS: Final = ("answer", "ideal_answer", "ideal_summary", "expected_compliance")
"""What the kinds of question call their reference answer."""

_PLAN_MARK: Final = re.compile(r"\s*->->\s*\d[^\n]*\s*\Z")
"""The generator's reference to its plan, left at the end of user messages: `->-> 1,1`."""


def load_beam(path: PathLike | None = None, *, roles: Iterable[str] = ("user",)) -> Corpus:
    """Load BEAM: one partition (namespace) for each chat, messages as entries.

    A chat states the date only three to five times; a message's time is the last stated date plus
    its position since then, in seconds. Ages are counted from the chat's last message. The
    relevant entries of a question are the messages it names as its sources; questions without
    any among the entries are left out and counted.

    A knowledge-update question carries in its metadata `newest` and `outdated`, a
    contradiction question `first_statement` and `second_statement`, a question about two events
    `first_event` and `second_event`: lists of entry ids.

    Args:
        path: The chats packed in one list; or the published folder with one folder a chat
            (`1/chat.json`, `1/probing_questions/probing_questions.json`).
        roles: Whose messages become entries: "user", "assistant".

    Raises:
        CorpusFileMissing: the files are not on this disk.
        CorpusError: a file is damaged, or no question is left.
        InvalidParameter: an unknown role.
    """
    wanted = frozenset([roles] if isinstance(roles, str) else roles)
    if not wanted or wanted - set(_ROLES):
        raise InvalidParameter(f"roles must be among {', '.join(_ROLES)}, got {sorted(wanted)}")
    place = find_file("beam", BEAM, path=path)
    files, chats = _read_chats(place)
    digest = combined_checksum(files)
    published = [known for known in BEAM if known.name == place.name]
    faults: Counter[str] = Counter(checksum_faults(digest, published))
    excluded: Counter[str] = Counter()
    entries: list[Entry] = []
    queries: list[Query] = []
    judgements: list[tuple[str, str, int]] = []
    for chat in chats:
        messages = _read_messages(chat, faults)
        if not messages:
            raise chat.batches.error("the chat has no messages")
        documents = _documents(chat, messages, wanted, faults)
        entries += documents.values()
        for question in _read_questions(chat):
            known = {message.number for message in messages}
            relevant = _relevant(question, known, documents, faults)
            if question.category == "abstention":
                excluded["abstention"] += 1
            elif not relevant:
                excluded[_why_without_evidence(question)] += 1
            else:
                if question.updates_in_place():
                    faults["update said in the message that it updates"] += 1
                queries.append(question.query(chat, messages[-1].created_at, documents))
                judgements += [(queries[-1].query_id, doc_id, 1) for doc_id in relevant]
    if not queries:
        raise CorpusError(f"{place}: no question is left; left out: {dict(excluded)}")
    return Corpus(
        "beam",
        entries=tuple(entries),
        queries=tuple(queries),
        qrels=qrels_frame(judgements),
        card=Card(
            f"BEAM, {len(chats)} long chats with an assistant",
            licence="none stated",
            source=f"Tavakoli et al. 2025, {_UPSTREAM}",
            description=f"Entries: the messages of {' and '.join(sorted(wanted))}.",
            checksum=digest,
            faults=dict(faults),
            excluded=dict(excluded),
        ),
        partition_field="namespace",
        fold_field="namespace",
    )


@dataclass(frozen=True, slots=True)
class _Chat:
    name: str
    batches: Node
    questions: Node
    topic: str


@dataclass(frozen=True, slots=True)
class _Message:
    number: int
    batch: int
    role: str
    text: str
    created_at: datetime
    node: Node


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    category: str
    node: Node
    sources: Mapping[str, tuple[int, ...]]
    """Message numbers by their part in the question; "" when the file names no parts."""

    def updates_in_place(self) -> bool:
        newest = set(self.sources.get("updated_info", ()))
        return bool(newest) and newest >= set(self.sources.get("original_info", ()))

    def query(self, chat: _Chat, now: datetime, documents: Mapping[int, Entry]) -> Query:
        metadata: dict[str, Any] = {}
        answers = (self.node.get(name) for name in _ANSWERS)
        if answer := next(filter(None, answers), None):
            metadata["answer"] = str(answer.value)
        parts = {
            part: [documents[number].id for number in dict.fromkeys(numbers) if number in documents]
            for part, numbers in self.sources.items()
            if part
        }
        newest = parts.pop("updated_info", [])
        outdated = [doc_id for doc_id in parts.pop("original_info", []) if doc_id not in newest]
        if newest and outdated:
            metadata |= {"newest": newest, "outdated": outdated}
        metadata |= parts
        return Query(
            self.id,
            self.node["question"].text(),
            now=now,
            scope=Scope(namespace=chat.name),
            category=self.category,
            metadata=metadata,
        )


def _read_chats(place: Path) -> tuple[list[Path], list[_Chat]]:
    if place.is_file():
        return [place], [
            _Chat(
                f"chat-{node['chat_id'].value}",
                node["batches"],
                node["probing_questions"],
                node["topic"]["title"].text() if node.get("topic") else "",
            )
            for node in read_json(place).items()
        ]
    folders = [place] if (place / "chat.json").is_file() else sorted(place.iterdir(), key=_number)
    files: list[Path] = []
    chats: list[_Chat] = []
    for folder in folders:
        chat = folder / "chat.json"
        if not chat.is_file():
            continue
        questions = folder / "probing_questions" / "probing_questions.json"
        if not questions.is_file():
            raise CorpusFileMissing(f"corpus 'beam': {questions} is missing beside {chat}")
        topic = folder / "topic.json"
        title = read_json(topic)["title"].text() if topic.is_file() else ""
        files += [chat, questions]
        chats.append(_Chat(f"chat-{folder.name}", read_json(chat), read_json(questions), title))
    if not chats:
        raise CorpusFileMissing(
            f"corpus 'beam': {place} holds no chat: expected folders such as 1/ with chat.json"
        )
    return files, chats


def _number(folder: Path) -> tuple[int, str]:
    return (int(folder.name), "") if folder.name.isdecimal() else (1 << 31, folder.name)


def _read_messages(chat: _Chat, faults: Counter[str]) -> list[_Message]:
    nodes = [
        (index, message)
        for index, batch in enumerate(chat.batches.items(), start=1)
        for turn in batch["turns"].items()
        for message in turn.items()
    ]
    anchors = [
        None if (anchor := node.get("time_anchor")) is None else anchor.date(parse_beam_anchor)
        for _, node in nodes
    ]
    anchor = next((moment for moment in anchors if moment is not None), None)
    if anchor is None and nodes:
        raise chat.batches.error("no message of the chat has a time_anchor")
    messages: list[_Message] = []
    since = 0
    for (batch, node), stated in zip(nodes, anchors, strict=True):
        if stated is None:
            faults["message without a date, dated by the last one stated"] += 1
            since += 1
        else:
            if anchor is not None and stated < anchor:
                faults["stated date before an earlier one"] += 1
            anchor, since = stated, 0
        role = node["role"].text()
        if role not in _ROLES:
            raise node["role"].error(f"expected user or assistant, got {role!r}")
        text = node["content"].text()
        if role == "user" and (stripped := _PLAN_MARK.sub("", text)) != text:
            faults["plan reference at the end of a message, cut off"] += 1
            text = stripped
        if anchor is not None:
            moment = anchor + timedelta(seconds=since)
            messages.append(_Message(node["id"].whole(), batch, role, text, moment, node))
    return messages


def _documents(
    chat: _Chat, messages: Sequence[_Message], roles: frozenset[str], faults: Counter[str]
) -> dict[int, Entry]:
    documents: dict[int, Entry] = {}
    for message in messages:
        if message.number in documents:
            raise message.node.error(f"the message id {message.number} repeats in {chat.name}")
        if message.role not in roles:
            continue
        if not message.text.strip():
            faults["message without text, left out"] += 1
            continue
        documents[message.number] = message.node.entry(
            message.text,
            id=f"{chat.name}/{message.number}",
            type=MemoryType.EPISODIC,
            namespace=chat.name,
            session_id=f"{chat.name}/{message.batch}",
            created_at=message.created_at,
            metadata={"role": message.role, "topic": chat.topic},
        )
    return documents


def _read_questions(chat: _Chat) -> Iterator[_Question]:
    for category, questions in chat.questions.fields():
        for index, node in enumerate(questions.items(), start=1):
            named = node.get("source_chat_ids")
            sources: dict[str, tuple[int, ...]] = {}
            if named is not None and isinstance(named.value, dict):
                sources = {part: _numbers(ids) for part, ids in named.fields()}
            elif named is not None:
                sources = {"": _numbers(named)}
            yield _Question(f"{chat.name}/{category}/{index}", category, node, sources)


def _numbers(node: Node) -> tuple[int, ...]:
    """Return the message numbers under a node: one, or a list that may hold lists."""
    if isinstance(node.value, list):
        return tuple(number for item in node.items() for number in _numbers(item))
    return (node.whole(),)


def _relevant(
    question: _Question, known: set[int], documents: Mapping[int, Entry], faults: Counter[str]
) -> list[str]:
    numbers = [number for part in question.sources.values() for number in part]
    if len(set(numbers)) < len(numbers):
        faults["source repeated in a question"] += len(numbers) - len(set(numbers))
    unknown = set(numbers) - known
    if unknown:
        faults["source that is not a message of the chat"] += len(unknown)
    if not numbers and question.category != "abstention":
        faults["question without sources"] += 1
    return [documents[number].id for number in dict.fromkeys(numbers) if number in documents]


def _why_without_evidence(question: _Question) -> str:
    named = any(question.sources.values())
    return "no source among the entries" if named else "no sources"
