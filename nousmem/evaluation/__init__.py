"""The laboratory: run queries, measure, sweep settings, compare."""

from __future__ import annotations

from nousmem.evaluation.comparison import Interval, paired_interval
from nousmem.evaluation.grids import ConfoundedGridWarning, grid_settings
from nousmem.evaluation.measures import Measure, evaluate, per_query
from nousmem.evaluation.pools import CandidatePool, load_partition, retrieve_pool
from nousmem.evaluation.results import SweepResult
from nousmem.evaluation.runs import run_queries
from nousmem.evaluation.sweeps import sweep

__all__ = [
    "CandidatePool",
    "ConfoundedGridWarning",
    "Interval",
    "Measure",
    "SweepResult",
    "evaluate",
    "grid_settings",
    "load_partition",
    "paired_interval",
    "per_query",
    "retrieve_pool",
    "run_queries",
    "sweep",
]
