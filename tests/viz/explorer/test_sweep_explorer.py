from __future__ import annotations

from itertools import pairwise

import ipywidgets
import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import InvalidParameter
from nousmem.evaluation.sweeps.ranges import Range
from nousmem.viz import SweepExplorer
from nousmem.viz.explorer._charts import line_chart
from nousmem.viz.explorer._sweep_grid import SweepGrid, spread
from nousmem.viz.explorer._sweep_html import cell_colours

GRID = {
    "decay_lambda": [0, 1e-4, 1e-3, 1e-2],
    "w_importance": [0, 0.3, 0.9],
    "rrf_k": [5, 60],
    "w_recency": [0],
}


@pytest.fixture(scope="module")
def swept(corpus: nm.Corpus) -> ev.SweepResult:
    return ev.sweep(corpus, embedder="hashing", grid=GRID, measures=["nDCG@10", "RR", "Fresh@10"])


@pytest.fixture
def explorer(swept: ev.SweepResult) -> SweepExplorer:
    return SweepExplorer(swept)


def text(explorer: SweepExplorer) -> str:
    def values(widget: ipywidgets.Widget) -> list[str]:
        own = [widget.value] if isinstance(widget, ipywidgets.HTML) else []
        return own + [one for child in getattr(widget, "children", ()) for one in values(child)]

    return "\n".join(values(explorer.widget))


def test_cells_are_the_best_of_what_is_not_fixed(swept: ev.SweepResult) -> None:
    grid = SweepGrid(swept)
    frame = swept.frame
    cells = grid.cells("nDCG@10", "decay_lambda", "w_importance", fixed={})
    assert cells.shape == (3, 4)
    best = frame.pivot_table(
        index="w_importance", columns="decay_lambda", values="nDCG@10", aggfunc="max"
    )
    assert np.array_equal(grid.means("nDCG@10")[cells], best.to_numpy())
    fixed = grid.cells("nDCG@10", "decay_lambda", "w_importance", fixed={"rrf_k": 1})
    assert {swept.settings[at].scoring.rrf_k for at in fixed.ravel()} == {60}
    row = grid.cells("nDCG@10", "rrf_k", None, fixed={"decay_lambda": 0, "w_importance": 2})
    assert row.shape == (1, 2)
    chosen = [swept.settings[at].scoring for at in row[0]]
    assert [(one.rrf_k, one.decay_lambda, one.w_importance) for one in chosen] == [
        (5, 0, 0.9),
        (60, 0, 0.9),
    ]


def test_it_starts_at_the_best(explorer: SweepExplorer, swept: ev.SweepResult) -> None:
    assert explorer.setting == swept.best_index("nDCG@10")
    assert explorer.x.value == "decay_lambda"
    assert explorer.y.value == "w_importance"


def test_a_cell_is_chosen_by_slider_or_by_button(
    explorer: SweepExplorer, swept: ev.SweepResult
) -> None:
    explorer.x_value.index, explorer.y_value.index = 2, 1
    assert (explorer.scoring.decay_lambda, explorer.scoring.w_importance) == (1e-3, 0.3)
    explorer.cells[2, 0].click()
    assert (explorer.scoring.decay_lambda, explorer.scoring.w_importance) == (0, 0.9)
    assert (explorer.x_value.index, explorer.y_value.index) == (0, 2)
    chosen = [at for at, button in explorer.cells.items() if "[" in button.description]
    assert chosen == [(2, 0)]
    mean = swept.frame["nDCG@10"][explorer.setting]
    assert f"{mean:.3f}".replace("0.", ".", 1) in explorer.cells[2, 0].description
    stars = [at for at, button in explorer.cells.items() if "★" in button.description]
    assert len(stars) == 1


def test_fixing_a_parameter(explorer: SweepExplorer) -> None:
    explorer.fixed["rrf_k"].value = 2
    assert explorer.scoring.rrf_k == 60
    assert explorer.fixed["decay_lambda"].layout.display == "none"
    assert explorer.fixed["rrf_k"].layout.display is None


def test_other_axes(explorer: SweepExplorer) -> None:
    before = explorer.scoring
    explorer.x.value = "rrf_k"
    assert len(explorer.cells) == 6
    assert explorer.scoring.w_importance == before.w_importance
    explorer.y.value = "rrf_k"  # both the same: another one is taken
    assert explorer.x.value == "rrf_k" != explorer.y.value
    explorer.y.value = None
    assert len(explorer.cells) == 2
    explorer.x_value.index = 1
    assert explorer.scoring.rrf_k == 60


def test_the_tables_are_paired_with_the_baseline(
    explorer: SweepExplorer, swept: ev.SweepResult
) -> None:
    grid = explorer.grid
    assert swept.settings[grid.baseline].scoring.replace(w_recency=None) == nm.Scoring()
    differences = {one.name: one for one in grid.differences(explorer.setting)}
    values = swept.values_of("nDCG@10")
    gained = values[explorer.setting] - values[grid.baseline]
    assert differences["nDCG@10"].difference == pytest.approx(gained.mean())
    assert differences["nDCG@10"].low <= gained.mean() <= differences["nDCG@10"].high
    assert differences["Fresh@10"].n == 1
    by_category = {one.name: one.n for one in grid.category_differences("RR", explorer.setting)}
    assert by_category == {"fact": 2, "update": 1}


def test_query_by_query(explorer: SweepExplorer, swept: ev.SweepResult) -> None:
    explorer.x_value.index, explorer.y_value.index = 3, 2
    explorer.measure.value = "RR"
    values = swept.values_of("RR")
    gained = values[explorer.setting] - values[explorer.grid.baseline]
    changes = explorer.grid.changes("RR", explorer.setting)
    assert [at for at, _ in changes] == [
        at for at in np.argsort(-gained, kind="stable") if gained[at]
    ]
    assert len(explorer.changed.options) == np.count_nonzero(gained) > 0
    explorer.changed.index = len(changes) - 1
    query = changes[-1][0]
    before, here = explorer.grid.rankings(query, explorer.setting)
    query_id = swept.queries[query].query_id
    for rows, setting in ((before, explorer.grid.baseline), (here, explorer.setting)):
        run = swept.run(setting)
        own = run[run["query_id"] == query_id].head(10)
        assert [row.doc_id for row in rows] == own["doc_id"].tolist()
        assert [row.score for row in rows] == own["score"].tolist()
    places = {row.doc_id: row.rank for row in before}
    assert all(row.before == places.get(row.doc_id) for row in here)


def test_the_baseline_changes_nothing(explorer: SweepExplorer) -> None:
    explorer.fixed["rrf_k"].value = 2
    explorer.x_value.index, explorer.y_value.index = 2, 1
    assert explorer.setting == explorer.grid.baseline
    assert explorer.changed.options == ()
    assert "changes no query" in text(explorer)
    assert "= same" in text(explorer)


def test_settings_as_code(explorer: SweepExplorer) -> None:
    explorer.code.value = True
    explorer.cells[0, 1].click()
    areas = [one for one in _all(explorer.widget) if isinstance(one, ipywidgets.Textarea)]
    place: dict = {}
    exec(areas[0].value, place)
    assert place["settings"] == explorer.settings
    assert nm.Settings.from_toml(areas[1].value) == explorer.settings


def test_memories_are_text_not_markup(explorer: SweepExplorer) -> None:
    explorer.x_value.index = 0
    assert "<script>" not in text(explorer)
    assert "<b>now" not in text(explorer)


def test_a_long_axis_is_thinned_and_its_sliders_are_not(corpus: nm.Corpus) -> None:
    grid = {"w_importance": np.linspace(0, 1, 41).tolist(), "w_recency": [0]}
    explorer = SweepExplorer(ev.sweep(corpus, grid=grid, measures=["RR"]))
    assert explorer.y.value is None
    assert 8 <= len(explorer.cells) <= 11
    explorer.x_value.index = 17
    assert (0, 17) in explorer.cells
    assert explorer.scoring.w_importance == pytest.approx(17 / 40)


def test_a_searched_space_is_seen_in_bins(corpus: nm.Corpus) -> None:
    space = {
        "half_life_days": Range(1, 1000, log=True),
        "w_importance": Range(0, 1),
        "w_recency": [0],
    }
    swept = ev.sweep(corpus, grid=space, sampler="random", trials=60, measures=["RR"])
    explorer = SweepExplorer(swept)
    assert explorer.setting == swept.best_index("RR")
    cells = explorer.grid.cells("RR", "half_life_days", "w_importance", fixed={})
    assert cells.shape == (8, 8)
    assert explorer.x_value.options[0].startswith("≥ ")
    assert (cells < 0).any()
    means = explorer.grid.means("RR")
    assert means[cells.max()] <= means.max() == means[cells[cells >= 0]].max()
    row, column = np.argwhere(cells < 0)[0]
    explorer.x_value.index, explorer.y_value.index = int(column), int(row)
    assert explorer.setting == -1
    assert "no setting in this cell" in text(explorer)
    explorer.x.value = "w_importance"
    assert explorer.setting >= 0


def test_what_is_refused(swept: ev.SweepResult, corpus: nm.Corpus) -> None:
    with pytest.raises(InvalidParameter, match="baseline"):
        SweepExplorer(swept, baseline=24)
    with pytest.raises(InvalidParameter, match="not measured"):
        SweepExplorer(swept, measure="R@10")
    with pytest.raises(InvalidParameter, match="varied nothing"):
        SweepExplorer(ev.sweep(corpus, grid={"rrf_k": [60]}, measures=["RR"]))


def test_spread() -> None:
    assert spread(5, 8) == [0, 1, 2, 3, 4]
    assert spread(100, 3) == [0, 50, 99]
    assert spread(100, 3, keep=[7]) == [0, 7, 50, 99]


def test_colours_of_cells_can_be_read() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for step in range(21):
        back, ink = (luminance(one) for one in cell_colours(step / 20, 0, 1))
        contrast = (max(back, ink) + 0.05) / (min(back, ink) + 0.05)
        assert contrast > 4.5
    assert cell_colours(0.3, 0.3, 0.3) == cell_colours(0.5, 0, 1)


def test_a_chart_names_its_lines_apart() -> None:
    lines = {f"line {at} <i>": [0.5, 0.5] for at in range(5)}
    chart = line_chart(lines, ticks=["a", "<b>"], chosen=0, x_title="x", label='say "it"')
    assert "<i>" not in chart
    assert "<b>" not in chart
    heights = sorted(
        float(part.split("y='")[1].split("'")[0])
        for part in chart.split("<text ")
        if "line " in part
    )
    assert all(below - above >= 13.9 for above, below in pairwise(heights))


def _all(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    return [widget, *(one for child in getattr(widget, "children", ()) for one in _all(child))]
