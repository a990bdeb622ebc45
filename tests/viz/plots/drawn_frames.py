"""Small frames for the pictures to draw, and what is read off a picture."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

import nousmem as nm
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import parse_measures
from nousmem.scoring import CURVES, Scoring, composite, decay, recency
from nousmem.viz import plots

LAMBDAS = [0.001, 0.0, 0.0001, 0.1]
WEIGHTS = [0.0, 0.3, 0.15]


def sweep():
    """Unsorted on purpose; the best cell is (0.0001, 0.15) with w_recency 0.2."""
    rows = []
    for rate in LAMBDAS:
        for weight in WEIGHTS:
            for w_recency in (None, 0.2):
                value = 0.4 - rate - abs(weight - 0.15) + 0.01 * (w_recency or 0)
                value += 0.05 if rate == 0.0001 else 0
                rows.append(
                    {
                        "decay_lambda": rate,
                        "w_importance": weight,
                        "w_recency": w_recency,
                        "nDCG@10": value,
                        "R@10": value / 2,
                    }
                )
    return pd.DataFrame(rows)


def by_category():
    return pd.DataFrame(
        [
            {
                "decay_lambda": rate,
                "category": name,
                "nDCG@10": base - rate,
                "n_queries": count,
                "low": base - rate - 0.02,
                "high": base - rate + 0.02,
            }
            for name, base, count in (("temporal", 0.3, 321), ("single-hop", 0.5, 1841))
            for rate in LAMBDAS
        ]
    )


def ranking(scoring, *, count=4, contents=None):
    relevance = np.linspace(1, 0.4, count)
    age = np.linspace(2000, 10, count)
    importance = np.linspace(0.2, 0.8, count)
    parts = {
        "relevance": relevance,
        "age_hours": age,
        "decay": decay(age, decay_lambda=scoring.decay_lambda, curve=CURVES["exponential"]),
        "importance": importance,
        "recency": recency(age, recency_lambda=scoring.recency_lambda),
    }
    values = (relevance * parts["decay"], importance, parts["recency"])
    score = composite(zip(scoring.term_weights(), values, strict=True))
    frame = pd.DataFrame({"score": score, **parts})
    frame.insert(0, "doc_id", [f"m{i}" for i in range(count)])
    frame.insert(1, "content", contents or [f"memory number {i}" for i in range(count)])
    frame = frame.sort_values("score", ascending=False)
    frame.insert(0, "rank", range(1, count + 1))
    return frame


@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@nm.term(decays=True)
def brevity(candidates):
    return np.array([1 / len(entry.content.split()) for entry in candidates.entries])


@dataclass(frozen=True)
class Shouting:
    """Finds what is written in capitals."""

    name: str = "shouting"

    def search(self, request):
        found = [(one, sum(map(str.isupper, one.content)) / 99) for one in request.entries()]
        return sorted(found, key=lambda pair: -pair[1])[: request.depth]


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def own_settings(**changes):
    retrieval = nm.Retrieval(legs=["text", Shouting()], terms=[frequency, brevity])
    scoring = nm.Scoring(w_recency=0.1, weights={"frequency": 0.2, "brevity": 0.4, "shouting": 0.5})
    return nm.Settings(retrieval=retrieval, scoring=scoring).replace(**changes)


def own_hits(settings):
    """Return a ranking with a leg and two terms of somebody's own."""
    store = nm.open_store("memory:")
    store.put(
        nm.Entry(
            text,
            id=f"m{at}",
            access_count=at * 7,
            created_at=NOW - timedelta(days=9 * at),
            last_accessed_at=NOW - timedelta(days=4 * at),
        )
        for at, text in enumerate(
            ["the tram is LATE", "the tram to the harbour", "a tram", "THE TRAM AGAIN"]
        )
    )
    return nm.Search(store, settings=settings)("tram", now=NOW)


def swept(*, grid, value, baseline):
    """Return a sweep's measures of two queries, as `value` of the settings gives them.

    Args:
        grid: Parameters and their values.
        value: Takes Settings.
        baseline: Settings; a row of its own where they are none of the grid.
    """
    names = sorted(grid)
    rows = [
        nm.Settings().replace(**dict(zip(names, one, strict=True)))
        for one in itertools.product(*(grid[name] for name in names))
    ]
    n_tried = len(rows)
    if baseline not in rows:
        rows.append(baseline)
    values = np.array([[[value(one)] * 2, [value(one) / 2] * 2] for one in rows])
    return MeasuredSettings(
        parameters=tuple(names),
        settings=tuple(rows),
        measures=tuple(parse_measures(["nDCG@10", "R@10"])),
        values=values,
        queries=tuple(MeasuredQuery(f"q{i}", "", "all", f"g{i}", nm.Scope()) for i in range(2)),
        baseline=rows.index(baseline),
        n_tried=n_tried,
    )


def frontier():
    return pd.DataFrame(
        {
            "decay_lambda": [0.001, 0.0, 0.01, 0.0001],
            "R@10": [0.5, 0.6, 0.1, 0.58],
            "Fresh@1": [0.6, 0.3, 0.5, 0.5],
        }
    )


def differences():
    return pd.DataFrame(
        {
            "name": ["tuned", "no decay", "worse"],
            "difference": [0.04, 0.01, -0.03],
            "low": [0.02, -0.01, -0.05],
            "high": [0.06, 0.03, -0.01],
            "p_value": [0.0002, 0.31, 0.04],
            "measure": "nDCG@10",
        }
    )


def families():
    return pd.DataFrame(
        {
            "name": ["no decay", "decay"],
            "R@10": [0.6, 0.5],
            "R@10_low": [0.55, 0.45],
            "R@10_high": [0.65, 0.62],
        }
    )


def pushed_out():
    """The first and last bins are empty."""
    return pd.DataFrame(
        {
            "age_from": [0, 1 / 4, 7, 30, 90],
            "age_to": [1 / 4, 7, 30, 90, math.inf],
            "pushed_out": [0, 0, 40, 1200, 0],
            "pushed_out_relevant": [0, 0, 1, 30, 0],
            "queries_hurt": [0, 0, 1, 28, 0],
            "came_in": [0, 1100, 140, 0, 0],
            "came_in_relevant": [0, 4, 0, 0, 0],
        }
    )


def every_picture(ax=None):
    tuned = Scoring(decay_lambda=0.001, w_recency=0.2)
    return {
        "heatmap": lambda: plots.heatmap(sweep(), ax=ax),
        "curve": lambda: plots.curve(by_category(), ax=ax),
        "score_parts": lambda: plots.score_parts(
            ranking(tuned), scoring=tuned, relevant={"m1"}, ax=ax
        ),
        "trade_off": lambda: plots.trade_off(frontier(), ax=ax),
        "half_life": lambda: plots.half_life([1.0, 500, 3000], decay_lambda=0.001, ax=ax),
        "intervals": lambda: plots.intervals(differences(), ax=ax),
        "estimates": lambda: plots.estimates(families(), "R@10", ax=ax),
        "suppression": lambda: plots.suppression(pushed_out(), ax=ax),
    }


NAMES = list(every_picture())


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def title(ax):
    return ax.get_title(loc="left")
