"""ipywidgets, loaded when it is needed, and controls made into widgets."""

from __future__ import annotations

import importlib
from typing import Any, Final

from nousmem.errors import NousmemError
from nousmem.retrieval.settings import Settings
from nousmem.viz._as_code import as_python, as_toml
from nousmem.viz._widgets import load_widgets
from nousmem.viz.explorer._controls import Control
from nousmem.viz.explorer._theme import STYLE

__all__ = ["code_boxes", "control_widget", "desk", "displayed", "fill_code", "page", "sliders"]

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
    const mend = () => {
      for (const handle of area.querySelectorAll(".widget-slider [role=slider]")) {
        const box = handle.closest(".widget-slider");
        handle.setAttribute("aria-label", box.querySelector(".widget-label").innerText);
        handle.setAttribute("aria-valuetext", box.querySelector(".widget-readout").innerText);
      }
      for (const said of area.querySelectorAll(".nmx-said .widget-html-content")) {
        said.setAttribute("role", "status");
        said.setAttribute("aria-live", "polite");
      }
    };
    let waiting = false;
    new MutationObserver(() => {  // widgets come into the page one by one, and their values change
      if (!waiting) {
        waiting = true;
        requestAnimationFrame(() => { waiting = false; mend(); });
      }
    }).observe(area, {childList: true, subtree: true, characterData: true});
    mend();
  }
}, 100);
"""
"""JupyterLab takes plain keys for its own commands, even those pressed in a list: the arrows go
to another cell, "x" cuts this one. And ipywidgets' sliders tell a screen reader neither their name
nor the text of their value; nor can a widget's content be made a live region from a kernel. Where
there is no JupyterLab, nothing happens."""


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
    whole = widgets.VBox([sheet, *parts], layout={"width": "100%"})
    whole.add_class("nmx-page")
    return whole


def desk(**parts: Any) -> Any:
    """Return what is moved and what it changes, laid out for the room there is.

    Args:
        **parts: "controls" and "measures" stand in one column and "shown" beside them; where that
            is too narrow, they stand in this order under each other. Then comes "more".
    """
    widgets = load_widgets("exploring in a notebook")
    for name, part in parts.items():
        part.add_class(f"nmx-{name}")
    whole = widgets.Box(list(parts.values()), layout={"width": "100%"})
    whole.add_class("nmx-desk")
    return whole


def sliders(*parts: Any) -> Any:
    """Return controls under each other, or in two columns where that saves height."""
    widgets = load_widgets("exploring in a notebook")
    whole = widgets.VBox(parts)
    whole.add_class("nmx-sliders")
    return whole


def displayed(widget: Any) -> None:
    """Show a widget as the output of a notebook's cell, its keys and its sliders' names mended.

    One that has been closed is opened again.
    """
    display: Any = importlib.import_module("IPython.display")
    _open(widget)
    display.display(widget)
    display.display(display.Javascript(_MEND_OUTPUT))


def _open(widget: Any) -> None:
    # What a widget consists of first: its state names the models of these.
    parts = [widget.layout, getattr(widget, "style", None), *getattr(widget, "children", ())]
    for part in parts:
        if part is not None and hasattr(part, "comm"):
            _open(part) if hasattr(part, "layout") else part.open()
    if widget.comm is None:
        if "_repr_mimebundle_" in vars(widget):  # what closing hides it with
            del widget._repr_mimebundle_
        widget.open()


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


def fill_code(button: Any, row: Any, python: Any, toml: Any, settings: Settings) -> None:
    """Show or hide what `code_boxes` made, as its button says, and fill it in where it is shown."""
    row.layout.display = None if button.value else "none"
    if button.value:
        python.value = as_python(settings)
        try:
            toml.value = as_toml(settings)
        except NousmemError as error:  # a failing callback would only be logged
            toml.value = f"# {error}\n"
