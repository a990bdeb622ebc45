"""Memories that say the same twice: what is one group, what is not, and what becomes of it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import nousmem as nm
from nousmem.scope import SCOPE_FIELDS
from nousmem.upkeep.duplicates import DuplicateGroup

T0 = datetime(2026, 3, 15, 12, tzinfo=UTC)
NOW = T0 + timedelta(days=9)


def entry(entry_id: str, content: str = "Ada drinks tea", *, day: int = 0, **fields) -> nm.Entry:
    return nm.Entry(content, id=entry_id, created_at=T0 + timedelta(days=day), **fields)


@pytest.fixture(params=["memory:", "sqlite::memory:", "duckdb::memory:"])
def store(request):
    with nm.open_store(request.param) as store:
        yield store


def names(groups: list[DuplicateGroup]) -> list[list[str]]:
    return [[one.id for one in group.entries] for group in groups]


def visible(store: nm.Store) -> list[str]:
    return sorted(one.id for one in store.list())


class TestFinding:
    def test_equal_texts_whatever_their_case_and_spacing(self, store):
        store.put(
            [
                entry("c", "Ada  DRINKS tea", day=2),
                entry("a", "ada drinks tea\n", day=1),
                entry("b", "\tAda drinks\u00a0Tea"),
                entry("d", "Ada drinks tea."),
                entry("e", "Adadrinks tea"),
                entry("f", "Zoe\u0308 DRINKS TEA"),
                entry("g", "zo\u00cb drinks tea", day=1),
            ]
        )
        assert names(nm.find_duplicates(store)) == [["b", "a", "c"], ["f", "g"]]

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("the room has 10² metres", "the room has 102 metres"),
            ("cafe", "café"),
            ("rate it ①", "rate it 1"),
        ],
    )
    def test_other_texts_are_other_memories(self, store, one, other):
        store.put([entry("a", one), entry("b", other)])
        assert nm.find_duplicates(store) == []

    @pytest.mark.parametrize("similarity", [None, 0.9])
    @pytest.mark.parametrize("field", SCOPE_FIELDS)
    def test_never_across_scopes(self, store, similarity, field):
        values = [None, "", "ada", "Ada", "ada ", "bo"]
        store.put(
            [entry(f"{n}", **{field: value}, embedding=[1, 2]) for n, value in enumerate(values)]
        )
        assert nm.find_duplicates(store, similarity=similarity) == []
        store.put([entry("x", **{field: "ada"}, embedding=[1, 2], day=1)])
        assert names(nm.find_duplicates(store, similarity=similarity)) == [["2", "x"]]

    @pytest.mark.parametrize("similarity", [None, 0.9])
    def test_never_across_types(self, store, similarity):
        kinds = ("semantic", "episodic", "procedural")
        store.put([entry(kind, type=kind, embedding=[1, 2]) for kind in kinds])
        assert nm.find_duplicates(store, similarity=similarity) == []

    def test_scope_fields_are_never_joined(self, store):
        store.put(
            [entry("a", agent_id="x:y", user_id="z"), entry("b", agent_id="x", user_id="y:z")]
        )
        assert nm.find_duplicates(store) == []

    def test_only_a_scope(self, store):
        store.put([entry(f"{n}{user}", user_id=user) for n in range(2) for user in ("ada", "bo")])
        assert names(nm.find_duplicates(store, scope=nm.Scope(user_id="bo"))) == [["0bo", "1bo"]]

    def test_history_is_no_duplicate(self, store):
        store.put([entry("a"), entry("b", superseded_at=T0, superseded_by="a")])
        assert nm.find_duplicates(store) == []

    def test_similar_vectors(self, store):
        angles = {"a": 0, "b": 10, "c": 20, "d": 60, "e": 180}
        store.put(
            [
                entry(i, f"text {i}", embedding=[np.cos(np.radians(w)), np.sin(np.radians(w))])
                for i, w in angles.items()
            ]
        )
        store.put([entry("f", "without a vector"), entry("g", "TEXT A", embedding=[-1, -1])])
        near = np.cos(np.radians(10.1))
        # a and c are not similar, but both are to b; g has the text of a.
        assert names(nm.find_duplicates(store, similarity=near)) == [["a", "b", "c", "g"]]
        assert names(nm.find_duplicates(store, similarity=np.cos(np.radians(9.9)))) == [["a", "g"]]
        assert names(nm.find_duplicates(store)) == [["a", "g"]]

    def test_one_means_the_same_direction(self, store):
        rng = np.random.default_rng(1)
        vector = rng.normal(size=384)
        store.put([entry("a", "x", embedding=vector), entry("b", "y", embedding=vector * 3)])
        store.put([entry("c", "z", embedding=vector + rng.normal(size=384) * 0.01)])
        assert names(nm.find_duplicates(store, similarity=1)) == [["a", "b"]]

    def test_agrees_with_comparing_every_pair(self):
        rng = np.random.default_rng(2)
        store = nm.open_store("memory:")
        vectors = rng.normal(size=(60, 3))
        store.put([entry(f"{n:02}", f"text {n}", embedding=v) for n, v in enumerate(vectors)])
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        group_of = list(range(60))
        for i, j in zip(*np.nonzero(unit @ unit.T >= 0.97), strict=True):
            old, new = group_of[i], group_of[j]
            group_of = [new if g == old else g for g in group_of]
        wanted = sorted(
            [f"{n:02}" for n in range(60) if group_of[n] == g]
            for g in set(group_of)
            if group_of.count(g) > 1
        )
        assert len(wanted) > 3
        assert sorted(names(nm.find_duplicates(store, similarity=0.97))) == wanted

    @pytest.mark.parametrize("similarity", [-0.1, 1.1, float("nan"), "0.9", True])
    def test_what_is_no_similarity(self, similarity):
        with pytest.raises(nm.InvalidParameter):
            nm.find_duplicates(nm.open_store("memory:"), similarity=similarity)

    def test_an_empty_store(self, store):
        assert nm.find_duplicates(store) == []
        assert nm.find_duplicates(store, similarity=0.5) == []
        assert nm.merge_duplicates(store, [], now=NOW) == []


class TestMerging:
    def test_the_merged_entry(self, store):
        store.put(
            [
                entry(
                    "old",
                    "ADA drinks tea",
                    importance=0.9,
                    evergreen=True,
                    metadata={"source": "chat", "n": 1},
                    access_count=3,
                    last_accessed_at=T0 + timedelta(days=5),
                    embedding=[1, 0],
                    embedder="m",
                    user_id="ada",
                ),
                entry("mid", day=1, metadata={"n": 2, "room": "b"}, access_count=1, user_id="ada"),
                entry(
                    "new",
                    "Ada drinks tea",
                    day=2,
                    importance=0.2,
                    metadata={"n": 3},
                    access_count=4,
                    embedding=[0, 1],
                    embedder="m",
                    user_id="ada",
                ),
                entry("else", "Ada drinks coffee", user_id="ada"),
            ]
        )
        (group,) = nm.merge_duplicates(store, nm.find_duplicates(store), now=NOW)
        assert [one.id for one in group.entries] == ["old", "mid", "new"]
        merged = store.get("new")
        assert visible(store) == ["else", "new"]
        assert merged == group.merged.replace(updated_at=NOW)
        assert merged == nm.Entry(
            "Ada drinks tea",
            id="new",
            importance=0.9,
            evergreen=True,
            metadata={"source": "chat", "n": 3, "room": "b"},
            access_count=8,
            created_at=T0,
            updated_at=NOW,
            last_accessed_at=T0 + timedelta(days=5),
            embedding=[0, 1],
            embedder="m",
            user_id="ada",
        )
        assert merged.embedding.tolist() == [0, 1]
        assert [hit.id for hit, _ in store.search_vector([1, 1])] == ["new"]

    def test_every_group_of_a_big_store_is_merged_and_none_is_left(self, store):
        groups = [
            [entry(f"{g:02}-{n}", f"fact {g}" + " " * n, day=n) for n in range(2 + g % 3)]
            for g in range(54)
        ]
        rest = [entry(f"single{n}", f"a single memory {n}") for n in range(1000)]
        store.put([*rest, *(one for group in groups for one in group)])
        found = nm.find_duplicates(store)
        assert len(found) == 54
        sizes = [len(group.entries) for group in found]
        assert sizes == sorted(sizes, reverse=True)
        merged = nm.merge_duplicates(store, found, now=NOW)
        assert names(merged) == names(found)
        assert len(store.list()) == 1054
        assert nm.find_duplicates(store) == []
        assert nm.merge_duplicates(store, found, now=NOW) == []
        assert len(store.list()) == 1054

    def test_nothing_similar_is_left(self):
        rng = np.random.default_rng(4)
        store = nm.open_store("memory:")
        store.put([entry(f"{n}", f"t{n}", embedding=rng.normal(size=3)) for n in range(80)])
        found = nm.find_duplicates(store, similarity=0.95)
        assert len(found) > 5
        nm.merge_duplicates(store, found, now=NOW)
        assert nm.find_duplicates(store, similarity=0.95) == []

    @pytest.mark.parametrize(
        "change",
        [
            lambda store: store.update("a", content="Ada drinks juice"),
            lambda store: store.update("a", user_id="bo"),
            lambda store: store.update("b", type="episodic"),
            lambda store: store.update("b", superseded_at=NOW),
            lambda store: store.delete(["a"]),
            lambda store: store.delete(["b"]),
        ],
        ids=["text", "scope", "type", "superseded", "older gone", "newest gone"],
    )
    def test_a_group_that_is_none_any_more_is_passed_over(self, store, change):
        store.put([entry("a"), entry("b", day=1), entry("c", "fine"), entry("d", "FINE", day=1)])
        found = nm.find_duplicates(store)
        change(store)
        before = {one.id: one for one in store.list(include_superseded=True)}
        assert names(nm.merge_duplicates(store, found, now=NOW)) == [["c", "d"]]
        after = {one.id: one for one in store.list(include_superseded=True)}
        assert after.keys() == before.keys() - {"c"}
        assert all(after[i] == before[i] for i in after if i != "d")

    def test_other_changes_in_between_are_kept(self, store):
        store.put([entry("a"), entry("b", day=1)])
        found = nm.find_duplicates(store)
        store.touch(["a"], now=NOW)
        store.update("a", metadata={"late": 1}, importance=1.0, now=NOW)
        nm.merge_duplicates(store, found, now=NOW)
        merged = store.get("b")
        assert (merged.access_count, merged.last_accessed_at) == (1, NOW)
        assert (merged.metadata, merged.importance) == ({"late": 1}, 1.0)

    def test_a_group_given_twice_is_merged_once(self, store):
        store.put([entry("a"), entry("b", day=1), entry("c", day=2)])
        (group,) = nm.find_duplicates(store)
        part = DuplicateGroup(group.entries[:2])
        merged = nm.merge_duplicates(store, [group, group, part], now=NOW)
        assert names(merged) == [["a", "b", "c"]]
        assert visible(store) == ["c"]

    def test_groups_that_overlap_lose_nothing(self, store):
        given = [entry(i, day=n, access_count=1) for n, i in enumerate("abc")]
        store.put(given)
        pairs = [DuplicateGroup(tuple(given[:2])), DuplicateGroup(tuple(given[1:]))]
        nm.merge_duplicates(store, pairs, now=NOW)
        assert visible(store) == ["c"]
        assert store.get("c").access_count == 3

    def test_a_death_in_the_middle_loses_nothing(self, monkeypatch):
        store = nm.open_store("sqlite::memory:")
        store.put([entry("a", importance=1.0), entry("b", day=1)])
        found = nm.find_duplicates(store)
        with monkeypatch.context() as patched:
            patched.setattr(store, "delete", lambda ids: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                nm.merge_duplicates(store, found, now=NOW)
        assert visible(store) == ["a", "b"]
        assert store.get("b").importance == 1.0
        nm.merge_duplicates(store, nm.find_duplicates(store), now=NOW)
        assert visible(store) == ["b"]
