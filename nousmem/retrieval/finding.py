"""The one body that finds candidates: for Search, sweeps, injection, explorers, agents and MCP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast

from nousmem.embeddings.base import Embedder
from nousmem.embeddings.checks import check_vectors
from nousmem.entry import MemoryType, Vector
from nousmem.errors import EmbedderError, EmbeddingMismatch, InvalidParameter, MissingDependency
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.legs import Leg, LegRequest, leg_name, read_leg, score_entries
from nousmem.retrieval.settings import Retrieval
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores.base import ScoredEntries, Store, searches_vectors

__all__ = ["EMBEDDING_SECONDS", "active_legs", "find", "query_vectors", "started"]

EMBEDDING_SECONDS: Final = 30.0
"""How long a query's vector is waited for, as the specification has it."""


def active_legs(retrieval: Retrieval, store: Store, *, has_vector: bool) -> tuple[str | Leg, ...]:
    """Return the legs that can be read, in their order.

    Args:
        retrieval: Its `legs` are wanted.
        store: Must be able to search vectors for the vector leg.
        has_vector: Whether there is an embedder, or the query's vector.

    Raises:
        InvalidParameter: the store cannot search vectors, and the vector leg was asked for by
            name; or it alone is wanted, and there is nothing to make a vector.
    """
    by_vectors = searches_vectors(store)
    if retrieval.legs is None:
        return ("text", "vector") if has_vector and by_vectors else ("text",)
    if "vector" in retrieval.legs and not by_vectors:
        raise InvalidParameter(
            f"{type(store).__name__} has no search_vector: leave the vector leg out"
        )
    active = tuple(leg for leg in retrieval.legs if leg != "vector" or has_vector)
    if not any(_finds(leg) for leg in active):
        named = list(retrieval.leg_names)
        if "vector" in named:
            raise InvalidParameter(f"legs={named} needs an embedder, or the query's vector")
        raise InvalidParameter(f"legs={named} only score: add one that finds, such as 'text'")
    return active


def find(
    store: Store,
    query: str,
    *,
    retrieval: Retrieval,
    now: datetime,
    embedder: Embedder | None = None,
    vector: Vector | None = None,
    limit: int | None = None,
    scope: ScopeLike = GLOBAL,
    type: MemoryType | None = None,
    as_of: datetime | None = None,
    degrades: bool = False,
    seconds: float | None = EMBEDDING_SECONDS,
) -> Candidates:
    """Read the legs of one query and unite what they found.

    The embedder works while the text leg is read, as the specification has it.

    Args:
        store: Where to look.
        query: A user's text; blank text finds nothing.
        retrieval: Which legs, how deep, and the terms that go along.
        now: The instant ages are counted from.
        embedder: Makes the query's vector; of a given vector it is taken to be the maker.
        vector: The query's vector, shape (dimension,), where it is known already.
        limit: How many are wanted; legs are read this deep at least, unless `retrieval` says how
            deep.
        scope: Whose memories; applied in every leg before the cut, as are `type` and `as_of`.
        type: Only this memory type.
        as_of: The instant the store is seen at.
        degrades: Whether to go on without a vector where the embedder fails, whatever it raises.
            `Candidates.degraded` then says why.
        seconds: How long to wait for the vector; None is as long as it takes.

    Raises:
        InvalidParameter: as in `active_legs`.
        EmbedderError: the embedder failed or took too long, and `degrades` is off or no other leg
            finds.
        EmbeddingMismatch: the store was filled by another embedder.
        ExtensionError: a leg of somebody's own broke its rules.
        StoreError: the store cannot be read.
    """
    has_vector = embedder is not None or vector is not None
    legs = active_legs(retrieval, store, has_vector=has_vector)
    united: dict[str, Any] = {
        "now": now,
        "legs": retrieval.leg_names,
        "query": query,
        "as_of": as_of,
        "terms": retrieval.own_terms,
    }
    if not query.strip():
        # The filters are checked all the same.
        store.list(scope=scope, type=type, as_of=as_of, limit=0)
        return Candidates.union({}, **united)
    request = LegRequest(
        store=store,
        query=query,
        depth=retrieval.depth_for(limit),
        now=now,
        scope=scope,
        type=type,
        as_of=as_of,
        vector=vector,
        embedder=None,
    )
    found: dict[str, ScoredEntries] = {}
    degraded: str | None = None
    wants_vector = any(leg != "text" for leg in legs)
    if vector is not None and embedder is not None and wants_vector:
        request = replace(request, embedder=embedder.fingerprint)
    elif vector is None and embedder is not None and wants_vector:
        awaited = started(lambda: _embedded(embedder, [query]), seconds)
        if "text" in legs:
            found["text"] = read_leg("text", request)
        try:
            rows, maker = awaited()
            request = replace(request, vector=rows[0], embedder=maker)
        except EmbedderError as error:
            others = [leg for leg in legs if leg != "vector" and _finds(leg)]
            if not degrades or not others:
                raise
            degraded = str(error)
    for leg in legs:
        if leg_name(leg) not in found and _finds(leg):
            found[leg_name(leg)] = read_leg(leg, request)
    candidates = Candidates.union(found, **united, degraded=degraded, embedder=request.embedder)
    for leg in legs:
        if not _finds(leg) and len(candidates):
            scores = score_entries(cast("Leg", leg), request, candidates.entries)
            candidates = candidates.with_leg(leg_name(leg), scores)
    return candidates


def query_vectors(
    retrievals: Sequence[Retrieval],
    store: Store,
    embedder: Embedder | None,
    texts: Sequence[str],
) -> dict[str, Any]:
    """Return the vectors of many queries by their text, each made once; {} where no leg wants one.

    Raises:
        InvalidParameter: as in `active_legs`.
        EmbedderError: the embedder failed.
    """
    has_vector = embedder is not None
    read = [active_legs(one, store, has_vector=has_vector) for one in retrievals]
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    if embedder is None or not distinct or all(leg == "text" for legs in read for leg in legs):
        return {}
    return dict(zip(distinct, _embedded(embedder, distinct)[0], strict=True))


def _finds(leg: str | Leg) -> bool:
    return isinstance(leg, str) or callable(getattr(leg, "search", None))


def _embedded(embedder: Embedder, queries: Sequence[str]) -> tuple[Any, str]:
    """Return the vectors, and what made them; whatever an embedder raises is an EmbedderError."""
    try:
        fingerprint = embedder.fingerprint
        rows = embedder.embed_queries(list(queries))
        return check_vectors(
            rows, count=len(queries), dimension=embedder.dimension, embedder=fingerprint
        ), fingerprint
    except (EmbedderError, EmbeddingMismatch, MissingDependency):
        raise
    except Exception as error:
        raise EmbedderError(f"the embedder failed: {type(error).__name__}: {error}") from error


def started(work: Callable[[], Any], seconds: float | None) -> Callable[[], Any]:
    """Start work in a thread that nobody waits for at the end; return what waits for its result."""
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # whoever waits gets it
            done.set_exception(error)

    threading.Thread(target=run, name="nousmem-embedding", daemon=True).start()
    began = time.monotonic()

    def awaited() -> Any:
        left = None if seconds is None else max(0.0, seconds - (time.monotonic() - began))
        try:
            return done.result(left)
        except TimeoutError:
            if done.done():
                raise
            raise EmbedderError(f"the embedder did not answer within {seconds:g} seconds") from None

    return awaited
