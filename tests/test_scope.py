import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nousmem.entry import ENTRY_FIELDS, Entry, MemoryType
from nousmem.errors import InvalidScope
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope, as_filter

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "scope.json").read_text(encoding="utf-8")
)

PRESETS_AS_TEXT = "the original knows presets as atoms; here a preset is text, so it is understood"
TEXT_KEYS = "the original reads atom keys alone; in Python an option's name is text"
NOT_TEXT = "a value that is not text would match no entry: refused"
UNKNOWN_FIELD = "a field that entries lack would silently not filter: refused"


def preset_of(case: dict[str, Any]) -> Any:
    preset = case["preset"]
    if preset is None:
        return None
    return preset["value"] == "true" if preset["kind"] == "boolean" else preset["value"]


def fields_read(case: dict[str, Any]) -> list[str]:
    if "fields" in case:
        return case["fields"]
    presets = {"user": ["user_id"], "session": ["agent_id", "session_id", "user_id"], "global": []}
    return presets.get(str(preset_of(case)), ["agent_id", "user_id"])


def improvement(case: dict[str, Any]) -> str | None:
    """Why the result differs from the original's, on purpose; None where it is the same."""
    if set(fields_read(case)) - set(SCOPE_FIELDS):
        return UNKNOWN_FIELD
    read = [case["config"].get(name) for name in fields_read(case)]
    if any(value is not None and not isinstance(value, str) for value in read):
        return NOT_TEXT
    if case["name"] == "string keys are not read":
        return TEXT_KEYS
    if case.get("preset") and case["preset"]["kind"] == "string":
        return PRESETS_AS_TEXT
    return None


def as_result(scope: Scope) -> Any:
    return as_filter(scope) or "global"


def run(case: dict[str, Any]) -> Scope:
    if "fields" in case:
        return Scope.from_fields(case["config"], case["fields"])
    config = case["config"]
    if case["preset"] is not None:
        config = {**config, "default_search_scope": preset_of(case)}
    return Scope.build(config)


def check(case: dict[str, Any]) -> None:
    reason = improvement(case)
    if reason in {UNKNOWN_FIELD, NOT_TEXT}:
        with pytest.raises(InvalidScope):
            run(case)
        return
    result = as_result(run(case))
    if reason is None:
        assert result == case["result"], case
    else:
        read = {name: case["config"].get(name) for name in fields_read(case)}
        wanted = {name: value for name, value in read.items() if value is not None}
        assert result == (wanted or "global"), (case, reason)


def test_the_golden_file_is_all_there():
    assert len(GOLDEN["build"]) == 165
    assert len(GOLDEN["from_fields"]) == 135
    assert sum(improvement(case) is None for case in GOLDEN["build"]) == 111
    assert sum(improvement(case) is None for case in GOLDEN["from_fields"]) == 90


def test_golden_build():
    for case in GOLDEN["build"]:
        check(case)


def test_golden_from_fields():
    for case in GOLDEN["from_fields"]:
        check(case)


def test_golden_special_cases():
    special = {row["case"]: row["r"].get("result") for row in GOLDEN["special"]}
    config = {"agent_id": "assistant", "user_id": "alice", "session_id": "s1"}
    assert as_result(Scope.build(config)) == special["doc example build"]
    assert as_result(Scope.from_fields(config, ["user_id"])) == special["doc example from_fields"]
    pairs = [("agent_id", "a"), ("user_id", "u")]
    widened = as_result(Scope.build(dict([*pairs, ("default_search_scope", "session")])))
    assert widened == special["session preset, no session_id set: silently widens to agent+user"]
    no_user = Scope.build({"agent_id": "a", "default_search_scope": "user"})
    assert as_result(no_user) == special["user preset, no user_id set: silently becomes global"]
    # A list of pairs is refused with every preset; the original lets it pass with one of them.
    for call in (Scope.build, lambda config: Scope.from_fields(config, ["agent_id"])):
        with pytest.raises(InvalidScope, match="mapping"):
            call([*pairs, ("default_search_scope", "global")])


def test_only_none_is_unset():
    assert as_filter(Scope(user_id="", namespace=" ")) == {"user_id": "", "namespace": " "}
    assert Scope(user_id="") != GLOBAL
    assert as_filter(Scope(user_id=None)) == {}
    assert Scope(user_id=None) == GLOBAL


def test_a_scope_is_true_when_it_narrows():
    assert not GLOBAL
    assert not Scope()
    assert Scope(user_id="")


@pytest.mark.parametrize("name", SCOPE_FIELDS)
@pytest.mark.parametrize("value", [0, 42, False, b"u", ["u"], {"u"}])
def test_values_that_are_not_text_are_refused(name: str, value: object):
    with pytest.raises(InvalidScope, match=name):
        Scope(**{name: value})
    with pytest.raises(InvalidScope, match=name):
        as_filter({name: value})


def test_a_scope_does_not_change_and_can_be_a_key():
    scope = Scope(user_id="ada")
    with pytest.raises(AttributeError):
        scope.user_id = "eve"
    assert {scope: 1}[Scope(user_id="ada")] == 1


def test_build_and_from_fields_leave_the_configuration_alone():
    config = {"user_id": "ada", "default_search_scope": "user"}
    before = dict(config)
    Scope.build(config)
    Scope.from_fields(config, ["user_id"])
    assert config == before


def test_unknown_fields_are_named_with_those_known():
    with pytest.raises(InvalidScope, match=r"'userid'.*user_id"):
        Scope.from_fields({"userid": "ada"}, ["userid"])
    with pytest.raises(InvalidScope, match=r"'userid'.*user_id"):
        as_filter({"userid": "ada"})
    with pytest.raises(TypeError):
        Scope(userid="ada")


@pytest.mark.parametrize("name", ["metadata", "embedding", "", 5])
def test_fields_that_cannot_be_filtered_by_are_refused(name: Any):
    with pytest.raises(InvalidScope, match="cannot filter"):
        as_filter({name: None})


def test_every_field_of_an_entry_can_be_filtered_by_or_is_refused():
    entry = Entry("text", superseded_at=datetime(2026, 1, 1, tzinfo=UTC), superseded_by="x")
    for name in ENTRY_FIELDS:
        if name in {"metadata", "embedding"}:
            continue
        value = getattr(entry, name)
        assert as_filter({name: value}) == {name: value}
        assert as_filter({name: None}) == {name: None}


def test_a_mapping_keeps_none_as_a_wish():
    assert as_filter({"agent_id": None, "user_id": "ada"}) == {"agent_id": None, "user_id": "ada"}
    assert as_filter({}) == {}


def test_values_in_a_mapping_are_normalised():
    berlin = datetime(2026, 3, 15, 13, tzinfo=timezone(timedelta(hours=1)))
    noon = datetime(2026, 3, 15, 12, tzinfo=UTC)
    assert as_filter({"created_at": berlin}) == {"created_at": noon}
    assert as_filter({"created_at": "2026-03-15T12:00:00Z"}) == {"created_at": noon}
    wanted = as_filter({"type": "episodic", "importance": 1})
    assert wanted["type"] is MemoryType.EPISODIC
    assert type(wanted["importance"]) is float


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "nonsense"},
        {"type": 1},
        {"importance": "high"},
        {"importance": True},
        {"evergreen": 1},
        {"evergreen": "yes"},
        {"access_count": 1.5},
        {"access_count": True},
        {"created_at": "yesterday"},
        {"created_at": 0},
        {"created_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - the point is that it is refused
    ],
    ids=str,
)
def test_values_of_the_wrong_type_are_refused(wanted: dict[str, Any]):
    with pytest.raises(InvalidScope, match=next(iter(wanted))):
        as_filter(wanted)


@pytest.mark.parametrize("scope", [None, "global", "user", [("user_id", "u")], 0, ["user_id"]])
def test_what_is_not_a_scope_is_refused_rather_than_searching_everything(scope: Any):
    with pytest.raises(InvalidScope, match="GLOBAL"):
        as_filter(scope)


VALUES = st.none() | st.text(max_size=3)


@given(st.fixed_dictionaries(dict.fromkeys(SCOPE_FIELDS, VALUES)))
def test_a_scope_is_the_filter_of_its_set_fields(values: dict[str, Any]):
    scope = Scope(**values)
    expected = {name: value for name, value in values.items() if value is not None}
    assert as_filter(scope) == expected == as_filter(expected)
    assert Scope.from_fields(values, SCOPE_FIELDS) == scope
