"""A sweep as the experiment that it is: one condition, in the same kind of folder."""

from __future__ import annotations

import warnings
from pathlib import Path

from nousmem.evaluation.experiments.conditions import (
    Condition,
    CorpusChoice,
    MeasuredCondition,
    RetrievalChoice,
    describe_corpus,
)
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.folder import ResultFolder
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.statistics.comparison import FewQueriesWarning
from nousmem.evaluation.sweeps.results import SweepResult

__all__ = ["swept_experiment", "write_sweep"]


def swept_experiment(swept: SweepResult) -> ExperimentResult:
    """Return a sweep as the result of an experiment with one condition.

    What is tuned is the sweep's first measure. Corpus, store and embedder are named as the sweep
    knows them, so that the experiment can be read and compared, and not always run again.
    """
    how = swept.retrieval
    condition = Condition(
        CorpusChoice(swept.corpus.name),
        RetrievalChoice(
            store=how["store"],
            embedder=how["embedder"],
            legs=None if how["legs"] is None else tuple(how["legs"]),
            depth=how["depth"],
            as_of=how["as_of"],
        ),
    )
    experiment = Experiment(
        title=swept.corpus.name,
        conditions=(condition,),
        grid=swept.grid,
        search=swept.search["method"],
        trials=swept.search.get("trials"),
        scoring=swept.scoring,
        baseline=swept.settings[swept.baseline_index()],
        measures=swept.measures,
        tune=swept.measures[0],
        seed=swept.search.get("seed", 0),
    )
    measured = MeasuredCondition(
        condition=condition,
        measured=swept.as_measured(),
        corpus=describe_corpus(swept.corpus),
        excluded=dict(swept.excluded),
        embedder=how["embedder"],
        seconds=dict(swept.seconds),
    )
    return ExperimentResult(experiment, (measured,))


def write_sweep(swept: SweepResult, folder: str | Path) -> list[Path]:
    """Write a sweep as a result folder, in place of the result that is there."""
    result = swept_experiment(swept)
    opened = ResultFolder(folder, result.experiment)
    opened.begin_anew()
    opened.write_condition(0, "", result.conditions[0])
    with warnings.catch_warnings():
        # Whoever writes claims nothing yet; the table says how many queries it rests on.
        warnings.simplefilter("ignore", FewQueriesWarning)
        return opened.write_tables(result, manifest=swept.provenance())
