"""Judgements: collecting them with their faults counted, and the table a corpus holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from nousmem.errors import CorpusError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Judgements", "qrels_frame", "updated_fact"]


class Judgements:
    """The judgements of a file, checked against the documents and queries there are.

    Args:
        documents: Ids of the documents.
        queries: Ids of the queries.
        blank: Ids of documents that were left out because they have no text.
        faults: Where faults are counted.
    """

    def __init__(
        self, documents: set[str], queries: set[str], blank: set[str], faults: Counter[str]
    ) -> None:
        self._documents = documents
        self._queries = queries
        self._blank = blank
        self._faults = faults
        self._rows: dict[tuple[str, str], int] = {}
        self._taken = 0
        self._dangling = 0

    def add(self, query_id: str, doc_id: str, label: str, *, place: str) -> None:
        """Take one judgement; a label below 0 is read as "not relevant".

        Raises:
            CorpusError: the label is not a whole number, or contradicts an earlier judgement.
        """
        try:
            relevance = int(label)
        except ValueError:
            raise CorpusError(
                f"{place}: expected a whole number as the relevance, got {label!r}"
            ) from None
        self._taken += 1
        if query_id not in self._queries:
            self._dangling += 1
            self._faults["judgement of a query that does not exist"] += 1
        elif doc_id in self._blank:
            self._faults["judgement of a document without text"] += 1
        elif doc_id not in self._documents:
            self._dangling += 1
            self._faults["judgement of a document that does not exist"] += 1
        else:
            if relevance < 0:
                self._faults["judgement below 0, read as not relevant"] += 1
                relevance = 0
            earlier = self._rows.setdefault((query_id, doc_id), relevance)
            if earlier != relevance:
                raise CorpusError(
                    f"{place}: judges query {query_id!r} and document {doc_id!r} {relevance}, "
                    f"but an earlier line says {earlier}"
                )

    def answerable(
        self, queries: Iterable[str], excluded: Counter[str], *, place: str
    ) -> list[str]:
        """Return the queries that have a relevant document, counting the others.

        Raises:
            CorpusError: more than one judgement in ten refers to nothing, or no query is left:
                the files do not belong together, or one is cut short.
        """
        if self._dangling * 10 > self._taken:
            raise CorpusError(
                f"{place}: {self._dangling:,} of {self._taken:,} judgements name a query or "
                "document that does not exist: do the files belong together, and are they whole?"
            )
        judged = {query_id for query_id, _ in self._rows}
        answered = {query_id for (query_id, _), relevance in self._rows.items() if relevance > 0}
        kept: list[str] = []
        for query_id in queries:
            if query_id in answered:
                kept.append(query_id)
            else:
                excluded["no relevant document" if query_id in judged else "not judged"] += 1
        if not kept:
            raise CorpusError(f"{place}: judges no document relevant to a query")
        return kept

    def rows_for(self, queries: Iterable[str]) -> list[tuple[str, str, int]]:
        """Return (query_id, doc_id, relevance) of these queries, in the order of the file."""
        wanted = set(queries)
        return [(q, d, relevance) for (q, d), relevance in self._rows.items() if q in wanted]


def qrels_frame(rows: Iterable[tuple[str, str, int]]) -> pd.DataFrame:
    """Return (query_id, doc_id, relevance) rows as a corpus's qrels, types right even if empty."""
    import pandas as pd

    rows = list(rows)
    return pd.DataFrame(
        {
            "query_id": pd.Series([row[0] for row in rows], dtype="str"),
            "doc_id": pd.Series([row[1] for row in rows], dtype="str"),
            "relevance": pd.Series([row[2] for row in rows], dtype="int64"),
        }
    )


def updated_fact(evidence: Iterable[tuple[str, datetime]]) -> dict[str, list[str]]:
    """Return which evidence of an updated fact is current, as query metadata.

    Args:
        evidence: (entry id, date of what it was said in); each date is one state of the fact.

    Returns:
        `newest`, the ids of the last date, and `outdated`, all others; nothing when there is one
        date only, since nothing was updated then.
    """
    evidence = list(evidence)
    last = max((date for _, date in evidence), default=None)
    newest = [doc_id for doc_id, date in evidence if date == last]
    outdated = [doc_id for doc_id, date in evidence if date != last]
    return {"newest": newest, "outdated": outdated} if outdated else {}
