"""Where an explorer's rankings come from: a corpus or a store, read as seldom as possible."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from nousmem.corpora import Corpus, Partition, Query, load_corpus
from nousmem.embeddings import embed, open_embedder
from nousmem.embeddings.base import Embedder, Matrix
from nousmem.errors import InvalidParameter
from nousmem.evaluation.sweeps.candidate_arrays import (
    CandidateArrays,
    find_candidates,
    load_partition,
)
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.search import Search
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope
from nousmem.stores import Store, open_store

__all__ = ["Ask", "Found", "Source", "open_sources"]

_KEPT: Final = 64
"""Questions whose candidates are kept: some megabytes at most."""

_SCOPES: Final = 200
"""Scopes offered: a list longer than that helps nobody."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question under its circumstances, and how deep the legs are read."""

    text: str
    scope: Scope
    now: datetime
    as_of: datetime | None
    depth: int
    part: str = ""
    """The partition of the corpus that is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What the legs returned for a question."""

    candidates: Candidates
    degraded: str | None
    """Why the vector leg is missing though it was asked for."""


class Source:
    """A corpus or a store, with the embedder that reads it.

    Attributes:
        name: What it is called in the list.
        corpus: The corpus; None for a store.
    """

    def __init__(
        self,
        origin: Corpus | Store,
        *,
        name: str,
        embedder: Embedder | None,
        store: str = "sqlite",
    ) -> None:
        self.name = name
        self.corpus = origin if isinstance(origin, Corpus) else None
        self._embedder = None if embedder is None else _RememberedQueries(embedder)
        self._store_url = store
        self._stores: dict[str, Store] = {}
        if not isinstance(origin, Corpus):
            self._stores[""] = origin
        self._found: OrderedDict[Ask, Found] = OrderedDict()

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The queries of the corpus, in its order; none for a store."""
        return () if self.corpus is None else self.corpus.queries

    @cached_property
    def judged(self) -> Mapping[str, Mapping[str, int]]:
        """For each query, its judged entries and their relevance."""
        table: dict[str, dict[str, int]] = {}
        if self.corpus is not None:
            columns = (self.corpus.qrels[name] for name in ("query_id", "doc_id", "relevance"))
            for query_id, doc_id, relevance in zip(*columns, strict=True):
                table.setdefault(query_id, {})[doc_id] = int(relevance)
        return table

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that can be asked in: no filter, then those in use, the widest first."""
        used = {query.scope for query in self.queries}
        if self.corpus is None:
            for entry in self._stores[""].list():
                used |= {Scope(user_id=entry.user_id), Scope(agent_id=entry.agent_id)}
        used.discard(GLOBAL)

        def width(scope: Scope) -> tuple[int, list[str]]:
            values = [getattr(scope, name) for name in SCOPE_FIELDS]
            return sum(value is not None for value in values), [value or "" for value in values]

        return (GLOBAL, *sorted(used, key=width)[: _SCOPES - 1])

    @property
    def empty(self) -> bool:
        """Whether there are no memories at all, now."""
        if self.corpus is not None:
            return not self.corpus.entries
        return not self._stores[""].list(limit=1)

    def part_of(self, query: Query | None) -> str:
        """Return the partition that a query is put to; "" for an undivided source."""
        if self.corpus is None or self.corpus.partition_field is None:
            return ""
        if query is None:
            return self._parts[0].name
        return str(getattr(query.scope, self.corpus.partition_field))

    def find(self, ask: Ask) -> Found:
        """Return what the legs find; of a corpus, asked again, from memory.

        A store may have changed meanwhile, so it is read each time.

        Raises:
            NousmemError: the store or the embedder cannot be asked.
        """
        known = None if self.corpus is None else self._found.get(ask)
        if known is None:
            hits = Search(self._store(ask.part), self._embedder, depth=ask.depth)(
                ask.text, scope=ask.scope, now=ask.now, as_of=ask.as_of, limit=None
            )
            known = Found(hits.candidates, hits.degraded)
        self._found[ask] = known
        self._found.move_to_end(ask)
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)
        return known

    def candidates_at(self, depth: int) -> CandidateArrays | None:
        """Return the candidates of every judged query; None where nothing is judged.

        Takes a second or more, for it reads the legs of every query.
        """
        corpus = self._embedded
        if corpus is None or not len(corpus.qrels) or not (corpus.qrels["relevance"] > 0).any():
            return None
        return find_candidates(corpus, store=self._store_url, embedder=self._embedder, depth=depth)

    @cached_property
    def _embedded(self) -> Corpus | None:
        if self.corpus is None or self._embedder is None:
            return self.corpus
        return self.corpus.with_entries(embed(self.corpus.entries, self._embedder))

    @cached_property
    def _parts(self) -> Sequence[Partition]:
        return () if self._embedded is None else self._embedded.partitions()

    def _store(self, part: str) -> Store:
        if part not in self._stores and self._embedded is not None:
            partition = next(one for one in self._parts if one.name == part)
            self._stores[part] = load_partition(
                self._embedded, partition, store=self._store_url, embedder=self._embedder
            )
        return self._stores[part]


def open_sources(
    given: Any, *, embedder: str | Embedder | None, store: str = "sqlite"
) -> tuple[Source, ...]:
    """Return the sources that a user gave, in order.

    Args:
        given: A Corpus, the name of one, an open store, a store URL, or a mapping of names to
            any of these.
        embedder: Reads all of them; a name or None as in `open_embedder`.
        store: URL of the store that a corpus is loaded into.

    Raises:
        InvalidParameter: something else was given, or nothing.
        UnknownName: there is no such corpus, store or embedder.
    """
    opened = open_embedder(embedder)
    if isinstance(given, Mapping):
        named: dict[Any, Any] = dict(given)  # pyright: ignore[reportUnknownArgumentType]
    else:
        named = {None: given}
    if not named:
        raise InvalidParameter("give a corpus or a store to explore, got an empty mapping")
    return tuple(
        Source(
            origin,
            name=str(name) if name is not None else _name_of(one, origin),
            embedder=opened,
            store=store,
        )
        for name, one in named.items()
        for origin in (_origin(one),)
    )


def _origin(given: object) -> Corpus | Store:
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str):
        return open_store(given) if ":" in given else load_corpus(given)
    if isinstance(given, Store) and not isinstance(given, type):
        return given
    raise InvalidParameter(
        "expected a Corpus, the name of one, an open store, a store URL or a mapping of names to "
        f"these, got {type(given).__name__}"
    )


def _name_of(given: object, origin: Corpus | Store) -> str:
    if isinstance(origin, Corpus):
        return origin.name
    # A URL may carry a password.
    return given.partition("@")[2] or given if isinstance(given, str) else type(origin).__name__


class _RememberedQueries:
    """An embedder that embeds a query once in its life."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Matrix] = {}

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        missing = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        if missing:
            rows = self._embedder.embed_queries(missing)
            self._vectors.update(zip(missing, rows, strict=True))
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.stack([self._vectors[text] for text in texts])
