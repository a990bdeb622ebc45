"""The hand-written text of the corpus, as TOML files, and what reads them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["Change", "Event", "Phrases", "Told", "fill", "load_phrases"]


@dataclass(frozen=True, slots=True)
class Told:
    """Something told once: a fact, a preference, a how-to, or what another agent should know."""

    key: str
    domain: str
    say: tuple[str, ...]
    """Wordings of the note."""
    ask: tuple[str, ...] = ()
    """The question it answers, in other words; none for bulk."""
    plain: tuple[str, ...] = ()
    """The question in the note's own words."""
    family: str = ""
    """How-tos of one family resemble one another."""
    asks: str = ""
    """The domain whose agent asks, where that is not the one that noted it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A fact with another value every few months."""

    key: str
    domain: str
    importance: float
    values: tuple[str, ...]
    first: tuple[str, ...]
    later: tuple[str, ...]
    ask: tuple[str, ...]
    plain: tuple[str, ...]
    before: tuple[str, ...]
    around: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event: wordings around the columns of a table of what happened."""

    key: str
    domain: str
    importance: float
    fields: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    say: tuple[str, ...]
    ask: tuple[str, ...]
    plain: tuple[str, ...]
    echo: tuple[str, ...] = ()
    ordered: bool = False
    """Rows happen in the order of the table."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Everything that can be said and asked."""

    facts: tuple[Told, ...]
    preferences: tuple[Told, ...]
    procedures: tuple[Told, ...]
    cross: tuple[Told, ...]
    daily: tuple[Told, ...]
    changes: tuple[Change, ...]
    events: tuple[Event, ...]
    recurring: tuple[Event, ...]
    unanswered: tuple[str, ...]
    tails: dict[str, tuple[str, ...]]
    """Second sentences by kind of note: event, fact, preference, procedure,
    change, cross."""


def load_phrases() -> Phrases:
    """Read the TOML files that lie beside this module."""
    facts = [*_rows("facts", "facts"), *_rows("facts_outside", "facts")]
    return Phrases(
        facts=_told("fact", facts),
        preferences=_told("preference", _rows("preferences", "preferences")),
        procedures=_told("procedure", _rows("procedures", "procedures")),
        cross=_told("cross", _rows("cross", "cross")),
        daily=_told(
            "daily",
            [
                {"domain": row["domain"], "say": [line]}
                for row in _rows("daily", "daily")
                for line in row["say"]
            ],
        ),
        changes=tuple(
            Change(
                key=row["fact"],
                domain=row["domain"],
                importance=row["importance"],
                **{
                    name: tuple(row[name])
                    for name in ("values", "first", "later", "ask", "plain", "before", "around")
                },
            )
            for row in _rows("changes", "changes")
        ),
        events=_events("events"),
        recurring=_events("recurring"),
        unanswered=tuple(_read("unanswered")["questions"]),
        tails={kind: tuple(lines) for kind, lines in _read("tails").items()},
    )


def fill(template: str, slots: Mapping[str, str]) -> str:
    """Return the template with its slots filled, twice over, and sentences capitalised.

    Twice, because what fills a slot may itself have slots: "the kitchen of {friend}".
    """
    text = template.format_map(slots).format_map(slots)
    return re.sub(r"(^|[.!?] )([a-z])", lambda found: found[1] + found[2].upper(), text)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    return _read(name)[table]


def _told(kind: str, rows: list[dict[str, Any]]) -> tuple[Told, ...]:
    return tuple(
        Told(
            key=f"{kind}-{index}",
            domain=row["domain"],
            say=tuple(row["say"]),
            ask=tuple(row.get("ask", ())),
            plain=tuple(row.get("plain", ())),
            family=row.get("family", ""),
            asks=row.get("asks", ""),
        )
        for index, row in enumerate(rows)
    )


def _events(name: str) -> tuple[Event, ...]:
    return tuple(
        Event(
            key=row["topic"],
            domain=row["domain"],
            importance=row["importance"],
            fields=tuple(row["fields"]),
            rows=tuple(tuple(values) for values in row["rows"]),
            say=tuple(row["say"]),
            ask=tuple(row["ask"]),
            plain=tuple(row["plain"]),
            echo=tuple(row.get("echo", ())),
            ordered=row.get("ordered", False),
        )
        for row in _rows(name, name)
    )
