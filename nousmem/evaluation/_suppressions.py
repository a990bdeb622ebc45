"""What decay pushed out of the first places, by age, and what came in for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.checks import check_whole
from nousmem.errors import InvalidParameter
from nousmem.evaluation.replays.clocks import Places
from nousmem.evaluation.replays.loops import judged_relevant
from nousmem.evaluation.replays.turns import first_places
from nousmem.evaluation.sweeps.candidate_arrays import CandidateArrays
from nousmem.evaluation.sweeps.values import composite_scores
from nousmem.evaluation.swept import SweepResult
from nousmem.scoring import HOURS_PER_DAY, Floats, Scoring, decay_hours, score_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AGE_BINS", "suppression"]

AGE_BINS: Final = (0.0, 7.0, 30.0, 90.0, 180.0, 365.0, np.inf)
"""Edges, days."""


def suppression(
    swept: SweepResult, setting: int, *, k: int = 10, bins: Sequence[float] = AGE_BINS
) -> pd.DataFrame:
    """Compare the first places under a setting with those it gives without decay, all else equal.

    The weight of recency in force is kept, as `hits.suppressed` keeps it. An entry counts once for
    each query it was pushed out for. Of each query the entries pushed out, best first by the
    ranking without decay, are paired with those that came in, best first by the ranking with it;
    where `min_score` leaves fewer of these, the last pushed out have no replacement.

    Args:
        swept: Candidates and settings.
        setting: Row of `swept.frame`.
        k: How many first places.
        bins: Edges of the ages, days, rising; the first 0, the last infinite.

    Returns:
        One bin of age a row: that which decay counts at the query's now, since last access or
        creation by the setting's clock. Columns: age_from, age_to (days; from is in the bin, to
        is not); shown (entries of this age in the first k without decay); pushed_out (of these,
        no longer there with decay), pushed_out_relevant (of these, judged relevant);
        queries_hurt (queries that lost a relevant entry of this age); came_in,
        came_in_relevant (entries of this age that are there with decay only); replacements
        (entries that came in for those of this age), replacements_relevant, and
        replacement_age_days (their median age; NaN for none).

    Raises:
        InvalidParameter: there is no such row, `k` is not a whole number above 0, or the bins are
            not as said.
    """
    import pandas as pd

    if isinstance(setting, bool) or setting not in range(len(swept.settings)):
        raise InvalidParameter(
            f"setting must be a row of swept.frame, 0 to {len(swept.settings) - 1}; got {setting!r}"
        )
    k = check_whole("k", k, least=1)
    edges = _checked_edges(bins)
    moves = _Moves.of(swept.candidates_of(setting), swept.settings[setting].scoring, k)
    n_bins = len(edges) - 1

    def counted(days: Floats, where: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        kept = days if where is None else days[where]
        return np.bincount(_bin_of(kept, edges), minlength=n_bins)

    out_bin = _bin_of(moves.out_days, edges)
    replaced = moves.replaced_by >= 0
    heirs = moves.replaced_by[replaced]
    heir_bin, heir_days = out_bin[replaced], moves.in_days[heirs]
    hurt = np.unique(np.column_stack([out_bin, moves.out_query])[moves.out_relevant], axis=0)
    return pd.DataFrame(
        {
            "age_from": edges[:-1],
            "age_to": edges[1:],
            "shown": counted(moves.shown_days),
            "pushed_out": counted(moves.out_days),
            "pushed_out_relevant": counted(moves.out_days, moves.out_relevant),
            "queries_hurt": np.bincount(hurt[:, 0], minlength=n_bins),
            "came_in": counted(moves.in_days),
            "came_in_relevant": counted(moves.in_days, moves.in_relevant),
            "replacements": np.bincount(heir_bin, minlength=n_bins),
            "replacements_relevant": np.bincount(
                heir_bin[moves.in_relevant[heirs]], minlength=n_bins
            ),
            "replacement_age_days": [
                float(np.median(own)) if len(own := heir_days[heir_bin == at]) else np.nan
                for at in range(n_bins)
            ],
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Moves:
    """What left the first places and what entered them, one row an entry and query."""

    shown_days: Floats
    """Ages of all that is there without decay."""
    out_days: Floats
    out_query: Places
    out_relevant: NDArray[np.bool_]
    replaced_by: Places
    """For each entry pushed out, the row of the one that came in for it; -1 for none."""
    in_days: Floats
    in_relevant: NDArray[np.bool_]

    @classmethod
    def of(cls, arrays: CandidateArrays, scoring: Scoring, k: int) -> _Moves:
        without = scoring.replace(decay_lambda=0, w_recency=scoring.recency_weight())
        decayed, undecayed = composite_scores(arrays, [scoring, without])
        orders = score_order(decayed), score_order(undecayed)
        with_decay = first_places(decayed, orders[0], k)
        before = first_places(undecayed, orders[1], k)
        days = (
            decay_hours(
                scoring,
                last_accessed=arrays.last_accessed,
                created=arrays.created,
                now=arrays.now[:, np.newaxis],
            )
            / HOURS_PER_DAY
        )
        relevant = judged_relevant(arrays)
        out_query, out_column = _by_rank(before & ~with_decay, orders[1])
        in_query, in_column = _by_rank(with_decay & ~before, orders[0])
        return cls(
            shown_days=days[before],
            out_days=days[out_query, out_column],
            out_query=out_query,
            out_relevant=relevant[out_query, out_column],
            replaced_by=_paired(out_query, in_query, len(arrays)),
            in_days=days[in_query, in_column],
            in_relevant=relevant[in_query, in_column],
        )


def _by_rank(chosen: NDArray[np.bool_], order: Places) -> tuple[Places, Places]:
    """Return query and column of the chosen candidates, by query, then best first."""
    queries, ranks = np.nonzero(np.take_along_axis(chosen, order, axis=1))
    return queries, order[queries, ranks]


def _paired(left: Places, entered: Places, n_queries: int) -> Places:
    """Return, for each row of `left`, the row of `entered` of the same query and place; or -1."""
    n_left, n_entered = (np.bincount(rows, minlength=n_queries) for rows in (left, entered))
    first_left, first_entered = np.cumsum(n_left) - n_left, np.cumsum(n_entered) - n_entered
    place = np.arange(len(left)) - first_left[left]
    return np.where(place < n_entered[left], first_entered[left] + place, -1)


def _bin_of(days: Floats, edges: Floats) -> Places:
    return np.searchsorted(edges, days, side="right") - 1


def _checked_edges(bins: Sequence[float]) -> Floats:
    try:
        edges = np.array([float(edge) for edge in bins])
    except (TypeError, ValueError):
        edges = np.zeros(0)
    rising = len(edges) > 1 and bool((edges[1:] > edges[:-1]).all())
    if not rising or edges[0] != 0 or edges[-1] != np.inf:
        raise InvalidParameter(
            f"bins must rise from 0 to infinity, as in {list(AGE_BINS)}; got {bins!r}"
        )
    return edges
