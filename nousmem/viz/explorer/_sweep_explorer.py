"""The sweep explorer: a grid of settings, cell by cell, down to single rankings."""

from __future__ import annotations

import html
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.experiments import ExperimentResult
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Scoring
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._charts import line_chart
from nousmem.viz.explorer._measures_html import differences_table
from nousmem.viz.explorer._sweep_grid import SweepGrid, spread
from nousmem.viz.explorer._sweep_html import cell_colours, ranked_table, setting_line
from nousmem.viz.explorer.announcing import Announcer
from nousmem.viz.explorer.ranking_html import shortened, side_by_side
from nousmem.viz.explorer.toolkit import code_boxes, displayed, fill_code, page
from nousmem.viz.plots.labels import parameter_label, share

__all__ = ["SweepExplorer"]

_MOST_COLUMNS: Final = 8
_MOST_ROWS: Final = 12


class SweepExplorer:
    """The settings of a sweep as a heatmap; the chosen one against the baseline, query by query.

    Displaying the object in a notebook shows it. A cell is chosen by its button or by the two
    sliders under the grid; where a long axis does not fit, the sliders reach the values between.
    The cell with the largest mean is marked ★, the baseline ○, and the chosen one stands in
    [brackets]. A baseline that was not tried stands in no cell.

    Its parts are ordinary widgets, so that a script can work it: `explorer.x_value.index = 3`.

    Args:
        swept: As `nousmem.evaluation.sweep` returns it; or what was measured under a condition of
            an experiment; or a whole experiment, as `read_result` returns it, of which the winner
            is shown. What was read from files has no candidates, and shows no single rankings.
        measure: Shown at first; None is the first that was measured.
        baseline: Row of `swept.frame` to compare with; None is the sweep's own baseline.

    Attributes:
        widget: All of it.
        measure, x, y: The choice of the measure, and of the parameters across and down.
        fixed: For each parameter that was varied, the choice of a value where it is neither x nor
            y; 0 is the best.
        x_value, y_value: The sliders that choose a cell.
        cells: The buttons of the grid that are shown, by row and column.
        changed: The list of the queries that gain or lose.
        announcer: What a screen reader is told after a change.

    Raises:
        MissingDependency: ipywidgets is not installed.
        InvalidParameter: the sweep varied nothing, the measure or the baseline is not in it, or
            it is an experiment of which no condition wins.
    """

    def __init__(
        self,
        swept: MeasuredSettings | ExperimentResult,
        *,
        measure: str | None = None,
        baseline: int | None = None,
    ) -> None:
        load_widgets("exploring in a notebook")
        measured = swept.measured if isinstance(swept, ExperimentResult) else swept
        self.grid = SweepGrid(measured, baseline=baseline)
        first = str(measured.measures[0]) if measure is None else measure
        self.grid.means(first)  # refuses a measure that is not there
        self._busy = False
        self._settings: NDArray[np.intp] = np.empty((0, 0), dtype=np.intp)
        self.announcer = Announcer()
        self.cells: dict[tuple[int, int], Any] = {}
        self._buttons: list[Any] = []
        self._changes: list[tuple[int, float]] = []
        self._spots: list[tuple[int, int]] = []
        self._shape: object = None
        self._make_widgets(first)
        self._connect()
        self._show_axes(self.grid.best(first))

    @property
    def setting(self) -> int:
        """Row of the sweep's frame that is chosen."""
        row = 0 if self.y.value is None else self.y_value.index
        return int(self._settings[row, self.x_value.index])

    @property
    def settings(self) -> Settings:
        """The settings chosen, ready for `Search` and `Memory`.

        Raises:
            InvalidParameter: there are none in the cell.
        """
        if self.setting < 0:
            raise InvalidParameter("the sweep has no setting in this cell: choose another")
        return self.grid.swept.settings[self.setting]

    @property
    def scoring(self) -> Scoring:
        """The scoring of `settings`."""
        return self.settings.scoring

    def _ipython_display_(self) -> None:
        displayed(self.widget)

    def _make_widgets(self, measure: str) -> None:
        widgets = load_widgets("exploring in a notebook")
        # The longest axis across, the next down; decay first, since it is what a sweep is for.
        axes = sorted(
            self.grid.axes,
            key=lambda name: (
                name not in ("decay_lambda", "half_life_days"),
                -len(self.grid.axes[name].values),
            ),
        )

        def choice(
            description: str, options: Any, *, label_width: str = "70px", **options_more: Any
        ) -> Any:
            return widgets.Dropdown(
                description=description,
                options=options,
                style={"description_width": label_width},
                layout={"width": "auto", "flex": "1 1 320px", "min_width": "0"},
                **options_more,
            )

        self.measure = choice(
            "Measure", [str(one) for one in self.grid.swept.measures], value=measure
        )
        self.x = choice("Across", [(parameter_label(name), name) for name in axes], index=0)
        downs: list[tuple[str, str | None]] = [(parameter_label(name), name) for name in axes]
        self.y = choice("Down", [*downs, ("nothing", None)], index=1)
        self.fixed = {
            name: choice(
                name,
                [("the best", 0), *((text, at) for at, text in enumerate(axis.labels, 1))],
                label_width="initial",  # the names of parameters are long
            )
            for name, axis in self.grid.axes.items()
        }
        slider: dict[str, Any] = {
            "options": ["-"],
            "style": {"description_width": "150px"},
            "layout": {"width": "98%"},
        }
        self.x_value = widgets.SelectionSlider(description="Across", **slider)
        self.y_value = widgets.SelectionSlider(description="Down", **slider)
        self.changed = widgets.Select(
            description="Queries",
            rows=12,
            style={"description_width": "60px"},
            layout={"width": "99%", "height": "auto"},
        )
        self.code, self._code, self._python, self._toml = code_boxes()
        self._grid = widgets.GridBox(layout={"width": "99%", "grid_gap": "2px"})
        self._lines, self._tables, self._rankings, self._chosen = (widgets.HTML() for _ in range(4))
        self._changes_title = widgets.HTML()
        wrap = {"flex_flow": "row wrap", "width": "100%"}
        left = widgets.VBox(
            [self._grid, self.x_value, self.y_value, self._chosen],
            layout={"flex": "3 1 560px", "min_width": "0"},
        )
        right = widgets.VBox([self._lines], layout={"flex": "2 1 400px", "min_width": "0"})
        self.widget = page(
            widgets.HBox([self.measure, self.x, self.y], layout=wrap),
            widgets.HBox(list(self.fixed.values()), layout=wrap),
            widgets.HBox([left, right], layout=wrap),
            self.code,
            self._code,
            self._tables,
            self._changes_title,
            self.changed,
            self._rankings,
            self.announcer.widget,
        )

    def _connect(self) -> None:
        for widget in (self.measure, *self.fixed.values()):
            widget.observe(self._view_changed, "value")
        for widget in (self.x, self.y):
            widget.observe(self._axes_changed, "value")
        for widget in (self.x_value, self.y_value):
            widget.observe(self._cell_changed, "index")
        self.changed.observe(self._query_changed, "index")
        self.code.observe(self._code_toggled, "value")

    # What the user does ------------------------------------------------------------------------

    def _axes_changed(self, _: Any) -> None:
        if not self._busy:
            best = self.grid.best(self.measure.value)
            self._show_axes(best if self.setting < 0 else self.setting)
            self._announce()

    def _view_changed(self, _: Any) -> None:
        if not self._busy:
            self._show_grid()
            self._announce()

    def _cell_changed(self, _: Any) -> None:
        if not self._busy:
            self._show_cell()
            self._announce()

    def _cell_clicked(self, at: int, _: Any) -> None:
        row, column = self._spots[at]
        self._busy = True
        try:
            self.x_value.index = column
            if self.y.value is not None:
                self.y_value.index = row
        finally:
            self._busy = False
        self._show_cell()
        self._announce()

    def _query_changed(self, _: Any) -> None:
        if not self._busy:
            self._show_rankings()

    def _code_toggled(self, _: Any) -> None:
        self._show_code()

    def _announce(self) -> None:
        """Say which cell is chosen and what it gains on the baseline."""
        chosen = [f"{self.x.value} {self.x_value.label}"]
        if self.y.value is not None:
            chosen.append(f"{self.y.value} {self.y_value.label}")
        self.announcer.say(
            f"{', '.join(chosen)}: {self.grid.in_words(self.measure.value, self.setting)}"
        )

    # What is shown -----------------------------------------------------------------------------

    def _show_axes(self, setting: int) -> None:
        """Take other axes, and stay at a setting."""
        if self.x.value == self.y.value:
            others = [name for name in self.grid.axes if name != self.x.value]
            self._busy = True
            self.y.value = others[0] if others else None
            self._busy = False
        x, y = self.x.value, self.y.value
        self._busy = True
        try:
            self._point(self.x_value, x, setting)
            self._point(self.y_value, y, setting)
            for name, widget in self.fixed.items():
                widget.layout.display = "none" if name in (x, y) else None
        finally:
            self._busy = False
        self._show_grid()

    def _point(self, slider: Any, name: str | None, setting: int) -> None:
        slider.layout.display = "none" if name is None else None
        if name is not None:
            slider.index = 0
            slider.options = list(self.grid.axes[name].labels)
            slider.index = self.grid.place(setting, name)
            slider.description = name

    def _show_grid(self) -> None:
        fixed = {name: widget.value - 1 for name, widget in self.fixed.items() if widget.value}
        self._settings = self.grid.cells(
            self.measure.value, self.x.value, self.y.value, fixed=fixed
        )
        self._show_cell()

    def _show_cell(self) -> None:
        if self.setting < 0:
            self._chosen.value = (
                "<div class='nmx'><p>The sweep has no setting in this cell.</p></div>"
            )
            self._draw_cells()
            return
        self._draw_cells()
        measure, setting = self.measure.value, self.setting
        against = self.grid.baseline
        outside = "" if against < self.grid.swept.n_tried else "; it was not among what was tried"
        mean = share(float(self.grid.means(measure)[against]))
        self._chosen.value = (
            f"<div class='nmx'><p><b>Chosen:</b> {setting_line(self.settings)}<br>"
            f"<b>Baseline, {html.escape(measure)} {mean}:</b> "
            f"{setting_line(self.grid.swept.settings[against])}{outside}</p>"
            "<p class='dim'>★ largest mean · ○ baseline · [ ] chosen</p></div>"
        )
        self._show_lines()
        self._tables.value = side_by_side(
            (
                "Chosen against the baseline",
                differences_table(
                    self.grid.differences(setting), head="Measure", caption="", counts=True
                ),
            ),
            (
                f"{measure} by category",
                differences_table(
                    self.grid.category_differences(measure, setting),
                    head="Category",
                    caption="",
                    counts=True,
                ),
            ),
            note=self.grid.pairing.in_words,
            wide=True,
        )
        self._show_changes()
        self._show_code()

    def _draw_cells(self) -> None:
        widgets = load_widgets("exploring in a notebook")
        means = self.grid.means(self.measure.value)
        x, y = self.grid.axes[self.x.value], self.grid.axes.get(self.y.value or "")
        shown = self._settings[self._settings >= 0]
        low, high = means[shown].min(initial=np.inf), means[shown].max(initial=-np.inf)
        best = int(shown[means[shown].argmax()]) if shown.size else -1
        marked = [
            int(at)
            for one in (best, self.setting, self.grid.baseline)
            for at in np.argwhere(self._settings == one).ravel()
        ]
        columns = spread(len(x.values), _MOST_COLUMNS, keep=[*marked[1::2], self.x_value.index])
        rows = spread(len(self._settings), _MOST_ROWS, keep=marked[0::2])
        self._spots = [(row, column) for row in rows for column in columns]
        while len(self._buttons) < len(self._spots):
            button = widgets.Button(
                layout={"width": "auto", "height": "30px", "margin": "0", "padding": "0"}
            )
            button.on_click(partial(self._cell_clicked, len(self._buttons)))
            self._buttons.append(button)
        self.cells = {}
        for (row, column), button in zip(self._spots, self._buttons, strict=False):
            setting = int(self._settings[row, column])
            self.cells[row, column] = button
            here = setting >= 0 and setting == self.setting
            back, ink = ("", None) if setting < 0 else cell_colours(means[setting], low, high)
            signs = "★" * (setting == best) + "○" * (setting == self.grid.baseline)
            figure = "–" if setting < 0 else share(float(means[setting]))
            button.description = f"{signs}[{figure}]" if here else f"{signs}{figure}"
            button.tooltip = f"{x.name} {x.labels[column]}" + (
                "" if y is None else f", {y.name} {y.labels[row]}"
            )
            button.disabled = setting < 0
            button.style.button_color, button.style.text_color = back or None, ink
            button.style.font_weight = "bold" if here else ""
            button.style.font_size = "" if len(columns) < 8 else "11px"
            button.layout.border = "2px solid var(--jp-ui-font-color1, black)" if here else ""
        self._arrange(rows, columns)

    def _arrange(self, rows: list[int], columns: list[int]) -> None:
        """Put the buttons into the grid with their headings, once for each shape."""
        shape = (self.x.value, self.y.value, tuple(rows), tuple(columns))
        if self._shape == shape:
            return
        self._shape = shape
        widgets = load_widgets("exploring in a notebook")
        x, y = self.grid.axes[self.x.value], self.grid.axes.get(self.y.value or "")

        def heading(text: str, *, side: str = "center") -> Any:
            # Stands in the middle of the buttons that it is a heading of.
            inside = f"<div class='nmx head' style='text-align:{side}'><small>{text}</small></div>"
            return widgets.HTML(inside, layout={"align_self": "center", "margin": "0 5px"})

        corner = x.name if y is None else f"{y.name} ↓<br>{x.name} →"
        children: list[Any] = [
            heading(corner, side="left"),
            *(heading(html.escape(x.labels[at])) for at in columns),
        ]
        buttons = iter(self._buttons)
        for row in rows:
            children.append(heading("" if y is None else html.escape(y.labels[row]), side="right"))
            children += [next(buttons) for _ in columns]
        self._grid.layout.grid_template_columns = (
            f"max-content repeat({len(columns)}, minmax(0, 1fr))"
        )
        self._grid.children = children

    def _show_lines(self) -> None:
        row = 0 if self.y.value is None else self.y_value.index
        places = [at for at, one in enumerate(self._settings[row]) if one >= 0]
        axis, measure = self.grid.axes[self.x.value], self.measure.value
        lines = self.grid.by_category(measure, self._settings[row][places].tolist())
        self._lines.value = (
            f"<div class='nmx'><h3>{html.escape(measure)} by category</h3>"
            + line_chart(
                {name: line.tolist() for name, line in lines.items()},
                ticks=[axis.labels[at] for at in places],
                chosen=places.index(self.x_value.index),
                x_title=parameter_label(axis.name),
                label=f"{measure} of each category over {axis.name}; the values at the chosen "
                "place are in the table below",
            )
            + "</div>"
        )

    def _show_changes(self) -> None:
        changes = self.grid.changes(self.measure.value, self.setting)
        queries = self.grid.queries
        gains = sum(gained > 0 for _, gained in changes)
        self._changes_title.value = (
            f"<div class='nmx'><h3>Query by query: {gains} gain, {len(changes) - gains} lose, "
            f"{len(queries) - len(changes)} stay</h3></div>"
        )
        self._changes = changes
        kept = self.changed.label
        options = [
            f"{'▲' if gained > 0 else '▼'} {share(gained, signed=True)}  "
            f"{queries[at].category}: {shortened(queries[at].text, 100)}  [{queries[at].query_id}]"
            for at, gained in changes
        ]
        self._busy = True
        try:
            self.changed.options = options
            self.changed.index = options.index(kept) if kept in options else 0 if options else None
        finally:
            self._busy = False
        self._show_rankings()

    def _show_rankings(self) -> None:
        at: int | None = self.changed.index
        if at is None:
            self._rankings.value = (
                "<div class='nmx'><p>The chosen setting changes no query by this measure.</p></div>"
            )
            return
        query, _ = self._changes[at]
        ranked = self.grid.rankings(query, self.setting)
        if ranked is None:
            self._rankings.value = (
                "<div class='nmx'><p>This result was read from files, which keep no candidates: "
                "sweep again to see rankings.</p></div>"
            )
            return
        before, here = ranked
        text = shortened(self.grid.queries[query].text, 60)
        self._rankings.value = side_by_side(
            (f"Baseline: {text}", ranked_table(before, moved=False)),
            (f"Chosen: {text}", ranked_table(here, moved=True)),
        )

    def _show_code(self) -> None:
        if self.setting >= 0:
            fill_code(self.code, self._code, self._python, self._toml, self.settings)
