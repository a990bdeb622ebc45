"""The year put together: worlds, notes, use, questions, and out of them a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._judgements import qrels_frame
from nousmem.corpora.assistant_year._dice import Dice
from nousmem.corpora.assistant_year._memories import Note, take_notes
from nousmem.corpora.assistant_year._people import USERS, User, draw_worlds
from nousmem.corpora.assistant_year._queries import Question, ask_questions
from nousmem.corpora.assistant_year._timeline import ACCESS_FROZEN, Calendar, draw_calendar
from nousmem.corpora.assistant_year.phrases import load_phrases
from nousmem.entry import Entry, MemoryType
from nousmem.scope import Scope

__all__ = ["CARD", "NAME", "generate"]

NAME: Final = "assistant-year"

CARD: Final = Card(
    title="A year of five users' assistants",
    licence="MIT",
    source="nousmem, made by its own seeded generator (nousmem.corpora.assistant_year)",
    description=(
        "Synthetic: 2,000 memories that the agents of five invented users write during 2025, and "
        "305 questions asked in its last three months, with graded judgements. It shows what a "
        "setting does; it says nothing about how real memories are distributed."
    ),
    synthetic=True,
)

_USES_PER_100_DAYS: Final[Mapping[str, float]] = {
    "fact": 0.3,
    "preference": 1.2,
    "procedure": 1.0,
    "change": 1.5,
    "around": 0.1,
    "event": 0.3,
    "echo": 0.1,
    "recurring": 0.2,
    "cross": 0.5,
    "daily": 0.05,
}
_FADING: Final = frozenset({"event", "echo", "recurring", "cross", "daily", "around"})
_STALE_RECALL: Final = 0.15


def generate(seed: int = 7) -> Corpus:
    """Return the corpus that this seed makes; the bundled files are those of seed 7.

    The same seed gives the same corpus on every machine. All instants lie in 2025.
    """
    phrases = load_phrases()
    worlds = draw_worlds(Dice(seed, 0))
    notes: dict[str, list[Note]] = {}
    calendars: dict[str, Calendar] = {}
    for number, user in enumerate(USERS, start=1):
        dice = Dice(seed, number)
        calendars[user.user_id] = draw_calendar(dice, user.agents)
        notes[user.user_id] = take_notes(
            user,
            worlds[user.user_id],
            phrases,
            calendars[user.user_id],
            dice,
            taken=[note.text for own in notes.values() for note in own],
        )
    entries: list[Entry] = []
    queries: list[Query] = []
    judgements: list[tuple[str, str, int]] = []
    for number, user in enumerate(USERS, start=1):
        own = notes[user.user_id]
        ids = {note.key: f"{user.user_id}-{i:04d}" for i, note in enumerate(own, start=1)}
        entries += _entries(user, own, ids, calendars[user.user_id], Dice(seed, number, 1))
        others = [note for other, list_ in notes.items() if other != user.user_id for note in list_]
        counts: dict[str, int] = {}
        for question in ask_questions(user, own, others, phrases, Dice(seed, number, 2)):
            counts[question.category] = counts.get(question.category, 0) + 1
            query_id = f"{user.user_id}-{question.category}-{counts[question.category]:02d}"
            queries.append(_query(query_id, user, question, ids))
            judgements += sorted(
                (query_id, ids[key], grade) for key, grade in question.judgements.items()
            )
    return Corpus(
        NAME,
        entries=tuple(entries),
        queries=tuple(queries),
        qrels=qrels_frame(judgements),
        card=CARD,
    )


def _entries(
    user: User, notes: Sequence[Note], ids: Mapping[str, str], calendar: Calendar, dice: Dice
) -> list[Entry]:
    followed = {(note.about, note.version - 1): note.at for note in notes if note.kind == "change"}
    entries: list[Entry] = []
    for note in notes:
        replaced = followed.get((note.about, note.version)) if note.kind == "change" else None
        end = ACCESS_FROZEN if replaced is None else min(replaced, ACCESS_FROZEN)
        uses = calendar.uses(
            dice,
            note.at,
            end,
            per_100_days=_USES_PER_100_DAYS[note.kind],
            fading=note.kind in _FADING,
        )
        if replaced is not None and dice.chance(_STALE_RECALL):
            uses += _recalled_once_more(calendar, dice, replaced)
        entries.append(
            Entry(
                note.text,
                id=ids[note.key],
                type=note.type,
                importance=note.importance,
                evergreen=note.type is MemoryType.PROCEDURAL,
                metadata=note.metadata,
                agent_id=note.agent,
                session_id=note.session_id,
                user_id=user.user_id,
                namespace=user.namespaces.get(note.agent),
                access_count=len(uses),
                created_at=note.at,
                last_accessed_at=max([note.at, *uses]),
            )
        )
    return entries


def _recalled_once_more(calendar: Calendar, dice: Dice, replaced: datetime) -> list[datetime]:
    """Return when an outdated value was brought up although its successor was known."""
    later = [
        session.start for session in calendar.sessions if replaced < session.start < ACCESS_FROZEN
    ]
    return [dice.pick(later[:20])] if later else []


def _query(query_id: str, user: User, question: Question, ids: Mapping[str, str]) -> Query:
    metadata = dict(question.metadata)
    if question.newest:
        metadata["newest"] = [ids[question.newest]]
        metadata["outdated"] = [ids[key] for key in question.outdated]
    return Query(
        query_id,
        question.text,
        now=question.asked,
        as_of=question.asked,
        scope=Scope(user_id=user.user_id, agent_id=question.agent),
        category=question.category,
        metadata=metadata,
    )
