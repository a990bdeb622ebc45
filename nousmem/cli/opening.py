"""Opening the store that a command names, and closing it again."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, cast

from nousmem.errors import StoreError
from nousmem.stores import Store, open_store

__all__ = ["opened"]

_FILES: Final = ("sqlite", "duckdb")


@contextmanager
def opened(url: str, *, exists: bool = False) -> Generator[Store]:
    """Open a store and close it again.

    Args:
        url: The store's URL.
        exists: Refuse a file that is not there, which opening would make.
    """
    kind, _, rest = url.partition(":")
    path = rest.partition("?")[0]
    if (
        exists
        and kind in _FILES
        and path not in ("", ":memory:")
        and not Path(path).expanduser().exists()
    ):
        raise StoreError(f"there is no store {url}: the file {path} does not exist")
    store = open_store(url)
    with closing(cast("Any", store)) if hasattr(store, "close") else nullcontext():
        yield store
