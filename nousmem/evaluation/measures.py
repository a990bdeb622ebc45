"""Retrieval measures, spelled and computed as ir_measures and trec_eval have them.

One tie rule everywhere: equal scores are ordered by descending doc_id, as trec_eval does. A
measure is computed from the ranks of the relevant entries alone, so that a sweep need not sort
whole rankings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import CorpusError, InvalidParameter, UnknownName

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Judgements", "Measure", "RelevantRanks", "evaluate", "parse_measures", "per_query"]

Floats = NDArray[np.float64]

_NEEDS_CUTOFF: Final = {"nDCG": False, "AP": False, "RR": False}
_NEEDS_CUTOFF.update(dict.fromkeys(("R", "P", "Success", "AllRel"), True))


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and how deep: `nDCG@10`, `AP`.

    - nDCG: discounted cumulative gain over the ideal one; gains are the judged relevance, the
      discount is log2(rank + 1) (Järvelin and Kekäläinen 2002, as in trec_eval).
    - R: share of the relevant entries that are found. P: share of the k places that are relevant.
    - RR: 1 / rank of the first relevant entry. AP: mean over the relevant entries of the
      precision at their ranks.
    - Success: 1 if any relevant entry is found. AllRel: 1 if all are.

    Binary measures count a judged relevance of 1 or more as relevant.
    """

    name: str
    cutoff: int | None
    """Places looked at; None is the whole ranking."""

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Read a measure as it is spelled, such as `nDCG@10`.

        Raises:
            UnknownName: there is no such measure.
            InvalidParameter: the cutoff is missing or not a whole number above 0.
        """
        spelled = str(text)
        name, at, cutoff = spelled.partition("@")
        if name not in _NEEDS_CUTOFF:
            raise UnknownName("measure", name, _NEEDS_CUTOFF)
        if not at and not _NEEDS_CUTOFF[name]:
            return cls(name, None)
        if not re.fullmatch(r"[1-9][0-9]*", cutoff):
            raise InvalidParameter(f"measure {spelled!r} needs a cutoff, such as {name}@10")
        return cls(name, int(cutoff))

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
            CorpusError: the qrels lack a column.
        """
        missing = {"query_id", "doc_id", "relevance"} - set(qrels.columns)
        if missing:
            raise CorpusError(f"qrels lack the columns {', '.join(sorted(missing))}")
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


class RelevantRanks:
    """Turns the ranks of the relevant entries into measures, query by query.

    What depends on the judgements alone is worked out once, when it is made.
    """

    def __init__(self, judgements: Judgements, measures: Sequence[Measure]) -> None:
        self._judgements = judgements
        self._measures = tuple(measures)
        n = len(judgements)
        self._n_relevant = np.bincount(judgements.query_index, minlength=n).astype(np.float64)
        descending = np.lexsort((-judgements.gains, judgements.query_index))
        gains = judgements.gains[descending]
        starts = np.concatenate([[0], np.cumsum(self._n_relevant)[:-1]]).astype(np.intp)
        places = np.arange(len(gains)) - starts[judgements.query_index] + 1
        self._ideal = {
            measure.cutoff: self._sum(gains / np.log2(places + 1), _within(places, measure.cutoff))
            for measure in measures
            if measure.name == "nDCG"
        }

    def values(self, ranks: NDArray[np.integer]) -> Floats:
        """Return the measures, shape (measures, queries).

        Args:
            ranks: Shape (m,): rank from 1 of each judged entry, 0 where it was not returned.
        """
        return np.stack([self._value(measure, ranks) for measure in self._measures])

    def _value(self, measure: Measure, ranks: NDArray[np.integer]) -> Floats:
        found = _within(ranks, measure.cutoff)
        match measure.name:
            case "nDCG":
                discounted = self._judgements.gains / np.log2(np.maximum(ranks, 1) + 1)
                return self._sum(discounted, found) / self._ideal[measure.cutoff]
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
                return count / self._n_relevant
            case "P":
                return count / (measure.cutoff or 1)
            case "Success":
                return (count > 0).astype(np.float64)
            case _:
                return (count == self._n_relevant).astype(np.float64)

    def _average_precision(self, ranks: NDArray[np.integer], found: NDArray[np.bool_]) -> Floats:
        queries, places = self._judgements.query_index[found], ranks[found]
        order = np.lexsort((places, queries))
        queries, places = queries[order], places[order]
        per_query = np.bincount(queries, minlength=len(self._judgements))
        starts = np.concatenate([[0], np.cumsum(per_query)[:-1]])
        nth = np.arange(len(queries)) - starts[queries] + 1
        return _total(queries, nth / places, len(self._judgements)) / self._n_relevant

    def _sum(self, values: Floats, where: NDArray[np.bool_]) -> Floats:
        kept = np.where(where, values, 0.0)
        return _total(self._judgements.query_index, kept, len(self._judgements))


def _total(queries: NDArray[np.intp], values: Floats, n: int) -> Floats:
    return np.bincount(queries, weights=values, minlength=n).astype(np.float64, copy=False)


def _within(ranks: NDArray[np.integer], cutoff: int | None) -> NDArray[np.bool_]:
    found = ranks > 0
    return found if cutoff is None else found & (ranks <= cutoff)


def per_query(
    run: pd.DataFrame, qrels: pd.DataFrame, measures: Sequence[str | Measure]
) -> pd.DataFrame:
    """Return the measures of every judged query, one query a row.

    Args:
        run: Columns query_id, doc_id, score; other columns are not looked at. The order of rows
            does not matter.
        qrels: Columns query_id, doc_id, relevance.
        measures: As they are spelled, such as "nDCG@10".

    Returns:
        Columns: query_id; one column for each measure, by its spelling. A query without any
        relevant entry is left out; one that the run lacks has 0.

    Raises:
        InvalidParameter: the run lacks a column, or lists an entry twice for a query.
    """
    import pandas as pd

    parsed = parse_measures(measures)
    judgements = Judgements.of(qrels)
    ranks = _ranks_in(run, judgements)
    values = RelevantRanks(judgements, parsed).values(ranks)
    columns: dict[str, object] = {"query_id": list(judgements.query_ids)}
    columns.update((str(measure), row) for measure, row in zip(parsed, values, strict=True))
    return pd.DataFrame(columns)


def evaluate(
    run: pd.DataFrame, qrels: pd.DataFrame, measures: Sequence[str | Measure]
) -> pd.DataFrame:
    """Return the measures averaged over queries, as one row.

    Args:
        run: As in `per_query`.
        qrels: As in `per_query`.
        measures: As in `per_query`.

    Returns:
        Columns: one for each measure; n_queries (queries averaged over), n_missing (of these,
        how many the run lacks: they count 0), n_excluded (queries in the qrels without a
        relevant entry).
    """
    import pandas as pd

    values = per_query(run, qrels, measures)
    row: dict[str, object] = {
        name: float(values[name].mean()) for name in values.columns if name != "query_id"
    }
    row["n_queries"] = len(values)
    row["n_missing"] = len(set(values["query_id"]) - set(run["query_id"]))
    row["n_excluded"] = qrels["query_id"].nunique() - len(values)
    return pd.DataFrame([row])


def _ranks_in(run: pd.DataFrame, judgements: Judgements) -> NDArray[np.int64]:
    missing = {"query_id", "doc_id", "score"} - set(run.columns)
    if missing:
        raise InvalidParameter(f"the run lacks the columns {', '.join(sorted(missing))}")
    if run.duplicated(["query_id", "doc_id"]).any():
        raise InvalidParameter("the run lists an entry twice for a query")
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
    queries: list[int] = judgements.query_index.tolist()
    return np.array(
        [
            rank_of.get((judgements.query_ids[at], doc_id), 0)
            for at, doc_id in zip(queries, judgements.doc_ids, strict=True)
        ],
        dtype=np.int64,
    )
