"""One connection to PostgreSQL: its transactions, its settings, and what its errors say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from nousmem.errors import InvalidParameter, MissingDependency, StoreError
from nousmem.stores._postgres_url import PostgresURL

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresConnection", "require_driver"]

_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# A writer that waited for another must see what that one wrote.
_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"

_SETTINGS: Final = {
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "lock_timeout": "30s",
    # Which plan is good depends on how common the words and the scope asked for are.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
}


class PostgresConnection:
    """A connection that is opened again when the server has dropped it between operations.

    Args:
        url: Which server and schema.
        address: The connection string: the URL's, or that of a server of one's own.
        prepare: Called with each new connection, before it is used.

    Raises:
        MissingDependency: psycopg or pgvector is not installed.
        InvalidParameter: the URL is not valid.
        StoreError: the server cannot be reached, or refuses.
    """

    def __init__(
        self, url: PostgresURL, address: str, *, prepare: Callable[[PostgresConnection], None]
    ) -> None:
        self._url = url
        self._address = address
        self._prepare = prepare
        self._lock = threading.RLock()
        self._closed = False
        require_driver()
        self._connect()

    @property
    def place(self) -> str:
        """Host, database and schema, without a password."""
        return f"{self._url.masked} (schema {self._url.schema!r})"

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Execute one statement; `%s` marks a value."""
        # Results in binary: a vector as text is ten times as long.
        return self._connection.execute(statement.encode(), values or None, binary=True)

    def run_script(self, statements: str) -> None:
        """Execute several statements, separated by semicolons."""
        self._connection.execute(statements.encode())

    def copy(self, target: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table, by binary COPY.

        Args:
            target: The table and its columns in parentheses.
            types: Of the columns, as they are written; text for any type that is text inside.
            rows: The values.
        """
        if not rows:
            return
        statement = f"COPY {target} FROM STDIN (FORMAT BINARY)".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(list(types))
            for row in rows:
                copy.write_row(row)

    @property
    def database(self) -> str:
        """Name of the database."""
        return self._connection.info.dbname

    @property
    def user(self) -> str:
        """Name of the database user."""
        return self._connection.info.user

    def use_vectors(self) -> None:
        """Teach the connection the type `vector`, which the extension must have made."""
        from pgvector.psycopg.vector import register_vector_info
        from psycopg.types import TypeInfo

        # This type alone: older databases lack others that `register_vector` looks for.
        register_vector_info(self._connection, TypeInfo.fetch(self._connection, "vector"))

    @contextmanager
    def reading(self) -> Generator[None]:
        """Hold the lock, and one snapshot of the database."""
        with self._transaction(_READING):
            yield

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the lock, and a transaction that is undone when anything fails."""
        with self._transaction(_WRITING):
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """Hold the lock outside any transaction, for what cannot be in one."""
        with self.reading():
            pass  # connects again if need be
        with self._lock, self.errors():
            yield

    @contextmanager
    def errors(self) -> Generator[None]:
        """Turn the driver's errors into StoreErrors that name the place."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise StoreError(f"cannot use the PostgreSQL store {self.place}: {error}") from error

    @contextmanager
    def _transaction(self, begin: str) -> Generator[None]:
        import psycopg

        with self._lock, self.errors():
            if self._closed:
                raise StoreError(f"{self.place}: the store is closed")
            idle = psycopg.pq.TransactionStatus.IDLE
            if not self._connection.closed and self._connection.info.transaction_status != idle:
                yield  # within another operation's transaction
                return
            self._begin(begin)
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _begin(self, begin: str) -> None:
        import psycopg

        try:
            self.run(begin)
        except psycopg.OperationalError:
            # The server may have restarted since: nothing of this operation has happened yet.
            if not self._connection.closed:
                raise
            self._connect()
            self.run(begin)

    def _roll_back(self) -> None:
        import psycopg

        try:
            self.run("ROLLBACK")
        except psycopg.Error:
            # Lost, or in the middle of something: the next operation connects again.
            self._connection.close()

    def _connect(self) -> None:
        import psycopg

        with self.errors():
            options = _connect_options(self._url, self._address)
            self._connection = psycopg.connect(self._address, autocommit=True, **options)
            try:
                settings = ", ".join(["set_config(%s, %s, false)"] * len(_SETTINGS))
                self.run(
                    f"SELECT {settings}", [part for pair in _SETTINGS.items() for part in pair]
                )
                self._prepare(self)
            except BaseException:
                self._connection.close()
                raise


def require_driver() -> None:
    """Raise MissingDependency unless psycopg and pgvector can be imported."""
    for package, module in (("psycopg", "psycopg"), ("pgvector", "pgvector.psycopg")):
        try:
            import_module(module)
        except ImportError as error:
            raise MissingDependency(
                package, extra="postgres", purpose="the PostgreSQL store"
            ) from error


def _connect_options(url: PostgresURL, address: str) -> dict[str, Any]:
    """Return our defaults for what the address does not say.

    Raises:
        InvalidParameter: the address is not valid; its password is not in the message.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        if url.folder is None:
            conninfo_to_dict(url.masked)
    except psycopg.Error as error:
        raise InvalidParameter(
            f"{url.masked} is not a PostgreSQL URL: {str(error).strip()} (besides libpq's options "
            "there are schema, text and hnsw)"
        ) from None
    try:
        given = conninfo_to_dict(address)
    except psycopg.Error:
        # Only the password is left to be wrong, and the driver's message would show it.
        raise InvalidParameter(
            f"{url.masked}: the password's special characters must be encoded, % itself as %25"
        ) from None
    options: dict[str, Any] = {"fallback_application_name": "nousmem"}
    return options if "connect_timeout" in given else {**options, "connect_timeout": 10}
