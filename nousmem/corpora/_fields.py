"""The fields that tables of one's own have, and the names their columns usually have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nousmem.entry import ENTRY_FIELDS

__all__ = ["ENTRY_COLUMNS", "ID_COLUMNS", "QRELS_COLUMNS", "QUERY_COLUMNS", "TABLES"]

_SCOPE_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "agent_id": ("agent_id", "agent"),
    "session_id": ("session_id", "session", "conversation_id"),
    "user_id": ("user_id", "user"),
    "namespace": ("namespace",),
}

ID_COLUMNS: Final = ("doc_id", "docid", "docno", "entry_id", "memory_id", "corpus_id", "id", "_id")

ENTRY_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    **{name: (name,) for name in ENTRY_FIELDS},
    **_SCOPE_COLUMNS,
    "id": ID_COLUMNS,
    "content": ("content", "text", "memory", "document", "passage", "message", "body", "fact"),
    "created_at": ("created_at", "timestamp", "created", "datetime", "date", "time"),
}

QUERY_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "query_id": ("query_id", "qid", "question_id", "topic_id", "id", "_id"),
    "text": ("text", "query", "question"),
    "now": ("now", "asked_at", "question_date", "timestamp", "date", "created_at"),
    "as_of": ("as_of",),
    "category": ("category", "question_type", "type"),
    **_SCOPE_COLUMNS,
}

QRELS_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "query_id": ("query_id", "qid", "question_id", "topic_id"),
    "text": ("query", "question", "text"),
    "doc_id": ID_COLUMNS,
    "content": ("content", "memory", "entry", "document", "passage", "fact", "text"),
    "relevance": ("relevance", "label", "rel", "score", "grade", "judgement", "judgment"),
}

TABLES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "entries": ENTRY_COLUMNS,
    "queries": QUERY_COLUMNS,
    "qrels": QRELS_COLUMNS,
}
"""Table to field to the names its column usually has, likeliest first."""
