"""Whose memory an agent reads and writes, and through what: the options that its tools use."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from nousmem.agent.unseen import Unseen
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder, Matrix
from nousmem.entry import Entry, parse_instant
from nousmem.errors import EmbedderError, InvalidParameter, InvalidScope, InvalidVector
from nousmem.retrieval.evidence import searched_part
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.search import Search
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.scoring import Scoring
from nousmem.stores import open_store
from nousmem.stores.base import Store
from nousmem.stores.filters import EntryFilter

__all__ = [
    "SEARCH_SCOPES",
    "MemoryAccess",
    "SearchScope",
    "utc_now",
]

_LOG = logging.getLogger(__name__)

SearchScope = Literal["agent", "user", "session", "global"]
SEARCH_SCOPES: Final[tuple[SearchScope, ...]] = ("agent", "user", "session", "global")


# An open store is shared by objects that do not know each other, and may be anybody's own: there is
# no other place for what they have in common.
_LOCKS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_LOCKS_GUARD = threading.Lock()


def _lock_of(store: Store) -> threading.RLock:
    """Return the lock of a store; one that cannot be told from others gets a new one each time."""
    try:
        with _LOCKS_GUARD:
            return _LOCKS.setdefault(store, threading.RLock())
    except TypeError:
        return threading.RLock()


def utc_now() -> datetime:
    """Return the wall clock's instant in UTC."""
    return datetime.now(UTC)


def random_id() -> str:
    """Return 32 random hexadecimal digits."""
    return uuid.uuid4().hex


@dataclass(kw_only=True, eq=False)
class MemoryAccess:
    """What `remember`, `recall` and `forget` need to know; not to be changed once made.

    Several agents may share one store, each with its own access. The store must bear being
    called from several threads, as those of nousmem do.

    Raises:
        InvalidParameter: an option has a value outside what it documents.
        InvalidScope: a scope field is neither None nor text.
        UnknownName: no store or embedder has the name given.
        StoreError: the store that a URL names cannot be opened.
        MissingDependency: a package that this store needs is not installed.
    """

    store: Store | str
    """An open store, or a URL for `open_store`."""
    embedder: Embedder | str | None = None
    """Makes vectors of memories and queries; None searches text alone. Also a name for
    `open_embedder`."""
    scoring: Scoring = field(default_factory=Scoring)
    """The parameters of the ranking."""
    agent_id: str | None = None
    """Written to every entry, and searched by in the scopes "agent" and "session"."""
    user_id: str | None = None
    """Written to every entry, and searched by in every scope but "global"."""
    session_id: str | None = None
    """Written to every entry, and searched by in the scope "session"."""
    namespace: str | None = None
    """Written to every entry; no scope searches by it."""
    default_search_scope: SearchScope = "agent"
    """Which entries the agent sees: "agent" (its own about this user), "user" (every agent's
    about this user), "session" (its own in this session), "global" (everybody's). "user" needs a
    user_id, "session" a session_id; another id that is not set is not searched by."""
    clock: Callable[[], datetime] = utc_now
    """Tells the instant of a write, and the one ages are counted from."""
    new_id: Callable[[], str] = random_id
    """Names a new entry; no two may be the same. Give one where results must repeat."""

    def __post_init__(self) -> None:
        self._store: Store = open_store(self.store) if isinstance(self.store, str) else self.store
        if not isinstance(self._store, Store):
            raise InvalidParameter(
                f"store must be an open store or a URL, got {type(self.store).__name__}; "
                "open one with nousmem.open_store('sqlite:memories.db')"
            )
        given = self.embedder
        self._embedder = open_embedder(given) if isinstance(given, str) else given
        if self._embedder is not None and not isinstance(self._embedder, Embedder):
            raise InvalidParameter(f"embedder must be an embedder, got {type(given).__name__}")
        if not isinstance(self.scoring, Scoring):
            raise InvalidParameter(f"scoring must be a Scoring, got {self.scoring!r}")
        by_vectors = self._embedder is not None and hasattr(self._store, "search_vector")
        if not self.scoring.w_text and not by_vectors:
            raise InvalidParameter(
                "scoring leaves the text leg out (w_text=0), and without an embedder and a store "
                "that searches vectors nothing would ever be found; give both, or another w_text"
            )
        if self.default_search_scope not in SEARCH_SCOPES:
            raise InvalidParameter(
                f"default_search_scope must be one of {', '.join(SEARCH_SCOPES)}, "
                f"got {self.default_search_scope!r}"
            )
        if not callable(self.clock):
            raise InvalidParameter(f"clock must be a function without arguments, got {self.clock}")
        if not callable(self.new_id):
            raise InvalidParameter(
                f"new_id must be a function without arguments, got {self.new_id}"
            )
        for name in SCOPE_FIELDS:
            value: object = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidScope(f"{name} must be text or None, got {value!r}")
        needed = {"user": "user_id", "session": "session_id"}.get(self.default_search_scope)
        if needed is not None and getattr(self, needed) is None:
            raise InvalidParameter(
                f"default_search_scope {self.default_search_scope!r} without a {needed} would show "
                f"more than one {self.default_search_scope}'s memories; give {needed}, or another "
                "scope"
            )
        self._scope = Scope.build(
            {
                "default_search_scope": self.default_search_scope,
                **{name: getattr(self, name) for name in SCOPE_FIELDS},
            }
        )
        self._unseen = Unseen(self._store, self._scope)
        self._lock = _lock_of(self._store)

    @property
    def opened_store(self) -> Store:
        """The open store."""
        return self._store

    @property
    def opened_embedder(self) -> Embedder | None:
        """The embedder, or None."""
        return self._embedder

    @property
    def scope(self) -> Scope:
        """The entries that are seen, and may be changed or forgotten."""
        return self._scope

    @property
    def unseen(self) -> Unseen:
        """What is not seen of the store, and why."""
        return self._unseen

    @property
    def write_lock(self) -> threading.RLock:
        """Held while something is looked up and then written, so that nothing comes between.

        All that share the open store share it, since two may be of the same user.
        """
        return self._lock

    def now(self) -> datetime:
        """Return the clock's instant, in UTC.

        Raises:
            InvalidEntry: the clock told a time without a time zone.
        """
        return parse_instant(self.clock())

    def look_up(
        self, query: str, *, now: datetime, depth: int | None = None, **options: Any
    ) -> tuple[Hits, str | None]:
        """Search the scope; without vectors when the embedder fails.

        Where nothing is found because the scope matches no entry of a store that holds others,
        or entries have vectors and there is no embedder, it is logged once.

        Args:
            query: A user's text; of a long one, `searched_part`.
            now: The instant ages are counted from.
            depth: Entries read from each leg, as `Search` has it.
            options: type, limit and min_score, as `Search` takes them.

        Returns:
            What was found, and why the vector leg is missing; None when it is not.

        Raises:
            EmbeddingMismatch: the store was filled by another embedder.
        """
        hits, degraded = self._search(query, now=now, depth=depth, **options)
        found = hits.candidates.entries
        if not found and isinstance(query, str) and query.strip():
            self._unseen.after_nothing()
        elif found and self._embedder is None:
            self._unseen.after_text_alone(found[0])
        return hits, degraded

    def _search(
        self, query: str, *, now: datetime, depth: int | None, **options: Any
    ) -> tuple[Hits, str | None]:
        query = searched_part(query) if isinstance(query, str) else query
        options |= {"scope": self._scope, "now": now}
        text_only = Search(self._store, scoring=self.scoring, depth=depth)
        if self._embedder is None:
            return text_only(query, **options), None
        guarded = _GuardedEmbedder(self._embedder)
        search = replace(text_only, embedder=guarded, on_embedder_error="raise")
        try:
            return search(query, **options), None
        except (EmbedderError, InvalidVector) as error:
            _LOG.warning("searching text only, the embedder failed: %s", error)
            return text_only(query, **options), str(error)

    def sees(self, entry: Entry) -> bool:
        """Whether the entry is in scope; history is, too."""
        return EntryFilter.build(scope=self._scope, include_superseded=True).matches(entry)


@dataclass(frozen=True, slots=True)
class _GuardedEmbedder:
    """Whatever anybody's embedder raises becomes one kind of error."""

    embedder: Embedder

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._guarded(self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._guarded(self.embedder.embed_queries, texts)

    def _guarded(self, verb: Callable[[Sequence[str]], Matrix], texts: Sequence[str]) -> Matrix:
        try:
            return verb(texts)
        except Exception as error:
            raise EmbedderError(f"{type(error).__name__}: {error}") from error
