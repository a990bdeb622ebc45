"""Whose memory it is: the fields a search is narrowed to (specification, "Building Scopes")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, cast

from nousmem.entry import MemoryType, parse_instant, parse_type
from nousmem.errors import InvalidEntry, InvalidScope

__all__ = ["GLOBAL", "SCOPE_FIELDS", "Scope", "ScopeLike", "as_filter"]

SCOPE_FIELDS: Final = ("agent_id", "session_id", "user_id", "namespace")

_PRESETS: Final[dict[str, tuple[str, ...]]] = {
    "agent": ("agent_id", "user_id"),
    "user": ("user_id",),
    "session": ("agent_id", "session_id", "user_id"),
    "global": (),
}

_FILTER_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "id": str,
    "content": str,
    "type": (MemoryType, str),
    "importance": (int, float),
    "evergreen": bool,
    **dict.fromkeys(SCOPE_FIELDS, str),
    "embedder": str,
    "access_count": int,
    "created_at": (datetime, str),
    "updated_at": (datetime, str),
    "last_accessed_at": (datetime, str),
    "superseded_at": (datetime, str),
    "superseded_by": str,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The entries of one agent, session, user or namespace: the fields that are set must be equal.

    None means "not asked about"; "" is a value like any other. `Scope()` is `GLOBAL`: no filter.

    Raises:
        InvalidScope: a field is neither None nor text.
    """

    agent_id: str | None = None
    """The agent that stored the entry."""
    session_id: str | None = None
    """The conversation it was stored in."""
    user_id: str | None = None
    """The user it is about."""
    namespace: str | None = None
    """A free grouping."""

    def __post_init__(self) -> None:
        for name in SCOPE_FIELDS:
            value: object = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidScope(f"scope field {name} must be text or None, got {value!r}")

    def __bool__(self) -> bool:
        """Whether the scope narrows anything."""
        return self != GLOBAL

    @classmethod
    def build(cls, config: Mapping[str, Any]) -> Scope:
        """Build the scope an agent with this configuration searches by default.

        Reads `default_search_scope`: "agent" (the default, and anything unrecognised) uses
        agent_id and user_id; "user" uses user_id; "session" adds session_id; "global" is
        unfiltered. A field the configuration does not set widens the scope (specification,
        "Building Scopes Programmatically").

        Raises:
            InvalidScope: `config` is not a mapping, or a field used is neither None nor text.
        """
        _require_mapping(config)
        preset = config.get("default_search_scope")
        names = _PRESETS.get(preset) if isinstance(preset, str) else None
        return cls.from_fields(config, _PRESETS["agent"] if names is None else names)

    @classmethod
    def from_fields(cls, config: Mapping[str, Any], names: Iterable[str]) -> Scope:
        """Build a scope from the named fields of `config`; those without a value are left out.

        Returns GLOBAL when none of them has a value.

        Raises:
            InvalidScope: a name is not a scope field, or a value is neither None nor text.
        """
        _require_mapping(config)
        names = list(names)
        for name in names:
            if name not in SCOPE_FIELDS:
                raise InvalidScope(
                    f"unknown scope field {name!r}; scope fields: {', '.join(SCOPE_FIELDS)}"
                )
        return cls(**{name: config.get(name) for name in names})


GLOBAL: Final = Scope()
"""No filter: every entry."""

ScopeLike = Scope | Mapping[str, Any]
"""What `scope=` accepts: a Scope, or a mapping of Entry fields to the values wanted."""


def _require_mapping(config: object) -> None:
    if not isinstance(config, Mapping):
        raise InvalidScope(f"expected a mapping of options, got {type(config).__name__}")


def as_filter(scope: ScopeLike) -> dict[str, Any]:
    """Return the equality conditions that `scope` stands for, field name to wanted value.

    A Scope contributes the fields that are set. In a mapping every key counts, and None means
    "the entry's field is unset".

    Raises:
        InvalidScope: neither a Scope nor a mapping; a field entries do not have or cannot be
            filtered by; a value of the wrong type.
    """
    if isinstance(scope, Scope):
        return {
            f.name: value for f in fields(scope) if (value := getattr(scope, f.name)) is not None
        }
    if not isinstance(cast("object", scope), Mapping):
        raise InvalidScope(
            f"scope must be a Scope or a mapping, got {type(scope).__name__}: {scope!r}; "
            "GLOBAL searches everything"
        )
    return {name: _wanted(name, value) for name, value in scope.items()}


def _wanted(name: str, value: Any) -> Any:
    if name not in _FILTER_TYPES:
        raise InvalidScope(
            f"cannot filter by {name!r}; entries can be filtered by: {', '.join(_FILTER_TYPES)}"
        )
    if value is None:
        return None
    if not isinstance(value, _FILTER_TYPES[name]) or (
        isinstance(value, bool) and name != "evergreen"
    ):
        raise InvalidScope(f"scope field {name} cannot be {type(value).__name__}: {value!r}")
    try:
        if name == "type":
            return parse_type(str(value))
        if name.endswith("_at"):
            return parse_instant(value)
    except InvalidEntry as error:
        raise InvalidScope(f"scope field {name}: {error}") from None
    return float(value) if name == "importance" else value
