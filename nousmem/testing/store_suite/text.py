"""search_text: what is found, in what order, and that a query is never syntax."""

from __future__ import annotations

from typing import Any

import pytest

from nousmem.entry import Entry
from nousmem.errors import InvalidParameter
from nousmem.stores.base import Store
from nousmem.testing.store_suite._case import (
    LYNX,
    MOSQUITO,
    T0,
    ZEBRA,
    StoreCase,
    each,
    ids,
    scores,
)

NOTHING_TO_SEARCH_FOR = ["", " ", "   ", "\n", "\t \r\n", "\u3000", "\u00a0"]
NO_WORDS = ["...", "!?", "-", '"', "'", "%", "_", "*", "%%%", "?*", "()", "\\", "--", ";", "&|^"]

SYNTAX = [
    "AC/DC vol. 2",
    "park.",
    "what's the budget, roughly?",
    "POL-358",
    "multi-agent",
    "-deploy",
    "col:term",
    "content:zebra",
    '"unbal',
    'two "quoted words',
    "(x",
    "x)",
    "((()",
    "AND",
    "OR",
    "NOT",
    "AND AND",
    "zebra AND",
    "NOT zebra",
    "NEAR",
    "NEAR(zebra lynx, 5)",
    "zebra*",
    "^zebra",
    "zebra~2",
    "zebra^3",
    "+zebra -lynx",
    "{zebra lynx}",
    "C++",
    "C#",
    "50%",
    "100_000",
    "C:\\repo",
    "C:\\repo\\src\\main.py",
    "install.sh | bash",
    "some/path",
    "a&b | !c <-> d",
    "'; DROP TABLE memories; --",
    "\\",
    "\\%",
    "\\'",
    "[a-z",
    "(?P<x",
    "*",
    ".*",
    "?",
    "$1",
    ":name",
    "%s %(x)s {}",
    "\U0001f600",
    "\U0001f469\u200d\U0001f4bb",
    "\u0301",
    "\x01\x02",
    "\ufeff",
    "\x00",
    "zebra\x00lynx",
    "用户",
    "தமிழ்",
]

TEXTS = [
    "AC/DC vol. 2",
    "what's the budget, roughly?",
    "ticket POL-358 is about multi-agent work",
    "run with -deploy or --dry-run",
    "the C++ and C# bindings",
    "50% off, 100_000 rows",
    "C:\\repo\\src\\main.py",
    "curl install.sh | bash",
    "rock AND roll, NOT jazz",
    'she said "hello (world"',
    "content:zebra^2 ~ {near}",
    "naïve café in Zürich",
    "Привет, мир",
    "用户喜欢混合检索",
    "私は東京に住んでいます",
    "தமிழ் ஒரு செம்மொழி",
    "\U0001f680 launch day \U0001f389",
]

PARTS = {
    "用户喜欢混合检索": ["混合检索", "喜欢"],
    "私は東京に住んでいます": ["東京"],
    "ผมอยู่กรุงเทพ": ["กรุงเทพ"],
}

LONG_QUERIES = [
    " ".join(f"word{n}" for n in range(3000)) + f" {ZEBRA}",
    "x" * 20_000,
    f"{ZEBRA} " * 3000,
    '"' * 5000,
    "(" * 5000,
    "a AND " * 1000,
]


class Text(StoreCase):
    """A query finds the entries whose text matches it, the best first."""

    def test_the_best_match_is_first(self, store: Store) -> None:
        """The entry that has all of the query comes before those that have part of it."""
        store.put(
            [
                Entry("learning elixir at university is fun", id="fun", created_at=T0),
                Entry("elixir concurrency with otp", id="otp", created_at=T0),
                Entry("python data science", id="science", created_at=T0),
            ]
        )
        query = "elixir otp" if self.text_matches_words else "elixir concurrency"
        assert ids(store.search_text(query))[0] == "otp"

    def test_a_better_match_has_the_larger_score(self, store: Store) -> None:
        """An entry that is the query ranks no lower than a long one that mentions it once."""
        rest = " ".join(f"something{n} unrelated{n}" for n in range(40))
        store.put(
            [
                Entry(f"{rest} {ZEBRA} {rest}", id="long", created_at=T0),
                Entry(ZEBRA, id="exact", created_at=T0),
                Entry(MOSQUITO, id="other", created_at=T0),
            ]
        )
        found = scores(store.search_text(ZEBRA))
        assert "exact" in found
        assert found["exact"] >= found.get("long", 0.0)

    def test_what_does_not_match_is_not_found(self, store: Store) -> None:
        """A query that shares nothing with an entry does not return it."""
        store.put([self.entry("z"), self.entry("m", MOSQUITO), self.entry("l", LYNX)])
        assert self.found(store, ZEBRA) == ["z"]
        assert self.found(store, MOSQUITO) == ["m"]
        assert self.found(store, LYNX) == ["l"]
        assert self.found(store, "4711") == []

    def test_one_match_in_a_tiny_store_has_a_score(self, store: Store) -> None:
        """A score is above 0 also where term statistics say nothing."""
        store.put([self.entry("a")])
        assert scores(store.search_text(ZEBRA))["a"] > 0

    def test_equal_text_scores_go_to_the_greater_id(self, store: Store) -> None:
        """Ties are ordered by descending id, compared by code point, before the cut."""
        names = ["b", "B", "a", "10", "9", "\u00e9", "\ufb01", "\U0001f600", "aa"]
        store.put([self.entry(name) for name in names])
        order = sorted(names, reverse=True)
        assert ids(store.search_text(ZEBRA)) == order
        for limit in range(1, len(names)):
            assert ids(store.search_text(ZEBRA, limit=limit)) == order[:limit]

    def test_min_score_is_a_strict_bound_of_text_scores(self, store: Store) -> None:
        """Every hit has score > min_score, and every entry that has is a hit."""
        store.put(
            [
                self.entry(f"{n}", " ".join([ZEBRA] * n + [f"other{m}" for m in range(9 - n)]))
                for n in range(1, 8)
            ]
        )
        hits = scores(store.search_text(ZEBRA))
        assert len(hits) == 7
        for bound in [0.0, *hits.values()]:
            wanted = [entry_id for entry_id, score in hits.items() if score > bound]
            assert ids(store.search_text(ZEBRA, min_score=bound)) == wanted
            assert ids(store.search_text(ZEBRA, min_score=bound, limit=2)) == wanted[:2]
        assert ids(store.search_text(ZEBRA, min_score=max(hits.values()) + 1)) == []

    def test_a_search_changes_nothing(self, store: Store) -> None:
        """The same search gives the same hits, and no access is recorded."""
        store.put([self.entry("a"), self.entry("b", f"{ZEBRA} {LYNX}")])
        assert scores(store.search_text(ZEBRA)) == scores(store.search_text(ZEBRA))
        assert store.get("a") == self.entry("a")

    def test_a_query_without_words_finds_nothing(self, store: Store) -> None:
        """Blank or punctuation alone matches no plain text: it is neither syntax nor wildcard."""
        store.put([self.entry("a", "a plain zebra"), self.entry("b", MOSQUITO)])

        def check(query: str) -> None:
            assert ids(store.search_text(query)) == []

        each([*NOTHING_TO_SEARCH_FOR, *NO_WORDS], check)

    def test_a_query_is_text(self, store: Store) -> None:
        """No text is an error, not a query that finds nothing."""
        store.put([self.entry("a")])

        def check(query: Any) -> None:
            with pytest.raises(InvalidParameter):
                store.search_text(query)

        each([None, 7, b"zebra", [ZEBRA]], check)

    def test_a_query_is_never_syntax(self, store: Store) -> None:
        """Whatever a user types gives hits or an empty list, never an error."""
        store.put([self.entry("a", "a plain zebra"), self.entry("b", "lynx, AND nothing else")])
        before = store.list()

        def check(query: str) -> None:
            assert set(ids(store.search_text(query))) <= {"a", "b"}
            assert store.list() == before

        each(SYNTAX, check)

    def test_a_text_is_found_by_itself(self, store: Store) -> None:
        """An entry's own text, used as the query, finds it first, in any script."""
        store.put(Entry(text, id=text, created_at=T0) for text in TEXTS)

        def check(text: str) -> None:
            assert ids(store.search_text(text))[0] == text

        each(TEXTS, check)

    def test_part_of_an_unspaced_text_is_found(self, store: Store) -> None:
        """Languages written without spaces are searched by their parts."""
        if not self.unspaced_text:
            pytest.skip("this store declares unspaced_text = False")
        store.put([*(Entry(text, id=text) for text in PARTS), self.entry("b", LYNX)])

        def check(text: str) -> None:
            for part in PARTS[text]:
                assert ids(store.search_text(part)) == [text]

        each(PARTS, check)

    def test_a_word_copied_from_the_text_is_found(self, store: Store) -> None:
        """Scripts with combining vowel signs are split at words, not inside them."""
        store.put([Entry("தமிழ் ஒரு செம்மொழி", id="a", created_at=T0), self.entry("b", LYNX)])
        assert ids(store.search_text("தமிழ்")) == ["a"]

    def test_a_very_long_text(self, store: Store) -> None:
        """A word at the end of a long text is found."""
        store.put([self.entry("long", "warm bread " * 2000 + ZEBRA), self.entry("b", LYNX)])
        assert "long" in ids(store.search_text(ZEBRA))

    def test_a_very_long_query(self, store: Store) -> None:
        """A page pasted as a query is answered, not refused."""
        store.put([self.entry("a"), self.entry("b", LYNX)])

        def check(query: str) -> None:
            found = ids(store.search_text(query))
            assert set(found) <= {"a", "b"}
            if self.text_matches_words and query.startswith(ZEBRA):
                assert "a" in found

        each(LONG_QUERIES, check)
