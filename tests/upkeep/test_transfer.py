"""Entries to files and back: nothing may be lost, and a bad file is one clear error."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nousmem as nm
from nousmem.entry import ENTRY_FIELDS
from nousmem.upkeep.transfer import read_entries, write_entries

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
KINDS = [".jsonl", ".parquet"]
STORES = ["memory:", "sqlite::memory:", "duckdb::memory:"]
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

HISTORY = [
    nm.Entry(
        "Ada drinks tea",
        id="old",
        user_id="ada",
        agent_id="",
        session_id="s'1\"",
        namespace="home\\work",
        type="episodic",
        importance=0.1 + 0.2,
        metadata={"n": 1, "f": 1.0, "deep": {"list": [None, True, "Zoë 用户 🙂"]}, "type": "x"},
        embedding=[0.1, -0.0, 1e-45],
        embedder="model v1",
        created_at=FIRST,
        updated_at=datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        last_accessed_at=datetime(1582, 10, 4, 0, 0, 0, 1, tzinfo=UTC),
        access_count=7,
        superseded_at=T0,
        superseded_by="new",
    ),
    nm.Entry(
        'Ada drinks\ncoffee\u2028now\x85\r\n\x1f, "strong" \' \\',
        id="new",
        user_id="ada",
        evergreen=True,
        embedding=[3e38, 1 / 3, -1],
        embedder="model v1",
        created_at=T0,
    ),
    nm.Entry(
        "தமிழ் மொழி 用户喜欢混合检索 e\u0301 \U0001f468\u200d\U0001f469", id="ü", created_at=LAST
    ),
]


def plain(entry: nm.Entry) -> dict:
    """Return every field, in a form in which 1, 1.0 and True differ, and vectors by their bits."""
    values = {name: getattr(entry, name) for name in ENTRY_FIELDS}
    values["metadata"] = json.dumps(values["metadata"], sort_keys=True)
    if entry.embedding is not None:
        values["embedding"] = entry.embedding.tobytes()
    return values


def held(store: nm.Store) -> list[dict]:
    return [plain(entry) for entry in store.list(include_superseded=True)]


@pytest.fixture(params=KINDS)
def file(request, tmp_path) -> Path:
    return tmp_path / f"entries{request.param}"


@pytest.fixture(params=STORES)
def store(request):
    with nm.open_store(request.param) as store:
        yield store


TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
INSTANTS = st.datetimes(timezones=st.just(UTC))
VECTORS = st.lists(
    st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
)


@st.composite
def entries(draw):
    vector = draw(st.none() | VECTORS.filter(any))
    superseded = draw(st.booleans())
    return nm.Entry(
        draw(TEXT.filter(str.strip)),
        id=draw(TEXT.filter(len)),
        type=draw(st.sampled_from(["semantic", "episodic", "procedural"])),
        importance=draw(st.floats(0, 1)),
        evergreen=draw(st.booleans()),
        metadata=draw(st.dictionaries(TEXT, JSON, max_size=3)),
        agent_id=draw(st.none() | TEXT),
        session_id=draw(st.none() | TEXT),
        user_id=draw(st.none() | TEXT),
        namespace=draw(st.none() | TEXT),
        embedding=vector,
        embedder=None if vector is None else "model of everybody",
        access_count=draw(st.integers(0, 2**40)),
        created_at=draw(INSTANTS),
        updated_at=draw(INSTANTS),
        last_accessed_at=draw(INSTANTS),
        superseded_at=draw(INSTANTS) if superseded else None,
        superseded_by=draw(TEXT) if superseded else None,
    )


class TestRoundTrip:
    def test_everything_survives(self, store, file):
        store.put(HISTORY)
        assert nm.export_entries(store, file) == 3
        for url in STORES:
            with nm.open_store(url) as other:
                assert nm.import_entries(other, file) == 3
                assert held(other) == held(store) == [plain(e) for e in HISTORY]
                with pytest.raises(nm.EmbeddingMismatch, match="model v1"):
                    other.search_vector([1, 0, 0], embedder="model v2")

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("url", STORES)
    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(some=st.lists(entries(), max_size=4, unique_by=lambda entry: entry.id))
    def test_anything_survives(self, tmp_path, kind, url, some):
        file = tmp_path / f"any{kind}"
        with nm.open_store(url) as one, nm.open_store(url) as other:
            one.put(some)
            assert nm.export_entries(one, file) == len(some)
            assert nm.import_entries(other, file, batch=2) == len(some)
            assert held(other) == held(one)
            wanted = sorted(some, key=lambda entry: (entry.created_at, entry.id))
            assert held(other) == [plain(entry) for entry in wanted]

    def test_an_export_repeated_is_the_same_bytes(self, store, file):
        store.put(HISTORY)
        nm.export_entries(store, file)
        first = file.read_bytes()
        nm.export_entries(store, file)
        assert file.read_bytes() == first
        for url in STORES:
            with nm.open_store(url) as other:
                # The order in which entries came does not matter.
                other.put(HISTORY[::-1])
                nm.export_entries(other, file)
                assert file.read_bytes() == first

    def test_only_a_scope(self, store, file):
        store.put([*HISTORY, nm.Entry("Bo is left out", user_id="bo")])
        assert nm.export_entries(store, file, scope=nm.Scope(user_id="ada")) == 2
        assert [entry.id for entry in read_entries(file)] == ["old", "new"]

    def test_nothing(self, store, file):
        assert nm.export_entries(store, file) == 0
        assert nm.import_entries(store, file) == 0

    def test_import_replaces_and_keeps(self, store, file):
        write_entries(HISTORY, file)
        store.put([nm.Entry("another text", id="new"), nm.Entry("mine", id="mine")])
        assert nm.import_entries(store, file, batch=1) == 3
        assert store.get("new").content == HISTORY[1].content
        assert store.get("mine").content == "mine"

    def test_more_than_a_batch(self, tmp_path, file):
        given = [
            nm.Entry(f"note {n}", id=f"{n:05}", created_at=T0 + timedelta(seconds=n))
            for n in range(11)
        ]
        assert write_entries(iter(given), file) == 11
        with nm.open_store("memory:") as store:
            assert nm.import_entries(store, file, batch=4) == 11
            assert store.list() == given
            with pytest.raises(nm.InvalidParameter, match="batch"):
                nm.import_entries(store, file, batch=0)

    def test_a_line_is_what_a_person_expects(self, tmp_path):
        write_entries(HISTORY, tmp_path / "x.jsonl")
        first, *others = (tmp_path / "x.jsonl").read_bytes().split(b"\n")
        assert len(others) == 3
        assert others[-1] == b""
        line = json.loads(first)
        assert list(line) == list(ENTRY_FIELDS)
        assert line["created_at"] == "0001-01-01T00:00:00.000000+00:00"
        assert "Zoë 用户 🙂".encode() in first

    def test_a_parquet_file_has_natural_types(self, tmp_path):
        write_entries(HISTORY, tmp_path / "x.parquet")
        schema = pq.read_schema(tmp_path / "x.parquet")
        assert schema.names == list(ENTRY_FIELDS)
        assert schema.field("created_at").type == pa.timestamp("us", tz="UTC")
        assert schema.field("embedding").type.value_type == pa.float32()


class TestReading:
    def read(self, tmp_path: Path, content: bytes | str) -> list[nm.Entry]:
        file = tmp_path / "given.jsonl"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read_entries(file))

    def test_fields_left_out_have_their_default(self, tmp_path):
        (entry,) = self.read(tmp_path, '{"content": "tea", "created_at": "2026-03-15T12:00:00Z"}')
        assert (entry.content, entry.importance, entry.created_at) == ("tea", 0.5, T0)

    def test_marks_and_blank_lines_of_an_editor(self, tmp_path):
        content = '\ufeff{"content": "tea"}\r\n\r\n   \n{"content": "\u2028coffee"}'
        assert [e.content for e in self.read(tmp_path, content)] == ["tea", "\u2028coffee"]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"content": "x", "colour": "red"}', "no field 'colour'"),
            ('{"id": "x"}', "needs the field 'content'"),
            ('{"content": " "}', "blank"),
            ('{"content": 3}', "content must be text"),
            ('{"content": "x", "importance": 2}', "importance"),
            ('{"content": "x", "type": "dream"}', "type must be one of"),
            ('{"content": "x", "created_at": "2026-03-15"}', "time zone"),
            ('{"content": "x", "created_at": null}', "expected an instant"),
            ('{"content": "x", "embedding": [0, 0]}', "all zeros"),
            ('{"content": "x", "embedding": [1, NaN]}', "NaN"),
            ('{"content": "x", "embedding": "none"}', "numbers"),
            ('{"content": "x", "metadata": [1]}', "metadata must be a mapping"),
            ('{"content": "x", "metadata": {"a": Infinity}}', "plain JSON"),
            ('{"content": "\\ud800"}', "surrogate"),
            ('{"content": "x", ', "not JSON"),
            ("[1, 2]", "expected a JSON object"),
            ('"content"', "expected a JSON object"),
            ("null", "expected a JSON object"),
            ("content,type", "not JSON"),
            ("9" * 5000, "not JSON"),
            ("[" * 100_000, "not JSON"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path, line, message):
        with pytest.raises(nm.InvalidEntry, match=message) as caught:
            self.read(tmp_path, f'{{"content": "fine"}}\n\n{line}\n{{"content": "fine"}}\n')
        assert f"{tmp_path / 'given.jsonl'}, line 3: " in str(caught.value)

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
    def test_another_encoding(self, tmp_path, encoding):
        content = '{"content": "Zoë drinks tea"}\n'
        with pytest.raises(nm.InvalidEntry, match=r"given\.jsonl is not UTF-8 text, at line 1"):
            self.read(tmp_path, content.encode(encoding))

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"content": " "}, r"row 2: content must not be blank"),
            ({"content": None}, r"row 2: content must be text"),
            ({"metadata": "{"}, r"row 2, metadata: not JSON"),
            ({"metadata": "[]"}, r"row 2, metadata: expected a JSON object"),
            ({"metadata": None}, r"row 2: metadata must be a mapping"),
            ({"importance": math.nan}, r"row 2: importance"),
        ],
    )
    def test_a_bad_row_is_named(self, tmp_path, row, message):
        fine = {"content": "fine", "metadata": "{}", "importance": 0.5}
        pq.write_table(pa.Table.from_pylist([fine, {**fine, **row}]), tmp_path / "given.parquet")
        with pytest.raises(nm.InvalidEntry, match=rf"given\.parquet, {message}"):
            list(read_entries(tmp_path / "given.parquet"))

    def test_tables_of_others(self, tmp_path):
        pq.write_table(pa.table({"content": ["tea"]}), tmp_path / "given.parquet")
        assert [entry.content for entry in read_entries(tmp_path / "given.parquet")] == ["tea"]
        pq.write_table(pa.table({"text": ["tea"]}), tmp_path / "given.parquet")
        with pytest.raises(nm.InvalidEntry, match=r"given\.parquet, row 1.*no field 'text'"):
            list(read_entries(tmp_path / "given.parquet"))
        days = pa.table({"content": ["tea"], "created_at": pa.array([2**62], pa.timestamp("us"))})
        pq.write_table(days, tmp_path / "given.parquet")
        with pytest.raises(nm.InvalidEntry, match=r"given\.parquet"):
            list(read_entries(tmp_path / "given.parquet"))

    @pytest.mark.parametrize("share", [0, 0.31, 0.91, 0.999])
    def test_a_truncated_file(self, file, share):
        write_entries(HISTORY * 50, file)
        content = file.read_bytes()
        file.write_bytes(content[: int(len(content) * share)])
        if file.suffix == ".jsonl" and share == 0:
            assert list(read_entries(file)) == []
            return
        with pytest.raises(nm.NousmemError, match=file.name):
            list(read_entries(file))

    def test_what_came_before_a_bad_row_stays_in_whole_batches(self, tmp_path):
        file = tmp_path / "given.jsonl"
        lines = [json.dumps({"content": "tea", "id": f"{n}"}) for n in range(7)]
        file.write_text("\n".join([*lines, "oops"]))
        with nm.open_store("sqlite::memory:") as store:
            with pytest.raises(nm.InvalidEntry, match="line 8"):
                nm.import_entries(store, file, batch=3)
            assert len(store.list()) == 6
            with pytest.raises(nm.InvalidEntry, match="line 8"):
                nm.import_entries(nm.open_store("memory:"), file)

    def test_vectors_of_another_embedder(self, store, file):
        write_entries(HISTORY, file)
        store.put([nm.Entry("mine", embedding=[1, 2, 3], embedder="model v2")])
        with pytest.raises(nm.EmbeddingMismatch, match="model v1"):
            nm.import_entries(store, file)
        assert len(store.list(include_superseded=True)) == 1


class TestPlaces:
    @pytest.mark.parametrize("name", ["entries.csv", "entries", "entries.jsonl.gz", ".jsonl"])
    def test_another_ending(self, tmp_path, name):
        store = nm.open_store("memory:")
        for work in (nm.export_entries, nm.import_entries):
            with pytest.raises(nm.InvalidParameter, match=r"ending in \.jsonl or \.parquet, got"):
                work(store, tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_a_missing_file(self, file):
        with pytest.raises(nm.StoreError, match=rf"cannot read .*{file.name}: No such file"):
            nm.import_entries(nm.open_store("memory:"), file)

    def test_a_missing_folder(self, file):
        nowhere = file.parent / "nowhere" / file.name
        with pytest.raises(nm.StoreError, match=rf"cannot write .*nowhere.*{file.name}"):
            nm.export_entries(nm.open_store("memory:"), nowhere)

    def test_a_folder_in_place_of_a_file(self, file):
        file.mkdir()
        store = nm.open_store("memory:")
        for work in (nm.export_entries, nm.import_entries):
            with pytest.raises(nm.StoreError, match=file.name):
                work(store, file)

    def test_a_file_of_the_other_kind(self, tmp_path):
        write_entries(HISTORY, tmp_path / "a.jsonl")
        (tmp_path / "b.parquet").write_bytes((tmp_path / "a.jsonl").read_bytes())
        with pytest.raises(nm.InvalidEntry, match=r"b\.parquet is not a Parquet file"):
            list(read_entries(tmp_path / "b.parquet"))
        write_entries(HISTORY, tmp_path / "a.parquet")
        (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.parquet").read_bytes())
        with pytest.raises(nm.InvalidEntry, match=r"b\.jsonl"):
            list(read_entries(tmp_path / "b.jsonl"))

    def test_capital_endings(self, tmp_path):
        assert write_entries(HISTORY, str(tmp_path / "A.JSONL")) == 3
        assert len(list(read_entries(tmp_path / "A.JSONL"))) == 3


def test_vectors_are_the_same_bits(tmp_path):
    rng = np.random.default_rng(3)
    # Any 32 bits that are a number, from the smallest to the largest.
    vectors = rng.integers(0, 2**32, size=(200, 16), dtype=np.uint32).view(np.float32)
    vectors[~np.isfinite(vectors)] = np.float32(1e-45)
    given = [nm.Entry("x", id=f"{n:03}", embedding=v, created_at=T0) for n, v in enumerate(vectors)]
    for kind in KINDS:
        write_entries(given, tmp_path / f"v{kind}")
        back = np.stack([entry.embedding for entry in read_entries(tmp_path / f"v{kind}")])
        assert back.view(np.uint32).tolist() == vectors.view(np.uint32).tolist()
