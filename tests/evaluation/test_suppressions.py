"""What decay pushed out, counted a second time from the rankings themselves."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.evaluation._suppressions import suppression

EDGES = (0, 30, 100, 200, math.inf)


def first(run, k: int) -> dict[str, list[str]]:
    top = run[run["rank"] <= k]
    return {query: part["doc_id"].tolist() for query, part in top.groupby("query_id", sort=False)}


@pytest.mark.parametrize("clock", ["last_access", "creation"])
def test_it_is_the_difference_of_two_rankings(corpus: nm.Corpus, clock: str) -> None:
    grid = {"half_life_days": [20, math.inf], "w_recency": [0.1], "decay_clock": [clock]}
    swept = ev.sweep(corpus, store="memory", grid=grid, measures=["AP"])
    table = check(corpus, swept, on=0, off=1, clock=clock)
    assert table["pushed_out"].sum() > 10
    assert table["pushed_out_relevant"].sum() > 0


@dataclass(frozen=True)
class Alphabetic:
    """A leg that goes by the content's spelling, with a term's weight to go with it."""

    name: str = "alphabetic"

    def search(self, request: nm.LegRequest) -> list[tuple[nm.Entry, float]]:
        found = sorted(request.entries(), key=lambda one: (one.content, one.id))
        return [(one, -float(at)) for at, one in enumerate(found[: request.depth])]


@nm.term(decays=True)
def length(candidates: nm.Candidates) -> np.ndarray:
    return np.array([len(entry.content) / 100 for entry in candidates.entries])


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.SilentLegWarning")
def test_it_looks_at_what_a_setting_retrieves(corpus: nm.Corpus) -> None:
    grid = {
        "half_life_days": [20, math.inf],
        "w_recency": [0.1],
        "depth": [8, 12],
        "legs": [["text"], ["text", Alphabetic()]],
        "terms": [[length]],
        "w_length": [0.5],
    }
    swept = ev.sweep(corpus, store="memory", grid=grid, measures=["AP"])
    tried = swept.settings[: swept.n_tried]
    off = {one.retrieval: row for row, one in enumerate(tried) if not one.scoring.decay_lambda}
    tables = [
        check(corpus, swept, on=on, off=off[one.retrieval], clock="last_access")
        for on, one in enumerate(tried)
        if one.scoring.decay_lambda
    ]
    assert min(table["pushed_out"].sum() for table in tables) > 5
    assert len({tuple(table["pushed_out"]) for table in tables}) == len(off) == 4


def check(
    corpus: nm.Corpus, swept: ev.SweepResult, *, on: int, off: int, clock: str
) -> pd.DataFrame:
    """Count what the table says from the rankings themselves."""
    k = 4
    table = suppression(swept, on, k=k, bins=EDGES)
    entries = {entry.id: entry for entry in corpus.entries}
    now = {query.query_id: query.now for query in corpus.queries}
    relevant = set(zip(corpus.qrels["query_id"], corpus.qrels["doc_id"], strict=True))

    def days(query: str, doc_id: str) -> float:
        entry = entries[doc_id]
        since = entry.created_at if clock == "creation" else entry.last_accessed_at
        return (now[query] - since).total_seconds() / 86400

    def bin_of(query: str, doc_id: str) -> int:
        return int(np.searchsorted(EDGES, days(query, doc_id), side="right")) - 1

    counts: dict[str, Counter[int]] = {name: Counter() for name in table.columns[2:-1]}
    heirs: dict[int, list[float]] = {}
    hurt = set()
    before, after = first(swept.run(off), k), first(swept.run(on), k)
    for query in before:
        out = [one for one in before[query] if one not in after[query]]
        came = [one for one in after[query] if one not in before[query]]
        counts["shown"].update(bin_of(query, one) for one in before[query])
        for one, heir in zip(out, came, strict=True):
            place = bin_of(query, one)
            counts["pushed_out"][place] += 1
            counts["pushed_out_relevant"][place] += (query, one) in relevant
            counts["replacements"][place] += 1
            counts["replacements_relevant"][place] += (query, heir) in relevant
            counts["came_in"][bin_of(query, heir)] += 1
            counts["came_in_relevant"][bin_of(query, heir)] += (query, heir) in relevant
            heirs.setdefault(place, []).append(days(query, heir))
            if (query, one) in relevant:
                hurt.add((query, place))
    counts["queries_hurt"].update(place for _, place in hurt)
    assert table["age_to"].tolist() == list(EDGES[1:])
    for name, counter in counts.items():
        assert table[name].tolist() == [counter[at] for at in range(4)], name
    for at, found in enumerate(table["replacement_age_days"]):
        assert found == pytest.approx(
            np.median(heirs[at]) if at in heirs else math.nan, nan_ok=True
        )
    return table


def test_without_decay_nothing_is_pushed_out(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, store="memory", grid={"decay_lambda": [0]}, measures=["AP"])
    table = suppression(swept, 0)
    assert (table["shown"].sum(), table["pushed_out"].sum(), table["came_in"].sum()) == (220, 0, 0)


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.BuryingDecayWarning")
def test_a_least_score_may_leave_places_empty(corpus: nm.Corpus) -> None:
    swept = ev.sweep(
        corpus, store="memory", grid={"min_score": [0.3], "half_life_days": [1]}, measures=["AP"]
    )
    table = suppression(swept, 0)
    assert table["pushed_out"].sum() > table["replacements"].sum() == table["came_in"].sum()


def test_what_cannot_be_reported_is_refused(corpus: nm.Corpus) -> None:
    swept = ev.sweep(corpus, store="memory", grid={}, measures=["AP"])
    for words, message in [
        ({"setting": 1}, "row of swept.frame"),
        ({"setting": -1}, "row of swept.frame"),
        ({"setting": 0, "k": 0}, "whole number of at least 1"),
        ({"setting": 0, "bins": [0, 10, 5, math.inf]}, "rise from 0"),
        ({"setting": 0, "bins": [0, 10]}, "to infinity"),
        ({"setting": 0, "bins": "old"}, "rise from 0"),
    ]:
        with pytest.raises(nm.InvalidParameter, match=message):
            suppression(swept, **words)
