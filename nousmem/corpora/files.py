"""Finding corpus files: where the caller says, on this disk, or by download."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nousmem.errors import CorpusError, CorpusFileMissing

__all__ = [
    "CHECKSUM_FAULT",
    "DATA_VARIABLE",
    "DataFile",
    "PathLike",
    "cache_folder",
    "checksum",
    "checksum_faults",
    "combined_checksum",
    "find_file",
    "present_path",
    "published_file",
]

DATA_VARIABLE: Final = "NOUSMEM_DATA"
"""Environment variable: a folder of corpus files already on this disk."""

CHECKSUM_FAULT: Final = "checksum differs from the published file"

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One published file of a corpus."""

    path: str
    """Where it lies, relative to a data folder."""
    source: str
    """Where a person gets it."""
    sha256: str = ""
    """Of the published file; "" where none is known."""
    url: str = ""
    """Address it is downloaded from; "" when the user has to bring it."""
    folder: bool = False
    """Whether `path` is a folder of files."""
    derived: bool = False
    """Whether it was made from the published files: read where it lies, never asked for."""

    @property
    def name(self) -> str:
        """The last part of `path`."""
        return Path(self.path).name


def cache_folder() -> Path:
    """Return the user's folder for downloaded corpora (it need not exist)."""
    import platformdirs

    return platformdirs.user_cache_path("nousmem") / "corpora"


def checksum(path: Path) -> str:
    """Return the sha256 of a file, as 64 hexadecimal digits.

    Raises:
        CorpusError: the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None


def combined_checksum(paths: Sequence[Path]) -> str:
    """Return one sha256 for several files: of the text "digest  name" a line, in this order.

    A single file keeps its own sha256.
    """
    if len(paths) == 1:
        return checksum(paths[0])
    lines = "".join(f"{checksum(path)}  {path.name}\n" for path in paths)
    return hashlib.sha256(lines.encode()).hexdigest()


def checksum_faults(digest: str, published: Iterable[DataFile]) -> dict[str, int]:
    """Return the card's fault when `digest` is none of the published checksums, else nothing."""
    known = {file.sha256 for file in published if file.sha256}
    return {CHECKSUM_FAULT: 1} if known and digest not in known else {}


def find_file(
    corpus: str, files: Sequence[DataFile], *, path: PathLike | None = None, kind: str = "file"
) -> Path:
    """Return the first of `files` that can be had, downloading it if need be.

    Looks at `path` alone when it is given (the file itself, or a folder that holds it); otherwise
    in the folder named by NOUSMEM_DATA, then in the user's cache, then at the file's address.

    Args:
        corpus: Name of the corpus, for messages.
        files: Interchangeable files, preferred one first.
        path: Where the caller says it is.
        kind: What a message calls the thing looked for.

    Raises:
        CorpusFileMissing: it is nowhere; the message says which file to put where.
        CorpusError: a download came with another checksum than the published one.
    """
    if path is not None:
        return _given(corpus, files, Path(path).expanduser(), kind)
    for file in files:
        found = present_path(file)
        if found is not None:
            return found
    downloadable = [file for file in files if file.url]
    if not downloadable:
        raise CorpusFileMissing(_instructions(corpus, published_file(files)))
    return _download(corpus, downloadable[0])


def published_file(files: Sequence[DataFile]) -> DataFile:
    """Return the file a person can get: the first of `files` that was published as it is."""
    return next((file for file in files if not file.derived), files[0])


def present_path(file: DataFile) -> Path | None:
    """Return where the file is on this disk (NOUSMEM_DATA, then the cache); None when it is not."""
    for folder in _folders():
        candidate = folder / file.path
        if candidate.is_dir() if file.folder else candidate.is_file():
            return candidate
    return None


def _folders() -> list[Path]:
    named = os.environ.get(DATA_VARIABLE, "")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def _given(corpus: str, files: Sequence[DataFile], path: Path, kind: str) -> Path:
    whole_folder = any(file.folder for file in files)
    if path.is_file() or (whole_folder and path.is_dir() and not _within(path, files)):
        return path
    if not path.exists():
        raise CorpusFileMissing(f"corpus {corpus!r}: there is no {kind} at {path}")
    found = _within(path, files)
    if found is None:
        names = " or ".join(dict.fromkeys(file.name for file in files))
        raise CorpusFileMissing(f"corpus {corpus!r}: the folder {path} holds no {names}")
    return found


def _within(folder: Path, files: Sequence[DataFile]) -> Path | None:
    for file in files:
        for candidate in (folder / file.path, folder / file.name):
            if candidate.is_dir() if file.folder else candidate.is_file():
                return candidate
    return None


def _instructions(corpus: str, file: DataFile, cause: str = "") -> str:
    target = _folders()[0] / file.path
    digest = f" (sha256 {file.sha256})" if file.sha256 else ""
    named = (
        ""
        if os.environ.get(DATA_VARIABLE)
        else f"; or name the folder that holds {file.path} in {DATA_VARIABLE}"
    )
    what = f"the folder {file.name}" if file.folder else f"{file.name}{digest}"
    return (
        f"corpus {corpus!r} is not on this disk{cause}. Get {what} from {file.source} "
        f"and put it at {target}{named}; or give its place as path="
    )


def _download(corpus: str, file: DataFile) -> Path:
    try:
        # Loaded by name: pooch is optional and has no type stubs.
        pooch = importlib.import_module("pooch")
    except ImportError:
        cause = ", and downloading needs the package 'pooch' (pip install pooch)"
        raise CorpusFileMissing(_instructions(corpus, file, cause)) from None
    target = cache_folder() / file.path
    try:
        fetched = pooch.retrieve(
            url=file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=target.name,
            path=target.parent,
            progressbar=sys.stderr.isatty(),
        )
    except ValueError:
        raise CorpusError(
            f"corpus {corpus!r}: what {file.url} sent is not the published {file.name} "
            f"(sha256 {file.sha256}); get it from {file.source} and give its place as path="
        ) from None
    except OSError as error:  # requests' errors are OSErrors too
        cause = f", and downloading {file.url} failed ({type(error).__name__})"
        raise CorpusFileMissing(_instructions(corpus, file, cause)) from None
    return Path(fetched)
