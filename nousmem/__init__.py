"""nousmem: agent memory, and the laboratory to tune it."""

from __future__ import annotations

from nousmem.corpora import Corpus, Query, corpus_from_frames, list_corpora, load_corpus
from nousmem.embeddings import Embedder, embed, open_embedder
from nousmem.entry import Entry, MemoryType
from nousmem.errors import (
    CorpusError,
    CorpusFileMissing,
    EmbedderError,
    EmbeddingMismatch,
    EntryNotFound,
    ExperimentError,
    ExtensionError,
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
from nousmem.retrieval import (
    Candidates,
    CrossEncoderLeg,
    DegradedSearchWarning,
    Hit,
    Hits,
    Injection,
    LegRequest,
    OtherEmbedderWarning,
    Retrieval,
    Search,
    Settings,
    Term,
    term,
)
from nousmem.scope import GLOBAL, Scope
from nousmem.scoring import Scoring
from nousmem.stores import Store, VectorStore, open_store
from nousmem.upkeep import (
    DuplicateGroup,
    export_entries,
    find_duplicates,
    import_entries,
    merge_duplicates,
    reembed,
)

__version__ = "0.1.0"

__all__ = [
    "GLOBAL",
    "Candidates",
    "Corpus",
    "CorpusError",
    "CorpusFileMissing",
    "CrossEncoderLeg",
    "DegradedSearchWarning",
    "DuplicateGroup",
    "Embedder",
    "EmbedderError",
    "EmbeddingMismatch",
    "Entry",
    "EntryNotFound",
    "ExperimentError",
    "ExtensionError",
    "Hit",
    "Hits",
    "Injection",
    "InvalidEntry",
    "InvalidParameter",
    "InvalidScope",
    "InvalidVector",
    "LegRequest",
    "MemoryType",
    "MissingDependency",
    "NousmemError",
    "OtherEmbedderWarning",
    "Query",
    "Retrieval",
    "Scope",
    "Scoring",
    "Search",
    "SessionError",
    "Settings",
    "Store",
    "StoreError",
    "Term",
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
    "term",
]
