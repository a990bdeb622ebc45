"""The ranking explorer: one question's ranking under settings that are moved by hand."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nousmem.corpora import Corpus
from nousmem.embeddings.base import Embedder
from nousmem.errors import NousmemError
from nousmem.evaluation.measures import Measure, parse_measures
from nousmem.evaluation.sweeps.candidate_arrays import StoreChoice
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.settings import Retrieval, Settings, chosen_settings
from nousmem.scoring import Scoring
from nousmem.stores import Store
from nousmem.viz._own_parts import in_force
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._asking import Question, hint, matching, query_choice, scope_choice
from nousmem.viz.explorer._controls import depth_control, scoring_controls, scoring_from
from nousmem.viz.explorer._explain_panel import ExplainPanel
from nousmem.viz.explorer._measures_panel import MeasuresPanel
from nousmem.viz.explorer._measuring import DEFAULT_MEASURES, Standing
from nousmem.viz.explorer._question_bar import QuestionBar
from nousmem.viz.explorer._rankings import Ranking, marks_of, rank_entries
from nousmem.viz.explorer._sources import Ask, open_sources
from nousmem.viz.explorer.announcing import RankingAnnouncer
from nousmem.viz.explorer.ranking_html import ranking_table, shortened
from nousmem.viz.explorer.toolkit import (
    code_boxes,
    control_widget,
    desk,
    displayed,
    fill_code,
    page,
    sliders,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RankingExplorer"]


class RankingExplorer:
    """One question's ranking, and the measures over all questions, as settings are moved.

    Displaying the object in a notebook shows it. A ranking is scored again from candidates that
    are kept, in about a millisecond; only another question, scope, instant or depth reads the
    store. The measures follow in a thread of their own, and settings that have been moved on
    from are never measured.

    Its parts are ordinary widgets, so that a script can work it:
    `explorer.controls["decay_lambda"].value = "off"`. Every one is reached with Tab and moved
    with the arrow keys.

    Args:
        corpus_or_store: A Corpus, the name of one, an open store, a store URL, or a mapping of
            names to any of these, to choose from. A store is listed once, for the scopes in use:
            a second or so for 25,000 entries.
        embedder: An embedder or its name; None reads the text leg alone. A corpus is embedded
            when it is first asked.
        settings: What to start from; None is the defaults. Legs and terms of one's own get a
            control of their weight, and functions of one's own are a choice beside the built-in.
        scoring: In place of the settings' scoring.
        retrieval: In place of the settings' retrieval.
        baseline: What rankings and measures are compared with: a Scoring, of the same candidates;
            or Settings, with their own. None is the default Scoring.
        measures: What is measured over a corpus's judged queries; Fresh is left out where no
            query is marked.
        limit: Hits shown at first.
        store: What a corpus is loaded into: a store URL; an open store, for an undivided corpus;
            or a function from a partition to an open and empty store, called once for the
            questions asked and again each time all queries are measured.
        now: The instant that ages are counted from for a store; None is the wall clock. A
            corpus's queries have their own.

    Attributes:
        widget: All of it.
        controls: The widgets of the settings, by parameter; and "depth".
        source, find, query, own, scope, as_of, limit: The widgets of the question: which corpus
            or store, words to narrow the list of queries by, that list, a question of one's own,
            whose memories, the instant (UTC), how many hits.
        explained: The choice of the entry that is taken apart: the rank of a hit, or the id of one
            that is none.
        more, reset, code: The buttons that show the other settings, that go back to the baseline,
            and that show the settings as code.
        announcer: What a screen reader is told after a change.

    Raises:
        MissingDependency: ipywidgets is not installed.
        InvalidParameter, UnknownName: an argument is not valid.
    """

    def __init__(
        self,
        corpus_or_store: Corpus | Store | str | Mapping[str, Corpus | Store | str],
        *,
        embedder: str | Embedder | None = None,
        settings: Settings | None = None,
        scoring: Scoring | None = None,
        retrieval: Retrieval | None = None,
        baseline: Scoring | Settings | None = None,
        measures: Sequence[str | Measure] = DEFAULT_MEASURES,
        limit: int = 10,
        store: StoreChoice = "sqlite",
        now: datetime | None = None,
    ) -> None:
        load_widgets("exploring in a notebook")
        self._start = chosen_settings(settings, scoring, retrieval)
        self._baseline = Scoring() if baseline is None else baseline
        self._sources = open_sources(corpus_or_store, embedder=embedder, store=store)
        self.announcer = RankingAnnouncer()
        self._panel = MeasuresPanel(
            parse_measures(measures), baseline=self._baseline, measured=self.announcer.measured
        )
        self._explain = ExplainPanel(self._explained_outsider)
        self._now = now
        self._described = scoring_controls(self._start, also=[_scoring_of(self._baseline)])
        self._depths = depth_control(self._start.retrieval)
        self._question = Question.first(self._sources[0], now=now)
        self._found: Candidates | None = None
        self._found_before: Candidates | None = None
        self._hits: Hits | None = None
        self._ranking: Ranking | None = None
        self._busy = False
        self._make_widgets(limit)
        self._connect()
        self._show_queries()
        self._show_question()
        self._retrieve_and_show()

    @property
    def settings(self) -> Settings:
        """The settings shown, ready for `Search` and `Memory`.

        The least score that an agent is shown is in proportion to the weights, as in a sweep.

        Raises:
            InvalidParameter: they do not go together, such as two legs that weigh 0.
        """
        return self._start.scaled_to(self._moved_scoring(), self.retrieval)

    @property
    def scoring(self) -> Scoring:
        """The scoring of `settings`."""
        return self.settings.scoring

    @property
    def retrieval(self) -> Retrieval:
        """The retrieval of `settings`."""
        step: int = self.controls["depth"].index
        return self._start.retrieval.replace(depth=self._depths.value_at(step))

    @property
    def depth(self) -> int:
        """Entries read from each leg; where nothing is set, as many as hits are shown at least."""
        return self.retrieval.depth_for(self.limit.value)

    @property
    def hits(self) -> Hits | None:
        """The ranking shown, as `Search` would return it; None while nothing is asked."""
        return self._hits

    @property
    def ranking(self) -> Ranking | None:
        """The ranking shown, taken apart and compared with the baseline's."""
        return self._ranking

    @property
    def standing(self) -> Standing | None:
        """The measures shown; None while nothing is measured. See `wait`."""
        return self._panel.standing

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the measures have caught up; return whether they did in `timeout` seconds."""
        return self._panel.wait(timeout)

    def _ipython_display_(self) -> None:
        displayed(self.widget)

    # The widgets -------------------------------------------------------------------------------

    def _make_widgets(self, limit: int) -> None:
        widgets = load_widgets("exploring in a notebook")
        bar = self._bar = QuestionBar.of(self._sources, limit=limit)
        self.source, self.find, self.query = bar.source, bar.find, bar.query
        self.own, self.scope, self.as_of, self.limit = bar.own, bar.scope, bar.as_of, bar.limit
        self.controls = {one.name: control_widget(one) for one in self._described}
        self.controls["depth"] = control_widget(self._depths)
        self.more = widgets.ToggleButton(
            description="More settings",
            tooltip="Show curve, clock, floor, fusion, the built-in legs' weights and updates",
            layout={"width": "auto"},
        )
        self.reset = widgets.Button(
            description="Back to baseline",
            tooltip="Set every slider to the baseline's value",
            layout={"width": "auto"},
        )
        self.code, self._code, self._python, self._toml = code_boxes()
        self.explained = self._explain.choice
        self._shown = widgets.HTML()
        self._note = widgets.HTML()
        self.widget = self._arranged(widgets)

    def _arranged(self, widgets: Any) -> Any:
        main = [self.controls[one.name] for one in self._described if one.main]
        rest = [self.controls[one.name] for one in self._described if not one.main]
        self._rest = widgets.VBox([sliders(*rest)], layout={"display": "none"})
        buttons = widgets.HBox([self.more, self.reset, self.code], layout={"flex_flow": "row wrap"})
        return page(
            *self._bar.rows,
            self._note,
            desk(
                controls=widgets.VBox(
                    [sliders(*main, self.controls["depth"]), buttons, self._code, self._rest]
                ),
                measures=self._panel.widget,
                shown=self._shown,
                more=self._explain.widget,
            ),
            self.announcer.widget,
        )

    def _connect(self) -> None:
        self.source.observe(self._source_chosen, "value")
        self.find.observe(self._find_typed, "value")
        self.query.observe(self._query_chosen, "value")
        self.own.observe(self._own_typed, "value")
        self.scope.observe(self._scope_chosen, "value")
        self.as_of.observe(self._as_of_chosen, "value")
        self.limit.observe(self._depth_moved, "value")
        for name, widget in self.controls.items():
            widget.observe(self._depth_moved if name == "depth" else self._settings_moved, "index")
        self.more.observe(self._more_toggled, "value")
        self.code.observe(self._code_toggled, "value")
        self.reset.on_click(self._reset_clicked)

    # What the user does ------------------------------------------------------------------------

    def _source_chosen(self, change: Any) -> None:
        if self._busy:
            return
        self._question = Question.first(self._sources[int(change["new"])], now=self._now)
        self.announcer.another_source(self._question.source.name)
        self.find.value = ""
        self._show_queries()
        self._show_question()
        self._retrieve_and_show()

    def _find_typed(self, _: Any) -> None:
        if not self._busy:
            self._show_queries()

    def _query_chosen(self, change: Any) -> None:
        if self._busy or change["new"] is None:
            return
        source = self._question.source
        query = next(one for one in source.queries if one.query_id == change["new"])
        self._question = Question.of(source, query)
        self.announcer.moved = f"query {shortened(query.text, 80)}"
        self._show_question()
        self._retrieve_and_show()

    def _own_typed(self, change: Any) -> None:
        if self._busy or not change["new"].strip():
            return
        self._question = self._question.typed(change["new"])
        self.announcer.moved = f"query {shortened(change['new'], 80)}"
        self._show_queries()
        self._retrieve_and_show()

    def _scope_chosen(self, change: Any) -> None:
        if not self._busy and change["new"] is not None:
            self._question = self._question.within(change["new"])
            self.announcer.moved = f"scope {scope_choice(change['new'])}"
            self._retrieve_and_show()

    def _as_of_chosen(self, change: Any) -> None:
        if self._busy:
            return
        moment = change["new"]
        self._question = self._question.seen_at(moment and moment.replace(tzinfo=UTC))
        self.announcer.moved = f"as of {moment:%Y-%m-%d %H:%M}" if moment else "as of any time"
        self._retrieve_and_show()

    def _settings_moved(self, change: Any) -> None:
        if not self._busy:
            self.announcer.moved = f"{change['owner'].description} {change['owner'].label}"
            self._score_and_show()

    def _depth_moved(self, change: Any) -> None:
        if not self._busy:
            self.announcer.moved = f"{change['owner'].description} {change['owner'].label}"
            self._retrieve_and_show()

    def _more_toggled(self, change: Any) -> None:
        self._rest.layout.display = None if change["new"] else "none"
        self.more.description = "Fewer settings" if change["new"] else "More settings"

    def _code_toggled(self, _: Any) -> None:
        self._show_code()

    def _reset_clicked(self, _: Any) -> None:
        baseline, depth = self._baseline_settings(), self.depth
        self._busy = True
        try:
            for one in (*self._described, self._depths):
                self.controls[one.name].index = one.step_of(in_force(baseline, one.name))
        finally:
            self._busy = False
        self.announcer.moved = "back to the baseline"
        if self.depth == depth:
            self._score_and_show()
        else:
            self._retrieve_and_show()

    # What is shown -----------------------------------------------------------------------------

    def _show_queries(self) -> None:
        """List the queries that match; the one that is asked stays in the list."""
        asked = self._question.query
        found = matching(self._question.source.queries, self.find.value)
        self._show_matches(len(found))
        if asked is not None and asked not in found:
            found.insert(0, asked)
        options: list[tuple[str, str | None]] = [
            (query_choice(query), query.query_id) for query in found
        ]
        if asked is None:
            options.insert(0, (f"choose one of {len(found)}", None))
        self._busy = True
        try:
            self.query.options = options
            ids = [query_id for _, query_id in options]
            # By its place: told None, the list would show no line at all.
            self.query.index = ids.index(None if asked is None else asked.query_id)
            for widget in (self.find, self.query):
                widget.layout.display = None if self._question.source.queries else "none"
        finally:
            self._busy = False

    def _show_matches(self, found: int) -> None:
        """Say how many queries were found, where some were looked for."""
        total, wanted = len(self._question.source.queries), self.find.value.strip()
        self._bar.matches.value = (
            f"<div class='nmx'><p class='dim'>{found:,} of {total:,} queries match "
            f"“{html.escape(shortened(wanted, 60))}”.</p></div>"
            if wanted and total
            else ""
        )
        self._bar.matches.layout.display = None if self._bar.matches.value else "none"

    def _show_question(self) -> None:
        question = self._question
        scopes = dict.fromkeys([*question.source.scopes, question.scope])
        self._busy = True
        try:
            self.own.value = "" if question.query is not None else question.text
            self.scope.options = [(scope_choice(scope), scope) for scope in scopes]
            self.scope.value = question.scope
            moment = question.as_of
            # Fractions of a second would fill the field; the question keeps them.
            self.as_of.value = moment and moment.replace(tzinfo=None, microsecond=0)
        finally:
            self._busy = False

    def _retrieve_and_show(self) -> None:
        self._found = self._found_before = None
        if self._question.text.strip():
            source, against = self._question.source, self._baseline
            try:
                self._found = self._found_before = source.find(self._asked(self.retrieval))
                if isinstance(against, Settings) and against.retrieval != self.retrieval:
                    self._found_before = source.find(self._asked(against.retrieval))
            except NousmemError as error:  # a failing callback would only be logged
                self._show_nothing(f"⚠ {error}")
                return
        self._score_and_show()

    def _score_and_show(self) -> None:
        """Rank the kept candidates under the settings as they stand."""
        try:
            settings = self.settings
            if self._found is not None and self._found_before is not None:
                self._show_ranking(self._found, self._found_before, settings)
        except NousmemError as error:  # of the settings, or of a part of one's own
            self._complain(error)
            self.announcer.failed(str(error))
            return
        if self._found is None:
            self._note.value = ""
            if not self._question.text.strip():
                self._show_nothing("Ask a question to see its ranking.")
        self._show_code()
        self.announcer.ranked(self._ranking)
        self._panel.show(self._question.source, settings)

    def _show_ranking(self, found: Candidates, before: Candidates, settings: Settings) -> None:
        query = self._question.query
        self._hits = self._ranked(found, settings)
        self._ranking = rank_entries(
            self._hits,
            self._ranked(before, self._baseline_settings()),
            grades=self._question.grades,
            marks=None if query is None else marks_of(query.metadata),
        )
        why = "" if self._ranking.rows else hint(self._question)
        self._note.value = ""
        self._shown.value = ranking_table(self._ranking, caption=self._question.text, hint=why)
        self._explain.show(self._ranking, self._hits)
        if found.degraded:
            self._complain(f"text leg only: {found.degraded}")
        elif _is_of_another_embedder(settings, found):
            self._complain(
                f"the settings were measured with the embedder {settings.embedder!r}, and run with "
                f"{found.embedder or 'none'!r}"
            )

    def _show_nothing(self, why: str) -> None:
        self._hits = self._ranking = None
        self.announcer.failed(why)
        self._shown.value = f"<div class='nmx'><p>{html.escape(why)}</p></div>"
        self._explain.show(None)

    def _ranked(self, found: Candidates, settings: Settings) -> Hits:
        return Hits(found, settings, now=self._question.now, limit=self.limit.value)

    def _moved_scoring(self) -> Scoring:
        chosen = {name: widget.index for name, widget in self.controls.items()}
        return scoring_from(self._described, chosen)

    def _baseline_settings(self) -> Settings:
        against = self._baseline
        if isinstance(against, Settings):
            return against
        return Settings(retrieval=self.retrieval, scoring=against)

    def _explained_outsider(self, entry_id: str) -> pd.DataFrame:
        ask, source = self._asked(self.retrieval), self._question.source
        return source.explain(ask, self.settings, entry_id, limit=self.limit.value)

    def _asked(self, retrieval: Retrieval) -> Ask:
        return self._question.ask(retrieval, limit=self.limit.value)

    def _show_code(self) -> None:
        fill_code(self.code, self._code, self._python, self._toml, self.settings)

    def _complain(self, complaint: object) -> None:
        self._note.value = f"<div class='nmx'><b>⚠ {html.escape(str(complaint))}</b></div>"


def _is_of_another_embedder(settings: Settings, found: Candidates) -> bool:
    weighs = "vector" in found.legs and settings.scoring.leg_weight("vector") > 0
    return bool(settings.embedder and weighs and len(found)) and found.embedder != settings.embedder


def _scoring_of(given: Scoring | Settings) -> Scoring:
    return given.scoring if isinstance(given, Settings) else given
