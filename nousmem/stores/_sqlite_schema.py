"""The tables of a SQLite store, and the numbers that mark its files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "migration_statements", "schema_statements"]

APPLICATION_ID: Final = 0x6E6F7573  # "nous"
SCHEMA_VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    terms TEXT NOT NULL,
    type TEXT NOT NULL,
    importance REAL NOT NULL,
    evergreen INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    agent_id TEXT,
    session_id TEXT,
    user_id TEXT,
    namespace TEXT,
    embedder TEXT,
    access_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    superseded_at INTEGER,
    superseded_by TEXT
) STRICT;
CREATE INDEX entries_by_age ON entries (created_at);
CREATE INDEX entries_by_user ON entries (user_id, agent_id);
CREATE INDEX entries_by_agent ON entries (agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX entries_by_session ON entries (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX entries_by_namespace ON entries (namespace) WHERE namespace IS NOT NULL;
CREATE INDEX entries_superseded ON entries (superseded_at) WHERE superseded_at IS NOT NULL;
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY REFERENCES entries (seq) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
    terms, content = 'entries', content_rowid = 'seq', tokenize = 'ascii', columnsize = 1
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
"""


MIGRATIONS: Final[dict[int, str]] = {}
"""Layout to the statements that make the next layout of it."""


def schema_statements() -> Iterable[str]:
    """Yield the statements that make an empty store."""
    return _statements(_SCHEMA)


def migration_statements(version: int) -> Iterable[str]:
    """Yield the statements that bring a store of an older layout up to date."""
    for older in range(version, SCHEMA_VERSION):
        yield from _statements(MIGRATIONS[older])


def _statements(script: str) -> Iterable[str]:
    statement = ""
    for line in script.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
