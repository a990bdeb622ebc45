"""Why a store's file cannot be used, and what to do: what databases leave out of their errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["file_kind", "reason"]

_SQLITE_START: Final = b"SQLite format 3\x00"
_DUCKDB_MARK: Final = b"DUCK"
_DUCKDB_AT: Final = 8


def file_kind(path: str) -> str | None:
    """Return "sqlite" or "duckdb" for a file that begins as theirs do, else None."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(len(_SQLITE_START))
    except OSError:
        return None
    if start == _SQLITE_START:
        return "sqlite"
    return "duckdb" if start[_DUCKDB_AT:].startswith(_DUCKDB_MARK) else None


def reason(path: str, *, kind: str) -> str | None:
    """Return what is wrong with the place itself, and what to do; None if nothing is.

    Args:
        path: The store's file.
        kind: "sqlite" or "duckdb": what was to be opened.
    """
    if path in ("", ":memory:"):
        return None
    place = Path(path)
    folder, other = place.parent, file_kind(path)
    if place.is_dir():
        return "it is a folder: name a file in it"
    if not folder.is_dir():
        return f"there is no folder {folder}: make it first"
    if other is not None and other != kind:
        return f"it is a file of another kind: open it as {other}:{path}"
    # SQLite keeps files beside its own, so that the folder counts for it too.
    needed = [place] if place.exists() and kind == "duckdb" else [place, folder]
    locked = [one for one in needed if one.exists() and not os.access(one, os.W_OK)]
    if not locked:
        return None
    return (
        f"{locked[0]} may only be read, and a store writes even where it is only searched: copy "
        "it to a folder that you may write to"
    )
