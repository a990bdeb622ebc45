"""A replay ranks as a store does that is searched and touched, query after query."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.corpora import Card
from nousmem.evaluation.replays import replaying as module
from nousmem.evaluation.replays.replaying import replay
from nousmem.evaluation.sweeps.values import measure_settings
from nousmem.scoring import over_any_shape

EMBEDDER = nm.open_embedder("hashing")
MEASURES = ["nDCG@10", "R@5", "AP", "Fresh@3"]
SETTINGS = (
    nm.Scoring(),
    nm.Scoring(half_life_days=90, w_importance=0, w_recency=0.2, update_penalty=0.5),
    nm.Scoring(decay_curve="step", half_life_days=30, min_score=0.3, decay_importance=0.5),
    nm.Scoring(decay_lambda=0, recency_lambda=0.001, fusion="convex"),
)


def swept_under(corpus: nm.Corpus, settings=SETTINGS, **options) -> ev.SweepResult:
    options = {"store": "memory", "embedder": EMBEDDER, "measures": MEASURES} | options
    settings = [
        nm.Settings(scoring=one) if isinstance(one, nm.Scoring) else one for one in settings
    ]
    retrievals = {one.retrieval for one in settings}
    found = {
        one: ev.find_candidates(
            corpus, store=options["store"], embedder=options["embedder"], retrieval=one
        )
        for one in retrievals
    }
    base = ev.sweep(corpus, grid={}, **options)
    values = measure_settings(found, settings, base.measures)
    return replace(
        base,
        settings=tuple(settings),
        values=values,
        candidates=found,
        baseline=0,
        n_tried=len(settings),
    )


def values_of(result) -> np.ndarray:
    return result.values  # not a frame's


def asked_queries(swept: ev.SweepResult) -> tuple[nm.Query, ...]:
    return swept.candidates_of(0).queries


def asked_in_turn(corpus, swept, settings, *, url, embedder, limit) -> pd.DataFrame:
    """The witness: one store, searched and then touched, as recall does."""
    store = nm.open_store(url)
    store.put(corpus.entries if embedder is None else nm.embed(corpus.entries, embedder))
    search = nm.Search(store, embedder, settings=settings)
    runs = {}
    for query in sorted(asked_queries(swept), key=lambda one: (one.now, one.query_id)):
        run = ev.run_queries(search, [query])
        store.touch(run["doc_id"][:limit].tolist(), now=query.now)
        runs[query.query_id] = run
    return pd.concat([runs[query.query_id] for query in asked_queries(swept)], ignore_index=True)


@pytest.mark.parametrize(
    ("url", "embedder"), [("memory:", None), ("sqlite::memory:", EMBEDDER)], ids=["text", "hybrid"]
)
def test_a_store_that_is_searched_and_touched_ranks_the_same(corpus, url, embedder):
    swept = swept_under(corpus, store=url, embedder=embedder)
    replayed = replay(swept, limit=3)
    changed = 0
    for row, settings in enumerate(swept.settings):
        expected = asked_in_turn(corpus, swept, settings, url=url, embedder=embedder, limit=3)
        found = replayed.run(row)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        changed += not found.equals(swept.run(row))
        measured = ev.per_query(found, corpus.qrels, MEASURES, queries=corpus.queries)
        own = measured.set_index("query_id").loc[[one.query_id for one in swept.queries]]
        np.testing.assert_array_equal(values_of(replayed)[row], own[MEASURES].to_numpy().T)
    assert changed >= 3


@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@nm.term(decays=True)
def fresh_use(candidates, *, recency_lambda):
    return np.exp(-recency_lambda * candidates.age_hours) * (1 + candidates.access_count)


@nm.term
@over_any_shape
def lately(candidates):
    return np.exp(-candidates.age_hours / 500)


def by_best_rank(legs, *, rrf_k):
    """Not over the legs' sum, but by the better of them; asked for one query at a time."""
    return np.where(legs.ranks > 0, 1 / (rrf_k + np.maximum(legs.ranks, 1)), 0).max(axis=0)


def slowly(hours, decay_lambda):
    """Not for arrays of rates."""
    return np.ones_like(hours) if decay_lambda > 1 else 1 / (1 + decay_lambda * hours) ** 0.5


@dataclass(frozen=True)
class Oldest:
    """An update rule that looks at instants alone."""

    share: float

    def __call__(self, relevance, similarity, created):
        assert relevance.shape == created.shape == similarity.shape[:1]
        last = np.nanmax(created[~np.isnan(relevance)], initial=0)
        first = np.nanmin(relevance, initial=np.inf)
        alike = (similarity > 0.9).sum(axis=1)
        return np.where((created < last) & (relevance > first), self.share, 1.0) - 0.01 * alike


@dataclass(frozen=True)
class Important:
    name: str = "important"

    def search(self, request):
        found = sorted(request.entries(), key=lambda one: (-one.importance, one.id))
        return [(one, one.importance) for one in found[: request.depth]]


ALL_TERMS = nm.Retrieval(terms=[frequency, fresh_use, lately])
OWN_SETTINGS = (
    nm.Settings(retrieval=ALL_TERMS, scoring=nm.Scoring(weights={"frequency": 0.4})),
    nm.Settings(),
    nm.Settings(
        retrieval=ALL_TERMS.replace(depth=6),
        scoring=nm.Scoring(
            weights={"frequency": -0.1, "fresh_use": 0.2, "lately": 0.05},
            update_penalty=0.4,
            update_similarity=0,
            update_ratio=0.5,
            recency_lambda=0.002,
        ),
    ),
    nm.Settings(
        retrieval=ALL_TERMS,
        scoring=nm.Scoring(
            weights={"fresh_use": 0.3}, update_rule=Oldest(0.7), decay_curve=slowly, rrf_k=5
        ),
    ),
    nm.Settings(
        retrieval=nm.Retrieval(legs=["text", Important()], depth=9),
        scoring=nm.Scoring(fusion=by_best_rank, weights={"important": 0.3}, decay_lambda=0.01),
    ),
    nm.Settings(
        retrieval=ALL_TERMS,
        scoring=nm.Scoring(weights={"frequency": 0.4}, decay_curve=slowly, min_score=0.3),
    ),
    nm.Settings(scoring=nm.Scoring(update_rule=Oldest(0.7), update_depth=5)),
)


@pytest.mark.parametrize(
    ("url", "embedder"), [("memory:", None), ("sqlite::memory:", EMBEDDER)], ids=["text", "hybrid"]
)
def test_so_it_does_with_parts_of_ones_own(corpus, url, embedder):
    swept = swept_under(corpus, OWN_SETTINGS, store=url, embedder=embedder)
    assert len(swept.candidates) == 4
    replayed = replay(swept, limit=3)
    changed = 0
    for row, settings in enumerate(swept.settings):
        expected = asked_in_turn(corpus, swept, settings, url=url, embedder=embedder, limit=3)
        found = replayed.run(row)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        changed += not found.equals(swept.run(row))
        measured = ev.per_query(found, corpus.qrels, MEASURES, queries=corpus.queries)
        own = measured.set_index("query_id").loc[[one.query_id for one in swept.queries]]
        np.testing.assert_array_equal(values_of(replayed)[row], own[MEASURES].to_numpy().T)
    assert changed == len(OWN_SETTINGS)


@pytest.mark.parametrize("embedder", [None, EMBEDDER], ids=["text", "hybrid"])
def test_untouched_they_rank_as_in_a_search_too(corpus, embedder):
    swept = swept_under(corpus, OWN_SETTINGS, store="sqlite::memory:", embedder=embedder)
    store = nm.open_store("sqlite::memory:")
    store.put(corpus.entries if embedder is None else nm.embed(corpus.entries, embedder))
    for row, settings in enumerate(swept.settings):
        search = nm.Search(store, embedder, settings=settings)
        expected = ev.run_queries(search, asked_queries(swept))
        pd.testing.assert_frame_equal(swept.run(row), expected, check_exact=True)


def test_a_term_sees_the_accesses_that_the_replay_counts(corpus):
    """Without decay nothing but the term moves, and it moves by what was returned before."""
    seen = {}

    @nm.term
    def counting(candidates):
        for one, count, last in zip(
            candidates.entries, candidates.access_count, candidates.last_accessed, strict=True
        ):
            seen[one.id, candidates.now] = int(count), int(last)
        return np.log1p(candidates.access_count)

    settings = nm.Settings(
        retrieval=nm.Retrieval(terms=[counting]),
        scoring=nm.Scoring(decay_lambda=0, w_recency=0, weights={"counting": 0.3}),
    )
    swept = swept_under(corpus, [settings])
    replayed = replay(swept, limit=2)
    seen.clear()
    run = replayed.run(0)
    ids = {query.query_id: query for query in asked_queries(swept)}
    top = run[run["rank"] <= 2]
    entries = {entry.id: entry for entry in corpus.entries}
    pairs = zip(top["query_id"], top["doc_id"], strict=True)
    touches = sorted((ids[query].now, one) for query, one in pairs)
    assert max(count for count, _ in seen.values()) > 2
    for (one, now), (count, last) in seen.items():
        before = [moment for moment, other in touches if other == one and moment.timestamp() < now]
        assert count == entries[one].access_count + len(before)
        asked = next(query for query in ids.values() if query.now.timestamp() == now)
        latest = max(before, default=entries[one].last_accessed_at)
        latest = latest if asked.as_of is None else min(latest, asked.as_of)
        assert last == int(latest.timestamp())


def test_settings_of_several_retrievals_keep_the_order_asked_for(corpus, monkeypatch):
    swept = swept_under(corpus, OWN_SETTINGS)
    whole = replay(swept, limit=3)
    alone = [replay(swept, limit=3, settings=[row]) for row in range(len(OWN_SETTINGS))]
    np.testing.assert_array_equal(values_of(whole), [values_of(one)[0] for one in alone])
    loops = pd.concat([one.loops for one in alone], ignore_index=True)
    pd.testing.assert_frame_equal(
        whole.loops.astype(object).fillna(0), loops.fillna(0), check_dtype=False
    )
    for row, one in enumerate(alone):
        pd.testing.assert_frame_equal(whole.looping(row), one.looping(row))
    monkeypatch.setattr(module, "_CHUNK_BYTES", 1)
    rows = [4, 0, 3, 1]
    mixed = replay(swept, limit=3, settings=rows)
    np.testing.assert_array_equal(values_of(mixed), values_of(whole)[rows])
    expected = whole.loops.set_index("setting").loc[rows].reset_index()
    pd.testing.assert_frame_equal(mixed.loops, expected)


def test_the_baseline_is_replayed_as_well(corpus):
    swept = ev.sweep(
        corpus, store="memory", grid={"depth": [5, 9], "w_importance": [0]}, measures=["AP"]
    )
    assert (swept.n_tried, swept.baseline) == (2, 2)
    measured = replay(swept).measured
    assert (measured.n_tried, measured.baseline) == (2, 2)
    assert measured.baseline_settings == swept.baseline_settings
    some = replay(swept, settings=[2, 1]).measured
    assert (some.n_tried, some.baseline) == (2, 0)
    none = replay(swept, settings=[1]).measured
    assert (none.n_tried, none.baseline) == (1, 0)


def test_what_a_term_gets_wrong_is_said(corpus):
    calls = []

    @nm.term
    def tiring(candidates):
        calls.append(1)
        return np.zeros(len(candidates) - (candidates.access_count.max() > 0))

    settings = nm.Settings(
        retrieval=nm.Retrieval(terms=[tiring]), scoring=nm.Scoring(weights={"tiring": 1})
    )
    with pytest.raises(nm.ExtensionError, match=r"term 'tiring'.* must return an array of shape"):
        replay(swept_under(corpus, [settings]))


def test_it_holds_on_the_assistants_year():
    year = nm.load_corpus("assistant-year")
    part = year.select([one for one in year.queries if one.scope.user_id in ("mira", "tobin")])
    part = part.select(part.queries[::2])
    swept = swept_under(part, SETTINGS[:2], store="sqlite::memory:", measures=["R@10"])
    replayed = replay(swept)
    for row, settings in enumerate(swept.settings):
        expected = asked_in_turn(
            part, swept, settings, url="sqlite::memory:", embedder=EMBEDDER, limit=10
        )
        pd.testing.assert_frame_equal(replayed.run(row), expected, check_exact=True)
    assert replayed.loops["boosted_share"].min() > 0


def test_where_access_counts_for_nothing_nothing_changes(corpus):
    off = nm.Scoring(decay_lambda=0, w_recency=0)
    created = nm.Scoring(decay_clock="creation", w_recency=0)
    swept = swept_under(corpus, (off, created))
    replayed = replay(swept)
    assert values_of(replayed).tobytes() == values_of(swept).tobytes()
    assert replayed.loops["boosted_share"].tolist() == [0, 0]
    assert replayed.loops["longest_doc_id"].isna().all()
    assert (replayed.frame[["difference", "low", "high"]] == 0).all(axis=None)


def test_the_order_that_queries_are_given_in_does_not_matter(corpus):
    mixed = list(corpus.queries)
    random.Random(3).shuffle(mixed)
    one, other = (replay(swept_under(given), limit=3) for given in (corpus, corpus.select(mixed)))
    pd.testing.assert_frame_equal(one.frame, other.frame)
    pd.testing.assert_frame_equal(one.loops, other.loops)
    ids = [query.query_id for query in other.swept.queries]
    back = [ids.index(query.query_id) for query in one.swept.queries]
    np.testing.assert_array_equal(values_of(other)[:, :, back], values_of(one))


def test_settings_may_be_replayed_in_any_portions(corpus, monkeypatch):
    swept = swept_under(corpus)
    whole = replay(swept, limit=3)
    monkeypatch.setattr(module, "_CHUNK_BYTES", 1)
    apart = replay(swept, limit=3)
    np.testing.assert_array_equal(values_of(apart), values_of(whole))
    pd.testing.assert_frame_equal(apart.loops, whole.loops)
    some = replay(swept, limit=3, settings=[2, 0])
    assert some.frame["setting"].tolist() == [2] * 4 + [0] * 4
    np.testing.assert_array_equal(values_of(some), values_of(whole)[[2, 0]])


def test_the_tables_say_what_the_replay_changed(corpus):
    swept = ev.sweep(
        corpus,
        store="memory",
        embedder=EMBEDDER,
        grid={"decay_lambda": [1e-3, 1e-2]},
        measures=MEASURES,
    )
    replayed = replay(swept, limit=3)
    frame = replayed.frame
    assert list(frame.columns) == [
        *("setting", "decay_lambda", "half_life_days", "measure", "static", "replayed"),
        *("difference", "low", "high", "n_queries"),
    ]
    ndcg = frame[frame["measure"] == "nDCG@10"]
    assert ndcg["setting"].tolist() == [0, 1]
    assert ndcg["static"].to_numpy() == pytest.approx(swept.frame["nDCG@10"])
    assert ndcg["replayed"].to_numpy() == pytest.approx(replayed.measured.frame["nDCG@10"])
    assert frame["difference"].to_numpy() == pytest.approx(frame["replayed"] - frame["static"])
    assert (frame["low"] <= frame["high"]).all()
    assert frame.loc[frame["measure"] == "Fresh@3", "n_queries"].tolist() == [11, 11]
    by_category = replayed.by()
    assert by_category["category"].unique().tolist() == ["fact", "update"]
    n = by_category[by_category["measure"] == "AP"].groupby("setting")["n_queries"].sum()
    assert n.tolist() == [22, 22]
    assert isinstance(replayed.measured.best("AP"), nm.Settings)


def test_loops_are_counted_as_the_rankings_have_them(corpus):
    swept = swept_under(corpus)
    replayed = replay(swept, limit=3)
    relevant = set(zip(corpus.qrels["query_id"], corpus.qrels["doc_id"], strict=True))
    asked = sorted(asked_queries(swept), key=lambda one: (one.now, one.query_id))
    for row, table in replayed.loops.iterrows():
        static, found = (
            {
                query: part["doc_id"].tolist()
                for query, part in run[run["rank"] <= 3].groupby("query_id")
            }
            for run in (swept.run(row), replayed.run(row))
        )
        chains: dict[str, list[int]] = {}
        boosted, lost = [], 0
        for query in (one.query_id for one in asked):
            lost += len(
                [
                    one
                    for one in static.get(query, [])
                    if one not in found.get(query, []) and (query, one) in relevant
                ]
            )
            for one in found.get(query, []):
                if one in static[query]:
                    chains.setdefault(one, []).append(0)
                elif one in chains:
                    chains[one][-1] += 1
                    boosted.append((query, one))
                else:
                    chains[one] = [0]
        n = sum(map(len, found.values()))
        lengths = {one: max(own) for one, own in chains.items()}
        assert table["returned"] == n
        assert table["boosted_share"] == len(boosted) / n
        assert table["boosted_not_relevant_share"] == len(set(boosted) - relevant) / n
        assert table["lost_relevant"] == lost
        assert table["loops"] == sum(one >= 2 for own in chains.values() for one in own)
        assert table["looping_entries"] == sum(one >= 2 for one in lengths.values())
        assert table["longest"] == max(lengths.values())
        longest = [one for one in sorted(lengths) if lengths[one] == table["longest"]]
        assert table["longest"] == 0 or table["longest_doc_id"] == longest[0]
        looping = replayed.looping(row, top=1000)
        assert dict(zip(looping["doc_id"], looping["chain"], strict=True)) == {
            one: own for one, own in lengths.items() if own
        }
        assert looping["boosted_relevant"].sum() == len(set(boosted) & relevant)
    assert replayed.loops["loops"].max() > 3


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_loop_is_what_was_returned_because_it_was_returned():
    """One place a query; decay halves relevance in a day, so that a touched entry wins."""

    def entry(id: str, content: str, age: float) -> nm.Entry:
        return nm.Entry(content, id=id, created_at=NOW - timedelta(days=age))

    corpus = nm.Corpus(
        "loop",
        entries=(
            entry("sticky", "tea kettle garden", 2),
            entry("tea", "tea tea tea", 2),
            entry("kettle", "kettle kettle kettle", 2),
            entry("other", "unrelated words", 2),
        ),
        queries=tuple(
            nm.Query(f"q{at}", text, now=NOW + timedelta(hours=at))
            for at, text in enumerate(["garden", "tea", "kettle", "garden", "tea"])
        ),
        qrels=pd.DataFrame(
            [(f"q{at}", one, 1) for at, one in enumerate(["sticky", "tea", "kettle", "sticky"])]
            + [("q4", "sticky", 1)],
            columns=["query_id", "doc_id", "relevance"],
        ),
        card=Card("Loop", licence="MIT", source="made up", synthetic=True),
    )
    scoring = nm.Scoring(half_life_days=1, w_importance=0, w_recency=0)
    swept = swept_under(
        corpus,
        (scoring, nm.Scoring(decay_lambda=0, w_importance=0, w_recency=0)),
        store="sqlite::memory:",
        embedder=None,
        measures=["R@1"],
    )
    first = swept.run(0)
    static = first[first["rank"] == 1]["doc_id"].tolist()
    assert static == ["sticky", "tea", "kettle", "sticky", "tea"]
    replayed = replay(swept, limit=1)
    found = replayed.run(0)
    assert set(found[found["rank"] == 1]["doc_id"]) == {"sticky"}
    # q1 and q2 are one chain of two; q3 the static ranking gives too; q4 starts another.
    row = replayed.loops.iloc[0]
    assert row["returned"] == 5
    assert row["boosted_share"] == pytest.approx(3 / 5)
    assert row["boosted_not_relevant_share"] == pytest.approx(2 / 5)
    assert (row["lost_relevant"], row["loops"], row["looping_entries"]) == (2, 1, 1)
    assert (row["longest"], row["longest_doc_id"]) == (2, "sticky")
    assert replayed.loops["loops"].tolist() == [1, 0]
    looping = replayed.looping(0)
    assert looping.drop(columns="content").to_dict("records") == [
        {"doc_id": "sticky", "chain": 2, "returned": 5, "boosted": 3, "boosted_relevant": 1}
    ]


def test_users_do_not_touch_each_others_entries(corpus):
    """Each user's queries alone, and all together: the same rankings."""
    swept = swept_under(corpus)
    together = replay(swept, limit=3).run(0).set_index("query_id")
    for user in ("ada", "bo", "cyd"):
        own = corpus.select([one for one in corpus.queries if one.scope.user_id == user])
        alone = replay(swept_under(own), limit=3).run(0).set_index("query_id")
        pd.testing.assert_frame_equal(alone, together.loc[alone.index.unique()], check_exact=True)


def test_what_cannot_be_replayed_is_refused(corpus):
    swept = swept_under(corpus)
    for limit in (0, True, 2.5):
        with pytest.raises(nm.InvalidParameter, match="limit"):
            replay(swept, limit=limit)
    with pytest.raises(nm.InvalidParameter, match="0 to 3; got \\[4\\]"):
        replay(swept, settings=[1, 4])
    with pytest.raises(nm.InvalidParameter, match="not replayed"):
        replay(swept, settings=[1]).run(0)
