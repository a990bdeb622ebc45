"""Contracts as test suites, for anyone who brings a store or an embedder of their own.

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
    "nousmem.testing.store_suite", "nousmem.testing.embedder_conformance"
)

from nousmem.testing.embedder_conformance import EmbedderConformance  # noqa: E402  # see above
from nousmem.testing.store_conformance import StoreConformance  # noqa: E402  # see above

__all__ = ["EmbedderConformance", "StoreConformance"]
