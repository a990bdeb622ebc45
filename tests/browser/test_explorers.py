"""The explorers as a person meets them: in a real JupyterLab and a real Voilà, by keyboard."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from servers import Server

BOUND_MS = 5000
"""Generous: a busy machine is no fault. What was measured is printed."""

RANKING = """
from nousmem.viz import RankingExplorer
RankingExplorer("assistant-year", embedder="hashing")
"""

OTHERS = """
from datetime import UTC, datetime
import nousmem as nm
from nousmem import evaluation as ev
from nousmem.viz import DecayDesigner, SweepExplorer
from nousmem.viz.labelling import LabellingTable
corpus = nm.load_corpus("assistant-year")
corpus = corpus.select(corpus.queries[:40])
grid = {"decay_lambda": [0, 1e-4, 1e-3], "w_importance": [0, 0.3], "w_recency": [0]}
swept = ev.sweep(corpus, grid=grid, measures=["nDCG@10", "R@10"])
SweepExplorer(swept)
# %%
DecayDesigner(corpus)
# %%
hostile = "note <img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script> tea"
store = nm.open_store("memory:")
noon = datetime(2026, 3, 15, 12, tzinfo=UTC)
store.put([nm.Entry(hostile, id="<b>bad</b>", created_at=noon)])
strange = RankingExplorer(store, now=noon)
strange.own.value = "tea note <img src=x onerror='window.hacked = 1'>"
strange
# %%
mine = nm.open_store("sqlite::memory:")
mine.put(corpus.entries)
pool = ev.propose_pool(mine, corpus.queries[:8], depth=5)
LabellingTable(pool, "qrels.tsv")
"""

WATCH = """() => {
  window.times = [];
  let pressed = null;
  document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
  const table = document.querySelector(".nmx table").closest(".jupyter-widgets");
  new MutationObserver(() => {
    const start = pressed;
    pressed = null;
    if (start !== null) requestAnimationFrame(() => window.times.push(performance.now() - start));
  }).observe(table, {childList: true, subtree: true, characterData: true});
}"""


def opened(page: Any, server: Server) -> None:
    """Open the notebook and, in JupyterLab, run its cell."""
    page.goto(server.page_of("explorer.ipynb"))
    if server.kind == "lab":
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
        page.keyboard.press("Control+b")  # the side bar takes a quarter of the width
        prompt = page.locator(".jp-InputArea-prompt").first
        for _ in range(20):  # keys pressed while the page still settles are lost
            page.click(".jp-Notebook .jp-CodeCell .cm-content")
            page.keyboard.press("Control+Enter")
            page.wait_for_timeout(500)
            if prompt.inner_text().strip() not in ("[ ]:", ""):
                break
    page.wait_for_selector(".nmx table")


def slider(page: Any, label: str, *, part: str = ".noUi-handle") -> Any:
    return page.locator(".widget-hslider", has=page.get_by_text(label, exact=True)).locator(part)


def memories(page: Any) -> list[str]:
    return page.locator("table:has(th:text-is('Memory')) td.text").all_inner_texts()


def tab_to(page: Any, target: Any) -> int:
    """Press Tab until the target has the focus; return how often."""
    for presses in range(1, 40):
        page.keyboard.press("Tab")
        if target.evaluate("one => one === document.activeElement"):
            return presses
    pytest.fail("Tab does not reach it")


def move_by_keyboard(page: Any) -> list[float]:
    """Move the first half-life slider; return the milliseconds from key to redraw."""
    page.get_by_text("All 275 queries").wait_for()
    before = memories(page)
    page.get_by_placeholder("words, a category or an id").first.focus()
    tab_to(page, slider(page, "Half-life").first)
    page.evaluate(WATCH)
    for _ in range(8):
        seen = page.evaluate("window.times.length")
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"window.times.length > {seen}")
        page.wait_for_timeout(80)  # as a person's next press
    assert memories(page) != before
    assert page.get_by_text("▲").count() > 0
    page.wait_for_function(
        "[...document.querySelectorAll('.nmx td')].some(one => one.innerText === '▲ better')"
    )
    return page.evaluate("window.times")


def told(kind: str, times: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    median, worst = statistics.median(times), max(times)
    with capsys.disabled():
        print(f"\n{kind}: slider to redraw, median {median:.0f} ms, worst {worst:.0f} ms")
    assert median < BOUND_MS


def test_in_jupyterlab(
    serve: Callable[..., Server],
    page: Any,
    screen: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened(page, serve("lab", RANKING))
    told("JupyterLab", move_by_keyboard(page), capsys)
    screen("ranking-lab")

    # Held down, the key sends more steps than a kernel can follow; the last one counts.
    for _ in range(25):
        page.keyboard.press("ArrowRight")
    slider(page, "Half-life", part=".widget-readout").filter(has_text="off").wait_for()
    page.get_by_text("Pushed out by decay").wait_for(state="detached")


def test_in_voila(
    serve: Callable[..., Server],
    page: Any,
    screen: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened(page, serve("voila", RANKING + "# %%" + OTHERS, dark=True))
    page.get_by_text("judged, 0 of these relevant").wait_for()
    told("Voilà", move_by_keyboard(page), capsys)
    screen("ranking-voila")

    chosen = page.get_by_text("Chosen:", exact=True).locator("xpath=..")
    before = chosen.inner_text()
    page.locator("button[title*='w_importance 0.3']").first.press("Enter")
    page.wait_for_function(
        "old => ![...document.querySelectorAll('.nmx p')].some(one => one.innerText === old)",
        arg=before,
    )

    slider(page, "Half-life").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("half-life 21 d").first.wait_for()

    assert page.evaluate("window.hacked") is None
    assert page.get_by_text("<script>window.hacked = 1</script>").first.is_visible()

    keys = page.get_by_placeholder("2 1 0 s u j k, then Enter")
    keys.fill("2")
    keys.press("Enter")
    page.get_by_text("judged, 1 of these relevant").wait_for()
    assert keys.evaluate("one => one === document.activeElement")
    screen("others-voila")
