"""Reviewing a session in a notebook: two settings side by side, without saying which is which."""

from __future__ import annotations

import html
import importlib
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nousmem.agent.sessions.ratings import SAME, Rating, RatingFile, summarise_ratings
from nousmem.agent.sessions.transcript import Transcript
from nousmem.errors import InvalidParameter, SessionError
from nousmem.viz._pages import visible
from nousmem.viz._session_view import SessionView, TurnCell, TurnView, session_view
from nousmem.viz._widgets import load_widgets

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SessionReview"]

_VERDICTS: Final = (("A is better", "a"), ("Same", SAME), ("B is better", "b"))


class SessionReview:
    """The turns of a session under two settings, to be rated one by one.

    Which setting is A changes from turn to turn, by the seed, and names and scores are left out,
    so that a rating says what was seen and not what was hoped for. Each rating is written to the
    file at once; a new review on the same file goes on where this one ended.

    Displaying the object in a notebook shows it. Its parts are ordinary widgets, so that a script
    can work it: `review.comment.value = "…"`, `review.buttons["a"].click()`.

    Args:
        transcripts: Of one session, under two settings; of more, name two.
        path: The file of ratings; see `RatingFile`.
        settings: The two to compare; None where there are two.
        seed: Chooses which is A in each turn.
        blind: Leave out the names of the settings.
        only_differing: Leave out turns that are the same under both.
        rater: Who rates.
        clock: Gives the instant noted with a rating; None is the wall clock.

    Attributes:
        view: The transcripts side by side.
        file: The ratings.
        widget: The whole review.
        buttons: By verdict: a, same, b; and by way: previous, next.
        comment: The field for a comment, kept with the verdict.

    Raises:
        MissingDependency: ipywidgets is not installed.
        InvalidParameter: there are not two settings to compare.
        SessionError: the transcripts are not of one session; the file is not one of ratings.
    """

    def __init__(
        self,
        transcripts: Mapping[str, Transcript],
        path: str | Path,
        *,
        settings: tuple[str, str] | None = None,
        seed: int = 0,
        blind: bool = True,
        only_differing: bool = True,
        rater: str = "",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        pair = tuple(transcripts) if settings is None else settings
        if len(pair) != 2 or not set(pair) <= set(transcripts):
            raise InvalidParameter(
                f"two settings are compared, got {', '.join(map(repr, pair))}; "
                f"name two of {', '.join(transcripts)}"
            )
        widgets = load_widgets("a review in a notebook")
        self.view: SessionView = session_view([transcripts[name] for name in pair])
        self.file = RatingFile(path)
        self._blind, self._rater = blind, rater
        self._clock = clock or (lambda: datetime.now(UTC))
        self._turns = [turn for turn in self.view.turns if turn.differences or not only_differing]
        order = random.Random(seed)  # noqa: S311  # no secret
        self._swapped = [order.random() < 0.5 for _ in self._turns]
        self._at = next((at for at in range(len(self._turns)) if self._rating(at) is None), 0)
        self._head, self._note = widgets.HTML(), widgets.HTML()
        self._columns = [widgets.HTML(layout={"flex": "1 1 20em"}) for _ in range(2)]
        self.comment = widgets.Textarea(
            placeholder="Why? Kept with the verdict.", layout={"width": "95%"}
        )
        self.buttons = {verdict: widgets.Button(description=label) for label, verdict in _VERDICTS}
        self.buttons |= {
            "previous": widgets.Button(description="Previous turn"),
            "next": widgets.Button(description="Next turn"),
        }
        for name, button in self.buttons.items():
            button.on_click(partial(self._clicked, name))
        row = {"flex_flow": "row wrap"}
        self.widget = widgets.VBox(
            [
                self._head,
                widgets.HBox(self._columns, layout=row),
                self.comment,
                widgets.HBox(list(self.buttons.values()), layout=row),
                self._note,
            ]
        )
        self._show("")

    @property
    def current(self) -> TurnView | None:
        """The turn that is shown; None when there is nothing to rate."""
        return self._turns[self._at] if self._turns else None

    def rate(self, verdict: str, comment: str = "") -> Rating:
        """Rate the turn that is shown, and go to the next one that is not rated.

        Args:
            verdict: "a", "b" or "same".
            comment: Kept with it.

        Raises:
            InvalidParameter: the verdict is none of these.
            SessionError: there is nothing to rate, or the file cannot be written.
        """
        if self.current is None:
            raise SessionError("there is no turn to rate: the settings do not differ in any")
        better = self.verdict_of(verdict)
        first, second = self.view.settings
        rating = Rating(
            session=self.view.name,
            turn=self.current.record.turn,
            settings=(first, second),
            better=better,
            comment=comment,
            rated_at=self._clock(),
            rater=self._rater,
        )
        self.file.put(rating)
        later = [*range(self._at + 1, len(self._turns)), *range(self._at)]
        self._at = next((at for at in later if self._rating(at) is None), self._at)
        return rating

    def verdict_of(self, verdict: str) -> str:
        """Return the setting that a verdict on the turn shown is for; "same" for "same".

        Raises:
            InvalidParameter: the verdict is not "a", "b" or "same".
        """
        sides = self._sides(self._at)
        named = {"a": sides[0].setting, "b": sides[1].setting, SAME: SAME}
        if verdict not in named:
            raise InvalidParameter(f"verdict must be one of {', '.join(named)}, got {verdict!r}")
        return named[verdict]

    def summary(self) -> pd.DataFrame:
        """Return what `summarise_ratings` makes of the whole file, other sessions included."""
        return summarise_ratings(self.file.read())

    def _ipython_display_(self) -> None:
        importlib.import_module("IPython.display").display(self.widget)

    def _clicked(self, name: str, _: Any) -> None:
        problem = ""
        if name in ("previous", "next"):
            step = 1 if name == "next" else -1
            self._at = max(0, min(len(self._turns) - 1, self._at + step))
        else:
            try:
                self.rate(name, self.comment.value.strip())
            except SessionError as error:  # a failing callback would only be logged
                problem = str(error)
        self._show(problem)

    def _sides(self, at: int) -> tuple[TurnCell, TurnCell]:
        first, second = self._turns[at].cells
        return (second, first) if self._swapped[at] else (first, second)

    def _rating(self, at: int) -> Rating | None:
        turn = self._turns[at].record.turn
        return next(
            (
                one
                for one in self.file.read()
                if (one.session, one.turn, one.rater) == (self.view.name, turn, self._rater)
                and set(one.settings) == set(self.view.settings)
            ),
            None,
        )

    def _show(self, problem: str) -> None:
        turn = self.current
        for verdict in ("a", SAME, "b"):
            self.buttons[verdict].disabled = turn is None
        if turn is None:
            self._head.value = "<p>The settings do not differ in any turn of this session.</p>"
            return
        rated = [self._rating(at) for at in range(len(self._turns))]
        self._head.value = _heading(turn, self._at + 1, len(self._turns), self.view)
        for letter, cell, column in zip("AB", self._sides(self._at), self._columns, strict=True):
            name = letter if self._blind else f"{letter} ({cell.setting})"
            column.value = _side(name, cell)
        own = rated[self._at]
        self.comment.value = "" if own is None else own.comment
        done = sum(one is not None for one in rated)
        said = "" if own is None else f" This turn: {self._said(own)}."
        self._note.value = html.escape(
            problem or f"{done} of {len(rated)} turns rated.{said} Saved in {self.file.path}"
        )

    def _said(self, rating: Rating) -> str:
        if rating.better == SAME:
            return SAME
        sides = self._sides(self._at)
        return f"{'A' if rating.better == sides[0].setting else 'B'} is better"


def _heading(turn: TurnView, number: int, of: int, view: SessionView) -> str:
    record = turn.record
    stand_in = " (a stand-in, no language model)" if view.transcripts[0].header.stand_in else ""
    model = f"{view.transcripts[0].header.model}{stand_in}"
    answer = f"<p><small>A good answer: {_escaped(record.answer)}</small></p>"
    return (
        f"<p><small>{_escaped(view.name)}, turn {number} of {of}, {record.at:%Y-%m-%d}, "
        f"{_escaped(record.user)} to {_escaped(record.agent)}, model {_escaped(model)}</small></p>"
        f"<h3 style='margin:0'>{_escaped(record.text)}</h3>{answer if record.answer else ''}"
    )


def _side(name: str, cell: TurnCell) -> str:
    memories = "".join(
        f"<li>{_escaped(one.content)} <small>{one.created_at:%Y-%m-%d}"
        f"{' ◆ only here' if one.content in cell.only_here else ''}</small></li>"
        for one in cell.shown
    )
    changes = "".join(f"<li>{one.change}: {_escaped(one.content)}</li>" for one in cell.changes)
    calls = "".join(f"<li>{_escaped(tool)} {_escaped(args)}</li>" for tool, args, _ in cell.calls)
    record = cell.record
    reply = record.reply if record.error is None else f"none: {record.error}"
    parts = [
        f"<h4>{_escaped(name)}</h4><p>Reply<br><b>{_escaped(reply)}</b></p>",
        f"<p>Memories in the prompt</p><ul>{memories or '<li>none</li>'}</ul>",
        f"<p>Tool calls</p><ul>{calls}</ul>" if calls else "",
        f"<p>Changes to memory</p><ul>{changes}</ul>" if changes else "",
    ]
    return "".join(parts)


def _escaped(text: str) -> str:
    return html.escape(visible(text))
