"""The explorers over legs, terms and functions of somebody's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ipywidgets
import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora import Partition
from nousmem.errors import InvalidParameter
from nousmem.viz import DecayDesigner, RankingExplorer, SweepExplorer
from nousmem.viz.explorer._sweep_grid import SweepGrid


@nm.term
def length(candidates):
    return np.array([len(entry.content) / 100 for entry in candidates.entries])


@nm.term(decays=True)
def brevity(candidates):
    return 1 / (1 + length(candidates))


def linear(hours, decay_lambda):
    return np.maximum(0.1, 1 - decay_lambda * hours / 2)


def best_leg(legs):
    weights = np.array(legs.weights)[:, np.newaxis]
    return np.where(legs.ranks > 0, weights / (1.0 + legs.ranks), 0).max(axis=0)


@dataclass(frozen=True)
class Newest:
    """Finds the newest entries, whatever is asked."""

    name: str = "newest"

    def search(self, request):
        entries = sorted(request.entries(), key=lambda one: (one.created_at, one.id))
        return [(one, float(at)) for at, one in enumerate(entries)][::-1][: request.depth]


OWN = nm.Settings(
    retrieval=nm.Retrieval(legs=["text", "vector", Newest()], terms=[length, brevity]),
    scoring=nm.Scoring(
        decay_curve=linear,
        fusion=best_leg,
        w_recency=0.1,
        weights={"length": 0.2, "brevity": 0.5, "newest": 2},
    ),
)


def parts_of(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    return [
        widget,
        *(one for child in getattr(widget, "children", ()) for one in parts_of(child)),
    ]


def shown(explorer: object) -> str:
    return "\n".join(
        one.value for one in parts_of(explorer.widget) if isinstance(one, ipywidgets.HTML)
    )


@pytest.fixture
def explorer(corpus: nm.Corpus) -> RankingExplorer:
    made = RankingExplorer(corpus, embedder="hashing", settings=OWN)
    assert made.wait(60)
    return made


def searched(corpus: nm.Corpus, settings: nm.Settings, *, limit: int = 10) -> nm.Hits:
    embedder = nm.open_embedder("hashing")
    store = nm.open_store("sqlite::memory:")
    store.put(nm.embed(corpus.entries, embedder))
    query = corpus.queries[0]
    asked = {"scope": query.scope, "now": query.now, "as_of": query.as_of, "limit": limit}
    return nm.Search(store, embedder, settings=settings)(query.text, **asked)


def assert_same(hits: nm.Hits, expected: nm.Hits) -> None:
    assert [(hit.entry.id, hit.score) for hit in hits] == [
        (hit.entry.id, hit.score) for hit in expected
    ]


def test_it_ranks_as_search_does(explorer: RankingExplorer, corpus: nm.Corpus) -> None:
    assert explorer.settings == OWN
    assert_same(explorer.hits, searched(corpus, OWN))
    explorer.controls["w_length"].value = "0.5"
    explorer.controls["w_newest"].value = "0.25"
    explorer.controls["depth"].value = "5"
    explorer.controls["fusion"].value = "convex"
    moved = OWN.replace(w_length=0.5, w_newest=0.25, depth=5, fusion="convex")
    assert explorer.settings == moved
    assert_same(explorer.hits, searched(corpus, moved))
    explorer.controls["fusion"].value = "best_leg"
    explorer.controls["decay_curve"].value = "linear"
    assert explorer.settings.scoring.fusion is best_leg


def test_it_is_measured_as_a_sweep_measures_it(explorer: RankingExplorer, corpus: nm.Corpus):
    explorer.controls["w_length"].value = "0.5"
    assert explorer.wait(60)
    swept = ev.sweep(
        corpus, embedder="hashing", settings=OWN, grid={"w_length": [0.5]}, measures=["nDCG@10"]
    )
    first = explorer.standing.measures[0]
    assert first.here == pytest.approx(swept.frame["nDCG@10"][0])
    assert first.baseline == pytest.approx(swept.frame["nDCG@10"][swept.baseline_index()])


def test_every_addend_is_a_segment_of_the_bar(explorer: RankingExplorer) -> None:
    for row, hit in zip(explorer.ranking.rows, explorer.hits, strict=True):
        explained = explorer.hits.explain(hit.rank)
        assert list(row.contributions) == explained["term"].tolist()
        assert list(row.contributions.values()) == explained["contribution"].tolist()
        fused = row.parts[0].raw + 0.5 * next(
            part.raw for part in row.parts if part.term == "brevity"
        )
        assert fused == pytest.approx(row.relevance)
        assert [leg.name for leg in row.legs] == ["text", "vector", "newest"]
        assert row.legs[2].rank > 0
    table = explorer._shown.value
    for look, term in (("own0", "length"), ("own1", "brevity")):
        assert f"<span class='key {look}'></span>{term}" in table
        assert f"<span class='{look}' style='width:" in table
    assert "newest #1" in table
    first = re.search(r"<div class='bar'.*?</div>", table, re.DOTALL).group()
    assert "length " in first
    # What age took stands after what the score is made of.
    assert first.rindex("class='own1'") < first.index("class='lost'")


def test_a_term_without_weight_takes_no_room_and_keeps_the_looks_of_others(
    explorer: RankingExplorer,
) -> None:
    explorer.controls["w_length"].value = "0"
    assert "own0" not in explorer._shown.value
    assert "<span class='key own1'></span>brevity" in explorer._shown.value


def test_a_hit_is_taken_apart_leg_by_leg(explorer: RankingExplorer) -> None:
    explorer.explained.value = 2
    text = explorer._explain._text.value
    for line in ("text leg", "vector leg", "newest leg × 2", "+ brevity × 0.5", "length × 0.2"):
        assert f"<th scope='row'>{line}</th>" in text
    assert "Decay is linear, at 0.001 per hour." in text
    assert "#2 stands" in text


def test_a_candidate_that_is_no_hit_says_why(explorer: RankingExplorer) -> None:
    explorer.limit.value = 3
    fifth = next(row for row in explorer.ranking.further if row.rank == 5)
    assert f"no hit  #5  {fifth.entry.content[:10]}" in [
        label[: len("no hit  #5  ") + 10] for label, _ in explorer.explained.options
    ]
    explorer.explained.value = fifth.entry.id
    text = explorer._explain._text.value
    assert "No hit:</b> cut: rank 5, and the limit is 3" in text
    assert "#5 stands" in text
    assert "below #3" in text
    # The entry stays chosen as the settings move, and when it becomes a hit.
    explorer.limit.value = 5
    assert explorer.explained.value == 5
    assert "No hit" not in explorer._explain._text.value


def test_a_relevant_entry_that_no_leg_found_says_why(corpus: nm.Corpus) -> None:
    settings = nm.Settings(retrieval=nm.Retrieval(depth=1, legs=["text"]))
    explorer = RankingExplorer(corpus, settings=settings)
    missing = [one for one in explorer.ranking.missing if one.rank is None]
    assert missing
    explorer.explained.value = missing[0].doc_id
    text = explorer._explain._text.value
    assert "outside of the candidates: text rank" in text
    assert "would make it one" in text
    assert "<th scope='row'>importance</th>" in text
    assert explorer.wait(60)


def test_a_part_that_fails_is_said_and_the_last_ranking_stays(corpus: nm.Corpus) -> None:
    @nm.term
    def broken(candidates):
        return np.array([1.0])

    settings = nm.Settings(retrieval=nm.Retrieval(terms=[broken]))
    explorer = RankingExplorer(corpus, settings=settings)
    before = explorer.hits
    explorer.controls["w_broken"].value = "0.5"
    assert "term &#x27;broken&#x27;" in shown(explorer)
    assert explorer.hits is before
    explorer.controls["w_broken"].value = "0"
    assert "⚠" not in shown(explorer)
    assert explorer.wait(60)


def test_a_baseline_may_be_settings_of_their_own(corpus: nm.Corpus) -> None:
    baseline = nm.Settings(
        retrieval=nm.Retrieval(depth=5), scoring=nm.Scoring(decay_lambda=0, w_recency=0)
    )
    explorer = RankingExplorer(corpus, embedder="hashing", baseline=baseline)
    before = [hit.entry.id for hit in searched(corpus, baseline)]
    for row in explorer.ranking.rows:
        wanted = before.index(row.entry.id) + 1 if row.entry.id in before else None
        assert row.before == wanted
    explorer.reset.click()
    assert explorer.settings == baseline
    assert_same(explorer.hits, searched(corpus, baseline))
    assert explorer.wait(60)
    assert {one.difference for one in explorer.standing.measures} == {0.0}


def test_a_store_may_be_made_for_each_partition(corpus: nm.Corpus) -> None:
    divided = nm.Corpus(
        "divided",
        entries=corpus.entries,
        queries=corpus.queries,
        qrels=corpus.qrels,
        card=corpus.card,
        partition_field="user_id",
    )
    opened: list[str] = []

    def store_of(partition: Partition) -> nm.Store:
        opened.append(partition.name)
        return nm.open_store("memory:")

    explorer = RankingExplorer(divided, store=store_of)
    assert {hit.entry.user_id for hit in explorer.hits} == {"ada"}
    assert explorer.wait(60)
    assert explorer.standing is not None
    assert set(opened) == {"ada", "bo"}


def test_settings_as_code_are_those_shown(
    corpus: nm.Corpus, own_code: Callable[..., object]
) -> None:
    explorer = RankingExplorer(corpus, settings=nm.Settings(injection=nm.Injection(inject_limit=2)))
    explorer.code.value = True
    explorer.controls["w_importance"].value = "0.1"
    explorer.controls["depth"].value = "50"
    areas = [one for one in parts_of(explorer.widget) if isinstance(one, ipywidgets.Textarea)]
    place: dict = {}
    exec(areas[0].value, place)
    assert place["settings"] == explorer.settings
    assert nm.Settings.from_toml(areas[1].value) == explorer.settings
    # The least score that an agent is shown is in proportion to the weights.
    assert explorer.settings.injection.inject_min_score == pytest.approx(0.3 * 0.6 / 0.8)
    assert explorer.wait(60)


def test_settings_and_a_part_beside_them(corpus: nm.Corpus) -> None:
    scoring = nm.Scoring(decay_lambda=0)
    explorer = RankingExplorer(corpus, settings=nm.Settings(), scoring=scoring)
    assert explorer.scoring == scoring
    with pytest.raises(InvalidParameter, match="give it as scoring="):
        RankingExplorer(corpus, settings=scoring)
    assert explorer.wait(60)


# Sweeps


def test_a_sweep_over_depths_and_legs(corpus: nm.Corpus) -> None:
    grid = {
        "depth": [2, 10],
        "legs": [["text"], ["text", "vector"], ["text", Newest()]],
        "w_importance": [0, 0.3],
    }
    swept = ev.sweep(corpus, embedder="hashing", grid=grid, measures=["nDCG@10", "RR"])
    assert swept.n_tried == 12 < len(swept.settings)
    explorer = SweepExplorer(swept)
    assert set(explorer.grid.axes) == set(grid)
    assert explorer.grid.axes["legs"].labels == ("text", "text, newest", "text, vector")
    explorer.x.value, explorer.y.value = "depth", "legs"
    assert len(explorer.cells) == 6
    for row, column in explorer.cells:
        explorer.y_value.index, explorer.x_value.index = row, column
        explorer.measure.value = "RR"
        changes = explorer.grid.changes("RR", explorer.setting)
        for query, _ in changes:
            _, here = explorer.grid.rankings(query, explorer.setting)
            run = swept.run(explorer.setting)
            own = run[run["query_id"] == swept.queries[query].query_id].head(10)
            assert [one.doc_id for one in here] == own["doc_id"].tolist()
            assert [one.score for one in here] == own["score"].tolist()
        assert f"depth={explorer.settings.retrieval.depth}" in shown(explorer)
    explorer.code.value = True
    assert f"depth={explorer.settings.retrieval.depth}," in explorer._python.value


def test_the_baseline_outside_of_the_grid_spoils_no_cell(corpus: nm.Corpus) -> None:
    grid = {"half_life_days": [7, 365], "w_importance": [0, 0.1], "w_recency": [0]}
    swept = ev.sweep(corpus, grid=grid, measures=["RR"])
    assert swept.baseline == swept.n_tried == 4
    found = SweepGrid(swept)
    assert [axis.values for axis in found.axes.values()] == [(7, 365), (0, 0.1)]
    cells = found.cells("RR", "half_life_days", "w_importance", fixed={})
    assert sorted(cells.ravel()) == [0, 1, 2, 3]
    explorer = SweepExplorer(swept)
    assert explorer.setting == swept.frame["RR"][:4].argmax()
    assert "it was not among what was tried" in shown(explorer)
    assert not any("○" in button.description for button in explorer.cells.values())
    mean = f"{swept.frame['RR'][4]:.3f}".removeprefix("0")
    assert f"Baseline, RR {mean}:" in shown(explorer)


def test_functions_and_weights_of_ones_own_are_axes(corpus: nm.Corpus) -> None:
    grid = {"decay_curve": [linear, "power"], "fusion": ["rrf", best_leg], "w_length": [0, 0.4]}
    settings = nm.Settings(retrieval=nm.Retrieval(terms=[length]))
    swept = ev.sweep(corpus, settings=settings, grid=grid, measures=["RR"])
    axes = SweepGrid(swept).axes
    assert axes["decay_curve"].labels == ("linear", "power")
    assert axes["fusion"].labels == ("best_leg", "rrf")
    assert axes["w_length"].labels == ("0", "0.4")
    explorer = SweepExplorer(swept)
    assert explorer.settings in swept.settings


def test_functions_of_one_name_are_numbered(corpus: nm.Corpus) -> None:
    def made(factor: float):
        return lambda hours, decay_lambda: np.exp(-factor * decay_lambda * hours)

    fast, slow = made(3), made(0)
    explorer = RankingExplorer(
        corpus, scoring=nm.Scoring(decay_curve=fast), baseline=nm.Scoring(decay_curve=slow)
    )
    texts = explorer.controls["decay_curve"].options[-2:]
    assert [text.rpartition(".")[2] for text in texts] == ["<lambda> (1)", "<lambda> (2)"]
    explorer.controls["decay_curve"].value = texts[1]
    assert explorer.scoring.decay_curve is slow
    assert explorer.wait(60)

    grid = {"decay_curve": [fast, slow], "decay_lambda": [1e-4, 1e-2], "w_recency": [0]}
    swept = SweepExplorer(ev.sweep(corpus, grid=grid, measures=["RR"]))
    labels = swept.grid.axes["decay_curve"].labels
    assert labels == texts
    headings = [one.value for one in swept._grid.children if isinstance(one, ipywidgets.HTML)]
    for at in (1, 2):
        assert any(f"&lt;lambda&gt; ({at})</small>" in heading for heading in headings)
    assert "<lambda>" not in shown(swept)


def test_legs_of_one_name_are_told_apart_by_what_they_are_made_with(corpus: nm.Corpus) -> None:
    @dataclass(frozen=True)
    class Last:
        skipped: int = 0
        name: str = "last"

        def search(self, request):
            return Newest().search(request)[self.skipped :]

    legs = [["text", Last(1)], ["text", Last(2)]]
    swept = ev.sweep(corpus, grid={"legs": legs}, measures=["RR"])
    labels = SweepGrid(swept).axes["legs"].labels
    assert [label.endswith(f"Last(skipped={at})") for at, label in enumerate(labels, 1)] == [
        True
    ] * 2


def test_a_result_that_was_read_is_explored(corpus: nm.Corpus, tmp_path: Path) -> None:
    grid = {"decay_lambda": [0, 1e-3], "w_importance": [0, 0.9], "w_recency": [0]}
    swept = ev.sweep(corpus, grid=grid, measures=["RR"])
    swept.write(tmp_path)
    explorer = SweepExplorer(ev.read_result(tmp_path))
    own = SweepExplorer(swept)
    assert explorer.settings.scoring == own.settings.scoring
    assert [one.description for one in explorer.cells.values()] == [
        one.description for one in own.cells.values()
    ]
    explorer.x_value.index, explorer.y_value.index = 0, 1
    assert explorer.changed.options
    assert "sweep again to see rankings" in shown(explorer)


# Decay


def test_a_curve_of_ones_own_is_designed(corpus: nm.Corpus) -> None:
    designer = DecayDesigner(corpus, settings=OWN)
    assert designer.settings == OWN
    assert "linear, decay_lambda 0.001" in shown(designer)
    days = designer._memories.since_access / 24
    evergreen = designer._memories.evergreen
    expected = np.where(evergreen, 1, np.maximum(0.1, 1 - 0.001 * days * 24 / 2))
    assert designer.shares == pytest.approx(expected)
    designer.controls["decay_curve"].value = "power"
    assert designer.settings == OWN.replace(decay_curve="power")
    designer.controls["decay_curve"].value = "linear"
    assert designer.settings == OWN
