"""Where entries live: the contract and the stores that ship with nousmem."""

from __future__ import annotations

from nousmem.stores.base import ScoredEntries, Store, TouchStore, VectorStore
from nousmem.stores.registry import open_store

__all__ = ["ScoredEntries", "Store", "TouchStore", "VectorStore", "open_store"]
