"""The candidates of all queries of a corpus, retrieved once and held as padded arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus, Partition, Query
from nousmem.embeddings import embed
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation.measures import Judgements
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.sweeps.cautions import warn_of_silent_leg
from nousmem.evaluation.sweeps.successors import Successors
from nousmem.evaluation.updates import UpdateMarks
from nousmem.retrieval.candidates import LEGS, Candidates, retrieve
from nousmem.retrieval.search import MIN_DEPTH, Search
from nousmem.scoring import (
    Floats,
    Scoring,
    age_hours,
    decay_under,
    epoch_seconds,
    freshness_under,
    recency,
    relevance_under,
)
from nousmem.stores import Store, open_store

__all__ = ["CandidateArrays", "check_corpus", "close_store", "find_candidates", "load_partition"]

_COMPARED: Final = 1_000_000
"""Pairs of candidates compared at a time, some 20 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateArrays:
    """For n queries with a relevant entry, up to c candidates each; shorter lists are padded.

    The candidates of a query stand by descending doc_id, which is the tie rule.
    """

    queries: tuple[Query, ...]
    """Length n, in the order of the corpus."""
    judgements: Judgements
    """The relevant entries of each query, whether they are candidates or not."""
    doc_ids: tuple[tuple[str, ...], ...]
    """For each query, its candidates' ids."""
    ranks: NDArray[np.int64]
    """Shape (legs, n, c): rank from 1 in each leg, 0 where absent or padding."""
    leg_scores: Floats
    """Shape (legs, n, c): the leg's own score, NaN where absent or padding."""
    importance: Floats
    """Shape (n, c): 0 to 1; 0 for padding."""
    last_accessed: NDArray[np.int64]
    """Shape (n, c): whole seconds since 1970."""
    created: NDArray[np.int64]
    """Shape (n, c): whole seconds since 1970."""
    evergreen: NDArray[np.bool_]
    """Shape (n, c): exempt from decay; false for padding."""
    present: NDArray[np.bool_]
    """Shape (n, c): false for padding."""
    now: NDArray[np.int64]
    """Shape (n,): whole seconds since 1970."""
    marks: UpdateMarks
    """The newest and the outdated entries of the queries whose fact was updated."""
    watched_query: NDArray[np.intp]
    """Shape (w,): the query of each entry whose rank the measures need: those of `judgements`,
    then those of `marks`."""
    watched_column: NDArray[np.intp]
    """Shape (w,): its column, -1 where it is not a candidate."""
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Queries of the source that are not measured, by reason; see `SweepResult.excluded`."""
    successors: Successors | None = None
    """How similar each candidate is to the newer ones; None where there are no vectors."""

    def __len__(self) -> int:
        return len(self.queries)

    def relevance_under(self, scoring: Scoring) -> Floats:
        """Return relevance before decay, shape (n, c); NaN where there is no candidate.

        Freshness is in it.
        """
        relevance = relevance_under(scoring, self.ranks, self.leg_scores)
        if self.successors is None or not scoring.prefers_updates():
            return relevance
        similarity = self.successors.similarity()
        # As many queries at a time as keep the comparisons of their candidates within reach.
        step = max(1, _COMPARED // max(1, relevance.shape[1] ** 2))
        fresh = [
            freshness_under(
                scoring,
                relevance[at : at + step],
                similarity[at : at + step],
                created=self.created[at : at + step],
            )
            for at in range(0, len(relevance), step)
        ]
        return relevance * np.concatenate(fresh)

    def decay_under(self, scoring: Scoring) -> Floats:
        """Return the share of relevance that age leaves, shape (n, c)."""
        return decay_under(
            scoring,
            last_accessed=self.last_accessed,
            created=self.created,
            now=self.now[:, np.newaxis],
            evergreen=self.evergreen,
            importance=self.importance,
        )

    def recency_under(self, scoring: Scoring) -> Floats:
        """Return the recency term, shape (n, c)."""
        hours = age_hours(self.last_accessed, self.now[:, np.newaxis])
        return recency(hours, recency_lambda=scoring.recency_lambda)


def check_corpus(corpus: object) -> None:
    """Raise InvalidParameter for what is no corpus, such as the name of one."""
    if not isinstance(corpus, Corpus):
        hint = f"load_corpus({corpus!r})" if isinstance(corpus, str) else "load_corpus"
        raise InvalidParameter(f"expected a corpus, got {corpus!r}: load it with nousmem.{hint}")


def load_partition(
    corpus: Corpus, partition: Partition, *, store: str | Store, embedder: Embedder | None
) -> Store:
    """Open the store of one partition and put its entries there, embedded.

    Args:
        corpus: The corpus the partition is of.
        partition: What goes in.
        store: A store URL, opened once for each partition (a path gets the partition's name
            before its suffix); or an open store, for an undivided corpus.
        embedder: Embeds the entries; None leaves them as they are.

    Raises:
        InvalidParameter: an open store was given for a corpus that is divided, or the store
            holds entries of something else; or the store URL has an option that is not valid.
        UnknownName, StoreError, MissingDependency: as in `open_store`.
        EmbedderError: the embedder failed.
        EmbeddingMismatch: entries and store hold vectors of different embedders or lengths.
    """
    entries = partition.entries
    if embedder is not None:
        entries = embed(entries, embedder)
    if isinstance(store, str):
        opened = open_store(_partition_url(store, partition.name))
    elif corpus.partition_field is None:
        opened = store
    else:
        raise InvalidParameter(
            f"corpus {corpus.name!r} is divided by {corpus.partition_field}: give a store URL, "
            "so that each part can have a store of its own"
        )
    own = {entry.id for entry in entries}
    others = [one.id for one in opened.list(include_superseded=True) if one.id not in own]
    if others:
        raise InvalidParameter(
            f"the store holds {len(others)} entries that are not of corpus {corpus.name!r}, such "
            f"as {others[0]!r}; they would be ranked with it: give an empty store"
        )
    opened.put(entries)
    return opened


def _partition_url(url: str, name: str) -> str:
    kind, _, rest = url.partition(":")
    path, mark, options = rest.partition("?")
    if not name or kind == "memory" or path in ("", ":memory:") or "//" in rest:
        return url
    file = Path(path)
    safe = "".join(c if c.isalnum() or c in "-_" else f"%{ord(c):x}" for c in name)
    return f"{kind}:{file.with_name(f'{file.stem}.{safe}{file.suffix}')}{mark}{options}"


def find_candidates(
    corpus: Corpus,
    *,
    store: str | Store = "sqlite",
    embedder: Embedder | None = None,
    legs: Sequence[str] | None = None,
    depth: int | None = None,
    as_of: bool = True,
    progress: bool = False,
) -> CandidateArrays:
    """Load a corpus and read the legs of every query that has a relevant entry.

    Args:
        corpus: Entries, queries, qrels.
        store: As in `load_partition`.
        embedder: Embeds entries and queries; None reads the text leg alone.
        legs: Which legs to read; None is all that store and embedder allow.
        depth: Entries read from each leg; None is 30.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        progress: Show a progress bar.

    Raises:
        UnknownName: a store or a leg that there is none of.
        InvalidParameter: no query has a relevant entry; the legs or `depth` are not valid; or as
            in `load_partition`.
        CorpusError: the marks of an updated fact are not lists of entry ids.
        EmbedderError, EmbeddingMismatch, StoreError, MissingDependency: as in `load_partition`.
    """
    check_corpus(corpus)
    judgements = Judgements.of(corpus.qrels, [query.query_id for query in corpus.queries])
    if not len(judgements):
        raise InvalidParameter(f"corpus {corpus.name!r} has no query with a relevant entry")
    measured = set(judgements.query_ids)
    found: dict[str, Candidates] = {}
    read: set[str] = set()
    with progress_bar(len(judgements), "queries", show=progress) as advance:
        for partition in corpus.partitions():
            queries = [query for query in partition.queries if query.query_id in measured]
            if not queries:
                continue
            opened = load_partition(corpus, partition, store=store, embedder=embedder)
            search = Search(opened, embedder, legs=legs, depth=depth)
            read |= set(search.active_legs())
            for query, vector in zip(queries, _query_vectors(search, queries), strict=True):
                found[query.query_id] = retrieve(
                    opened,
                    query.text,
                    vector=vector,
                    embedder=None if embedder is None else embedder.fingerprint,
                    legs=search.active_legs(),
                    depth=depth or MIN_DEPTH,
                    scope=query.scope,
                    as_of=query.as_of if as_of else None,
                )
                advance(1)
            if isinstance(store, str):
                close_store(opened)
    by_id = {query.query_id: query for query in corpus.queries}
    excluded = dict(corpus.card.excluded)
    if judgements.n_without:
        excluded["no relevant entry"] = judgements.n_without
    packed = _packed(
        [by_id[query_id] for query_id in judgements.query_ids],
        [found[query_id] for query_id in judgements.query_ids],
        judgements,
        excluded,
    )
    warn_of_silent_leg(packed, sorted(read), stacklevel=4)
    return packed


def _query_vectors(search: Search, queries: Sequence[Query]) -> list[Any]:
    if search.embedder is None or "vector" not in search.active_legs():
        return [None] * len(queries)
    return list(search.embedder.embed_queries([query.text for query in queries]))


def close_store(store: Store) -> None:
    """Close a store that can be closed."""
    close = getattr(store, "close", None)
    if close is not None:
        close()


def _packed(
    queries: Sequence[Query],
    candidates: Sequence[Candidates],
    judgements: Judgements,
    excluded: Mapping[str, int],
) -> CandidateArrays:
    n, c = len(queries), max((len(one) for one in candidates), default=0)
    ranks = np.zeros((len(LEGS), n, c), dtype=np.int64)
    leg_scores, importance = np.full(ranks.shape, np.nan), np.zeros((n, c))
    last_accessed, created = np.zeros((2, n, c), dtype=np.int64)
    evergreen, present = np.zeros((n, c), dtype=bool), np.zeros((n, c), dtype=bool)
    for row, one in enumerate(candidates):
        filled = slice(0, len(one))
        ranks[:, row, filled] = one.ranks
        leg_scores[:, row, filled] = one.leg_scores
        importance[row, filled] = one.importance
        last_accessed[row, filled] = one.last_accessed
        created[row, filled] = one.created
        evergreen[row, filled] = one.evergreen
        present[row, filled] = True
    marks = UpdateMarks.of(queries, judgements.query_ids)
    columns = [{entry.id: at for at, entry in enumerate(one.entries)} for one in candidates]
    watched_query = np.concatenate([judgements.query_index, marks.query_index])
    watched: Iterable[tuple[int, str]] = zip(
        watched_query.tolist(), (*judgements.doc_ids, *marks.doc_ids), strict=True
    )
    return CandidateArrays(
        queries=tuple(queries),
        judgements=judgements,
        doc_ids=tuple(tuple(entry.id for entry in one.entries) for one in candidates),
        ranks=ranks,
        leg_scores=leg_scores,
        importance=importance,
        last_accessed=last_accessed,
        created=created,
        evergreen=evergreen,
        present=present,
        now=np.array([epoch_seconds(query.now) for query in queries], dtype=np.int64),
        marks=marks,
        watched_query=watched_query,
        watched_column=np.array(
            [columns[row].get(doc_id, -1) for row, doc_id in watched], dtype=np.intp
        ),
        excluded=excluded,
        successors=Successors.of(candidates),
    )
