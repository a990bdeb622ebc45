"""scope, type, as_of and limit, which mean the same in every operation."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest

from nousmem.entry import MemoryType
from nousmem.errors import InvalidEntry, InvalidParameter, InvalidScope
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope
from nousmem.stores.base import Store
from nousmem.testing.store_suite._case import LEGS, READS, T0, StoreCase, each, later

NAMES = [
    "john_doe",
    "john-doe",
    "johnXdoe",
    "John_Doe",
    "john_doe ",
    "50%",
    "50x",
    "%",
    "_",
    "*",
    "?",
    "[a-z]",
    "a\\b",
    "a\\\\b",
    "a\bb",
    "foo",
    "foo-bar",
    "foo:bar",
    "foo/bar",
    "foo.bar",
    "foo bar",
    "",
    " ",
    "None",
    "null",
    "0",
    "false",
    "caf\u00e9",
    "cafe\u0301",
    "\U0001f600",
    "\U0001f601",
    "it's",
    'say "hi"',
    "x' OR '1'='1",
    "'; DROP TABLE memories; --",
    "line\nbreak",
]
"""Values that some store, somewhere, took for one another or for syntax."""

MAPPINGS: list[dict[str, Any]] = [
    {"id": "wanted"},
    {"content": "a ZEBRA! it's 50% (zebra)"},
    {"type": "procedural"},
    {"type": MemoryType.PROCEDURAL},
    {"importance": 1},
    {"importance": 1.0, "evergreen": True},
    {"evergreen": True},
    {"agent_id": "x", "namespace": None},
    {"embedder": "some-model"},
    {"access_count": 3},
    {"created_at": later(1)},
    {"created_at": later(1).isoformat()},
    {"updated_at": later(2)},
    {"last_accessed_at": later(3)},
]

MEANINGLESS: list[Any] = [
    {"user": "alice"},
    {"user_id": "alice", "dataset": "x"},
    {"": "alice"},
    {"user_id = 'x' OR 1=1 --": "alice"},
    {"metadata": {}},
    {"embedding": None},
    {"user_id": 7},
    {"user_id": ["alice"]},
    {"evergreen": 1},
    {"importance": "high"},
    {"type": "declarative"},
    "alice",
]


class Filtering(StoreCase):
    """A filter is exact, it is never ignored, and it is applied before any cut."""

    @pytest.mark.parametrize("field", SCOPE_FIELDS)
    @pytest.mark.parametrize("operation", READS)
    def test_scopes_are_compared_exactly(self, store: Store, operation: str, field: str) -> None:
        """Each value finds its own entries and nobody else's, whatever characters it has."""
        owners = {f"{n:03}": name for n, name in enumerate(NAMES * 2)}
        store.put([self.entry(entry_id, **{field: name}) for entry_id, name in owners.items()])
        store.put([self.entry("nobody")])
        for name in NAMES:
            wanted = [entry_id for entry_id, owner in owners.items() if owner == name]
            assert sorted(self.read(store, operation, scope=Scope(**{field: name}))) == wanted
        for stranger in ("john", "FOO", "foo-", "50", "b", "alice", "foo\x00", "foo\ud800"):
            assert self.read(store, operation, scope=Scope(**{field: stranger})) == []

    @pytest.mark.parametrize("operation", READS)
    def test_scope_fields_are_kept_apart(self, store: Store, operation: str) -> None:
        """A value counts for its own field only, and fields are never joined to one key."""
        store.put(
            [
                *(self.entry(field, **{field: "same"}) for field in SCOPE_FIELDS),
                self.entry("left", agent_id="x:y", user_id="z"),
                self.entry("right", agent_id="x", user_id="y:z"),
            ]
        )
        for field in SCOPE_FIELDS:
            assert self.read(store, operation, scope=Scope(**{field: "same"})) == [field]
        assert self.read(store, operation, scope=Scope(agent_id="x:y", user_id="z")) == ["left"]
        assert self.read(store, operation, scope=Scope(agent_id="x", user_id="y:z")) == ["right"]

    @pytest.mark.parametrize("operation", READS)
    def test_all_fields_of_a_scope_must_match(self, store: Store, operation: str) -> None:
        """Conditions are joined by "and"."""
        store.put(
            [
                self.entry("both", user_id="alice", namespace="work"),
                self.entry("user", user_id="alice"),
                self.entry("space", namespace="work"),
            ]
        )
        both = Scope(user_id="alice", namespace="work")
        assert self.read(store, operation, scope=both) == ["both"]
        none = Scope(user_id="alice", agent_id="work")
        assert self.read(store, operation, scope=none) == []

    @pytest.mark.parametrize("operation", READS)
    def test_unset_is_not_empty(self, store: Store, operation: str) -> None:
        """Empty text is a value; None in a mapping means "unset", in a Scope "any"."""
        store.put(
            [
                self.entry("unset"),
                self.entry("empty", user_id=""),
                self.entry("named", user_id="alice"),
            ]
        )
        everyone = ["empty", "named", "unset"]
        assert self.read(store, operation, scope=Scope(user_id="")) == ["empty"]
        assert self.read(store, operation, scope={"user_id": ""}) == ["empty"]
        assert self.read(store, operation, scope={"user_id": None}) == ["unset"]
        assert sorted(self.read(store, operation, scope=Scope(user_id=None))) == everyone
        assert sorted(self.read(store, operation, scope=GLOBAL)) == everyone
        assert sorted(self.read(store, operation, scope={})) == everyone
        assert sorted(self.read(store, operation)) == everyone

    @pytest.mark.parametrize("operation", READS)
    def test_mappings_filter_by_any_field(self, store: Store, operation: str) -> None:
        """A mapping names fields of an entry and the values wanted."""
        store.put(
            [
                self.entry(
                    "wanted",
                    "a ZEBRA! it's 50% (zebra)",
                    type="procedural",
                    importance=1,
                    evergreen=True,
                    agent_id="x",
                    embedder="some-model",
                    access_count=3,
                    created_at=later(1),
                    updated_at=later(2),
                    last_accessed_at=later(3),
                ),
                self.entry("other", importance=0.999999, namespace="y", access_count=4),
            ]
        )

        def check(scope: dict[str, Any]) -> None:
            assert self.read(store, operation, scope=scope) == ["wanted"]

        each(MAPPINGS, check)

    @pytest.mark.parametrize("operation", READS)
    def test_numbers_and_times_are_compared_exactly(self, store: Store, operation: str) -> None:
        """0.1 is found as 0.1, and a microsecond makes a difference."""
        store.put(
            [
                self.entry("a", importance=0.1),
                self.entry("b", importance=0.1 + 1e-12, created_at=T0 + timedelta(microseconds=1)),
            ]
        )
        assert self.read(store, operation, scope={"importance": 0.1}) == ["a"]
        assert self.read(store, operation, scope={"created_at": T0}) == ["a"]
        assert self.read(store, operation, scope={"importance": 0.1 + 1e-12}) == ["b"]

    @pytest.mark.parametrize("operation", READS)
    def test_a_scope_that_means_nothing_is_refused(self, store: Store, operation: str) -> None:
        """A misspelt field or a value of the wrong kind is an error, never "no filter"."""

        def check(scope: Any) -> None:
            with pytest.raises(InvalidScope):
                self.read(store, operation, scope=scope)

        each(MEANINGLESS, check)
        store.put([self.entry("a", user_id="alice")])
        each(MEANINGLESS, check)

    @pytest.mark.parametrize("operation", READS)
    def test_type(self, store: Store, operation: str) -> None:
        """Only entries of the type wanted, which may be given as text."""
        store.put([self.entry(kind.value, type=kind) for kind in MemoryType])
        for kind in MemoryType:
            assert self.read(store, operation, type=kind) == [kind.value]
            assert self.read(store, operation, type=kind.value) == [kind.value]
        assert len(self.read(store, operation, type=None)) == 3

    @pytest.mark.parametrize("operation", READS)
    def test_type_and_scope_both_count(self, store: Store, operation: str) -> None:
        """The filters are joined by "and"."""
        store.put(
            [
                self.entry("a", type="episodic", user_id="alice"),
                self.entry("b", type="episodic", user_id="bob"),
                self.entry("c", user_id="alice"),
            ]
        )
        alice = Scope(user_id="alice")
        assert self.read(store, operation, type="episodic", scope=alice) == ["a"]
        contradiction = {"type": "semantic"}
        assert self.read(store, operation, type="episodic", scope=contradiction) == []

    @pytest.mark.parametrize("operation", READS)
    def test_an_unknown_type_is_refused(self, store: Store, operation: str) -> None:
        """A type that does not exist is an error, not an empty result."""

        def check(kind: Any) -> None:
            with pytest.raises(InvalidEntry):
                self.read(store, operation, type=kind)

        each(["declarative", "", "Semantic", 1], check)

    @pytest.mark.parametrize("operation", READS)
    def test_limit(self, store: Store, operation: str) -> None:
        """At most so many, from the front; 0 is none."""
        store.put([self.entry(name) for name in "dbeac"])
        order = ["a", "b", "c", "d", "e"] if operation == "list" else ["e", "d", "c", "b", "a"]
        assert self.read(store, operation, limit=0) == []
        for limit in (1, 2, 4, 5, 6, 10**6, 10**30):
            assert self.read(store, operation, limit=limit) == order[:limit]

    @pytest.mark.parametrize("operation", READS)
    def test_a_negative_limit_is_refused(self, store: Store, operation: str) -> None:
        """A negative limit means nothing."""
        store.put([self.entry(name) for name in "abc"])
        for limit in (-1, -100):
            with pytest.raises(InvalidParameter):
                self.read(store, operation, limit=limit)

    @pytest.mark.parametrize("operation", READS)
    def test_options_of_the_wrong_kind_are_refused(self, store: Store, operation: str) -> None:
        """A limit that is no whole number, a bound that is none, a time without a zone."""
        wrong: list[tuple[str, Any]] = [("limit", 1.5), ("limit", "5"), ("limit", True)]
        if operation != "list":
            wrong += [("min_score", float("nan")), ("min_score", "0.5")]

        def check(option: tuple[str, Any]) -> None:
            with pytest.raises(InvalidParameter):
                self.read(store, operation, **dict([option]))

        each(wrong, check)
        store.put([self.entry("a")])
        each(wrong, check)
        with pytest.raises(InvalidEntry):
            self.read(store, operation, as_of=T0.replace(tzinfo=None))

    @pytest.mark.parametrize("leg", LEGS)
    def test_searches_return_ten_unless_told(self, store: Store, leg: str) -> None:
        """The default limit of a search is 10; list returns everything."""
        store.put([self.entry(f"{n:02}") for n in range(25)])
        if leg == "search_text":
            assert len(store.search_text("zebra")) == 10
        else:
            assert len(self.with_vectors(store).search_vector(self.vector(1))) == 10
        assert len(store.list()) == 25

    @pytest.mark.parametrize("operation", READS)
    def test_filters_come_before_the_limit(self, store: Store, operation: str) -> None:
        """One user of twenty gets a full page: the best of their own, not what is left."""
        users = [f"user-{n}" for n in range(19)]
        owners = {f"{n:03}": users[n % 19] if n % 50 else "rare" for n in range(400)}
        store.put(
            [
                self.entry(
                    f"{n:03}",
                    user_id=owners[f"{n:03}"],
                    type="episodic" if n % 4 == 1 else "semantic",
                    created_at=later(n // 2),
                )
                for n in range(400)
            ]
        )
        everyone = self.read(store, operation)
        assert len(everyone) == 400
        for user in ("rare", "user-3", "user-18"):
            scope = Scope(user_id=user)
            own = [name for name in everyone if owners[name] == user]
            assert self.read(store, operation, scope=scope, limit=10) == own[:10]
            assert len(own) == 8 or len(own) > 10
        episodic = [name for name in everyone if int(name) % 4 == 1]
        assert self.read(store, operation, type="episodic", limit=10) == episodic[:10]
        early = [name for name in everyone if int(name) // 2 <= 3]
        assert self.read(store, operation, as_of=later(3), limit=10) == early
        assert len(early) == 8

    @pytest.mark.parametrize("operation", READS)
    def test_as_of_hides_what_came_later(self, store: Store, operation: str) -> None:
        """An entry is visible from the instant it was created."""
        moment = timedelta(microseconds=1)
        store.put(
            [
                self.entry("1", created_at=later(-1)),
                self.entry("2", created_at=T0),
                self.entry("3", created_at=T0 + moment),
            ]
        )
        assert sorted(self.read(store, operation, as_of=later(-2))) == []
        assert sorted(self.read(store, operation, as_of=T0 - moment)) == ["1"]
        assert sorted(self.read(store, operation, as_of=T0)) == ["1", "2"]
        assert sorted(self.read(store, operation, as_of=later(1))) == ["1", "2", "3"]
        assert sorted(self.read(store, operation)) == ["1", "2", "3"]
        elsewhere = T0.astimezone(timezone(timedelta(hours=-8)))
        assert sorted(self.read(store, operation, as_of=elsewhere)) == ["1", "2"]

    @pytest.mark.parametrize("operation", READS)
    def test_as_of_shows_what_was_not_yet_superseded(self, store: Store, operation: str) -> None:
        """A superseded entry is visible only as of an instant before it was superseded."""
        store.put(
            [
                self.entry("old", created_at=T0, superseded_at=later(5), superseded_by="new"),
                self.entry("new", created_at=later(5)),
            ]
        )
        assert self.read(store, operation) == ["new"]
        assert self.read(store, operation, as_of=later(4)) == ["old"]
        just_before = later(5) - timedelta(microseconds=1)
        assert self.read(store, operation, as_of=just_before) == ["old"]
        assert self.read(store, operation, as_of=later(5)) == ["new"]
        assert self.read(store, operation, as_of=later(9)) == ["new"]
        assert store.get("old").superseded_by == "new"

    def test_list_can_include_superseded_entries(self, store: Store) -> None:
        """History is listed when asked for, and still filtered."""
        store.put(
            [
                self.entry("old", created_at=T0, superseded_at=later(5), user_id="alice"),
                self.entry("new", created_at=later(5), user_id="alice"),
                self.entry("other", created_at=T0, superseded_at=later(1), user_id="bob"),
            ]
        )
        alice = Scope(user_id="alice")
        history = store.list(scope=alice, include_superseded=True)
        assert [entry.id for entry in history] == ["old", "new"]
        assert len(store.list(include_superseded=True)) == 3
        assert [entry.id for entry in store.list()] == ["new"]

    def test_list_is_in_order(self, store: Store) -> None:
        """The oldest first; entries of one instant by id, compared by code point."""
        names = ["b", "B", "a", "10", "9", "\u00e9", "\ufb01", "\U0001f600", "a-", "aa"]
        store.put([self.entry(name, created_at=later(1)) for name in names])
        store.put([self.entry("z", created_at=later(0))])
        store.put([self.entry("A", created_at=later(2))])
        order = ["z", *sorted(names), "A"]
        assert [entry.id for entry in store.list()] == order
        assert [entry.id for entry in store.list(limit=4)] == order[:4]
        store.update("9", importance=0.9, now=later(8))
        store.put([self.entry("b", created_at=later(1), importance=0.1)])
        assert [entry.id for entry in store.list()] == order
