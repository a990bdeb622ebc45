"""Every store gives the same answers, in the same order, to the same operations.

The memory store is the model; what it does in a dictionary, the others do in a database.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nousmem import GLOBAL, Entry, Scope, open_store
from nousmem.errors import EntryNotFound, InvalidParameter, NousmemError

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
WORDS = ("zebra", "mosquito", "lynx")
VECTORS = ([1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.5, 0.5, 0.7], [0.0, 1.0, 0.2], [-1.0, 0.3, 0.0])
ODD = ([1.0, 2.0], [0.0, 0.0, 0.0], [float("nan"), 1.0, 1.0])

ids = st.sampled_from(["a", "b", "A", "a ", "ä", "\U0001f600", "10", "9", "a\x00", "nobody"])
instants = st.integers(0, 6).map(lambda hours: T0 + timedelta(hours=hours, microseconds=hours))
maybe_instants = st.none() | instants
users = st.sampled_from([None, "", "mira", "Mira", "mira ", "50%", "it's"])
types = st.sampled_from(["semantic", "episodic", "procedural"])
importances = st.sampled_from([0.0, 0.1, 0.1 + 1e-12, 1.0])
vectors = st.none() | st.sampled_from(VECTORS)
embedders = st.sampled_from([None, None, "one-model", "one-model", "another-model"])
metadata = st.sampled_from([{}, {"x": 1}, {"x": 1.0, "y": [None, True, "ü"]}, {"": {"x": {}}}])

FIELDS = {
    "content": st.sampled_from(WORDS),
    "type": types,
    "importance": importances,
    "evergreen": st.booleans(),
    "metadata": metadata,
    "user_id": users,
    "namespace": st.sampled_from([None, "work"]),
    "embedding": vectors,
    "embedder": embedders,
    "access_count": st.sampled_from([0, 3]),
    "created_at": instants,
    "last_accessed_at": maybe_instants,
    "superseded_at": st.none() | maybe_instants,
}
REQUIRED = {name: FIELDS[name] for name in ("content", "created_at")}
OPTIONAL = {name: FIELDS[name] for name in FIELDS if name not in REQUIRED}

entries = st.fixed_dictionaries(
    {**REQUIRED, "id": ids.filter(lambda one: "\x00" not in one)}, optional=OPTIONAL
).map(lambda fields: Entry(**fields))
scopes = st.one_of(
    st.just(GLOBAL),
    st.builds(Scope, user_id=users, namespace=st.sampled_from([None, "work", "play"])),
    st.fixed_dictionaries(
        {},
        optional={
            "user_id": users,
            "type": types,
            "importance": importances,
            "evergreen": st.booleans(),
            "embedder": embedders,
            "created_at": instants,
            "superseded_at": maybe_instants,
            "id": ids,
            "user": users,
        },
    ),
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "scope": scopes,
        "type": st.none() | types | st.just("declarative"),
        "as_of": maybe_instants,
        "limit": st.sampled_from([0, 1, 2, 3, 100, -1]),
    },
)
searches = st.fixed_dictionaries(
    {"limit": st.sampled_from([0, 1, 2, 3, 100])},
    optional={
        "scope": scopes,
        "type": st.none() | types,
        "as_of": maybe_instants,
    },
)
changes = st.fixed_dictionaries(
    {},
    optional={
        **{name: FIELDS[name] for name in FIELDS if name not in {"created_at", "access_count"}},
        "embedding": vectors | st.sampled_from(ODD),
        "importance": importances | st.sampled_from([1.5, "high"]),
        "colour": st.just("red"),
    },
)

operations = st.one_of(
    st.tuples(st.just("put"), st.lists(entries, max_size=4)),
    st.tuples(st.just("put"), st.lists(entries, min_size=1, max_size=4)),
    st.tuples(st.just("update"), ids, changes, instants),
    st.tuples(st.just("delete"), st.lists(ids, max_size=3)),
    st.tuples(st.just("touch"), st.lists(ids, max_size=3), instants),
    st.tuples(st.just("forget"), scopes, st.sampled_from([False, False, False, True])),
    st.tuples(st.just("get"), ids),
    st.tuples(st.just("list"), filters, st.booleans()),
    st.tuples(st.just("list"), filters, st.booleans()),
    st.tuples(
        st.just("vector"),
        st.sampled_from([*VECTORS, *ODD]),
        searches,
        st.sampled_from([0.0, -2.0, 0.9]),
        embedders,
    ),
    st.tuples(st.just("text"), st.sampled_from([*WORDS, " "]), searches),
)


def plain(entry):
    """Return everything of an entry, also what does not count for equality."""
    vector = None if entry.embedding is None else entry.embedding.tobytes()
    return entry, repr(entry.metadata), vector


def answer(store, operation):
    """Do one operation; return its answer in plain values, or the error as a caller sees it."""
    name, *given = operation
    try:
        match name:
            case "put":
                return store.put(given[0])
            case "update":
                return plain(store.update(given[0], now=given[2], **given[1]))
            case "delete":
                return store.delete(given[0])
            case "touch":
                return store.touch(given[0], now=given[1])
            case "forget":
                return store.forget(given[0], everything=given[1])
            case "get":
                return plain(store.get(given[0]))
            case "list":
                return [plain(e) for e in store.list(**given[0], include_superseded=given[1])]
            case "vector":
                hits = store.search_vector(
                    given[0], **given[1], min_score=given[2], embedder=given[3]
                )
                return [(plain(entry), pytest.approx(score, abs=1e-6)) for entry, score in hits]
            case _:
                # Each store scores texts its own way: which match is the same, up to the cut.
                hits = store.search_text(given[0], **{**given[1], "limit": 100})
                return sorted((plain(entry) for entry, _ in hits), key=lambda one: one[0].id)
    except NousmemError as error:
        return type(error), str(error)


def compare(stores, sequence):
    for operation in sequence:
        wanted, *others = [answer(store, operation) for store in stores]
        for store, got in zip(stores[1:], others, strict=True):
            assert got == wanted, (store, operation)
    everything = [
        ("list", {}, True),
        ("vector", VECTORS[0], {"limit": 100}, -2.0, None),
        *(("text", word, {"limit": 100}) for word in WORDS),
    ]
    for operation in everything:
        wanted, *others = [answer(store, operation) for store in stores]
        for store, got in zip(stores[1:], others, strict=True):
            assert got == wanted, (store, operation)
    for store in stores[1:]:
        assert store.check() == []


sequences = st.lists(operations, min_size=5, max_size=25)


# Without shrinking, which opens thousands of databases: the failure names the operation.
PROFILE = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@PROFILE
@given(sequences)
def test_memory_sqlite_and_duckdb_agree(sequence):
    with (
        open_store("memory:") as memory,
        open_store("sqlite::memory:") as sqlite,
        open_store("duckdb::memory:?text=bm25") as duckdb,
    ):
        compare([memory, sqlite, duckdb], sequence)


@settings(PROFILE, max_examples=12)
@given(sequences)
def test_memory_and_postgres_agree(open_postgres, sequence):
    store = open_postgres()
    store.forget(GLOBAL, everything=True)
    with open_store("memory:") as memory:
        compare([memory, store], sequence)


@pytest.fixture(params=["memory", "sqlite", "duckdb", "postgres"])
def store(request):
    if request.param == "postgres":
        yield request.getfixturevalue("open_postgres")()
        return
    with open_store(request.param) as opened:
        yield opened


def test_changing_the_metadata_of_an_entry_changes_no_store(store):
    entry = Entry("zebra", id="a", metadata={"x": [1]}, embedding=[1.0, 0.0], created_at=T0)
    store.put([entry])
    read = [
        entry,
        store.get("a"),
        *store.list(),
        *(hit for hit, _ in store.search_text("zebra")),
        *(hit for hit, _ in store.search_vector([1.0, 0.0])),
        store.update("a", importance=0.9, now=T0),
    ]
    for held in read:
        held.metadata["x"].append(2)
        held.metadata["y"] = 1
    assert store.get("a").metadata == {"x": [1]}


@pytest.mark.parametrize("odd", ["\x00", "a\x00", "\ud800", "a\ud800"])
def test_text_that_no_entry_can_hold_belongs_to_nobody(store, odd):
    store.put([Entry("zebra", id="a", user_id="a", embedding=[1.0, 0.0], created_at=T0)])
    for scope in (Scope(user_id=odd), {"id": odd}, {"content": odd}):
        assert store.list(scope=scope) == []
        assert list(store.search_text("zebra", scope=scope)) == []
        assert list(store.search_vector([1.0, 0.0], scope=scope)) == []
        assert store.forget(scope) == 0
    assert store.delete([odd]) == store.touch([odd], now=T0) == 0
    for operation in (store.get, lambda one: store.update(one, importance=0.1, now=T0)):
        with pytest.raises(EntryNotFound):
            operation(odd)
    assert store.get("a").access_count == 0


@pytest.mark.parametrize("odd", [5, None, b"a", 1.0])
def test_an_id_is_text(store, odd):
    store.put([Entry("zebra", id="a", created_at=T0)])
    for operation in (
        lambda: store.get(odd),
        lambda: store.update(odd, importance=0.1, now=T0),
        lambda: store.delete(["a", odd]),
        lambda: store.touch(["a", odd], now=T0),
    ):
        with pytest.raises(InvalidParameter, match="an id is text"):
            operation()
    assert store.get("a").access_count == 0
