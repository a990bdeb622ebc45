"""The candidates of all queries of a corpus, found once and held as padded arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus, Partition, Query
from nousmem.embeddings import embed
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measures import Judgements
from nousmem.evaluation.sweeps._successors import Successors, similarity_of
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.finding import find, query_vectors
from nousmem.retrieval.settings import Retrieval
from nousmem.retrieval.terms import BUILT_IN_TERMS, Term
from nousmem.scoring import (
    Floats,
    Scoring,
    age_hours,
    decay_under,
    epoch_seconds,
    freshness_under,
    relevance_under,
    takes_any_shape,
)
from nousmem.stores import Store, open_store
from nousmem.stores.registry import is_own_store

__all__ = [
    "Addend",
    "CandidateArrays",
    "StoreChoice",
    "check_corpus",
    "close_store",
    "find_candidates",
    "find_for_each",
    "load_partition",
]

StoreChoice: TypeAlias = str | Store | Callable[[Partition], Store]
"""A store URL, an open store, or a function from a partition to a store."""

_COMPARED: Final = 1_000_000
"""Pairs of candidates compared at a time, some 20 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class Addend:
    """A term of somebody's own as one setting weighs it."""

    term: Term
    weight: float
    key: tuple[object, ...]
    """What its table depends on: equal keys, equal tables."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CandidateArrays:
    """For n queries with a relevant entry, up to c candidates each; shorter lists are padded.

    The candidates of a query stand by descending doc_id, which is the tie rule. A term that takes
    any shape is given this in place of the `Candidates` of one query.
    """

    queries: tuple[Query, ...]
    """Length n, in the order of the corpus."""
    judgements: Judgements
    """The relevant entries of each query, whether they are candidates or not."""
    doc_ids: tuple[tuple[str, ...], ...]
    """For each query, its candidates' ids."""
    legs: tuple[str, ...]
    """The legs asked for, in the order of the arrays over legs."""
    ranks: NDArray[np.int64]
    """Shape (legs, n, c): rank from 1 in each leg, 0 where absent or padding."""
    leg_scores: Floats
    """Shape (legs, n, c): the leg's own score, NaN where absent or padding."""
    importance: Floats
    """Shape (n, c): 0 to 1; 0 for padding."""
    access_count: NDArray[np.int64]
    """Shape (n, c)."""
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
    terms: tuple[Term, ...] = ()
    """The terms of somebody's own that a scoring may weigh."""
    candidates: tuple[Candidates, ...] = ()
    """Of each query, for the terms; none where there are no terms."""
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Queries of the source that are not measured, by reason; see `SweepResult.excluded`."""
    successors: Successors | None = None
    """How similar each candidate is to the newer ones; None where there are no vectors."""

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def age_hours(self) -> Floats:
        """Hours since last access, shape (n, c), at least 0."""
        return age_hours(self.last_accessed, self.now[:, np.newaxis])

    def relevance_key(self, scoring: Scoring) -> tuple[object, ...]:
        """Return what `relevance_under` depends on."""
        return scoring.relevance_parameters(self.legs, [one.name for one in self._decaying()])

    def relevance_under(self, scoring: Scoring) -> Floats:
        """Return the legs fused, before decay, shape (n, c); NaN where there is no candidate.

        Freshness is in it.
        """
        fused = self._fused(scoring)
        return fused * self._freshness(scoring, fused)

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
        return self.term_values(BUILT_IN_TERMS["recency"], scoring)

    def addends(self, scoring: Scoring) -> list[Addend]:
        """Return the terms of somebody's own that a setting weighs, in their order."""
        found: list[Addend] = []
        for term in self.terms:
            weight = scoring.term_weight(term.name)
            if not weight:
                continue
            key: tuple[object, ...] = (term.name, *term.depends_on(scoring))
            if term.decays:
                key = (*key, self.relevance_key(scoring), scoring.decay_parameters())
                weight *= scoring.w_relevance
            found.append(Addend(term, weight, key))
        return found

    def addend_under(self, term: Term, scoring: Scoring) -> Floats:
        """Return what a term adds for each unit of its weight, shape (n, c)."""
        values = self.term_values(term, scoring)
        if not term.decays:
            return values
        fresh = self._freshness(scoring, self._fused(scoring))
        return values * fresh * self.decay_under(scoring)

    def term_values(self, term: Term, scoring: Scoring) -> Floats:
        """Return a term's column, shape (n, c); 0 for padding.

        Raises:
            ExtensionError: the term fails, or returns what it may not.
        """
        if takes_any_shape(term.function):
            given = self if term.name in BUILT_IN_TERMS else self._seen()
            return term.values(given, scoring, shape=self.present.shape)
        rows = [one.term_values(term, scoring) for one in self.candidates]
        return self._padded(rows, 0.0)

    def _seen(self) -> CandidateArrays:
        """Return the arrays as terms are given them: no access is later than a query's `as_of`."""
        rows = [one.seen.last_accessed.astype(np.float64) for one in self.candidates]
        return replace(self, last_accessed=self._padded(rows, 0.0).astype(np.int64))

    def _decaying(self) -> list[Term]:
        return [term for term in self.terms if term.decays]

    def _fused(self, scoring: Scoring) -> Floats:
        if takes_any_shape(scoring.fusion_function):
            return relevance_under(scoring, self.ranks, self.leg_scores, legs=self.legs)
        rows = [
            relevance_under(
                scoring,
                self.ranks[:, row, : len(ids)],
                self.leg_scores[:, row, : len(ids)],
                legs=self.legs,
            )
            for row, ids in enumerate(self.doc_ids)
        ]
        return self._padded(rows, np.nan)

    def _freshness(self, scoring: Scoring, fused: Floats) -> Floats:
        nothing_alike = self.successors is None and isinstance(scoring.update_rule, str)
        if nothing_alike or not scoring.prefers_updates():
            return np.ones(fused.shape)
        relevance = fused
        for term in self._decaying():
            if weight := scoring.term_weight(term.name):
                relevance = relevance + weight * self.term_values(term, scoring)
        similarity = similarity_of(self.successors, fused.shape)
        if not takes_any_shape(scoring.update_function):
            rows = [
                freshness_under(
                    scoring,
                    relevance[row, : len(ids)],
                    similarity[row, : len(ids), : len(ids)],
                    created=self.created[row, : len(ids)],
                )
                for row, ids in enumerate(self.doc_ids)
            ]
            return self._padded(rows, 1.0)
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
        return np.concatenate(fresh) if fresh else np.ones(fused.shape)

    def _padded(self, rows: Sequence[Floats], padding: float) -> Floats:
        padded = np.full(self.present.shape, padding)
        for row, values in enumerate(rows):
            padded[row, : len(values)] = values
        return padded


def check_corpus(corpus: object) -> None:
    """Raise InvalidParameter for what is no corpus, such as the name of one."""
    if not isinstance(corpus, Corpus):
        hint = f"load_corpus({corpus!r})" if isinstance(corpus, str) else "load_corpus"
        raise InvalidParameter(f"expected a corpus, got {corpus!r}: load it with nousmem.{hint}")


def load_partition(
    corpus: Corpus, partition: Partition, *, store: StoreChoice, embedder: Embedder | None
) -> Store:
    """Open the store of one partition and put its entries there, embedded.

    Args:
        corpus: The corpus the partition is of.
        partition: What goes in.
        store: A store URL, opened once for each partition (a path gets the partition's name
            before its suffix); a function from a partition to an open and empty store; or an open
            store, for an undivided corpus.
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
    opened = _opened(corpus, partition, store)
    own = {entry.id for entry in entries}
    others = [one.id for one in opened.list(include_superseded=True) if one.id not in own]
    if others:
        raise InvalidParameter(
            f"the store holds {len(others)} entries that are not of corpus {corpus.name!r}, such "
            f"as {others[0]!r}; they would be ranked with it: give an empty store"
        )
    opened.put(entries)
    return opened


def _opened(corpus: Corpus, partition: Partition, store: StoreChoice) -> Store:
    if isinstance(store, str):
        return open_store(_partition_url(store, partition.name))
    if isinstance(store, Store):
        if corpus.partition_field is None:
            return store
        raise InvalidParameter(
            f"corpus {corpus.name!r} is divided by {corpus.partition_field}: give a store URL, or "
            "a function from a partition to a store, so that each part has a store of its own"
        )
    made: object = store(partition)
    if not isinstance(made, Store):
        raise InvalidParameter(
            f"the function given as store must return a store, got {made!r} for partition "
            f"{partition.name!r}"
        )
    return made


def _is_ours(store: StoreChoice) -> bool:
    """Whether a partition's store was opened here, and is closed here."""
    return not isinstance(store, Store)


def _partition_url(url: str, name: str) -> str:
    if is_own_store(url):
        return url
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
    store: StoreChoice = "sqlite",
    embedder: Embedder | None = None,
    retrieval: Retrieval | None = None,
    as_of: bool = True,
    progress: bool = False,
) -> CandidateArrays:
    """Load a corpus and read the legs of every query that has a relevant entry.

    Args:
        corpus: Entries, queries, qrels.
        store: As in `load_partition`.
        embedder: Embeds entries and queries; None reads the text leg alone.
        retrieval: Which legs are read, how deep; None is the defaults.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        progress: Show a progress bar.

    Raises:
        UnknownName: a store that there is none of.
        InvalidParameter: no query has a relevant entry; the legs do not suit; or as in
            `load_partition`.
        CorpusError: the marks of an updated fact are not lists of entry ids.
        ExtensionError: a leg of somebody's own broke its rules.
        EmbedderError, EmbeddingMismatch, StoreError, MissingDependency: as in `load_partition`.
    """
    chosen = Retrieval() if retrieval is None else retrieval
    found = find_for_each(
        corpus, [chosen], store=store, embedder=embedder, as_of=as_of, progress=progress
    )
    return found[chosen]


def find_for_each(
    corpus: Corpus,
    retrievals: Sequence[Retrieval],
    *,
    store: StoreChoice = "sqlite",
    embedder: Embedder | None = None,
    as_of: bool = True,
    progress: bool = False,
) -> dict[Retrieval, CandidateArrays]:
    """Find the candidates of a corpus in several ways; every partition is loaded once.

    Args and errors: as `find_candidates`.
    """
    check_corpus(corpus)
    judgements = Judgements.of(corpus.qrels, [query.query_id for query in corpus.queries])
    if not len(judgements):
        raise InvalidParameter(f"corpus {corpus.name!r} has no query with a relevant entry")
    measured = set(judgements.query_ids)
    ways = list(dict.fromkeys(one.unlimited for one in retrievals))
    found: dict[Retrieval, dict[str, Candidates]] = {one: {} for one in ways}
    what = "queries" if len(ways) == 1 else f"queries, {len(ways)} retrievals"
    with progress_bar(len(judgements) * len(ways), what, show=progress) as advance:
        for partition in corpus.partitions():
            queries = [query for query in partition.queries if query.query_id in measured]
            if not queries:
                continue
            opened = load_partition(corpus, partition, store=store, embedder=embedder)
            vectors = query_vectors(ways, opened, embedder, [query.text for query in queries])
            for retrieval, query in itertools.product(ways, queries):
                found[retrieval][query.query_id] = find(
                    opened,
                    query.text,
                    retrieval=retrieval,
                    now=query.now,
                    embedder=embedder if vectors else None,
                    vector=vectors.get(query.text),
                    scope=query.scope,
                    as_of=query.as_of if as_of else None,
                )
                advance(1)
            if _is_ours(store):
                close_store(opened)
    by_id = {query.query_id: query for query in corpus.queries}
    excluded = dict(corpus.card.excluded)
    if judgements.n_without:
        excluded["no relevant entry"] = judgements.n_without
    packed = {
        way: _packed(
            [by_id[query_id] for query_id in judgements.query_ids],
            [own[query_id] for query_id in judgements.query_ids],
            judgements,
            excluded,
        )
        for way, own in found.items()
    }
    return {one: packed[one.unlimited] for one in retrievals}


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
    legs = candidates[0].legs
    ranks = np.zeros((len(legs), n, c), dtype=np.int64)
    leg_scores, importance = np.full(ranks.shape, np.nan), np.zeros((n, c))
    last_accessed, created, access_count = np.zeros((3, n, c), dtype=np.int64)
    evergreen, present = np.zeros((n, c), dtype=bool), np.zeros((n, c), dtype=bool)
    for row, one in enumerate(candidates):
        filled = slice(0, len(one))
        ranks[:, row, filled] = one.ranks
        leg_scores[:, row, filled] = one.leg_scores
        importance[row, filled] = one.importance
        access_count[row, filled] = one.access_count
        last_accessed[row, filled] = one.last_accessed
        created[row, filled] = one.created
        evergreen[row, filled] = one.evergreen
        present[row, filled] = True
    marks = UpdateMarks.of(queries, judgements.query_ids)
    ids = tuple(one.ids for one in candidates)
    columns = [{doc_id: at for at, doc_id in enumerate(own)} for own in ids]
    watched_query = np.concatenate([judgements.query_index, marks.query_index])
    watched: Iterable[tuple[int, str]] = zip(
        watched_query.tolist(), (*judgements.doc_ids, *marks.doc_ids), strict=True
    )
    return CandidateArrays(
        queries=tuple(queries),
        judgements=judgements,
        doc_ids=ids,
        legs=legs,
        ranks=ranks,
        leg_scores=leg_scores,
        importance=importance,
        access_count=access_count,
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
        terms=candidates[0].terms,
        candidates=tuple(candidates) if candidates[0].terms else (),
        excluded=excluded,
        successors=Successors.of(candidates),
    )
