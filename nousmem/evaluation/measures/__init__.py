"""Retrieval measures, spelled and computed as ir_measures and trec_eval have them; users' too.

One tie rule everywhere: equal scores are ordered by descending doc_id, as trec_eval does. The
measures that there are, and those made of a function, are computed from the ranks of the relevant
entries alone, so that a sweep need not sort whole rankings.
"""

from __future__ import annotations

from nousmem.evaluation.measures._builtin import BUILT_IN, Watched
from nousmem.evaluation.measures._evaluating import evaluate, per_query
from nousmem.evaluation.measures._foreign import Rankings
from nousmem.evaluation.measures._functions import RankFunction
from nousmem.evaluation.measures._judgements import Judgements
from nousmem.evaluation.measures._kinds import (
    Measure,
    find_measure,
    measure,
    parse_measures,
    split_measures,
)
from nousmem.evaluation.measures._means import best_first, query_means
from nousmem.evaluation.measures._ranks import FunctionValues, WatchedRanks, check_marked

__all__ = [
    "BUILT_IN",
    "FunctionValues",
    "Judgements",
    "Measure",
    "RankFunction",
    "Rankings",
    "Watched",
    "WatchedRanks",
    "best_first",
    "check_marked",
    "evaluate",
    "find_measure",
    "measure",
    "parse_measures",
    "per_query",
    "query_means",
    "split_measures",
]
