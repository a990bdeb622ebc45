"""All sessions of a run on one page of HTML: the figures, who won, and the way to each session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final, cast

from nousmem.agent.sessions.ratings import Rating, summarise_ratings
from nousmem.agent.sessions.transcript import Transcript
from nousmem.errors import SessionError
from nousmem.viz._pages import page_template

__all__ = ["INDEX", "session_index", "write_session_index"]

INDEX: Final = "index.html"
"""What the page is called beside those of the sessions."""

_TEMPLATE: Final = "session_index.html.j2"


@dataclass(frozen=True, slots=True)
class _Cell:
    """A session under a setting, or all of them."""

    found: int
    """Needed memories in the prompt."""
    forbidden: int
    """Memories in a prompt that forbids them."""
    failed: int
    """Turns without a reply."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A session under every setting, or all of them."""

    name: str
    about: str
    needed: int
    cells: Mapping[str, _Cell]
    won: tuple[str, ...]
    """The settings in front; none where all are."""

    @property
    def page(self) -> str:
        """The name of the session's page."""
        return f"{self.name}.html"


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two settings, memory by memory."""

    a: str
    b: str
    a_alone: int
    b_alone: int
    both: int
    neither: int
    p: float
    """Two-sided sign test of the memories that one alone found."""

    @property
    def chance(self) -> str:
        """The p-value in words."""
        return "less than 0.1 %" if self.p < 0.001 else f"{self.p:.1%}".replace("%", " %")


@dataclass(frozen=True, slots=True)
class _Index:
    settings: tuple[str, ...]
    models: tuple[str, ...]
    stand_ins: tuple[str, ...]
    rows: tuple[_Row, ...]
    total: _Row
    pairs: tuple[_Pair, ...]
    ratings: Sequence[Mapping[str, Any]]


def session_index(
    transcripts: Mapping[str, Mapping[str, Transcript]], *, ratings: Iterable[Rating] = ()
) -> str:
    """Return the sessions of a run as one HTML document that links to the page of each.

    A setting wins a session with the most needed memories in the prompt, and of several with as
    many, with the fewest forbidden ones. What people wrote is escaped, and the document forbids
    itself scripts and the network, as the pages of sessions do.

    Args:
        transcripts: By session and setting, as `read_transcripts` returns them.
        ratings: Verdicts on their turns, to be summed up.

    Raises:
        SessionError: there is no transcript.
    """
    return page_template(_TEMPLATE).render(view=_index(transcripts, ratings))


def write_session_index(
    transcripts: Mapping[str, Mapping[str, Transcript]],
    path: str | Path,
    *,
    ratings: Iterable[Rating] = (),
) -> None:
    """Write what `session_index` returns.

    Raises:
        SessionError: the file cannot be written, or there is no transcript.
    """
    file = Path(path)
    page = session_index(transcripts, ratings=ratings)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SessionError(f"cannot write {file}: {error.strerror or error}") from error


def _index(
    transcripts: Mapping[str, Mapping[str, Transcript]], ratings: Iterable[Rating]
) -> _Index:
    every = [one for settings in transcripts.values() for one in settings.values()]
    if not every:
        raise SessionError("no transcript to look at; nousmem session writes them")
    settings = tuple(dict.fromkeys(name for one in transcripts.values() for name in one))
    rows = tuple(_row(name, one) for name, one in transcripts.items())
    cells = {
        name: _Cell(
            sum(row.cells[name].found for row in rows if name in row.cells),
            sum(row.cells[name].forbidden for row in rows if name in row.cells),
            sum(row.cells[name].failed for row in rows if name in row.cells),
        )
        for name in settings
    }
    known = set(transcripts)
    summary = summarise_ratings(one for one in ratings if one.session in known)
    return _Index(
        settings=settings,
        models=tuple(dict.fromkeys(one.header.model for one in every)),
        stand_ins=tuple(dict.fromkeys(one.header.model for one in every if one.header.stand_in)),
        rows=rows,
        total=_Row("", "", sum(row.needed for row in rows), cells, _winners(cells)),
        pairs=tuple(_pair(transcripts, a, b) for a, b in combinations(settings, 2)),
        ratings=cast("list[dict[str, Any]]", summary.to_dict("records")),
    )


def _row(name: str, transcripts: Mapping[str, Transcript]) -> _Row:
    cells = {
        setting: _Cell(one.supported[0], one.intruders, len(one.failed))
        for setting, one in transcripts.items()
    }
    first = next(iter(transcripts.values()))
    about = " ".join(first.header.about.split())
    return _Row(name, about, first.supported[1], cells, _winners(cells))


def _winners(cells: Mapping[str, _Cell]) -> tuple[str, ...]:
    marks = {name: (cell.found, -cell.forbidden) for name, cell in cells.items()}
    won = tuple(name for name, mark in marks.items() if mark == max(marks.values()))
    return () if len(won) == len(marks) else won


def _pair(transcripts: Mapping[str, Mapping[str, Transcript]], a: str, b: str) -> _Pair:
    from scipy.stats import binomtest

    found = [
        (one.in_prompt, other.in_prompt)
        for settings in transcripts.values()
        if a in settings and b in settings
        for turn, twin in zip(settings[a].turns, settings[b].turns, strict=True)
        for one, other in zip(turn.support, twin.support, strict=True)
    ]
    a_alone, b_alone = found.count((True, False)), found.count((False, True))
    test: Any = binomtest(a_alone, a_alone + b_alone) if a_alone + b_alone else None
    return _Pair(
        a,
        b,
        a_alone=a_alone,
        b_alone=b_alone,
        both=found.count((True, True)),
        neither=found.count((False, False)),
        p=1.0 if test is None else float(test.pvalue),
    )
