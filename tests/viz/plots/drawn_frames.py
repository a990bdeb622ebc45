"""Small frames for the pictures to draw, and what is read off a picture."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from nousmem.scoring import Scoring, composite, decay, recency
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
        "decay": decay(age, decay_lambda=scoring.decay_lambda),
        "importance": importance,
        "recency": recency(age, recency_lambda=scoring.recency_lambda),
    }
    names = ("w_relevance", "w_importance", "w_recency")
    score = composite(
        relevance * parts["decay"],
        importance,
        parts["recency"],
        **dict(zip(names, scoring.weights(), strict=True)),
    )
    frame = pd.DataFrame({"score": score, **parts})
    frame.insert(0, "doc_id", [f"m{i}" for i in range(count)])
    frame.insert(1, "content", contents or [f"memory number {i}" for i in range(count)])
    frame = frame.sort_values("score", ascending=False)
    frame.insert(0, "rank", range(1, count + 1))
    return frame


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
