"""Forgetting, compacting and checking a DuckDB file, and what is in its bytes."""

import secrets
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nousmem.entry import Entry
from nousmem.errors import InvalidScope, StoreError
from nousmem.scope import GLOBAL, Scope
from nousmem.stores import _duckdb_upkeep as duckdb_upkeep
from nousmem.stores._duckdb import DuckDBStore
from nousmem.stores._duckdb_schema import SCHEMA_VERSION
from nousmem.stores.base import KeptStore

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
MODES = ["ilike", "bm25"]


@pytest.fixture(params=MODES)
def text(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "o'hara's \"own\" memories.duckdb"


def entry(number: int, **fields) -> Entry:
    rng = np.random.default_rng(number)
    given = {"id": f"e{number:04}", "created_at": T0, "embedding": rng.normal(size=4), **fields}
    return Entry(f"memory number {number} of harbour{number % 7}", **given)


def ids(hits):
    return sorted(hit.id for hit, _ in hits)


def occurrences(folder: Path, token: str) -> int:
    """Return how often a token stands in the files of a folder, logs and copies included."""
    return sum(file.read_bytes().count(token.encode()) for file in folder.iterdir())


def test_it_can_be_looked_after(text):
    with DuckDBStore(text=text) as store:
        assert isinstance(store, KeptStore)


class TestForget:
    def test_a_scope_is_erased_and_nothing_else(self, text):
        with DuckDBStore(text=text) as store:
            store.put([entry(n, user_id="ada" if n % 3 else "bo") for n in range(30)])
            store.put([entry(40, user_id="ada", superseded_at=T0), entry(41)])
            assert len(store.search_vector([1, 0, 0, 0], limit=99, min_score=-2)) == 31
            assert store.forget(Scope(user_id="ada")) == 21
            left = [f"e{n:04}" for n in range(0, 30, 3)] + ["e0041"]
            assert [e.id for e in store.list(include_superseded=True)] == left
            assert ids(store.search_text("memory", limit=99)) == left
            assert ids(store.search_vector([1, 0, 0, 0], limit=99, min_score=-2)) == left
            assert store.forget({"user_id": None}) == 1
            assert store.forget(Scope(user_id="nobody")) == 0
            assert store.check() == []

    def test_forgetting_everything_must_be_said(self):
        with DuckDBStore() as store:
            store.put([entry(1, user_id="ada"), entry(2)])
            for scope in (GLOBAL, {}, Scope()):
                with pytest.raises(InvalidScope, match="everything"):
                    store.forget(scope)
            with pytest.raises(InvalidScope, match="not both"):
                store.forget(Scope(user_id="ada"), everything=True)
            assert len(store.list()) == 2
            assert store.forget(GLOBAL, everything=True) == 2
            # The embedder went with the last vector.
            store.put([entry(3, embedding=[1, 2])])


class TestCompact:
    @pytest.mark.parametrize("compacted", [True, False], ids=["as it is", "without compact"])
    def test_what_is_forgotten_is_in_no_byte(self, tmp_path, path, text, compacted):
        token = secrets.token_hex(24)
        with DuckDBStore(path, text=text) as store:
            store.put([entry(n, user_id="bo") for n in range(300)])
            secret = [
                Entry(f"{token} {n}", user_id="ada", metadata={"note": token}) for n in range(50)
            ]
            store.put([*secret, Entry(f"old {token}", user_id="ada", superseded_at=T0)])
            assert occurrences(tmp_path, token)
            store._connection.execute("CHECKPOINT")
            assert occurrences(tmp_path, token)
            assert store.forget(Scope(user_id="ada")) == 51
            if compacted:
                store.compact()
            else:
                store._connection.execute("CHECKPOINT")
            assert (occurrences(tmp_path, token) == 0) is compacted
            assert store.search_text(token) == []
            assert len(store.list()) == 300
            assert store.check() == []
        assert (occurrences(tmp_path, token) == 0) is compacted
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_nothing_changes_but_the_file(self, path, text):
        with DuckDBStore(path, text=text) as store:
            given = [entry(n, metadata={"n": [n, "Zoë"]}, embedder="m") for n in range(50)]
            store.put(given)
            store.delete(["e0007"])
            store._connection.execute("CREATE VIEW mine AS SELECT count(*) AS n FROM entries")
            before = store.list(), store.search_text("harbour3"), store.search_vector([1, 0, 0, 0])
            vectors = [e.embedding.tobytes() for e in store.list()]
            store.compact()
            assert before == (
                store.list(),
                store.search_text("harbour3"),
                store.search_vector([1, 0, 0, 0]),
            )
            assert [e.embedding.tobytes() for e in store.list()] == vectors
            store.put([entry(7), entry(99)])
            assert store._connection.execute("FROM mine").fetchall() == [(51,)]
            with duckdb.connect(str(path)) as other:
                assert other.execute("FROM mine").fetchall() == [(51,)]
        with DuckDBStore(path, text=text) as store:
            assert len(store.list()) == 51
            assert store.check() == []

    def test_the_file_does_not_grow_without_end(self, path):
        sizes = []
        with DuckDBStore(path, text="bm25") as store:
            for _ in range(3):
                store.put([entry(n) for n in range(400)])
                store.delete([f"e{n:04}" for n in range(400)])
                store.compact()
                sizes.append(path.stat().st_size)
        assert sizes[0] >= sizes[1] >= sizes[2]

    @pytest.mark.parametrize("kind", ["store", "connection"])
    def test_a_file_that_is_open_twice_is_left_alone(self, tmp_path, path, kind):
        with DuckDBStore(path) as store:
            store.put([entry(n) for n in range(5)])
            other = DuckDBStore(path) if kind == "store" else duckdb.connect(str(path))
            with other, pytest.raises(StoreError, match=r"memories\.duckdb.*close it there"):
                store.compact()
            assert len(store.list()) == 5
            assert store.put([entry(9)]) == 1
            store.compact()
            assert len(store.list()) == 6
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_what_is_written_after_the_copy_is_not_lost(self, path, monkeypatch):
        write_copy = duckdb_upkeep._write_copy

        def overtaken(connection, copy):
            revision = write_copy(connection, copy)
            with DuckDBStore(path) as other:
                other.put([entry(9)])
            return revision

        with DuckDBStore(path) as store:
            store.put([entry(n) for n in range(5)])
            with monkeypatch.context() as patched:
                patched.setattr(duckdb_upkeep, "_write_copy", overtaken)
                with pytest.raises(StoreError, match="close it there"):
                    store.compact()
            assert len(store.list()) == 6

    def test_a_copy_that_fails_leaves_the_file_as_it_was(self, tmp_path, path, monkeypatch):
        with DuckDBStore(path) as store:
            store.put([entry(n) for n in range(5)])

            def full(*_):
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patched:
                patched.setattr(Path, "replace", full)
                with pytest.raises(StoreError, match=r"memories\.duckdb: No space left"):
                    store.compact()
            assert len(store.list()) == 5
            assert store.put([entry(9)]) == 1
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_a_copy_left_by_a_killed_process_is_replaced(self, tmp_path, path):
        path.with_name(path.name + ".compacting").write_text("half a copy")
        with DuckDBStore(path) as store:
            store.put([entry(1)])
            store.compact()
            assert len(store.list()) == 1
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_a_link_and_the_rights_of_a_file_stay(self, tmp_path, path):
        link = tmp_path / "link.duckdb"
        with DuckDBStore(path) as store:
            store.put([entry(1)])
        path.chmod(0o600)
        link.symlink_to(path)
        with DuckDBStore(link) as store:
            store.compact()
        assert link.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o600
        with DuckDBStore(path) as store:
            assert len(store.list()) == 1

    def test_a_store_in_memory_has_nothing_to_compact(self):
        with DuckDBStore() as store:
            store.put([entry(1)])
            store.compact()
            assert len(store.list()) == 1

    def test_a_closed_store_says_so(self, path):
        store = DuckDBStore(path)
        store.close()
        for operation in (store.compact, store.check, lambda: store.forget({"user_id": "ada"})):
            with pytest.raises(StoreError, match="the store is closed"):
                operation()
        duckdb.connect(str(path)).close()


DAMAGES = {
    "id of another": "INSERT INTO entries SELECT * REPLACE (900 AS seq) FROM entries "
    "WHERE id = 'e0002'",
    "number of another": "UPDATE entries SET seq = 3 WHERE id = 'e0005'",
    "facts": "UPDATE nousmem SET next_seq = 2",
    "facts about": "UPDATE nousmem SET dimension = NULL, embedder = NULL",
    "another length": "UPDATE entries SET embedding = [1, 2, 3] WHERE id = 'e0003'",
    "length or embedder": "UPDATE entries SET embedder = 'other' WHERE id = 'e0003'",
    "without direction": "UPDATE entries SET embedding = [0, 0, 0, 0] WHERE id = 'e0003'",
    "or without direction": "UPDATE entries SET embedding = [1, 'nan'::FLOAT, 0, 0] "
    "WHERE id = 'e0003'",
    "length or": "UPDATE entries SET embedding = [1, NULL, 0, 0] WHERE id = 'e0003'",
    "without a vector": "UPDATE entries SET embedding = NULL WHERE id = 'e0003'",
}
WORD_DAMAGES = {
    "another text": "UPDATE entries SET content = 'memory of something else' WHERE id = 'e0004'",
    "a lost posting": "DELETE FROM postings WHERE rowid = (SELECT max(rowid) FROM postings)",
    "a wrong frequency": "UPDATE postings SET tf = 7 WHERE seq = 4",
    "an orphan": "INSERT INTO postings VALUES (1, 700, 1, 1)",
    "an orphan document": "INSERT INTO documents VALUES (700, 1)",
    "a document twice": "INSERT INTO documents FROM documents WHERE seq = 4",
}


class TestCheck:
    def damaged(self, path: Path, statement: str, text: str) -> DuckDBStore:
        with DuckDBStore(path, text="bm25") as store:
            store.put([entry(n, embedder="m") for n in range(1, 9)])
            assert store.check() == []
        with duckdb.connect(str(path)) as other:
            other.execute(statement)
        return DuckDBStore(path, text=text)

    @pytest.mark.parametrize(("fault", "statement"), DAMAGES.items(), ids=DAMAGES.keys())
    def test_check_finds_and_mends(self, path, fault, statement):
        with self.damaged(path, statement, "bm25") as store:
            (first, *_) = faults = store.check()
            assert fault in first.what
            assert first.count >= 1
            assert store.check() == faults, "looking changes nothing"
            mended = store.check(repair=True)
            assert {one.what for one in mended} >= {one.what for one in faults}
            assert all(one.repaired for one in mended)
            assert store.check() == []
            assert ids(store.search_text("memory", limit=50)) == [f"e{n:04}" for n in range(1, 9)]
            assert len(store.search_vector([1, 0, 0, 0], min_score=-2)) >= 7
            store.put([entry(n, embedder="m") for n in (1, 20)])
            assert store.check() == []

    @pytest.mark.parametrize("statement", WORD_DAMAGES.values(), ids=WORD_DAMAGES.keys())
    def test_check_compares_words_with_texts(self, path, text, statement):
        with self.damaged(path, statement, text) as store:
            (fault,) = store.check()
            assert "words in the index" in fault.what
            assert (fault.count, fault.repaired) == (1, False)
            assert [one.repaired for one in store.check(repair=True)] == [True]
            assert store.check() == []
        with DuckDBStore(path, text="bm25") as mended, DuckDBStore(text="bm25") as fresh:
            fresh.put(mended.list())
            for query in ("memory", "harbour4 number", "something"):
                assert mended.search_text(query, limit=50) == fresh.search_text(query, limit=50)

    def test_the_newest_of_two_rows_is_kept(self, path):
        statement = DAMAGES["id of another"].replace("REPLACE (", "REPLACE ('newest' AS content, ")
        with self.damaged(path, statement, "bm25") as store:
            store.check(repair=True)
            assert store.get("e0002").content == "newest"
            assert len(store.list()) == 8

    def test_a_mended_vector_is_no_longer_searched(self, path):
        with self.damaged(path, "UPDATE entries SET importance = 0", "ilike") as store:
            assert len(store.search_vector([1, 0, 0, 0], min_score=-2)) == 8
            store._connection.execute(DAMAGES["length or embedder"])
            store.check(repair=True)
            assert len(store.search_vector([1, 0, 0, 0], min_score=-2)) == 7
            assert store.get("e0003").embedding is None

    def test_a_repair_that_fails_changes_nothing(self, path, monkeypatch):
        with self.damaged(path, DAMAGES["facts"], "ilike") as store:
            with monkeypatch.context() as patched:
                patched.setattr(
                    "nousmem.stores._duckdb_upkeep.bm25.index_documents", lambda *_, **__: 1 / 0
                )
                with pytest.raises(ZeroDivisionError):
                    store.check(repair=True)
            assert [fault.repaired for fault in store.check()] == [False]

    def test_entries_not_yet_indexed_are_no_fault(self, path):
        with DuckDBStore(path, text="bm25") as store:
            store.put([entry(1)])
        with DuckDBStore(path) as store:
            store.put([entry(2)])
            assert store.check() == []

    def test_extreme_vectors_are_no_fault(self):
        with DuckDBStore() as store:
            extremes = [[3e38, 3e38, 0, 0], [1e-44, 0, 0, 0], [-3e38, 1e-44, 0, 0]]
            store.put([entry(n, embedding=vector) for n, vector in enumerate(extremes)])
            assert store.check() == []

    def test_vectors_set_by_hand_may_join_and_stay(self):
        with DuckDBStore() as store:
            store.put([entry(1, embedder="m"), entry(2)])
            store.delete(["e0001"])
            assert store.check() == []

    def test_the_row_of_facts_is_needed(self, path):
        DuckDBStore(path).close()
        with duckdb.connect(str(path)) as other:
            other.execute(f"INSERT INTO nousmem VALUES ({SCHEMA_VERSION}, 0, 1, NULL, NULL)")
        with pytest.raises(StoreError, match=r"damaged.*2 rows instead of 1"):
            DuckDBStore(path)
