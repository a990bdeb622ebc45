"""The laboratory: run queries, measure, sweep settings, compare."""

from __future__ import annotations

from nousmem.evaluation._comparing import compare
from nousmem.evaluation._runs import run_queries
from nousmem.evaluation._suppressions import suppression
from nousmem.evaluation._sweeping import sweep, sweep_again
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.experiments import (
    Experiment,
    ExperimentResult,
    compare_results,
    read_experiment,
    read_result,
    run_experiment,
)
from nousmem.evaluation.injections.results import InjectionResult
from nousmem.evaluation.injections.small_talk import SMALL_TALK, ForeignSmallTalkWarning
from nousmem.evaluation.injections.sweeping import sweep_injection
from nousmem.evaluation.judging.labelling import LabelSession
from nousmem.evaluation.judging.proposing import (
    Judgement,
    JudgementFile,
    judged_at,
    judged_share,
    leg_contributions,
    propose_pool,
    read_qrels,
)
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.measures import Measure, evaluate, measure, per_query
from nousmem.evaluation.replays.replaying import replay
from nousmem.evaluation.replays.results import ReplayResult
from nousmem.evaluation.statistics.comparison import FewQueriesWarning, compare_values
from nousmem.evaluation.statistics.folds import fold_of, query_groups
from nousmem.evaluation.statistics.resampling import (
    Interval,
    holm,
    paired_interval,
    paired_p_value,
)
from nousmem.evaluation.statistics.validation import CrossValidation, cross_validate
from nousmem.evaluation.sweeps.candidate_arrays import (
    CandidateArrays,
    find_candidates,
    load_partition,
)
from nousmem.evaluation.sweeps.cautions import (
    BuryingDecayWarning,
    IdleParameterWarning,
    SilentLegWarning,
)
from nousmem.evaluation.sweeps.grids import ConfoundedGridWarning, grid_settings
from nousmem.evaluation.sweeps.ranges import Range, Simplex
from nousmem.evaluation.swept import SweepResult

__all__ = [
    "SMALL_TALK",
    "BuryingDecayWarning",
    "CandidateArrays",
    "ConfoundedGridWarning",
    "CrossValidation",
    "Experiment",
    "ExperimentResult",
    "FewQueriesWarning",
    "ForeignSmallTalkWarning",
    "IdleParameterWarning",
    "InjectionResult",
    "Interval",
    "Judgement",
    "JudgementFile",
    "LabelSession",
    "Measure",
    "MeasuredSettings",
    "Range",
    "ReplayResult",
    "SilentLegWarning",
    "Simplex",
    "SweepResult",
    "UpdateMarks",
    "compare",
    "compare_results",
    "compare_values",
    "cross_validate",
    "evaluate",
    "find_candidates",
    "fold_of",
    "grid_settings",
    "holm",
    "judged_at",
    "judged_share",
    "leg_contributions",
    "load_partition",
    "measure",
    "paired_interval",
    "paired_p_value",
    "per_query",
    "propose_pool",
    "query_groups",
    "read_experiment",
    "read_qrels",
    "read_result",
    "replay",
    "run_experiment",
    "run_queries",
    "suppression",
    "sweep",
    "sweep_again",
    "sweep_injection",
]
