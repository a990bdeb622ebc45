"""Where an explorer's rankings come from: a corpus or a store, read as seldom as possible."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from nousmem.corpora import Corpus, Partition, Query, load_corpus
from nousmem.embeddings import embed, open_embedder
from nousmem.embeddings.base import Embedder, Matrix
from nousmem.errors import InvalidParameter
from nousmem.evaluation.sweeps.candidate_arrays import (
    CandidateArrays,
    StoreChoice,
    find_candidates,
    load_partition,
)
from nousmem.references import load_made
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.search import Search
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope
from nousmem.stores import Store, open_store
from nousmem.stores.registry import is_own_store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Ask", "Source", "open_sources"]

_KEPT: Final = 64
"""Questions whose candidates are kept: some megabytes at most."""

_SCOPES: Final = 200
"""Scopes offered: a list longer than that helps nobody."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question under its circumstances, and how candidates are found for it."""

    text: str
    scope: Scope
    now: datetime
    as_of: datetime | None
    retrieval: Retrieval
    depth: int
    """Entries read from each leg: as `Search` reads for so many hits, where nothing is set."""
    part: str = ""
    """The partition of the corpus that is asked."""


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
        store: StoreChoice = "sqlite",
    ) -> None:
        self.name = name
        self.corpus = origin if isinstance(origin, Corpus) else None
        self._embedder = None if embedder is None else _RememberedQueries(embedder)
        self._choice = store
        self._stores: dict[str, Store] = {}
        if not isinstance(origin, Corpus):
            self._stores[""] = origin
        self._found: OrderedDict[Ask, Candidates] = OrderedDict()

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

    def find(self, ask: Ask) -> Candidates:
        """Return what the legs find; of a corpus, asked again, from memory.

        A store may have changed meanwhile, so it is read each time.

        Raises:
            NousmemError: the store or the embedder cannot be asked.
        """
        known = None if self.corpus is None else self._found.get(ask)
        if known is None:
            search = Search(
                self._store(ask.part), self._embedder, retrieval=ask.retrieval, warn=_shown_anyway
            )
            known = search.find(
                ask.text, scope=ask.scope, now=ask.now, as_of=ask.as_of, limit=ask.depth
            )
        if known.degraded is not None:  # the embedder may be back next time
            return known
        self._found[ask] = known
        self._found.move_to_end(ask)
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)
        return known

    def explain(self, ask: Ask, settings: Settings, entry_id: str, *, limit: int) -> pd.DataFrame:
        """Return why an entry that is no candidate is none: see `Hits.explain`. It searches again.

        Raises:
            NousmemError: the store or the embedder cannot be asked.
        """
        search = Search(
            self._store(ask.part), self._embedder, settings=settings, warn=_shown_anyway
        )
        hits = search(ask.text, scope=ask.scope, now=ask.now, as_of=ask.as_of, limit=limit)
        return hits.explain(entry_id)

    def candidates_of(self, retrieval: Retrieval) -> CandidateArrays | None:
        """Return the candidates of every judged query; None where nothing is judged.

        Takes a second or more, for it reads the legs of every query.
        """
        corpus = self._embedded
        if corpus is None or not len(corpus.qrels) or not (corpus.qrels["relevance"] > 0).any():
            return None
        return find_candidates(
            corpus, store=self._choice, embedder=self._embedder, retrieval=retrieval
        )

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
                self._embedded, partition, store=self._choice, embedder=self._embedder
            )
        return self._stores[part]


def open_sources(
    given: Any, *, embedder: str | Embedder | None, store: StoreChoice = "sqlite"
) -> tuple[Source, ...]:
    """Return the sources that a user gave, in order.

    Args:
        given: A Corpus, the name of one, an open store, a store URL, or a mapping of names to
            any of these. `package.module:object` names a corpus or store of your own, or a class
            or function that makes one.
        embedder: Reads all of them; a name or None as in `open_embedder`.
        store: What a corpus is loaded into: as in `load_partition`. A function is called once for
            the questions asked of a partition, and again each time all its queries are measured.

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


def _shown_anyway(_: str, kind: type[Warning]) -> None:
    """Warn of nothing: beside the ranking an explorer says what is amiss."""


def _origin(given: object) -> Corpus | Store:
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str):
        if is_own_store(given):  # or corpus
            return load_made(
                given, what="source", expected="a Corpus or an open store", fits=_is_origin
            )
        return open_store(given) if ":" in given else load_corpus(given)
    if _is_origin(given):
        return given
    raise InvalidParameter(
        "expected a Corpus, the name of one, an open store, a store URL or a mapping of names to "
        f"these, got {type(given).__name__}"
    )


def _is_origin(given: object) -> TypeGuard[Corpus | Store]:
    return isinstance(given, Corpus | Store) and not isinstance(given, type)


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
