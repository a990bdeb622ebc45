"""What looks after a store: duplicates, vectors of another embedder, copies."""

from __future__ import annotations

from nousmem.upkeep.duplicates import DuplicateGroup, find_duplicates, merge_duplicates
from nousmem.upkeep.reembedding import reembed
from nousmem.upkeep.transfer import export_entries, import_entries

__all__ = [
    "DuplicateGroup",
    "export_entries",
    "find_duplicates",
    "import_entries",
    "merge_duplicates",
    "reembed",
]
