"""What every part of the suite stands on: the knobs, the fixtures, and how results are read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import pytest

from nousmem.entry import Entry, Vector
from nousmem.stores.base import ScoredEntries, Store, VectorStore, searches_vectors

# No two of these words share a letter, so that none matches another under any text score:
# whole words, substrings, trigrams, or a fuzzy similarity of whole strings.
ZEBRA: Final = "zebra"
MOSQUITO: Final = "mosquito"
LYNX: Final = "lynx"

T0: Final = datetime(2026, 3, 15, 12, tzinfo=UTC)
"""When the entries of the suite were created, unless a test says otherwise."""

LEGS: Final = ("search_text", "search_vector")
"""The operations that rank."""
READS: Final = ("list", *LEGS)
"""Every operation that takes filters."""

T = TypeVar("T")
OpenAt = Callable[[str], Store]
"""Opens the store at the place of that name."""


def later(hours: float) -> datetime:
    """Return the instant `hours` after `T0`."""
    return T0 + timedelta(hours=hours)


def each(values: Iterable[T], check: Callable[[T], None]) -> None:
    """Check every value in the same store, and raise all errors together, each with its value."""
    errors: list[Exception] = []
    for value in values:
        try:
            check(value)
        except Exception as error:  # noqa: BLE001  # whatever a store raises is reported
            error.add_note(f"with {value!r}")
            errors.append(error)
    if errors:
        raise ExceptionGroup("the rule does not hold for every value", errors)


def close(store: object) -> None:
    """Close the store, if stores of its kind can be closed."""
    release = getattr(store, "close", None)
    if release is not None:
        release()


def ids(hits: ScoredEntries) -> list[str]:
    """Return the ids of `hits`, after checking what holds for every ranked result."""
    keys: list[tuple[float, str]] = []
    for entry, score in hits:
        assert isinstance(entry, Entry), f"a hit is (Entry, score), got {entry!r}"
        assert isinstance(score, float), f"a score is a float, got {score!r}"
        assert math.isfinite(score), f"a score is finite, got {score!r}"
        keys.append((score, entry.id))
    found = [entry_id for _, entry_id in keys]
    assert len(set(found)) == len(found), f"an entry was returned twice: {found}"
    assert keys == sorted(keys, reverse=True), (
        f"best first, and equal scores by descending id; got {keys}"
    )
    return found


def scores(hits: ScoredEntries) -> dict[str, float]:
    """Return the score of each id, after the checks of `ids`."""
    return dict(zip(ids(hits), (score for _, score in hits), strict=True))


def assert_same(got: Entry, wanted: Entry) -> None:
    """Assert that two entries are equal in every field, the embedding to the last bit."""
    assert got == wanted
    # Equality alone takes True for 1 and 1.0 for 1.
    assert json.dumps(got.metadata, sort_keys=True) == json.dumps(wanted.metadata, sort_keys=True)
    for name in ("created_at", "updated_at", "last_accessed_at"):
        assert getattr(got, name).utcoffset() == timedelta(0), f"{name} is not in UTC"
    assert _bits(got) == _bits(wanted), "the embedding is not the same float32 numbers"


def _bits(entry: Entry) -> bytes | None:
    return None if entry.embedding is None else entry.embedding.tobytes()


class StoreCase:
    """The knobs of the suite, and what its tests share."""

    persistent: ClassVar[bool] = False
    """Whether opening a place again finds what was put there before the store was closed."""
    shared: ClassVar[bool] = False
    """Whether a place can be open twice at a time, each seeing what the other writes."""
    text_matches_words: ClassVar[bool] = True
    """False for a store that finds the query only as it stands, as a literal part of the text."""
    unspaced_text: ClassVar[bool] = True
    """False for a store that finds text written without spaces only as a whole."""
    dimension: ClassVar[int] = 4
    """Length of the vectors that the suite puts, at least 3."""
    random_sequences: ClassVar[int] = 25
    """How many random sequences of operations are compared with a plain dict; 0 skips them."""

    def open_store(self, place: Path) -> Store:
        """Return a store that lives at `place`, an existing folder of the test's own.

        Called again with the same folder, after the first store was closed, it opens the store
        that is there.
        """
        raise NotImplementedError(f"{type(self).__name__} must define open_store(self, place)")

    @pytest.fixture
    def open_at(self, tmp_path: Path) -> Iterator[OpenAt]:
        """Give a function that opens the store at a place of this name; all are closed at last."""
        opened: list[Store] = []

        def open_at(name: str) -> Store:
            place = tmp_path / name
            place.mkdir(exist_ok=True)
            opened.append(self.open_store(place))
            return opened[-1]

        yield open_at
        for store in opened:
            close(store)

    @pytest.fixture
    def store(self, open_at: OpenAt) -> Store:
        """Give a new, empty store."""
        return open_at("store")

    @pytest.fixture
    def vector_store(self, store: Store) -> VectorStore:
        """Give a new, empty store that searches vectors, or skip the test."""
        return self.with_vectors(store)

    @staticmethod
    def with_vectors(store: Store) -> VectorStore:
        """Return the same store, or skip the test if it does not search vectors."""
        if not searches_vectors(store):
            pytest.skip("this store has no search_vector: it searches text only")
        return store

    def vector(self, *head: float) -> Vector:
        """Return the vector that starts with `head` and is zero from there on."""
        full = np.zeros(self.dimension, dtype=np.float32)
        full[: len(head)] = head
        return full

    def entry(self, entry_id: str, content: str = ZEBRA, **fields: Any) -> Entry:
        """Return an entry that every leg finds, unless `fields` say otherwise."""
        values: dict[str, Any] = {"embedding": self.vector(1), "created_at": T0, **fields}
        return Entry(content, id=entry_id, **values)

    def entries(self, store: Store, operation: str, **filters: Any) -> list[Entry]:
        """Return what an operation of `READS` gives for the entries of `entry`."""
        if operation == "list":
            return store.list(**filters)
        options: dict[str, Any] = {"limit": 1000, **filters}
        if operation == "search_text":
            hits = store.search_text(ZEBRA, **options)
        else:
            hits = self.with_vectors(store).search_vector(self.vector(1), **options)
        assert len(ids(hits)) == len(hits)
        return [entry for entry, _ in hits]

    def read(self, store: Store, operation: str, **filters: Any) -> list[str]:
        """Return the ids of `entries`."""
        return [entry.id for entry in self.entries(store, operation, **filters)]

    @staticmethod
    def reads(store: Store) -> list[str]:
        """Return the operations of `READS` that the store has."""
        return [operation for operation in READS if hasattr(store, operation)]

    def found(self, store: Store, word: str) -> list[str]:
        """Return the ids whose text matches `word`, sorted."""
        return sorted(ids(store.search_text(word, limit=1000)))
