"""Ten parts of a user's own, each in at most 15 lines, each wherever the built-in ones work."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import ir_measures
import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev

MEASURES = ["nDCG@10", "R@5"]
DECAYS = {"decay_lambda": [0, 1e-3], "w_recency": [0]}
EMBEDDER = nm.open_embedder("hashing")


def lines_of(node: ast.AST) -> int:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return node.end_lineno - first + 1


def test_each_takes_at_most_fifteen_lines(mine: ModuleType) -> None:
    tree = ast.parse(Path(mine.__file__).read_text())
    parts = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    assert len(parts) >= 9
    assert {one.name: lines_of(one) for one in parts if lines_of(one) > 15} == {}


def test_it_uses_public_names_only(mine: ModuleType) -> None:
    source = inspect.getsource(mine)
    imports = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.ImportFrom)]
    assert {one.module for one in imports} <= {"dataclasses", "nousmem"}


def searched(corpus: nm.Corpus, settings: nm.Settings, embedder=EMBEDDER):
    store = nm.open_store("sqlite::memory:")
    store.put(nm.embed(corpus.entries, embedder) if embedder else corpus.entries)
    return nm.Search(store, embedder, settings=settings)


def extended(mine: ModuleType) -> dict[str, tuple[nm.Settings, dict]]:
    """Settings with each part, and a grid over something of it."""
    scoring, retrieval = nm.Scoring(decay_lambda=2e-4, w_recency=0), nm.Retrieval
    return {
        "term": (
            nm.Settings(retrieval=retrieval(terms=[mine.frequency]), scoring=scoring),
            {"w_frequency": [0, 0.1, 0.4], "decay_lambda": [0, 1e-4]},
        ),
        "term that decays": (
            nm.Settings(retrieval=retrieval(terms=[mine.brevity, mine.frequency]), scoring=scoring),
            {"w_brevity": [0.2, 1], "w_frequency": [0, 0.3], "update_penalty": [0, 0.2]},
        ),
        "curve": (
            nm.Settings(scoring=scoring.replace(decay_curve=mine.linear)),
            {"decay_curve": [mine.linear, "power"], "decay_lambda": [1e-4, 1e-3]},
        ),
        "fusion": (
            nm.Settings(scoring=scoring.replace(fusion=mine.reciprocal_score)),
            {"fusion": [mine.reciprocal_score, "rrf", "convex"], "w_text": [1, 0.3]},
        ),
        "leg": (
            nm.Settings(
                retrieval=retrieval(legs=["text", "vector", mine.MetadataLeg()]), scoring=scoring
            ),
            {"w_metadata": [0, 1, 3], "rrf_k": [10, 60]},
        ),
        "update rule": (
            nm.Settings(scoring=scoring.replace(update_rule=mine.ByCount(0.2))),
            {"update_rule": [mine.ByCount(0.05), mine.ByCount(0.3), "freshness"]},
        ),
    }


PARTS = ["term", "term that decays", "curve", "fusion", "leg", "update rule"]


@pytest.mark.parametrize("part", PARTS)
def test_a_sweep_ranks_as_search_does_in_both_engines(
    corpus: nm.Corpus, mine: ModuleType, part: str
) -> None:
    settings, grid = extended(mine)[part]
    found = {
        engine: ev.sweep(
            corpus,
            embedder=EMBEDDER,
            grid=grid,
            measures=MEASURES,
            settings=settings,
            engine=engine,
        )
        for engine in ("numpy", "numba")
    }
    swept = found["numpy"]
    assert swept.values.tobytes() == found["numba"].values.tobytes()
    assert swept.frame["nDCG@10"].nunique() > 1
    for row, one in enumerate(swept.settings):
        run = ev.run_queries(searched(corpus, one), corpus.queries)
        own = swept.run(row)
        assert own.to_dict("list") == run[run["query_id"].isin(own["query_id"])].to_dict("list")


@pytest.mark.parametrize("part", PARTS)
def test_explained_it_adds_up_exactly(corpus: nm.Corpus, mine: ModuleType, part: str) -> None:
    settings, grid = extended(mine)[part]
    weights = {name: values[-1] for name, values in grid.items() if name.startswith("w_")}
    search = searched(corpus, settings.replace(**weights))
    for query in corpus.queries[:5]:
        hits = search(query.text, scope=query.scope, now=query.now)
        assert hits
        for hit in hits:
            total = 0.0
            for contribution in hits.explain(hit.rank)["contribution"]:
                total += contribution
            assert total == hit.score
    names = {name.removeprefix("w_") for name in weights} - {"text"}
    told = set(hits.explain(1)["term"]) | {one.removesuffix("_rank") for one in hits.to_frame()}
    assert names <= told


@pytest.mark.parametrize("part", PARTS)
def test_it_travels_through_a_file(
    corpus: nm.Corpus, mine: ModuleType, part: str, tmp_path: Path
) -> None:
    settings, grid = extended(mine)[part]
    assert nm.Settings.from_toml(settings.to_toml()) == settings
    swept = ev.sweep(corpus, embedder=EMBEDDER, grid=grid, measures=MEASURES, settings=settings)
    swept.write(tmp_path / "out")
    read = nm.Settings.from_toml(tmp_path / "out")
    assert read == swept.best()
    assert read.embedder == EMBEDDER.fingerprint
    again = ev.read_result(tmp_path / "out")
    assert again.best() == swept.best()
    judged = swept.cross_validated()
    assert judged.mean == pytest.approx(judged.values.mean())


@pytest.mark.parametrize("part", PARTS)
def test_it_is_compared_and_replayed(corpus: nm.Corpus, mine: ModuleType, part: str) -> None:
    settings, grid = extended(mine)[part]
    with pytest.warns(ev.FewQueriesWarning):
        table = ev.compare(
            {"default": nm.Settings(), "own": settings}, corpus, MEASURES, embedder=EMBEDDER
        )
    assert table["name"].tolist() == ["own", "own"]
    swept = ev.sweep(corpus, embedder=EMBEDDER, grid=grid, measures=MEASURES, settings=settings)
    assert ev.replay(swept, limit=5).values.shape == swept.values.shape


def test_a_cross_encoder_leg(corpus: nm.Corpus, cross_encoder: Path) -> None:
    leg = nm.CrossEncoderLeg(str(cross_encoder), cache=False)
    retrieval = nm.Retrieval(legs=["text", leg], depth=8)
    swept = ev.sweep(
        corpus, grid={"w_cross_encoder": [0, 2]}, measures=MEASURES, retrieval=retrieval
    )
    search = searched(corpus, swept.settings[1], embedder=None)
    query = corpus.queries[0]
    hits = search(query.text, scope=query.scope, now=query.now, limit=None)
    own = swept.run(1)
    assert [hit.entry.id for hit in hits] == own[own["query_id"] == query.query_id][
        "doc_id"
    ].tolist()
    frame = hits.to_frame()
    assert frame["cross_encoder_rank"].notna().all()
    assert "cross_encoder rank" in hits.explain(1)["detail"].iloc[0]


def test_err_as_a_function(corpus: nm.Corpus, mine: ModuleType) -> None:
    swept = ev.sweep(corpus, grid=DECAYS, measures=["nDCG@10", mine.ERR])
    assert str(swept.measures[1]) == "ERR@10"
    theirs = ev.evaluate(swept.run(0), corpus.qrels, [mine.ERR])
    assert float(theirs["ERR@10"].iloc[0]) == pytest.approx(swept.frame["ERR@10"][0])


def test_rbp_of_ir_measures(corpus: nm.Corpus) -> None:
    measure = ir_measures.RBP(p=0.7, rel=1)
    swept = ev.sweep(corpus, grid=DECAYS, measures=[measure, "R@5"])
    for row in (0, 1):
        run = swept.run(row)
        expected = {
            one.query_id: one.value
            for one in ir_measures.iter_calc(
                [measure],
                corpus.qrels.astype({"relevance": int}),
                run[["query_id", "doc_id", "score"]],
            )
        }
        own = swept.per_query(row)
        for query_id, value in zip(own["query_id"], own[str(swept.measures[0])], strict=True):
            assert value == pytest.approx(expected[query_id], abs=1e-12)


# One question, which every setting answers.
@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_a_corpus_in_an_experiment_file(mine: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'measures = ["nDCG@10", "my_ranking:ERR"]\n[corpus]\nname = "my_ranking:shed"\n'
        '[retrieval]\nterms = ["my_ranking:frequency"]\n'
        '[scoring]\ndecay_curve = "my_ranking:linear"\n'
        "w_recency = 0\n[grid]\nw_frequency = [0, 0.2]\ndecay_lambda = [0, 1e-4]\n",
        encoding="utf-8",
    )
    experiment = ev.read_experiment(file)
    result = ev.run_experiment(experiment, out=tmp_path / "out")
    assert {"w_frequency", "ERR@10"} <= set(result.frame.columns)
    taken_up = ev.run_experiment(experiment, out=tmp_path / "out")
    assert taken_up.frame.equals(result.frame)


def test_a_store_factory_on_a_divided_corpus(corpus: nm.Corpus, mine: ModuleType) -> None:
    divided = nm.Corpus(
        corpus.name,
        entries=corpus.entries,
        queries=corpus.queries,
        qrels=corpus.qrels,
        card=corpus.card,
        partition_field="user_id",
    )
    opened: list[str] = []

    def store_of(partition):
        opened.append(partition.name)
        return mine.store_of(partition)

    own = ev.sweep(divided, store=store_of, grid=DECAYS, measures=MEASURES)
    assert sorted(opened) == ["jonas", "mira"]
    named = ev.sweep(divided, store="memory", grid=DECAYS, measures=MEASURES)
    np.testing.assert_array_equal(own.values, named.values)
    with pytest.raises(nm.InvalidParameter, match="must return a store"):
        ev.sweep(divided, store=lambda partition: None, grid={})


@pytest.mark.parametrize("part", PARTS)
def test_the_explorer_shows_it(corpus: nm.Corpus, mine: ModuleType, part: str) -> None:
    from nousmem.viz import RankingExplorer

    settings, grid = extended(mine)[part]
    weights = {name: values[-1] for name, values in grid.items() if name.startswith("w_")}
    explorer = RankingExplorer(corpus, embedder=EMBEDDER, settings=settings.replace(**weights))
    explorer.query = corpus.queries[0].query_id
    query = corpus.queries[0]
    hits = searched(corpus, settings.replace(**weights))(
        query.text, scope=query.scope, now=query.now, limit=None
    )
    assert [hit.entry.id for hit in explorer.hits] == [hit.entry.id for hit in hits][
        : len(explorer.hits)
    ]
