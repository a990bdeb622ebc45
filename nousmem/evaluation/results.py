"""What a sweep found: tables, the best setting, single rankings, files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nousmem.corpora import Corpus
from nousmem.errors import InvalidParameter, UnknownName
from nousmem.evaluation.comparison import paired_interval
from nousmem.evaluation.measures import Measure, query_means
from nousmem.evaluation.pools import CandidatePool
from nousmem.evaluation.validation import CrossValidation, cross_validate
from nousmem.scope import SCOPE_FIELDS
from nousmem.scoring import Floats, Scoring, half_life_days, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepResult"]


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Every measure of every query under every setting, with what is needed to look closer."""

    corpus: Corpus
    parameters: tuple[str, ...]
    """The parameters varied, sorted."""
    settings: tuple[Scoring, ...]
    measures: tuple[Measure, ...]
    values: Floats
    """Shape (settings, measures, queries); NaN where Fresh does not exist for a query."""
    candidates: CandidatePool
    retrieval: Mapping[str, Any]
    """How the candidates were retrieved: store, embedder (fingerprint), legs, pool, as_of."""
    seconds: Mapping[str, float]
    """Seconds spent to retrieve and to score."""

    @property
    def n_queries(self) -> int:
        """Queries measured."""
        return len(self.candidates)

    @property
    def excluded(self) -> Mapping[str, int]:
        """Queries of the source that are not measured, by reason."""
        return self.candidates.excluded

    @property
    def frame(self) -> pd.DataFrame:
        """One setting a row, in the order of the grid.

        Columns: the parameters varied; half_life_days beside decay_lambda (infinite: no decay);
        one column for each measure, averaged over queries; n_queries; for Fresh@1 also n_Fresh@1,
        the queries it exists for, which its mean is over.
        """
        return self._table(self.values)

    def by(self, attribute: str = "category") -> pd.DataFrame:
        """Return the measures of each group of queries, one setting and group a row.

        Args:
            attribute: "category", or a scope field.

        Returns:
            Columns: as in `frame`, and one named like `attribute`; n_queries is the group's.

        Raises:
            UnknownName: queries have no such attribute.
        """
        import pandas as pd

        labels = self._labels(attribute)
        tables: list[pd.DataFrame] = []
        for label in sorted(set(labels)):
            chosen = np.array([one == label for one in labels])
            table = self._table(self.values[:, :, chosen])
            table.insert(0, attribute, label)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def per_query(self, setting: int) -> pd.DataFrame:
        """Return the measures of every query under one setting.

        Args:
            setting: Row of `frame`.

        Returns:
            Columns: query_id, category, and one for each measure.
        """
        import pandas as pd

        queries = self.candidates.queries
        columns: dict[str, Any] = {
            "query_id": [query.query_id for query in queries],
            "category": [query.category for query in queries],
        }
        for measure, row in zip(self.measures, self.values[setting], strict=True):
            columns[str(measure)] = row
        return pd.DataFrame(columns)

    def values_of(self, measure: str | Measure) -> Floats:
        """Return one measure of every query under every setting, shape (settings, queries).

        Fresh is NaN for queries whose fact was not updated.

        Raises:
            InvalidParameter: it was not measured.
        """
        return self.values[:, self._column(measure)]

    def cross_validated(
        self,
        measure: str | Measure,
        *,
        folds: int = 5,
        baseline: int | None = None,
        seed: int = 0,
    ) -> CrossValidation:
        """Return what tuning this measure is worth on folds it did not see.

        See `nousmem.evaluation.validation.cross_validate`.
        """
        return cross_validate(self, measure, folds=folds, baseline=baseline, seed=seed)

    def best_index(self, measure: str | Measure) -> int:
        """Return the row of `frame` with the highest mean; of equals, the first."""
        return int(query_means(self.values_of(measure)).argmax())

    def best(self, measure: str | Measure) -> Scoring:
        """Return the setting with the highest mean of a measure; of equals, the first.

        It was chosen on the queries it is reported on, so its measure flatters it a little.
        """
        return self.settings[self.best_index(measure)]

    def leaderboard(
        self, measure: str | Measure, *, top: int = 10, baseline: int | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return the best settings by a measure, each with its difference to a baseline.

        Args:
            measure: What to sort by.
            top: How many rows.
            baseline: Row of `frame` to compare with; None is the row that equals the default
                Scoring, or the first row where the grid has none.
            seed: Of the bootstrap.

        Returns:
            Columns: as in `frame`, and difference (of `measure`, to the baseline), low, high
            (its 95 % interval, paired over the queries that the measure exists for).
        """
        column = self._column(measure)
        means = query_means(self.values[:, column])
        order = np.argsort(-means, kind="stable")[:top]
        against = self.baseline_index() if baseline is None else baseline
        table = self.frame.iloc[order].reset_index(drop=True)
        exists = ~np.isnan(self.values[against, column])
        base = self.values[against, column, exists]
        intervals = [
            paired_interval(self.values[at, column, exists], base, seed=seed) for at in order
        ]
        table["difference"] = [interval.difference for interval in intervals]
        table["low"] = [interval.low for interval in intervals]
        table["high"] = [interval.high for interval in intervals]
        return table

    def baseline_index(self) -> int:
        """Return the row that equals the default Scoring, or 0 where the grid has none."""
        default = Scoring()
        return next(
            (
                at
                for at, setting in enumerate(self.settings)
                if setting.replace(
                    w_recency=None
                    if setting.recency_weight() == default.recency_weight()
                    else setting.w_recency,
                    recency_lambda=default.recency_lambda,
                )
                == default
            ),
            0,
        )

    def run(self, setting: int) -> pd.DataFrame:
        """Return the rankings under one setting, as `run_queries` returns them.

        Args:
            setting: Row of `frame`.

        Returns:
            Columns: query_id, doc_id, score, rank (from 1).
        """
        import pandas as pd

        from nousmem.evaluation.sweeps import pool_scores

        scores = next(pool_scores(self.candidates, [self.settings[setting]]))
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
        """Write the tables as Parquet and CSV, and the provenance, into a folder.

        Returns:
            The files: settings and by_category (.parquet, .csv), manifest.json.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for name, table in (("settings", self.frame), ("by_category", self.by())):
            table.to_parquet(place / f"{name}.parquet", index=False)
            table.to_csv(place / f"{name}.csv", index=False, lineterminator="\n")
            written += [place / f"{name}.parquet", place / f"{name}.csv"]
        manifest = place / "manifest.json"
        manifest.write_text(json.dumps(self.provenance(), indent=2, default=str) + "\n")
        return [*written, manifest]

    def __repr__(self) -> str:
        """Show sizes and time."""
        return (
            f"SweepResult({self.corpus.name!r}: {len(self.settings):,} settings of "
            f"{', '.join(self.parameters) or 'no parameter'} × {self.n_queries:,} queries, "
            f"{', '.join(map(str, self.measures))}; retrieved in {self.seconds['retrieve']:.1f} s, "
            f"scored in {self.seconds['score']:.1f} s)"
        )

    def _table(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        means = query_means(values)

        columns: dict[str, Any] = {}
        for name in self.parameters:
            if name == "half_life_days":
                columns[name] = [half_life_days(one.decay_lambda) for one in self.settings]
                continue
            columns[name] = [getattr(setting, name) for setting in self.settings]
            if name == "decay_lambda":
                columns["half_life_days"] = [half_life_days(rate) for rate in columns[name]]
        for at, measure in enumerate(self.measures):
            columns[str(measure)] = means[:, at]
        columns["n_queries"] = [values.shape[2]] * len(self.settings)
        for at, measure in enumerate(self.measures):
            if measure.is_partial:
                columns[f"n_{measure}"] = (~np.isnan(values[:, at])).sum(axis=1)
        return pd.DataFrame(columns)

    def _labels(self, attribute: str) -> list[str]:
        if attribute == "category":
            return [query.category for query in self.candidates.queries]
        if attribute in SCOPE_FIELDS:
            return [getattr(query.scope, attribute) or "" for query in self.candidates.queries]
        raise UnknownName("attribute of a query", attribute, ("category", *SCOPE_FIELDS))

    def _column(self, measure: str | Measure) -> int:
        parsed = Measure.parse(measure)
        if parsed not in self.measures:
            known = ", ".join(map(str, self.measures))
            raise InvalidParameter(f"{parsed} was not measured in this sweep; measured: {known}")
        return self.measures.index(parsed)
