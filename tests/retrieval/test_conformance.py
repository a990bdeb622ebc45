"""The built-in legs and terms, some of a user's own, and broken ones, under the suites."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import nousmem as nm
from nousmem.retrieval.terms import Term
from nousmem.testing import LegConformance, TermConformance


@nm.term(decays=False)
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@nm.term(decays=True)
def calm(candidates, *, recency_lambda):
    return np.exp(-recency_lambda * candidates.age_hours / 10)


@dataclass(frozen=True)
class PlaceLeg:
    """Finds entries by a word of the query in their metadata."""

    name: str = "place"

    def search(self, request: nm.LegRequest):
        words = set(request.query.lower().split())
        found = [one for one in request.entries() if one.metadata.get("place") in words]
        return [(one, 1.0) for one in reversed(found)][: request.depth]


@dataclass(frozen=True)
class LengthLeg:
    """A reranker that likes short texts."""

    name: str = "length"

    def score(self, request: nm.LegRequest, entries: Sequence[nm.Entry]):
        return [-len(one.content) for one in entries]


class TestFrequency(TermConformance):
    term = frequency


class TestCalm(TermConformance):
    term = calm


class TestPlaceLeg(LegConformance):
    def make_leg(self):
        return PlaceLeg()


class TestLengthLeg(LegConformance):
    def make_leg(self):
        return LengthLeg()


def failures(suite: type) -> set[str]:
    """Run a suite by hand; return the rules that are broken."""
    broken: set[str] = set()
    for name in [one for one in dir(suite) if one.startswith("test_")]:
        try:
            getattr(suite(), name)()
        except pytest.skip.Exception:
            continue
        except (AssertionError, nm.NousmemError):
            broken.add(name)
    return broken


def later_leg(request):
    found = request.store.list(scope=request.scope)
    return [(one, 1.0) for one in reversed(found)][: request.depth]


BROKEN_LEGS = {
    "foreign": (
        lambda request: [(one, 1.0) for one in request.store.list()][: request.depth],
        "test_keeps_the_rules",
    ),
    "later": (later_leg, "test_sees_nothing_later"),
    "twice": (
        lambda request: [(one, 1.0) for one in request.entries()[:1]] * 2,
        "test_keeps_the_rules",
    ),
    "unsorted": (
        lambda request: [(one, float(at)) for at, one in enumerate(request.entries()[:3])],
        "test_keeps_the_rules",
    ),
    "too many": (lambda request: [(one, 1.0) for one in request.entries()], "test_keeps_the_rules"),
    "unknown": (lambda request: [("nowhere", 1.0)], "test_keeps_the_rules"),
    "raises": (lambda request: 1 / 0, "test_keeps_the_rules"),
    "nan": (
        lambda request: [(one, float("nan")) for one in request.entries()[:1]],
        "test_keeps_the_rules",
    ),
    "random": (
        lambda request: [(one, 1.0) for one in random.sample(request.entries(), 3)],
        "test_is_deterministic",
    ),
    "depth": (
        lambda request: [(one, 1.0) for one in request.entries()[request.depth % 7 :]][
            : request.depth
        ],
        "test_a_deeper_list_begins_alike",
    ),
}


@pytest.mark.parametrize("fault", BROKEN_LEGS)
def test_a_broken_leg_is_caught(fault: str) -> None:
    function, rule = BROKEN_LEGS[fault]

    @dataclass(frozen=True)
    class Broken:
        name: str = "broken"

        def search(self, request):
            return function(request)

    class Suite(LegConformance):
        def make_leg(self):
            return Broken()

    assert rule in failures(Suite)


BROKEN_TERMS = {
    "shape": (lambda candidates: np.zeros(len(candidates) + 1), "test_shape_and_numbers"),
    "one number": (lambda candidates: 0.5, "test_shape_and_numbers"),
    "nan": (lambda candidates: np.full(len(candidates), np.nan), "test_shape_and_numbers"),
    "text": (lambda candidates: ["a"] * len(candidates), "test_shape_and_numbers"),
    "raises": (lambda candidates: 1 / 0, "test_shape_and_numbers"),
    "random": (
        lambda candidates: np.random.default_rng().random(len(candidates)),
        "test_is_deterministic",
    ),
    "writes": (lambda candidates: candidates.importance.__imul__(2.0), "test_shape_and_numbers"),
}


@pytest.mark.parametrize("fault", BROKEN_TERMS)
def test_a_broken_term_is_caught(fault: str) -> None:
    function, rule = BROKEN_TERMS[fault]

    class Suite(TermConformance):
        term = Term(function, "broken")

    assert rule in failures(Suite)


def test_what_works_breaks_no_rule() -> None:
    assert failures(TestFrequency) == set()
    assert failures(TestPlaceLeg) == set()
