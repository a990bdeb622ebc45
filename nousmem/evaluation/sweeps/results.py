"""What a sweep found: tables, the best setting, single rankings, files."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nousmem.corpora import Corpus
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.grids import GridValues
from nousmem.scoring import Scoring, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepResult"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepResult(MeasuredSettings):
    """Every measure of every query under every setting, with what is needed to look closer."""

    corpus: Corpus
    """What was measured on, with the queries that cannot be measured."""
    candidates: CandidateArrays
    """What was retrieved for each query; every setting ranks the same."""
    retrieval: Mapping[str, Any]
    """How the candidates were retrieved: store, embedder (fingerprint), legs, arrays, as_of."""
    seconds: Mapping[str, float]
    """Seconds spent to retrieve and to score."""
    search: Mapping[str, Any] = field(default_factory=lambda: {"method": "grid"})
    """How the settings were chosen: method, and of a search trials, seed, space, objective."""
    grid: Mapping[str, GridValues] = field(default_factory=dict[str, GridValues])
    """What was varied, and over which values."""
    scoring: Scoring = field(default_factory=Scoring)
    """Gave the parameters that were not varied."""

    @property
    def excluded(self) -> Mapping[str, int]:
        """How many queries of the source are not measured, by reason.

        Those that the corpus left out (`excluded` of its card) and those without a relevant
        entry, whether the qrels have a row of them or not. `evaluate` sees the qrels alone, so
        that its n_excluded is not the sum of these.
        """
        return self.candidates.excluded

    def run(self, setting: int) -> pd.DataFrame:
        """Return the rankings under one setting, as `run_queries` returns them.

        Args:
            setting: Row of `frame`.

        Returns:
            Columns: query_id, doc_id, score, rank (from 1).
        """
        import pandas as pd

        from nousmem.evaluation.sweeps.sweeping import composite_scores

        self.check_setting(setting)
        scores = next(composite_scores(self.candidates, [self.settings[setting]]))
        rows: list[tuple[str, str, float, int]] = []
        for at, query in enumerate(self.candidates.queries):
            ids = self.candidates.doc_ids[at]
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
            "retrieval": dict(self.retrieval),
            "search": dict(self.search),
            "parameters": list(self.parameters),
            "n_settings": len(self.settings),
            "measures": [str(measure) for measure in self.measures],
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
        from nousmem.evaluation.experiments.sweeping import write_sweep

        return write_sweep(self, folder)

    def as_measured(self) -> MeasuredSettings:
        """Return the measures alone, without corpus and candidates."""
        return MeasuredSettings(
            parameters=self.parameters,
            settings=self.settings,
            measures=self.measures,
            values=self.values,
            queries=self.queries,
            baseline=self.baseline_index(),
        )

    def __repr__(self) -> str:
        """Show sizes and time."""
        return (
            f"SweepResult({self.corpus.name!r}: {len(self.settings):,} settings of "
            f"{', '.join(self.parameters) or 'no parameter'} × {self.n_queries:,} queries, "
            f"{', '.join(map(str, self.measures))}; retrieved in {self.seconds['retrieve']:.1f} s, "
            f"scored in {self.seconds['score']:.1f} s)"
        )
