"""Measuring a run: a table of rankings against a table of judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Query
from nousmem.errors import InvalidParameter
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measures._foreign import Rankings
from nousmem.evaluation.measures._judgements import Judgements
from nousmem.evaluation.measures._kinds import Measure, parse_measures
from nousmem.evaluation.measures._means import query_means
from nousmem.evaluation.measures._ranks import WatchedRanks
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluate", "per_query"]


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
        measures: As they are spelled, such as "nDCG@10"; made of a function (see `measure`); or
            measures of ir_measures, which computes them from this run, put in order.
        queries: The corpus's queries; Fresh needs them, other measures do not.

    Returns:
        Columns: query_id; one column for each measure, by its spelling. A query without any
        relevant entry is left out; one that the run lacks has 0. Fresh is NaN for queries whose
        fact was not updated, and so is a measure of ir_measures where that gives no value.

    Raises:
        UnknownName: there is no such measure.
        InvalidParameter: the measures are not a list, or one lacks its cutoff; run or qrels are no
            data frame; the run lacks a column, lists an entry twice for a query, or holds a score
            that is NaN or no number; its ids are numbers and those of the qrels text, or the
            reverse; Fresh is asked for without `queries`.
        CorpusError: the qrels lack a column, judge an entry twice for a query, or hold a relevance
            that is no number; or the marks of an updated fact are not lists of entry ids.
        ExtensionError: somebody's measure fails, or returns no finite number.
        MissingDependency: a measure is one of ir_measures, which is not installed.
    """
    import pandas as pd

    measured = _measured(run, qrels, measures, queries)
    columns: dict[str, object] = {"query_id": list(measured.query_ids)}
    columns.update(
        (str(measure), row) for measure, row in zip(measured.measures, measured.values, strict=True)
    )
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
        which its mean is over; NaN when there is none), and so for any cutoff, and for a measure of
        ir_measures that some query has no value of.

        A query without a row in the qrels is counted nowhere here: how many queries of a corpus
        and its source are not measured is said by `SweepResult.excluded`.

    Raises:
        UnknownName, InvalidParameter, CorpusError, ExtensionError, MissingDependency: as in
            `per_query`.
    """
    import pandas as pd

    measured = _measured(run, qrels, measures, queries)
    n = len(measured.query_ids)
    means = query_means(measured.values) if n else np.full(len(measured.measures), np.nan)
    row: dict[str, object] = dict(zip(map(str, measured.measures), means.tolist(), strict=True))
    row["n_queries"] = n
    row["n_missing"] = measured.n_missing
    row["n_excluded"] = measured.n_excluded
    for measure, own in zip(measured.measures, measured.values, strict=True):
        exists = ~np.isnan(own)
        if measure.needs_marks or not exists.all():
            row[f"n_{measure}"] = int(exists.sum())
    return pd.DataFrame([row])


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    measures: list[Measure]
    values: Floats
    """Shape (measures, queries)."""
    query_ids: tuple[str, ...]
    n_missing: int
    n_excluded: int


def _measured(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    measures: Sequence[str | Measure],
    queries: Sequence[Query] | None,
) -> _Measured:
    parsed = parse_measures(measures)
    partial = next((measure for measure in parsed if measure.needs_marks), None)
    if partial is not None and queries is None:
        raise InvalidParameter(f"{partial} reads the marks of queries: add queries=corpus.queries")
    _check_frame("run", run, "query_id, doc_id, score")
    _check_frame("qrels", qrels, "query_id, doc_id, relevance")
    judgements = Judgements.of(qrels)
    marks = UpdateMarks.of(queries or (), judgements.query_ids)
    _check_ids_can_meet(run, qrels)
    rankings = _rankings_in(run, judgements)
    ranks = _ranks_in(rankings, judgements, marks)
    return _Measured(
        measures=parsed,
        values=WatchedRanks(judgements, parsed, marks).values(ranks, rankings),
        query_ids=judgements.query_ids,
        n_missing=len(judgements) - len(rankings),
        n_excluded=judgements.n_without,
    )


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


def _rankings_in(run: pd.DataFrame, judgements: Judgements) -> Rankings:
    """Return the rankings of the judged queries, best first, each by score and then by doc_id."""
    from pandas.api.types import is_numeric_dtype

    missing = {"query_id", "doc_id", "score"} - set(run.columns)
    if missing:
        raise InvalidParameter(f"the run lacks the columns {', '.join(sorted(missing))}")
    scores = run["score"]
    if not is_numeric_dtype(scores.dtype) and len(run):
        raise InvalidParameter(
            f"the scores of the run must be numbers, got {scores.iloc[0]!r}: as text, 9 "
            "would stand above 10; convert them with run.astype({'score': float})"
        )
    if scores.isna().any():
        raise InvalidParameter("the run holds a score that is NaN")
    # Lists, and no table: of one query, the table's own overhead is most of the time.
    found: dict[str, list[tuple[Any, str]]] = {}
    for query_id, doc_id, score in zip(
        run["query_id"].tolist(), run["doc_id"].tolist(), scores.tolist(), strict=True
    ):
        found.setdefault(query_id, []).append((score, doc_id))
    if any(len({doc_id for _, doc_id in rows}) < len(rows) for rows in found.values()):
        raise InvalidParameter("the run lists an entry twice for a query")
    return {
        query_id: [(doc_id, score) for score, doc_id in sorted(found[query_id], reverse=True)]
        for query_id in judgements.query_ids
        if query_id in found
    }


def _ranks_in(rankings: Rankings, judgements: Judgements, marks: UpdateMarks) -> NDArray[np.int64]:
    rank_of = {
        query_id: {doc_id: rank for rank, (doc_id, _) in enumerate(ranking, 1)}
        for query_id, ranking in rankings.items()
    }
    nowhere: dict[str, int] = {}
    queries: list[int] = [*judgements.query_index.tolist(), *marks.query_index.tolist()]
    doc_ids = (*judgements.doc_ids, *marks.doc_ids)
    return np.array(
        [
            rank_of.get(judgements.query_ids[at], nowhere).get(doc_id, 0)
            for at, doc_id in zip(queries, doc_ids, strict=True)
        ],
        dtype=np.int64,
    )
