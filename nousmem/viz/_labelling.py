"""A small table in a notebook for labelling a pool of candidates."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from nousmem.corpora.files import PathLike
from nousmem.corpora.tables import Row
from nousmem.errors import NousmemError
from nousmem.evaluation.judging.judgement_file import LEVELS
from nousmem.evaluation.judging.labelling import LabelCandidate, LabelSession
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer.announcing import Announcer
from nousmem.viz.explorer.ranking_html import shortened
from nousmem.viz.explorer.toolkit import displayed, page

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabellingTable"]

_BUTTONS: Final = (
    ("2", "Relevant (2)", "It answers the question"),
    ("1", "Partly (1)", "It helps, but does not answer alone"),
    ("0", "No (0)", "It does not help"),
    ("s", "Skip (s)", "Leave it unjudged; it comes up again next time"),
    ("u", "Undo (u)", "Take the last judgement or skip back"),
    ("k", "Previous (k)", "Look at the candidate before, judged or not"),
    ("j", "Next (j)", "Look at the next candidate, judged or not"),
)
_HELP: Final = (
    "Type 2 or r (relevant), 1 or p (partly), 0 or n (no), s (skip), u (undo), j (next), "
    "k (previous) and press Enter; 2001 judges four in a row. Each judgement is saved at once."
)


class LabellingTable:
    """The candidates of one query at a time, to be judged by buttons or by typing.

    Everything can be reached with Tab; the field at the top takes keys, one or several, and acts
    on Enter, or when it is left. A row's number is a button that goes to it. Each judgement is
    written to the file before the table moves on, and a new table on the same file goes on where
    this one ended. Ranks are not shown.

    Displaying the object in a notebook shows the table. Its parts are ordinary widgets, so that a
    script can work it: `table.keys.value = "2"`, `table.buttons["2"].click()`.

    Args:
        pool: As `propose_pool` returns it, or the path of a CSV file of it.
        path: The file of judgements; see `JudgementFile`.
        clock: Gives the instant that is noted with a judgement; None is the wall clock.

    Attributes:
        session: What has been judged, and the current candidate.
        widget: The whole table.
        keys: The field for keys.
        buttons: The buttons by key: 2, 1, 0, s, u, k, j.
        numbers: The buttons in front of the rows.
        query: The choice of the query.
        announcer: What a screen reader is told after a change.

    Raises:
        MissingDependency: ipywidgets is not installed.
        InvalidParameter: the pool lacks a column.
        CorpusError: the file exists and is not one of judgements.
    """

    def __init__(
        self,
        pool: pd.DataFrame | PathLike | Iterable[Row],
        path: PathLike,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        widgets = load_widgets("labelling in a notebook")
        self.session = LabelSession(pool, path, clock=clock)
        self._shown = next(iter(self.session.query_ids()), "")
        self._busy = False
        self._head = widgets.HTML()
        self._note = widgets.HTML()
        self.query = widgets.Dropdown(description="Query", layout={"width": "95%"})
        self.keys = widgets.Text(
            description="Keys",
            placeholder="2 1 0 s u j k, then Enter",
            # Each change is one line typed, not one letter.
            continuous_update=False,
        )
        self.buttons = {
            key: widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
            for key, label, tooltip in _BUTTONS
        }
        longest = max((one.of for one in self.session.candidates), default=0)
        self.numbers = [
            widgets.Button(description=str(number), layout={"width": "3.5em", "flex": "0 0 auto"})
            for number in range(1, longest + 1)
        ]
        self._texts = [widgets.HTML(layout={"flex": "1 1 auto"}) for _ in self.numbers]
        self._rows = [widgets.HBox(pair) for pair in zip(self.numbers, self._texts, strict=True)]
        self.announcer = Announcer()
        self.widget = page(
            self.query,
            self._head,
            self.keys,
            widgets.HBox(list(self.buttons.values()), layout={"flex_flow": "row wrap"}),
            self._note,
            widgets.VBox(self._rows),
            widgets.HTML(f"<div class='nmx'><small>{html.escape(_HELP)}</small></div>"),
            self.announcer.widget,
        )
        self._connect()
        self._show("")

    def _ipython_display_(self) -> None:
        displayed(self.widget)

    def _connect(self) -> None:
        self.keys.observe(self._typed, "value")
        self.query.observe(self._chosen, "value")
        for key, button in self.buttons.items():
            button.on_click(partial(self._clicked, key))
        for at, button in enumerate(self.numbers):
            button.on_click(partial(self._go_to_row, at))

    def _typed(self, change: Any) -> None:
        if not change["new"]:
            return
        keys = str(change["new"])
        self.keys.value = ""
        self._press(keys)

    def _chosen(self, change: Any) -> None:
        # The choices are also rewritten by the table itself, to show what is done.
        if self._busy or change["new"] is None:
            return
        self.session.go_to_query(change["new"])
        self._show("")
        self._announce("")

    def _clicked(self, key: str, _: Any) -> None:
        self._press(key)

    def _go_to_row(self, at: int, _: Any) -> None:
        self.session.go_to(self.session.of_query(self._shown)[at])
        self._show("")
        self._announce("")

    def _press(self, keys: str) -> None:
        try:
            self.session.press(keys)
        except NousmemError as error:  # a failing callback would only be logged
            self._show(str(error))
            self._announce(str(error))
        else:
            self._show("")
            self._announce("")

    def _announce(self, complaint: str) -> None:
        """Say what is to be judged next, and what has been."""
        current, progress = self.session.current, self.session.progress
        place = "Nothing is left to judge"
        if current is not None:
            place = f"Candidate {current.number} of {current.of}: {shortened(current.content, 160)}"
        done = f"{progress.judged} of {progress.candidates} judged"
        self.announcer.say(complaint or f"{place}; {done}")

    def _show(self, complaint: str) -> None:
        current, progress = self.session.current, self.session.progress
        if current is not None:
            self._shown = current.query_id
        own = self.session.of_query(self._shown)
        self._head.value = "" if not own else _heading(own[0])
        self._note.value = complaint and f"<b>{html.escape(complaint)}</b>"
        if not complaint:
            done = "" if current is not None else "<b>Nothing is left to judge.</b> "
            self._note.value = (
                f"{done}{progress.judged} of {progress.candidates} judged, {progress.relevant} of "
                f"these relevant; {progress.queries_done} of {progress.queries} queries done"
                + (f"; {progress.skipped} skipped" if progress.skipped else "")
                + f". Saved in {html.escape(str(self.session.path))}"
            )
        self._show_choices()
        for at, (row, number, text) in enumerate(
            zip(self._rows, self.numbers, self._texts, strict=True)
        ):
            row.layout.display = "flex" if at < len(own) else "none"
            if at < len(own):
                here = own[at] is current
                number.button_style = "primary" if here else ""
                number.tooltip = f"Go to candidate {at + 1}"
                text.value = _line(own[at], self.session, here=here)

    def _show_choices(self) -> None:
        self._busy = True
        try:
            self.query.options = [
                (self._choice(query_id), query_id) for query_id in self.session.query_ids()
            ]
            self.query.value = self._shown or None
        finally:
            self._busy = False

    def _choice(self, query_id: str) -> str:
        own = self.session.of_query(query_id)
        judged = sum(self.session.level(one) is not None for one in own)
        return f"{judged}/{len(own)}  {query_id}: {shortened(own[0].text, 160)}"


def _heading(one: LabelCandidate) -> str:
    asked = "" if one.as_of is None else f"<small>asked {one.as_of:%Y-%m-%d %H:%M} UTC</small>"
    return f"<div class='nmx'><h3>{html.escape(one.text)}</h3>{asked}</div>"


def _line(one: LabelCandidate, session: LabelSession, *, here: bool) -> str:
    level = session.level(one)
    said = "skipped" if session.skipped(one) else "" if level is None else LEVELS[level]
    marks = [f"<b>{said}</b>"] if said else []
    if one.created_at is not None:
        marks.append(f"{one.created_at:%Y-%m-%d %H:%M}")
    pointer = "▶ " if here else ""
    return (
        f"<div class='nmx'>{pointer}<bdi>{html.escape(one.content)}</bdi>"
        f"<br><small>{' · '.join(marks)}</small></div>"
    )
