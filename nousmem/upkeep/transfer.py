"""Entries to files and back, without loss: JSON Lines for people and tools, Parquet for tables."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO, cast

from nousmem.checks import check_whole
from nousmem.entry import ENTRY_FIELDS, Entry, reject_unknown_fields
from nousmem.errors import InvalidEntry, InvalidParameter, NousmemError, StoreError
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores.base import Store

__all__ = [
    "export_entries",
    "import_entries",
    "put_in_batches",
    "read_entries",
    "read_entry_lines",
    "write_entries",
    "write_entry_lines",
]

BATCH: Final = 5_000
_OF_ANOTHER_SHAPE: Final = (
    "; expected what export writes. A table of one's own: read_entries of nousmem.corpora, or "
    "`nousmem import --from table`"
)


def export_entries(store: Store, path: str | Path, *, scope: ScopeLike = GLOBAL) -> int:
    """Write the entries of a store, superseded ones and vectors included; return how many.

    Args:
        store: What is exported.
        path: A file ending in .jsonl or .parquet; replaced if it exists.
        scope: Whose entries.

    Raises:
        InvalidParameter: the file has another ending.
        StoreError: the file cannot be written.
    """
    return write_entries(store.list(scope=scope, include_superseded=True), path)


def import_entries(store: Store, path: str | Path, *, batch: int = BATCH) -> int:
    """Put the entries of a file into a store, replacing those whose id exists; return how many.

    Args:
        store: Where they go.
        path: A file that `export_entries` wrote.
        batch: Entries a write; each is all or nothing.

    Raises:
        InvalidParameter: the file has another ending, or `batch` is not above 0.
        InvalidEntry: a row is not an entry; the message names file and row.
        EmbeddingMismatch: the store holds vectors of another embedder.
        StoreError: the file cannot be read.
    """
    return put_in_batches(store, read_entries(path), batch=batch)


def put_in_batches(store: Store, entries: Iterable[Entry], *, batch: int = BATCH) -> int:
    """Put entries into a store, each batch all or nothing; return how many.

    Raises:
        InvalidParameter: `batch` is not above 0.
        EmbeddingMismatch: the store holds vectors of another embedder.
    """
    batch = check_whole("batch", batch, least=1)
    left = iter(entries)
    count = 0
    while some := list(islice(left, batch)):
        count += store.put(some)
    return count


def write_entries(entries: Iterable[Entry], path: str | Path) -> int:
    """Write entries to a .jsonl or .parquet file; return how many.

    A file that exists is replaced when everything is written, and stays as it is otherwise.

    Columns are the fields of Entry. Instants are ISO 8601 text with microseconds in JSON and
    timestamps in Parquet; the embedding is a list of float32; metadata is an object in JSON and
    JSON text in Parquet.
    """
    file, kind = _file(path)
    entries = list(entries)
    # Not with another ending, and beside it: a rename is only sure within one file system.
    unfinished = file.with_name(f".{file.name}.{uuid.uuid4().hex[:8]}")
    try:
        try:
            if kind == ".parquet":
                _write_parquet(entries, unfinished)
            else:
                with unfinished.open("w", encoding="utf-8", newline="\n") as stream:
                    write_entry_lines(entries, stream)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}") from error
    return len(entries)


def write_entry_lines(entries: Iterable[Entry], stream: TextIO) -> int:
    """Write entries to an open text stream as JSON Lines; return how many."""
    count = 0
    for entry in entries:
        stream.write(json.dumps(_row(entry), ensure_ascii=False, default=_as_json) + "\n")
        count += 1
    return count


def read_entry_lines(stream: Iterable[str], *, name: str) -> Iterator[Entry]:
    """Yield the entries of JSON Lines that `write_entry_lines` wrote.

    Args:
        stream: The lines.
        name: What the lines come from, for messages.

    Raises:
        InvalidEntry: a line is not an entry, or not UTF-8 text; the message names it.
    """
    return _entries(_read_lines(stream, name), name)


def read_entries(path: str | Path) -> Iterator[Entry]:
    """Yield the entries of a .jsonl or .parquet file, in its order.

    A field that a row leaves out has Entry's default.

    Raises:
        InvalidParameter: the file has another ending.
        InvalidEntry: a row is not an entry; the message names file and row.
        StoreError: the file cannot be read.
    """
    file, kind = _file(path)
    yield from _entries((_read_parquet if kind == ".parquet" else _read_jsonl)(file), str(file))


def _entries(rows: Iterable[tuple[str, dict[str, Any]]], name: str) -> Iterator[Entry]:
    for place, values in rows:
        try:
            reject_unknown_fields(values, ENTRY_FIELDS)
            if "content" not in values:
                raise InvalidEntry("an entry needs the field 'content'")
        except InvalidEntry as error:
            raise InvalidEntry(f"{name}, {place}: {error}{_OF_ANOTHER_SHAPE}") from None
        try:
            entry = Entry(**values)
        except NousmemError as error:
            raise InvalidEntry(f"{name}, {place}: {error}") from None
        yield entry


def _file(path: str | Path) -> tuple[Path, str]:
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".jsonl", ".parquet"):
        raise InvalidParameter(f"expected a file ending in .jsonl or .parquet, got {str(path)!r}")
    return file, kind


def _row(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ENTRY_FIELDS}


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.tolist()


def _read_jsonl(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        # An editor may have put a byte order mark in front.
        with file.open(encoding="utf-8-sig", newline="\n") as stream:
            yield from _read_lines(stream, str(file))
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from error


def _read_lines(stream: Iterable[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    place = "line 1"
    try:
        for at, line in enumerate(stream, 1):
            place = f"line {at}"
            if line.strip():
                yield place, _json_object(line, f"{name}, {place}")
            place = f"line {at + 1}"
    except UnicodeDecodeError as error:
        raise InvalidEntry(f"{name} is not UTF-8 text, at {place} or soon after") from error


def _json_object(text: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidEntry(f"{place}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidEntry(f"{place}: expected a JSON object, got {text.strip()[:40]!r}")
    return cast("dict[str, Any]", value)


def _schema() -> Any:
    import pyarrow as pa

    instant = pa.timestamp("us", tz="UTC")
    special: Mapping[str, Any] = {
        "importance": pa.float64(),
        "evergreen": pa.bool_(),
        "embedding": pa.list_(pa.float32()),
        "access_count": pa.int64(),
        "created_at": instant,
        "updated_at": instant,
        "last_accessed_at": instant,
        "superseded_at": instant,
    }
    return pa.schema([(name, special.get(name, pa.string())) for name in ENTRY_FIELDS])


def _write_parquet(entries: Iterable[Entry], file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(entry) for entry in entries]
    for row in rows:
        row["type"] = str(row["type"])
        row["metadata"] = json.dumps(row["metadata"], ensure_ascii=False)
    cast("Any", pq).write_table(pa.Table.from_pylist(rows, schema=_schema()), file)


def _read_parquet(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = 0
    try:
        with file.open("rb") as stream, pq.ParquetFile(stream) as parquet:
            for batch in cast("Any", parquet).iter_batches(batch_size=BATCH):
                for values in batch.to_pylist():
                    at += 1
                    place = f"row {at}"
                    if isinstance(values.get("metadata"), str):
                        values["metadata"] = _json_object(
                            values["metadata"], f"{file}, {place}, metadata"
                        )
                    yield place, values
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError, OverflowError) as error:
        if isinstance(error, NousmemError):
            raise
        raise InvalidEntry(f"{file} is not a Parquet file of entries: {error}") from error
