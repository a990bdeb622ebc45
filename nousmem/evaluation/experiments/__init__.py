"""Experiments as files: conditions, a grid, how it is judged; run, kept in a folder, taken up."""

from __future__ import annotations

from nousmem.evaluation.experiments.comparing import Setting, compare_results
from nousmem.evaluation.experiments.conditions import (
    Condition,
    CorpusChoice,
    MeasuredCondition,
    RetrievalChoice,
)
from nousmem.evaluation.experiments.experiment import Experiment, read_experiment
from nousmem.evaluation.experiments.folder import read_result
from nousmem.evaluation.experiments.gating import (
    Gate,
    check_gate,
    check_gateable,
    write_baseline,
)
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.experiments.running import Backend, run_experiment, versions
from nousmem.evaluation.experiments.sweeping import swept_experiment

__all__ = [
    "Backend",
    "Condition",
    "CorpusChoice",
    "Experiment",
    "ExperimentResult",
    "Gate",
    "MeasuredCondition",
    "RetrievalChoice",
    "Setting",
    "check_gate",
    "check_gateable",
    "compare_results",
    "read_experiment",
    "read_result",
    "run_experiment",
    "swept_experiment",
    "versions",
    "write_baseline",
]
