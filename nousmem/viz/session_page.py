"""One session as a page of HTML: no script, no network, readable on paper and in the dark."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nousmem.agent.sessions.transcript import CandidateRecord, Transcript
from nousmem.errors import InvalidParameter, SessionError, UnknownName
from nousmem.viz._pages import page_template
from nousmem.viz._session_view import SessionView, session_view

__all__ = ["SessionFrame", "session_page", "write_session_page"]

_TEMPLATE: Final = "session.html.j2"


def session_page(
    transcripts: Mapping[str, Transcript] | Sequence[Transcript], *, index: str | None = None
) -> str:
    """Return a session under several settings, side by side, as one HTML document.

    Whatever memories, people and models say is escaped, and characters that do not show are
    spelled out; the document forbids itself scripts and the network.

    Args:
        transcripts: As `session_view` takes them.
        index: Name of a page of all sessions beside it, to link to.

    Raises:
        SessionError: they are not of one session.
    """
    return page_template(_TEMPLATE).render(
        view=session_view(transcripts),
        index=index,
        parts=_parts,
        scorings=_scorings,
        as_json=_as_json,
    )


def write_session_page(
    transcripts: Mapping[str, Transcript] | Sequence[Transcript],
    path: str | Path,
    *,
    index: str | None = None,
) -> None:
    """Write what `session_page` returns.

    Raises:
        SessionError: the file cannot be written, or as for `session_page`.
    """
    file = Path(path)
    page = session_page(transcripts, index=index)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SessionError(f"cannot write {file}: {error.strerror or error}") from error


class SessionFrame:
    """A page in a notebook, in a frame of its own, so that the two leave each other alone.

    Displaying the object shows it.

    Args:
        transcripts: As `session_page` takes them.
        height: Of the frame, pixels.
    """

    def __init__(
        self, transcripts: Mapping[str, Transcript] | Sequence[Transcript], *, height: int = 600
    ) -> None:
        self._page = session_page(transcripts)
        self._height = height

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox srcdoc="{html.escape(self._page)}" width="100%" '
            f'height="{self._height}" style="border: 1px solid #888"></iframe>'
        )


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parts(one: CandidateRecord) -> list[tuple[str, str]]:
    """Return the names and values of what makes up a score."""
    legs: dict[str, tuple[float | None, float | None]] = {
        "text": (one.text_rank, one.text_score),
        "vector": (one.vector_rank, one.vector_score),
    }
    own = dict(one.own)
    for name in [name.removesuffix("_rank") for name in own if name.endswith("_rank")]:
        legs[name] = own.pop(f"{name}_rank"), own.pop(f"{name}_score", None)
    return [
        *((f"{name} rank (score)", _found(rank, score)) for name, (rank, score) in legs.items()),
        ("relevance", f"{one.relevance:.3f}"),
        ("age", f"{one.age_hours / 24:.1f} d"),
        ("decay", f"{one.decay:.3f}"),
        ("importance", f"{one.importance:.2f}"),
        ("recency", f"{one.recency:.3f}"),
        *((name, "" if value is None else f"{value:.3f}") for name, value in own.items()),
    ]


def _found(rank: float | None, score: float | None) -> str:
    if rank is None:
        return "not found"
    return f"{rank:.0f}" + ("" if score is None else f" ({score:.3f})")


def _scorings(view: SessionView) -> list[tuple[str, str, Transcript]]:
    return [(one.header.setting, _settings(one), one) for one in view.transcripts]


def _settings(one: Transcript) -> str:
    """Return what a session ran with, also where somebody's own parts are not at hand."""
    try:
        return repr(one.settings)
    except (InvalidParameter, UnknownName):
        return f"{_as_json(one.header.settings)} (parts of it cannot be loaded here)"
