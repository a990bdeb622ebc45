"""nousmem: agent memory, and the laboratory to tune it."""

from __future__ import annotations

from nousmem.corpora import Corpus, Query, corpus_from_frames, list_corpora, load_corpus
from nousmem.embeddings import embed, open_embedder
from nousmem.entry import Entry, MemoryType
from nousmem.errors import (
    CorpusError,
    CorpusFileMissing,
    EmbedderError,
    EmbeddingMismatch,
    EntryNotFound,
    ExperimentError,
    InvalidEntry,
    InvalidParameter,
    InvalidScope,
    InvalidVector,
    MissingDependency,
    NousmemError,
    SessionError,
    StoreError,
    UnknownName,
)
from nousmem.retrieval.hits import Hit, Hits
from nousmem.retrieval.search import DegradedSearchWarning, Search
from nousmem.scope import GLOBAL, Scope
from nousmem.scoring import Scoring
from nousmem.stores import Store, VectorStore, open_store
from nousmem.upkeep.duplicates import DuplicateGroup, find_duplicates, merge_duplicates
from nousmem.upkeep.reembedding import reembed
from nousmem.upkeep.transfer import export_entries, import_entries

__version__ = "0.1.0"

__all__ = [
    "GLOBAL",
    "Corpus",
    "CorpusError",
    "CorpusFileMissing",
    "DegradedSearchWarning",
    "DuplicateGroup",
    "EmbedderError",
    "EmbeddingMismatch",
    "Entry",
    "EntryNotFound",
    "ExperimentError",
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
    "SessionError",
    "Store",
    "StoreError",
    "UnknownName",
    "VectorStore",
    "__version__",
    "corpus_from_frames",
    "embed",
    "export_entries",
    "find_duplicates",
    "import_entries",
    "list_corpora",
    "load_corpus",
    "merge_duplicates",
    "open_embedder",
    "open_store",
    "reembed",
]
