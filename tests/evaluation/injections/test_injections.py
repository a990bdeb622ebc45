"""What would be shown, held against what the agent itself finds."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.agent import MemoryAccess
from nousmem.agent.relevance import find_relevant
from nousmem.evaluation import InjectionSetting
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


def found_by_the_agent(
    store: nm.Store, embedder: nm.Embedder | None, query: nm.Query, setting: InjectionSetting
) -> set[str]:
    access = MemoryAccess(
        store=store,
        embedder=embedder,
        scoring=setting.scoring,
        user_id=query.scope.user_id,
        default_search_scope="user",
    )
    found = find_relevant(
        access,
        query.text,
        now=query.now,
        limit=setting.inject_limit,
        min_score=setting.inject_min_score,
        min_words=setting.inject_min_words,
        min_cosine=setting.inject_min_cosine,
    )
    return {hit.entry.id for hit in found.hits}


@pytest.mark.parametrize("name", [None, "hashing"])
def test_it_shows_what_the_agent_shows(corpus: nm.Corpus, name: str | None) -> None:
    result = ev.sweep_injection(corpus, embedder=name, grid=GRID, small_talk=TALK, as_of=False)
    embedder = None if name is None else nm.open_embedder(name)
    store = nm.open_store("sqlite::memory:")
    store.put(nm.embed(corpus.entries, embedder) if embedder else corpus.entries)
    by_id = {query.query_id: query for query in corpus.queries}
    queries = [by_id[query.query_id] for query in result.queries]
    talk = [
        dataclasses.replace(queries[at % len(queries)], text=text)
        for at, text in enumerate(result.small_talk)
    ]
    relevant = corpus.qrels.groupby("query_id")["doc_id"].agg(set)
    rng = np.random.default_rng(3)
    for row in rng.choice(len(result.settings), 40, replace=False):
        setting = result.settings[row]
        for at, query in enumerate(queries):
            shown = found_by_the_agent(store, embedder, query, setting)
            assert result.n_shown[row, at] == len(shown)
            assert result.n_relevant_shown[row, at] == len(shown & relevant[query.query_id])
        for at, query in enumerate(talk):
            shown = found_by_the_agent(store, embedder, query, setting)
            assert result.n_shown_for_talk[row, at] == len(shown), (query.text, setting)
    assert result.n_shown.max() == 5
    assert 0 < (result.n_shown_for_talk > 0).mean() < 1


def test_the_store_is_seen_as_it_was(corpus: nm.Corpus) -> None:
    early = [
        dataclasses.replace(one, as_of=one.now - timedelta(days=800)) for one in corpus.queries
    ]
    corpus = dataclasses.replace(corpus, queries=tuple(early))
    talk = ["What do you know about me?", "rona tari"]
    open_wide = InjectionSetting(inject_min_score=-1, inject_min_words=0, inject_min_cosine=-1)
    then = ev.sweep_injection(corpus, grid={}, setting=open_wide, small_talk=talk)
    assert not then.n_shown.any()
    assert not then.n_shown_for_talk.any()
    now = ev.sweep_injection(corpus, grid={}, setting=open_wide, small_talk=talk, as_of=False)
    assert now.n_shown.all()
    assert now.n_shown_for_talk.all()


def test_parts_of_a_corpus_do_not_mix(divided_corpus: nm.Corpus) -> None:
    setting = InjectionSetting(inject_min_score=0, inject_limit=30)
    result = ev.sweep_injection(
        divided_corpus, grid={}, setting=setting, small_talk=["What do you know about me?"]
    )
    for query, shown in zip(divided_corpus.queries[:-2], result.n_shown_for_talk[0], strict=True):
        seen = [
            entry
            for entry in divided_corpus.entries
            if entry.user_id == query.scope.user_id
            and (query.as_of is None or entry.created_at <= query.as_of)
        ]
        assert shown == min(30, len(seen))
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
    shown, relevant = result.n_shown, result.n_relevant_shown
    for row in range(len(frame)):
        pairs = list(zip(relevant[row], result.n_relevant, strict=True))
        assert frame["answered"][row] == np.mean([one > 0 for one in relevant[row]])
        assert frame["found"][row] == pytest.approx(np.mean([one / all_ for one, all_ in pairs]))
        assert frame["shown"][row] == np.mean(shown[row])
        assert frame["quiet"][row] == np.mean(result.n_shown_for_talk[row] == 0)
        if shown[row].sum():
            assert frame["precision"][row] == relevant[row].sum() / shown[row].sum()
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
    setting = InjectionSetting(inject_min_score=0)
    talk = ["What do you know about me?", "wholly unheard"]
    result = ev.sweep_injection(corpus, grid={}, setting=setting, small_talk=talk)
    table = result.disturbed(0)
    assert table["text"].tolist() == talk[:1]
    assert table["sent"].tolist() == table["disturbed"].tolist() == [11]


def made(answered: list[float], shown: list[int], quiet: list[float]) -> ev.InjectionResult:
    """A result over ten queries and ten messages of small talk."""
    rows = len(answered)
    relevant = np.array([np.arange(10) < 10 * share for share in answered], dtype=np.int64)
    talk = np.array([np.arange(10) >= 10 * share for share in quiet], dtype=np.int64)
    queries = tuple(MeasuredQuery(f"q{at}", "", "", f"q{at}", nm.Scope()) for at in range(10))
    return ev.InjectionResult(
        parameters=("inject_limit",),
        settings=tuple(InjectionSetting(inject_limit=at + 1) for at in range(rows)),
        queries=queries,
        n_shown=np.repeat(np.array(shown)[:, np.newaxis], 10, axis=1),
        n_relevant_shown=relevant,
        n_relevant=np.ones(10, dtype=np.int64),
        small_talk=("hm",) * 10,
        n_shown_for_talk=talk,
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


def test_the_baseline_is_what_is_documented() -> None:
    result = made([0.2] * 6, [1] * 6, [1] * 6)
    assert result.baseline_index() == 4  # the default limit
    slow = nm.Scoring(half_life_days=400)
    settings = tuple(dataclasses.replace(one, scoring=slow) for one in result.settings)
    assert dataclasses.replace(result, settings=settings).baseline_index() == 4
    assert dataclasses.replace(result, settings=settings[:3]).baseline_index() == 0


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
        "inject_limit": [31, -1],
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
        "at most 30, got 31",
        "at least 0, got -1",
        "inject_min_words: the list of values is empty",
        "inject_min_cosine: expected a list of values, got 0.3",
        "a value stands twice in [0.1, 0.1]",
        "'decay_lamda' in the grid; did you mean 'decay_lambda'?",
        "'inject_score' in the grid; did you mean 'inject_min_score'?",
    ):
        assert part in str(caught.value)


def test_what_is_no_list_of_messages_is_refused(corpus: nm.Corpus) -> None:
    for wrong in ("Hello!", 3, ["Hello!", 3]):
        with pytest.raises(nm.InvalidParameter, match="small_talk must be a list of"):
            ev.sweep_injection(corpus, grid={}, small_talk=wrong)
    with pytest.raises(nm.InvalidParameter, match=r"InjectionSetting\(scoring=…\)"):
        ev.sweep_injection(corpus, grid={}, setting=nm.Scoring())


@pytest.mark.parametrize(
    "option", [{"inject_min_words": 30}, {"inject_min_words": -0.1}, {"inject_min_cosine": 35}]
)
def test_percentages_are_no_shares(option: dict[str, float]) -> None:
    with pytest.raises(nm.InvalidParameter, match=f"{next(iter(option))} must be from"):
        InjectionSetting(**option)
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


def test_a_setting_fits_the_agent() -> None:
    memory = pytest.importorskip("nousmem.agent.capability").Memory
    setting = InjectionSetting(scoring=nm.Scoring(decay_lambda=0), inject_min_words=0.6)
    agents = memory(store="memory:", **setting.options())
    assert agents.inject_min_words == 0.6
    assert agents.scoring == setting.scoring
    defaults = {field.name: field.default for field in dataclasses.fields(memory)}
    for name, value in InjectionSetting().options().items():
        if name != "scoring":
            assert defaults[name] == value, name
