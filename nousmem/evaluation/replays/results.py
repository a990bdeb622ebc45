"""What a replay found, beside what the sweep found without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import InvalidParameter
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.measures import query_means
from nousmem.evaluation.replays.clocks import Bools, CandidateEntries
from nousmem.evaluation.replays.loops import LoopCounter, LoopCounts
from nousmem.evaluation.replays.turns import first_places, replay_turns
from nousmem.evaluation.statistics.resampling import Interval, drawn_whole, paired_interval
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.values import composite_scores
from nousmem.evaluation.swept import SweepResult
from nousmem.scoring import Floats, Scoring, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ReplayResult", "static_places"]


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """Every measure of every query under r settings, replayed; the static ones are the sweep's."""

    swept: SweepResult
    """The sweep whose queries were asked again, with the values on the corpus's own clocks."""
    rows: tuple[int, ...]
    """Length r: the rows of `swept.frame` that were replayed."""
    limit: int
    """Entries returned for a query, at most, and so touched."""
    values: Floats
    """Shape (r, measures, queries), as `swept.values` has it."""
    counts: LoopCounts
    """What boosting did under each of the r settings."""
    entries: CandidateEntries
    """The entries whose clocks were kept."""

    @property
    def static(self) -> Floats:
        """The measures on the corpus's own clocks, shape (r, measures, queries)."""
        return np.take(self.swept.values, self.rows, axis=0)

    @property
    def measured(self) -> MeasuredSettings:
        """The replayed values, with all that a sweep answers: frame, best, leaderboard, folds.

        Its baseline is the sweep's, or the first setting where that was not replayed.
        """
        swept = self.swept
        known = swept.baseline in self.rows
        return MeasuredSettings(
            parameters=swept.parameters,
            settings=tuple(swept.settings[row] for row in self.rows),
            measures=swept.measures,
            values=self.values,
            queries=swept.queries,
            baseline=self.rows.index(swept.baseline) if known else 0,
            # A baseline that was not tried stands last in the sweep.
            n_tried=len(self.rows) - (self.rows[-1] >= swept.n_tried),
        )

    @property
    def frame(self) -> pd.DataFrame:
        """One measure of one setting a row.

        Columns: setting (row of `swept.frame`); the parameters varied, and half_life_days beside
        decay_lambda; measure; static, replayed (means over queries); difference (replayed -
        static), low, high (its 95 % interval, paired over queries; whole groups of them are drawn,
        which here touch each other's entries); n_queries (those the measure exists for).

        The intervals take some hundredths of a second a row; `measured.frame` has the means
        without them.
        """
        return self._table(np.arange(self.swept.n_queries))

    def by(self, attribute: str = "category") -> pd.DataFrame:
        """Return the measures of each group of queries.

        Args:
            attribute: "category", or a scope field.

        Returns:
            Columns: as in `frame`, and first one named like `attribute`; n_queries is the
            group's.

        Raises:
            UnknownName: queries have no such attribute.
        """
        import pandas as pd

        labels = self.swept.labels(attribute)
        tables: list[pd.DataFrame] = []
        for label in sorted(set(labels)):
            table = self._table(np.flatnonzero([one == label for one in labels]))
            table.insert(0, attribute, label)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    @property
    def loops(self) -> pd.DataFrame:
        """What was returned because it had been returned, one setting a row; see `LoopCounts`.

        Columns: setting (row of `swept.frame`); the parameters varied, and half_life_days beside
        decay_lambda; returned (places taken in the first `limit`, over all queries);
        boosted_share (of these, by entries that an earlier return has boosted in);
        boosted_not_relevant_share (by those of them that are not judged relevant); lost_relevant
        (places of relevant entries that the static rankings give and the replay does not);
        loops (chains of two boosted returns or more); looping_entries (that have one); longest
        (boosted returns in the longest chain); longest_doc_id (the entry that has it, missing
        for none).
        """
        counts = self.counts
        places = np.maximum(counts.returned, 1)
        table = self._parameters()
        table["returned"] = counts.returned
        table["boosted_share"] = counts.boosted / places
        table["boosted_not_relevant_share"] = (counts.boosted - counts.boosted_relevant) / places
        table["lost_relevant"] = counts.lost_relevant
        table["loops"] = counts.loops
        table["looping_entries"] = counts.looping_entries
        table["longest"] = counts.longest
        table["longest_doc_id"] = [
            None if at < 0 else self.entries.doc_ids[at] for at in counts.longest_entry.tolist()
        ]
        return table

    def looping(self, setting: int, *, top: int = 10) -> pd.DataFrame:
        """Return the entries with the longest chains under one setting, which is replayed again.

        Args:
            setting: Row of `swept.frame`, one of `rows`.
            top: How many entries.

        Returns:
            One entry a row, longest chain first, then by times boosted and doc_id. Columns:
            doc_id; content; chain (boosted returns in its longest chain); returned (times); boosted
            (times); boosted_relevant (times that it was relevant when boosted in).

        Raises:
            InvalidParameter: the setting was not replayed.
        """
        import pandas as pd

        chosen = [self._setting(setting)]
        arrays = self.swept.candidates_of(setting)
        counter = LoopCounter(arrays, self.entries, static_places(arrays, chosen, limit=self.limit))
        for turn in replay_turns(arrays, self.entries, chosen, limit=self.limit):
            counter.count(turn)
        table = pd.DataFrame(
            {
                "doc_id": list(self.entries.doc_ids),
                "chain": counter.longest[0],
                "returned": counter.returned[0],
                "boosted": counter.boosted[0],
                "boosted_relevant": counter.boosted_relevant[0],
            }
        )
        table = table[table["chain"] > 0].sort_values(
            ["chain", "boosted", "doc_id"], ascending=[False, False, True], kind="stable"
        )
        table = table.head(top).reset_index(drop=True)
        content = {entry.id: entry.content for entry in self.swept.corpus.entries}
        table.insert(1, "content", [content[doc_id] for doc_id in table["doc_id"]])
        return table

    def run(self, setting: int) -> pd.DataFrame:
        """Return the replayed rankings under one setting, in the order of the sweep's queries.

        Args:
            setting: Row of `swept.frame`, one of `rows`.

        Returns:
            Columns: query_id, doc_id, score, rank (from 1).

        Raises:
            InvalidParameter: the setting was not replayed.
        """
        import pandas as pd

        chosen = [self._setting(setting)]
        arrays = self.swept.candidates_of(setting)
        found: dict[int, list[tuple[str, str, float, int]]] = {}
        for turn in replay_turns(arrays, self.entries, chosen, limit=self.limit):
            ids, query_id = arrays.doc_ids[turn.query], arrays.queries[turn.query].query_id
            scores = turn.scores[0]
            found[turn.query] = [
                (query_id, ids[column], float(scores[column]), rank)
                for rank, column in enumerate(turn.order[0].tolist(), 1)
                if scores[column] > -np.inf
            ]
        rows = [row for query in range(len(arrays)) for row in found[query]]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])

    def __repr__(self) -> str:
        """Show sizes and how much was boosted."""
        places = max(1, int(self.counts.returned.sum()))
        return (
            f"ReplayResult({self.swept.corpus.name!r}: {len(self.rows):,} settings × "
            f"{self.swept.n_queries:,} queries in order of time, {self.limit} returned each; "
            f"{self.counts.boosted.sum() / places:.1%} of the places boosted)"
        )

    def _setting(self, row: int) -> Scoring:
        if row not in self.rows:
            raise InvalidParameter(f"setting {row!r} was not replayed; replayed: {self.rows}")
        return self.swept.settings[row].scoring

    def _parameters(self) -> pd.DataFrame:
        known = {*self.swept.parameters}
        if "decay_lambda" in known:
            known.add("half_life_days")
        table = self.measured.frame
        table = table[[name for name in table.columns if name in known]]
        table.insert(0, "setting", list(self.rows))
        return table

    def _table(self, queries: NDArray[np.intp]) -> pd.DataFrame:
        import pandas as pd

        measures = self.swept.measures
        static, replayed = self.static[:, :, queries], self.values[:, :, queries]
        parameters = self._parameters()
        table = parameters.loc[parameters.index.repeat(len(measures))].reset_index(drop=True)
        table["measure"] = [str(measure) for measure in measures] * len(self.rows)
        table["static"] = query_means(static).ravel()
        table["replayed"] = query_means(replayed).ravel()
        places: list[int] = queries.tolist()
        asked = [self.swept.queries[at] for at in places]
        order = sorted(range(len(asked)), key=lambda at: asked[at].query_id)
        groups = [asked[at].group for at in order]
        rows: list[dict[str, Any]] = [
            _difference(own, base, groups)
            for own, base in zip(
                replayed[:, :, order].reshape(-1, len(order)),
                static[:, :, order].reshape(-1, len(order)),
                strict=True,
            )
        ]
        return table.join(pd.DataFrame(rows))


def static_places(arrays: CandidateArrays, settings: Sequence[Scoring], *, limit: int) -> Bools:
    """Return the first places on the corpus's own clocks, shape (settings, n, c)."""
    return np.stack(
        [
            first_places(scores, score_order(scores), limit)
            for scores in composite_scores(arrays, settings)
        ]
    )


def _difference(own: Floats, base: Floats, groups: list[str]) -> dict[str, float | int]:
    exists = np.flatnonzero(~np.isnan(base))
    own, base = own[exists], base[exists]
    kept = [groups[at] for at in exists]
    if not len(exists):
        interval = Interval(np.nan, np.nan, np.nan, 0.95)
    elif np.array_equal(own, base):
        interval = Interval(0.0, 0.0, 0.0, 0.95)
    else:
        grouped = kept if drawn_whole(kept) else None
        interval = paired_interval(own, base, groups=grouped)
    return {
        "difference": interval.difference,
        "low": interval.low,
        "high": interval.high,
        "n_queries": len(exists),
    }
