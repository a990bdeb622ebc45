"""How the explorers look: one style sheet that takes its colours from the notebook's theme.

JupyterLab and Voilà set the variables `--jp-…`; where there are none, the browser's own system
colours stand in. The parts of a score differ in pattern as well as in colour, and everything that
a colour says is also said in words.
"""

from __future__ import annotations

from typing import Final

__all__ = ["COLOURS", "DASHES", "OWN_LOOKS", "STYLE"]

COLOURS: Final = ("#2b8cc4", "#d55e00", "#009e73", "#cc79a7", "#8a63d2", "#b8860b", "#7f7f7f")
"""Those of `nousmem.viz.style`, made to stand out (3 : 1) from white and from near-black."""

DASHES: Final = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2")

OWN_LOOKS: Final = 4
"""Looks that the terms of one's own have in turn: the classes own0, own1 and so on."""

STYLE: Final = """
<style>
.nmx {
  --nmx-ink: var(--jp-content-font-color1, CanvasText);
  --nmx-dim: var(--jp-content-font-color2, GrayText);
  --nmx-line: var(--jp-border-color2, rgba(128, 128, 128, .4));
  --nmx-back: var(--jp-layout-color0, Canvas);
  --nmx-soft: var(--jp-layout-color2, rgba(128, 128, 128, .15));
  --nmx-relevance: #2b8cc4; --nmx-importance: #d55e00; --nmx-recency: #009e73;
  --nmx-updates: #8a63d2;
  --nmx-own0: #cc79a7; --nmx-own1: #8a63d2; --nmx-own2: #b8860b; --nmx-own3: #7f7f7f;
  color: var(--nmx-ink); font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  font-size: 13px; line-height: 1.4;
}
.nmx h3 { font-size: 14px; margin: 10px 0 3px; font-weight: 600; }
.nmx p { margin: 2px 0 4px; }
.nmx small, .nmx .dim { color: var(--nmx-dim); font-size: 12px; }
.nmx table { border-collapse: collapse; width: 100%; font-size: 13px; }
.nmx caption { text-align: left; font-weight: 600; padding: 3px 0; }
.nmx th { text-align: left; font-weight: 600; color: var(--nmx-dim); font-size: 12px; }
.nmx th, .nmx td { padding: 3px 8px 3px 0; border-bottom: 1px solid var(--nmx-line);
  vertical-align: baseline; background: none; }
.nmx td.verdict, .nmx th.verdict { white-space: nowrap; padding-left: 6px; }
.nmx td.num, .nmx th.num { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.nmx td.text { overflow-wrap: anywhere; }
.nmx .badge { border: 1px solid currentColor; border-radius: 3px; padding: 0 4px;
  font-size: 11px; font-weight: 600; white-space: nowrap; color: var(--nmx-ink); }
.nmx tr.relevant > :first-child { box-shadow: inset 4px 0 0 var(--nmx-recency);
  padding-left: 8px; }
.nmx tr > :first-child { padding-left: 8px; }
.nmx .bar { display: flex; height: 13px; width: 100%; min-width: 110px; margin-top: 3px; }
.nmx .bar span, .nmx .key { display: inline-block; box-sizing: border-box; }
.nmx .key { width: 14px; height: 11px; vertical-align: -1px; margin: 0 3px 0 10px; }
.nmx .relevance { background: var(--nmx-relevance); }
.nmx .importance { background: repeating-linear-gradient(45deg, var(--nmx-importance) 0 4px,
  var(--nmx-back) 4px 5.5px); border: 1px solid var(--nmx-importance); }
.nmx .recency { background: radial-gradient(var(--nmx-recency) 45%, transparent 50%) 0 0 / 5px 5px;
  border: 1px solid var(--nmx-recency); }
.nmx .own0 { background: repeating-linear-gradient(90deg, var(--nmx-own0) 0 3px,
  var(--nmx-back) 3px 5px); border: 1px solid var(--nmx-own0); }
.nmx .own1 { background: repeating-linear-gradient(135deg, var(--nmx-own1) 0 2px,
  var(--nmx-back) 2px 5px); border: 1px solid var(--nmx-own1); }
.nmx .own2 { background: repeating-linear-gradient(0deg, var(--nmx-own2) 0 2px,
  var(--nmx-back) 2px 4px); border: 1px solid var(--nmx-own2); }
.nmx .own3 { background: conic-gradient(var(--nmx-own3) 25%, var(--nmx-back) 0 50%,
  var(--nmx-own3) 0 75%, var(--nmx-back) 0) 0 0 / 6px 6px; border: 1px solid var(--nmx-own3); }
.nmx .lost { border: 1px dashed var(--nmx-dim); border-left: 0; }
.nmx .outdone { border: 1px dotted var(--nmx-updates); border-left: 0;
  background: repeating-linear-gradient(90deg, transparent 0 3px, var(--nmx-soft) 3px 6px); }
.nmx .key.lost, .nmx .key.outdone { border-left: 1px dashed var(--nmx-dim); }
.nmx .side { display: flex; flex-wrap: wrap; gap: 4px 24px; }
.nmx .side > * { flex: 1 1 400px; min-width: 0; }
.nmx .side.narrow > * { flex: 1 1 345px; }
.nmx .side.wide > * { flex: 1 1 530px; }
.nmx.head small { white-space: nowrap; }
.nmx th[scope="row"] { white-space: nowrap; max-width: 17em; overflow: hidden;
  text-overflow: ellipsis; }
.nmx svg.chart { display: block; width: 100%; max-width: 640px; height: auto; }
.nmx svg text { fill: var(--nmx-ink); font-size: 12px; font-family: inherit; }
.nmx svg text.dim { fill: var(--nmx-dim); }
.nmx svg .axis { stroke: var(--nmx-ink); stroke-width: 1; fill: none; }
.nmx svg .grid { stroke: var(--nmx-line); stroke-width: 1; fill: none; }
.nmx .id { display: inline-block; max-width: 100%; overflow-wrap: anywhere; }
.nmx ul { margin: 2px 0; padding-left: 18px; }
.nmx-page { container-type: inline-size; }
.nmx-page .nmx-desk { display: grid; column-gap: 20px; align-items: start;
  grid-template: "controls shown" auto "measures shown" auto "more shown" 1fr
    / minmax(0, 5fr) minmax(0, 8fr); }
.nmx-desk > .nmx-controls { grid-area: controls; }
.nmx-desk > .nmx-measures { grid-area: measures; }
.nmx-desk > .nmx-shown { grid-area: shown; }
.nmx-desk > .nmx-more { grid-area: more; }
@container (max-width: 920px) {
  .nmx-page .nmx-desk {
    grid-template: "controls" auto "measures" auto "shown" auto "more" auto / minmax(0, 1fr); }
}
@container (min-width: 600px) and (max-width: 920px) {
  .nmx-page .nmx-sliders { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr));
    column-gap: 16px; }
}
.nmx-page :is(button, input, select, textarea, [role=slider]):focus-visible {
  outline: 2px solid var(--jp-content-font-color1, CanvasText); outline-offset: 1px; }
.nmx-page .nmx-said { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.nmx-picker input { flex: 1 1 auto; min-width: 0; box-sizing: border-box; height: 28px;
  padding: 0 6px; background: var(--jp-layout-color0, Canvas);
  color: var(--jp-ui-font-color1, CanvasText); border: 1px solid var(--jp-border-color1, #999);
  font-family: inherit; font-size: 13px; }
[data-jp-theme-light="false"] .nmx-picker input { color-scheme: dark; }
[data-jp-theme-light="false"] .nmx-page {
  --jp-widgets-dropdown-arrow: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' \
viewBox='0 0 18 18'%3E%3Cpath fill='%23ddd' d='M5.2 5.9L9 9.7l3.8-3.8 1.2 1.2-5 5-5-5z'/%3E\
%3C/svg%3E"); }
</style>
"""
"""Put into the page once by each explorer; everything it names is inside `class="nmx"`."""
