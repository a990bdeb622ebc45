"""A SQLite file opened for several processes: layout, transactions, and errors that name it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final

from nousmem.errors import StoreError
from nousmem.stores._file_faults import reason
from nousmem.stores._sqlite_schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    migration_statements,
    schema_statements,
)

__all__ = ["SQLiteFile"]

BUSY_SECONDS = 30.0


class SQLiteFile:
    """One connection, used by one thread at a time.

    Readers never wait (WAL); writers of other processes are waited for, up to half a minute.

    Args:
        path: The file, made when it does not exist; ":memory:" for one that is not kept.
        on_undo: Called when a write has been undone.

    Raises:
        StoreError: the file cannot be opened, is not a database, is another program's, or is of
            a newer layout.
    """

    def __init__(self, path: str, *, on_undo: Callable[[], None]) -> None:
        self.path = path
        self._on_undo = on_undo
        self._lock = threading.RLock()
        with self._errors():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._errors():
                self._prepare()
        except StoreError:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            self._connection.close()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self._connection.execute(statement, values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        self._connection.executemany(statement, rows)

    def value(self, statement: str, values: Sequence[Any] = (), default: Any = None) -> Any:
        """Return the first column of the first row, or `default` where there is no row."""
        row = self._connection.execute(statement, values).fetchone()
        return default if row is None else row[0]

    def fact(self, name: str, default: Any = None) -> Any:
        """Return a fact the file keeps about itself."""
        return self.value("SELECT value FROM facts WHERE name = ?", (name,), default)

    def set_fact(self, name: str, value: object) -> None:
        """Keep a fact; inside `writing`."""
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def last_seq(self) -> int:
        """Return the greatest row number ever given out."""
        return self.value("SELECT seq FROM sqlite_sequence WHERE name = 'entries'", default=0)

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        return self.value("PRAGMA data_version")

    @contextmanager
    def reading(self) -> Generator[None]:
        """Hold the lock, and one snapshot of the database."""
        with self._lock, self._errors():
            if self._connection.in_transaction:
                yield
                return
            self.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:  # else the error that ended it would be hidden
                    self.execute("COMMIT")

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the lock, and a write transaction that is undone when anything fails."""
        with self._lock, self._errors():
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                self._on_undo()
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    @contextmanager
    def alone(self) -> Generator[None]:
        """Hold the lock outside any transaction, as VACUUM wants it."""
        with self._lock, self._errors():
            yield

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise StoreError(f"{self.path}: the store is closed") from error
        except sqlite3.Error as error:
            cause = reason(self.path, kind="sqlite") or _explained(error)
            raise StoreError(f"cannot use the SQLite store {self.path}: {cause}") from error

    def _prepare(self) -> None:
        self.execute("PRAGMA foreign_keys = ON")
        self._check_owner()
        self.execute("PRAGMA journal_mode = WAL")
        self.execute("PRAGMA synchronous = NORMAL")
        if self.value("PRAGMA user_version") == SCHEMA_VERSION:
            return
        self.execute("BEGIN IMMEDIATE")
        try:
            self._bring_up_to_date()
            self.execute("COMMIT")
        except BaseException:
            self.execute("ROLLBACK")
            raise

    def _check_owner(self) -> None:
        version = self.value("PRAGMA user_version")
        application = self.value("PRAGMA application_id")
        if application != APPLICATION_ID and self.value("SELECT count(*) FROM sqlite_schema"):
            raise StoreError(
                f"{self.path} is a SQLite file of another program: give nousmem a file of its own"
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer nousmem (layout {version}, this one reads "
                f"{SCHEMA_VERSION}): upgrade nousmem"
            )

    def _bring_up_to_date(self) -> None:
        # Read again: another process may have done it while this one waited.
        version = self.value("PRAGMA user_version")
        made = self.value("SELECT count(*) FROM sqlite_schema") > 0
        for statement in migration_statements(version) if made else schema_statements():
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


_ADVICE: Final = {
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged: restore a backup, or save what can be read with the sqlite3 shell's "
        ".recover"
    ),
    sqlite3.SQLITE_FULL: "nothing of the last write was kept: make room, and write again",
    sqlite3.SQLITE_BUSY: (
        f"another process has been writing for {BUSY_SECONDS:.0f} s: try again when it is done"
    ),
}


def _explained(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    advice = None if code is None else _ADVICE.get(code & 0xFF)
    return str(error) if advice is None else f"{error}; {advice}"
