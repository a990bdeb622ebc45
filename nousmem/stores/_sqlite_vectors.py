"""The vectors of a SQLite file: its embedding space, and an index that follows every writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nousmem.entry import Entry
from nousmem.stores._sqlite_file import SQLiteFile
from nousmem.stores._vector_index import EmbeddingSpace, VectorIndex, VectorRow

__all__ = ["FollowedIndex"]


class FollowedIndex:
    """A vector index that is level with the file whenever it is asked.

    The file counts its vector changes. While the count is the one this index knows, nothing is
    read; after a write by another process, only new rows are.
    """

    def __init__(self, file: SQLiteFile) -> None:
        self._file = file
        self._index: VectorIndex | None = None
        self._revision = -1
        self._last_seq = 0

    def forget(self) -> None:
        """Drop what is in memory; the next search reads it again."""
        self._index = None

    def space(self) -> EmbeddingSpace | None:
        """Return what every vector of the file has in common; None without vectors."""
        dimension = self._file.fact("dimension")
        return None if dimension is None else EmbeddingSpace(dimension, self._file.fact("embedder"))

    def put(self, rows: Sequence[tuple[int, Entry]]) -> None:
        """Write the vectors of entries under their row numbers; inside a write transaction.

        Raises:
            EmbeddingMismatch: one does not belong to the space.
        """
        space = self.space()
        joined = EmbeddingSpace.joined(space, (entry for _, entry in rows))
        if joined is None:
            return
        if joined != space:
            self._file.set_fact("dimension", joined.dimension)
            self._file.set_fact("embedder", joined.embedder)
        embedded = [
            (seq, entry, entry.embedding) for seq, entry in rows if entry.embedding is not None
        ]
        self._file.executemany(
            "INSERT INTO vectors (seq, vector) VALUES (?, ?)",
            ((seq, vector.astype("<f4", copy=False).tobytes()) for seq, _, vector in embedded),
        )
        if embedded:
            self._changed(put=[VectorRow.of(entry) for _, entry, _ in embedded])

    def removed(self, entry_ids: Sequence[str]) -> None:
        """Take note that these entries, which had vectors, are gone from the file."""
        self._changed(removed=entry_ids)
        if self._file.value("SELECT 1 FROM vectors LIMIT 1") is None:
            self._file.execute("DELETE FROM facts WHERE name IN ('dimension', 'embedder')")

    def level(self) -> VectorIndex:
        """Return the index, level with the file as the transaction sees it."""
        revision = self._file.fact("vector_revision", 0)
        if self._index is None:
            self._index = VectorIndex()
            self._read_into(self._index, "TRUE")
        elif revision != self._revision:
            present = {
                row[0]
                for row in self._file.execute("SELECT id FROM entries JOIN vectors USING (seq)")
            }
            self._index.remove([one for one in self._index.ids() if one not in present])
            self._read_into(self._index, "e.seq > ?", self._last_seq)
        self._revision, self._last_seq = revision, self._file.last_seq()
        return self._index

    def _changed(self, *, put: Sequence[VectorRow] = (), removed: Sequence[str] = ()) -> None:
        known = self._file.fact("vector_revision", 0)
        self._file.set_fact("vector_revision", known + 1)
        if self._index is not None and known == self._revision:
            self._index.remove(removed)
            self._index.put(put)
            self._revision, self._last_seq = known + 1, self._file.last_seq()

    def _read_into(self, index: VectorIndex, condition: str, *values: Any) -> None:
        rows = self._file.execute(
            "SELECT e.id, v.vector, e.agent_id, e.session_id, e.user_id, e.namespace, e.type, "
            "e.created_at, e.superseded_at FROM vectors AS v JOIN entries AS e USING (seq) "
            f"WHERE {condition}",
            values,
        ).fetchall()
        if rows:
            ids, blobs, *coded, created, superseded = zip(*rows, strict=True)
            matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(rows), -1)
            index.put_columns(ids, matrix, coded, created, superseded)
