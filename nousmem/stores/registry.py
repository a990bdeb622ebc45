"""From the URL of a store to an open one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from nousmem.errors import InvalidParameter, StoreError, UnknownName
from nousmem.stores.base import Store

__all__ = ["open_store"]


def open_store(url: str) -> Store:
    """Open the store that a URL names.

    - `memory:` entries in this process
    - `sqlite:PATH` or `sqlite::memory:`
    - `duckdb:PATH` or `duckdb::memory:`, with `?text=ilike` (default) or `?text=bm25`
    - `postgresql://USER@HOST/DATABASE`, or `postgresql+embedded:FOLDER` for a server of its own

    A kind alone ("sqlite") is a store in memory. PATH is taken as it is, up to the `?`.

    Raises:
        UnknownName: no store has this kind.
        InvalidParameter: the URL is not text; an option the store does not have, or a value it
            does not take.
        StoreError: the store cannot be opened.
        MissingDependency: a package that the store needs is not installed.
    """
    text: object = url
    if not isinstance(text, str):
        raise InvalidParameter(f"a store URL is text such as 'sqlite:memories.db', got {url!r}")
    kind, _, rest = text.partition(":")
    opener = _OPENERS.get(kind)
    if opener is None:
        raise UnknownName("store", kind or text, ["memory:", *(f"{k}:…" for k in _OPENERS)])
    return opener(text, rest)


def _options(rest: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in known:
            choices = ", ".join(known) or "none"
            raise InvalidParameter(f"unknown store option {name!r}; options: {choices}")
    return path, options


def _open_memory(url: str, rest: str) -> Store:
    from nousmem.stores.memory import MemoryStore

    path, _ = _options(rest, ())
    if path:
        raise StoreError(f"the memory store has no path, got {url!r}: use 'memory:'")
    return MemoryStore()


def _open_sqlite(url: str, rest: str) -> Store:  # noqa: ARG001
    from nousmem.stores.sqlite import SQLiteStore

    path, _ = _options(rest, ())
    # As DuckDB does: a configuration file has no shell that would.
    return SQLiteStore(Path(path).expanduser() if path else ":memory:")


def _open_duckdb(url: str, rest: str) -> Store:  # noqa: ARG001
    from nousmem.stores.duckdb import DuckDBStore

    path, options = _options(rest, ("text",))
    return DuckDBStore(path or ":memory:", **options)


def _open_postgres(url: str, rest: str) -> Store:  # noqa: ARG001
    from nousmem.stores.postgres import PostgresStore

    return PostgresStore(url)


_OPENERS: Final[dict[str, Callable[[str, str], Store]]] = {
    "memory": _open_memory,
    "sqlite": _open_sqlite,
    "duckdb": _open_duckdb,
    "postgres": _open_postgres,
    "postgresql": _open_postgres,
    "postgresql+embedded": _open_postgres,
}
