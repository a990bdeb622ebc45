"""Opening the store that a command names, and closing it again."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast

import typer

from nousmem.errors import StoreError
from nousmem.stores import Store, open_store

__all__ = ["EmbedderName", "StoreUrl", "opened"]

EmbedderName: TypeAlias = Annotated[
    str,
    typer.Option(
        help="minilm, hashing, local:MODEL, none for the text leg alone, …; or "
        "package.module:object, an embedder of your own, whose code is run."
    ),
]
"""The option --embedder."""

StoreUrl: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="Store URL, such as sqlite:memories.db; or package.module:object, a store of your "
        "own, whose code is run."
    ),
]
"""The argument STORE."""

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
