"""The heart: what is searched, how it is found, and the ranking that comes of it."""

from __future__ import annotations

from nousmem.retrieval.hits import Hit, Hits
from nousmem.retrieval.search import DegradedSearchWarning, Search

__all__ = ["DegradedSearchWarning", "Hit", "Hits", "Search"]
