"""The pictures of a report, as SVG in the page."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nousmem.errors import InvalidParameter
from nousmem.evaluation.experiments import ExperimentResult
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.viz.plots.given import tried_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Picture", "pictures_of"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture and what it shows."""

    caption: str
    source: str
    """A data URI."""


def pictures_of(result: ExperimentResult, condition: int) -> list[Picture]:
    """Return the pictures that the parameters varied and the measures allow.

    None where matplotlib is not installed.
    """
    if not _can_draw():
        return []
    measured, tune = result.conditions[condition].measured, str(result.experiment.tune)
    names, grid = _parameters(measured.parameters), tried_frame(measured)
    pictures: list[Picture] = []
    varied = [name for name in names if len(set(grid[name].astype(str))) > 1]
    for x, y in _pairs(varied):
        pictures += _picture(f"{tune} over {x} and {y}", _heatmap(measured, x, y, tune))
    numeric = [
        name for name in varied if not grid[name].map(lambda one: isinstance(one, str)).any()
    ]
    if numeric:
        by = measured.by()
        n = len(measured.settings)
        by = by[[at % n < len(grid) for at in range(len(by))]]
        shown = by if len(set(by["category"])) > 1 else measured
        pictures += _picture(f"{tune} over {numeric[0]}", _curve(shown, numeric[0], tune))
    across, upwards = _trade_off_measures([str(measure) for measure in measured.measures])
    if across and upwards and {"half_life_days", "decay_lambda"} & set(names):
        pictures += _picture(
            f"What freshness costs: {upwards} against {across}", _trade_off(grid, across, upwards)
        )
    compared = result.compared(condition)
    pictures += _picture(
        "The best setting against the baseline, 95 % intervals", _intervals(compared)
    )
    return pictures


def _can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _parameters(names: tuple[str, ...]) -> list[str]:
    """Return the parameters, decay first: it is what most experiments are about."""
    first = [name for name in names if name in ("half_life_days", "decay_lambda")]
    return [*first, *(name for name in names if name not in first)]


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(names[0], other) for other in names[1:3]]


def _trade_off_measures(measures: list[str]) -> tuple[str | None, str | None]:
    recalls = [measure for measure in measures if measure.startswith(("R@", "nDCG"))]
    fresh = [measure for measure in measures if measure.startswith("Fresh")]
    recalls.sort(key=lambda measure: not measure.startswith("R@"))
    return (recalls or [None])[0], (fresh or [None])[0]


def _heatmap(measured: MeasuredSettings, x: str, y: str, measure: str) -> Callable[[], Any]:
    def draw() -> Any:
        from nousmem.viz import plots

        return plots.heatmap(measured, x=x, y=y, measure=measure)

    return draw


def _curve(frame: pd.DataFrame | MeasuredSettings, x: str, measure: str) -> Callable[[], Any]:
    def draw() -> Any:
        from nousmem.viz import plots

        return plots.curve(frame, x=x, measure=measure)

    return draw


def _trade_off(frame: pd.DataFrame, across: str, upwards: str) -> Callable[[], Any]:
    def draw() -> Any:
        from nousmem.viz import plots

        by = "decay_curve" if "decay_curve" in frame.columns else None
        keep = ["half_life_days", *([by] if by else [])]
        # One point a half-life and curve: the best of the others by what lies across.
        best = frame.sort_values(across, ascending=False, kind="stable").drop_duplicates(keep)
        return plots.trade_off(best, x=across, y=upwards, by=by)

    return draw


def _intervals(compared: pd.DataFrame) -> Callable[[], Any]:
    def draw() -> Any:
        from nousmem.viz import plots

        return plots.intervals(compared)

    return draw


def _picture(caption: str, draw: Callable[[], Any]) -> list[Picture]:
    from nousmem.viz import plots

    try:
        axes = draw()
    except InvalidParameter:
        # A grid that this picture cannot show, such as one with a text for a number.
        return []
    with tempfile.TemporaryDirectory() as folder:
        drawn = plots.save(axes, Path(folder) / "picture.svg").read_bytes()
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    pyplot.close(axes.get_figure(root=True))
    text = base64.b64encode(drawn).decode()
    return [Picture(caption, f"data:image/svg+xml;base64,{text}")]
