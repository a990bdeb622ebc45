"""The same jobs in bare sqlite3, FTS5 and NumPy: what the stores are measured against.

No checks, no fingerprints, no history: the least code that returns what a caller gets.
"""

from __future__ import annotations

import json
import re
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import nousmem as nm

COLUMNS = (
    "id", "content", "type", "importance", "evergreen", "metadata", "agent_id", "session_id",
    "user_id", "namespace", "access_count", "created_at", "updated_at", "last_accessed_at",
)  # fmt: skip


class Bare:
    """One table, one FTS5 index, one matrix."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute(f"CREATE TABLE IF NOT EXISTS entries ({', '.join(COLUMNS)}, vector BLOB)")
        self.db.execute("CREATE INDEX IF NOT EXISTS by_user ON entries (user_id)")
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 "
            "(content, tokenize = 'porter unicode61')"
        )
        self.matrix = np.empty((0, 0), dtype=np.float32)
        self.users: list[str | None] = []

    def load(self, entries: Sequence[nm.Entry]) -> None:
        """Insert everything in one transaction."""
        with self.db:
            self.db.executemany(
                f"INSERT INTO entries VALUES ({', '.join('?' * (len(COLUMNS) + 1))})",  # noqa: S608
                [_row(entry) for entry in entries],
            )
            self.db.executemany(
                "INSERT INTO words (content) VALUES (?)", [(entry.content,) for entry in entries]
            )

    def open_matrix(self) -> None:
        """Read the vectors."""
        rows = self.db.execute("SELECT vector, user_id FROM entries").fetchall()
        self.matrix = np.frombuffer(b"".join(row[0] for row in rows), dtype=np.float32)
        self.matrix = self.matrix.reshape(len(rows), -1)
        self.matrix = self.matrix / np.linalg.norm(self.matrix, axis=1, keepdims=True)
        self.users = np.array([row[1] for row in rows], dtype=object)

    def text(self, query: str, *, user_id: str | None, limit: int) -> list[tuple]:
        """Any word matches; best BM25 first."""
        match = " OR ".join(f'"{word}"' for word in set(re.findall(r"\w+", query.lower())))
        where, values = ("AND e.user_id = ?", [user_id]) if user_id else ("", [])
        return self.db.execute(
            f"SELECT e.rowid, e.*, bm25(words) AS score FROM words "  # noqa: S608
            f"JOIN entries AS e ON e.rowid = words.rowid WHERE words MATCH ? {where} "
            "ORDER BY score LIMIT ?",
            (match, *values, limit),
        ).fetchall()

    def vector(self, query: np.ndarray, *, user_id: str | None, limit: int) -> list[tuple]:
        """One matrix-vector product, the best rows hydrated."""
        if user_id is None:
            rows, scores = None, self.matrix @ query
        else:
            rows = np.flatnonzero(self.users == user_id)
            scores = self.matrix[rows] @ query
        top = np.argpartition(-scores, min(limit, len(scores) - 1))[:limit]
        top = top[np.argsort(-scores[top])]
        seqs = [int(at if rows is None else rows[at]) + 1 for at in top]
        return self.hydrate(seqs)

    def hydrate(self, seqs: Sequence[int]) -> list[tuple]:
        """Return the rows with these numbers."""
        return self.db.execute(
            f"SELECT rowid, * FROM entries WHERE rowid IN ({', '.join('?' * len(seqs))})",  # noqa: S608
            seqs,
        ).fetchall()

    def hybrid(self, query: str, vector: np.ndarray, *, user_id: str, limit: int) -> list[tuple]:
        """Both legs 30 deep, fused by reciprocal rank."""
        rows: dict[int, tuple] = {}
        scores: dict[int, float] = {}
        for leg in (
            self.text(query, user_id=user_id, limit=30),
            self.vector(vector, user_id=user_id, limit=30),
        ):
            for rank, row in enumerate(leg, 1):
                rows[row[0]] = row
                scores[row[0]] = scores.get(row[0], 0.0) + 1 / (60 + rank)
        best = sorted(scores, key=lambda seq: -scores[seq])[:limit]
        return [rows[seq] for seq in best]

    def add(self, entry: nm.Entry) -> None:
        """Insert one entry in a transaction of its own, its vector at the end of the matrix."""
        self.load([entry])


def _row(entry: nm.Entry) -> tuple:
    values = [getattr(entry, name) for name in COLUMNS]
    values[2] = str(entry.type)
    values[5] = json.dumps(entry.metadata)
    for at in (11, 12, 13):
        values[at] = values[at].isoformat()
    return (*values, entry.embedding.tobytes())
