"""What would be shown unasked: tables, the best setting, and intervals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.checks import check_number
from nousmem.errors import InvalidParameter
from nousmem.evaluation.measured import MeasuredQuery, find_row
from nousmem.evaluation.statistics.comparison import compare_values
from nousmem.evaluation.statistics.folds import fitting_folds, fold_of
from nousmem.evaluation.statistics.resampling import holm
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats, half_life_days

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OPTIONS", "InjectionResult", "find_setting"]

Counts = NDArray[np.int64]

OPTIONS: Final = ("inject_limit", "inject_min_score", "inject_min_words", "inject_min_cosine")
"""Of `Injection`, what decides which memories are shown; `inject_max_tokens` is not looked at."""

MEASURES: Final = ("answered", "found", "shown")
"""What there is of each query."""


def find_setting(settings: Sequence[Settings], wanted: Settings) -> int | None:
    """Return the place of the settings that show what the wanted ones do; None for none.

    The rate of decay may differ as in `nousmem.evaluation.measured.find_row`.
    """
    thresholds = [wanted.value_of(name) for name in OPTIONS]
    near = [
        at
        for at, one in enumerate(settings)
        if [one.value_of(name) for name in OPTIONS] == thresholds
    ]
    found = find_row([settings[at] for at in near], wanted)
    return None if found is None else near[found]


@dataclass(frozen=True, eq=False, kw_only=True)
class InjectionResult:
    """How many memories would be shown for every message under every setting."""

    parameters: tuple[str, ...]
    """What is varied: parameters of Scoring and Retrieval, then the options of injection."""
    settings: tuple[Settings, ...]
    """What was tried, one a row of `frame`, with what is not varied; after it the baseline, where
    it was not among that."""
    queries: tuple[MeasuredQuery, ...]
    """Those that have a relevant entry, in the order of the corpus."""
    n_shown: Counts
    """Shape (settings, queries): memories shown."""
    n_relevant_shown: Counts
    """Shape (settings, queries): of these, judged relevant."""
    n_relevant: Counts
    """Shape (queries,): entries judged relevant, at least 1."""
    small_talk: tuple[str, ...]
    """The messages that need no memory, as often as each was sent."""
    n_shown_for_talk: Counts
    """Shape (settings, small talk): memories shown."""
    baseline: int
    """Row of what the others are compared with: the documented defaults."""
    n_tried: int
    """Rows that were tried; after them the baseline may stand."""
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Queries of the source that are not among `queries`, by reason."""

    @property
    def frame(self) -> pd.DataFrame:
        """One setting a row, in the order of the grid; the baseline last, where it is not in it.

        Columns: what is varied (functions, legs and terms by their names); half_life_days beside
        decay_lambda (infinite: no decay); answered (share of queries shown a relevant entry),
        found (share of a query's relevant entries shown, mean over queries), shown (memories
        shown for a query, mean), precision (share of all memories shown that are judged
        relevant; NaN where none is shown), quiet (share of small talk for which nothing is
        shown; NaN without small talk), n_queries, n_small_talk.
        """
        return self._table(np.ones(len(self.queries), dtype=np.bool_))

    def by_category(self) -> pd.DataFrame:
        """Return the columns of `frame` by category of query, one setting and category a row.

        `quiet` and `n_small_talk` have no category and are left out.
        """
        import pandas as pd

        labels = np.array([query.category for query in self.queries])
        tables: list[pd.DataFrame] = []
        for label in sorted(set(labels.tolist())):
            table = self._table(labels == label).drop(columns=["quiet", "n_small_talk"])
            table.insert(0, "category", label)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def best_index(self, *, quiet: float = 0.95) -> int:
        """Return the row that answers most among those quiet enough.

        Of equals, the one that shows the fewest memories, then the first. It was chosen on the
        queries it is reported on, so its figures flatter it a little.

        Args:
            quiet: Least share of small talk for which nothing is shown, 0 to 1; not looked at
                where there is no small talk.

        Raises:
            InvalidParameter: no setting is as quiet; `quiet` is not from 0 to 1.
        """
        _check_share("quiet", quiet)
        shares = self._quiet()
        enough = np.isnan(shares) | (shares >= quiet)
        if not enough.any():
            raise InvalidParameter(
                f"no setting is quiet for {quiet:g} of the small talk; the quietest is for "
                f"{np.nanmax(shares):.3g}. Ask for less, or try a higher inject_min_cosine or "
                "inject_min_words"
            )
        answered = (self.n_relevant_shown > 0).mean(axis=1)
        shown = self.n_shown.mean(axis=1)
        order = np.lexsort((shown, -answered, ~enough))
        return int(order[0])

    def best(self, *, quiet: float = 0.95) -> Settings:
        """Return the setting that answers most among those quiet enough, as `best_index`.

        `Memory(store=…, settings=result.best())` uses it.

        Raises:
            InvalidParameter: as in `best_index`.
        """
        return self.settings[self.best_index(quiet=quiet)]

    def baseline_index(self) -> int:
        """Return the row of the baseline."""
        return self.baseline

    @property
    def baseline_settings(self) -> Settings:
        """What the others are compared with."""
        return self.settings[self.baseline]

    def compare(
        self,
        rows: Sequence[int],
        *,
        baseline: int | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Compare settings with a baseline, paired over queries.

        Args:
            rows: Of `frame`.
            baseline: Row compared with; None is `baseline_index`.
            confidence: Of the intervals.
            seed: Equal seeds give equal tables.

        Returns:
            The table of `nousmem.evaluation.compare`; measure is answered, found or shown, name
            the row.

        Raises:
            InvalidParameter: there is no such row, or none to compare; `confidence` is not
                between 0 and 1.
        """
        against = self.baseline_index() if baseline is None else baseline
        chosen = list(dict.fromkeys([against, *rows]))
        for row in chosen:
            self.check_setting(row)
        return compare_values(
            {str(row): self._measured(row) for row in chosen},
            MEASURES,
            query_ids=[query.query_id for query in self.queries],
            groups=[query.group for query in self.queries],
            baseline=str(against),
            confidence=confidence,
            seed=seed,
        )

    def tuned(
        self,
        *,
        quiet: float = 0.95,
        folds: int | None = None,
        baseline: int | None = None,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Return what choosing the best setting is worth on messages it was not chosen on.

        For each fold of queries (groups stay together) and of small talk (copies of a text stay
        together), `best` is asked of the other folds.

        Args:
            quiet: As in `best`.
            folds: How many; None is 5, or the number of groups, or of texts of small talk, where
                there are fewer.
            baseline: Row compared with; None is `baseline_index`.
            seed: Deals the folds, and draws the resamples.

        Returns:
            The table of `compare`, name being "tuned": answered, found and shown over queries,
            and quiet over small talk (n_queries counts messages, n_groups texts), where there is
            any. The intervals take the choice for granted: another sample of messages might have
            led to another.

        Raises:
            InvalidParameter: fewer than two folds, or more than there are groups or texts; a
                single group or text; in some folds no setting is as quiet; `quiet` is not from 0
                to 1; there is no such row.
        """
        import pandas as pd

        _check_share("quiet", quiet)
        against = self.baseline_index() if baseline is None else baseline
        self.check_setting(against)
        groups = [query.group for query in self.queries]
        if self.small_talk and len(set(self.small_talk)) < 2:
            raise InvalidParameter(
                "settings are tuned on some small talk and judged on the rest, which needs two "
                f"texts of small talk at least, got {self.small_talk[0]!r} alone"
            )
        if folds is None:
            folds = fitting_folds(groups)
            if self.small_talk:
                folds = min(folds, fitting_folds(self.small_talk))
        fold = fold_of(groups, folds=folds, seed=seed)
        talk_fold = np.zeros(0, dtype=np.intp)
        if self.small_talk:
            talk_fold = fold_of(self.small_talk, folds=folds, seed=seed)
        own = np.empty((len(MEASURES), len(self.queries)))
        own_quiet = np.empty((1, len(self.small_talk)))
        for number in range(folds):
            chosen = self._only(fold != number, talk_fold != number).best_index(quiet=quiet)
            own[:, fold == number] = self._measured(chosen)[:, fold == number]
            own_quiet[:, talk_fold == number] = (
                self.n_shown_for_talk[chosen, talk_fold == number] == 0
            )
        tables = [
            compare_values(
                {"default": self._measured(against), "tuned": own},
                MEASURES,
                query_ids=[query.query_id for query in self.queries],
                groups=groups,
                baseline="default",
                seed=seed,
            )
        ]
        if self.small_talk:
            silent = (self.n_shown_for_talk[against] == 0).astype(np.float64)
            tables.append(
                compare_values(
                    {"default": silent[np.newaxis], "tuned": own_quiet},
                    ["quiet"],
                    query_ids=[f"{at:06}" for at in range(len(self.small_talk))],
                    groups=self.small_talk,
                    baseline="default",
                    seed=seed,
                )
            )
        table = pd.concat(tables, ignore_index=True)
        return table.assign(p_holm=holm(table["p_value"].tolist()))

    def per_query(self, row: int) -> pd.DataFrame:
        """Return what is shown for every query under one setting.

        Args:
            row: Of `frame`.

        Returns:
            Columns: query_id, text, category, n_relevant (entries judged relevant), shown
            (memories shown), relevant_shown (of these, relevant).

        Raises:
            InvalidParameter: there is no such row.
        """
        import pandas as pd

        self.check_setting(row)
        return pd.DataFrame(
            {
                "query_id": [query.query_id for query in self.queries],
                "text": [query.text for query in self.queries],
                "category": [query.category for query in self.queries],
                "n_relevant": self.n_relevant,
                "shown": self.n_shown[row],
                "relevant_shown": self.n_relevant_shown[row],
            }
        )

    def disturbed(self, row: int) -> pd.DataFrame:
        """Return the small talk for which something is shown under one setting.

        Args:
            row: Of `frame`.

        Returns:
            Columns: text, sent (how often), disturbed (how often something was shown); the most
            disturbed first.

        Raises:
            InvalidParameter: there is no such row.
        """
        import pandas as pd

        self.check_setting(row)
        table = pd.DataFrame({"text": self.small_talk, "disturbed": self.n_shown_for_talk[row] > 0})
        counted = table.groupby("text", sort=False)["disturbed"].agg(["size", "sum"]).reset_index()
        counted.columns = ["text", "sent", "disturbed"]
        counted = counted[counted["disturbed"] > 0]
        return counted.sort_values("disturbed", ascending=False, kind="stable", ignore_index=True)

    def check_setting(self, row: int) -> None:
        """Raise InvalidParameter unless `row` is a row of `frame`."""
        if not 0 <= row < len(self.settings):
            raise InvalidParameter(
                f"expected a row of frame, 0 to {len(self.settings) - 1}; got {row!r}"
            )

    def __repr__(self) -> str:
        """Show sizes."""
        return (
            f"InjectionResult({len(self.settings):,} settings of "
            f"{', '.join(self.parameters) or 'no parameter'} × {len(self.queries):,} queries, "
            f"{len(self.small_talk):,} messages of small talk)"
        )

    def _measured(self, row: int) -> Floats:
        """Return MEASURES of every query, shape (measures, queries)."""
        relevant = self.n_relevant_shown[row]
        return np.array(
            [relevant > 0, relevant / self.n_relevant, self.n_shown[row]], dtype=np.float64
        )

    def _only(self, queries: NDArray[np.bool_], talk: NDArray[np.bool_]) -> InjectionResult:
        return replace(
            self,
            queries=tuple(itertools.compress(self.queries, queries)),
            n_shown=self.n_shown[:, queries],
            n_relevant_shown=self.n_relevant_shown[:, queries],
            n_relevant=self.n_relevant[queries],
            small_talk=tuple(itertools.compress(self.small_talk, talk)),
            n_shown_for_talk=self.n_shown_for_talk[:, talk],
        )

    def _quiet(self) -> Floats:
        if not self.small_talk:
            return np.full(len(self.settings), np.nan)
        return (self.n_shown_for_talk == 0).mean(axis=1)

    def _table(self, chosen: NDArray[np.bool_]) -> pd.DataFrame:
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self.parameters:
            columns[name] = [one.shown(name) for one in self.settings]
            if name == "decay_lambda":
                columns["half_life_days"] = [half_life_days(rate) for rate in columns[name]]
        shown, relevant = self.n_shown[:, chosen], self.n_relevant_shown[:, chosen]
        n_shown = shown.sum(axis=1)
        columns["answered"] = (relevant > 0).mean(axis=1)
        columns["found"] = (relevant / self.n_relevant[chosen]).mean(axis=1)
        columns["shown"] = shown.mean(axis=1)
        columns["precision"] = np.where(
            n_shown > 0, relevant.sum(axis=1) / np.maximum(n_shown, 1), np.nan
        )
        columns["quiet"] = self._quiet()
        columns["n_queries"] = int(chosen.sum())
        columns["n_small_talk"] = len(self.small_talk)
        return pd.DataFrame(columns)


def _check_share(name: str, value: float) -> None:
    if not 0 <= check_number(name, value) <= 1:
        raise InvalidParameter(f"{name} must be from 0 to 1, got {value!r}")
