"""Whose memory an agent reads and writes, and through what: the options that its tools use."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from nousmem.agent._unseen import Unseen
from nousmem.checks import check_flag
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.embeddings.registry import is_embedder
from nousmem.entry import Entry, parse_instant
from nousmem.errors import InvalidParameter, InvalidScope
from nousmem.retrieval.evidence import searched_part
from nousmem.retrieval.finding import EMBEDDING_SECONDS, active_legs
from nousmem.retrieval.hits import Hits
from nousmem.retrieval.legs import leg_name
from nousmem.retrieval.search import OtherEmbedderWarning, Search
from nousmem.retrieval.settings import Settings, chosen_settings
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


class _Shared:
    """What all that use one open store have in common."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._said: set[str] = set()

    def log(self, message: str, category: type[Warning]) -> None:
        """Log what a search warns of: an agent runs unattended, and in threads."""
        if category is OtherEmbedderWarning:  # the same at every search
            if message in self._said:
                return
            self._said.add(message)
        _LOG.warning("%s", message)


# An open store is shared by objects that do not know each other, and may be anybody's own: there is
# no other place for what they have in common.
_SHARED: WeakKeyDictionary[Any, _Shared] = WeakKeyDictionary()
_SHARED_GUARD = threading.Lock()


def _shared_by_users_of(store: Store) -> _Shared:
    """Return what is shared; of a store that cannot be told from others something new each time."""
    try:
        with _SHARED_GUARD:
            return _SHARED.setdefault(store, _Shared())
    except TypeError:
        return _Shared()


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
    settings: Settings | None = None
    """How memories are found and ranked; None is `Settings()`, what is documented. Once made,
    those in force."""
    scoring: Scoring | None = None
    """In place of the settings' scoring. Once made, the one in force."""
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
    embedder_seconds: float | None = EMBEDDING_SECONDS
    """How long the embedder is waited for: a search then goes on without vectors, and a memory is
    stored without one. None is as long as it takes."""
    recall_evidence: bool = False
    """`recall` returns only what has the evidence that `inject_min_words` and `inject_min_cosine`
    of the settings ask for, so that a question about nothing known finds nothing."""
    explain_recall: bool = False
    """Offer a model the argument `explain` of `recall`."""

    def __post_init__(self) -> None:
        self._settings = self._chosen_settings()
        self.settings, self.scoring = self._settings, self._settings.scoring
        check_flag("recall_evidence", self.recall_evidence)
        check_flag("explain_recall", self.explain_recall)
        self._store: Store = open_store(self.store) if isinstance(self.store, str) else self.store
        if not isinstance(self._store, Store):
            raise InvalidParameter(
                f"store must be an open store or a URL, got {type(self.store).__name__}; "
                "open one with nousmem.open_store('sqlite:memories.db')"
            )
        given = self.embedder
        self._embedder = open_embedder(given) if isinstance(given, str) else given
        if self._embedder is not None and not is_embedder(self._embedder):
            raise InvalidParameter(f"embedder must be an embedder, got {type(given).__name__}")
        shared = _shared_by_users_of(self._store)
        self._search = Search(
            self._store,
            self._embedder,
            settings=self._settings,
            embedder_seconds=self.embedder_seconds,
            warn=shared.log,
        )
        self._check_legs()
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
        self._lock = shared.lock

    @property
    def opened_store(self) -> Store:
        """The open store."""
        return self._store

    @property
    def opened_embedder(self) -> Embedder | None:
        """The embedder, or None."""
        return self._embedder

    @property
    def settings_in_force(self) -> Settings:
        """How memories are found, ranked and shown."""
        return self._settings

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
    ) -> Hits:
        """Search the scope; without vectors when the embedder fails, as `hits.degraded` says.

        What `Search` warns of is logged. So is, once, where nothing is found because the scope
        matches no entry of a store that holds others, or entries have vectors and there is no
        embedder.

        Args:
            query: A user's text; of a long one, `searched_part`.
            now: The instant ages are counted from.
            depth: Entries read from each leg; None is what the settings say.
            options: type, limit, min_score, min_words and min_cosine, as `Search` takes them.

        Raises:
            EmbeddingMismatch: the store was filled by another embedder.
            EmbedderError: the embedder failed, and there is no other leg.
        """
        query = searched_part(query) if isinstance(query, str) else query
        search = self._search
        if depth is not None:
            search = search.replace(settings=self._settings.replace(depth=depth))
        hits = search(query, scope=self._scope, now=now, **options)
        found = hits.candidates.entries
        if not found and query.strip():
            self._unseen.after_nothing()
        elif found and self._embedder is None:
            self._unseen.after_text_alone(found[0])
        return hits

    def floor_of_recall(self) -> dict[str, Any]:
        """Return the evidence that `recall` asks for, as `look_up` takes it."""
        if not self.recall_evidence:
            return {}
        injection = self._settings.injection
        return {
            "min_words": injection.inject_min_words,
            "min_cosine": injection.inject_min_cosine,
        }

    def sees(self, entry: Entry) -> bool:
        """Whether the entry is in scope; history is, too."""
        return EntryFilter.build(scope=self._scope, include_superseded=True).matches(entry)

    def _chosen_settings(self) -> Settings:
        return chosen_settings(self.settings, self.scoring)

    def _check_legs(self) -> None:
        has_vector = self._embedder is not None
        legs = active_legs(self._settings.retrieval, self._store, has_vector=has_vector)
        names = [leg_name(leg) for leg in legs]
        if not any(self._settings.scoring.leg_weight(name) for name in names):
            weights = " and ".join(f"w_{name}=0" for name in names)
            remedy = "" if "vector" in names else ", or an embedder and a store that takes vectors"
            raise InvalidParameter(
                f"the settings leave out every leg that can be read here ({weights}), so that "
                f"nothing would ever be found; give another weight{remedy}"
            )
