"""Every store of ours is held to the contract that anybody's store is held to."""

import pytest

from nousmem.stores import open_store
from nousmem.testing import StoreConformance
from nousmem.testing.store_suite.reopening import Reopening
from nousmem.testing.store_suite.text import Text


class TestMemory(StoreConformance):
    unspaced_text = False  # Jaro compares whole texts: a part at the far end shares no window

    def open_store(self, place):
        return open_store("memory:")


class TestSQLiteInMemory(StoreConformance):
    def open_store(self, place):
        return open_store("sqlite::memory:")


class TestSQLiteFile(StoreConformance):
    persistent = True
    shared = True

    def open_store(self, place):
        return open_store(f"sqlite:{place / 'memories.db'}")


def open_duckdb(place, options=""):
    return open_store(f"duckdb:{place}{options}")


class TestDuckDBInMemory(StoreConformance):
    text_matches_words = False
    random_sequences = 10

    def open_store(self, place):
        return open_duckdb(":memory:")


class TestDuckDBFileBM25(StoreConformance):
    persistent = True
    shared = True
    random_sequences = 10

    def open_store(self, place):
        return open_duckdb(place / "memories.duckdb", "?text=bm25")


# The two other combinations differ in one theme each.
class TestDuckDBFile(Reopening):
    text_matches_words = False
    persistent = True

    def open_store(self, place):
        return open_duckdb(place / "memories.duckdb")


class TestDuckDBInMemoryBM25(Text):
    def open_store(self, place):
        return open_duckdb(":memory:", "?text=bm25")


class TextOnly:
    """Another store without its search_vector."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        if name == "search_vector":
            raise AttributeError(name)
        return getattr(self.store, name)


class TestWithoutVectorSearch(StoreConformance):
    random_sequences = 5

    def open_store(self, place):
        return TextOnly(open_store("sqlite::memory:"))

    def test_vector_tests_are_skipped(self, request):
        with pytest.raises(pytest.skip.Exception, match="no search_vector"):
            request.getfixturevalue("vector_store")
