"""The measures over all queries of a corpus, kept up with settings that are being moved."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Final

from nousmem.evaluation.measures import Measure
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scoring import Scoring
from nousmem.viz._widgets import load_widgets, send_again
from nousmem.viz.explorer._latest import LatestOnly
from nousmem.viz.explorer._measures_html import standing_table
from nousmem.viz.explorer._measuring import LiveMeasures, Standing
from nousmem.viz.explorer._sources import Source

__all__ = ["MeasuresPanel"]

_PAUSE: Final = 0.08
"""Seconds: the ranking is drawn first, and a slider that is being dragged is let go by."""

_Job = tuple[Source, Settings]


class MeasuresPanel:
    """A table of measures that follows the settings in a thread of its own.

    Settings that have been moved on from before their turn came are never measured. What is found
    in a way that is new is found for every query, which takes a second or more.

    Args:
        measures: What is measured.
        baseline: What it is compared with: a Scoring, of whatever is found; or Settings.
        measured: Is told, in that thread, what is shown now.

    Attributes:
        widget: The table.
        standing: The measures shown; None while nothing is measured.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        *,
        baseline: Scoring | Settings,
        measured: Callable[[Standing], None],
    ) -> None:
        self.widget = load_widgets("exploring in a notebook").HTML()
        self.standing: Standing | None = None
        self._measures = measures
        self._baseline = baseline
        self._told = measured
        self._current: _Job | None = None
        self._live: dict[tuple[Source, Retrieval], LiveMeasures | None] = {}
        self._answered = False
        self._worker = LatestOnly(
            self._measure, done=self._measured, failed=self._not_measured, pause=_PAUSE
        )

    def show(self, source: Source, settings: Settings) -> None:
        """Measure these settings soon."""
        self._current = (source, settings)
        if not source.judged:
            self._say("Nothing is judged here, so nothing is measured.")
            return
        if (source, settings.retrieval) not in self._live:
            self._say(
                f"Reading the candidates of all {len(source.queries)} queries, "
                f"{settings.retrieval.depth_for(None)} from each leg …"
            )
        self._worker.submit(self._current)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the table has caught up; return whether it did in `timeout` seconds."""
        return self._worker.wait(timeout)

    def _measure(self, job: _Job) -> Standing | None:
        source, settings = job
        key = source, settings.retrieval
        if key not in self._live:
            self._live[key] = self._measuring(source, settings.retrieval)
        live = self._live[key]
        return None if live is None else live.standing(settings.scoring)

    def _measuring(self, source: Source, retrieval: Retrieval) -> LiveMeasures | None:
        arrays = source.candidates_of(retrieval)
        if arrays is None or source.corpus is None:
            return None
        against = self._baseline
        of_baseline = arrays
        if isinstance(against, Settings):
            if against.retrieval != retrieval:
                of_baseline = source.candidates_of(against.retrieval)
            against = against.scoring
        return LiveMeasures(
            arrays,
            source.corpus,
            measures=self._measures,
            baseline=against,
            of_baseline=of_baseline,
        )

    def _measured(self, job: _Job, standing: Standing | None) -> None:
        if job != self._current:  # another source has been chosen, with nothing to measure
            return
        live = self._live[job[0], job[1].retrieval]
        if standing is None or live is None:
            self._say("No query has a relevant entry, so nothing is measured.")
        else:
            self.standing = standing
            self.widget.value = standing_table(
                standing,
                first=str(live.measures[0]),
                n_queries=len(live.arrays),
                drawn=live.pairing.in_words,
            )
            self._told(standing)
        self._make_sure()

    def _not_measured(self, job: _Job, error: Exception) -> None:
        if job == self._current:
            self._say(f"⚠ Not measured: {error}")
            self._make_sure()

    def _make_sure(self) -> None:
        """See to it that the first answer arrives: only then may a page be still connecting."""
        if not self._answered:
            self._answered = True
            send_again(self.widget, "value")

    def _say(self, text: str) -> None:
        self.standing = None
        self.widget.value = f"<div class='nmx'><p class='dim'>{html.escape(text)}</p></div>"
