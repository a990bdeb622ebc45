"""The ranking explorer, worked as a kernel would: values set, buttons clicked."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import ipywidgets
import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import InvalidParameter, MissingDependency, UnknownName
from nousmem.viz import RankingExplorer
from nousmem.viz.explorer._rankings import movement
from nousmem.viz.explorer._sources import open_sources

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def descendants(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    inner = [one for child in getattr(widget, "children", ()) for one in descendants(child)]
    return [widget, *inner]


def shown(explorer: object) -> str:
    parts = descendants(explorer.widget)
    return "\n".join(one.value for one in parts if isinstance(one, ipywidgets.HTML))


def ids(hits: nm.Hits) -> list[str]:
    return [hit.entry.id for hit in hits]


@pytest.fixture
def explorer(corpus: nm.Corpus) -> RankingExplorer:
    made = RankingExplorer(corpus, embedder="hashing")
    assert made.wait(60)
    return made


def searched(corpus: nm.Corpus, query: nm.Query, scoring: nm.Scoring, **options: object) -> nm.Hits:
    embedder = nm.open_embedder("hashing")
    store = nm.open_store("sqlite::memory:")
    store.put(nm.embed(corpus.entries, embedder))
    retrieval = nm.Retrieval(depth=options.pop("depth", None))
    asked = {"scope": query.scope, "now": query.now, "as_of": query.as_of, **options}
    search = nm.Search(store, embedder, scoring=scoring, retrieval=retrieval)
    return search(query.text, **asked)


def test_it_ranks_as_search_does(explorer: RankingExplorer, corpus: nm.Corpus) -> None:
    query = corpus.queries[0]
    assert ids(explorer.hits) == ids(searched(corpus, query, nm.Scoring()))
    explorer.controls["decay_lambda"].value = "off"
    explorer.controls["w_importance"].value = "0.9"
    explorer.controls["rrf_k"].value = "1"
    explorer.controls["decay_curve"].value = "power"
    explorer.controls["update_penalty"].value = "0.5"
    explorer.limit.value = 5
    scoring = nm.Scoring(
        decay_lambda=0, w_importance=0.9, rrf_k=1, decay_curve="power", update_penalty=0.5
    )
    assert explorer.scoring == scoring
    expected = searched(corpus, query, scoring, limit=5)
    assert ids(explorer.hits) == ids(expected)
    assert [hit.score for hit in explorer.hits] == [hit.score for hit in expected]


def test_another_depth_is_retrieved_again(explorer: RankingExplorer, corpus: nm.Corpus) -> None:
    explorer.controls["depth"].value = "5"
    assert explorer.depth == 5
    assert explorer.settings.retrieval == nm.Retrieval(depth=5)
    assert ids(explorer.hits) == ids(searched(corpus, corpus.queries[0], nm.Scoring(), depth=5))
    assert explorer.wait(60)


def test_a_slider_does_not_read_the_store(
    explorer: RankingExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("nousmem.viz.explorer._sources.Search.find", refuse)
    monkeypatch.setattr("nousmem.viz.explorer._sources.find_candidates", refuse)
    before = explorer.ranking
    for value in ("off", "1 d", "180 d"):
        explorer.controls["decay_lambda"].value = value
    assert explorer.ranking is not before
    assert explorer.wait(60)
    assert explorer.standing is not None


def test_every_part_of_a_score_is_there(explorer: RankingExplorer) -> None:
    explorer.controls["w_recency"].value = "0.2"
    explorer.controls["update_penalty"].value = "0.5"
    ranking = explorer.ranking
    assert [row.rank for row in ranking.rows] == list(range(1, len(ranking.rows) + 1))
    for row, hit in zip(ranking.rows, explorer.hits, strict=True):
        assert row.entry is hit.entry
        assert row.score == hit.score
        assert sum(row.contributions.values()) == pytest.approx(row.score, abs=1e-12)
        assert set(row.contributions) == {"relevance", "importance", "recency"}
        gone = row.lost + row.outdone
        assert row.contributions["relevance"] + gone == pytest.approx(0.5 * row.relevance)


def test_movement_is_against_the_baseline(explorer: RankingExplorer) -> None:
    assert {movement(row.rank, row.before) for row in explorer.ranking.rows} == {"="}
    before = {hit.entry.id: hit.rank for hit in explorer.hits}
    explorer.controls["decay_lambda"].value = "off"
    assert any(row.before != row.rank for row in explorer.ranking.rows)
    for row in explorer.ranking.rows:
        assert row.before == before.get(row.entry.id)
    assert movement(1, 3) == "▲2"
    assert movement(4, 3) == "▼1"
    assert movement(1, None) == "new"


def test_judgements_are_marked_in_words(explorer: RankingExplorer) -> None:
    explorer.controls["decay_lambda"].value = "off"
    explorer.limit.value = 20
    text = shown(explorer)
    assert "● relevant (2)" in text
    assert "↑ newest" in text
    assert "○ judged not relevant" in text
    assert "✕ outdated" in text


def test_what_is_not_shown_is_accounted_for(explorer: RankingExplorer) -> None:
    explorer.controls["decay_lambda"].value = "1 d"
    explorer.controls["w_importance"].value = "1"
    explorer.limit.value = 3
    assert ids(explorer.hits.suppressed) == [row.entry.id for row in explorer.ranking.suppressed]
    assert explorer.ranking.suppressed
    assert "Pushed out by decay" in shown(explorer)
    assert [one.doc_id for one in explorer.ranking.missing] == ["e02"]
    everything = nm.Hits(explorer.hits.candidates, explorer.settings, now=NOW, limit=None)
    assert explorer.ranking.missing[0].rank == ids(everything).index("e02") + 1
    assert "Relevant and not shown" in shown(explorer)


def test_the_measures_follow(explorer: RankingExplorer, corpus: nm.Corpus) -> None:
    explorer.controls["decay_lambda"].value = "off"
    explorer.controls["w_importance"].value = "0"
    assert explorer.wait(60)
    settings = {"decay_lambda": [0.001, 0], "w_importance": [0.3, 0]}
    with pytest.warns(ev.ConfoundedGridWarning):
        swept = ev.sweep(
            corpus,
            embedder="hashing",
            grid=settings,
            measures=["nDCG@10", "R@10", "RR", "Fresh@10"],
        )
    scorings = [one.scoring for one in swept.settings]
    at = scorings.index(explorer.scoring)
    base = scorings.index(nm.Scoring())
    for row in explorer.standing.measures:
        values = swept.values_of(row.name)
        assert row.here == pytest.approx(np.nanmean(values[at]))
        assert row.baseline == pytest.approx(np.nanmean(values[base]))
        assert row.n == (~np.isnan(values[at])).sum()
    assert [row.name for row in explorer.standing.measures][-1] == "Fresh@10"
    assert [row.name for row in explorer.standing.categories] == ["fact", "update"]
    assert "All 3 queries" in shown(explorer)


def test_finding_and_choosing_a_query(explorer: RankingExplorer) -> None:
    assert explorer.query.value == "q1"
    explorer.find.value = "fact TEA"
    assert [query_id for _, query_id in explorer.query.options] == ["q1", "q2"]
    assert explorer.hits.query.startswith("where is")
    explorer.query.value = "q2"
    assert explorer.hits.query == "how hot is tea"
    assert explorer.as_of.value is None
    explorer.find.value = "q3"
    explorer.query.value = "q3"
    assert explorer.scope.value == nm.Scope(user_id="bo")
    assert {hit.entry.user_id for hit in explorer.hits} == {"bo"}
    explorer.find.value = "no such query"
    assert [query_id for _, query_id in explorer.query.options] == ["q3"]


def test_a_question_of_ones_own(explorer: RankingExplorer) -> None:
    explorer.own.value = "bread"
    assert explorer.query.value is None
    assert explorer.hits.query == "bread"
    assert {hit.entry.user_id for hit in explorer.hits} == {"ada"}
    assert explorer.ranking.n_relevant == 0
    explorer.scope.value = nm.GLOBAL
    found = {entry.user_id for entry in explorer.hits.candidates.entries}
    assert found == {"ada", "bo"}
    explorer.query.value = "q2"
    assert explorer.own.value == ""
    explorer.own.value = "   "
    assert explorer.hits.query == "how hot is tea"


def test_another_instant(explorer: RankingExplorer, corpus: nm.Corpus) -> None:
    explorer.as_of.value = (NOW - timedelta(days=100)).replace(tzinfo=None)
    moment = NOW - timedelta(days=100)
    expected = searched(corpus, corpus.queries[0], nm.Scoring(), now=moment, as_of=moment)
    assert ids(explorer.hits) == ids(expected)
    assert explorer.hits.now == moment
    explorer.as_of.value = None
    assert "e02" in {entry.id for entry in explorer.hits.candidates.entries}


def test_explaining_a_hit(explorer: RankingExplorer) -> None:
    explorer.explained.value = 2
    own, other = explorer.ranking.rows[1], explorer.ranking.rows[0]
    assert "#2 stands" in shown(explorer)
    assert "below #1" in shown(explorer)
    gap = other.score - own.score
    assert f"{gap:.3f}".replace("0.", ".", 1) in shown(explorer)
    explorer.limit.value = 3
    assert explorer.explained.value == 2


def test_back_to_the_baseline(corpus: nm.Corpus) -> None:
    start = nm.Scoring(decay_lambda=0.00098, w_importance=0.1, rrf_k=10)
    explorer = RankingExplorer(corpus, scoring=start)
    assert explorer.scoring == start
    explorer.reset.click()
    assert explorer.scoring == nm.Scoring()
    assert explorer.wait(60)


def test_settings_as_code(explorer: RankingExplorer) -> None:
    areas = [one for one in descendants(explorer.widget) if isinstance(one, ipywidgets.Textarea)]
    assert [one.value for one in areas] == ["", ""]
    explorer.code.value = True
    explorer.controls["w_importance"].value = "0.1"
    python, toml = (one.value for one in areas)
    assert "w_importance=0.1," in python
    assert "w_importance = 0.1" in toml


def test_settings_that_do_not_go_together_are_said(explorer: RankingExplorer) -> None:
    explorer.controls["w_text"].value = "0"
    explorer.controls["w_vector"].value = "0"
    assert "no leg is left" in shown(explorer)
    explorer.controls["w_vector"].value = "1"
    assert "no leg is left" not in shown(explorer)


def test_memories_are_text_not_markup(corpus: nm.Corpus) -> None:
    store = nm.open_store("sqlite::memory:")
    store.put([corpus.entries[2].replace(id="<i>e4</i>")])
    explorer = RankingExplorer({"<u>mine</u>": store, "teas": corpus}, now=NOW)
    explorer.own.value = "tea <b onclick='x'>"
    text = re.sub(r"<style>.*?</style>", "", shown(explorer), flags=re.DOTALL)
    for hostile in ("<script", "<img", "<b onclick", "<i>e4", "<u>"):
        assert hostile not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;i&gt;e4" in text


def test_a_store_has_nothing_to_measure(store: nm.Store) -> None:
    explorer = RankingExplorer(store, now=NOW)
    assert explorer.hits is None
    assert "Ask a question" in shown(explorer)
    explorer.own.value = "tea"
    assert len(explorer.hits) == 10
    assert explorer.hits.now == NOW
    assert explorer.standing is None
    assert "nothing is measured" in shown(explorer)
    labels = [label for label, _ in explorer.scope.options]
    assert labels[0] == "everybody's memories"
    assert "user 'ada'" in labels


def test_choosing_between_corpora_and_stores(corpus: nm.Corpus, store: nm.Store) -> None:
    explorer = RankingExplorer({"mine": store, "judged": corpus}, now=NOW)
    assert explorer.source.layout.display is None
    explorer.own.value = "bread"
    explorer.source.value = 1
    assert explorer.hits.query == corpus.queries[0].text
    assert explorer.wait(60)
    assert explorer.standing is not None
    explorer.source.value = 0
    assert explorer.hits is None
    assert explorer.standing is None


def test_each_partition_has_a_store_of_its_own(corpus: nm.Corpus) -> None:
    divided = nm.Corpus(
        "divided",
        entries=corpus.entries,
        queries=corpus.queries,
        qrels=corpus.qrels,
        card=corpus.card,
        partition_field="user_id",
    )
    explorer = RankingExplorer(divided)
    explorer.scope.value = nm.GLOBAL
    assert {hit.entry.user_id for hit in explorer.hits} == {"ada"}
    explorer.query.value = "q3"
    assert {hit.entry.user_id for hit in explorer.hits} == {"bo"}
    assert explorer.wait(60)
    assert explorer.standing is not None


def test_a_failing_measurement_is_said(corpus: nm.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InvalidParameter("no <room> left")

    monkeypatch.setattr("nousmem.viz.explorer._sources.find_candidates", refuse)
    explorer = RankingExplorer(corpus)
    assert explorer.wait(60)
    assert "Not measured: no &lt;room&gt; left" in shown(explorer)
    assert explorer.hits


def test_a_measurement_that_comes_too_late_is_dropped(
    explorer: RankingExplorer, store: nm.Store
) -> None:
    panel, source = explorer._panel, explorer._question.source
    job, standing = (source, nm.Settings()), explorer.standing
    panel.show(open_sources(store, embedder=None)[0], nm.Settings())
    panel._measured(job, standing)
    assert explorer.standing is None
    assert "nothing is measured" in shown(explorer)


def test_a_store_that_fails_is_said_and_forgotten(store: nm.Store) -> None:
    explorer = RankingExplorer(store, now=NOW)
    explorer.own.value = "tea"
    store.close()
    explorer.own.value = "bread"
    assert explorer.hits is None
    assert "⚠" in shown(explorer)
    explorer.controls["decay_lambda"].value = "off"
    assert explorer.hits is None
    assert "⚠" in shown(explorer)


def test_everything_can_be_focused_and_is_named(explorer: RankingExplorer) -> None:
    controls = [
        *(explorer.find, explorer.query, explorer.own, explorer.scope, explorer.as_of),
        *(explorer.limit, explorer.explained, explorer.reset, explorer.code, explorer.more),
        *explorer.controls.values(),
    ]
    inside = descendants(explorer.widget)
    assert all(control in inside for control in controls)
    assert all(control.description for control in controls)
    assert not any(control.disabled for control in controls)
    assert all(getattr(control, "tabbable", None) is not False for control in controls)
    assert "onclick" not in shown(explorer)


def test_moving_makes_no_more_widgets(explorer: RankingExplorer) -> None:
    before = set(map(id, descendants(explorer.widget)))
    explorer.controls["decay_lambda"].value = "off"
    explorer.query.value = "q2"
    assert set(map(id, descendants(explorer.widget))) == before


def test_what_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="expected a Corpus"):
        RankingExplorer(7)
    with pytest.raises(InvalidParameter, match="empty mapping"):
        RankingExplorer({})
    with pytest.raises(UnknownName, match="assistant-year"):
        RankingExplorer("asistant-year")


def test_without_ipywidgets(corpus: nm.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(MissingDependency, match=r"nousmem\[notebooks\]"):
        RankingExplorer(corpus)


def test_importing_it_loads_nothing_heavy() -> None:
    heavy = "{'ipywidgets', 'pandas', 'matplotlib', 'scipy'}"
    code = f"import sys, nousmem.viz; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_store_that_has_changed_is_read_again(store: nm.Store) -> None:
    explorer = RankingExplorer(store, now=NOW)
    explorer.own.value = "tea"
    gone = ids(explorer.hits)[:3]
    store.delete(gone)
    explorer.own.value = "bread"
    explorer.own.value = "tea"
    assert explorer.hits
    assert not set(gone) & set(ids(explorer.hits))


def test_what_finds_nothing_says_where_was_looked(store: nm.Store) -> None:
    explorer = RankingExplorer(store, now=NOW)
    explorer.own.value = "zebra"
    assert "No memory matches these words" in shown(explorer)
    assert "Score =" not in shown(explorer)
    explorer.own.value = "tea"
    explorer.scope.value = nm.Scope(user_id="ada")
    explorer.as_of.value = datetime(1999, 1, 1)  # noqa: DTZ001 (the picker knows no zones)
    assert "Only user &#x27;ada&#x27; and what was there on 1999-01-01 00:00" in shown(explorer)
    explorer.as_of.value = None
    assert "Nothing is found" not in shown(explorer)
    nobody = RankingExplorer(nm.open_store("memory:"))
    nobody.own.value = "tea"
    assert "There are no memories here yet" in shown(nobody)


def test_a_term_without_weight_takes_no_room(explorer: RankingExplorer) -> None:
    assert "recency" not in explorer._shown.value
    explorer.controls["w_recency"].value = "0.2"
    assert "<span class='key recency'></span>recency" in explorer._shown.value
    assert "taken by age" in explorer._shown.value
    explorer.controls["decay_lambda"].value = "off"
    assert "taken by age" not in explorer._shown.value


def test_looking_for_queries_says_how_many_there_are(explorer: RankingExplorer) -> None:
    explorer.find.value = "no such <query>"
    assert "0 of 4 queries match “no such &lt;query&gt;”" in shown(explorer)
    explorer.find.value = "fact"
    assert "2 of 4 queries match" in shown(explorer)
    explorer.find.value = ""
    assert "queries match" not in shown(explorer)


def test_the_instant_is_kept_exactly_and_shown_to_the_second(corpus: nm.Corpus) -> None:
    moment = NOW.replace(second=5, microsecond=720_000)
    query = dataclasses.replace(corpus.queries[0], now=moment, as_of=moment)
    one = corpus.select(corpus.queries[:1])
    explorer = RankingExplorer(dataclasses.replace(one, queries=(query,)))
    assert explorer.as_of.value == moment.replace(tzinfo=None, microsecond=0)
    assert explorer.hits.now == moment
    assert explorer.wait(60)


def test_a_closed_explorer_is_opened_again(explorer: RankingExplorer) -> None:
    pytest.importorskip("IPython")
    explorer.widget.close()
    ipywidgets.Widget.close_all()
    assert explorer.controls["decay_lambda"].comm is None
    explorer._ipython_display_()
    parts = descendants(explorer.widget)
    models = [*parts, *(part.layout for part in parts), explorer.reset.style]
    assert all(one.comm is not None for one in models)
    assert explorer.widget._repr_mimebundle_() is not None
    explorer.controls["decay_lambda"].value = "off"
    assert explorer.scoring.decay_lambda == 0


def test_long_and_odd_texts(store: nm.Store) -> None:
    override = "tea \u202e backwards"
    store.put([nm.Entry("tea " * 5000, id="long" * 60), nm.Entry(override), nm.Entry("שלום tea")])
    explorer = RankingExplorer(store, now=NOW + timedelta(days=1))
    explorer.limit.value = 30
    explorer.own.value = "tea"
    assert len(explorer.hits) > 10
    # What turns the direction of letters ends with the text it is in.
    assert f"<div dir='auto'>{override}</div>" in shown(explorer)
    explorer.own.value = "tea " * 4000
    assert max(map(len, explorer._shown.value.split("<"))) < 1000


def test_fresh_alone_where_nothing_is_marked(corpus: nm.Corpus) -> None:
    unmarked = corpus.select([query for query in corpus.queries if not query.metadata])
    explorer = RankingExplorer(unmarked, measures=["Fresh@10"])
    assert explorer.wait(60)
    assert "Not measured: no query says which memories an update replaced" in shown(explorer)
