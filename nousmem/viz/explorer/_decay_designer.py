"""The decay designer: what a half-life, a curve and a floor leave of a year of memories."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from numpy.typing import ArrayLike

from nousmem.corpora import Corpus
from nousmem.entry import Entry
from nousmem.retrieval.settings import Settings, chosen_settings
from nousmem.scoring import DECAY_PARAMETERS, Floats, Scoring
from nousmem.stores import Store
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._controls import scoring_controls
from nousmem.viz.explorer._decay_html import (
    bands_table,
    kept_in_words,
    left_in_words,
    share_bars,
    year_chart,
)
from nousmem.viz.explorer._decay_year import (
    ACCESSES,
    Memories,
    bands_of,
    shares_of,
    shares_over_a_year,
    tenths,
)
from nousmem.viz.explorer.announcing import Announcer
from nousmem.viz.explorer.toolkit import (
    code_boxes,
    control_widget,
    desk,
    displayed,
    fill_code,
    page,
    sliders,
)

__all__ = ["DecayDesigner"]


class DecayDesigner:
    """A decay to be designed by hand, over one memory's year and over many memories.

    Displaying the object in a notebook shows it. Its parts are ordinary widgets, so that a script
    can work it: `designer.controls["decay_lambda"].value = "90 d"`.

    Args:
        memories: A Corpus or the name of one, an open store, entries, ages in hours since last
            access, or None for a year with one memory a day.
        settings: What to start from; None is the defaults. What is not decay is kept.
        scoring: In place of the settings' scoring.
        baseline: What is drawn for comparison, a Scoring or Settings; None is the default Scoring.
        now: The instant ages are counted from; None is the corpus's own `now`, or the last access
            of the entries.

    Attributes:
        widget: All of it.
        controls: The widgets of the decay's parameters, by name.
        access: The choice of how often a memory is accessed.
        evergreen: Whether evergreen memories are counted as such; one that is keeps all.
        importance: Of the one memory whose year is drawn.
        announcer: What a screen reader is told after a change.

    Raises:
        MissingDependency: ipywidgets is not installed.
        InvalidParameter: there are no memories, or ages are not finite numbers of at least 0.
        UnknownName: there is no such corpus.
    """

    def __init__(
        self,
        memories: Corpus | Store | str | Iterable[Entry] | ArrayLike | None = None,
        *,
        settings: Settings | None = None,
        scoring: Scoring | None = None,
        baseline: Scoring | Settings | None = None,
        now: datetime | None = None,
    ) -> None:
        load_widgets("exploring in a notebook")
        self._memories = Memories.of(memories, now=now)
        self._start = chosen_settings(settings, scoring)
        against = baseline.scoring if isinstance(baseline, Settings) else baseline
        self._baseline = Scoring() if against is None else against
        self._described = {
            one.name: one for one in scoring_controls(self._start) if one.name in DECAY_PARAMETERS
        }
        self.announcer = Announcer()
        self._make_widgets()
        for widget in self.controls.values():
            widget.observe(self._changed, "index")
        for widget in (self.access, self.evergreen, self.importance, self.code):
            widget.observe(self._changed, "value")
        self._show()

    @property
    def settings(self) -> Settings:
        """The settings shown, ready for `Search` and `Memory`.

        The least score that an agent is shown is in proportion to the weights, as in a sweep.
        """
        changes = {
            name: one.value_at(self.controls[name].index) for name, one in self._described.items()
        }
        return self._start.scaled_to(self._start.scoring.replace(**changes))

    @property
    def scoring(self) -> Scoring:
        """The scoring of `settings`."""
        return self.settings.scoring

    @property
    def shares(self) -> Floats:
        """The share of relevance left of each memory, as shown."""
        return shares_of(self._shown_memories(), self.scoring)

    def _ipython_display_(self) -> None:
        displayed(self.widget)

    def _make_widgets(self) -> None:
        widgets = load_widgets("exploring in a notebook")
        self.controls = {name: control_widget(one) for name, one in self._described.items()}
        style = {"style": {"description_width": "90px"}, "layout": {"width": "98%"}}
        self.access = widgets.Dropdown(
            description="Accessed",
            options=list(ACCESSES.items()),
            index=0,
            tooltip="How often a memory is accessed again",
            **style,
        )
        marked = int(self._memories.evergreen.sum())
        self.evergreen = widgets.Checkbox(
            value=True,
            description=f"Evergreen memories keep all ({marked:,} are)",
            indent=False,
            layout={"width": "98%", "margin": "2px 0 2px 12px"},
        )
        self.importance = widgets.FloatSlider(
            value=0.5,
            min=0,
            max=1,
            step=0.05,
            description="Importance",
            tooltip="Importance of the one memory whose year is drawn",
            **style,
        )
        self.code, self._code, self._python, self._toml = code_boxes()
        self._curve, self._bands, self._bars = (widgets.HTML() for _ in range(3))
        moved = sliders(*self.controls.values(), self.importance, self.access, self.evergreen)
        self.widget = page(
            desk(
                controls=widgets.VBox([moved, self.code, self._code]),
                shown=widgets.VBox([self._curve, self._bars]),
                more=self._bands,
            ),
            self.announcer.widget,
        )

    def _changed(self, change: Any) -> None:
        self._show()
        owner = change["owner"]
        if owner is not self.code:
            moved = getattr(owner, "label", change["new"])
            if isinstance(moved, bool):
                moved = "yes" if moved else "no"
            self.announcer.say(f"{owner.description} {moved}: {self._said}")

    def _shown_memories(self) -> Memories:
        memories = self._memories.accessed(self.access.value)
        return memories if self.evergreen.value else memories.without_evergreen()

    def _show(self) -> None:
        scoring, memories = self.scoring, self._shown_memories()
        # One memory has no history: without a pattern, it is not accessed again.
        days = self.access.value or 0
        words = self.access.label if self.access.value is not None else "never again"
        here, before = (
            shares_over_a_year(one, access_days=days, importance=self.importance.value)
            for one in (scoring, self._baseline)
        )
        self._curve.value = year_chart(
            here, before, scoring=scoring, baseline=self._baseline, access=words
        )
        shares = shares_of(memories, scoring)
        counts = tenths(shares)
        self._said = f"{left_in_words(here)}; of {len(shares):,} memories {kept_in_words(counts)}"
        self._bars.value = share_bars(counts, evergreen=int(memories.evergreen.sum()))
        self._bands.value = bands_table(
            bands_of(memories, shares), bands_of(memories, shares_of(memories, self._baseline))
        )
        # Importance matters to a year only where it slows decay.
        slowed = scoring.decay_importance > 0
        self.importance.layout.display = None if slowed else "none"
        fill_code(self.code, self._code, self._python, self._toml, self.settings)
