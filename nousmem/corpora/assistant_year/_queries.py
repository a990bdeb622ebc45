"""What is asked of the memory at the end of the year, and which notes answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from nousmem.corpora.assistant_year._dice import Dice
from nousmem.corpora.assistant_year._memories import Note
from nousmem.corpora.assistant_year._people import User
from nousmem.corpora.assistant_year._spans import Span, absolute_spans, relative_spans
from nousmem.corpora.assistant_year._timeline import ASK_FROM, ASK_UNTIL
from nousmem.corpora.assistant_year.phrases import Change, Event, Phrases, Told, fill

__all__ = ["PER_USER", "Question", "ask_questions"]

PER_USER: Final[Mapping[str, int]] = {
    "update": 14,
    "fact": 13,
    "temporal": 9,
    "procedure": 7,
    "preference": 7,
    "cross-agent": 5,
    "nothing-relevant": 6,
}
"""Questions of each category asked by one user."""

_FACT_EVENTS: Final = 5
_TEMPORAL_ABSOLUTE: Final = 4
_TEMPORAL_RELATIVE: Final = 3
_NOTHING_EACH: Final = 2
_PLAIN: Final = 0.6
"""Share of questions put in the words of the note; the others paraphrase it."""

_OLD: Final = timedelta(days=60)

_CHATTY: Final = (
    "Hey, quick one: ", "Sorry to bother you again, but ", "I should know this. ", "Help me out: ",
    "Honest question, ", "For the form in front of me: ", "My mind is blank. ", "Morning! ",
    "Someone just asked me: ", "Remind me please, ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """One query in the making; its judgements name notes by key."""

    category: str
    text: str
    asked: datetime
    agent: str | None = None
    """The one agent whose memories may answer; None for all of the user's."""
    judgements: dict[str, int] = field(default_factory=dict[str, int])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    newest: str = ""
    """For an update: the key of the note with the present value."""
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asker:
    user: User
    notes: Sequence[Note]
    dice: Dice

    def instant(self, start: datetime = ASK_FROM, end: datetime = ASK_UNTIL) -> datetime:
        start = max(start, ASK_FROM)
        seconds = max((end - start) / timedelta(seconds=1), 0)
        moment = start + timedelta(seconds=int(self.dice.unit() * seconds))
        # People ask while awake; a night's question waits for breakfast, if the span allows.
        breakfast = moment.replace(hour=7) + timedelta(hours=self.dice.unit())
        return min(breakfast, end) if moment.hour < 7 else moment

    def of_kind(self, kind: str) -> list[Note]:
        return [note for note in self.notes if note.kind == kind]

    def wording(self, source: Told | Change | Event) -> str:
        """Return a question for what the note says, in its words or in others."""
        plain = self.dice.chance(_PLAIN)
        return self.dice.pick(source.plain if plain else source.ask)

    def voice(self, template: str, slots: Mapping[str, str]) -> str:
        """Return the question as a person types it: mostly clean, now and then hasty."""
        text = fill(template, slots)
        dice = self.dice
        if dice.chance(0.15):
            opening = dice.pick(_CHATTY)
            if not opening.endswith((". ", "! ")):
                text = _lower_first(text)
            text = opening + text
        if dice.chance(0.1):
            text = text.rstrip("?.").lower()
        if dice.chance(0.04):
            text = _mistype(text, dice)
        return text


def ask_questions(
    user: User,
    notes: Sequence[Note],
    others: Sequence[Note],
    phrases: Phrases,
    dice: Dice,
) -> list[Question]:
    """Return the questions of one user, by category and then by time.

    Args:
        user: Who asks.
        notes: The user's notes of the whole year.
        others: The notes of all other users.
        phrases: Where the questions nobody can answer come from.
        dice: Chance.
    """
    asker = _Asker(user, notes, dice)
    makers: dict[str, Callable[[], Iterable[Question]]] = {
        "update": lambda: _updates(asker),
        "fact": lambda: _facts(asker),
        "temporal": lambda: _temporal(asker),
        "procedure": lambda: _told(asker, "procedure"),
        "preference": lambda: _told(asker, "preference"),
        "cross-agent": lambda: _cross(asker),
        "nothing-relevant": lambda: _nothing(asker, others, phrases),
    }
    questions: list[Question] = []
    for category, n in PER_USER.items():
        made = list(makers[category]())[:n]
        questions += sorted(made, key=lambda question: question.asked)
    return questions


def _lower_first(text: str) -> str:
    return text if text.startswith(("I ", "I'", "I.")) else text[:1].lower() + text[1:]


def _mistype(text: str, dice: Dice) -> str:
    words = text.split(" ")
    long = [index for index, word in enumerate(words) if len(word) > 5 and word.isalpha()]
    if long:
        index = dice.pick(long)
        word = words[index]
        at = dice.between(1, len(word) - 3)
        words[index] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


def _versions(notes: Iterable[Note]) -> list[list[Note]]:
    facts: dict[str, list[Note]] = {}
    for note in notes:
        facts.setdefault(note.about, []).append(note)
    return [sorted(versions, key=lambda note: note.version) for versions in facts.values()]


def _updates(asker: _Asker) -> Iterable[Question]:
    dice = asker.dice
    around = {note.key for note in asker.of_kind("around")}
    for versions in dice.sample(_versions(asker.of_kind("change")), 99):
        source = versions[0].source
        if not isinstance(source, Change) or versions[1].at >= ASK_UNTIL - timedelta(days=2):
            continue
        asked = asker.instant(versions[1].at + timedelta(days=1))
        told = [note for note in versions if note.at < asked]
        newest, outdated = told[-1], told[:-1]
        judgements = {newest.key: 2, **{note.key: 0 for note in outdated}}
        aside = f"{source.key}-around"
        if aside in around and any(n.key == aside and n.at < asked for n in asker.notes):
            judgements[aside] = 0
        yield Question(
            "update",
            asker.voice(asker.wording(source), newest.slots),
            asked,
            judgements=judgements,
            metadata={"about": source.key},
            newest=newest.key,
            outdated=tuple(note.key for note in outdated),
        )


def _before(asker: _Asker) -> Iterable[Question]:
    dice = asker.dice
    for versions in dice.sample(_versions(asker.of_kind("change")), 99):
        source = versions[0].source
        if not isinstance(source, Change) or versions[1].at >= ASK_UNTIL - timedelta(days=2):
            continue
        asked = asker.instant(versions[1].at + timedelta(days=1))
        told = [note for note in versions if note.at < asked]
        # "The old one retired, now it is …" names the value before, and so answers too.
        named = told[-1].slots["old"] in told[-1].text
        grades = {note.key: 0 for note in told[:-2]}
        grades |= {told[-2].key: 2, told[-1].key: 2 if named else 1}
        yield Question(
            "temporal",
            asker.voice(dice.pick(source.before), told[-1].slots),
            asked,
            judgements=grades,
            metadata={"about": source.key, "when": "before the last change"},
        )


def _same_thing(
    asker: _Asker, note: Note, asked: datetime, agent: str | None
) -> Iterable[tuple[str, int]]:
    """Yield the grades of notes that tell the same: an echo tells only part of it."""
    for other in asker.notes:
        visible = other.at < asked and agent in (None, other.agent)
        if visible and other.about == note.about:
            yield other.key, 1 if other.kind == "echo" else 2


def _told(asker: _Asker, kind: str, *, scoped: float = 0.5) -> Iterable[Question]:
    dice = asker.dice
    for note in dice.sample(asker.of_kind(kind), 99):
        asked = asker.instant(note.at + _OLD)
        if not isinstance(note.source, Told) or asked < note.at + _OLD or asked > ASK_UNTIL:
            continue
        agent = note.agent if dice.chance(scoped) else None
        family = note.source.family
        judgements = {
            other.key: 0
            for other in asker.of_kind(kind)
            if family
            and isinstance(other.source, Told)
            and other.source.family == family
            and other.source.domain == note.source.domain
            and other.at < asked
        }
        judgements.update(_same_thing(asker, note, asked, agent))
        yield Question(
            kind,
            asker.voice(asker.wording(note.source), note.slots),
            asked,
            agent=agent,
            judgements=judgements,
            metadata={"about": note.about},
        )


def _facts(asker: _Asker) -> Iterable[Question]:
    wanted = PER_USER["fact"] - _FACT_EVENTS
    told: dict[str, Question] = {}
    for question in _told(asker, "fact", scoped=0.15):
        told.setdefault(question.metadata["about"], question)
    yield from list(told.values())[:wanted]
    dice = asker.dice
    for note in dice.sample(asker.of_kind("event"), 99):
        asked = asker.instant(note.at + timedelta(days=10))
        if not isinstance(note.source, Event) or asked > ASK_UNTIL:
            continue
        yield Question(
            "fact",
            asker.voice(asker.wording(note.source), note.slots),
            asked,
            judgements=dict(_same_thing(asker, note, asked, None)),
            metadata={"about": note.about},
        )


def _temporal(asker: _Asker) -> Iterable[Question]:
    yield from _in_spans(asker, absolute_spans, _TEMPORAL_ABSOLUTE)
    yield from _in_spans(asker, relative_spans, _TEMPORAL_RELATIVE)
    yield from _before(asker)


def _in_spans(
    asker: _Asker, spans_of: Callable[[Dice, datetime], Span | None], n: int
) -> Iterable[Question]:
    dice = asker.dice
    topics: set[str] = set()
    for note in dice.sample(asker.of_kind("recurring"), 99):
        span = spans_of(dice, note.at)
        if span is None or note.about in topics or not isinstance(note.source, Event):
            continue
        same = [
            other
            for other in asker.of_kind("recurring")
            if other.about == note.about and other.at < span.asked
        ]
        if any(span.doubtful(other.at) for other in same):
            continue
        topics.add(note.about)
        yield Question(
            "temporal",
            asker.voice(asker.wording(note.source), {**note.slots, "when": span.words}),
            span.asked,
            judgements={other.key: 2 if span.holds(other.at) else 0 for other in same},
            metadata={
                "about": note.about,
                "when": span.words,
                "from": span.start.isoformat(),
                "to": span.end.isoformat(),
            },
        )
        if len(topics) == n:
            return


def _cross(asker: _Asker) -> Iterable[Question]:
    dice = asker.dice
    for note in dice.sample(asker.of_kind("cross"), 99):
        if note.key.endswith("-expired") or not isinstance(note.source, Told):
            continue
        asked = asker.instant(note.at + timedelta(hours=5), note.at + timedelta(days=6))
        expired = f"{note.key}-expired"
        judgements = {note.key: 2}
        if any(other.key == expired for other in asker.notes):
            judgements[expired] = 0
        yield Question(
            "cross-agent",
            asker.voice(asker.wording(note.source), note.slots),
            asked,
            judgements=judgements,
            metadata={
                "about": note.about,
                "asked_by": asker.user.agent_for(note.source.asks),
                "stored_by": note.agent,
            },
        )


def _nothing(asker: _Asker, others: Sequence[Note], phrases: Phrases) -> Iterable[Question]:
    dice = asker.dice
    never = dice.sample(phrases.unanswered, _NOTHING_EACH)
    yield from (
        Question(
            "nothing-relevant",
            asker.voice(text, {}),
            asker.instant(),
            metadata={"why": "never told"},
        )
        for text in never
    )
    own = {note.about for note in asker.notes}
    slots = next(iter(asker.notes)).slots
    foreign = [
        note
        for note in others
        if note.kind in {"fact", "preference"} and note.about not in own and note.at < ASK_FROM
    ]
    seen: set[str] = set()
    for note in dice.sample(foreign, 99):
        if len(seen) < _NOTHING_EACH and note.about not in seen and isinstance(note.source, Told):
            seen.add(note.about)
            yield Question(
                "nothing-relevant",
                asker.voice(asker.wording(note.source), slots),
                asker.instant(),
                metadata={"why": "told by another user", "about": note.about},
            )
    late = [note for note in asker.notes if note.kind == "event" and note.at > ASK_FROM + _OLD]
    for note in dice.sample(late, _NOTHING_EACH):
        if isinstance(note.source, Event):
            yield Question(
                "nothing-relevant",
                asker.voice(asker.wording(note.source), note.slots),
                asker.instant(end=note.at - timedelta(days=1)),
                metadata={"why": "told only later", "about": note.about},
            )
