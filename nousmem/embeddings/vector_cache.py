"""The file in which embedded texts are kept: vectors of many embedders, told apart."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import platformdirs

from nousmem.embeddings.base import Matrix
from nousmem.entry import epoch_microseconds, from_epoch_microseconds, parse_instant
from nousmem.errors import EmbedderError

__all__ = [
    "CacheRow",
    "VectorCache",
    "cache_path",
    "cache_summary",
    "prune_cache",
    "text_key",
    "utc_now",
]

CACHE_VARIABLE: Final = "NOUSMEM_CACHE"
"""Environment variable that names the folder of the cache."""

_VERSION: Final = 1
_STORED: Final = np.dtype("<f4")
_KEYS_A_STATEMENT: Final = 500
_BUSY_SECONDS: Final = 30.0
# Every use would otherwise be a write; an hour is fine enough to prune by.
_LAST_USED_GRAIN: Final = timedelta(hours=1)

# Rows go by a hash of the text: the file holds no text that somebody might want to keep private.
_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS embedders (
        id INTEGER PRIMARY KEY,
        fingerprint TEXT NOT NULL UNIQUE,
        dimension INTEGER NOT NULL,
        last_used INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS vectors (
        embedder INTEGER NOT NULL REFERENCES embedders (id),
        key BLOB NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (embedder, key)
    )""",
    f"PRAGMA user_version = {_VERSION}",
)
_WHOLE: Final = f"typeof(vector) = 'blob' AND length(vector) = dimension * {_STORED.itemsize}"


@dataclass(frozen=True, slots=True)
class CacheRow:
    """What the cache holds of one embedder."""

    fingerprint: str
    """The embedder's."""
    dimension: int
    """Length of each vector."""
    vectors: int
    """How many."""
    bytes: int
    """Size of the vectors; the file is about a tenth larger."""
    last_used: datetime
    """UTC; up to an hour behind."""


def cache_path(path: str | Path | None = None) -> Path:
    """Return the cache file: `path` if given, else embeddings.sqlite in the cache folder.

    The folder is the one that the environment variable NOUSMEM_CACHE names, else the user's.
    """
    if path is not None:
        return Path(path).expanduser()
    folder = os.environ.get(CACHE_VARIABLE)
    root = Path(folder).expanduser() if folder else platformdirs.user_cache_path("nousmem")
    return root / "embeddings.sqlite"


class VectorCache:
    """One cache file, opened for each operation: any number of threads and processes may share it.

    Args:
        path: The file; made, with its folder, when something is first asked of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def dimension(self, fingerprint: str) -> int | None:
        """Return the length of this embedder's vectors; None when it has none here."""
        if not self.path.exists():
            return None
        with _opened(self.path) as db:
            row = _embedder_row(db, fingerprint)
        return None if row is None else row[1]

    def read(self, fingerprint: str, keys: Sequence[bytes], *, now: datetime) -> dict[bytes, bytes]:
        """Return the stored bytes (little-endian float32) of those keys that are here.

        A row that is not as long as the embedder's vectors is damaged, and counts as absent.
        """
        found: dict[bytes, bytes] = {}
        with _opened(self.path) as db:
            row = _embedder_row(db, fingerprint)
            if row is None:
                return found
            for start in range(0, len(keys), _KEYS_A_STATEMENT):
                part = keys[start : start + _KEYS_A_STATEMENT]
                marks = ",".join("?" * len(part))
                # One statement sees one state: an embedder's number may be another's after a
                # prune, so that it is not carried from one statement to the next.
                found.update(
                    db.execute(
                        "SELECT key, vector FROM embedders JOIN vectors ON embedder = id "  # noqa: S608 - question marks only
                        f"WHERE fingerprint = ? AND key IN ({marks}) AND {_WHOLE}",
                        (fingerprint, *part),
                    )
                )
            if now - from_epoch_microseconds(row[2]) > _LAST_USED_GRAIN:
                db.execute(
                    "UPDATE embedders SET last_used = max(last_used, ?) WHERE fingerprint = ?",
                    (epoch_microseconds(now), fingerprint),
                )
        return found

    def write(self, fingerprint: str, vectors: Mapping[bytes, Matrix], *, now: datetime) -> None:
        """Keep the vectors, all or none; a key that is here keeps its vector if that is whole."""
        if not vectors:
            return
        dimension = len(next(iter(vectors.values())))
        with _opened(self.path) as db, _transaction(db):
            db.execute(
                "INSERT INTO embedders (fingerprint, dimension, last_used) VALUES (?, ?, ?) "
                "ON CONFLICT (fingerprint) DO UPDATE SET last_used = max(last_used, ?)",
                (fingerprint, dimension, epoch_microseconds(now), epoch_microseconds(now)),
            )
            row = _embedder_row(db, fingerprint)
            if row is None or row[1] != dimension:
                raise EmbedderError(
                    f"{self.path} holds vectors of length {row and row[1]} for the embedder "
                    f"{fingerprint!r}, which now gives {dimension}: two models share a "
                    f"fingerprint; prune_cache(fingerprint={fingerprint!r}) removes the old ones"
                )
            db.executemany(
                "INSERT INTO vectors (embedder, key, vector) VALUES (?, ?, ?) "
                "ON CONFLICT (embedder, key) DO UPDATE SET vector = excluded.vector "
                "WHERE typeof(vector) <> 'blob' OR length(vector) <> length(excluded.vector)",
                (
                    (row[0], key, np.ascontiguousarray(vector, dtype=_STORED).tobytes())
                    for key, vector in vectors.items()
                ),
            )


def cache_summary(path: str | Path | None = None) -> list[CacheRow]:
    """Return what the cache holds, one row an embedder, the last used first.

    Args:
        path: The cache file; None is the default one (see `cache_path`). One that does not exist
            is empty.

    Raises:
        EmbedderError: the file cannot be read.
    """
    file = cache_path(path)
    if not file.exists():
        return []
    with _opened(file) as db:
        rows = db.execute(
            "SELECT fingerprint, dimension, last_used, "
            "(SELECT count(*) FROM vectors WHERE embedder = embedders.id) "
            "FROM embedders ORDER BY last_used DESC, fingerprint"
        ).fetchall()
    return [
        CacheRow(
            fingerprint=fingerprint,
            dimension=dimension,
            vectors=count,
            bytes=count * dimension * _STORED.itemsize,
            last_used=from_epoch_microseconds(last_used),
        )
        for fingerprint, dimension, last_used, count in rows
    ]


def prune_cache(
    path: str | Path | None = None,
    *,
    fingerprint: str | None = None,
    unused_since: datetime | str | None = None,
) -> int:
    """Remove vectors from the cache, give the space back, and return how many went.

    Args:
        path: The cache file; None is the default one.
        fingerprint: Only this embedder's. None: every embedder's.
        unused_since: Only those of embedders last used before this instant.

    Raises:
        EmbedderError: the file cannot be written.
        InvalidEntry: `unused_since` is not an instant.
    """
    file = cache_path(path)
    before = None if unused_since is None else epoch_microseconds(parse_instant(unused_since))
    if not file.exists():
        return 0
    chosen = "(? IS NULL OR fingerprint = ?) AND (? IS NULL OR last_used < ?)"
    values = (fingerprint, fingerprint, before, before)
    with _opened(file) as db:
        with _transaction(db):
            removed = db.execute(
                f"DELETE FROM vectors WHERE embedder IN (SELECT id FROM embedders WHERE {chosen})",  # noqa: S608 - fixed text
                values,
            ).rowcount
            db.execute(f"DELETE FROM embedders WHERE {chosen}", values)  # noqa: S608 - fixed text
        # Another process may be reading: then the space is used again by later vectors instead.
        with suppress(sqlite3.OperationalError):
            db.execute("VACUUM")
    return removed


def text_key(text: str, *, role: str) -> bytes:
    """Return the 16 bytes a text is kept under; `role` is "query", "document" or "" for both."""
    return blake2b(f"{role}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def utc_now() -> datetime:
    """Return the wall clock's instant."""
    return datetime.now(UTC)


def _embedder_row(db: sqlite3.Connection, fingerprint: str) -> tuple[int, int, int] | None:
    return db.execute(
        "SELECT id, dimension, last_used FROM embedders WHERE fingerprint = ?", (fingerprint,)
    ).fetchone()


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    """Open the file, made if need be; what goes wrong in the block names the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as db:
            _prepare(db)
            yield db
    except (sqlite3.Error, OSError) as error:
        raise EmbedderError(
            f"cannot use the embedding cache {path}: {error}; delete the file, or name another "
            f"folder in the environment variable {CACHE_VARIABLE}"
        ) from error


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == _VERSION:
        return
    if version > _VERSION:
        raise sqlite3.DatabaseError(f"it was written by a newer nousmem (format {version})")
    # Two vectors of 384 numbers fill a page of the default size by three quarters only.
    db.execute("PRAGMA page_size = 8192")
    _switch_to_wal(db)
    with _transaction(db):
        for statement in _SCHEMA:
            db.execute(statement)


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Turn on write-ahead logging, which does not wait its turn by itself as other writes do."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has rolled it back already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
