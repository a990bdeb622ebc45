"""Legs: the ways to find entries for a query. The built-in ones are made as anybody's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from nousmem.entry import Entry, MemoryType, Vector
from nousmem.errors import (
    EntryNotFound,
    ExtensionError,
    InvalidParameter,
    NousmemError,
    UnknownName,
)
from nousmem.references import describe, instance_of, is_reference, load_described, reference_to
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.scoring import Floats
from nousmem.stores.base import ScoredEntries, Store, searches_vectors
from nousmem.stores.filters import EntryFilter

__all__ = [
    "BUILT_IN_LEGS",
    "FindingLeg",
    "Leg",
    "LegRequest",
    "ScoringLeg",
    "TextLeg",
    "VectorLeg",
    "chosen_leg",
    "described_leg",
    "leg_name",
    "read_leg",
    "score_entries",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRequest:
    """What a leg is asked: a query, under its circumstances."""

    store: Store
    """Where to look."""
    query: str
    """A user's text; never blank."""
    depth: int
    """Most entries to return."""
    now: datetime
    """The instant the query is asked."""
    scope: ScopeLike = GLOBAL
    """Whose memories: nothing outside of it may be returned."""
    type: MemoryType | None = None
    """Only this memory type."""
    as_of: datetime | None = None
    """The instant the store is seen at: nothing later may be returned."""
    vector: Vector | None = None
    """The query's vector, shape (dimension,); None where there is none."""
    embedder: str | None = None
    """Fingerprint of what made `vector`; None is not known."""

    def entries(self) -> list[Entry]:
        """Return every entry that may be returned, the oldest first. It reads the whole scope."""
        return self.store.list(scope=self.scope, type=self.type, as_of=self.as_of)


@runtime_checkable
class FindingLeg(Protocol):
    """A leg that finds entries."""

    @property
    def name(self) -> str:
        """What its columns and its weight are called."""
        ...

    def search(self, request: LegRequest, /) -> Iterable[tuple[Entry | str, float]]:
        """Return entries, or their ids, with finite scores: the best first, each once."""
        ...


@runtime_checkable
class ScoringLeg(Protocol):
    """A leg that scores entries; one that does nothing else is a reranker."""

    @property
    def name(self) -> str:
        """What its columns and its weight are called."""
        ...

    def score(self, request: LegRequest, entries: Sequence[Entry], /) -> ArrayLike:
        """Return a score for each entry, shape (n,); NaN for one that it has nothing to say of."""
        ...


Leg: TypeAlias = FindingLeg | ScoringLeg


@dataclass(frozen=True, slots=True)
class TextLeg:
    """What the store's text search finds."""

    name: str = "text"

    def search(self, request: LegRequest) -> ScoredEntries:
        """Return the best entries by the store's own score."""
        return request.store.search_text(
            request.query,
            scope=request.scope,
            type=request.type,
            limit=request.depth,
            as_of=request.as_of,
        )


@dataclass(frozen=True, slots=True)
class VectorLeg:
    """What lies nearest to the query's vector, by cosine."""

    name: str = "vector"

    def search(self, request: LegRequest) -> ScoredEntries:
        """Return the nearest entries; none where there is no vector, or the store has none."""
        if request.vector is None or not searches_vectors(request.store):
            return []
        return request.store.search_vector(
            request.vector,
            scope=request.scope,
            type=request.type,
            limit=request.depth,
            as_of=request.as_of,
            embedder=request.embedder,
        )


BUILT_IN_LEGS: Final[Mapping[str, Leg]] = MappingProxyType(
    {"text": TextLeg(), "vector": VectorLeg()}
)


def chosen_leg(given: object) -> str | Leg:
    """Return what a Retrieval keeps of a leg: the name of a built-in one, or an object.

    Args:
        given: A name; an object with `name` and `search` or `score`, or a class of such; or
            `package.module:object`, or the table that `described_leg` returns.

    Raises:
        UnknownName: no leg has this name.
        InvalidParameter: it is none of these.
    """
    found = given
    if isinstance(given, str) and not is_reference(given):
        if given not in BUILT_IN_LEGS:
            raise UnknownName("leg", given, [*BUILT_IN_LEGS, "package.module:object"])
        return given
    if is_reference(given) or isinstance(given, Mapping):
        found = load_described(cast("str | Mapping[str, Any]", given), what="leg")
    elif isinstance(given, type):
        found = instance_of(given, what="leg")
    name: object = getattr(found, "name", None)
    verbs = [callable(getattr(found, verb, None)) for verb in ("search", "score")]
    if not isinstance(name, str) or not name.isidentifier() or not any(verbs):
        raise InvalidParameter(
            "a leg has a name that is an identifier, and search(request) or score(request, "
            f"entries); got {given!r}"
        )
    if isinstance(found, TextLeg | VectorLeg) and found == BUILT_IN_LEGS.get(name):
        return name
    if name in (*BUILT_IN_LEGS, "relevance", "importance", "recency"):
        raise InvalidParameter(
            f"leg {reference_to(found)} takes the name {name!r}: give it its own"
        )
    try:
        hash(found)
    except TypeError:
        raise InvalidParameter(
            f"leg {reference_to(found)} cannot be hashed, and so not be told from others: make it "
            "a frozen dataclass"
        ) from None
    return cast("Leg", found)


def described_leg(leg: str | Leg) -> str | dict[str, Any]:
    """Return how a file names what `chosen_leg` keeps."""
    return leg if isinstance(leg, str) else describe(leg)


def leg_name(leg: str | Leg) -> str:
    """Return what a leg's columns and its weight are called."""
    return leg if isinstance(leg, str) else leg.name


def read_leg(leg: str | Leg, request: LegRequest) -> ScoredEntries:
    """Let a leg find entries; what somebody's own returns is checked.

    Raises:
        ExtensionError: it raises; or it returns an entry twice, out of order, with a score that
            is not finite, more than it was asked for, one that the store does not have, or one
            outside of scope, type or `as_of`.
    """
    if isinstance(leg, str):
        return cast("TextLeg | VectorLeg", BUILT_IN_LEGS[leg]).search(request)
    finding = cast("FindingLeg", leg)
    try:
        given = list(finding.search(request))
        pairs = [(one, float(score)) for one, score in given]
    except NousmemError:
        raise
    except Exception as error:
        raise _broken(leg, f"failed: {type(error).__name__}: {error}") from error
    if len(pairs) > request.depth:
        raise _broken(leg, f"returned {len(pairs)} entries, and was asked for {request.depth}")
    allowed = EntryFilter.build(scope=request.scope, type=request.type, as_of=request.as_of)
    found: list[tuple[Entry, float]] = []
    seen: set[str] = set()
    least = math.inf
    for one, score in pairs:
        entry_id: object = getattr(one, "id", one)
        if not isinstance(entry_id, str):
            raise _broken(leg, f"must return entries or ids with scores, got {one!r}")
        if entry_id in seen:
            raise _broken(leg, f"returned {entry_id!r} twice")
        if not math.isfinite(score) or score > least:
            order = "is not finite" if not math.isfinite(score) else "is above the one before it"
            raise _broken(leg, f"must return the best first: the score of {entry_id!r} {order}")
        try:
            entry = request.store.get(entry_id)
        except EntryNotFound:
            raise _broken(leg, f"returned {entry_id!r}, which the store does not have") from None
        if not allowed.matches(entry):
            raise _broken(
                leg,
                f"returned {entry_id!r}, which is outside of scope, type or as_of",
            )
        seen.add(entry_id)
        least = score
        found.append((entry, score))
    return found


def score_entries(leg: Leg, request: LegRequest, entries: Sequence[Entry]) -> Floats:
    """Let a leg score entries, shape (n,); NaN where it has nothing to say.

    Raises:
        ExtensionError: it raises, returns another shape, or an infinite score.
    """
    try:
        given = np.asarray(cast("ScoringLeg", leg).score(request, entries), dtype=np.float64)
    except NousmemError:
        raise
    except Exception as error:
        raise _broken(leg, f"failed: {type(error).__name__}: {error}") from error
    if given.shape != (len(entries),):
        raise _broken(
            leg, f"must score {len(entries)} entries with as many numbers, got shape {given.shape}"
        )
    if np.isinf(given).any():
        raise _broken(leg, "returned an infinite score; NaN stands for none")
    return given


def _broken(leg: Leg, what: str) -> ExtensionError:
    return ExtensionError(f"leg {leg.name!r} ({reference_to(leg)}) {what}")
