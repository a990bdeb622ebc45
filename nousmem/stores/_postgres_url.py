"""From the URL of a PostgreSQL store to what is opened, and to what may be shown of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from nousmem.errors import InvalidParameter

__all__ = ["TEXT_MODES", "PostgresURL", "parse_postgres_url"]

TEXT_MODES: Final = ("bm25", "tsvector")
"""What `text` may be; `nousmem.stores._postgres_text` says what each ranks by."""

_EMBEDDED: Final = "postgresql+embedded:"
_DEFAULTS: Final = {"schema": "nousmem", "text": "bm25", "hnsw": "false"}
_SWITCH: Final = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_NAME: Final = 63  # bytes; PostgreSQL cuts longer names off without a word
# As the driver reads it, a password ends at the first @ before any slash. One that holds either
# is taken here as far as it was meant to go, to be reported and never shown.
_PASSWORD: Final = re.compile(r"^(\w+://[^:/@?]*:)([^/]*|(?!\d*(?:[,/?]|$))[^?]*)(?=@)")
_PASSWORD_OPTION: Final = re.compile(r"([?&](?:ssl)?password=)[^&]*")


@dataclass(frozen=True, slots=True)
class PostgresURL:
    """Which server and schema a store is in, and how it searches."""

    address: str = field(repr=False)
    """The URL for the driver, without our options; "" for a server of its own. May hold a
    password."""
    folder: Path | None
    """Data folder of a server of its own."""
    schema: str
    text: str
    hnsw: bool

    @property
    def masked(self) -> str:
        """The address, or the folder, without a password."""
        if self.folder is not None:
            return f"{_EMBEDDED}{self.folder}"
        return _PASSWORD_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1***", self.address))


def parse_postgres_url(
    url: str,
    *,
    schema: str | None = None,
    text: str | None = None,
    hnsw: bool | None = None,
) -> PostgresURL:
    """Read the URL of a store.

    Args:
        url: `postgresql://…` as the driver takes it, or `postgresql+embedded:FOLDER`; either
            with `schema`, `text` and `hnsw` in its query, the rest of which is the driver's.
        schema: Instead of the URL's.
        text: Instead of the URL's.
        hnsw: Instead of the URL's.

    Raises:
        InvalidParameter: another kind of URL, an option twice, or a value it does not take.
    """
    given: object = url
    if not isinstance(given, str):
        raise InvalidParameter(f"expected a URL such as postgresql://HOST/DATABASE, got {url!r}")
    embedded = given.startswith(_EMBEDDED)
    if not embedded and not given.startswith(("postgresql://", "postgres://")):
        kind = given.partition(":")[0]
        raise InvalidParameter(
            f"expected a URL such as postgresql://HOST/DATABASE or {_EMBEDDED}FOLDER, "
            f"got one of the kind {kind!r}"
        )
    base, query = _split_query(given)
    ours, rest = _take_options(query)
    if schema is not None:
        ours["schema"] = schema
    if text is not None:
        ours["text"] = text
    if hnsw is not None:
        ours["hnsw"] = str(hnsw).lower()
    options = {**_DEFAULTS, **ours}
    folder = None
    if embedded:
        folder = _folder(base.removeprefix(_EMBEDDED), rest)
    else:
        _check_credentials(base)
    return PostgresURL(
        address="" if embedded else "?".join([base, "&".join(rest)] if rest else [base]),
        folder=folder,
        schema=_checked_schema(options["schema"]),
        text=_checked(options, "text", TEXT_MODES),
        hnsw=_SWITCH[_checked(options, "hnsw", _SWITCH)],
    )


def _split_query(url: str) -> tuple[str, str]:
    """Cut at the `?` that starts the query; the driver takes one in a password literally."""
    credentials = _PASSWORD.match(url)
    start = url.find("?", credentials.end() if credentials else 0)
    return (url, "") if start < 0 else (url[:start], url[start + 1 :])


def _take_options(query: str) -> tuple[dict[str, str], list[str]]:
    ours: dict[str, str] = {}
    rest: list[str] = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name not in _DEFAULTS:
            rest.append(pair)
        elif name in ours:
            raise InvalidParameter(f"the URL gives the option {name!r} twice")
        else:
            ours[name] = unquote(value)
    return ours, rest


def _folder(path: str, rest: list[str]) -> Path:
    if rest:
        unknown = rest[0].partition("=")[0]
        raise InvalidParameter(
            f"unknown store option {unknown!r}; options: {', '.join(sorted(_DEFAULTS))}"
        )
    if not path:
        raise InvalidParameter(f"{_EMBEDDED} needs the folder of the server: {_EMBEDDED}FOLDER")
    return Path(path)


def _check_credentials(base: str) -> None:
    found = _PASSWORD.match(base)
    if found is not None and re.search("[@/?]", found[2]):
        raise InvalidParameter(
            "a password in a URL must have its special characters encoded: %40 for @, %2F for /, "
            "%3F for ?"
        )


def _checked_schema(name: str) -> str:
    text: object = name
    if (
        not isinstance(text, str)
        or not text
        or "\x00" in text
        or len(text.encode("utf-8", "replace")) > _LONGEST_NAME
    ):
        raise InvalidParameter(f"schema must be a name of 1 to {_LONGEST_NAME} bytes, got {name!r}")
    return text


def _checked(options: dict[str, str], name: str, choices: Collection[str]) -> str:
    if options[name] not in choices:
        raise InvalidParameter(f"{name} must be one of {', '.join(choices)}, got {options[name]!r}")
    return options[name]
