"""What a screen reader is told."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.viz import DecayDesigner, RankingExplorer, SweepExplorer
from nousmem.viz._labelling import LabellingTable
from nousmem.viz.explorer._measuring import Difference, Standing
from nousmem.viz.explorer.announcing import (
    Announcer,
    RankingAnnouncer,
    gains_in_words,
    measure_in_words,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nousmem.viz.explorer.announcing._PAUSE", 0.02)


def said(announcer: Announcer) -> str:
    assert announcer.wait(20)
    return announcer.text


def test_a_ranking_says_how_the_measure_and_the_newest_entry_went(corpus: nm.Corpus) -> None:
    explorer = RankingExplorer(corpus, measures=["nDCG@10"])
    assert explorer.wait(60)
    assert said(explorer.announcer) == ""
    before = explorer.standing.measures[0].here
    explorer.controls["w_importance"].value = "0"
    explorer.controls["decay_lambda"].value = "off"
    assert explorer.wait(60)
    here = explorer.standing.measures[0].here
    rank = next(row.rank for row in explorer.ranking.rows if row.mark == "newest")
    assert here > before
    assert said(explorer.announcer) == (
        f"Half-life off: {measure_in_words('nDCG@10', here, here - before)}; "
        f"newest entry at rank {rank}"
    )
    explorer.reset.click()
    assert explorer.wait(60)
    assert said(explorer.announcer).startswith("back to the baseline: nDCG@10 ")
    assert "down" in explorer.announcer.text


def test_what_is_skipped_is_not_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def standing(here: float) -> Standing:
        return Standing((Difference("RR", 0.1, here, 0, 0, 1, 1, 10),), ())

    waiting: list[Callable[[], str]] = []
    announcer = RankingAnnouncer()
    monkeypatch.setattr(announcer, "say", waiting.append)
    announcer.measured(standing(0.1))
    assert not waiting  # nobody has moved anything
    announcer.moved = "Half-life off"
    for here in (0.2, 0.3, 0.4):
        announcer.measured(standing(here))
    assert waiting[-1]() == "Half-life off: RR .400, up .300"
    announcer.measured(standing(0.3))
    assert waiting[-1]() == "Half-life off: RR .300, down .100"
    assert waiting[-1]() == ""
    announcer.another_source("others")
    announcer.measured(standing(0.9))
    assert waiting[-1]() == ""
    announcer.failed("no leg is left")
    before = len(waiting)
    announcer.measured(standing(0.5))
    assert (waiting[-1], len(waiting)) == ("no leg is left", before)


def test_a_store_says_how_many_hits_moved(store: nm.Store) -> None:
    explorer = RankingExplorer(store)
    explorer.own.value = "tea"
    assert said(explorer.announcer) == "query tea: 10 hits, 0 not where the baseline has them"
    explorer.own.value = "zebra <b>"
    assert said(explorer.announcer) == "query zebra <b>: nothing is found"
    assert "<b>" not in explorer.announcer.widget.value


def test_an_error_is_said(corpus: nm.Corpus) -> None:
    explorer = RankingExplorer(corpus, embedder="hashing")
    explorer.controls["w_text"].value = "0"
    explorer.controls["w_vector"].value = "0"
    assert "no leg is left" in said(explorer.announcer)
    assert explorer.wait(60)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sweep_says_what_a_cell_gains(corpus: nm.Corpus) -> None:
    grid = {"decay_lambda": [0, 1e-3], "w_importance": [0, 0.3], "w_recency": [0]}
    explorer = SweepExplorer(ev.sweep(corpus, grid=grid, measures=["RR"]))
    assert said(explorer.announcer) == ""
    explorer.cells[0, 1].click()
    assert said(explorer.announcer).startswith("decay_lambda 28.9 d, w_importance 0: RR .")
    explorer.y.value = None
    assert said(explorer.announcer).startswith("decay_lambda 28.9 d: RR .")


def test_a_decay_says_what_is_left() -> None:
    designer = DecayDesigner()
    designer.controls["decay_lambda"].value = "90 d"
    assert said(designer.announcer) == (
        "Half-life 90 d: .794 after 30 days, .500 after 90 days, .060 after 365 days; "
        "of 365 memories 66 keep less than a tenth, 91 keep half or more"
    )
    designer.evergreen.value = False
    assert said(designer.announcer).startswith("Evergreen memories keep all (0 are) no: ")


def test_labelling_says_what_comes_next(corpus: nm.Corpus, store: nm.Store, tmp_path) -> None:
    pool = ev.propose_pool(store, corpus.queries[:2], depth=2)
    table = LabellingTable(pool, tmp_path / "qrels.tsv")
    table.keys.value = "2"
    assert said(table.announcer).startswith("Candidate 2 of 2: ")
    assert said(table.announcer).endswith("; 1 of 4 judged")
    table.keys.value = "9"
    assert "no key '9'" in said(table.announcer)


def test_words() -> None:
    assert measure_in_words("RR", 0.512, 0.031) == "RR .512, up .031"
    assert measure_in_words("RR", 0.512, -0.031) == "RR .512, down .031"
    assert measure_in_words("RR", 0.5, 1e-9) == "RR .500, unchanged"
    assert measure_in_words("RR", 0.5, 0.1, against="the baseline") == (
        "RR .500, up .100 on the baseline"
    )
    assert measure_in_words("RR", 0.5, 0, against="the baseline") == (
        "RR .500, the same as the baseline"
    )
    assert gains_in_words([0.1]) == "1 query gains, 0 lose"
    assert gains_in_words([0.1, 0.2, -0.1]) == "2 queries gain, 1 loses"


def test_the_line_is_on_the_page(corpus: nm.Corpus) -> None:
    explorer = RankingExplorer(corpus)
    assert explorer.announcer.widget in explorer.widget.children
    assert isinstance(explorer.announcer.widget, ipywidgets.HTML)
    assert explorer.wait(60)
