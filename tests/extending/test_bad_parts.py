"""What a part of one's own may not do: one error, which names it, and nothing half done."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import nousmem as nm
from nousmem import evaluation as ev

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def store() -> nm.Store:
    store = nm.open_store("memory:")
    store.put(
        nm.Entry(f"rye bread, loaf {at}", id=f"loaf-{at}", user_id="mira", created_at=NOW)
        for at in range(4)
    )
    store.put([nm.Entry("rye bread of Jonas", id="foreign", user_id="jonas", created_at=NOW)])
    late = NOW + timedelta(days=9)
    store.put([nm.Entry("rye bread of tomorrow", id="later", user_id="mira", created_at=late)])
    return store


def ask(store: nm.Store, **parts) -> nm.Hits:
    search = nm.Search(store, settings=nm.Settings(**parts))
    return search("rye bread", scope=nm.Scope(user_id="mira"), as_of=NOW)


def test_the_store_is_searched_at_all(store: nm.Store) -> None:
    assert len(ask(store)) == 4


FUNCTIONS = {
    "shape": (lambda *_: np.zeros(3), "shape"),
    "one number": (lambda *_: 1.0, "shape"),
    "nan": (lambda c, *_: np.full(np.shape(c), np.nan), "finite"),
    "infinite": (lambda c, *_: np.full(np.shape(c), np.inf), "finite"),
    "text": (lambda *_: ["a", "b", "c", "d"], "failed"),
    "raises": (lambda *_: 1 / 0, "ZeroDivisionError"),
    "none": (lambda *_: None, "finite|shape"),
}


@pytest.mark.parametrize("fault", FUNCTIONS)
@pytest.mark.parametrize("kind", ["term", "fusion", "decay_curve", "update_rule"])
def test_a_function_that_breaks_its_rules(store: nm.Store, kind: str, fault: str) -> None:
    inner, message = FUNCTIONS[fault]

    def culprit(first, *others):
        size = {"term": len, "fusion": lambda legs: legs.ranks.shape[-1]}.get(kind, np.size)(first)
        return inner(np.zeros(size), *others)

    if kind == "term":
        own = nm.Term(culprit, "culprit")
        parts = {
            "retrieval": nm.Retrieval(terms=[own]),
            "scoring": nm.Scoring(weights={"culprit": 1}),
        }
    else:
        parts = {"scoring": nm.Scoring(**{kind: culprit})}
    with pytest.raises(nm.ExtensionError, match="culprit") as caught:
        ask(store, **parts)
    assert kind in str(caught.value)
    caught.match(message)
    assert "\n" not in str(caught.value)


LEGS = {
    "foreign": (lambda request: [("foreign", 1.0)], "outside of scope"),
    "later": (lambda request: [("later", 1.0)], "outside of scope, type or as_of"),
    "unknown": (lambda request: [("nobody", 1.0)], "does not have"),
    "made up": (
        lambda request: [(nm.Entry("made up", id="nobody", user_id="mira"), 1.0)],
        "does not have",
    ),
    "unsorted": (lambda request: [("loaf-1", 1.0), ("loaf-2", 2.0)], "best first"),
    "twice": (lambda request: [("loaf-1", 1.0), ("loaf-1", 1.0)], "twice"),
    "nan": (lambda request: [("loaf-1", float("nan"))], "not finite"),
    "too many": (lambda request: [(f"loaf-{at}", 1.0) for at in range(4)], "asked for 3"),
    "no pairs": (lambda request: ["loaf-1"], "failed"),
    "no id": (lambda request: [(7, 1.0)], "entries or ids"),
    "raises": (lambda request: 1 / 0, "ZeroDivisionError"),
    "none": (lambda request: None, "TypeError"),
}


@pytest.mark.parametrize("fault", LEGS)
def test_a_leg_that_breaks_its_rules(store: nm.Store, fault: str) -> None:
    function, message = LEGS[fault]

    @dataclass(frozen=True)
    class Culprit:
        name: str = "culprit"

        def search(self, request):
            return function(request)

    with pytest.raises(nm.ExtensionError, match=f"leg 'culprit'.*{message}"):
        ask(store, retrieval=nm.Retrieval(legs=["text", Culprit()], depth=3))


@pytest.mark.parametrize(
    ("scores", "message"),
    [([1.0], "shape"), ([[1.0] * 4], "shape"), ([np.inf] * 4, "infinite"), (["a"] * 4, "failed")],
)
def test_a_reranker_that_breaks_its_rules(store: nm.Store, scores, message: str) -> None:
    @dataclass(frozen=True)
    class Culprit:
        name: str = "culprit"

        def score(self, request, entries):
            return scores

    with pytest.raises(nm.ExtensionError, match=f"leg 'culprit'.*{message}"):
        ask(store, retrieval=nm.Retrieval(legs=["text", Culprit()]))


@nm.term
def frequency(candidates):
    return candidates.access_count / 10


@dataclass(frozen=True)
class Reranker:
    name: str = "reranker"

    def score(self, request, entries):
        return np.zeros(len(entries))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nm.Settings(scoring=nm.Scoring(weights={"frequency": 1})), "w_frequency"),
        (lambda: nm.Settings().replace(w_frequency=1), "w_frequency"),
        (lambda: nm.Settings().replace(frequency=1), "unknown parameter 'frequency'"),
        (lambda: nm.Scoring(weights={"text": 1}), "built-in"),
        (lambda: nm.Scoring(weights={"a b": 1}), "'a b'"),
        (lambda: nm.Scoring(weights={"a": float("nan")}), "w_a must be a finite number"),
        (lambda: nm.Scoring(weights=[1]), "mapping"),
        (lambda: nm.Retrieval(terms=[lambda candidates: 1]), "@nousmem.term"),
        (lambda: nm.Retrieval(terms=frequency), "list of terms"),
        (lambda: nm.Retrieval(terms=[frequency, frequency]), "called 'frequency'"),
        (lambda: nm.Retrieval(legs=[]), "one or more"),
        (lambda: nm.Retrieval(legs="text"), "list"),
        (lambda: nm.Retrieval(legs=[object()]), "a leg has a name"),
        (lambda: nm.Retrieval(legs=["text", "text"]), "called 'text'"),
        (lambda: nm.Retrieval(depth=0), "depth must be a whole number"),
        (lambda: nm.Retrieval(depth=2.5), "depth must be a whole number"),
        (lambda: nm.Search("memory:", retrieval=nm.Retrieval(legs=[Reranker()])), "only score"),
        (lambda: nm.Settings(scoring=nm.Scoring(w_text=0, w_vector=0)), "no leg is left"),
        (lambda: nm.Settings(retrieval=nm.Scoring()), "must be a Retrieval"),
        (lambda: nm.Scoring(decay_curve="exponental"), "exponential"),
        (lambda: nm.Scoring(fusion="nowhere.at:all"), "nowhere"),
        (lambda: nm.Scoring(fusion="math:nothing"), "'nothing'"),
        (lambda: nm.Scoring(fusion="math:pi"), "function over arrays"),
        (lambda: nm.Retrieval(legs=["math:pi"]), "a leg has a name"),
        (lambda: nm.Retrieval(terms=["math:pi"]), "@nousmem.term"),
        (lambda: nm.term(lambda candidates, *, depths: 1, name="x"), "depths"),
        (lambda: nm.Settings.from_toml("[scorin]\n"), "'scorin'"),
        (lambda: nm.Settings.from_toml("[scoring]\ndepth = 3\n"), r"stands in \[retrieval\]"),
        (lambda: nm.Settings.from_toml("[retrieval]\nrrf_k = 3\n"), r"stands in \[scoring\]"),
        (lambda: nm.Settings.from_toml("rrf_k = 3\n"), r"stands in \[scoring\]"),
        (lambda: nm.Settings.from_toml("[injection]\ninject_limits = 3\n"), "inject_limit"),
        (lambda: nm.Settings.from_toml("scoring = 3\n"), "table"),
        (lambda: nm.Settings.from_toml("[[["), "not TOML"),
        (lambda: nm.Settings.from_toml(Path("nowhere.toml")), "cannot read"),
        (lambda: nm.Settings.from_toml(7), "Path"),
        (lambda: nm.Settings.preset("recomended"), "recommended"),
        (lambda: ev.sweep(nm.load_corpus("assistant-year"), grid={"inject_limit": [1]}), "inject"),
    ],
)
def test_settings_that_are_none(make, message: str) -> None:
    with pytest.raises(nm.NousmemError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_embedder_that_hangs_or_raises_anything_degrades_within_bounds(store: nm.Store) -> None:
    class Broken:
        fingerprint = "broken-1"
        dimension = 3

        def __init__(self, act) -> None:
            self.act = act

        def embed_documents(self, texts):
            return self.act()

        embed_queries = embed_documents

    def refuse(error):
        raise error

    acts = [
        lambda: time.sleep(60),
        lambda: refuse(ConnectionError("refused")),
        lambda: refuse(TimeoutError("late")),
        lambda: refuse(ValueError("odd")),
        lambda: refuse(RecursionError("deep")),
        lambda: [[1.0, 2.0]],
        lambda: None,
    ]
    for act in acts:
        search = nm.Search(store, Broken(act), embedder_seconds=0.3)
        with pytest.warns(nm.DegradedSearchWarning):
            hits = search("rye bread", scope=nm.Scope(user_id="mira"), as_of=NOW)
        assert len(hits) == 4
        assert hits.degraded
        with pytest.raises(nm.EmbedderError):
            search.replace(on_embedder_error="raise")("rye bread")
