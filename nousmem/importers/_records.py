"""From one record of another system to an entry, and back, with nothing dropped on the way.

What an entry has and the other side has no field for goes into the record's metadata as one object
under `KEPT`: field of Entry to value. Readers take it out again and restore those fields. What a
record has and an entry has no field for goes to the entry's metadata under its own name; if the
metadata has that name already, inside an object under the name of the source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeGuard, cast

import numpy as np

from nousmem.corpora.reading import Node
from nousmem.entry import ENTRY_FIELDS, Entry, parse_instant
from nousmem.errors import InvalidParameter
from nousmem.importers._instants import read_instant
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope

__all__ = [
    "KEPT",
    "Record",
    "Terms",
    "are_texts",
    "collect",
    "hoist",
    "is_text",
    "iso",
    "pack",
    "stable_id",
]

KEPT: Final = "nousmem"
"""Key of the metadata under which writers put the fields that a format cannot hold."""

_VECTOR_FIELDS: Final = frozenset({"embedding", "embedder"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a caller says about records that do not say it themselves."""

    scope: Scope = GLOBAL
    """Fields for the entries whose record leaves them open."""
    created_at: datetime | None = None
    """When records without a time were made; None refuses them."""
    assume_utc: bool = False
    """Read times without an offset as UTC, instead of refusing them."""
    vectors: bool = True
    """Take over the vectors that records hold."""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.scope), Scope):
            raise InvalidParameter(f"scope must be a Scope, got {self.scope!r}")
        if self.created_at is not None:
            object.__setattr__(self, "created_at", parse_instant(self.created_at))


class Record:
    """One record, field by field; what nobody takes is left for the metadata."""

    def __init__(self, node: Node, source: str, terms: Terms) -> None:
        self.node = node
        self._source = source
        self._terms = terms
        self._left = dict(node.mapping())

    def take(self, *names: str) -> Node | None:
        """Return the first of these fields that is present and not null; it is used up."""
        for name in names:
            found = self.node.get(name)
            if found is not None:
                self._left.pop(name, None)
                return found
        return None

    def need(self, name: str) -> Node:
        """Return a field that must be there; it is used up.

        Raises:
            CorpusError: absent or null.
        """
        self._left.pop(name, None)
        return self.node[name]

    def name(self, *names: str) -> str | None:
        """Return an id or name, which may be text or a whole number; None if there is none."""
        found = self.take(*names)
        if found is None:
            return None
        return str(found.whole()) if isinstance(found.value, int) else found.text()

    def instant(self, *names: str) -> datetime | None:
        """Return the instant in the first of these fields that has one."""
        found = self.take(*names)
        return None if found is None else read_instant(found, assume_utc=self._terms.assume_utc)

    def object(self, *names: str) -> dict[str, Any]:
        """Return a copy of the object in the first of these fields; empty if there is none."""
        found = self.take(*names)
        return {} if found is None else dict(found.mapping())

    def discard(self, name: str, *values: object) -> None:
        """Use up a field that says nothing: one of `values`."""
        if self._left.get(name) in values:
            self._left.pop(name, None)

    def left(self) -> dict[str, Any]:
        """Return what nobody took, without what is null."""
        return {name: value for name, value in self._left.items() if value is not None}

    def entry(
        self,
        content: str,
        *,
        metadata: Mapping[str, Any],
        extra: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Entry:
        """Return the entry; fields of the record that are left go to its metadata.

        Args:
            content: The text.
            metadata: What the record calls its metadata.
            extra: More for the metadata, as if the record had it as fields; None is nothing.
            fields: Fields of Entry; None leaves one open.

        Raises:
            CorpusError: the values are not valid in an entry, or there is no time.
        """
        known = dict(metadata)
        kept = known.get(KEPT)
        if _is_kept(kept):
            del known[KEPT]
        else:
            kept = {}
        own = {name: value for name, value in (extra or {}).items() if value is not None}
        values = {name: value for name, value in fields.items() if value is not None}
        values |= {"content": content, "metadata": _joined(known, self.left() | own, self._source)}
        for name in SCOPE_FIELDS:
            if values.get(name) is None:
                values[name] = getattr(self._terms.scope, name)
        values |= kept
        if values.get("created_at") is None:
            if self._terms.created_at is None:
                raise self.node.error(
                    "the record says no time: pass created_at= for those that do not"
                )
            values["created_at"] = self._terms.created_at
        if not self._terms.vectors:
            values = {name: values[name] for name in values if name not in _VECTOR_FIELDS}
        if "id" not in values:
            values["id"] = stable_id(self.node.value)
        return self.node.entry(values.pop("content"), **values)


def collect(made: Iterable[tuple[Node, Entry]]) -> list[Entry]:
    """Return the entries, one that is there twice only once.

    Raises:
        CorpusError: two entries with one id differ, so that one would replace the other.
    """
    entries: dict[str, tuple[Node, Entry]] = {}
    for node, entry in made:
        earlier, known = entries.setdefault(entry.id, (node, entry))
        if known != entry:
            raise node.error(f"the id {entry.id!r} is that of {earlier.place}, which differs")
    return [entry for _, entry in entries.values()]


def stable_id(value: Any) -> str:
    """Return an id for a record that has none: the same whenever the same record is read.

    32 hexadecimal digits, of the SHA-256 of the record as JSON.
    """
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def iso(moment: datetime) -> str:
    """Return an instant as ISO 8601 text in UTC, to the microsecond."""
    return moment.isoformat(timespec="microseconds")


def hoist(
    metadata: Mapping[str, Any], fits: Mapping[str, Callable[[Any], bool]], source: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part an entry's metadata into what the other side calls so, and its fields of their own.

    Args:
        metadata: The entry's, with what a reader put there.
        fits: Fields of the other side's records that a reader leaves in the metadata, each with
            a test of whether a value may stand there.
        source: The other side.

    Returns:
        What stays metadata, without `KEPT`; and the fields.
    """
    stays = {name: value for name, value in metadata.items() if name != KEPT}
    nested = stays.get(source)
    fields: dict[str, Any] = {}
    if (
        _is_object(nested)
        and nested
        and all(name in fits and name in stays and fits[name](nested[name]) for name in nested)
    ):
        fields |= nested
        del stays[source]
    for name, fit in fits.items():
        if name not in fields and name in stays and fit(stays[name]):
            fields[name] = stays.pop(name)
    return stays, fields


def is_text(value: object) -> bool:
    """Return whether a field's value is text."""
    return isinstance(value, str)


def are_texts(value: object) -> bool:
    """Return whether a field's value is a list of texts."""
    return isinstance(value, list) and all(map(is_text, cast("list[object]", value)))


def pack(
    entry: Entry,
    build: Callable[[Mapping[str, Any]], dict[str, Any]],
    read: Callable[[Record], Entry],
    *,
    source: str,
    vectors: bool,
    always: Collection[str] = (),
) -> dict[str, Any]:
    """Return the record of an entry, with what the format cannot hold under `KEPT`.

    What that is, is found by reading the bare record with the source's own reader.

    Args:
        entry: What is written.
        build: Makes the record; given what to add to its metadata.
        read: The source's reader of one record.
        source: The source's name.
        vectors: Keep the vector and its embedder's fingerprint too.
        always: Fields kept in any case, because the other side sets them itself when it takes a
            record in.
    """
    bare = build({})
    native = read(Record(Node(bare, Path()), source, Terms(created_at=entry.created_at)))
    kept = {
        name: _as_json(getattr(entry, name))
        for name in ENTRY_FIELDS
        if name not in _VECTOR_FIELDS
        and (name in always or getattr(entry, name) != getattr(native, name))
    }
    if vectors and entry.embedding is not None:
        if native.embedding is None or not np.array_equal(native.embedding, entry.embedding):
            kept["embedding"] = entry.embedding.tolist()
        if entry.embedder is not None:
            kept["embedder"] = entry.embedder
    return build({KEPT: kept}) if kept else bare


def _as_json(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value


def _joined(known: dict[str, Any], left: Mapping[str, Any], source: str) -> dict[str, Any]:
    free = {name: value for name, value in left.items() if name not in known and name != KEPT}
    collide = {name: value for name, value in left.items() if name not in free}
    joined = {**known, **free}
    if collide:
        place = source
        while place in joined:
            place += "_"
        joined[place] = collide
    return joined


def _is_kept(value: object) -> TypeGuard[dict[str, Any]]:
    return _is_object(value) and bool(value) and all(name in ENTRY_FIELDS for name in value)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
