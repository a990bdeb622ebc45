"""The report page: all of it in one file, whatever the corpus says."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nousmem import evaluation as ev
from nousmem.viz import plots
from nousmem.viz.report import _pictures as pictures
from nousmem.viz.report import report_page, write_report
from nousmem.viz.report._sections import Table

HOSTILE = "</title><script>alert(1)</script><img src=https://example.org/x.png>"

EXPERIMENT = f"""
title = "{HOSTILE}"
measures = ["R@5", "nDCG@10"]
[corpus]
name = "tables"
path = "tables"
[retrieval]
embedder = ["none", "hashing"]
[scoring]
w_recency = 0
[grid]
half_life_days = [30, 365, inf]
w_importance = [0, 0.3]
"""


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def result_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "tables").mkdir()
    words = ["kiln", "oar", "mill", "fern"]
    pd.DataFrame(
        {
            "id": [f"e{at}" for at in range(24)],
            "content": [f"{words[at % 4]} {words[at // 4 % 4]} number {at}" for at in range(24)],
            "created_at": [f"2026-0{at % 6 + 1}-01T00:00:00Z" for at in range(24)],
        }
    ).to_csv(folder / "tables" / "entries.csv", index=False)
    pd.DataFrame(
        {
            "query_id": [f"q{at}" for at in range(8)],
            "text": [f"{words[at % 4]} {HOSTILE}" for at in range(8)],
            "category": ["a", "b"] * 4,
            "now": ["2026-09-01T00:00:00Z"] * 8,
        }
    ).to_csv(folder / "tables" / "queries.csv", index=False)
    rows = [(f"q{at}", f"e{at + 8}", 1) for at in range(8)]
    pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]).to_csv(
        folder / "tables" / "qrels.csv", index=False
    )
    (folder / "x.toml").write_text(EXPERIMENT)
    with pytest.warns(ev.FewQueriesWarning), pytest.warns(ev.IdleParameterWarning):
        ev.run_experiment(ev.read_experiment(folder / "x.toml"), out=folder / "out")
    return folder / "out"


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_page_needs_nothing_else_and_runs_nothing(result_folder: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")
    text = write_report(result_folder, tmp_path / "page.html").read_text()
    parser = Elements()
    parser.feed(text)
    tags = [tag for tag, _ in parser.seen]
    assert "script" not in tags
    assert "link" not in tags
    sources = [attrs["src"] for tag, attrs in parser.seen if tag == "img"]
    assert len(sources) >= 4
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert all(attrs.get("alt") for tag, attrs in parser.seen if tag == "img")
    links = [attrs["href"] for tag, attrs in parser.seen if tag == "a"]
    targets = {attrs["id"] for _, attrs in parser.seen if "id" in attrs}
    assert links
    assert all(link.removeprefix("#") in targets for link in links)
    assert "[scoring]" in text
    assert "[retrieval]" in text
    assert "nm.Scoring(" in text
    assert "8 queries are few" in text


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_settings_in_python_are_those_of_the_sweep(result_folder: Path, tmp_path: Path):
    text = write_report(result_folder, tmp_path / "page.html").read_text()
    blocks = re.findall(r'aria-label="Python">(.*?)</pre>', text, re.DOTALL)
    result = ev.read_result(result_folder)
    for at, block in enumerate(blocks):
        names: dict = {}
        exec(block.replace("&#39;", "'"), names)
        assert names["settings"] == result.best(condition=at)
    assert len(blocks) == 2


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_same_bytes_twice_and_a_page_without_matplotlib(
    result_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    one = write_report(result_folder, tmp_path / "one.html").read_bytes()
    assert write_report(result_folder, tmp_path / "two.html").read_bytes() == one
    monkeypatch.setattr(pictures, "_can_draw", lambda: False)
    bare = write_report(result_folder, tmp_path / "bare.html").read_text()
    assert "<figure>" not in bare
    assert "The best setting, to take along" in bare


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_page_counts_what_was_tried_and_says_what_changed_nothing(
    result_folder: Path, tmp_path: Path
):
    text = write_report(result_folder, tmp_path / "page.html").read_text()
    # Six of the grid; the defaults, which are compared with, are none of them.
    assert "6 settings each and the baseline" in text
    with_idle = [line for line in text.splitlines() if "Changed nothing here" in line]
    assert with_idle
    assert all("w_importance" in line or "half_life_days" in line for line in with_idle)


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_page_names_the_baseline_and_the_winner(result_folder: Path, tmp_path: Path):
    text = html.unescape(write_report(result_folder, tmp_path / "page.html").read_text())
    result = ev.read_result(result_folder)
    won = result.names[result.winner]
    assert f"The winner is {won}: it has the highest mean R@5 on folds" in text
    assert text.count("the winner</span></h2>") == text.count("(the winner)</li>") == 1
    assert f'{won} <span class="quiet">the winner' in text
    for one in result.conditions:
        told = f"Compared with {one.measured.baseline_settings!r}, beside those tried."
        assert told in text


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_where_conditions_have_different_queries_the_page_says_that_none_wins(
    result_folder: Path,
):
    result = ev.read_result(result_folder)
    one, other = result.conditions
    measured = other.measured
    fewer = replace(measured, queries=measured.queries[1:], values=measured.values[:, :, 1:])
    page = report_page(replace(result, conditions=(one, replace(other, measured=fewer))))
    assert "No condition wins: they were measured on different queries" in page
    assert "the winner" not in page.lower().replace("no condition wins", "")


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_one_condition_is_no_winner_and_its_baseline_may_be_one_of_those_tried(
    result_folder: Path,
):
    result = ev.read_result(result_folder)
    one = result.conditions[0]
    tried = replace(one, measured=replace(one.measured, baseline=2))
    experiment = replace(result.experiment, conditions=result.experiment.conditions[:1])
    page = html.unescape(report_page(replace(result, experiment=experiment, conditions=(tried,))))
    assert "winner" not in page
    assert f"Compared with {tried.measured.settings[2]!r}, one of those tried." in page
    assert "6 settings each, tuned" in page


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_the_pictures_of_a_grid_are_of_what_was_tried(
    result_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    drawn: list[tuple[list[str], list[str]]] = []
    heatmap = plots.heatmap

    def noted(given: Any, **options: Any) -> Any:
        ax = heatmap(given, **options)
        names = [
            [text.get_text() for text in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis)
        ]
        drawn.append((names[0], names[1]))
        return ax

    monkeypatch.setattr(plots, "heatmap", noted)
    found = pictures.pictures_of(ev.read_result(result_folder), 0)
    plt.close("all")
    assert found[0].caption == "R@5 over half_life_days and w_importance"
    # The defaults, with a half-life of 28.88 days, stand beside the grid.
    assert drawn == [(["off", "365 d", "30 d"], ["0", "0.3"])]


def test_numbers_stand_under_one_another():
    frame = pd.DataFrame(
        {
            "name": ["a", "b"],
            "share": [0.25, 1.0],
            "days": [30.0, float("inf")],
            "queries": [1000, 2],
        }
    )
    table = Table.of("", frame)
    assert table.numeric == (False, True, True, True)
    assert table.rows == (("a", "0.2500", "30", "1,000"), ("b", "1.0000", "off", "2"))
