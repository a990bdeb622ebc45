"""What the agents of one user write down during the year, before it becomes entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from nousmem.corpora.assistant_year._dice import Dice
from nousmem.corpora.assistant_year._people import User, World
from nousmem.corpora.assistant_year._timeline import (
    YEAR_END,
    YEAR_START,
    Calendar,
    day_of_year,
)
from nousmem.corpora.assistant_year.phrases import Change, Event, Phrases, Told, fill
from nousmem.entry import MemoryType

__all__ = ["ENTRIES_PER_USER", "Note", "take_notes"]

ENTRIES_PER_USER: Final = 400

_FACTS: Final = 48
_FACTS_TOLD_TWICE: Final = 8
_PREFERENCES: Final = 26
_PROCEDURES: Final = 28
_CHANGES: Final = 16
_CROSS: Final = 6
_CROSS_EXPIRED: Final = 4
_DAILY: Final = 34
_RECURRING_TOPICS: Final = 8
_RECURRING_EACH: Final = 7
_ECHOED: Final = 34

_SHORT: Final = 10
"""Words below which a note gets a second sentence."""

_OPENINGS: Final = {
    "planner": ("For the record: ", "From today's chat: ", "{me} mentioned: ", "To remember: "),
    "coder": ("Note to self: ", "Context: ", "FYI: ", "From the pairing session: "),
    "coach": ("Check-in: ", "Coach's note: ", "{me} told the coach: "),
    "keeper": ("Shop book: ", "Said over the counter: ", "Keep in mind: "),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One memory in the making: the entry's values, and what it was made from."""

    key: str
    """Unique for the user."""
    kind: str
    """fact, preference, procedure, change, around, event, echo, recurring, cross, daily."""
    source: Told | Change | Event
    agent: str
    session_id: str
    at: datetime
    text: str
    type: MemoryType
    importance: float
    slots: dict[str, str]
    """What the slots of the source's questions are filled with."""
    about: str = ""
    """Notes with the same value tell of the same thing."""
    version: int = 0
    """Of a fact that changes: 1 for its first value."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class _Writer:
    """Turns a source and a time span into a note of the user."""

    user: User
    world: World
    calendar: Calendar
    dice: Dice
    tails: Mapping[str, Sequence[str]]
    taken: set[str]
    """Texts that exist; no two notes may be the same."""

    def agents_but(self, agent: str) -> list[str]:
        return [other for other in self.user.agents if other != agent]

    def write(
        self,
        kind: str,
        source: Told | Change | Event,
        say: str,
        *,
        key: str,
        type: MemoryType,
        importance: float,
        start: datetime,
        end: datetime,
        agent: str | None = None,
        slots: dict[str, str] | None = None,
        extra: dict[str, str] | None = None,
        tail: str = "",
        **more: Any,
    ) -> Note:
        agent = agent or self.user.agent_for(source.domain)
        session = self.calendar.find(self.dice, agent, start, end)
        at = session.start + timedelta(seconds=self.dice.between(20, 2700))
        if slots is None:
            slots = {**self.world.slots(self.dice, at), **(extra or {})}
        text = fill(say, slots)
        tails = self.tails[tail or kind if (tail or kind) in self.tails else "event"]
        if self.dice.chance(0.3):
            text += " " + fill(self.dice.pick(tails), slots)
        if self.dice.chance(0.16) and ":" not in text[:40]:
            text = fill(self.dice.pick(_OPENINGS[agent]), slots) + text
        while text in self.taken or len(text.split()) < _SHORT:
            text += " " + fill(self.dice.pick(tails), slots)
        self.taken.add(text)
        return Note(
            key=key,
            kind=kind,
            source=source,
            agent=agent,
            session_id=session.session_id,
            at=at,
            text=text,
            type=type,
            importance=round(min(max(self.dice.around(importance, 0.09), 0.05), 0.98), 2),
            slots=slots,
            **more,
        )


def take_notes(
    user: User,
    world: World,
    phrases: Phrases,
    calendar: Calendar,
    dice: Dice,
    *,
    taken: Iterable[str] = (),
) -> list[Note]:
    """Return the year's notes of one user, oldest first; none has a text that is `taken`."""
    writer = _Writer(user, world, calendar, dice, phrases.tails, set(taken))
    notes = [
        *_facts(writer, phrases.facts),
        *_once(
            writer, "preference", phrases.preferences, n=_PREFERENCES, importance=0.65, until=270
        ),
        *_once(writer, "procedure", phrases.procedures, n=_PROCEDURES, importance=0.6, until=280),
        *_once(writer, "daily", phrases.daily, n=_DAILY, importance=0.15, until=363),
        *_changes(writer, phrases.changes),
        *_cross(writer, phrases.cross),
        *_recurring(writer, phrases.recurring),
    ]
    notes += _events(writer, phrases.events, ENTRIES_PER_USER - len(notes) - _ECHOED)
    return sorted(notes, key=lambda note: (note.at, note.key))


_TYPES: Final = {
    "preference": MemoryType.SEMANTIC,
    "procedure": MemoryType.PROCEDURAL,
    "daily": MemoryType.EPISODIC,
}


def _known(writer: _Writer, sources: Iterable[Told]) -> list[Told]:
    return [source for source in sources if writer.user.knows(source.domain)]


def _once(
    writer: _Writer, kind: str, sources: Sequence[Told], *, n: int, importance: float, until: int
) -> Iterable[Note]:
    for source in writer.dice.sample(_known(writer, sources), n):
        yield writer.write(
            kind,
            source,
            writer.dice.pick(source.say),
            key=source.key,
            about=source.key,
            type=_TYPES[kind],
            importance=importance,
            start=YEAR_START,
            end=day_of_year(until),
        )


def _facts(writer: _Writer, sources: Sequence[Told]) -> Iterable[Note]:
    dice = writer.dice
    chosen = dice.sample(_known(writer, sources), _FACTS)
    for index, source in enumerate(chosen):
        first, second = dice.sample(source.say, 2)
        # Most are told in the first half of the year: the questions come at its end.
        days = (0, 150) if dice.chance(0.75) else (150, 363)
        note = writer.write(
            "fact",
            source,
            first,
            key=source.key,
            about=source.key,
            type=MemoryType.SEMANTIC,
            importance=0.5,
            start=day_of_year(days[0]),
            end=day_of_year(days[1]),
        )
        yield note
        if index < _FACTS_TOLD_TWICE:
            yield writer.write(
                "fact",
                source,
                second,
                key=f"{source.key}-again",
                about=source.key,
                type=MemoryType.SEMANTIC,
                importance=0.45,
                start=note.at,
                end=note.at + timedelta(days=60),
                agent=dice.pick(writer.agents_but(note.agent)),
                slots=note.slots,
                metadata={"retold": source.key},
            )


def _changes(writer: _Writer, sources: Sequence[Change]) -> Iterable[Note]:
    dice = writer.dice
    known = [source for source in sources if writer.user.knows(source.domain)]
    for source in dice.sample(known, _CHANGES):
        changes = dice.pick((1, 1, 1, 2, 2, 2, 3))
        values = dice.sample(source.values, changes + 1)
        laters = dice.sample(source.later, changes)
        gap = 290 / changes
        starts = [0.0, *(45 + gap * (i + 0.1 + 0.7 * dice.unit()) for i in range(changes))]
        agent = writer.user.agent_for(source.domain)
        for index, (value, day) in enumerate(zip(values, starts, strict=True)):
            elsewhere = index > 0 and dice.chance(0.15)
            yield writer.write(
                "change",
                source,
                laters[index - 1] if index else dice.pick(source.first),
                key=f"{source.key}-{index + 1}",
                about=source.key,
                type=MemoryType.SEMANTIC if index == 0 or dice.chance(0.6) else MemoryType.EPISODIC,
                importance=source.importance,
                start=day_of_year(day),
                end=day_of_year(day + (30 if index == 0 else 12)),
                agent=dice.pick(writer.agents_but(agent)) if elsewhere else agent,
                extra={"v": value, "old": values[index - 1] if index else ""},
                tail="change" if index else "fact",
                version=index + 1,
                metadata={"fact": source.key, "version": index + 1},
            )
        if dice.chance(0.8):
            yield writer.write(
                "around",
                source,
                dice.pick(source.around),
                key=f"{source.key}-around",
                about=f"{source.key}-around",
                type=MemoryType.EPISODIC,
                importance=0.25,
                start=YEAR_START,
                end=YEAR_END,
            )


def _cross(writer: _Writer, sources: Sequence[Told]) -> Iterable[Note]:
    dice, user = writer.dice, writer.user
    usable = [
        source
        for source in _known(writer, sources)
        if user.knows(source.asks) and user.agent_for(source.asks) != user.agent_for(source.domain)
    ]
    for index, source in enumerate(dice.sample(usable, _CROSS)):
        wordings = dice.sample(source.say, 2)
        # "On the 16th" is said early in the month it means; in spring it meant another month.
        spans = [("", dice.pick((277, 303, 333)))]
        if index < _CROSS_EXPIRED:
            spans.append(("-expired", dice.pick((58, 89, 119, 150))))
        for say, (key, day) in zip(wordings, spans, strict=False):
            yield writer.write(
                "cross",
                source,
                say,
                key=f"{source.key}{key}",
                about=source.key,
                type=dice.pick((MemoryType.SEMANTIC, MemoryType.EPISODIC)),
                importance=0.5,
                start=day_of_year(day),
                end=day_of_year(day + 7),
            )


def _recurring(writer: _Writer, sources: Sequence[Event]) -> Iterable[Note]:
    dice = writer.dice
    known = [source for source in sources if writer.user.knows(source.domain)]
    for source in dice.sample(known, _RECURRING_TOPICS):
        rows = dice.sample(source.rows, _RECURRING_EACH)
        if source.ordered:
            rows.sort(key=source.rows.index)
        for index, row in enumerate(rows):
            day = 363 / len(rows) * (index + dice.unit() * 0.8)
            yield writer.write(
                "recurring",
                source,
                dice.pick(source.say),
                key=f"{source.key}-{index}",
                about=source.key,
                type=MemoryType.EPISODIC,
                importance=source.importance,
                start=day_of_year(day),
                end=day_of_year(day + 8),
                extra=dict(zip(source.fields, row, strict=True)),
            )


def _events(writer: _Writer, sources: Sequence[Event], n: int) -> Iterable[Note]:
    dice = writer.dice
    rows = [
        (source, index)
        for source in sources
        if writer.user.knows(source.domain)
        for index in range(len(source.rows))
    ]
    for number, (source, index) in enumerate(dice.sample(rows, n)):
        note = writer.write(
            "event",
            source,
            dice.pick(source.say),
            key=f"{source.key}-{index}",
            about=f"{source.key}-{index}",
            type=MemoryType.EPISODIC,
            importance=source.importance,
            start=YEAR_START,
            end=YEAR_END,
            extra=dict(zip(source.fields, source.rows[index], strict=True)),
        )
        if number >= _ECHOED:
            yield note
            continue
        about = {"event": note.about}
        yield replace(note, metadata=about)
        yield writer.write(
            "echo",
            source,
            dice.pick(source.echo),
            key=f"{note.key}-echo",
            about=note.about,
            type=MemoryType.EPISODIC,
            importance=source.importance - 0.1,
            start=note.at,
            end=note.at + timedelta(days=5),
            agent=dice.pick(writer.agents_but(note.agent)),
            slots=note.slots,
            metadata=about,
        )
