"""Sweeps over how candidates are found: each way once, and ranked as Search ranks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.stores.memory import MemoryStore

EMBEDDER = nm.open_embedder("hashing")
GRID = {"legs": [["text"], ["text", "vector"]], "depth": [5, 30], "rrf_k": [5, 60]}


class Counting(MemoryStore):
    """Counts what is asked of it, by depth."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[str, int]] = Counter()
        self.puts = 0

    def put(self, entries):
        self.puts += 1
        return super().put(entries)

    def search_text(self, query, **options):
        self.asked["text", options["limit"]] += 1
        return super().search_text(query, **options)

    def search_vector(self, vector, **options):
        self.asked["vector", options["limit"]] += 1
        return super().search_vector(vector, **options)


@nm.term(decays=True)
def wordy(candidates):
    return np.array([len(entry.content) for entry in candidates.entries]) / 100


@nm.term
def often(candidates, *, recency_lambda):
    return np.exp(-recency_lambda * candidates.age_hours) / (1 + candidates.access_count)


@dataclass(frozen=True)
class Newest:
    at_most: int = 4
    name: str = "newest"

    def search(self, request):
        newest = sorted(request.entries(), key=lambda one: (one.created_at, one.id), reverse=True)
        best = newest[: min(self.at_most, request.depth)]
        return [(one.id, 1 / place) for place, one in enumerate(best, 1)]


@dataclass(frozen=True)
class Lengths:
    """Scores alone, and of long texts has nothing to say."""

    name: str = "lengths"

    def score(self, request, entries):
        lengths = np.array([len(one.content) for one in entries], dtype=float)
        return np.where(lengths > 30, np.nan, lengths)


def test_each_way_is_found_once(corpus: nm.Corpus) -> None:
    store = Counting()
    swept = ev.sweep(corpus, store=store, embedder=EMBEDDER, grid=GRID, measures=["AP"])
    n = swept.n_queries
    # The baseline retrieves as deep as the default: 30, in both legs, which is one of these.
    assert dict(store.asked) == {
        ("text", 5): 2 * n,
        ("text", 30): 3 * n,
        ("vector", 5): n,
        ("vector", 30): 2 * n,
    }
    assert store.puts == 1
    assert len(swept.candidates) == 5
    assert (swept.n_tried, swept.baseline_index()) == (8, 8)


def test_the_table_shows_how_was_found(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, store="memory", embedder=EMBEDDER, grid=GRID, measures=["AP"])
    frame = swept.frame
    assert list(frame.columns[:3]) == ["depth", "legs", "rrf_k"]
    assert frame["legs"].head(4).tolist() == ["text", "text", "text,vector", "text,vector"]
    for at in (0, 3, 7):
        alone = ev.sweep(
            corpus, store="memory", embedder=EMBEDDER, grid={}, settings=swept.settings[at]
        )
        pd.testing.assert_frame_equal(alone.run(0), swept.run(at), check_exact=True)
        assert alone.frame["nDCG@10"][0] != 0


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.IdleParameterWarning")
def test_several_grids_are_one_sweep(corpus: nm.Corpus) -> None:
    grids = [{"rrf_k": [5, 60]}, {"depth": [5], "rrf_k": [60, 90]}, {"rrf_k": [60]}]
    swept = ev.sweep(corpus, store="memory", grid=grids, measures=["AP"])
    assert [(one.retrieval.depth, one.scoring.rrf_k) for one in swept.settings] == [
        *((None, 5), (None, 60), (5, 60), (5, 90)),
    ]
    assert swept.n_tried == 4
    assert swept.baseline_index() == 1
    apart = [ev.sweep(corpus, store="memory", grid=one, measures=["AP"]) for one in grids[:2]]
    tried = np.concatenate([one.values[: one.n_tried] for one in apart])
    np.testing.assert_array_equal(swept.values, tried)


@pytest.fixture(scope="module")
def stored(corpus: nm.Corpus) -> MemoryStore:
    store = MemoryStore()
    store.put(nm.embed(corpus.entries, EMBEDDER))
    return store


ways = st.builds(
    nm.Retrieval,
    legs=st.sampled_from(
        [None, ["vector"], ["text", Newest()], [Newest(2), "vector"], ["text", Lengths()]]
    ),
    depth=st.sampled_from([None, 1, 7]),
    terms=st.sampled_from([(), (often,), (wordy, often)]),
)
scorings = st.builds(
    nm.Scoring,
    decay_lambda=st.sampled_from([0, 1e-3]),
    w_importance=st.sampled_from([0, 0.3]),
    w_recency=st.sampled_from([None, 0.2]),
    recency_lambda=st.sampled_from([0.01, 1e-4]),
    rrf_k=st.sampled_from([5, 60]),
    fusion=st.sampled_from(["rrf", "rrf_raw", "convex"]),
    update_penalty=st.sampled_from([0, 0.5]),
    update_similarity=st.just(0.1),
)
WEIGHTS = {"newest": [0.3, 2.0], "lengths": [0.5], "often": [0, 0.4], "wordy": [-0.2, 0.7]}


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.BuryingDecayWarning")
def test_any_setting_ranks_as_search_does(corpus: nm.Corpus, stored: MemoryStore) -> None:
    @settings(max_examples=25)
    @given(ways, scorings, st.data())
    def holds(way: nm.Retrieval, scoring: nm.Scoring, data: st.DataObject) -> None:
        own = [name for name in (*way.leg_names, *way.term_names) if name in WEIGHTS]
        weights = {name: data.draw(st.sampled_from(WEIGHTS[name])) for name in own}
        chosen = nm.Settings(retrieval=way, scoring=scoring.replace(weights=weights))
        swept = ev.sweep(
            corpus, store=stored, embedder=EMBEDDER, grid={}, settings=chosen, measures=["AP"]
        )
        measured = [query for query in corpus.queries if query.query_id in _ids(swept)]
        search = nm.Search(stored, EMBEDDER, settings=swept.settings[0])
        found = ev.run_queries(search, measured)
        pd.testing.assert_frame_equal(swept.run(0), found, check_exact=True)

    holds()


def _ids(swept: ev.SweepResult) -> set[str]:
    return {query.query_id for query in swept.queries}


def test_the_order_of_a_grid_does_not_change_the_comparison(corpus: nm.Corpus) -> None:
    days = [7, 365, 3650]
    boards = [
        ev.sweep(corpus, store="memory", grid={"half_life_days": order}, measures=["AP"])
        for order in (days, days[::-1])
    ]
    assert {one.baseline_settings for one in boards} == {nm.Settings()}
    columns = ["half_life_days", "AP", "difference", "low", "high"]
    first, second = (one.leaderboard()[columns] for one in boards)
    pd.testing.assert_frame_equal(first, second)
    assert math.isclose(
        first["difference"].iloc[0], first["AP"].iloc[0] - boards[0].values[3].mean()
    )
    tuned = [one.cross_validated().interval.difference for one in boards]
    assert tuned[0] == pytest.approx(tuned[1])


def test_a_store_of_ones_own_for_each_part(divided_corpus: nm.Corpus, tmp_path: Path) -> None:
    made: dict[str, Counting] = {}

    def opened(partition) -> Counting:
        assert {entry.user_id for entry in partition.entries} == {partition.name}
        return made.setdefault(partition.name, Counting())

    grid = {"depth": [5, 30]}
    own = ev.sweep(divided_corpus, store=opened, grid=grid, measures=["AP"])
    assert sorted(made) == ["ada", "bo", "cyd"]
    assert all(one.puts == 1 for one in made.values())
    ours = ev.sweep(divided_corpus, store="memory", grid=grid, measures=["AP"])
    np.testing.assert_array_equal(own.values, ours.values)
    with pytest.raises(nm.InvalidParameter, match="must return a store, got None"):
        ev.sweep(divided_corpus, store=lambda partition: None, grid={})


def test_a_way_that_was_not_found_is_not_swept_again(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, store="memory", grid={"depth": [5, 30]}, measures=["AP"])
    again = ev.sweep_again(swept, grid={"depth": [5], "rrf_k": [5]})
    assert again.settings[0].retrieval.depth == 5
    with pytest.raises(nm.InvalidParameter, match="retrieves in another way: call sweep"):
        ev.sweep_again(swept, grid={"depth": [7]})
    assert replace(swept, settings=swept.settings).best() == swept.best()


def test_every_part_is_loaded_by_its_name(own_code: Callable[..., Path], corpus: nm.Corpus) -> None:
    own_code(
        swept_parts="""
        import nousmem as nm

        @nm.term
        def half(candidates):
            return candidates.importance / 2

        def summed(legs):
            return (legs.ranks > 0).sum(axis=0)
        """
    )
    swept = ev.sweep(
        corpus,
        store="memory",
        grid={"terms": [["swept_parts:half"]], "w_half": [0, 1], "fusion": ["swept_parts:summed"]},
        measures=["AP"],
    )
    assert swept.frame["terms"].tolist() == ["half", "half", ""]
    assert swept.frame["fusion"].tolist() == ["swept_parts:summed"] * 2 + ["rrf"]
    assert len(set(swept.frame["AP"])) > 1


def test_the_depth_that_none_stands_for_is_not_found_again(corpus: nm.Corpus) -> None:
    opened: list[Counting] = []

    def store_of(_) -> Counting:
        opened.append(Counting())
        return opened[-1]

    with pytest.warns(ev.IdleParameterWarning, match="depth"):
        swept = ev.sweep(corpus, store=store_of, grid={"depth": [None, 30]}, measures=["AP"])
    (store,) = opened
    assert store.asked == {("text", 30): len(swept.queries)}
    assert swept.n_tried == 2
    assert swept.baseline == 0
    assert swept.values[0].tolist() == swept.values[1].tolist()
