"""Where in a session file something is, and what is wrong there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from nousmem.entry import parse_instant
from nousmem.errors import InvalidEntry, SessionError, suggestion

__all__ = ["NO_INSTANT", "Faults", "Place"]

NO_INSTANT: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Stands for a date that is at fault."""

_HEADER: Final = re.compile(r"^\s*\[(\[?)\s*([\w.\-\"' ]+?)\s*\]", re.MULTILINE)


class Faults:
    """What is wrong with a file, gathered until all of it has been looked at.

    Args:
        source: What the file is called in messages.
        text: Its text, in which the headers of tables are looked up.
    """

    def __init__(self, source: str, text: str) -> None:
        self._source = source
        self._found: list[tuple[int, str]] = []
        self._lines = _header_lines(text)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._found)

    def add(self, message: str, *, path: str = "") -> None:
        """Note a fault at a place such as `turns 3`."""
        line = self._line(path)
        where = ", ".join(part for part in (f"line {line}" if line else "", path) if part)
        self._found.append((line, f"{self._source}: {where}: {message}" if where else message))
        if not where:
            self._found[-1] = (0, f"{self._source}: {message}")

    def raise_if_any(self) -> None:
        """Raise SessionError with every fault, in the order of the file."""
        if self._found:
            ordered = sorted(dict.fromkeys(self._found), key=lambda fault: fault[0])
            raise SessionError("\n".join(message for _, message in ordered))

    def _line(self, path: str) -> int:
        """Return the line of the innermost header that leads to a path; 0 without one."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path.rpartition(", ")[0]
        return 0


class Place:
    """A table of the file, with its place; what is wrong in it is noted, and a stand-in returned.

    Args:
        table: The values.
        faults: Where faults are noted.
        path: The place, such as `turns 3`; empty for the whole file.
    """

    def __init__(self, table: Mapping[str, Any], faults: Faults, path: str = "") -> None:
        self.table = table
        self.faults = faults
        self.path = path

    def fault(self, message: str) -> None:
        """Note what is wrong here."""
        self.faults.add(message, path=self.path)

    def known_keys(self, known: Sequence[str]) -> None:
        """Note every key that is not one of `known`."""
        for key in self.table:
            if key not in known:
                hint = suggestion(key, known) or "."
                self.fault(f"unknown key {key!r}{hint} Known: {', '.join(known)}")

    def text(self, key: str, *, default: str | None = None, blank: bool = True) -> str:
        """Return a text; without a default it must be there."""
        value = self.table.get(key, default)
        if value is None:
            self.fault(f"{key} is missing")
            return ""
        if not isinstance(value, str) or (not blank and not value.strip()):
            self.fault(f"{key} must be {'text' if blank else 'text, not blank'}, got {value!r}")
            return ""
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; none by default."""
        value = self.table.get(key, [])
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(item, str) and item.strip() for item in items):
            self.fault(f"{key} must be a list of texts, got {value!r}")
            return ()
        return tuple(cast("list[str]", items))

    def choice(self, key: str, choices: Sequence[str], *, default: str) -> str:
        """Return one of some names."""
        value = self.table.get(key, default)
        if value not in choices:
            self.fault(f"{key} must be one of {', '.join(choices)}, got {value!r}")
            return default
        return value

    def instant(self, key: str) -> datetime:
        """Return an instant, which must be there."""
        value = self.table.get(key)
        if isinstance(value, datetime | str):
            try:
                return parse_instant(value)
            except InvalidEntry:
                pass
        found = "nothing" if value is None else f"{value}"
        self.fault(f"{key} must be an instant with an offset, 2026-03-15T12:00:00Z, got {found}")
        return NO_INSTANT

    def tables(self, key: str) -> list[Place]:
        """Return the tables of a list; none by default."""
        value = self.table.get(key, [])
        if not isinstance(value, list):
            self.fault(f"{key} must be a list of tables, [[{key}]]")
            return []
        places: list[Place] = []
        for number, item in enumerate(cast("list[object]", value), 1):
            path = ", ".join(part for part in (self.path, f"{key} {number}") if part)
            if isinstance(item, dict):
                places.append(Place(cast("dict[str, Any]", item), self.faults, path))
            else:
                self.faults.add(f"must be a table, got {item!r}", path=path)
        return places

    def named_tables(self, key: str) -> Iterator[tuple[str, Place]]:
        """Yield the tables of a table, by name."""
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self.fault(f"{key} must be a table of tables, [{key}.NAME]")
            return
        for name, item in cast("dict[str, object]", value).items():
            path = f"{key}.{name}"
            if isinstance(item, dict):
                yield name, Place(cast("dict[str, Any]", item), self.faults, path)
            else:
                self.faults.add(f"must be a table, got {item!r}", path=path)


def _header_lines(text: str) -> dict[str, int]:
    """Return the line, from 1, of each header of a table, by its place."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    for found in _HEADER.finditer(text):
        name = found.group(2)
        line = text.count("\n", 0, found.start(2)) + 1
        if not found.group(1):
            lines.setdefault(name, line)
            continue
        outer, _, inner = name.partition(".")
        if not inner:
            counts = {key: count for key, count in counts.items() if not key.startswith(f"{name}.")}
        counts[name] = counts.get(name, 0) + 1
        path = f"{outer} {counts.get(outer, 1)}"
        lines[f"{path}, {inner} {counts[name]}" if inner else path] = line
    return lines
