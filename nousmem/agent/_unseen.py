"""Why an agent finds nothing: its scope may match no entry of a store that is full."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nousmem.entry import Entry
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.stores.base import Store, searches_vectors

__all__ = ["Unseen"]

_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Unseen:
    """What one access does not see of its store, looked for only when a search finds nothing.

    Args:
        store: The open store.
        scope: What the access sees.
    """

    store: Store
    scope: Scope
    note: str | None = None
    """Why nothing was found, at the latest search that found nothing; None when it is not that."""
    _sees_some: bool = False
    _told_of_vectors: bool = False

    def after_nothing(self) -> None:
        """Look for a reason why a search had no candidates, and log it the first time.

        It costs reading one entry once where the scope matches any; up to four more are read
        where it does not.
        """
        if self._sees_some:
            return
        if self._holds(_set_fields(self.scope)):
            self._sees_some, self.note = True, None
        elif self.note is None and self._holds({}):
            reason, remedy = self._reason(), self._remedy()
            self.note = f"{reason}; {remedy}" if remedy else reason
            # A new user and a new conversation have no memories either, and nothing is amiss.
            _LOG.log(logging.WARNING if remedy else logging.INFO, "%s", self.note)

    def after_text_alone(self, found: Entry) -> None:
        """Log once that a store with vectors is searched without an embedder.

        Args:
            found: Any entry that a search found.
        """
        if found.embedding is None or self._told_of_vectors or not searches_vectors(self.store):
            return
        self._told_of_vectors = True
        _LOG.warning(
            "no embedder is given, and the memories have vectors (of %s): searching text alone",
            found.embedder or "an embedder that was not named",
        )

    def _holds(self, fields: Mapping[str, Any]) -> bool:
        return bool(self.store.list(scope=fields, limit=1, include_superseded=True))

    def _reason(self) -> str:
        asked = " and ".join(f"{name} {value!r}" for name, value in _set_fields(self.scope).items())
        return f"no memory of {asked} is in the store, which holds others"

    def _remedy(self) -> str:
        """Return which scope looks further; "" where that is not known to be what is wanted."""
        scope = self.scope
        if scope.session_id is not None:
            return ""
        if scope.user_id is None:
            return "default_search_scope='global' looks at everybody's"
        if scope.agent_id is not None and self._holds({"user_id": scope.user_id}):
            return "default_search_scope='user' looks at all agents'"
        if self._holds({"user_id": None}):
            return (
                "some have no user_id, which default_search_scope='global' alone sees, with "
                "everybody's"
            )
        return ""


def _set_fields(scope: Scope) -> dict[str, str]:
    values = {name: getattr(scope, name) for name in SCOPE_FIELDS}
    return {name: value for name, value in values.items() if value is not None}
