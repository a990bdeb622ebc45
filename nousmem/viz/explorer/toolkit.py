"""ipywidgets, loaded when it is needed, and controls made into widgets."""

from __future__ import annotations

import importlib
from typing import Any, Final

from nousmem.scoring import Scoring
from nousmem.search import MIN_POOL
from nousmem.viz.explorer.as_code import as_python, as_toml
from nousmem.viz.explorer.controls import Control
from nousmem.viz.explorer.theme import STYLE
from nousmem.viz.widgets import load_widgets

__all__ = ["code_boxes", "control_widget", "displayed", "fill_code", "page"]

_MEND_OUTPUT: Final = """
setTimeout(() => {  // the output is put into the page after this has run
  const area = element.closest(".jp-OutputArea");
  if (area && !area.dataset.keepsKeys) {
    area.dataset.keepsKeys = "yes";
    area.addEventListener("keydown", (event) => {
      const command = event.ctrlKey || event.metaKey || event.altKey;
      const run = event.shiftKey && event.key === "Enter";
      if (!command && !run && event.target.closest("select, input, button, [role=slider]")) {
        event.stopPropagation();
      }
    });
    const name = (event) => {
      const handle = event.target.closest("[role=slider]");
      const box = handle && handle.closest(".widget-slider");
      if (box) {
        handle.setAttribute("aria-label", box.querySelector(".widget-label").innerText);
        handle.setAttribute("aria-valuetext", box.querySelector(".widget-readout").innerText);
      }
    };
    area.addEventListener("focusin", name);
    area.addEventListener("keyup", name);
  }
}, 100);
"""
"""JupyterLab takes plain keys for its own commands, even those pressed in a list: the arrows go
to another cell, "x" cuts this one. And ipywidgets' sliders tell a screen reader neither their name
nor the text of their value. Where there is no JupyterLab, nothing happens."""


def control_widget(control: Control) -> Any:
    """Return a slider over a control's steps, or a list where they are names."""
    widgets = load_widgets("exploring in a notebook")
    kind = widgets.SelectionSlider if control.ordered else widgets.Dropdown
    return kind(
        options=[text for text, _ in control.steps],
        index=control.start,
        description=control.label,
        tooltip=control.help,
        style={"description_width": "90px"},
        layout={"width": "98%"},
    )


def page(*parts: Any) -> Any:
    """Return the parts under each other, with the style sheet ahead of them."""
    widgets = load_widgets("exploring in a notebook")
    sheet = widgets.HTML(STYLE, layout={"height": "0", "margin": "0", "overflow": "hidden"})
    return widgets.VBox([sheet, *parts])


def displayed(widget: Any) -> None:
    """Show a widget as the output of a notebook's cell, its keys and its sliders' names mended."""
    display: Any = importlib.import_module("IPython.display")
    display.display(widget)
    display.display(display.Javascript(_MEND_OUTPUT))


def code_boxes() -> tuple[Any, Any, Any, Any]:
    """Return a button that shows settings as code, the hidden row of boxes, and the two boxes."""
    widgets = load_widgets("exploring in a notebook")
    button = widgets.ToggleButton(
        description="Settings as code",
        tooltip="Show the settings as Python and as TOML",
        layout={"width": "auto", "align_self": "flex-start"},
    )
    python, toml = (
        widgets.Textarea(
            description=name,
            rows=11,
            style={"description_width": "60px"},
            layout={"flex": "1 1 300px", "min_width": "0", "width": "auto", "height": "auto"},
        )
        for name in ("Python", "TOML")
    )
    row = widgets.HBox(
        [python, toml], layout={"flex_flow": "row wrap", "width": "100%", "display": "none"}
    )
    return button, row, python, toml


def fill_code(
    button: Any, row: Any, python: Any, toml: Any, scoring: Scoring, *, pool: int = MIN_POOL
) -> None:
    """Show or hide what `code_boxes` made, as its button says, and fill it in where it is shown."""
    row.layout.display = None if button.value else "none"
    if button.value:
        python.value = as_python(scoring, pool=pool)
        toml.value = as_toml(scoring, pool=pool)
