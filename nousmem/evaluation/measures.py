"""Retrieval measures, spelled and computed as ir_measures and trec_eval have them.

One tie rule everywhere: equal scores are ordered by descending doc_id, as trec_eval does. A
measure is computed from the ranks of the relevant entries alone, so that a sweep need not sort
whole rankings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Query
from nousmem.errors import CorpusError, InvalidParameter, UnknownName
from nousmem.evaluation.updates import UpdateMarks
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Judgements",
    "Measure",
    "WatchedRanks",
    "best_first",
    "check_marked",
    "evaluate",
    "parse_measures",
    "per_query",
    "query_means",
]


_NOWHERE: Final = np.iinfo(np.int64).max

_NEEDS_CUTOFF: Final = {"nDCG": False, "AP": False, "RR": False}
_NEEDS_CUTOFF.update(dict.fromkeys(("R", "P", "Success", "AllRel", "Fresh"), True))

_SPELLED_ELSEWHERE: Final = {
    "ndcg": "nDCG",
    "ndcg_cut": "nDCG",
    "recall": "R",
    "precision": "P",
    "hit_rate": "Success",
    "hits": "Success",
    "mrr": "RR",
    "recip_rank": "RR",
    "map": "AP",
    "average_precision": "AP",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and how deep: `nDCG@10`, `AP`.

    - nDCG: discounted cumulative gain over the ideal one; gains are the judged relevance, the
      discount is log2(rank + 1) (Järvelin and Kekäläinen 2002, as in trec_eval).
    - R: share of the relevant entries that are found. P: share of the k places that are relevant.
    - RR: 1 / rank of the first relevant entry. AP: mean over the relevant entries of the
      precision at their ranks.
    - Success: 1 if any relevant entry is found. AllRel: 1 if all are.
    - Fresh: for a query whose fact was updated, 1 if the newest evidence is found and stands above
      every outdated entry; where several entries hold the newest state, the best of them counts.
      An outdated entry that was not returned is no obstacle. Queries without such marks (see
      `UpdateMarks`) have no value, and means are over the others.

    Binary measures count a judged relevance of 1 or more as relevant.
    """

    name: str
    """One of those above, such as nDCG."""
    cutoff: int | None
    """Places looked at; None is the whole ranking."""

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Read a measure as it is spelled, such as `nDCG@10`.

        Raises:
            UnknownName: there is no such measure.
            InvalidParameter: the cutoff is missing or not a whole number above 0, or the measure is
                spelled as another library spells it.
        """
        spelled = str(text)
        name, at, cutoff = spelled.partition("@")
        if (ours := _SPELLED_ELSEWHERE.get(name.lower())) and name not in _NEEDS_CUTOFF:
            example = ours + (at + cutoff or ("@10" if _NEEDS_CUTOFF[ours] else ""))
            raise InvalidParameter(
                f"measure {spelled!r} is spelled as ir_measures has it: {example}"
            )
        if name not in _NEEDS_CUTOFF:
            raise UnknownName("measure", name, _NEEDS_CUTOFF)
        if not at and not _NEEDS_CUTOFF[name]:
            return cls(name, None)
        if not re.fullmatch(r"[1-9][0-9]*", cutoff):
            raise InvalidParameter(f"measure {spelled!r} needs a cutoff, such as {name}@10")
        return cls(name, int(cutoff))

    @property
    def is_partial(self) -> bool:
        """Whether the measure exists for some queries only."""
        return self.name == "Fresh"

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


def parse_measures(measures: Sequence[str | Measure]) -> list[Measure]:
    """Read a list of measures, each once.

    Raises:
        InvalidParameter: the list is empty, or is one text instead of a list.
    """
    if isinstance(measures, str) or not measures:
        raise InvalidParameter(f"measures must be a list such as ['nDCG@10'], got {measures!r}")
    return list(dict.fromkeys(Measure.parse(measure) for measure in measures))


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """The relevant entries of some queries, one row a judgement above 0, by query."""

    query_ids: tuple[str, ...]
    """The queries that have any, in the order asked for; n of them."""
    query_index: NDArray[np.intp]
    """Shape (m,): the query each judgement belongs to, ascending."""
    doc_ids: tuple[str, ...]
    """Length m."""
    gains: Floats
    """Shape (m,): the judged relevance, above 0."""
    n_without: int
    """Queries asked for that have no relevant entry, and so cannot be measured."""

    @classmethod
    def of(cls, qrels: pd.DataFrame, query_ids: Sequence[str] | None = None) -> Judgements:
        """Collect the judgements of these queries; None is every query in the qrels.

        Raises:
            CorpusError: the qrels lack a column, judge an entry twice for a query, or hold a
                relevance that is no number.
        """
        missing = {"query_id", "doc_id", "relevance"} - set(qrels.columns)
        if missing:
            raise CorpusError(f"qrels lack the columns {', '.join(sorted(missing))}")
        twice = qrels.duplicated(["query_id", "doc_id"])
        if twice.any():
            at = int(twice.to_numpy().argmax())
            raise CorpusError(
                f"the qrels judge {int(twice.sum())} entries twice, such as "
                f"{qrels['doc_id'].iloc[at]!r} for query {qrels['query_id'].iloc[at]!r}: leave one "
                "row of each"
            )
        if qrels["relevance"].map(lambda one: not isinstance(one, Real) or one != one).any():  # noqa: PLR0124
            raise CorpusError("the relevance of the qrels must be a number in every row")
        by_query: dict[str, list[tuple[str, float]]] = {}
        asked = list(dict.fromkeys(qrels["query_id"])) if query_ids is None else list(query_ids)
        for query_id, doc_id, relevance in zip(
            qrels["query_id"], qrels["doc_id"], qrels["relevance"], strict=True
        ):
            if relevance > 0:
                by_query.setdefault(query_id, []).append((doc_id, float(relevance)))
        kept = [query_id for query_id in asked if query_id in by_query]
        rows = [
            (at, doc_id, gain)
            for at, query_id in enumerate(kept)
            for doc_id, gain in by_query[query_id]
        ]
        return cls(
            query_ids=tuple(kept),
            query_index=np.array([row[0] for row in rows], dtype=np.intp),
            doc_ids=tuple(row[1] for row in rows),
            gains=np.array([row[2] for row in rows], dtype=np.float64),
            n_without=len(asked) - len(kept),
        )

    def __len__(self) -> int:
        return len(self.query_ids)


class WatchedRanks:
    """Turns the ranks of the judged and the marked entries into measures, query by query.

    What depends on the judgements alone is worked out once, when it is made.

    Attributes:
        n_relevant: Shape (n,): relevant entries of each query.
        ideal: By cutoff of nDCG, shape (n,): the gain of the best ranking.
    """

    def __init__(
        self,
        judgements: Judgements,
        measures: Sequence[Measure],
        marks: UpdateMarks | None = None,
    ) -> None:
        self._judgements = judgements
        self._measures = tuple(measures)
        self._marks = UpdateMarks.none() if marks is None else marks
        n = len(judgements)
        self.n_relevant = np.bincount(judgements.query_index, minlength=n).astype(np.float64)
        descending = np.lexsort((-judgements.gains, judgements.query_index))
        gains = judgements.gains[descending]
        starts = np.concatenate([[0], np.cumsum(self.n_relevant)[:-1]]).astype(np.intp)
        places = np.arange(len(gains)) - starts[judgements.query_index] + 1
        self.ideal = {
            measure.cutoff: self._sum(gains / np.log2(places + 1), _within(places, measure.cutoff))
            for measure in measures
            if measure.name == "nDCG"
        }

    def values(self, ranks: NDArray[np.integer]) -> Floats:
        """Return the measures, shape (measures, queries).

        Args:
            ranks: Shape (m + u,): rank from 1 of each judged entry, then of each marked one; 0
                where it was not returned.
        """
        judged, marked = np.split(ranks.astype(np.int64), [len(self._judgements.gains)])
        return np.stack(
            [
                self._fresh(measure, marked) if measure.is_partial else self._value(measure, judged)
                for measure in self._measures
            ]
        )

    def _value(self, measure: Measure, ranks: NDArray[np.integer]) -> Floats:
        found = _within(ranks, measure.cutoff)
        match measure.name:
            case "nDCG":
                discounted = self._judgements.gains / np.log2(np.maximum(ranks, 1) + 1)
                return self._sum(discounted, found) / self.ideal[measure.cutoff]
            case "RR":
                best = np.zeros(len(self._judgements))
                shares = np.where(found, 1.0 / np.maximum(ranks, 1), 0.0)
                np.maximum.at(best, self._judgements.query_index, shares)
                return best
            case "AP":
                return self._average_precision(ranks, found)
            case _:
                return self._from_count(measure, self._sum(np.ones(len(ranks)), found))

    def _from_count(self, measure: Measure, count: Floats) -> Floats:
        match measure.name:
            case "R":
                return count / self.n_relevant
            case "P":
                return count / (measure.cutoff or 1)
            case "Success":
                return (count > 0).astype(np.float64)
            case _:
                return (count == self.n_relevant).astype(np.float64)

    def _average_precision(self, ranks: NDArray[np.integer], found: NDArray[np.bool_]) -> Floats:
        queries, places = self._judgements.query_index[found], ranks[found]
        order = np.lexsort((places, queries))
        queries, places = queries[order], places[order]
        per_query = np.bincount(queries, minlength=len(self._judgements))
        starts = np.concatenate([[0], np.cumsum(per_query)[:-1]])
        nth = np.arange(len(queries)) - starts[queries] + 1
        return _total(queries, nth / places, len(self._judgements)) / self.n_relevant

    def _fresh(self, measure: Measure, ranks: NDArray[np.integer]) -> Floats:
        queries, newest = self._marks.query_index, self._marks.newest
        places = np.where(ranks > 0, ranks, _NOWHERE)
        best = np.full((2, len(self._judgements)), _NOWHERE)
        np.minimum.at(best, (newest.astype(np.intp), queries), places)
        fresh = np.full(len(self._judgements), np.nan)
        outdated_at, newest_at = best[:, queries]
        fresh[queries] = (newest_at <= (measure.cutoff or 0)) & (newest_at < outdated_at)
        return fresh

    def _sum(self, values: Floats, where: NDArray[np.bool_]) -> Floats:
        kept = np.where(where, values, 0.0)
        return _total(self._judgements.query_index, kept, len(self._judgements))


def _total(queries: NDArray[np.intp], values: Floats, n: int) -> Floats:
    return np.bincount(queries, weights=values, minlength=n).astype(np.float64, copy=False)


def _within(ranks: NDArray[np.integer], cutoff: int | None) -> NDArray[np.bool_]:
    found = ranks > 0
    return found if cutoff is None else found & (ranks <= cutoff)


def query_means(values: Floats) -> Floats:
    """Return the means over the last axis, over the queries a measure exists for; NaN for none."""
    means = np.array(values.mean(axis=-1))
    for at in map(tuple, np.argwhere(np.isnan(means))):
        exists = values[at][~np.isnan(values[at])]
        if len(exists):
            means[at] = exists.mean()
    return means


def best_first(means: Floats) -> NDArray[np.intp]:
    """Return the rows of some means, the highest first, of equals in their order; NaN last.

    What differs by the rounding of a sum alone is equal, so that the order in which queries come
    does not choose.
    """
    return np.argsort(-np.round(means, 12), kind="stable")


def check_marked(marks: UpdateMarks) -> None:
    """Raise InvalidParameter where there is no query that Fresh exists for."""
    if not marks.n_queries:
        raise InvalidParameter(
            "Fresh needs queries whose metadata has the lists newest and outdated (entry ids), "
            "and none of these queries does: leave Fresh out"
        )


def per_query(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    measures: Sequence[str | Measure],
    *,
    queries: Sequence[Query] | None = None,
) -> pd.DataFrame:
    """Return the measures of every judged query, one query a row.

    Args:
        run: Columns query_id, doc_id, score; other columns are not looked at. The order of rows
            does not matter.
        qrels: Columns query_id, doc_id, relevance.
        measures: As they are spelled, such as "nDCG@10".
        queries: The corpus's queries; Fresh needs them, other measures do not.

    Returns:
        Columns: query_id; one column for each measure, by its spelling. A query without any
        relevant entry is left out; one that the run lacks has 0. Fresh is NaN for queries whose
        fact was not updated.

    Raises:
        UnknownName: there is no such measure.
        InvalidParameter: the measures are not a list, or one lacks its cutoff; run or qrels are no
            data frame; the run lacks a column, lists an entry twice for a query, or holds a score
            that is NaN or no number; its ids are numbers and those of the qrels text, or the
            reverse; Fresh is asked for without `queries`.
        CorpusError: the qrels lack a column, judge an entry twice for a query, or hold a relevance
            that is no number; or the marks of an updated fact are not lists of entry ids.
    """
    import pandas as pd

    parsed = parse_measures(measures)
    partial = next((measure for measure in parsed if measure.is_partial), None)
    if partial is not None and queries is None:
        raise InvalidParameter(f"{partial} reads the marks of queries: add queries=corpus.queries")
    _check_frame("run", run, "query_id, doc_id, score")
    _check_frame("qrels", qrels, "query_id, doc_id, relevance")
    judgements = Judgements.of(qrels)
    marks = UpdateMarks.of(queries or (), judgements.query_ids)
    _check_ids_can_meet(run, qrels)
    ranks = _ranks_in(run, judgements, marks)
    values = WatchedRanks(judgements, parsed, marks).values(ranks)
    columns: dict[str, object] = {"query_id": list(judgements.query_ids)}
    columns.update((str(measure), row) for measure, row in zip(parsed, values, strict=True))
    return pd.DataFrame(columns)


def evaluate(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    measures: Sequence[str | Measure],
    *,
    queries: Sequence[Query] | None = None,
) -> pd.DataFrame:
    """Return the measures averaged over queries, as one row.

    Args:
        run: As in `per_query`.
        qrels: As in `per_query`.
        measures: As in `per_query`.
        queries: As in `per_query`.

    Returns:
        Columns: one for each measure; n_queries (queries averaged over), n_missing (of these,
        how many the run lacks: they count 0), n_excluded (queries that the qrels have rows of,
        none above 0: not averaged over); for Fresh@1 also n_Fresh@1 (the queries it exists for,
        which its mean is over; NaN when there is none), and so for any cutoff.

        A query without a row in the qrels is counted nowhere here: how many queries of a corpus
        and its source are not measured is said by `SweepResult.excluded`.

    Raises:
        UnknownName, InvalidParameter, CorpusError: as in `per_query`.
    """
    import pandas as pd

    values = per_query(run, qrels, measures, queries=queries)
    row: dict[str, object] = {
        name: float(values[name].mean()) for name in values.columns if name != "query_id"
    }
    row["n_queries"] = len(values)
    row["n_missing"] = len(set(values["query_id"]) - set(run["query_id"]))
    row["n_excluded"] = qrels["query_id"].nunique() - len(values)
    for measure in parse_measures(measures):
        if measure.is_partial:
            row[f"n_{measure}"] = int(values[str(measure)].notna().sum())
    return pd.DataFrame([row])


def _check_frame(what: str, value: object, columns: str) -> None:
    import pandas as pd

    if not isinstance(value, pd.DataFrame):
        raise InvalidParameter(
            f"{what} must be a data frame with the columns {columns}, got a "
            f"{type(value).__name__}: make one row for each query and entry"
        )


def _check_ids_can_meet(run: pd.DataFrame, qrels: pd.DataFrame) -> None:
    from pandas.api.types import is_numeric_dtype

    if run.empty or qrels.empty:
        return
    for column in [name for name in ("query_id", "doc_id") if name in run.columns]:
        kinds = [is_numeric_dtype(table[column].dtype) for table in (run, qrels)]
        if kinds[0] != kinds[1]:
            first, second = ("numbers" if kind else "text" for kind in kinds)
            raise InvalidParameter(
                f"{column} is {first} in the run and {second} in the qrels, so that nothing would "
                f"match: make both text, as in run.astype({{{column!r}: str}})"
            )


def _ranks_in(run: pd.DataFrame, judgements: Judgements, marks: UpdateMarks) -> NDArray[np.int64]:
    from pandas.api.types import is_numeric_dtype

    missing = {"query_id", "doc_id", "score"} - set(run.columns)
    if missing:
        raise InvalidParameter(f"the run lacks the columns {', '.join(sorted(missing))}")
    if run.duplicated(["query_id", "doc_id"]).any():
        raise InvalidParameter("the run lists an entry twice for a query")
    if not is_numeric_dtype(run["score"].dtype) and len(run):
        raise InvalidParameter(
            f"the scores of the run must be numbers, got {run['score'].iloc[0]!r}: as text, 9 "
            "would stand above 10; convert them with run.astype({'score': float})"
        )
    if run["score"].isna().any():
        raise InvalidParameter("the run holds a score that is NaN")
    ordered = run.sort_values(
        ["query_id", "score", "doc_id"], ascending=[True, False, False], kind="stable"
    )
    places = ordered.groupby("query_id").cumcount() + 1
    rank_of: dict[tuple[str, str], int] = {
        (query_id, doc_id): int(place)
        for query_id, doc_id, place in zip(
            ordered["query_id"], ordered["doc_id"], places, strict=True
        )
    }
    queries: list[int] = [*judgements.query_index.tolist(), *marks.query_index.tolist()]
    doc_ids = (*judgements.doc_ids, *marks.doc_ids)
    return np.array(
        [
            rank_of.get((judgements.query_ids[at], doc_id), 0)
            for at, doc_id in zip(queries, doc_ids, strict=True)
        ],
        dtype=np.int64,
    )
