"""Experiments as files: conditions, a grid, how it is judged; run, kept in a folder, taken up."""

from __future__ import annotations

from nousmem.evaluation.experiments._comparing import Setting, compare_results
from nousmem.evaluation.experiments._gating import (
    Gate,
    check_gate,
    check_gateable,
    write_baseline,
)
from nousmem.evaluation.experiments._plans import Plan
from nousmem.evaluation.experiments._reading import read_experiment
from nousmem.evaluation.experiments._running import Backend, run_experiment, versions
from nousmem.evaluation.experiments.conditions import (
    Condition,
    CorpusChoice,
    MeasuredCondition,
    RetrievalChoice,
)
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.folder import read_result
from nousmem.evaluation.experiments.results import ExperimentResult

__all__ = [
    "Backend",
    "Condition",
    "CorpusChoice",
    "Experiment",
    "ExperimentResult",
    "Gate",
    "MeasuredCondition",
    "Plan",
    "RetrievalChoice",
    "Setting",
    "check_gate",
    "check_gateable",
    "compare_results",
    "read_experiment",
    "read_result",
    "run_experiment",
    "versions",
    "write_baseline",
]
