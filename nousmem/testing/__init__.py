"""Contracts as test suites, for anyone who brings a store, embedder, leg or term of their own.

Needs pytest, and nothing else.
"""

from __future__ import annotations

from nousmem.errors import MissingDependency

try:
    import pytest
except ImportError:
    raise MissingDependency("pytest", extra="testing", purpose="nousmem.testing") from None

# Without it pytest would show a failed assertion of the suite without the values compared.
pytest.register_assert_rewrite(
    "nousmem.testing.store_suite",
    "nousmem.testing._embedder_conformance",
    "nousmem.testing._ranking_conformance",
)

from nousmem.testing._embedder_conformance import EmbedderConformance  # noqa: E402  # see above
from nousmem.testing._ranking_conformance import (  # noqa: E402  # see above
    LegConformance,
    TermConformance,
)
from nousmem.testing._store_conformance import StoreConformance  # noqa: E402  # see above

__all__ = ["EmbedderConformance", "LegConformance", "StoreConformance", "TermConformance"]
