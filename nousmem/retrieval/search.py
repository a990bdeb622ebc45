"""The orchestrator: legs read, fused, decayed, weighed, ranked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from numpy.typing import ArrayLike

from nousmem.checks import check_number
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.entry import MemoryType, Vector, parse_instant, parse_type, parse_vector
from nousmem.errors import InvalidParameter, NousmemError, UnknownName
from nousmem.retrieval._explaining import Unfound
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.finding import EMBEDDING_SECONDS, active_legs, find
from nousmem.retrieval.hits import Floor, Hits
from nousmem.retrieval.settings import Retrieval, Settings, chosen_settings
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.scoring import Scoring
from nousmem.stores import open_store
from nousmem.stores.base import Store
from nousmem.stores.filters import EntryFilter, check_limit, check_min_score, check_query

__all__ = ["DegradedSearchWarning", "OtherEmbedderWarning", "Search"]

_ON_ERROR = ("degrade", "raise")
_DEEPEST = 100_000
"""How deep legs are read to say why an entry was not found."""


class DegradedSearchWarning(UserWarning):
    """A search went on without the vector leg, because the embedder failed."""


class OtherEmbedderWarning(UserWarning):
    """Settings that were measured with one embedder run with another, or with none."""


@dataclass(frozen=True, init=False)
class Search:
    """Ranks the memories of a store for a query.

    Calling it searches: `Search(store)("dark mode preferences", limit=5)`.

    Args:
        store: Where the entries live; a URL is opened, as `open_store` does.
        embedder: Makes the query's vector; None searches text alone, unless a vector is given.
            A name is opened, as `open_embedder` does.
        settings: How candidates are found and ranked; None is `Settings()`, what is documented.
        scoring: In place of the settings' scoring.
        retrieval: In place of the settings' retrieval.
        on_embedder_error: Whatever the embedder raises, and where it takes longer than
            `embedder_seconds`: "degrade" goes on without vectors, warns, and says so in
            `hits.degraded`; "raise" raises EmbedderError.
        embedder_seconds: How long the query's vector is waited for; None is as long as it takes.
        warn: Called with the text and the kind of a warning, where nobody reads warnings; None
            warns.

    Warns:
        OtherEmbedderWarning: the settings were measured with another embedder; said when it is
            known, at the first search.

    Raises:
        UnknownName: no store or embedder has the name given.
        InvalidParameter: a store, an embedder or settings are something else; the vector leg is
            asked for and the store cannot search vectors; no leg finds anything.
        StoreError: the store that a URL names cannot be opened.
        MissingDependency: a package that this store needs is not installed.
    """

    store: Store
    embedder: Embedder | None
    settings: Settings
    on_embedder_error: Literal["degrade", "raise"]
    embedder_seconds: float | None
    warn: Callable[[str, type[Warning]], object] | None

    # By hand, since a store and an embedder may be given by name, and are not kept so.
    def __init__(
        self,
        store: Store | str,
        embedder: Embedder | str | None = None,
        *,
        settings: Settings | None = None,
        scoring: Scoring | None = None,
        retrieval: Retrieval | None = None,
        on_embedder_error: Literal["degrade", "raise"] = "degrade",
        embedder_seconds: float | None = EMBEDDING_SECONDS,
        warn: Callable[[str, type[Warning]], object] | None = None,
    ) -> None:
        put = partial(object.__setattr__, self)
        put("embedder", _opened_embedder(embedder))
        put("settings", chosen_settings(settings, scoring, retrieval))
        if on_embedder_error not in _ON_ERROR:
            raise UnknownName("on_embedder_error", on_embedder_error, _ON_ERROR)
        put("on_embedder_error", on_embedder_error)
        if embedder_seconds is not None and check_number("embedder_seconds", embedder_seconds) <= 0:
            raise InvalidParameter(f"embedder_seconds must be above 0, got {embedder_seconds!r}")
        put("embedder_seconds", embedder_seconds)
        put("warn", warn)
        # Last, so that no file is made for options that are refused.
        put("store", _opened_store(store))
        # A vector may still be given with a query.
        active_legs(self.settings.retrieval, self.store, has_vector=True)

    @property
    def scoring(self) -> Scoring:
        """How candidates are weighed."""
        return self.settings.scoring

    @property
    def retrieval(self) -> Retrieval:
        """How candidates are found."""
        return self.settings.retrieval

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
        min_words: float = 0.0,
        min_cosine: float = -1.0,
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
            min_words: With `min_cosine` the floor of evidence, which does not depend on the other
                candidates: the least share of the query's words that mean something, function
                words aside, that an entry must hold. One of the two will do; at 0 and -1 nothing
                is asked. See `nousmem.retrieval.evidence`.
            min_cosine: The least cosine between query and entry.
            now: The instant ages are counted from; None is `as_of`, or else the wall clock.
            as_of: The instant the store is seen at; None is the present.
            vector: The query's vector, shape (dimension,), where it is known already; taken for
                the embedder's, if there is one.

        Raises:
            InvalidScope: `scope` is neither a Scope nor a mapping, or names a field that entries
                do not have.
            InvalidEntry: there is no such memory type; `now` or `as_of` is not an instant.
            InvalidParameter: `query` is not text; `limit` or a least value is not valid; the
                vector leg alone is wanted, and there is nothing to make a vector.
            InvalidVector: `vector` is not one.
            EmbeddingMismatch: the store was filled by another embedder, or with vectors of
                another length.
            EmbedderError: the embedder failed or took too long, and `on_embedder_error` is "raise"
                or there is no other leg to go on with.
            ExtensionError: a part of the ranking of one's own broke its rules.
            MissingDependency: a package that the embedder needs is not installed.
            StoreError: the store cannot be read.
        """
        text = check_query(query)
        wanted = check_limit(limit)
        least = None if min_score is None else check_min_score(min_score)
        as_of = None if as_of is None else parse_instant(as_of)
        moment = parse_instant(now) if now is not None else as_of or datetime.now(UTC)
        memory_type = None if type is None else parse_type(type)
        given = None if vector is None else parse_vector(vector)
        floor = Floor.checked(min_words=min_words, min_cosine=min_cosine)
        filters: dict[str, Any] = {"scope": scope, "type": memory_type, "as_of": as_of}
        candidates = self._found(text, wanted, given, moment, filters)
        return Hits(
            candidates,
            self.settings,
            now=moment,
            limit=wanted,
            min_score=least,
            floor=floor,
            unfound=partial(self._unfound, candidates, filters),
        )

    def find(
        self,
        query: str,
        *,
        now: datetime,
        limit: int | None = None,
        scope: ScopeLike = GLOBAL,
        type: MemoryType | None = None,
        as_of: datetime | None = None,
        vector: Vector | None = None,
    ) -> Candidates:
        """Return what the legs find for a query, unranked: see `nousmem.retrieval.finding.find`."""
        return self._found(
            query, limit, vector, now, {"scope": scope, "type": type, "as_of": as_of}
        )

    def _found(
        self,
        query: str,
        limit: int | None,
        vector: Vector | None,
        now: datetime,
        filters: dict[str, Any],
    ) -> Candidates:
        candidates = find(
            self.store,
            query,
            retrieval=self.retrieval,
            now=now,
            embedder=self.embedder,
            vector=vector,
            limit=limit,
            degrades=self.on_embedder_error == "degrade",
            seconds=self.embedder_seconds,
            **filters,
        )
        notice = self._notice(candidates)
        if notice is not None and self.warn is not None:
            self.warn(*notice)
        elif notice is not None:
            warnings.warn(*notice, stacklevel=3)
        return candidates

    def _notice(self, candidates: Candidates) -> tuple[str, type[Warning]] | None:
        """Return what is to be said of a search that is not what was asked for."""
        measured_with, own = self.settings.embedder, candidates.embedder
        if candidates.degraded is not None:
            return f"searching without vectors: {candidates.degraded}", DegradedSearchWarning
        weighs = "vector" in self.retrieval.leg_names and self.scoring.leg_weight("vector")
        if measured_with is None or not weighs or own == measured_with or not len(candidates):
            return None
        message = (
            f"the settings were measured with the embedder {measured_with!r}, and run with "
            f"{own or 'none'!r}: measure them anew, or take Settings.replace(embedder=None)"
        )
        return message, OtherEmbedderWarning

    def _unfound(self, candidates: Candidates, filters: dict[str, Any], entry_id: str) -> Unfound:
        """Return why an entry is no candidate, and what it would have been deeper in the legs."""
        kept_out = self._kept_out(filters, entry_id)
        if kept_out:
            return Unfound(kept_out)
        deep = find(
            self.store,
            candidates.query,
            retrieval=self.retrieval.replace(depth=_DEEPEST),
            now=datetime.fromtimestamp(candidates.now, UTC),
            embedder=self.embedder,
            degrades=True,
            seconds=self.embedder_seconds,
            **filters,
        )
        if entry_id not in deep.ids:
            return Unfound("no leg finds it, however deep it is read")
        at = deep.ids.index(entry_id)
        ranks = {name: int(deep.ranks[row, at]) for row, name in enumerate(deep.legs)}
        found = " and ".join(f"{name} rank {rank}" for name, rank in ranks.items() if rank)
        depth = min(rank for rank in ranks.values() if rank)
        return Unfound(
            f"outside of the candidates: {found}; depth={depth} would make it one",
            candidates.joined_by(deep, at),
        )

    def _kept_out(self, filters: dict[str, Any], entry_id: str) -> str:
        """Return why no leg may return an entry; "" where one may."""
        try:
            entry = self.store.get(entry_id)
        except NousmemError:
            return f"no entry has the id {entry_id!r}"
        if not EntryFilter.build(scope=filters["scope"], include_superseded=True).matches(entry):
            return "the entry is outside of the scope that was searched"
        if filters["as_of"] is not None and entry.created_at > filters["as_of"]:
            return "the entry is later than as_of"
        if filters["type"] is not None and entry.type != filters["type"]:
            return f"the entry is {entry.type.value}, which was not asked for"
        if entry.superseded_at is not None:
            return "the entry was replaced by a newer one, and is kept as history"
        return ""


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
