"""Looking after a SQLite store: what does not fit together, and giving room back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from nousmem.errors import StoreError
from nousmem.stores._sqlite_file import SQLiteFile
from nousmem.stores.base import Fault
from nousmem.stores.text import analyse_document

__all__ = ["check_file", "compact_file"]


def compact_file(file: SQLiteFile) -> None:
    """Rewrite the file: merged word index, no free pages, no write-ahead log."""
    # Deleted words stay in the index's segments until these are merged.
    file.execute("INSERT INTO words (words) VALUES ('optimize')")
    file.execute("VACUUM")
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def check_file(file: SQLiteFile, *, repair: bool) -> Sequence[Fault]:
    """Compare the tables of the file; inside a write transaction.

    Raises:
        StoreError: the database itself is damaged, which only a backup can mend.
    """
    damage = [row[0] for row in file.execute("PRAGMA integrity_check(10)")]
    if damage != ["ok"]:
        raise StoreError(
            f"{file.path} is damaged ({'; '.join(damage)}): restore a backup, or save what can be "
            "read with the sqlite3 shell's .recover"
        )
    found = [
        _stale_terms(file, repair=repair),
        _word_index(file, repair=repair),
        _vectors_without_entry(file, repair=repair),
        _vectors_of_wrong_length(file, repair=repair),
    ]
    faults = [fault for fault in found if fault is not None]
    if repair and faults:
        file.set_fact("vector_revision", file.fact("vector_revision", 0) + 1)
    return faults


def _stale_terms(file: SQLiteFile, *, repair: bool) -> Fault | None:
    stale = [
        (terms, seq)
        for seq, content, kept in file.execute("SELECT seq, content, terms FROM entries")
        if (terms := " ".join(analyse_document(content))) != kept
    ]
    if not stale:
        return None
    if repair:
        file.executemany("UPDATE entries SET terms = ? WHERE seq = ?", stale)
        _rebuild(file)
    return Fault("entries whose index terms are not those of their text", len(stale), repair)


def _word_index(file: SQLiteFile, *, repair: bool) -> Fault | None:
    try:
        file.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError:
        if repair:
            _rebuild(file)
        return Fault("the word index does not match the entries", 1, repair)
    return None


def _vectors_without_entry(file: SQLiteFile, *, repair: bool) -> Fault | None:
    orphans = "FROM vectors WHERE seq NOT IN (SELECT seq FROM entries)"
    count = file.value(f"SELECT count(*) {orphans}")
    if count and repair:
        file.execute(f"DELETE {orphans}")
    return Fault("vectors without an entry", count, repair) if count else None


def _vectors_of_wrong_length(file: SQLiteFile, *, repair: bool) -> Fault | None:
    wrong = (
        "FROM vectors WHERE length(vector) != 4 * coalesce("
        "(SELECT value FROM facts WHERE name = 'dimension'), -1)"
    )
    count = file.value(f"SELECT count(*) {wrong}")
    if count and repair:
        file.execute(f"UPDATE entries SET embedder = NULL WHERE seq IN (SELECT seq {wrong})")
        file.execute(f"DELETE {wrong}")
    return Fault("vectors of another length than the store's", count, repair) if count else None


def _rebuild(file: SQLiteFile) -> None:
    file.execute("INSERT INTO words (words) VALUES ('rebuild')")
