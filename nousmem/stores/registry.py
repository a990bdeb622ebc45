"""From the URL of a store to an open one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from nousmem.errors import InvalidParameter, StoreError, UnknownName
from nousmem.references import REFERENCE_FORM, is_reference, load_reference, run_named
from nousmem.stores.base import Store

__all__ = ["is_own_store", "load_store_maker", "open_store"]


def open_store(url: str) -> Store:
    """Open the store that a URL names.

    - `memory:` entries in this process
    - `sqlite:PATH` or `sqlite::memory:`
    - `duckdb:PATH` or `duckdb::memory:`, with `?text=ilike` (default) or `?text=bm25`
    - `postgresql://USER@HOST/DATABASE`, or `postgresql+embedded:FOLDER` for a server of its own

    A kind alone ("sqlite") is a store in memory. PATH is taken as it is, up to the `?`.

    `package.module:object` names a store of your own: a class or function that opens one without
    arguments, anew each time. It is imported from Python's search path, and so run.

    Raises:
        UnknownName: no store has this kind.
        InvalidParameter: the URL is not text; an option the store does not have, or a value it
            does not take; a store of your own cannot be imported or opened, or is no Store.
        StoreError: the store cannot be opened.
        MissingDependency: a package that the store needs is not installed.
    """
    text: object = url
    if not isinstance(text, str):
        raise InvalidParameter(f"a store URL is text such as 'sqlite:memories.db', got {url!r}")
    kind, _, rest = text.partition(":")
    if is_own_store(text):
        store = run_named(load_store_maker(text), what=f"store {text!r}")
        if isinstance(store, type) or not isinstance(store, Store):
            lacking = ", ".join(name for name in _OPERATIONS if not hasattr(store, name))
            raise InvalidParameter(
                f"store {text!r} returned {store!r}, which is no open store: "
                + (f"it lacks {lacking}" if lacking else "it is a class")
            )
        return store
    opener = _OPENERS.get(kind)
    if opener is None:
        known = ["memory:", *(f"{k}:…" for k in _OPENERS), REFERENCE_FORM]
        raise UnknownName("store", kind or text, known)
    return opener(text, rest)


def is_own_store(url: str) -> bool:
    """Whether a URL for `open_store` names somebody's own code."""
    return is_reference(url) and url.partition(":")[0] not in _OPENERS


def load_store_maker(url: str) -> Callable[[], object]:
    """Return the class or function that opens somebody's own store, without calling it.

    Raises:
        InvalidParameter: it cannot be imported, or cannot be called.
    """
    found = load_reference(url, what="store", known=_OPENERS)
    if not callable(found):
        raise InvalidParameter(
            f"store {url!r} is {found!r}: expected a class or function that opens a store, anew "
            "each time"
        )
    return found


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
    from nousmem.stores._sqlite import SQLiteStore

    path, _ = _options(rest, ())
    # As DuckDB does: a configuration file has no shell that would.
    return SQLiteStore(Path(path).expanduser() if path else ":memory:")


def _open_duckdb(url: str, rest: str) -> Store:  # noqa: ARG001
    from nousmem.stores._duckdb import DuckDBStore

    path, options = _options(rest, ("text",))
    return DuckDBStore(path or ":memory:", **options)


def _open_postgres(url: str, rest: str) -> Store:  # noqa: ARG001
    from nousmem.stores._postgres import PostgresStore

    return PostgresStore(url)


_OPERATIONS: Final = ("put", "get", "update", "delete", "list", "search_text")

_OPENERS: Final[dict[str, Callable[[str, str], Store]]] = {
    "memory": _open_memory,
    "sqlite": _open_sqlite,
    "duckdb": _open_duckdb,
    "postgres": _open_postgres,
    "postgresql": _open_postgres,
    "postgresql+embedded": _open_postgres,
}
