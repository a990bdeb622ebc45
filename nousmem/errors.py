"""What can go wrong, as classes: one per situation a caller may want to tell apart.

Every message says what was expected, what came, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager

__all__ = [
    "CorpusError",
    "CorpusFileMissing",
    "EmbedderError",
    "EmbeddingMismatch",
    "EntryNotFound",
    "ExperimentError",
    "ExtensionError",
    "InvalidEntry",
    "InvalidParameter",
    "InvalidScope",
    "InvalidVector",
    "MissingDependency",
    "NousmemError",
    "SessionError",
    "StoreError",
    "UnknownName",
    "requiring",
    "suggestion",
]


class NousmemError(Exception):
    """Base of every error a user of nousmem can cause or repair."""


class InvalidEntry(NousmemError, ValueError):
    """An entry's field has a value that no store may hold."""


class InvalidScope(NousmemError, ValueError):
    """A scope names a field that entries do not have, or wants a value of the wrong type."""


class InvalidParameter(NousmemError, ValueError):
    """An option has a value outside its documented range."""


class ExtensionError(NousmemError):
    """Somebody's own leg, term, fusion, curve, update rule or measure broke its rules."""


class InvalidVector(NousmemError, ValueError):
    """A vector is empty, not finite, all zeros, or not one-dimensional."""


class EmbeddingMismatch(NousmemError, ValueError):
    """A vector comes from another embedder, or has another length, than those in the store."""


class EntryNotFound(NousmemError, LookupError):
    """No entry has this id.

    Attributes:
        entry_id: The id asked for.
    """

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"no entry with id {entry_id!r} in this store")
        self.entry_id = entry_id


class UnknownName(NousmemError, LookupError):
    """A name was asked for that nothing is registered under.

    Attributes:
        name: The name asked for.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        hint = suggestion(name, choices) or "."
        super().__init__(f"unknown {kind} {name!r}{hint} Known: {', '.join(choices)}")
        self.name = name


class StoreError(NousmemError):
    """A store cannot be opened, read or written; the message names the file and the cause."""


class EmbedderError(NousmemError):
    """An embedder failed, or returned something that is not one vector per text."""


class CorpusError(NousmemError, ValueError):
    """A corpus file is damaged, or is not in the format its loader reads."""


class CorpusFileMissing(NousmemError, FileNotFoundError):
    """A corpus is not on this disk; the message says which file to put where."""


class SessionError(NousmemError, ValueError):
    """A session file, a transcript or a file of ratings is not what its reader expects."""


class MissingDependency(NousmemError, ImportError):
    """An optional package is not installed.

    Attributes:
        package: The package that is missing.
    """

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'nousmem[{extra}]'")
        self.package = package


class ExperimentError(NousmemError, ValueError):
    """An experiment file, a result folder or a baseline is not what it must be."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return what a message about an unknown name goes on with: the one of `known` that is close.

    Returns:
        Such as "; did you mean 'sqlite'?"; empty where none is close.
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


@contextmanager
def requiring(
    package: str, *, extra: str, purpose: str, modules: Collection[str] = ()
) -> Generator[None]:
    """Import what an extra brings: in here, that it is not installed is MissingDependency.

    Other modules that cannot be imported are somebody's fault, and their errors pass.

    Args:
        package: What to install.
        extra: The extra of nousmem that has it.
        purpose: What needs it, for the message.
        modules: The modules that the package and what it needs are imported as; none is the
            package's own name, with `_` for `-`.

    Raises:
        MissingDependency: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in (modules or (package.replace("-", "_"),)):
            raise
        raise MissingDependency(package, extra=extra, purpose=purpose) from None
