"""nousmem: agent memory, and the laboratory to tune it."""

from __future__ import annotations

from nousmem.corpora import Corpus, Query, list_corpora, load_corpus
from nousmem.embeddings import embed, open_embedder
from nousmem.entry import Entry, MemoryType
from nousmem.errors import (
    CorpusError,
    CorpusFileMissing,
    EmbedderError,
    EmbeddingMismatch,
    EntryNotFound,
    InvalidEntry,
    InvalidParameter,
    InvalidScope,
    InvalidVector,
    MissingDependency,
    NousmemError,
    StoreError,
    UnknownName,
)
from nousmem.hits import Hit, Hits
from nousmem.scope import GLOBAL, Scope
from nousmem.scoring import Scoring
from nousmem.search import Search
from nousmem.stores import Store, VectorStore, open_store

__version__ = "0.1.0"

__all__ = [
    "GLOBAL",
    "Corpus",
    "CorpusError",
    "CorpusFileMissing",
    "EmbedderError",
    "EmbeddingMismatch",
    "Entry",
    "EntryNotFound",
    "Hit",
    "Hits",
    "InvalidEntry",
    "InvalidParameter",
    "InvalidScope",
    "InvalidVector",
    "MemoryType",
    "MissingDependency",
    "NousmemError",
    "Query",
    "Scope",
    "Scoring",
    "Search",
    "Store",
    "StoreError",
    "UnknownName",
    "VectorStore",
    "__version__",
    "embed",
    "list_corpora",
    "load_corpus",
    "open_embedder",
    "open_store",
]
