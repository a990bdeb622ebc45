import json
import math
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nousmem.entry import Entry
from nousmem.errors import EmbeddingMismatch, InvalidParameter, StoreError
from nousmem.stores import _duckdb_bm25 as duckdb_bm25
from nousmem.stores._duckdb import DuckDBStore
from nousmem.stores._duckdb_schema import SCHEMA_VERSION
from nousmem.stores._rows import COLUMNS
from nousmem.stores.base import TouchStore, VectorStore
from nousmem.stores.text import analyse_document, analyse_query

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "doc_examples.json").read_text(encoding="utf-8")
)
T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)


KILLED_WHILE_LOADING = """
import os, signal, sys
from nousmem.entry import Entry
from nousmem.stores import _duckdb as duckdb, _duckdb_rows as duckdb_rows

path, text, transaction = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
store = duckdb.DuckDBStore(path, text=text)
make = lambda n: Entry(f"memory {n} of a load", id=f"e{n}", embedding=[1, n])
store.put([make(n) for n in range(200)])
insert = duckdb.insert_entries

def dies(connection, entries, *, first_seq):
    # The rows are there, their words and the end of the transaction are still to come.
    if not transaction:
        connection.execute("COMMIT")
    insert(connection, entries, first_seq=first_seq)
    os.kill(os.getpid(), signal.SIGKILL)

duckdb.insert_entries = dies
store.put([make(n) for n in range(150, 400)])
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memories.duckdb"


@pytest.fixture(params=["ilike", "bm25"])
def store(request):
    with DuckDBStore(text=request.param) as store:
        yield store


def entry(entry_id, content="zebra", **fields):
    return Entry(content, id=entry_id, **{"created_at": T0, **fields})


def found(store, query, **filters):
    return [(hit.id, score) for hit, score in store.search_text(query, **filters)]


def ids(hits):
    return [hit.id for hit, _ in hits]


def test_it_is_a_store_of_every_ability(store):
    assert isinstance(store, VectorStore)
    assert isinstance(store, TouchStore)


def test_unknown_text_mode():
    with pytest.raises(InvalidParameter, match="ilike, bm25, got 'fts'"):
        DuckDBStore(text="fts")


class TestFiles:
    def test_a_file_that_is_no_database(self, path):
        path.write_text("dear diary " * 1000)
        with pytest.raises(StoreError, match=r"memories\.duckdb.*not a valid DuckDB"):
            DuckDBStore(path)

    @pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet", "db", "txt"])
    def test_a_data_file_is_no_store_and_left_alone(self, tmp_path, ending):
        path = tmp_path / f"memories.{ending}"
        path.write_text('{"content": "tea"}\n')
        with pytest.raises(StoreError, match=rf"memories\.{ending}"):
            DuckDBStore(path)
        assert path.read_text() == '{"content": "tea"}\n'

    @pytest.mark.parametrize("name", ["memories", "memories.json", "memories.parquet", ".duckdb"])
    def test_an_unusual_name_for_a_store(self, tmp_path, name):
        with DuckDBStore(tmp_path / name) as store:
            store.put([entry("a")])
        with DuckDBStore(tmp_path / name) as store:
            assert store.get("a") == entry("a")

    def test_a_folder_that_does_not_exist(self, tmp_path):
        with pytest.raises(StoreError, match=r"cannot open the DuckDB store .*nowhere"):
            DuckDBStore(tmp_path / "nowhere" / "memories.duckdb")

    @pytest.mark.parametrize("table", ["sales", "entries"])
    def test_a_file_of_another_program_is_left_alone(self, path, table):
        with duckdb.connect(str(path)) as other:
            other.execute(f"CREATE TABLE {table} (amount INTEGER)")
        with pytest.raises(StoreError, match="another program"):
            DuckDBStore(path)
        with duckdb.connect(str(path)) as other:
            assert other.execute("SHOW TABLES").fetchall() == [(table,)]

    def test_a_newer_layout(self, path):
        DuckDBStore(path).close()
        with duckdb.connect(str(path)) as other:
            other.execute("UPDATE nousmem SET layout = layout + 1")
        with pytest.raises(StoreError, match=rf"layout {SCHEMA_VERSION + 1}.*upgrade nousmem"):
            DuckDBStore(path)
        duckdb.connect(str(path)).close()

    def test_a_second_process_gets_one_clear_error(self, path):
        code = (
            "import sys\n"
            "from nousmem.errors import StoreError\n"
            "from nousmem.stores._duckdb import DuckDBStore\n"
            "try:\n    DuckDBStore(sys.argv[1])\n"
            "except StoreError as error:\n    print(error)\n"
        )
        with DuckDBStore(path):
            done = subprocess.run(
                [sys.executable, "-c", code, str(path)],
                capture_output=True,
                text=True,
                check=True,
                timeout=60,  # it says so at once; the rest is for a busy machine
            )
        assert f"{path} is open in another process" in done.stdout
        assert "close it there" in done.stdout

    @pytest.mark.parametrize("kept", [0.5, 0.9])
    def test_a_truncated_file(self, path, kept):
        with DuckDBStore(path) as store:
            store.put([entry(f"{n}", f"note {n} " * 50) for n in range(2000)])
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * kept)])
        with pytest.raises(StoreError, match=r"memories\.duckdb"):  # noqa: PT012
            store = DuckDBStore(path)
            store.check()

    @pytest.mark.parametrize("transaction", [True, False], ids=["as it is", "no transaction"])
    @pytest.mark.parametrize("text", ["ilike", "bm25"])
    def test_a_killed_load_leaves_whole_batches(self, path, text, transaction):
        died = subprocess.run(
            [sys.executable, "-c", KILLED_WHILE_LOADING, str(path), text, str(transaction)],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert died.returncode == -signal.SIGKILL, died.stderr
        with DuckDBStore(path, text=text) as store:
            listed = len(store.list())
            assert (listed == 200) is transaction
            if transaction:
                assert store.check() == []
                assert len(store.search_vector([1, 3], limit=999)) == 200
                assert len(store.search_text("memory", limit=999)) == 200
                assert store.put([entry("new", embedding=[1, 2])]) == 1

    @pytest.mark.parametrize("text", ["ilike", "bm25"])
    def test_a_closed_store_says_so(self, text):
        store = DuckDBStore(text=text)
        store.close()
        for operation in [
            lambda: store.put([entry("a")]),
            lambda: store.get("a"),
            lambda: store.update("a", importance=1),
            lambda: store.delete(["a"]),
            lambda: store.touch(["a"], now=T0),
            store.list,
            lambda: store.search_text("zebra"),
            lambda: store.search_vector([1, 0]),
        ]:
            with pytest.raises(StoreError, match="the store is closed"):
                operation()


class TestAnalytics:
    def test_the_table_has_natural_types(self, path):
        with DuckDBStore(path) as store:
            store.put([entry("a")])
            with duckdb.connect(str(path)) as other:
                columns = other.execute("DESCRIBE entries").fetchall()
        assert [row[0] for row in columns] == [*COLUMNS, "embedding", "seq"]
        types = {row[0]: row[1] for row in columns}
        assert types == {
            **dict.fromkeys(COLUMNS, "VARCHAR"),
            "importance": "DOUBLE",
            "evergreen": "BOOLEAN",
            "metadata": "JSON",
            "access_count": "BIGINT",
            "created_at": "TIMESTAMP",
            "updated_at": "TIMESTAMP",
            "last_accessed_at": "TIMESTAMP",
            "superseded_at": "TIMESTAMP",
            "embedding": "FLOAT[]",
            "seq": "BIGINT",
        }

    def test_pandas_reads_it_beside_the_open_store(self, path):
        with DuckDBStore(path) as store:
            store.put(
                [
                    entry("a", importance=0.25, metadata={"room": "kitchen"}, embedding=[3, 4]),
                    entry("b", importance=0.75, type="episodic", evergreen=True),
                ]
            )
            with duckdb.connect(str(path)) as other:
                frame = other.sql(
                    "SELECT id, type, importance, evergreen, metadata->>'room' AS room, "
                    "list_dot_product(embedding, embedding) AS norm, created_at "
                    "FROM entries ORDER BY id"
                ).df()
        assert frame["id"].tolist() == ["a", "b"]
        assert frame["type"].tolist() == ["semantic", "episodic"]
        assert frame["importance"].tolist() == [0.25, 0.75]
        assert frame["evergreen"].tolist() == [False, True]
        assert frame["room"][0] == "kitchen"
        assert frame["norm"][0] == 25.0
        assert frame["created_at"][0].to_pydatetime() == T0.replace(tzinfo=None)

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1582, 10, 4, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    )
    def test_instants_are_exact(self, store, moment):
        given = Entry("zebra", id="a", created_at=moment, superseded_at=moment)
        store.put([given])
        assert store.get("a") == given
        store.touch(["a"], now=moment)
        assert store.get("a").last_accessed_at == moment
        one = timedelta(microseconds=1)
        if moment.year > 1:
            assert store.list(as_of=moment - one, include_superseded=True) == []
        assert len(store.list(as_of=moment, include_superseded=True)) == 1


class TestWrites:
    def test_an_id_put_again_in_one_write_is_one_row(self, path):
        with DuckDBStore(path, text="bm25") as store:
            for n in range(3):
                store.put(
                    [entry("a", f"zebra number{n}"), entry("b"), entry("a", f"lynx number{n}")]
                )
                store.update("b", content=f"mosquito number{n}")
            with duckdb.connect(str(path)) as other:
                rows = other.execute("SELECT id, content FROM entries ORDER BY id").fetchall()
                assert rows == [("a", "lynx number2"), ("b", "mosquito number2")]
                count = "SELECT count(*), count(DISTINCT seq) FROM "
                assert other.execute(f"{count} documents").fetchall() == [(2, 2)]
                assert other.execute(f"{count} postings").fetchall() == [(4, 2)]

    @pytest.mark.parametrize("fault", [RuntimeError("disk full"), KeyboardInterrupt()])
    def test_a_write_that_fails_leaves_nothing(self, monkeypatch, fault):
        store = DuckDBStore(text="bm25")
        store.put([entry("a", embedding=[1, 0]), entry("b", embedding=[0, 1])])
        assert ids(store.search_vector([1, 1])) == ["b", "a"]

        def fail(*_):
            raise fault

        with monkeypatch.context() as patched:
            patched.setattr(duckdb_bm25, "index_documents", fail)
            with pytest.raises(type(fault)):
                store.put([entry("a", "lynx", embedding=[0, 1]), entry("c", embedding=[1, 1])])
        assert store.list() == [entry("a"), entry("b")]
        assert found(store, "lynx") == []
        assert ids(store.search_vector([1, 0])) == ["a"]
        store.put([entry("c", embedding=[1, 1])])
        assert ids(store.search_vector([1, 1])) == ["c", "b", "a"]
        assert ids(store.search_text("zebra")) == ["c", "b", "a"]

    def test_own_writes_change_the_matrix_in_place(self, store):
        store.put([entry("a", embedding=[1, 0])])
        store.search_vector([1, 0])
        index = store._index
        store.put([entry("b", embedding=[0, 1])])
        store.touch(["a"], now=T0)
        store.update("a", embedding=[1, 1])
        store.put([entry("c")])
        store.delete(["c"])
        assert store.search_vector([0, 1], min_score=-1)[0][0].id == "b"
        assert store._index is index
        assert len(index) == 2

    def test_an_embedder_is_forgotten_with_its_last_vector(self, path):
        with DuckDBStore(path) as store:
            store.put([entry("a", embedding=[1, 0], embedder="first"), entry("b")])
            with pytest.raises(EmbeddingMismatch):
                store.put([entry("c", embedding=[1, 0, 0], embedder="second")])
            store.put([entry("a", embedding=[1, 0, 0], embedder="second")])
        with DuckDBStore(path) as store:
            with pytest.raises(EmbeddingMismatch, match="'second'"):
                store.search_vector([1, 0, 0], embedder="first")
            assert ids(store.search_vector([1, 0, 0], embedder="second")) == ["a"]

    def test_hits_of_two_stores_on_one_file(self, path):
        with DuckDBStore(path) as one, DuckDBStore(path, text="bm25") as two:
            one.put([entry("a", embedding=[1, 0])])
            assert ids(one.search_vector([1, 0])) == ["a"]
            assert ids(two.search_vector([1, 0])) == ["a"]
            two.put([entry("b", "a lynx", embedding=[1, 0])])
            assert ids(one.search_vector([1, 0])) == ["b", "a"]
            one.delete(["a"])
            one.put([entry("c", "the lynx", embedding=[1, 0])])
            assert ids(two.search_vector([1, 0])) == ["c", "b"]
            assert ids(two.search_text("lynx zebra")) == ["c", "b"]
            assert ids(one.search_text("lynx")) == ["c", "b"]
            two.put([entry("d", embedding=[1, 0])])
            one.put([entry("e", embedding=[1, 0])])
            assert ids(one.search_vector([1, 0])) == ["e", "d", "c", "b"]

    def test_writers_wait_for_each_other(self, path):
        stores = [DuckDBStore(path), DuckDBStore(path, text="bm25")]
        faults = []

        def work(n):
            try:
                for m in range(6):
                    stores[n % 2].put([entry(f"{n}-{m}", embedding=[1, n]), entry("shared")])
                    stores[n % 2].search_vector([1, 0])
                    stores[n % 2].search_text("zebra")
            except Exception as error:  # noqa: BLE001  # shown by the assertion below
                faults.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        wanted = {f"{n}-{m}" for n in range(4) for m in range(6)}
        for store in stores:
            assert sorted(e.id for e in store.list()) == sorted({*wanted, "shared"})
            assert set(ids(store.search_vector([1, 0], limit=100))) == wanted
            assert len(store.search_text("zebra", limit=100)) == 25
            store.close()

    def test_a_writer_that_waits_too_long_says_so(self, path, monkeypatch):
        monkeypatch.setattr("nousmem.stores._duckdb._ATTEMPTS", 2)
        with DuckDBStore(path) as one, DuckDBStore(path) as two:
            with one._writing(), pytest.raises(StoreError, match="has been writing"):
                two.put([entry("a")])
            assert two.put([entry("a")]) == 1
            assert one.get("a") == entry("a")


class TestLiteral:
    @pytest.mark.parametrize(
        "point", GOLDEN["duckdb_ilike_formula"], ids=lambda p: ascii(p["query"])
    )
    def test_the_score_is_the_originals(self, point):
        store = DuckDBStore()
        store.put([entry("a", point["content"])])
        hits = found(store, point["query"])
        if point["score"]:
            assert hits == [("a", pytest.approx(point["score"], abs=1e-12))]
        else:
            # The original returns some of these with 0, which is not above min_score.
            assert hits == []

    def test_scores_come_before_the_cut(self):
        store = DuckDBStore()
        rest = "words about something else " * 20
        store.put(
            [*(entry(f"long{n:02}", f"{rest} tea") for n in range(12)), entry("exact", "tea")]
        )
        assert found(store, "tea", limit=1) == [("exact", 1.0)]
        assert [hit for hit, _ in found(store, "tea", limit=3)] == ["exact", "long11", "long10"]

    def test_wildcards_and_spaces_are_themselves(self):
        store = DuckDBStore()
        store.put([entry("a", "100% of a_b in C:\\temp"), entry("b", "1000 of axb in C:temp")])
        for query in ["100%", "A_B", "c:\\TEMP", "% of", "\\"]:
            assert ids(store.search_text(query)) == ["a"], query
        assert ids(store.search_text("of  a")) == []

    def test_lengths_are_graphemes(self):
        store = DuckDBStore()
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
        store.put([entry("a", "\r\n" * 18 + "tea"), entry("b", family * 37 + "tea")])
        hits = dict(found(store, "tea"))
        assert hits["a"] == 1.0
        assert hits["b"] == pytest.approx(0.75)


class TestWords:
    TEXTS = (
        "the zebra crossed the river",
        "a zebra and a zebra and a lynx",
        "rivers, lynxes and mosquitoes",
        "mosquito bites itch; mosquitoes bite at night by the river",
        "nothing to see here",
        "...",
        "用户喜欢混合检索",
    )

    @pytest.mark.parametrize("query", ["zebra river", "the mosquito", "lynx unicorn", "检索 zebra"])
    def test_scores_agree_with_the_formula(self, query):
        store = DuckDBStore(text="bm25")
        store.put([entry(f"{n}", text) for n, text in enumerate(self.TEXTS)])
        documents = [Counter(analyse_document(text)) for text in self.TEXTS]
        mean = sum(document.total() for document in documents) / len(documents)
        idf = {}
        for term in dict.fromkeys(analyse_query(query)):
            df = sum(term in document for document in documents)
            idf[term] = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5)) if df else None
        rarest = max(weight for weight in idf.values() if weight is not None)
        ideal = sum(rarest if weight is None else weight for weight in idf.values())
        wanted = {}
        for n, document in enumerate(documents):
            bm25 = sum(
                weight
                * document[term]
                * 2.2
                / (document[term] + 1.2 * (0.25 + 0.75 * document.total() / mean))
                for term, weight in idf.items()
                if weight is not None
            )
            if bm25:
                wanted[f"{n}"] = 1 - 4 ** -(bm25 / ideal)
        assert len(wanted) > 1
        assert dict(found(store, query)) == pytest.approx(wanted, abs=1e-12)

    def test_every_word_once_at_average_length_is_three_quarters(self):
        store = DuckDBStore(text="bm25")
        store.put(
            [entry("a", "zebra lynx"), entry("b", "mosquito river"), entry("c", "zebra tree")]
        )
        assert dict(found(store, "zebra lynx"))["a"] == pytest.approx(0.75)

    def test_equal_texts_have_equal_scores_whenever_they_came(self):
        store = DuckDBStore(text="bm25")
        text = " ".join(f"word{n}" for n in range(12))
        names = ["m", "z", "a", "q", "c"]
        for name in names:
            store.put([entry(name, text), entry(f"{name}-other", f"word3 of {name}")])
        query = " ".join(f"word{n}" for n in reversed(range(12)))
        hits = found(store, query, limit=5)
        assert [hit for hit, _ in hits] == sorted(names, reverse=True)
        assert len({score for _, score in hits}) == 1
        assert found(store, query, limit=2) == hits[:2]

    def test_the_filter_comes_before_the_cut(self):
        store = DuckDBStore(text="bm25")
        store.put([entry(f"{n:02}", "zebra", user_id="alice") for n in range(20)])
        store.put([entry("weak", "a zebra among many other animals", user_id="bob")])
        assert ids(store.search_text("zebra", limit=1, scope={"user_id": "bob"})) == ["weak"]
        whole = dict(found(store, "zebra", limit=30))
        assert found(store, "zebra", scope={"user_id": "bob"}) == [("weak", whole["weak"])]

    def test_a_change_of_mode_never_leaves_a_stale_index(self, path):
        with DuckDBStore(path, text="bm25") as store:
            store.put(
                [entry("a", "red zebra"), entry("b", "green zebra"), entry("c", "blue zebra")]
            )
        with DuckDBStore(path) as store:
            store.update("a", content="red lynx")
            store.delete(["b"])
            store.put([entry("b", "yellow lynx"), entry("d", "white zebra")])
        with DuckDBStore(path, text="bm25") as changed, DuckDBStore(text="bm25") as fresh:
            fresh.put(changed.list())
            for query in ["zebra", "lynx", "red green blue", "yellow white"]:
                assert found(changed, query) == found(fresh, query)
            assert sorted(ids(changed.search_text("zebra lynx"))) == ["a", "b", "c", "d"]
            assert ids(changed.search_text("green")) == []

    def test_no_postings_are_kept_unless_asked_for(self, path):
        with DuckDBStore(path) as store:
            store.put([entry("a")])
            with duckdb.connect(str(path)) as other:
                assert other.execute("SELECT count(*) FROM postings").fetchall() == [(0,)]

    def test_postings_of_many_texts_match_those_written_singly(self, path):
        rng = np.random.default_rng(5)
        vocabulary = [f"word{n}" for n in range(30)]
        entries = [
            entry(f"{n:03}", " ".join(rng.choice(vocabulary, size=rng.integers(1, 9))))
            for n in range(60)
        ]
        with DuckDBStore(text="bm25") as bulk, DuckDBStore(text="bm25") as single:
            bulk.put(entries)
            for one in entries:
                single.put([one])
            for query in ["word1 word2 word3", "word29", " ".join(vocabulary)]:
                assert found(bulk, query) == found(single, query)
