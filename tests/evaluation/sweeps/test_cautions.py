"""A sweep that cannot answer what it seems to ask says so."""

from __future__ import annotations

import warnings

import pytest

import nousmem as nm
from nousmem import evaluation as ev


@pytest.mark.parametrize(
    ("idle", "grid", "scoring"),
    [
        ("rrf_k", {"rrf_k": [5, 60]}, nm.Scoring(fusion="convex")),
        ("decay_curve", {"decay_curve": ["power", "step"]}, nm.Scoring(decay_lambda=0)),
        ("recency_lambda", {"recency_lambda": [0.01, 0.1]}, nm.Scoring(w_recency=0)),
        ("w_text", {"w_text": [1, 2], "w_importance": [0, 0.3]}, nm.Scoring()),
    ],
)
def test_a_parameter_that_changes_nothing_is_named(corpus: nm.Corpus, idle, grid, scoring):
    embedder = "hashing" if idle == "rrf_k" else None
    with pytest.warns(ev.IdleParameterWarning, match=idle) as caught:
        ev.sweep(corpus, embedder=embedder, grid=grid, scoring=scoring)
    assert len([one for one in caught if one.category is ev.IdleParameterWarning]) == 1


def test_decay_that_buries_everything_is_named(corpus: nm.Corpus):
    with pytest.warns(ev.BuryingDecayWarning, match="half-life of 0.289 days"):
        ev.sweep(corpus, grid={"decay_lambda": [0.1, 0.2]})


def test_a_sweep_that_can_answer_is_silent(corpus: nm.Corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ev.sweep(
            corpus,
            embedder="hashing",
            grid={"decay_lambda": [1e-5, 0.1], "w_importance": [0, 0.3], "rrf_k": [5, 60]},
        )


def test_a_leg_that_finds_nothing_is_named(corpus: nm.Corpus):
    with pytest.warns(ev.SilentLegWarning, match="text leg found nothing for any of 22 queries"):
        ev.sweep(corpus, store="duckdb", embedder="hashing", grid={})
