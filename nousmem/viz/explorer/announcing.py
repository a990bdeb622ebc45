"""What changed, in one sentence, for those who do not see it move."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any, Final

from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._latest import LatestOnly
from nousmem.viz.explorer._measuring import Standing
from nousmem.viz.explorer._rankings import Ranking, Row
from nousmem.viz.plots.labels import share

__all__ = [
    "LIVE_REGION",
    "Announcer",
    "RankingAnnouncer",
    "gains_in_words",
    "measure_in_words",
    "ranking_in_words",
]

LIVE_REGION: Final = "nmx-said"
"""Class of the widget whose content is a live region: see `displayed`."""

_PAUSE: Final = 0.6
"""Seconds: of a slider that is held down, only where it stands from time to time is said."""


class Announcer:
    """A line that is read out by a screen reader when it changes, and seen by nobody else.

    Attributes:
        widget: The line.
    """

    def __init__(self) -> None:
        # A page keeps the element around the value, which a live region has to be.
        self.widget = load_widgets("exploring in a notebook").HTML()
        self.widget.add_class(LIVE_REGION)
        self._worker = LatestOnly(_text_of, done=self._said, failed=_ignored, pause=_PAUSE)

    @property
    def text(self) -> str:
        """What was said last; empty before anything has changed."""
        return html.unescape(str(self.widget.value))

    def say(self, text: str | Callable[[], str]) -> None:
        """Say this soon, unless something newer is to be said by then.

        Args:
            text: The sentence, or what makes it when its time has come; nothing is said of "".
        """
        self._worker.submit(text)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to say; return whether it came in `timeout` seconds."""
        return self._worker.wait(timeout)

    def _said(self, _: Any, text: str) -> None:
        if text:
            self.widget.value = html.escape(text)


class RankingAnnouncer(Announcer):
    """What a change did to a ranking, and to the first measure once that is known.

    Attributes:
        moved: What was changed; empty before anything was, and nothing is said until then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moved = ""
        self._ranking: Ranking | None = None
        self._standing: Standing | None = None
        self._told: Standing | None = None
        """The measures when they were last spoken of."""

    def another_source(self, name: str) -> None:
        """Take it that other memories were chosen: their measures are not compared with these."""
        self.moved = f"memories {name}"
        self._standing = self._told = None

    def failed(self, why: str) -> None:
        """Say that there is no ranking, and why."""
        self._ranking = None
        if self.moved:
            self.say(why)
        self.moved = ""

    def ranked(self, ranking: Ranking | None) -> None:
        """Say where the entry of interest stands now; None: there is no ranking."""
        self._ranking = ranking
        self._tell()

    def measured(self, standing: Standing) -> None:
        """Say how the first measure went."""
        self._standing = standing
        self._tell()

    def _tell(self) -> None:
        if self.moved:
            self.say(self._sentence)
        else:
            self._told = self._standing

    def _sentence(self) -> str:
        before, here = self._told, self._standing
        self._told = here
        said: list[str] = []
        if before is not None and here is not None and before != here:
            first, was = here.measures[0], before.measures[0]
            change = first.here - was.here if first.name == was.name else 0.0
            said.append(measure_in_words(first.name, first.here, change))
        if self._ranking is not None:
            said.append(ranking_in_words(self._ranking))
        return f"{self.moved}: {'; '.join(said)}" if said else ""


def measure_in_words(name: str, here: float, change: float, *, against: str = "") -> str:
    """Return a measure and how it moved: "nDCG@10 .512, up .031"."""
    amount = share(abs(change))
    if amount == ".000":
        moved = "unchanged" if not against else "the same as"
    else:
        moved = f"{'up' if change > 0 else 'down'} {amount}" + (" on" if against else "")
    return f"{name} {share(here)}, {moved} {against}".rstrip()


def ranking_in_words(ranking: Ranking) -> str:
    """Return where the entry that matters stands: the newest, the first relevant, the first."""
    rows = ranking.rows
    if not rows:
        return "nothing is found"
    if any(one.mark == "newest" for one in (*rows, *ranking.missing)):
        return _place("newest entry", [row for row in rows if row.mark == "newest"])
    if ranking.n_relevant:
        return _place("first relevant entry", [row for row in rows if row.relevant])
    moved = sum(row.rank != row.before for row in rows)
    return f"{_count(len(rows), 'hit')}, {moved} not where the baseline has them"


def gains_in_words(changes: Sequence[float]) -> str:
    """Return how many queries gain and lose: "40 queries gain, 7 lose"."""
    wins = sum(change > 0 for change in changes)
    losses = len(changes) - wins
    gain, lose = ("gains" if wins == 1 else "gain"), ("loses" if losses == 1 else "lose")
    return f"{_count(wins, 'query', 'queries')} {gain}, {losses:,} {lose}"


def _place(what: str, rows: Sequence[Row]) -> str:
    return f"{what} at rank {rows[0].rank}" if rows else f"{what} not among the hits"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _text_of(text: str | Callable[[], str]) -> str:
    return text if isinstance(text, str) else text()


def _ignored(_: Any, error: Exception) -> None:
    """A sentence that cannot be said is no reason to stop."""
