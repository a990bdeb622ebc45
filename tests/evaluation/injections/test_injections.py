"""What would be shown, held against what the agent itself finds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.agent import MemoryAccess
from nousmem.agent._relevance import find_relevant
from nousmem.corpora import Partition
from nousmem.embeddings import HashingEmbedder
from nousmem.evaluation.injections.small_talk import warn_of_foreign_talk
from nousmem.evaluation.measured import MeasuredQuery

GRID = {
    "half_life_days": [20, 400],
    "w_importance": [0, 0.3],
    "inject_limit": [0, 2, 5],
    "inject_min_score": [-1, 0.2, 0.4],
    "inject_min_words": [0, 0.3, 0.6],
    "inject_min_cosine": [-1, 0.2, 0.5],
}
TALK = (
    "What do you know about me?",
    "Hello!",
    "what is it that we have",
    "   ",
    "rona and how do we get to tari",
    "unheard words entirely",
    "rona " * 900 + "tari " * 900,  # too long to be searched whole
)


def shown(**options: float) -> nm.Settings:
    """The documented settings with these options of injection."""
    return nm.Settings(injection=nm.Injection(**options))


def found_by_the_agent(
    store: nm.Store, embedder: nm.Embedder | None, query: nm.Query, settings: nm.Settings
) -> set[str]:
    access = MemoryAccess(
        store=store,
        embedder=embedder,
        settings=settings,
        user_id=query.scope.user_id,
        default_search_scope="user",
    )
    found = find_relevant(access, query.text, now=query.now, injection=settings.injection)
    return {hit.entry.id for hit in found.hits}


def check_against_the_agent(
    corpus: nm.Corpus, result: ev.InjectionResult, embedder: nm.Embedder | None, rows: Sequence[int]
) -> None:
    """Every message is put to an agent, under each of these settings."""
    store = nm.open_store("sqlite::memory:")
    store.put(nm.embed(corpus.entries, embedder) if embedder else corpus.entries)
    by_id = {query.query_id: query for query in corpus.queries}
    queries = [by_id[query.query_id] for query in result.queries]
    talk = [
        dataclasses.replace(queries[at % len(queries)], text=text)
        for at, text in enumerate(result.small_talk)
    ]
    relevant = corpus.qrels.groupby("query_id")["doc_id"].agg(set)
    for row in rows:
        settings = result.settings[row]
        for at, query in enumerate(queries):
            ids = found_by_the_agent(store, embedder, query, settings)
            assert result.n_shown[row, at] == len(ids)
            assert result.n_relevant_shown[row, at] == len(ids & relevant[query.query_id])
        for at, query in enumerate(talk):
            ids = found_by_the_agent(store, embedder, query, settings)
            assert result.n_shown_for_talk[row, at] == len(ids), (query.text, settings)


@pytest.mark.parametrize("name", [None, "hashing"])
def test_it_shows_what_the_agent_shows(corpus: nm.Corpus, name: str | None) -> None:
    result = ev.sweep_injection(corpus, embedder=name, grid=GRID, small_talk=TALK, as_of=False)
    embedder = None if name is None else nm.open_embedder(name)
    rows = np.random.default_rng(3).choice(result.n_tried, 40, replace=False)
    check_against_the_agent(corpus, result, embedder, rows)
    assert result.n_shown.max() == 5
    assert 0 < (result.n_shown_for_talk > 0).mean() < 1


RESULTS = Path(__file__).parents[3] / "evals" / "results" / "injection.csv"


def test_the_committed_figures_hold() -> None:
    """Of evals/injection.py, without vectors, under a ranking that is not the documented one."""
    table = pd.read_csv(RESULTS, keep_default_na=False, na_values={"precision": [""]})
    committed = table[
        (table["corpus"] == "assistant-year")
        & (table["embedder"] == "")  # text alone
        & (table["ranking"] == "half-life of a year")
    ]
    assert len(committed) == 28
    grid = {
        name: sorted(set(committed[name].astype(float)))
        for name in ("inject_min_score", "inject_min_words")
    }
    scoring = nm.Scoring(half_life_days=365, w_importance=0.05)
    result = ev.sweep_injection(
        nm.load_corpus("assistant-year"), grid=grid, settings=nm.Settings(scoring=scoring)
    )
    found = result.frame.head(result.n_tried).round(4)
    np.testing.assert_array_equal(found, committed[found.columns].astype(float))


@dataclass(frozen=True)
class Newest:
    """A leg that knows nothing but age."""

    name: str = "newest"

    def search(self, request: nm.LegRequest) -> list[tuple[nm.Entry, float]]:
        found = request.entries()[-request.depth :][::-1]
        return [(entry, -float(at)) for at, entry in enumerate(found)]


@nm.term
def brevity(candidates: nm.Candidates) -> list[float]:
    return [1 / len(entry.content) for entry in candidates.entries]


@nm.term(decays=True)
def used(candidates: nm.Candidates) -> np.ndarray:
    return candidates.importance**2


OWN = [
    {
        "legs": [["text", Newest()]],
        "w_newest": [0, 2],
        "depth": [5, None],
        "inject_min_score": [0, 0.4],
    },
    {
        "terms": [[brevity, used]],
        "w_brevity": [9, -20],
        "w_used": [0, 0.3],
        "inject_min_words": [0, 0.3],
        "inject_min_cosine": [-1],
        "inject_limit": [3, 40],
    },
]


@pytest.mark.parametrize("name", [None, "hashing"])
def test_it_shows_what_an_agent_with_own_legs_and_terms_shows(
    corpus: nm.Corpus, name: str | None
) -> None:
    result = ev.sweep_injection(corpus, embedder=name, grid=OWN, small_talk=TALK, as_of=False)
    embedder = None if name is None else nm.open_embedder(name)
    assert result.n_tried == 2 * 2 * 2 + 2 * 2 * 2 * 2
    assert result.baseline == result.n_tried
    check_against_the_agent(corpus, result, embedder, range(len(result.settings)))
    assert result.n_shown.max() > (30 if embedder else 5)  # legs are read as deep as is shown
    shown = {tuple(row) for row in np.hstack([result.n_shown, result.n_shown_for_talk]).tolist()}
    assert len(shown) > 8
    assert result.frame["legs"].tolist()[0].startswith("text,")
    assert set(result.frame["terms"]) == {"", "brevity,used"}


def test_each_part_is_loaded_once_and_a_function_may_open_its_store(
    divided_corpus: nm.Corpus,
) -> None:
    opened: list[str] = []

    def make(partition: Partition) -> nm.Store:
        opened.append(partition.name)
        return nm.open_store("sqlite::memory:")

    grid = {"depth": [2, 4, None], "inject_min_score": [0, 0.3]}
    result = ev.sweep_injection(divided_corpus, store=make, grid=grid, small_talk=TALK[:2])
    assert sorted(opened) == ["ada", "bo", "cyd"]
    alone = ev.sweep_injection(divided_corpus, grid={"depth": [4]}, small_talk=TALK[:2])
    row = [one.value_of("depth") for one in result.settings].index(4) + 1
    assert result.settings[row] == alone.settings[0]
    np.testing.assert_array_equal(result.n_shown[row], alone.n_shown[0])


def test_texts_are_embedded_once_for_all_ways_to_retrieve(corpus: nm.Corpus) -> None:
    class Counting(HashingEmbedder):
        asked: ClassVar[list[str]] = []

        def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
            self.asked.extend(texts)
            return super().embed_queries(texts)

    grid = {"depth": [2, 4], "legs": [["text"], ["vector"], None]}
    ev.sweep_injection(corpus, embedder=Counting(64), grid=grid, small_talk=TALK)
    assert len(Counting.asked) == len(set(Counting.asked)) > 0


def test_thresholds_that_are_not_varied_stay(corpus: nm.Corpus) -> None:
    grid = {"w_importance": [0, 0.3, 1.1], "decay_lambda": [0, 0.001], "inject_limit": [3]}
    start = shown(inject_min_score=0.25, inject_min_words=0.5, inject_max_tokens=70)
    with pytest.warns(ev.ConfoundedGridWarning) as warned:
        result = ev.sweep_injection(corpus, grid=grid, settings=start, small_talk=[])
    assert warned[0].filename == __file__
    tried = result.settings[: result.n_tried]
    assert {one.injection for one in tried} == {start.injection.replace(inject_limit=3)}


def test_the_store_is_seen_as_it_was(corpus: nm.Corpus) -> None:
    early = [
        dataclasses.replace(one, as_of=one.now - timedelta(days=800)) for one in corpus.queries
    ]
    corpus = dataclasses.replace(corpus, queries=tuple(early))
    talk = ["What do you know about me?", "rona tari"]
    open_wide = shown(inject_min_score=-1, inject_min_words=0, inject_min_cosine=-1)
    then = ev.sweep_injection(corpus, grid={}, settings=open_wide, small_talk=talk)
    assert not then.n_shown.any()
    assert not then.n_shown_for_talk.any()
    now = ev.sweep_injection(corpus, grid={}, settings=open_wide, small_talk=talk, as_of=False)
    assert now.n_shown[0].all()
    assert now.n_shown_for_talk[0].all()


def test_parts_of_a_corpus_do_not_mix(divided_corpus: nm.Corpus) -> None:
    settings = shown(inject_min_score=0, inject_limit=30)
    result = ev.sweep_injection(
        divided_corpus, grid={}, settings=settings, small_talk=["What do you know about me?"]
    )
    for query, n in zip(divided_corpus.queries[:-2], result.n_shown_for_talk[0], strict=True):
        seen = [
            entry
            for entry in divided_corpus.entries
            if entry.user_id == query.scope.user_id
            and (query.as_of is None or entry.created_at <= query.as_of)
        ]
        assert n == min(30, len(seen))
    stranger = nm.Query("s", "rona", now=divided_corpus.now, scope=nm.Scope(user_id="dee"))
    with pytest.raises(nm.InvalidParameter, match=r"'rona'.*needs a user_id of the corpus"):
        ev.sweep_injection(divided_corpus, grid={}, small_talk=[stranger])


def test_small_talk_is_dealt_to_all_queries(corpus: nm.Corpus) -> None:
    few = ev.sweep_injection(corpus, grid={}, small_talk=["one", "two"])
    assert len(few.small_talk) == len(few.queries)
    assert set(few.small_talk) == {"one", "two"}
    many = [f"number {at}" for at in range(100)]
    assert ev.sweep_injection(corpus, grid={}, small_talk=many).small_talk == tuple(many)
    own = corpus.queries[0]
    assert ev.sweep_injection(corpus, grid={}, small_talk=[own]).small_talk == (own.text,)


def test_tables_say_what_was_shown(corpus: nm.Corpus) -> None:
    grid = {"inject_min_score": [0, 0.3, 9], "decay_lambda": [0, 0.001], "w_recency": [0]}
    with pytest.warns(ev.ForeignSmallTalkWarning, match="only 0% of the words"):
        result = ev.sweep_injection(corpus, grid=grid)
    frame = result.frame
    assert list(frame.columns) == [
        *("decay_lambda", "half_life_days", "w_recency", "inject_min_score"),
        *("answered", "found", "shown", "precision", "quiet", "n_queries", "n_small_talk"),
    ]
    n_shown, relevant = result.n_shown, result.n_relevant_shown
    for row in range(len(frame)):
        pairs = list(zip(relevant[row], result.n_relevant, strict=True))
        assert frame["answered"][row] == np.mean([one > 0 for one in relevant[row]])
        assert frame["found"][row] == pytest.approx(np.mean([one / all_ for one, all_ in pairs]))
        assert frame["shown"][row] == np.mean(n_shown[row])
        assert frame["quiet"][row] == np.mean(result.n_shown_for_talk[row] == 0)
        if n_shown[row].sum():
            assert frame["precision"][row] == relevant[row].sum() / n_shown[row].sum()
    nothing = frame[frame["inject_min_score"] == 9]
    assert (nothing["answered"] == 0).all()
    assert (nothing["quiet"] == 1).all()
    assert nothing["precision"].isna().all()
    parts = result.by_category()
    assert parts[parts["category"] == "fact"]["n_queries"].iloc[0] == sum(
        query.category == "fact" for query in result.queries
    )
    weights = parts["n_queries"].to_numpy()
    first = parts.iloc[:: len(frame)]
    assert np.average(first["shown"], weights=weights[:: len(frame)]) == pytest.approx(
        frame["shown"][0]
    )
    one = result.per_query(0)
    assert one["shown"].mean() == frame["shown"][0]
    assert result.excluded["no relevant entry"] == 2


def test_the_disturbed_are_named(corpus: nm.Corpus) -> None:
    talk = ["What do you know about me?", "wholly unheard"]
    result = ev.sweep_injection(
        corpus, grid={}, settings=shown(inject_min_score=0), small_talk=talk
    )
    table = result.disturbed(0)
    assert table["text"].tolist() == talk[:1]
    assert table["sent"].tolist() == table["disturbed"].tolist() == [11]


def made(answered: list[float], n_shown: list[int], quiet: list[float]) -> ev.InjectionResult:
    """A result over ten queries and ten messages of small talk."""
    rows = len(answered)
    relevant = np.array([np.arange(10) < 10 * share for share in answered], dtype=np.int64)
    talk = np.array([np.arange(10) >= 10 * share for share in quiet], dtype=np.int64)
    queries = tuple(MeasuredQuery(f"q{at}", "", "", f"q{at}", nm.Scope()) for at in range(10))
    return ev.InjectionResult(
        parameters=("inject_limit",),
        settings=tuple(shown(inject_limit=at + 1) for at in range(rows)),
        queries=queries,
        n_shown=np.repeat(np.array(n_shown)[:, np.newaxis], 10, axis=1),
        n_relevant_shown=relevant,
        n_relevant=np.ones(10, dtype=np.int64),
        small_talk=("hm",) * 10,
        n_shown_for_talk=talk,
        baseline=0,
        n_tried=rows,
    )


def test_the_best_is_quiet_then_right_then_brief() -> None:
    result = made([0.9, 0.6, 0.6, 0.5], [9, 8, 2, 1], [0.5, 1, 1, 1])
    assert result.best_index() == 2
    assert result.best_index(quiet=0.5) == 0
    with pytest.raises(nm.InvalidParameter, match=r"no setting is quiet for 0\.95.* for 0\.5\b"):
        made([0.9], [9], [0.5]).best()


def test_settings_are_compared_over_queries() -> None:
    result = made([0.2, 0.9], [1, 3], [1, 1])
    with pytest.warns(ev.FewQueriesWarning):
        table = result.compare([1], baseline=0)
    answered = table.set_index("measure").loc["answered"]
    assert answered["difference"] == pytest.approx(0.7)
    assert (answered["wins"], answered["ties"], answered["losses"]) == (7, 3, 0)
    assert table["name"].tolist() == ["1"] * 3
    with pytest.raises(nm.InvalidParameter, match="0 to 1; got 7"):
        result.compare([7])


def test_the_baseline_is_what_is_documented(corpus: nm.Corpus) -> None:
    slow = nm.Settings(scoring=nm.Scoring(half_life_days=400))
    for start, grid, n_tried, baseline in (
        (slow, {"inject_limit": [4, 5]}, 2, 2),
        (None, {"inject_limit": [4, 5]}, 2, 1),
        (None, {"half_life_days": [400, 28.88], "inject_min_score": [0.2, 0.3]}, 4, 3),
        (slow.replace(depth=9), {"inject_limit": [5]}, 1, 1),
        (None, {"depth": [9, 12]}, 2, 2),
        (None, {}, 1, 0),
    ):
        result = ev.sweep_injection(corpus, grid=grid, settings=start, small_talk=["so?"])
        assert (result.n_tried, result.baseline_index()) == (n_tried, baseline)
        assert len(result.settings) == len(result.frame) == max(n_tried, baseline + 1)
        found = result.baseline_settings
        assert found.injection == nm.Injection()
        assert found.scoring.replace(decay_lambda=0.001) == nm.Scoring()
        depth = None if start is None else start.retrieval.depth
        assert found.retrieval == nm.Retrieval(depth=depth)


def test_what_is_tuned_is_judged_on_what_it_did_not_see() -> None:
    # Each setting answers one query that the others miss: what is best on the other folds is
    # wrong on its own.
    relevant = np.eye(10, dtype=np.int64)
    result = dataclasses.replace(
        made([0.0] * 10, [1] * 10, [1] * 10),
        n_relevant_shown=relevant,
        small_talk=tuple("abcdefghij"),
    )
    with pytest.warns(ev.FewQueriesWarning):
        table = result.tuned(folds=10, baseline=0).set_index("measure")
    assert result.frame["answered"].max() == 0.1
    assert table.loc["answered", "mean"] == 0
    assert table.loc["answered", "baseline_mean"] == 0.1
    assert table.loc["quiet", "mean"] == 1
    # The quietest on the texts it was chosen on is loud for the others.
    loud = 1 - np.eye(10, dtype=np.int64)
    loud = dataclasses.replace(result, n_shown_for_talk=1 - loud, n_relevant_shown=relevant * 0 + 1)
    with pytest.warns(ev.FewQueriesWarning):
        table = loud.tuned(folds=10, quiet=1, baseline=0).set_index("measure")
    assert table.loc["quiet", "mean"] == 0


def test_without_small_talk_there_is_nothing_to_be_quiet_for(corpus: nm.Corpus) -> None:
    result = ev.sweep_injection(corpus, grid={"inject_limit": [1, 5]}, small_talk=[])
    assert result.frame["quiet"].isna().all()
    assert result.best() in result.settings


def test_faults_of_a_grid_are_told_together(corpus: nm.Corpus) -> None:
    grid = {
        "min_score": [0.1],
        "inject_max_tokens": [100],
        "inject_limit": [2.5, -1],
        "inject_min_words": [],
        "inject_min_cosine": 0.3,
        "inject_min_score": [0.1, 0.1],
        "decay_lamda": [0],
        "inject_score": [0.3],
    }
    with pytest.raises(nm.InvalidParameter) as caught:
        ev.sweep_injection(corpus, grid=grid)
    for part in (
        "vary that",
        "inject_max_tokens: the tokens",
        "at least 0, got 2.5",
        "at least 0, got -1",
        "inject_min_words: the list of values is empty",
        "inject_min_cosine: expected a list of values, got 0.3",
        "a value stands twice in [0.1, 0.1]",
        "unknown parameter 'decay_lamda'; did you mean 'decay_lambda'?",
        "unknown parameter 'inject_score'; did you mean 'inject_min_score'?",
    ):
        assert part in str(caught.value)
    with pytest.raises(nm.InvalidParameter, match=r"^depth must be .*got 0; legs: expected a list"):
        ev.sweep_injection(corpus, grid=[{"depth": [0], "legs": 3}, {"inject_limit": [1]}])
    many = {"inject_limit": range(1002), "inject_min_words": np.linspace(0, 1, 1000)}
    with pytest.raises(nm.InvalidParameter, match="1,002,000 settings, more than 1,000,000"):
        ev.sweep_injection(corpus, grid=many)


def test_several_grids_are_tried_one_after_another(corpus: nm.Corpus) -> None:
    grid = [{"inject_limit": [1, 2], "depth": [9]}, {"inject_limit": [2], "depth": [9, 12]}]
    result = ev.sweep_injection(corpus, grid=grid, small_talk=["so?"])
    assert result.parameters == ("depth", "inject_limit")
    assert result.frame.loc[: result.n_tried - 1, list(result.parameters)].to_dict("list") == {
        "depth": [9, 9, 12],
        "inject_limit": [1, 2, 2],
    }


def test_what_is_no_list_of_messages_is_refused(corpus: nm.Corpus) -> None:
    for wrong in ("Hello!", 3, ["Hello!", 3]):
        with pytest.raises(nm.InvalidParameter, match="small_talk must be a list of"):
            ev.sweep_injection(corpus, grid={}, small_talk=wrong)
    with pytest.raises(nm.InvalidParameter, match=r"settings must be Settings, got Scoring"):
        ev.sweep_injection(corpus, grid={}, settings=nm.Scoring())
    with pytest.raises(nm.InvalidParameter, match=r"load_corpus\('locomo'\)"):
        ev.sweep_injection("locomo", grid={})


@pytest.mark.parametrize(
    "option", [{"inject_min_words": 30}, {"inject_min_words": -0.1}, {"inject_min_cosine": 35}]
)
def test_percentages_are_no_shares(option: dict[str, float]) -> None:
    with pytest.raises(nm.InvalidParameter, match=f"{next(iter(option))} must be from"):
        shown(**option)
    result = made([0.9, 0.6], [1, 1], [1, 1])
    for call in (result.best, result.best_index, result.tuned):
        with pytest.raises(nm.InvalidParameter, match="quiet must be from 0 to 1, got 95"):
            call(quiet=95)


GERMAN = [
    "Wann war ich zuletzt beim Zahnarzt?",
    "Was wollte ich am Montag im Garten machen?",
    "Was hat mir Jonas zum Geburtstag geschenkt?",
    "In welchem Hotel waren wir in Bremen?",
]
ENGLISH = [
    "When did I last go to the dentist?",
    "What did Jonas give me for my birthday?",
    "Name of the hotel in Bremen",
]


def test_english_small_talk_says_little_of_german_users() -> None:
    with pytest.warns(ev.ForeignSmallTalkWarning, match="Give small_talk="):
        warn_of_foreign_talk(GERMAN, stacklevel=1)
    warn_of_foreign_talk(ENGLISH, stacklevel=1)  # a warning would be an error
    warn_of_foreign_talk(GERMAN[:2], stacklevel=1)  # too few words to know


def test_two_groups_are_two_folds() -> None:
    result = made([0.9, 0.6], [1, 1], [1, 1])
    queries = tuple(
        dataclasses.replace(one, group="ab"[at % 2]) for at, one in enumerate(result.queries)
    )
    two = dataclasses.replace(result, queries=queries, small_talk=tuple("abcdefghij"))
    few, groups = (
        pytest.warns(ev.FewQueriesWarning, match=one) for one in ("few queries", "only 2 groups")
    )
    with few, groups:
        assert two.tuned()["n_groups"].iloc[0] == 2
    with pytest.raises(nm.InvalidParameter, match="2 to the number of groups, 2; got 5"):
        two.tuned(folds=5)
    with pytest.raises(nm.InvalidParameter, match="two texts of small talk"):
        dataclasses.replace(two, small_talk=("hm",) * 10).tuned()


def test_the_best_fits_the_agent(corpus: nm.Corpus) -> None:
    memory = pytest.importorskip("nousmem.agent._capability").Memory
    grid = {"decay_lambda": [0], "inject_min_words": [0.6], "inject_min_cosine": [0.3]}
    best = ev.sweep_injection(corpus, embedder="hashing", grid=grid, small_talk=[]).best()
    assert best.embedder == nm.open_embedder("hashing").fingerprint
    agents = memory(store="memory:", embedder="hashing", settings=best)
    assert agents.settings == best
