"""Entries as columns, into a DuckDB table and back out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from nousmem.entry import Entry, MemoryType, Vector, epoch_microseconds
from nousmem.stores._rows import COLUMNS, INSTANTS, entry_of, row_of
from nousmem.stores._vector_index import VectorRow

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "ENTRY_SELECTED",
    "VECTOR_SELECTED",
    "among",
    "append",
    "encode",
    "entries_of",
    "fetch",
    "insert_entries",
    "vector_rows_of",
]

ENTRY_SELECTED: Final = ", ".join(f"e.{name}" for name in (*COLUMNS, "embedding"))
"""What `entries_of` reads."""

VECTOR_SELECTED: Final = (
    "e.id, e.embedding, e.agent_id, e.session_id, e.user_id, e.namespace, e.type, "
    "epoch_us(e.created_at) AS created_at, epoch_us(e.superseded_at) AS superseded_at"
)
"""What `vector_rows_of` reads."""

_FEW: Final = 100
_DTYPES: Final = {
    "importance": np.float64,
    "evergreen": np.uint8,
    "access_count": np.int64,
    **dict.fromkeys(INSTANTS, np.int64),
}
"""The columns that are not text."""


def among(column: str, ids: Sequence[str]) -> tuple[str, list[Any]]:
    """Return the condition that `column` is one of `ids`, and its values."""
    if 0 < len(ids) <= _FEW:
        # For a few, twice as fast as the join that a list becomes.
        return f"{column} IN ({', '.join('?' * len(ids))})", [*ids]
    return f"{column} IN (SELECT unnest(?))", [[*ids]]


def encode(value: Any) -> Any:
    """Return a field's value as a DuckDB parameter; instants as TIMESTAMP without zone, in UTC."""
    if isinstance(value, datetime):
        # TIMESTAMP WITH TIME ZONE would bring the session's zone into every comparison.
        return value.astimezone(UTC).replace(tzinfo=None)
    return str(value) if isinstance(value, MemoryType) else value


def fetch(
    connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()
) -> dict[str, NDArray[Any]]:
    """Return the result of a query by column; masked where it has NULL."""
    columns = connection.execute(query, list(values)).fetchnumpy()
    return cast("dict[str, NDArray[Any]]", columns)


def append(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, NDArray[Any]]
) -> None:
    """Add rows of numbers to a table.

    Args:
        columns: Every column of the table, in its order, of one length.
    """
    arrow: Any = import_module("pyarrow")
    arrays = {name: _numbers(arrow, column) for name, column in columns.items()}
    _append(connection, table, arrow, arrays)


def insert_entries(
    connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry], *, first_seq: int
) -> None:
    """Add entries to their table, numbered from `first_seq`."""
    arrow: Any = import_module("pyarrow")
    rows = [row_of(entry, encode=_encode_column) for entry in entries]
    arrays = {
        name: _column(arrow, name, values)
        for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    }
    arrays["embedding"] = _vectors(arrow, [entry.embedding for entry in entries])
    arrays["seq"] = _numbers(arrow, np.arange(first_seq, first_seq + len(entries)))
    _append(connection, "entries", arrow, arrays)


def entries_of(columns: Mapping[str, NDArray[Any]]) -> list[Entry]:
    """Return the entries of a result of `ENTRY_SELECTED`, in its order."""
    rows = zip(*(columns[name].tolist() for name in COLUMNS), strict=True)
    vectors = cast("list[Vector | None]", columns["embedding"].tolist())
    return [
        entry_of(row, _frozen(vector), decode_instant=_decode_instant)
        for row, vector in zip(rows, vectors, strict=True)
    ]


def vector_rows_of(columns: Mapping[str, NDArray[Any]]) -> list[VectorRow]:
    """Return the rows of a vector index from a result of `VECTOR_SELECTED`."""
    ids, vectors, *codes, created, superseded = (column.tolist() for column in columns.values())
    return [
        VectorRow(*row)
        for row in zip(ids, vectors, zip(*codes, strict=True), created, superseded, strict=True)
    ]


def _encode_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return epoch_microseconds(value)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, MemoryType) else value


def _decode_instant(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def _frozen(vector: Vector | None) -> Vector | None:
    if vector is not None:
        vector.flags.writeable = False
    return vector


# Arrow arrays are made from their buffers: given values, pyarrow.array() would import pandas first.


def _append(
    connection: duckdb.DuckDBPyConnection, table: str, arrow: Any, arrays: Mapping[str, Any]
) -> None:
    rows = arrow.Table.from_arrays([*arrays.values()], names=[*arrays])
    connection.from_arrow(rows).insert_into(table)


def _column(arrow: Any, name: str, values: Sequence[Any]) -> Any:
    if name not in _DTYPES:
        return _texts(arrow, values)
    data = np.array([value or 0 for value in values], dtype=_DTYPES[name])
    kind = arrow.timestamp("us") if name in INSTANTS else None
    return _numbers(arrow, data, kind=kind, present=_present(arrow, values))


def _numbers(arrow: Any, data: NDArray[Any], *, kind: Any = None, present: Any = None) -> Any:
    return arrow.Array.from_buffers(
        kind or arrow.from_numpy_dtype(data.dtype), data.size, [present, arrow.py_buffer(data)]
    )


def _texts(arrow: Any, values: Sequence[str | None]) -> Any:
    encoded = [(value or "").encode() for value in values]
    buffers = [
        _present(arrow, values),
        _offsets(arrow, [len(text) for text in encoded]),
        arrow.py_buffer(b"".join(encoded)),
    ]
    return arrow.Array.from_buffers(arrow.large_string(), len(values), buffers)


def _vectors(arrow: Any, vectors: Sequence[Vector | None]) -> Any:
    present = [vector for vector in vectors if vector is not None]
    numbers = np.concatenate([np.empty(0, dtype=np.float32), *present])
    sizes = [0 if vector is None else vector.size for vector in vectors]
    return arrow.Array.from_buffers(
        arrow.large_list(arrow.float32()),
        len(vectors),
        [_present(arrow, vectors), _offsets(arrow, sizes)],
        children=[_numbers(arrow, numbers)],
    )


def _present(arrow: Any, values: Sequence[Any]) -> Any:
    bits = np.packbits([value is not None for value in values], bitorder="little")
    return arrow.py_buffer(bits)


def _offsets(arrow: Any, sizes: Sequence[int]) -> Any:
    return arrow.py_buffer(np.cumsum([0, *sizes], dtype=np.int64))
