"""A SQLite store under kill -9, several processes, full disks, and files that are not its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import nousmem as nm
from nousmem.stores import _file_faults as file_faults
from nousmem.stores import _sqlite_file as sqlite_file
from nousmem.stores import _sqlite_schema as sqlite_schema
from nousmem.stores._sqlite import SQLiteStore

NOW = datetime(2026, 3, 15, tzinfo=UTC)


def entry(number: int, **fields) -> nm.Entry:
    rng = np.random.default_rng(number)
    values = {"id": f"e{number:05d}", "embedding": rng.normal(size=8), "created_at": NOW, **fields}
    return nm.Entry(f"memory number {number} about harbour{number % 7}", **values)


def run_child(code: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


KILLED_WHILE_LOADING = """
    import contextlib, os, signal, sys
    import nousmem as nm
    from nousmem.stores import _sqlite as sqlite, _sqlite_file as sqlite_file

    path, transaction = sys.argv[1], sys.argv[2] == "True"
    if not transaction:
        # What the store would be without its transaction: every statement commits by itself.
        @contextlib.contextmanager
        def writing(self):
            yield
        sqlite_file.SQLiteFile.writing = writing
    store = nm.open_store(f"sqlite:{path}")
    make = lambda n: nm.Entry(f"memory {n} of a load", id=f"e{n}", embedding=[1.0, n])
    store.put([make(n) for n in range(200)])
    row_of, seen = sqlite._row, []

    def dies(entry):
        seen.append(entry)
        if len(seen) == 120:
            os.kill(os.getpid(), signal.SIGKILL)
        return row_of(entry)

    sqlite._row = dies
    store.put([make(n) for n in range(200, 400)])
"""


@pytest.mark.parametrize("transaction", [True, False], ids=["as it is", "without transaction"])
def test_a_killed_load_leaves_whole_batches(tmp_path: Path, transaction: bool) -> None:
    path = tmp_path / "killed.db"
    died = run_child(KILLED_WHILE_LOADING, path, transaction)
    assert died.returncode == -signal.SIGKILL
    store = SQLiteStore(path)
    n = len(store.list())
    assert (n % 200 == 0) is transaction
    if transaction:
        assert n == 200
        assert store.check() == []
        assert len(store.search_vector([1.0, 3.0], limit=500)) == 200
        assert len(store.search_text("memory load", limit=500)) == 200
        assert store.put([entry(1, embedding=[1.0, 2.0])]) == 1


WRITER = """
    import sys
    import nousmem as nm

    path, who = sys.argv[1], sys.argv[2]
    store = nm.open_store(f"sqlite:{path}")
    for n in range(60):
        note = nm.Entry(f"note {n} by {who}", id=f"{who}-{n}", embedding=[1.0, n], user_id=who)
        store.put([note])
        if n % 3 == 0:
            store.touch([f"{who}-{n}"], now="2026-03-15T00:00:00Z")
        if n % 10 == 9:
            store.delete([f"{who}-{n}"])
"""


def test_processes_write_while_others_search(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with SQLiteStore(path) as store:
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(WRITER), path, f"writer{at}"],
                stderr=subprocess.PIPE,
                text=True,
            )
            for at in range(3)
        ]
        while any(writer.poll() is None for writer in writers):
            found = store.search_vector([1.0, 5.0], limit=1000)
            assert len({one.id for one, _ in found}) == len(found)
            store.list()
            store.search_text("note by writer1", limit=5)
        errors = [writer.communicate()[1] for writer in writers]
        assert [writer.returncode for writer in writers] == [0, 0, 0], errors
        assert len(store.list()) == 3 * 54
        assert len(store.search_vector([1.0, 5.0], limit=1000)) == 3 * 54
        assert sum(one.access_count for one in store.list()) == 3 * (20 - 2)
        assert store.check() == []


def test_one_store_follows_what_another_writes(tmp_path: Path) -> None:
    path = tmp_path / "followed.db"
    with SQLiteStore(path) as reader, SQLiteStore(path) as writer:
        writer.put([entry(n) for n in range(20)])
        target = entry(3).embedding
        assert reader.search_vector(target, limit=1)[0][0].id == "e00003"
        writer.delete(["e00003"])
        assert reader.search_vector(target, limit=1)[0][0].id != "e00003"
        writer.put([entry(50, embedding=target)])
        assert reader.search_vector(target, limit=1)[0][0].id == "e00050"
        writer.update("e00050", embedding=-target, now=NOW)
        assert reader.search_vector(target, limit=1)[0][0].id != "e00050"
        reader.put([entry(60, embedding=target)])
        assert writer.search_vector(target, limit=1)[0][0].id == "e00060"
        assert len(reader.search_text("harbour3")) == len(writer.search_text("harbour3"))


@pytest.mark.parametrize("wal", [True, False], ids=["as it is", "without WAL"])
def test_a_search_does_not_wait_for_a_writer(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "busy.db"
    with SQLiteStore(path) as store:
        store.put([entry(1)])
        if not wal:
            store._file.execute("PRAGMA journal_mode = DELETE")
        store._file.execute("PRAGMA busy_timeout = 50")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE entries SET importance = 0")
        if wal:
            assert store.search_text("harbour1")[0][0].importance == 0.5
        else:
            with pytest.raises(nm.StoreError, match="locked"):
                store.search_text("harbour1")
        other.execute("ROLLBACK")
        other.close()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "full.db") as store:
        store.put([entry(n) for n in range(10)])
        pages = store._file.value("PRAGMA page_count")
        store._file.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(nm.StoreError, match=r"full\.db.*full"):
            store.put([entry(n) for n in range(10, 2000)])
        assert len(store.list()) == 10
        assert len(store.search_vector(entry(4).embedding, limit=99, min_score=-2)) == 10
        assert store.check() == []


def make_foreign(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("not a database, but long enough to look like one\n" * 50)
    elif kind == "another program's":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE notes (id)")
        connection.close()
    elif kind == "duckdb":
        import duckdb

        duckdb.connect(str(path)).close()
    elif kind == "newer layout":
        SQLiteStore(path).close()
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {sqlite_schema.SCHEMA_VERSION + 1}")
        connection.close()
    elif kind == "folder":
        path.mkdir()
    elif kind == "truncated":
        with SQLiteStore(path) as store:
            store.put([entry(n) for n in range(500)])
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("text", "not a database"),
        ("another program's", "another program"),
        ("duckdb", "open it as duckdb:"),
        ("newer layout", "upgrade nousmem"),
        ("folder", "it is a folder"),
        ("truncated", "malformed|damaged"),
    ],
)
def test_a_file_that_is_no_store_is_one_clear_error(
    tmp_path: Path, kind: str, message: str
) -> None:
    path = tmp_path / "given.db"
    make_foreign(path, kind)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(nm.StoreError, match=message) as caught:  # noqa: PT012
        store = SQLiteStore(path)
        store.check()
    assert "given.db" in str(caught.value)
    if kind != "truncated":
        assert (path.read_bytes() if path.is_file() else b"") == before


@pytest.mark.parametrize(
    ("path", "why"),
    [("/proc/nousmem.db", ""), ("/no/such/folder/memories.db", "no folder /no/such/folder")],
)
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_place_that_cannot_be_written_is_one_clear_error(kind: str, path: str, why: str) -> None:
    with pytest.raises(nm.StoreError, match=path) as caught:
        nm.open_store(f"{kind}:{path}")
    assert why in str(caught.value)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_store_that_may_only_be_read_says_what_to_do(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shared" / "memories"
    path.parent.mkdir()
    with nm.open_store(f"{kind}:{path}") as store:
        store.put([entry(1)])
    path.chmod(0o444)
    path.parent.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda one, _: Path(one) not in (path, path.parent))
    assert "may only be read" in file_faults.reason(str(path), kind=kind)
    if os.geteuid() != 0:  # whom no file mode stops
        with pytest.raises(nm.StoreError, match=r"may only be read.*copy it to a folder"):
            nm.open_store(f"{kind}:{path}").list()
    path.parent.chmod(0o755)


FULL = """
    import resource, signal, sys
    import nousmem as nm

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = nm.open_store(sys.argv[1])
    store.put([nm.Entry("kept", id="kept")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
    try:
        for batch in range(400):
            store.put([nm.Entry(f"{batch} {n} " + "x" * 500) for n in range(200)])
    except nm.StoreError as error:
        print(error)
    print(len(store.list()) % 200, len(store.search_text("kept")), store.check())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_disk_that_fills_up_is_named_as_the_cause(tmp_path: Path, kind: str) -> None:
    ran = run_child(FULL, f"{kind}:{tmp_path / 'full.db'}")
    error, after = ran.stdout.splitlines()
    assert "full.db" in error
    assert "rollback" not in error.lower()
    assert "full" in error.partition("full.db")[2] or "too large" in error or "I/O" in error
    assert after == "1 1 []"


def test_a_file_of_the_other_kind_is_named(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "memories.db").close()
    with pytest.raises(nm.StoreError, match="open it as sqlite:"):
        nm.open_store(f"duckdb:{tmp_path / 'memories.db'}")


def test_a_damaged_file_says_what_can_be_done(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with SQLiteStore(path) as store:
        store.put([entry(n) for n in range(500)])
    content = bytearray(path.read_bytes())
    start, end = len(content) // 5, len(content) * 4 // 5
    content[start:end] = b"\xaa" * (end - start)
    path.write_bytes(content)
    with SQLiteStore(path) as store, pytest.raises(nm.StoreError, match="restore a backup"):
        store.list()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "closed.db")
    store.close()
    store.close()
    with pytest.raises(nm.StoreError, match="closed"):
        store.list()


def test_an_older_layout_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "older.db"
    with SQLiteStore(path) as store:
        store.put([entry(n) for n in range(5)])
    version = sqlite_schema.SCHEMA_VERSION
    for module in (sqlite_schema, sqlite_file):
        monkeypatch.setattr(module, "SCHEMA_VERSION", version + 1)
    monkeypatch.setitem(
        sqlite_schema.MIGRATIONS, version, "CREATE TABLE later (x);\nCREATE TABLE more (x);"
    )
    with SQLiteStore(path) as store:
        assert len(store.list()) == 5
        assert store._file.value("PRAGMA user_version") == version + 1
        assert store._file.value("SELECT count(*) FROM later") == 0
    monkeypatch.setitem(sqlite_schema.MIGRATIONS, version + 1, "CREATE TABLE broken (")
    monkeypatch.setattr(sqlite_schema, "SCHEMA_VERSION", version + 2)
    monkeypatch.setattr(sqlite_file, "SCHEMA_VERSION", version + 2)
    monkeypatch.setitem(sqlite_schema.MIGRATIONS, version + 1, "CREATE TABLE fine (x);\nSELECT no;")
    with pytest.raises(nm.StoreError):
        SQLiteStore(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == version + 1
        assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'fine'").fetchall()
    connection.close()


DAMAGES = {
    "index terms": "UPDATE entries SET terms = 'something else' WHERE seq = 2",
    "word index": "INSERT INTO words (words, rowid, terms) VALUES ('delete', 1, 'memori')",
    "without an entry": "INSERT INTO vectors VALUES (999, x'00000000')",
    "another length": "UPDATE vectors SET vector = x'0000803f' WHERE seq = 3",
}


@pytest.mark.parametrize(("fault", "statement"), DAMAGES.items(), ids=DAMAGES.keys())
def test_check_finds_and_mends(tmp_path: Path, fault: str, statement: str) -> None:
    path = tmp_path / "damaged.db"
    with SQLiteStore(path) as store:
        store.put([entry(n) for n in range(1, 9)])
        assert store.check() == []
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    with SQLiteStore(path) as store:
        assert any(fault in found.what and not found.repaired for found in store.check())
        assert all(found.repaired for found in store.check(repair=True))
        assert store.check() == []
        assert len(store.search_text("memory", limit=50)) == 8


def secret_bytes(folder: Path) -> int:
    return sum(path.read_bytes().count(b"xylophone") for path in folder.iterdir())


def test_what_is_forgotten_is_gone_from_the_file(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "erased.db") as store:
        store.put([entry(n, user_id="bo") for n in range(50)])
        store.put(
            [
                nm.Entry(f"secret xylophone {n}", user_id="ada", embedding=np.ones(8))
                for n in range(50)
            ]
        )
        store.put([nm.Entry("xylophone of old", user_id="ada", superseded_at=NOW)])
        assert secret_bytes(tmp_path)
        assert store.forget(nm.Scope(user_id="ada")) == 51
        store.compact()
        assert secret_bytes(tmp_path) == 0
        assert len(store.list()) == 50
        assert store.search_text("xylophone") == []
        assert store.check() == []


def test_forgetting_everything_must_be_said() -> None:
    store = nm.open_store("sqlite::memory:")
    store.put([entry(1, user_id="ada"), entry(2, user_id="bo")])
    for scope in (nm.GLOBAL, {}, nm.Scope()):
        with pytest.raises(nm.InvalidScope, match="everything"):
            store.forget(scope)
    with pytest.raises(nm.InvalidScope, match="not both"):
        store.forget(nm.Scope(user_id="ada"), everything=True)
    assert store.forget(nm.GLOBAL, everything=True) == 2
    assert store.list() == []


def test_the_file_does_not_grow_without_end(tmp_path: Path) -> None:
    path = tmp_path / "grows.db"
    sizes = []
    with SQLiteStore(path) as store:
        for _ in range(3):
            store.put([entry(n) for n in range(400)])
            store.delete([f"e{n:05d}" for n in range(400)])
            store.compact()
            sizes.append(path.stat().st_size)
    assert sizes[2] <= sizes[0]


def test_threads_share_a_store() -> None:
    from concurrent.futures import ThreadPoolExecutor

    store = nm.open_store("sqlite::memory:")

    def work(at: int) -> int:
        store.put([entry(n) for n in range(at * 20, at * 20 + 20)])
        store.touch([f"e{at * 20:05d}"], now=NOW)
        return len(store.search_text("harbour2")) + len(store.search_vector(np.ones(8)))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(16)))
    assert len(store.list()) == 320


def test_signals_are_not_swallowed() -> None:
    """A KeyboardInterrupt in the middle of a write undoes it."""
    store = SQLiteStore()
    store.put([entry(1)])

    def interrupted():
        yield entry(2)
        os.kill(os.getpid(), signal.SIGINT)
        yield entry(3)

    with pytest.raises(KeyboardInterrupt):
        store.put(interrupted())
    assert [one.id for one in store.list()] == ["e00001"]
