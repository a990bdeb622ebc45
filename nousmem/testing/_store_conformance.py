"""The contract of `nousmem.stores.base` as a test suite, for anybody's store.

Source: specification, "Bringing Your Own Backend" and "Run the conformance suite".
"""

from __future__ import annotations

from nousmem.testing.store_suite.caring import Caring
from nousmem.testing.store_suite.changing import Changing
from nousmem.testing.store_suite.filtering import Filtering
from nousmem.testing.store_suite.keeping import Keeping
from nousmem.testing.store_suite.random_operations import RandomOperations
from nousmem.testing.store_suite.reopening import Reopening
from nousmem.testing.store_suite.text import Text
from nousmem.testing.store_suite.together import Together
from nousmem.testing.store_suite.vectors import Vectors
from nousmem.testing.store_suite.writing import Writing

__all__ = ["StoreConformance"]


class StoreConformance(
    Writing,
    Changing,
    Keeping,
    Filtering,
    Text,
    Vectors,
    Caring,
    Together,
    Reopening,
    RandomOperations,
):
    """Checks a store against everything the contract says.

    Derive a class from it in a test file, say how the store is opened, and run pytest:

    ```python
    from pathlib import Path

    from nousmem.testing import StoreConformance

    class TestMyStore(StoreConformance):
        persistent = True

        def open_store(self, place: Path) -> MyStore:
            return MyStore(place / "memories.db")
    ```

    Each test states one rule, its docstring says which. Class attributes declare what a store
    is, each has a default:

    - `persistent` (False): opening a place again finds what was put there.
    - `shared` (False): a place can be open twice at a time, and each sees what the other writes.
    - `text_matches_words` (True): False if the query is found only as it stands.
    - `unspaced_text` (True): False if text without spaces, such as Chinese, is found only whole.
    - `dimension` (4): length of the vectors put, for a store that declares a width.
    - `random_sequences` (25): random sequences of operations compared with a dict; 0 skips them.

    Abilities are detected: without `search_vector` the tests of vectors are skipped, without
    `touch` those of touch, without `forget`, `compact` and `check` those of looking after it,
    without `close` that of closing. Every store must bear several threads at once.
    """
