"""The laboratory: run queries, measure, sweep settings, compare."""

from __future__ import annotations

from nousmem.evaluation.comparison import (
    FewQueriesWarning,
    Interval,
    compare,
    holm,
    paired_interval,
    paired_p_value,
)
from nousmem.evaluation.folds import fold_of, query_groups
from nousmem.evaluation.grids import ConfoundedGridWarning, grid_settings
from nousmem.evaluation.judging import (
    JudgementFile,
    judged_at,
    judged_share,
    leg_contributions,
    propose_pool,
    read_qrels,
)
from nousmem.evaluation.labelling import LabelSession
from nousmem.evaluation.measures import Measure, evaluate, per_query
from nousmem.evaluation.pools import CandidatePool, load_partition, retrieve_pool
from nousmem.evaluation.results import SweepResult
from nousmem.evaluation.runs import run_queries
from nousmem.evaluation.sweeps import sweep
from nousmem.evaluation.validation import CrossValidation, cross_validate

__all__ = [
    "CandidatePool",
    "ConfoundedGridWarning",
    "CrossValidation",
    "FewQueriesWarning",
    "Interval",
    "JudgementFile",
    "LabelSession",
    "Measure",
    "SweepResult",
    "compare",
    "cross_validate",
    "evaluate",
    "fold_of",
    "grid_settings",
    "holm",
    "judged_at",
    "judged_share",
    "leg_contributions",
    "load_partition",
    "paired_interval",
    "paired_p_value",
    "per_query",
    "propose_pool",
    "query_groups",
    "read_qrels",
    "retrieve_pool",
    "run_queries",
    "sweep",
]
