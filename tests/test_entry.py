import json
import math
import pickle
import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nousmem.entry import (
    ENTRY_FIELDS,
    Entry,
    MemoryType,
    epoch_microseconds,
    from_epoch_microseconds,
    parse_instant,
    parse_type,
    parse_vector,
    restore_entry,
    with_vector,
)
from nousmem.errors import InvalidEntry, InvalidVector, NousmemError

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "entry.json").read_text(encoding="utf-8")
)
NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)
NAIVE = datetime(2026, 3, 15, 12)  # noqa: DTZ001 - the point is that it is refused

# Where the original accepts what would break a later search, and what happens here instead.
NEW_REFUSED = {
    "importance above range": "importance is from 0 to 1",
    "importance below range": "importance is from 0 to 1",
    "importance nil": "importance is a number",
    "importance string": "importance is a number",
    "type unknown atom": "there are three types",
    "type nil": "there are three types",
    "metadata nil": "metadata is a mapping",
    "metadata list": "metadata is a mapping",
    "evergreen nil": "evergreen is True or False",
    "evergreen string": "evergreen is True or False",
    "content empty": "a blank memory can never be found",
    "content nil": "content is text",
    "content integer": "content is text",
    "content whitespace": "a blank memory can never be found",
    "id empty string kept": "an id names an entry",
    "id nil generated": "an id that is asked for is text; leave it out to have one generated",
    "id false generated": "an id that is asked for is text; leave it out to have one generated",
    "id integer kept": "an id is text in every store",
    "embedding empty list": "an empty vector has no direction",
}
NEW_OTHERWISE = {
    "type string": "text is how Python names a type",
    "access_count given is ignored": "a copied or imported entry keeps its count",
    "created_at only": "the other two instants follow created_at rather than the wall clock",
    "last_accessed_at nil stays nil": "an age can always be computed",
}
NEW_TYPE_ERROR = {
    "unknown key ignored": "a misspelt field is an error",
    "missing content": "the original raises, too",
}
NEW_NOT_PYTHON = {
    "string keys": "keyword arguments are always text",
    "keyword list": "there is one way to give fields",
}
UPDATE_REFUSED = {
    "unknown field silently ignored": "a misspelt field is an error",
    "nil values are written": "content is text",
    "importance not clamped": "importance is from 0 to 1",
    "type not validated": "there are three types",
}
UPDATE_OTHERWISE = {
    "string keys silently ignored": "field names are text in Python, so they are read",
    "updated_at in updates is overwritten by now": "the store's rule: replace writes what it gets",
}


def from_golden(values: dict[str, Any]) -> dict[str, Any]:
    plain = dict(values)
    if isinstance(plain.get("type"), dict):
        plain["type"] = plain["type"]["atom"]
    return plain


def as_golden(entry: Entry) -> dict[str, Any]:
    """The fields that the original has, with vectors as lists and instants as its text."""
    result = {name: getattr(entry, name) for name in ENTRY_FIELDS}
    for name in ("embedder", "superseded_at", "superseded_by"):
        del result[name]
    if entry.embedding is not None:
        result["embedding"] = [round(float(x), 6) for x in entry.embedding]
    return result


def expected_from(golden: dict[str, Any], entry: Entry) -> dict[str, Any]:
    expected = from_golden(golden)
    for name in ("created_at", "updated_at", "last_accessed_at"):
        now = expected[name] == "<now>"
        expected[name] = getattr(entry, name) if now else parse_instant(expected[name])
    if expected["id"] == "<32 lowercase hex>":
        assert re.fullmatch("[0-9a-f]{32}", entry.id)
        expected["id"] = entry.id
    return expected


@pytest.mark.parametrize("case", GOLDEN["new"], ids=lambda case: case["name"])
def test_golden_new(case: dict[str, Any]):
    name = case["name"]
    if name in NEW_NOT_PYTHON:
        return
    attrs = from_golden(case["attrs"])
    if name in NEW_REFUSED:
        with pytest.raises((InvalidEntry, InvalidVector)):
            Entry(**attrs)
        return
    if name in NEW_TYPE_ERROR:
        with pytest.raises(TypeError):
            Entry(**attrs)
        return
    entry = Entry(**attrs)
    expected = expected_from(case["result"] | {"last_accessed_at": "<now>"}, entry)
    if name == "all fields":
        expected["last_accessed_at"] = parse_instant(case["result"]["last_accessed_at"])
    if name == "access_count given is ignored":
        expected["access_count"] = attrs["access_count"]
    assert as_golden(entry) == expected
    if "last_accessed_at" not in attrs or name in NEW_OTHERWISE:
        assert entry.updated_at == entry.last_accessed_at == entry.created_at


@pytest.mark.parametrize("case", GOLDEN["ets_update"], ids=lambda case: case["name"])
def test_golden_update_of_fields(case: dict[str, Any]):
    before = Entry(**from_golden(case["before"]))
    if case["name"] in UPDATE_REFUSED:
        with pytest.raises(InvalidEntry):
            before.replace(**case["updates"])
        return
    after = before.replace(**case["updates"])
    expected = expected_from(case["result"], after)
    if case["name"] in UPDATE_OTHERWISE:
        expected |= case["updates"]
        expected["updated_at"] = parse_instant(expected["updated_at"])
    assert as_golden(after) == expected


def test_every_listed_difference_is_a_golden_case():
    listed = {*NEW_REFUSED, *NEW_OTHERWISE, *NEW_TYPE_ERROR, *NEW_NOT_PYTHON}
    assert listed <= {case["name"] for case in GOLDEN["new"]}
    assert len(GOLDEN["new"]) == 30
    assert {*UPDATE_REFUSED, *UPDATE_OTHERWISE} <= {case["name"] for case in GOLDEN["ets_update"]}
    assert len(GOLDEN["ets_update"]) == 13


def test_defaults():
    before = datetime.now(UTC)
    entry = Entry("Ada keeps bees")
    assert before <= entry.created_at <= datetime.now(UTC)
    assert entry.created_at.tzinfo is UTC
    assert entry.updated_at == entry.last_accessed_at == entry.created_at
    assert (entry.type, entry.importance, entry.evergreen) == (MemoryType.SEMANTIC, 0.5, False)
    assert entry.metadata == {}
    assert entry.access_count == 0
    assert entry.embedding is entry.embedder is entry.superseded_at is entry.superseded_by is None
    assert Entry("Ada keeps bees").id != entry.id


def test_created_at_alone_sets_the_other_instants():
    entry = Entry("Ada keeps bees", created_at=NOON)
    assert entry.updated_at == entry.last_accessed_at == NOON
    later = NOON + timedelta(days=1)
    assert Entry("x", created_at=NOON, updated_at=later).last_accessed_at == NOON


BAD_TEXT = [None, 5, b"bytes", ["list"], "nul\x00", "lone \ud800 surrogate"]


@pytest.mark.parametrize("value", ["", " ", "\n\t\u2003", *BAD_TEXT], ids=ascii)
def test_content_that_is_refused(value: Any):
    with pytest.raises(InvalidEntry, match="content"):
        Entry(value)


@pytest.mark.parametrize("value", ["", *BAD_TEXT], ids=ascii)
def test_ids_that_are_refused(value: Any):
    with pytest.raises(InvalidEntry, match="id"):
        Entry("x", id=value)


@pytest.mark.parametrize(
    "name", ["agent_id", "session_id", "user_id", "namespace", "embedder", "superseded_by"]
)
@pytest.mark.parametrize("value", BAD_TEXT[1:], ids=ascii)
def test_text_fields_that_are_refused(name: str, value: Any):
    with pytest.raises(InvalidEntry, match=name):
        Entry("x", embedding=[1.0], **{name: value})


@pytest.mark.parametrize(
    "value",
    [1.7, -0.1, math.nan, math.inf, -math.inf, True, False, None, "0.5", "high", 1j, 10**400],
    ids=lambda value: repr(value)[:10],
)
def test_importance_that_is_refused(value: Any):
    with pytest.raises(InvalidEntry, match="importance must be a number from 0 to 1"):
        Entry("x", importance=value)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.25, np.float32(0.5), Fraction(1, 4)])
def test_importance_is_a_float(value: Any):
    importance = Entry("x", importance=value).importance
    assert type(importance) is float
    assert importance == value


@pytest.mark.parametrize("value", ["nonsense", "SEMANTIC", "", None, 1, ["semantic"], {}])
def test_types_that_are_refused(value: Any):
    with pytest.raises(InvalidEntry, match="semantic, episodic, procedural"):
        Entry("x", type=value)
    with pytest.raises(InvalidEntry):
        parse_type(value)


@pytest.mark.parametrize("value", ["yes", 1, 0, None, "", "true"])
def test_evergreen_that_is_refused(value: Any):
    with pytest.raises(InvalidEntry, match="evergreen"):
        Entry("x", evergreen=value)


def test_numpy_values_become_plain_ones():
    entry = Entry("x", evergreen=np.True_, access_count=np.int64(3), type="episodic")
    assert entry.evergreen is True
    assert type(entry.access_count) is int
    assert entry.type is MemoryType.EPISODIC


@pytest.mark.parametrize("value", [-1, 1.0, True, None, "3", 2**63])
def test_access_counts_that_are_refused(value: Any):
    with pytest.raises(InvalidEntry, match="access_count"):
        Entry("x", access_count=value)


def endless() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


def deep() -> dict[str, Any]:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1],
        "text",
        {1: "key"},
        {"nested": {1: "key"}},
        {"list": [{None: 1}]},
        {"set": {1}},
        {"when": NOON},
        {"nan": math.nan},
        {"inf": [math.inf]},
        {"array": np.zeros(2)},
        {"int": np.int64(1)},
        {"nul": "\x00"},
        {"nul\x00": 1},
        {"list": ["a", ("\x00",)]},
        {"surrogate": "\ud800"},
        {"bytes": b"x"},
        endless(),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_metadata_that_is_refused(value: Any):
    with pytest.raises(InvalidEntry, match="metadata"):
        Entry("x", metadata=value)


def test_metadata_nested_too_deep_is_refused():
    with pytest.raises(InvalidEntry, match="metadata"):
        Entry("x", metadata=deep())


def test_metadata_is_a_copy_of_its_own():
    given_metadata = {"tags": ["a"], "deep": {"n": None}}
    entry = Entry("x", metadata=given_metadata)
    given_metadata["tags"].append("b")
    assert entry.metadata == {"tags": ["a"], "deep": {"n": None}}


def test_an_escape_sequence_in_metadata_is_text():
    assert Entry("x", metadata={"raw": r"\u0000"}).metadata == {"raw": r"\u0000"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abé", max_size=3), JSON, max_size=4))
def test_metadata_is_kept_as_given(metadata: dict[str, Any]):
    assert Entry("x", metadata=metadata).metadata == metadata


@pytest.mark.parametrize(
    "value",
    [
        [],
        [[1.0, 2.0]],
        1.0,
        None,
        "text",
        ["1.0", "2.0"],
        [1.0, None],
        [1.0, [2.0]],
        [True, False],
        [1j, 2],
        {"x": 1.0},
        [math.nan, 1.0],
        [math.inf, 1.0],
        [1e300, 1.0],
        np.array([1e300, 1.0]),
        [10**400, 1],
        [0.0, 0.0],
        [0.0, -0.0],
        [1e-300, 0.0],
    ],
    ids=lambda value: repr(value)[:25],
)
def test_vectors_that_are_refused(value: Any):
    with pytest.raises(InvalidVector):
        parse_vector(value)
    if value is not None:
        with pytest.raises(InvalidVector):
            Entry("x", embedding=value)


@pytest.mark.parametrize(
    "value", [[1, 2], (1.0, 2.0), np.array([1.0, 2.0]), np.array([1, 2], np.float16), range(1, 3)]
)
def test_vectors_become_float32(value: Any):
    vector = parse_vector(value)
    assert vector.dtype == np.float32
    assert vector.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5


def test_a_vector_is_a_copy_of_its_own():
    given_vector = np.ones(3, dtype=np.float32)
    entry = Entry("x", embedding=given_vector)
    given_vector[0] = 9
    assert entry.embedding is not None
    assert entry.embedding.tolist() == [1.0, 1.0, 1.0]
    assert given_vector.flags.writeable


def test_a_fingerprint_without_a_vector_is_dropped():
    assert Entry("x", embedder="mini").embedder is None
    assert Entry("x", embedder="mini", embedding=[1.0]).embedder == "mini"


@pytest.mark.parametrize("name", ["created_at", "updated_at", "last_accessed_at", "superseded_at"])
def test_instants_are_checked_and_put_into_utc(name: str):
    kolkata = datetime(2026, 3, 15, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    for value in (kolkata, "2026-03-15T17:30:00+05:30", "2026-03-15T12:00Z", NOON.timestamp()):
        instant = getattr(Entry("x", **{name: value}), name)
        assert instant == NOON
        assert instant.tzinfo is UTC
    with pytest.raises(InvalidEntry, match="time zone"):
        Entry("x", **{name: NAIVE})


@pytest.mark.parametrize(
    "value",
    [
        "yesterday",
        "",
        "2026-03-15",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        True,
        math.nan,
        math.inf,
        1e20,
        10**400,
        [2026],
        b"2026-03-15T12:00Z",
        pd.NaT,
        pd.Timestamp("2026-03-15"),
    ],
    ids=lambda value: repr(value)[:25],
)
def test_instants_that_are_refused(value: Any):
    with pytest.raises(InvalidEntry):
        parse_instant(value)
    with pytest.raises(InvalidEntry):
        Entry("x", created_at=value)


def test_utc_is_assumed_only_when_asked():
    assert parse_instant(NAIVE, assume_utc=True) == NOON
    assert parse_instant(" 2026-03-15T12:00 ", assume_utc=True) == NOON
    assert parse_instant("2026-03-15T13:00+01:00", assume_utc=True) == NOON


def test_a_pandas_timestamp_becomes_a_datetime():
    stamp = pd.Timestamp("2026-03-15T12:00:00.123456789", tz="Asia/Tokyo")
    instant = parse_instant(stamp)
    assert type(instant) is datetime
    assert instant == datetime(2026, 3, 15, 3, 0, 0, 123456, tzinfo=UTC)


def test_epoch_of_known_instants():
    assert epoch_microseconds(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert epoch_microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1
    assert epoch_microseconds(NOON) == 1_773_576_000_000_000
    tokyo = datetime(1970, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    assert epoch_microseconds(tokyo) == 0
    assert from_epoch_microseconds(-1).isoformat() == "1969-12-31T23:59:59.999999+00:00"


OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=OFFSETS)  # noqa: DTZ001


@given(INSTANTS)
def test_instants_survive_as_microseconds_exactly(moment: datetime):
    back = from_epoch_microseconds(epoch_microseconds(moment))
    assert back == moment
    assert back.tzinfo is UTC
    assert parse_instant(moment) == moment
    assert parse_instant(moment.isoformat()) == moment


@given(INSTANTS, INSTANTS)
def test_microseconds_keep_the_order(first: datetime, second: datetime):
    assert (first < second) == (epoch_microseconds(first) < epoch_microseconds(second))


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_microseconds_survive_as_instants_exactly(value: int):
    assert epoch_microseconds(from_epoch_microseconds(value)) == value


def test_entries_do_not_change():
    entry = Entry("x")
    with pytest.raises(AttributeError):
        entry.content = "y"
    with pytest.raises(TypeError):
        Entry("x", "positional id")


def test_entries_can_be_compared_hashed_and_pickled():
    entry = Entry("x", id="a", created_at=NOON, metadata={"k": [1]}, embedding=[1.0, 2.0])
    same = entry.replace()
    assert entry == same
    assert {entry, same} == {entry}
    assert entry != entry.replace(metadata={})
    copied = pickle.loads(pickle.dumps(entry))
    assert copied == entry
    assert copied.embedding.tolist() == [1.0, 2.0]


def test_replace_checks_like_a_new_entry():
    entry = Entry("x", id="a")
    assert entry.replace(importance=1).importance == 1.0
    assert entry.importance == 0.5
    assert entry.replace(type="episodic", user_id="ada").user_id == "ada"
    for changes in ({"importance": 2}, {"content": ""}, {"type": "x"}, {"created_at": NAIVE}):
        with pytest.raises(InvalidEntry):
            entry.replace(**changes)


def test_replace_refuses_unknown_fields():
    with pytest.raises(InvalidEntry, match=r"no field 'importence'.*importance"):
        Entry("x").replace(importence=1)


def test_new_content_drops_the_vector_of_the_old():
    entry = Entry("x", embedding=[1.0], embedder="mini")
    changed = entry.replace(content="y")
    assert changed.embedding is changed.embedder is None
    same = entry.replace(content="x", importance=0.9)
    assert (same.embedding, same.embedder) == (entry.embedding, "mini")
    both = entry.replace(content="y", embedding=[2.0], embedder="mini")
    assert both.embedding is not None
    assert (both.embedding.tolist(), both.embedder) == ([2.0], "mini")


def test_a_new_vector_without_its_embedder_counts_as_set_by_hand():
    entry = Entry("x", embedding=[1.0], embedder="mini")
    assert entry.replace(embedding=[2.0]).embedder is None
    assert entry.replace(embedding=None).embedder is None


def test_restored_entries_equal_the_checked_ones():
    entry = Entry("x", metadata={"k": 1}, embedding=[1.0], embedder="mini", created_at=NOON)
    restored = restore_entry([getattr(entry, name) for name in ENTRY_FIELDS])
    assert restored == entry
    assert restored.embedding is entry.embedding


def test_an_entry_given_a_vector_is_what_replace_returns():
    metadata = {"k": [1]}
    entry = Entry("x", id="a", importance=0.9, user_id="ada", metadata=metadata, created_at=NOON)
    embedded = with_vector(entry, [1.0, 2.0], embedder="mini")
    expected = entry.replace(embedding=[1.0, 2.0], embedder="mini")
    assert embedded == expected
    assert embedded.embedding is not None
    assert embedded.embedding.tolist() == [1.0, 2.0]
    assert not embedded.embedding.flags.writeable
    embedded.metadata["k"].append(2)
    assert entry.metadata == metadata
    assert entry.embedding is None
    with pytest.raises(InvalidVector, match="all zeros"):
        with_vector(entry, [0.0], embedder="mini")
    with pytest.raises(InvalidEntry, match="embedder must be text"):
        with_vector(entry, [1.0], embedder=None)  # type: ignore[arg-type]


def test_errors_say_what_came():
    with pytest.raises(NousmemError, match=r"got 1\.7"):
        Entry("x", importance=1.7)
    with pytest.raises(ValueError, match="got 'nonsense'"):
        Entry("x", type="nonsense")
