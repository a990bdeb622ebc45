"""Entries to files and back, without loss: JSON Lines for people and tools, Parquet for tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from nousmem.entry import ENTRY_FIELDS, Entry, reject_unknown_fields
from nousmem.errors import InvalidEntry, InvalidParameter, NousmemError, StoreError
from nousmem.scope import GLOBAL, ScopeLike
from nousmem.stores.base import Store
from nousmem.stores.filters import check_limit

__all__ = ["export_entries", "import_entries", "read_entries", "write_entries"]

BATCH: Final = 5_000


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
    if not (check_limit(batch) or 0):
        raise InvalidParameter(f"batch must be a whole number above 0, got {batch!r}")
    entries = read_entries(path)
    count = 0
    while some := list(islice(entries, batch)):
        count += store.put(some)
    return count


def write_entries(entries: Iterable[Entry], path: str | Path) -> int:
    """Write entries to a .jsonl or .parquet file; return how many.

    Columns are the fields of Entry. Instants are ISO 8601 text with microseconds in JSON and
    timestamps in Parquet; the embedding is a list of float32; metadata is an object in JSON and
    JSON text in Parquet.
    """
    file, kind = _file(path)
    rows = [{name: getattr(entry, name) for name in ENTRY_FIELDS} for entry in entries]
    try:
        (_write_parquet if kind == ".parquet" else _write_jsonl)(rows, file)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}") from error
    return len(rows)


def read_entries(path: str | Path) -> Iterator[Entry]:
    """Yield the entries of a .jsonl or .parquet file, in its order.

    A field that a row leaves out has Entry's default.

    Raises:
        InvalidParameter: the file has another ending.
        InvalidEntry: a row is not an entry; the message names file and row.
        StoreError: the file cannot be read.
    """
    file, kind = _file(path)
    for place, values in (_read_parquet if kind == ".parquet" else _read_jsonl)(file):
        try:
            reject_unknown_fields(values, ENTRY_FIELDS)
            if "content" not in values:
                raise InvalidEntry("an entry needs the field 'content'")
            entry = Entry(**values)
        except NousmemError as error:
            raise InvalidEntry(f"{file}, {place}: {error}") from None
        yield entry


def _file(path: str | Path) -> tuple[Path, str]:
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".jsonl", ".parquet"):
        raise InvalidParameter(f"expected a file ending in .jsonl or .parquet, got {str(path)!r}")
    return file, kind


def _write_jsonl(rows: list[dict[str, Any]], file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False, default=_as_json) + "\n")


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.tolist()


def _read_jsonl(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    place = "line 1"
    try:
        # An editor may have put a byte order mark in front.
        with file.open(encoding="utf-8-sig", newline="\n") as stream:
            for at, line in enumerate(stream, 1):
                place = f"line {at}"
                if line.strip():
                    yield place, _json_object(line, f"{file}, {place}")
                place = f"line {at + 1}"
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidEntry(f"{file} is not UTF-8 text, at {place} or soon after") from error


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


def _write_parquet(rows: list[dict[str, Any]], file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
