"""The Parquet tables of one condition in a result folder."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nousmem.evaluation.experiments._parts import PartLoader
from nousmem.evaluation.measured import MeasuredQuery, MeasuredSettings
from nousmem.evaluation.measures import Measure
from nousmem.retrieval.settings import Settings
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_queries", "read_settings", "read_values", "write_measured"]


def write_measured(folder: Path, measured: MeasuredSettings) -> None:
    """Write settings.parquet, queries.parquet and values.parquet."""
    _write(folder / "settings.parquet", _settings_table(measured))
    _write(folder / "queries.parquet", _queries_table(measured))
    _write(folder / "values.parquet", _values_table(measured))


def read_settings(folder: Path, loader: PartLoader) -> tuple[Settings, ...]:
    """Read the settings; what cannot be loaded of them is `MissingCode`."""
    documents: Any = _read(folder / "settings.parquet")["settings"].to_pylist()
    return tuple(loader.settings(json.loads(one)) for one in documents)


def read_queries(folder: Path) -> tuple[MeasuredQuery, ...]:
    """Read the measured queries."""
    rows = _read(folder / "queries.parquet").to_pylist()
    return tuple(
        MeasuredQuery(
            row["query_id"],
            row["text"],
            row["category"],
            row["group"],
            Scope(**{name: row[name] for name in SCOPE_FIELDS}),
        )
        for row in rows
    )


def read_values(
    folder: Path, measures: Sequence[Measure], *, n_settings: int, n_queries: int
) -> Floats:
    """Read every measure of every query, shape (settings, measures, queries)."""
    stored = _read(folder / "values.parquet")
    columns = [
        stored[str(measure)].to_numpy().reshape(n_settings, n_queries) for measure in measures
    ]
    return np.stack(columns, axis=1)


def _write(path: Path, table: pa.Table) -> None:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    parquet.write_table(table, path, compression="zstd")


def _read(path: Path) -> pa.Table:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    # One file, not a data set of many: `read_table` would look for partitions in the path.
    return parquet.ParquetFile(path).read()


def _settings_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    columns: dict[str, Any] = {
        name: [setting.shown(name) for setting in measured.settings] for name in measured.parameters
    }
    columns["settings"] = [
        json.dumps(setting.to_dict(), ensure_ascii=False) for setting in measured.settings
    ]
    return pa.table(columns)


def _queries_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    rows = [
        {
            "query_id": query.query_id,
            "text": query.text,
            "category": query.category,
            "group": query.group,
            **{name: getattr(query.scope, name) for name in SCOPE_FIELDS},
        }
        for query in measured.queries
    ]
    text = pa.string()
    names = ("query_id", "text", "category", "group", *SCOPE_FIELDS)
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, text) for name in names]))


def _values_table(measured: MeasuredSettings) -> pa.Table:
    import pyarrow as pa

    n_settings, n_queries = len(measured.settings), len(measured.queries)
    places = np.tile(np.arange(n_queries, dtype=np.int32), n_settings)
    ids: Any = pa.array([query.query_id for query in measured.queries], pa.string())
    arrays: Any = pa.DictionaryArray
    columns: dict[str, Any] = {
        "setting": np.repeat(np.arange(n_settings, dtype=np.int32), n_queries),
        "query_id": arrays.from_arrays(places, ids),
    }
    for at, measure in enumerate(measured.measures):
        columns[str(measure)] = np.ascontiguousarray(measured.values[:, at]).ravel()
    return pa.table(columns)
