"""One memory, and the checks it passes at the door."""

from __future__ import annotations

import copy
import json
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nousmem.errors import InvalidEntry, InvalidVector

__all__ = [
    "ENTRY_FIELDS",
    "Entry",
    "MemoryType",
    "Vector",
    "epoch_microseconds",
    "from_epoch_microseconds",
    "parse_instant",
    "parse_type",
    "parse_vector",
    "reject_unknown_fields",
    "restore_entry",
    "with_own_metadata",
    "with_vector",
]

Vector = NDArray[np.float32]
"""One embedding: shape (dimension,), float32, finite, not all zeros."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HIGHEST_COUNT = 2**63 - 1  # what a database keeps as an integer
_SAME_AS_CREATED = cast("datetime", None)


class MemoryType(StrEnum):
    """What kind of memory an entry is (specification, "Memory Types")."""

    SEMANTIC = "semantic"
    """Facts and knowledge."""
    EPISODIC = "episodic"
    """Events and experiences."""
    PROCEDURAL = "procedural"
    """How-to and processes."""


def parse_type(value: MemoryType | str) -> MemoryType:
    """Return the memory type named by `value`.

    Raises:
        InvalidEntry: the name is not one of semantic, episodic, procedural.
    """
    try:
        return MemoryType(value)
    except ValueError:
        names = ", ".join(MemoryType)
        raise InvalidEntry(f"type must be one of {names}, got {value!r}") from None


def parse_instant(value: datetime | str | float, *, assume_utc: bool = False) -> datetime:
    """Return `value` as an aware datetime in UTC.

    Args:
        value: An aware datetime, an ISO 8601 text with an offset or `Z`, or seconds since
            1970-01-01 UTC.
        assume_utc: Read a datetime or text without an offset as UTC, instead of refusing it.

    Raises:
        InvalidEntry: the value has no offset and `assume_utc` is off, or is not an instant.
    """
    moment: datetime
    if isinstance(value, datetime) and type(value) is not datetime:
        # pandas: a Timestamp counts nanoseconds, and NaT calls itself a datetime.
        value = value.isoformat()
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidEntry(
                f"expected an ISO 8601 instant such as 2026-03-15T12:00:00Z, got {value!r}"
            ) from None
    elif isinstance(value, Real) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(float(value), tz=UTC)
        except (OverflowError, ValueError, OSError):
            raise InvalidEntry(f"{value!r} seconds since 1970 is not a date") from None
    else:
        raise InvalidEntry(
            f"expected an instant (aware datetime, ISO text or epoch), got {value!r}"
        )
    if moment.utcoffset() is None:
        if not assume_utc:
            raise InvalidEntry(
                f"the instant {value!r} has no time zone: add one, for example "
                + ("2026-03-15T12:00:00Z" if isinstance(value, str) else "tzinfo=UTC")
            )
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidEntry(f"the instant {value!r} is outside the years 1 to 9999 in UTC") from None


def epoch_microseconds(moment: datetime) -> int:
    """Return whole microseconds since 1970-01-01 UTC, exactly."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_epoch_microseconds(value: int) -> datetime:
    """Return the UTC instant `value` microseconds after 1970-01-01, exactly."""
    return _EPOCH + timedelta(microseconds=value)


def parse_vector(value: ArrayLike) -> Vector:
    """Return `value` as a read-only float32 vector of shape (dimension,).

    Raises:
        InvalidVector: the value is not a non-empty sequence of finite numbers, or is all zeros
            (a zero vector has no direction, so no cosine).
    """
    try:
        given = np.asarray(value)
    except (TypeError, ValueError):
        raise InvalidVector(f"expected a sequence of numbers, got {type(value).__name__}") from None
    if given.dtype.kind not in "fiu":
        raise InvalidVector(f"expected real numbers, got {type(value).__name__} of {given.dtype}")
    with np.errstate(over="ignore"):
        vector = given.astype(np.float32)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidVector(
            f"expected one vector of shape (dimension,), got an array of shape {vector.shape}"
        )
    if not np.isfinite(vector).all():
        raise InvalidVector("the vector holds NaN or infinity (or overflows float32)")
    if not vector.any():
        raise InvalidVector("the vector is all zeros: it has no direction to compare")
    vector.flags.writeable = False
    return vector


def _new_id() -> str:
    return uuid.uuid4().hex


def _clean_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidEntry(f"{name} must be text, got {type(value).__name__}: {value!r}")
    if "\x00" in value:
        raise InvalidEntry(f"{name} holds a NUL character, which databases cannot keep")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidEntry(f"{name} holds a lone surrogate, which is not Unicode text") from None
    return value


def _clean_importance(value: object) -> float:
    number = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    # Compared before it is converted: not every whole number fits a float.
    if not 0 <= cast("float", number) <= 1:
        raise InvalidEntry(f"importance must be a number from 0 to 1, got {value!r}")
    return float(number)


def _clean_metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidEntry(f"metadata must be a mapping, got {type(value).__name__}")
    if not value:
        return {}
    mapping = dict(cast("Mapping[Any, Any]", value))
    try:
        copied = json.loads(json.dumps(mapping, allow_nan=False))
        _check_texts(mapping)
    except InvalidEntry:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEntry(f"metadata must be plain JSON values: {error}") from None
    return copied


def _check_texts(value: object) -> None:
    if isinstance(value, str):
        _clean_text("metadata", value)
    elif isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            _clean_text("a metadata key", key)
            _check_texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any] | tuple[Any, ...]", value):
            _check_texts(item)


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory.

    Values are checked and normalised when the entry is made; an entry that exists is valid.
    Entries never change: use `replace` for a copy with other values.

    Raises:
        InvalidEntry: a value is outside what the field documents.
        InvalidVector: `embedding` is empty, not finite or all zeros.
    """

    content: str
    """The text of the memory; not blank."""
    _: KW_ONLY
    id: str = field(default_factory=_new_id)
    """Unique in its store. Default: 32 random hexadecimal digits."""
    type: MemoryType = MemoryType.SEMANTIC
    """semantic, episodic or procedural; also accepted as text."""
    importance: float = 0.5
    """How much the memory matters, 0 to 1."""
    evergreen: bool = False
    """Exempt from decay."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Anything that is JSON; kept as given."""
    agent_id: str | None = None
    """Scope: the agent that stored it. None is "unset", "" is a value."""
    session_id: str | None = None
    """Scope: the conversation it was stored in."""
    user_id: str | None = None
    """Scope: the user it is about."""
    namespace: str | None = None
    """Scope: a free grouping."""
    embedding: Vector | None = field(default=None, compare=False, repr=False)
    """Shape (dimension,), float32; any sequence of numbers is accepted."""
    embedder: str | None = None
    """Fingerprint of the embedder that made `embedding`; None for a vector set by hand."""
    access_count: int = 0
    """How many times `recall` returned it."""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """UTC, to the microsecond. Default: the wall clock; give it wherever results must repeat."""
    updated_at: datetime = _SAME_AS_CREATED
    """UTC; set by `store.update`. Default: `created_at`."""
    last_accessed_at: datetime = _SAME_AS_CREATED
    """UTC; set by `recall`, drives decay and recency. Default: `created_at`."""
    superseded_at: datetime | None = None
    """UTC; when an update replaced this entry and kept it as history."""
    superseded_by: str | None = None
    """Id of the entry that replaced it."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        content = _clean_text("content", self.content)
        if not content.strip():
            raise InvalidEntry(f"content must not be blank, got {content!r}")
        if not _clean_text("id", self.id):
            raise InvalidEntry("id must not be empty; leave it out to get a generated one")
        put(self, "type", parse_type(self.type))
        put(self, "importance", _clean_importance(self.importance))
        if not isinstance(self.evergreen, bool | np.bool_):
            raise InvalidEntry(f"evergreen must be True or False, got {self.evergreen!r}")
        put(self, "evergreen", bool(self.evergreen))
        put(self, "metadata", _clean_metadata(self.metadata))
        for name in ("agent_id", "session_id", "user_id", "namespace", "superseded_by", "embedder"):
            value = getattr(self, name)
            if value is not None:
                _clean_text(name, value)
        if self.embedding is not None:
            put(self, "embedding", parse_vector(self.embedding))
        elif self.embedder is not None:
            put(self, "embedder", None)
        count = self.access_count
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not whole or not 0 <= count <= _HIGHEST_COUNT:
            raise InvalidEntry(
                f"access_count must be a whole number from 0 to {_HIGHEST_COUNT}, got {count!r}"
            )
        put(self, "access_count", int(count))
        put(self, "created_at", parse_instant(self.created_at))
        for name in ("updated_at", "last_accessed_at"):
            value = getattr(self, name)
            put(self, name, self.created_at if value is None else parse_instant(value))
        if self.superseded_at is not None:
            put(self, "superseded_at", parse_instant(self.superseded_at))

    def replace(self, **changes: Any) -> Entry:
        """Return a copy with `changes`, checked like a new entry.

        A new `content` without a new `embedding` drops the old vector: it belonged to the old
        text. A new `embedding` without its `embedder` counts as set by hand.

        Raises:
            InvalidEntry: a name is not a field of Entry, or a value is not valid for it.
        """
        reject_unknown_fields(changes, ENTRY_FIELDS)
        if (
            "content" in changes
            and "embedding" not in changes
            and changes["content"] != self.content
        ):
            changes = {**changes, "embedding": None}
        if "embedding" in changes:
            changes = {"embedder": None, **changes}
        return replace(self, **changes)


def restore_entry(values: Sequence[Any]) -> Entry:
    """Return an entry from values that were checked when they were stored, for stores.

    Args:
        values: Every field in the order of ENTRY_FIELDS, of the types that `Entry` documents.
    """
    entry = object.__new__(Entry)
    for put, value in zip(_SETTERS, values, strict=True):
        put(entry, value)
    return entry


def with_own_metadata(entry: Entry) -> Entry:
    """Return an equal entry whose metadata nobody else holds, for stores that keep entries.

    An entry cannot be changed, but the dictionary in it can: what a caller does to theirs must
    not change what is stored.
    """
    if not entry.metadata:
        return entry
    metadata = copy.deepcopy(entry.metadata)
    return restore_entry(
        [metadata if name == "metadata" else getattr(entry, name) for name in ENTRY_FIELDS]
    )


def with_vector(entry: Entry, vector: ArrayLike, *, embedder: str) -> Entry:
    """Return a copy of `entry` with this embedding, for those that embed many entries.

    What `replace` returns, without checking again what the entry holds already: a third of the
    time.

    Args:
        entry: What was embedded.
        vector: Its embedding, shape (dimension,).
        embedder: Fingerprint of what made the vector.

    Raises:
        InvalidVector: as for `parse_vector`.
        InvalidEntry: the fingerprint is not text.
    """
    _clean_text("embedder", embedder)
    changed = {
        "metadata": copy.deepcopy(entry.metadata),
        "embedding": parse_vector(vector),
        "embedder": embedder,
    }
    return restore_entry(
        [changed[name] if name in changed else getattr(entry, name) for name in ENTRY_FIELDS]
    )


ENTRY_FIELDS: tuple[str, ...] = tuple(f.name for f in fields(Entry))
"""The names of an entry's fields, in the order they are declared."""

_SETTERS = tuple(getattr(Entry, name).__set__ for name in ENTRY_FIELDS)


def reject_unknown_fields(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise InvalidEntry for the first of `names` that is not in `known`."""
    known = list(known)
    for name in names:
        if name not in known:
            raise InvalidEntry(f"an entry has no field {name!r}; fields: {', '.join(known)}")
