"""The orchestrator: text and vector legs, fused, decayed, weighed, ranked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from nousmem.checks import check_whole
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.embeddings.checks import check_vectors
from nousmem.entry import MemoryType, Vector, parse_instant, parse_type, parse_vector
from nousmem.errors import EmbedderError, InvalidParameter, UnknownName
from nousmem.retrieval.candidates import LEGS, Candidates, retrieve
from nousmem.retrieval.hits import Hits
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.scoring import Scoring
from nousmem.stores import open_store
from nousmem.stores.base import Store, searches_vectors
from nousmem.stores.filters import check_limit, check_min_score, check_query

__all__ = ["MIN_DEPTH", "DegradedSearchWarning", "Search"]

MIN_DEPTH = 30
_ON_ERROR = ("degrade", "raise")
_DEFAULT = Scoring()


class DegradedSearchWarning(UserWarning):
    """A search went on without the vector leg, because the embedder failed."""


@dataclass(frozen=True, init=False)
class Search:
    """Ranks the memories of a store for a query.

    Calling it searches: `Search(store)("dark mode preferences", limit=5)`.

    Args:
        store: Where the entries live; a URL is opened, as `open_store` does.
        embedder: Makes the query's vector; None searches text alone, unless a vector is given.
            A name is opened, as `open_embedder` does.
        scoring: The parameters of the ranking.
        legs: Which legs to read, of "text" and "vector"; None is all that store and embedder
            allow.
        depth: Entries read from each leg; None is max(30, limit). It bounds what can win, so it
            changes results (the original reads 3 · limit).
        on_embedder_error: "degrade" goes on with the text leg, warns, and says so in
            `hits.degraded`; "raise" lets the error through.

    Raises:
        UnknownName: a leg is not one of the two; no store or embedder has the name given.
        InvalidParameter: a store, an embedder or a Scoring is something else; `legs` is empty;
            the vector leg is asked for and the store cannot search vectors; `depth` is not a whole
            number above 0.
        StoreError: the store that a URL names cannot be opened.
        MissingDependency: a package that this store needs is not installed.
    """

    store: Store
    embedder: Embedder | None
    scoring: Scoring
    legs: Sequence[str] | None
    depth: int | None
    on_embedder_error: Literal["degrade", "raise"]

    # By hand, since a store and an embedder may be given by name, and are not kept so.
    def __init__(
        self,
        store: Store | str,
        embedder: Embedder | str | None = None,
        *,
        scoring: Scoring = _DEFAULT,
        legs: Sequence[str] | None = None,
        depth: int | None = None,
        on_embedder_error: Literal["degrade", "raise"] = "degrade",
    ) -> None:
        put = partial(object.__setattr__, self)
        put("embedder", _opened_embedder(embedder))
        put("scoring", _checked_scoring(scoring))
        put("legs", legs)
        put("depth", depth)
        put("on_embedder_error", on_embedder_error)
        self._check_options()
        # Last, so that no file is made for options that are refused.
        put("store", _opened_store(store))
        if "vector" in (self.legs or ()) and not searches_vectors(self.store):
            raise InvalidParameter(
                f"{type(self.store).__name__} has no search_vector: leave the vector leg out"
            )

    def _check_options(self) -> None:
        if self.legs is not None and not self.legs:
            raise InvalidParameter(f"legs must name one or more of {', '.join(LEGS)}, or be None")
        for leg in self.legs or ():
            if leg not in LEGS:
                raise UnknownName("leg", leg, LEGS)
        if self.depth is not None:
            check_whole("depth", self.depth, least=1)
        if self.on_embedder_error not in _ON_ERROR:
            raise UnknownName("on_embedder_error", self.on_embedder_error, _ON_ERROR)

    def replace(self, **changes: Any) -> Search:
        """Return a copy with these arguments changed."""
        return replace(self, **changes)

    def __call__(
        self,
        query: str,
        *,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | str | None = None,
        limit: int | None = 10,
        min_score: float | None = None,
        now: datetime | None = None,
        as_of: datetime | None = None,
        vector: ArrayLike | None = None,
    ) -> Hits:
        """Return the best entries for a query.

        Args:
            query: A user's text; blank text finds nothing.
            scope: Whose memories: a Scope, or a mapping of Entry fields to wanted values.
            type: Only this memory type.
            limit: At most this many; None is every candidate.
            min_score: Only composite scores of at least this; None is the scoring's `min_score`.
            now: The instant ages are counted from; None is `as_of`, or else the wall clock.
            as_of: The instant the store is seen at; None is the present.
            vector: The query's vector, shape (dimension,), where it is known already; taken for
                the embedder's, if there is one.

        Raises:
            InvalidScope: `scope` is neither a Scope nor a mapping, or names a field that entries
                do not have.
            InvalidEntry: there is no such memory type; `now` or `as_of` is not an instant.
            InvalidParameter: `query` is not text; `limit` or `min_score` is not valid; the vector
                leg alone is wanted, and there is nothing to make a vector.
            InvalidVector: `vector` is not one.
            EmbeddingMismatch: the store was filled by another embedder, or with vectors of
                another length.
            EmbedderError: the embedder failed, and `on_embedder_error` is "raise" or there is no
                text leg to go on with.
            MissingDependency: a package that the embedder needs is not installed.
            StoreError: the store cannot be read.
        """
        text = check_query(query)
        wanted = check_limit(limit)
        floor = None if min_score is None else check_min_score(min_score)
        as_of = None if as_of is None else parse_instant(as_of)
        moment = parse_instant(now) if now is not None else as_of or datetime.now(UTC)
        memory_type = None if type is None else parse_type(type)
        given = None if vector is None else parse_vector(vector)
        candidates, degraded = self._candidates(
            text, wanted, given, scope=scope, type=memory_type, as_of=as_of
        )
        return Hits(
            candidates,
            self.scoring,
            query=query,
            now=moment,
            limit=wanted,
            min_score=floor,
            degraded=degraded,
        )

    def depth_for(self, limit: int | None) -> int:
        """Return how many entries are read from each leg to rank `limit` of them."""
        return self.depth if self.depth is not None else max(MIN_DEPTH, limit or 0)

    def active_legs(self, *, vector_given: bool = False) -> list[str]:
        """Return the legs a query is read from, in the order of LEGS.

        Raises:
            InvalidParameter: the vector leg alone is wanted, and there is nothing to make a
                vector.
        """
        has_vector = self.embedder is not None or vector_given
        with_vector = has_vector and searches_vectors(self.store)
        allowed = LEGS if with_vector else ("text",)
        active = [leg for leg in allowed if self.legs is None or leg in self.legs]
        if not active:
            raise InvalidParameter(
                f"legs={list(self.legs or ())} needs an embedder, or the query's vector"
            )
        return active

    def _candidates(
        self, text: str, limit: int | None, vector: Vector | None, **filters: Any
    ) -> tuple[Candidates, str | None]:
        if not text.strip():
            # The filters are checked all the same.
            self.store.list(**filters, limit=0)
            return Candidates.union({}), None
        legs = self.active_legs(vector_given=vector is not None)
        depth = self.depth_for(limit)
        if "vector" not in legs or vector is not None or self.embedder is None:
            made_by = None
            if self.embedder is not None and vector is not None:
                made_by = self.embedder.fingerprint
            found = retrieve(
                self.store, text, vector=vector, embedder=made_by, legs=legs, depth=depth, **filters
            )
            return found, None
        # The embedder works while the text leg is read, as the specification has it.
        with ThreadPoolExecutor(max_workers=1) as worker:
            embedding = worker.submit(self.embedder.embed_queries, [text])
            words: dict[str, Any] = {}
            if "text" in legs:
                words["text"] = self.store.search_text(text, limit=depth, **filters)
            query_vector, degraded = self._await_vector(embedding, self.embedder)
        if query_vector is not None and searches_vectors(self.store):
            words["vector"] = self.store.search_vector(
                query_vector, limit=depth, embedder=self.embedder.fingerprint, **filters
            )
        return Candidates.union(words), degraded

    def _await_vector(
        self, embedding: Future[Any], embedder: Embedder
    ) -> tuple[Vector | None, str | None]:
        try:
            rows = check_vectors(
                embedding.result(),
                count=1,
                dimension=embedder.dimension,
                embedder=embedder.fingerprint,
            )
        except EmbedderError as error:
            if self.on_embedder_error == "raise" or "text" not in self.active_legs():
                raise
            warnings.warn(
                f"searching text only, the embedder failed: {error}",
                DegradedSearchWarning,
                stacklevel=4,
            )
            return None, str(error)
        return rows[0], None


def _opened_store(given: Any) -> Store:
    if isinstance(given, str):
        return open_store(given)
    # What only reads will do.
    if isinstance(given, type) or not callable(getattr(given, "search_text", None)):
        raise InvalidParameter(
            f"store must be an open store or a URL, got {given!r}; "
            "open one with nousmem.open_store('sqlite:memories.db')"
        )
    return given


def _opened_embedder(given: Any) -> Embedder | None:
    # Fingerprint and dimension are not asked for before there is something to embed: they may be
    # a server's to tell.
    verb = getattr(given, "embed_queries", None)
    if given is None or (callable(verb) and not isinstance(given, type)):
        return given
    if isinstance(given, str):
        return open_embedder(given)
    raise InvalidParameter(
        f"embedder must be an embedder, its name or None, got {given!r}; "
        "make one with nousmem.open_embedder('minilm')"
    )


def _checked_scoring(given: Any) -> Scoring:
    if not isinstance(given, Scoring):
        raise InvalidParameter(
            f"scoring must be a Scoring, got {given!r}; nousmem.Scoring(half_life_days=365) makes "
            "one, and nousmem.Scoring.from_toml(Path('best.toml').read_text()) one of a file"
        )
    return given
