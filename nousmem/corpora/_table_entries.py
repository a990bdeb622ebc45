"""Memories from a table of one's own: data frames, rows, and files."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.corpora._dates import TIMELESS
from nousmem.corpora._fields import ENTRY_COLUMNS
from nousmem.corpora._foreign_dates import without_foreign_dates
from nousmem.corpora.files import PathLike
from nousmem.corpora.tables import (
    Problems,
    Row,
    column_names,
    guess_columns,
    identifier,
    json_value,
    no_column,
    parse_json_cell,
    read_rows,
)
from nousmem.entry import Entry, parse_instant
from nousmem.errors import InvalidEntry, InvalidVector
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope, as_filter
from nousmem.stores.base import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["make_entries", "read_entries"]

_MILLISECONDS: Final = 100_000_000_000  # the year 5138, if it were seconds
_SPREADSHEET_DAYS: Final = 100_000  # since 1900: the year 2173
_INSTANTS: Final = tuple(name for name in ENTRY_COLUMNS if name.endswith("_at"))
_TRUE: Final = ("true", "yes", "1")
_FALSE: Final = ("false", "no", "0")
_LIKE_A_DATE: Final = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b")


def read_entries(
    entries: pd.DataFrame | PathLike | Iterable[Row],
    *,
    now: datetime | None = None,
    scope: Scope = GLOBAL,
    columns: Mapping[str, str] | None = None,
) -> list[Entry]:
    """Read a table of memories as `corpus_from_frames` does, ids included.

    Args:
        entries: As in `corpus_from_frames`.
        now: When memories without a column of times were made. Default: 2000-01-01.
        scope: Whose memories, where a row does not say.
        columns: Field to column, where the usual names do not find it.

    Raises:
        CorpusError: something is wrong in the table; the message lists all of it.
        CorpusFileMissing: there is no file at the path.
        InvalidParameter: a field or column that is named does not exist.
    """
    problems = Problems()
    made = make_entries(
        entries, columns or {}, now, scope=scope, faults=Counter(), problems=problems
    )
    problems.raise_any("entries")
    return list(made.values())


def make_entries(
    entries: Any,
    given: Mapping[str, str],
    now: datetime | None,
    *,
    scope: Scope = GLOBAL,
    faults: Counter[str],
    problems: Problems,
) -> dict[str, Entry]:
    """Return the entries of a table or store by id; what is wrong goes to `problems`."""
    if isinstance(entries, Store):
        return {entry.id: entry for entry in entries.list()}
    if isinstance(entries, Iterable) and not isinstance(entries, str | Path):
        listed: list[Any] | None = None if hasattr(entries, "columns") else list(entries)  # pyright: ignore[reportUnknownArgumentType]
        if listed and all(isinstance(entry, Entry) for entry in listed):
            return _by_id(cast("list[Entry]", listed), problems)
        entries = entries if listed is None else listed  # pyright: ignore[reportUnknownVariableType]
    rows = read_rows(entries, what="entries")
    columns = guess_columns(column_names(rows), ENTRY_COLUMNS, given, what="entries", warn=True)
    if not rows:
        problems.add("entries have no rows")
        return {}
    if "content" not in columns:
        problems.add(no_column("entries", "content", ENTRY_COLUMNS["content"], rows))
        return {}
    if "created_at" not in columns:
        _warn_of_dates(rows, columns)
    rows = without_foreign_dates(
        rows, columns, _INSTANTS, what="entries", problems=problems, instead=TIMELESS
    )
    undated = TIMELESS if now is None else parse_instant(now, assume_utc=True)
    made: list[Entry] = []
    for number, row in enumerate(rows, start=1):
        try:
            made.append(_entry(row, columns, undated, scope))
        except (InvalidEntry, InvalidVector, ValueError) as error:
            problems.add(f"entries: {error}", f"row {number}")
            named = columns["id" if "id" in columns else "content"]
            problems.refused.add(identifier(row.get(named)))
    if "id" not in columns:
        return _without_repeats(made, faults)
    return _by_id(made, problems)


def _warn_of_dates(rows: list[Row], columns: Mapping[str, str]) -> None:
    for column in column_names(rows):
        cells = [str(row[column]) for row in rows if row.get(column) is not None]
        if column not in columns.values() and cells and all(map(_LIKE_A_DATE.match, cells)):
            usual = ", ".join(ENTRY_COLUMNS["created_at"])
            warnings.warn(
                f"entries have no column for created_at (usual names: {usual}), so that all are "
                f"dated alike; {column!r} looks like one: rename it, or name it, "
                "entries.created_at=COLUMN",
                stacklevel=4,
            )


def _without_repeats(entries: list[Entry], faults: Counter[str]) -> dict[str, Entry]:
    by_id: dict[str, Entry] = {}
    for entry in entries:
        if entry.id in by_id:
            faults["row repeats an earlier one, left out"] += 1
        by_id.setdefault(entry.id, entry)
    return by_id


def _by_id(entries: list[Entry], problems: Problems) -> dict[str, Entry]:
    by_id: dict[str, Entry] = {}
    for entry in entries:
        if entry.id in by_id:
            problems.add("entries: the id repeats", entry.id)
        by_id[entry.id] = entry
    return by_id


def _entry(row: Row, columns: Mapping[str, str], undated: datetime, scope: Scope) -> Entry:
    values = as_filter(scope) | {
        name: _field(name, value)
        for name, column in columns.items()
        if (value := row.get(column)) is not None
    }
    for name in ("id", "created_at"):
        if name in columns and name not in values:
            raise InvalidEntry(f"{name} is missing")
    extra = {
        column: json_value(value)
        for column, value in row.items()
        if column not in columns.values() and value is not None
    }
    metadata = {**extra, **values.pop("metadata", {})}
    content = values.pop("content", "")
    if not isinstance(content, str):
        raise InvalidEntry(f"content must be text, got {type(content).__name__}: {content!r}")
    if "id" not in columns:
        values["id"] = _made_id(content, values)
    values.setdefault("created_at", undated)
    return Entry(content, metadata=metadata, **values)


def _made_id(content: str, values: Mapping[str, Any]) -> str:
    """Return an id that is the same whenever the same memory is read, in whatever row."""
    when = "" if "created_at" not in values else values["created_at"].isoformat()
    text = json.dumps([content, when, *(values.get(name) for name in SCOPE_FIELDS)])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _field(name: str, value: Any) -> Any:
    """Return a cell as the entry's field wants it; files without types have text only."""
    if name in {"id", *SCOPE_FIELDS, "superseded_by"}:
        return identifier(value)
    if name.endswith("_at"):
        return _instant(name, value)
    if isinstance(value, str) and name in _PARSERS:
        return _PARSERS[name](value)
    return value


def _instant(name: str, value: Any) -> datetime:
    """Return a cell as an instant; a number must be seconds since 1970 that somebody may mean."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) >= _MILLISECONDS:
            raise ValueError(
                f"{name} is no time in seconds since 1970 (divide milliseconds by 1000), "
                f"got {value!r}"
            )
        if abs(value) < _SPREADSHEET_DAYS and value not in (0, 1):
            raise ValueError(
                f"{name} would be a day of January 1970, as seconds since then (write a "
                f"spreadsheet's dates as 2025-12-31), got {value!r}"
            )
    return parse_instant(value, assume_utc=True)


def _flag(text: str) -> bool:
    if text.lower() not in {*_TRUE, *_FALSE}:
        raise ValueError(f"evergreen must be true or false, got {text!r}")
    return text.lower() in _TRUE


def _importance(text: str) -> float:
    try:
        # A spreadsheet's decimal comma; between 0 and 1 it can be nothing else.
        return float(re.sub(r"^([01]),(\d+)$", r"\1.\2", text))
    except ValueError:
        raise ValueError(f"importance must be a number such as 0.5, got {text!r}") from None


def _count(text: str) -> int:
    try:
        return int(text.removesuffix(".0"))
    except ValueError:
        raise ValueError(f"access_count must be a whole number, got {text[:60]!r}") from None


def _metadata(text: str) -> dict[str, Any]:
    value = parse_json_cell(text)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueError(f"metadata must be a JSON object, got {text[:60]!r}")


_PARSERS: Final[dict[str, Callable[[str], Any]]] = {
    "importance": _importance,
    "access_count": _count,
    "evergreen": _flag,
    "metadata": _metadata,
    "embedding": parse_json_cell,
}
