"""Where entries live: the contract and the stores that ship with nousmem."""

from __future__ import annotations

from nousmem.stores._postgres_server import start_server, stop_server
from nousmem.stores.base import Fault, KeptStore, ScoredEntries, Store, TouchStore, VectorStore
from nousmem.stores.registry import open_store

__all__ = [
    "Fault",
    "KeptStore",
    "ScoredEntries",
    "Store",
    "TouchStore",
    "VectorStore",
    "open_store",
    "start_server",
    "stop_server",
]
