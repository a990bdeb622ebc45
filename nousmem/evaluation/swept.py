"""What a sweep found: tables, the best setting, single rankings, files."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nousmem.corpora import Corpus
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
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.statistics.comparison import FewQueriesWarning
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.grids import GridValues, baseline_of
from nousmem.evaluation.sweeps.values import composite_scores
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Retrieval, Settings
from nousmem.scoring import PARAMETERS, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepResult"]

_KEY: Final = "a sweep"
"""In place of what a condition was made from: what a sweep wrote is not gone on with."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepResult(MeasuredSettings):
    """Every measure of every query under every setting, with what is needed to look closer."""

    corpus: Corpus
    """What was measured on, with the queries that cannot be measured."""
    candidates: Mapping[Retrieval, CandidateArrays]
    """What was found for each query, for each way to retrieve among the settings."""
    source: Mapping[str, Any]
    """Where the candidates were found: store, embedder (fingerprint), as_of."""
    seconds: Mapping[str, float]
    """Seconds spent to retrieve and to score."""
    sampler: Mapping[str, Any] = field(default_factory=lambda: {"method": "grid"})
    """How the settings were chosen: method, and of a sampler trials, seed, space, objective."""
    grid: Sequence[Mapping[str, GridValues]] = field(default_factory=tuple)
    """What was varied, and over which values: one grid or several."""
    base: Settings = field(default_factory=Settings)
    """Gave what was not varied."""

    def candidates_of(self, setting: int) -> CandidateArrays:
        """Return the candidates that a row of `frame` ranks.

        Raises:
            InvalidParameter: there is no such row.
        """
        self.check_setting(setting)
        return self.candidates[self.settings[setting].retrieval]

    @property
    def excluded(self) -> Mapping[str, int]:
        """How many queries of the source are not measured, by reason.

        Those that the corpus left out (`excluded` of its card) and those without a relevant
        entry, whether the qrels have a row of them or not. `evaluate` sees the qrels alone, so
        that its n_excluded is not the sum of these.
        """
        return next(iter(self.candidates.values())).excluded

    def run(self, setting: int) -> pd.DataFrame:
        """Return the rankings under one setting, as `run_queries` returns them.

        Args:
            setting: Row of `frame`.

        Returns:
            Columns: query_id, doc_id, score, rank (from 1).
        """
        import pandas as pd

        arrays = self.candidates_of(setting)
        scores = next(composite_scores(arrays, [self.settings[setting].scoring]))
        rows: list[tuple[str, str, float, int]] = []
        for at, query in enumerate(arrays.queries):
            ids = arrays.doc_ids[at]
            own = scores[at, : len(ids)]
            rows += [
                (query.query_id, ids[column], float(own[column]), rank)
                for rank, column in enumerate(score_order(own).tolist(), 1)
                if own[column] > -np.inf
            ]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])

    def provenance(self) -> dict[str, Any]:
        """Return what the result depends on, and what varies from run to run."""
        return {
            "corpus": {
                "name": self.corpus.name,
                "fingerprint": self.corpus.fingerprint(),
                "checksum": self.corpus.card.checksum,
                "n_entries": len(self.corpus.entries),
                "n_queries": self.n_queries,
                "excluded": dict(self.excluded),
            },
            "source": dict(self.source),
            "settings": self.base.to_dict(),
            "baseline": self.baseline_settings.to_dict(),
            "code": self.base.code() | self.best().code(),
            "sampler": dict(self.sampler),
            "parameters": list(self.parameters),
            "n_settings": len(self.settings),
            "measures": [measure.to_document() for measure in self.measures],
            "seconds": dict(self.seconds),
            "versions": {
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in ("nousmem", "numpy", "pandas")},
            },
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write a result folder, as an experiment does, for `read_result` and `nousmem report`.

        A result that is there is replaced; other files of the folder stay.

        Args:
            folder: Made where there is none. What lies in it: see
                `nousmem.evaluation.experiments.folder`.

        Returns:
            The tables, best.toml (the best by the first measure), and manifest.json, which holds
            `provenance`.

        Raises:
            OSError: the folder cannot be written.
        """
        result = self.as_experiment()
        opened = ResultFolder(folder, result.experiment)
        opened.begin_anew()
        opened.write_condition(0, _KEY, result.conditions[0])
        opened.expect([_KEY])
        with warnings.catch_warnings():
            # Whoever writes claims nothing yet; the table says how many queries it rests on.
            warnings.simplefilter("ignore", FewQueriesWarning)
            return opened.write_tables(result, manifest=self.provenance())

    def as_experiment(self) -> ExperimentResult:
        """Return the sweep as the result of an experiment with one condition.

        What is tuned is the sweep's first measure. Corpus, store and embedder are named as the
        sweep knows them, so that the experiment can be read and compared, and not always run
        again.
        """
        source, base = self.source, self.base
        way = base.retrieval
        condition = Condition(
            CorpusChoice(self.corpus.name),
            RetrievalChoice(
                store=source["store"],
                embedder=source["embedder"],
                legs=way.legs,
                depth=way.depth,
                terms=way.own_terms,
                as_of=source["as_of"],
            ),
        )
        experiment = Experiment(
            title=self.corpus.name,
            conditions=(condition,),
            grid=self.grid or {},
            sampler=self.sampler["method"],
            trials=self.sampler.get("trials"),
            scoring=base.scoring,
            injection=base.injection,
            baseline=_changes(baseline_of(base, self.parameters), self.baseline_settings),
            measures=self.measures,
            tune=self.measures[0],
            seed=self.sampler.get("seed", 0),
        )
        measured = MeasuredCondition(
            condition=condition,
            measured=self.as_measured(),
            corpus=describe_corpus(self.corpus),
            excluded=dict(self.excluded),
            embedder=source["embedder"],
            seconds=dict(self.seconds),
        )
        return ExperimentResult(experiment, (measured,))

    def as_measured(self) -> MeasuredSettings:
        """Return the measures alone, without corpus and candidates."""
        return MeasuredSettings(
            parameters=self.parameters,
            settings=self.settings,
            measures=self.measures,
            values=self.values,
            queries=self.queries,
            baseline=self.baseline,
            n_tried=self.n_tried,
        )

    def __repr__(self) -> str:
        """Show sizes and time."""
        return (
            f"SweepResult({self.corpus.name!r}: {len(self.settings):,} settings of "
            f"{', '.join(self.parameters) or 'no parameter'} × {self.n_queries:,} queries, "
            f"{', '.join(map(str, self.measures))}; retrieved in {self.seconds['retrieve']:.1f} s, "
            f"scored in {self.seconds['score']:.1f} s)"
        )


def _changes(plain: Settings, other: Settings) -> dict[str, Any]:
    """Return the parameters of Scoring and Retrieval that are not as in the first settings."""
    return {
        name: getattr(getattr(other, part), name)
        for part, names in (("retrieval", RETRIEVAL_PARAMETERS), ("scoring", PARAMETERS))
        for name in names
        if name != "half_life_days"
        and getattr(getattr(other, part), name) != getattr(getattr(plain, part), name)
    }
