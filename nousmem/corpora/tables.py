"""Tables from anywhere as plain rows: data frames, CSV, JSON, JSON Lines and Parquet files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.corpora._fields import TABLES
from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import Node, read_json, read_json_lines, read_text
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidParameter

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TABLE_SUFFIXES",
    "Problems",
    "Row",
    "column_names",
    "columns_by_table",
    "guess_columns",
    "identifier",
    "json_value",
    "no_column",
    "not_a_folder",
    "parse_json_cell",
    "read_rows",
]

TABLE_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")

_KINDS_SHOWN: Final = 20
_PLACES_SHOWN: Final = 5
_GOT: Final = ", got "

Row = Mapping[str, Any]
"""Column name to value; a missing value is None."""


class Problems:
    """What is wrong in some tables: each kind once, with the rows it was met in."""

    def __init__(self) -> None:
        self._met: dict[str, list[tuple[str, str]]] = {}
        self.refused: set[str] = set()
        """Ids of rows that were refused: what refers to them is no second fault."""

    def add(self, problem: str, place: str = "") -> None:
        """Note a problem, and the row or id it was met in; what follows ", got " is no other kind.

        Values differ from row to row, and a line for each would hide the other kinds.
        """
        kind, _, got = problem.partition(_GOT)
        self._met.setdefault(kind, []).append((got, place))

    def raise_any(self, name: str) -> None:
        """Raise one CorpusError that lists everything noted; do nothing if that is nothing."""
        if not self._met:
            return
        lines = [_line(kind, met) for kind, met in list(self._met.items())[:_KINDS_SHOWN]]
        if len(self._met) > _KINDS_SHOWN:
            lines.append(f"and {len(self._met) - _KINDS_SHOWN:,} other problems")
        raise CorpusError(f"corpus {name!r}: " + "; ".join(lines))


def _line(kind: str, met: Sequence[tuple[str, str]]) -> str:
    """Return a kind of problem with the first values and places it was met in."""
    named = [place for _, place in met if place]
    values: dict[str, str] = {}
    for got, place in met:
        values.setdefault(got, f"{got} ({place})" if place else got)
    if len(values) > 1:
        return f"{kind}{_GOT}{_first(list(values.values()), len(met))}"
    got = f"{_GOT}{met[0][0]}" if met[0][0] else ""
    return f"{kind}{got} ({_first(named, len(named))})" if named else f"{kind}{got}"


def _first(places: Sequence[str], count: int) -> str:
    shown = places[:_PLACES_SHOWN]
    rest = count - len(shown)
    return f"{', '.join(shown)}{f' and {rest:,} more' if rest > 0 else ''}"


def read_rows(table: pd.DataFrame | PathLike | Iterable[Row], *, what: str) -> list[Row]:
    """Return a table's rows; values of CSV files are text, an empty one is None.

    Args:
        table: A data frame; the path of a .csv, .tsv, .jsonl, .json or .parquet file; or rows. A
            .csv file may also be separated by semicolons or tabs, as spreadsheets write it.
        what: What the table holds, for messages.

    Raises:
        CorpusFileMissing: there is no file at the path.
        CorpusError: the file is damaged, or of another kind.
        InvalidParameter: not a table at all.
    """
    import pandas as pd

    if isinstance(table, str | Path):
        return _read_file(Path(table).expanduser())
    if isinstance(table, pd.DataFrame):
        return _from_frame(table)
    if isinstance(table, Iterable) and not isinstance(table, Mapping):
        rows = list(cast("Iterable[Any]", table))
        if all(isinstance(row, Mapping) for row in rows):
            return [{str(key): _plain(row[key]) for key in row} for row in rows]
        wrong = next(row for row in rows if not isinstance(row, Mapping))
        raise InvalidParameter(
            f"{what}: expected rows that map columns to values, got {type(wrong).__name__}: "
            f"{str(wrong)[:60]!r}"
        )
    raise InvalidParameter(
        f"{what}: expected a data frame, the path of a table, or a list of rows, "
        f"got {type(cast('object', table)).__name__}"
    )


def guess_columns(
    columns: Iterable[str],
    known: Mapping[str, Sequence[str]],
    given: Mapping[str, str],
    *,
    what: str,
    warn: bool = False,
) -> dict[str, str]:
    """Return which column holds which field, from what the caller says and from usual names.

    Args:
        columns: The table's columns.
        known: For each field, the names its column usually has, likeliest first; compared
            without regard to case, with `-` and space as `_`.
        given: Field to column, as the caller says.
        what: What the table holds, for messages.
        warn: Whether to warn where a column was chosen among several.

    Raises:
        InvalidParameter: `given` names a field or a column that does not exist.
    """
    columns = list(columns)
    for name, column in given.items():
        if name not in known:
            hint = _reversed(name, column, columns) or _elsewhere(name, what)
            raise InvalidParameter(
                f"{what} have no field {name!r}{hint}; fields: {', '.join(known)}"
            )
        if column not in columns:
            raise InvalidParameter(
                f"{what} have no column {column!r}; columns: {', '.join(columns) or 'none'}"
            )
    found = dict(given)
    free = {_normal(column): column for column in columns if column not in given.values()}
    rivals: dict[str, list[str]] = {}
    for name, usual in known.items():
        fitting = [free[alias] for alias in usual if alias in free]
        if name in found or not fitting:
            continue
        found[name] = fitting[0]
        free = {alias: column for alias, column in free.items() if column != fitting[0]}
        if _normal(fitting[0]) != name:
            rivals[name] = fitting[1:]
    for name, others in rivals.items():
        left = [repr(column) for column in others if column not in found.values()]
        if left and warn:
            warnings.warn(
                f"{what}: {found[name]!r} is taken for the {name}, and {', '.join(left)} may be "
                f"meant too: name it to be sure, {what}.{name}=COLUMN",
                stacklevel=4,
            )
    return found


def _reversed(name: str, column: str, columns: Iterable[str]) -> str:
    """Return what to say where the column stands before the field."""
    table, _, field = column.rpartition(".")
    read = [TABLES[table]] if table in TABLES else TABLES.values()
    if column in columns or not any(field in fields for fields in read):
        return ""
    return f": the field comes first, the column second, {column}={name}"


def _elsewhere(name: str, what: str) -> str:
    """Return which field may be meant: of this table by a column's name, or of another by its."""
    if what not in TABLES:
        return ""
    meant = [field for field, usual in TABLES[what].items() if name in usual]
    others = [f"{table}.{name}" for table, fields in TABLES.items() if name in fields]
    both = [*meant, *others]
    return f" (did you mean {', '.join(both)}?)" if both else ""


def columns_by_table(columns: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return which field is in which column, table by table: entries, queries, qrels.

    Args:
        columns: Field to column. A field may name its table ("queries.text"); without one it is
            a field of the entries.

    Raises:
        InvalidParameter: a field names another table.
    """
    apart: dict[str, dict[str, str]] = {name: {} for name in TABLES}
    for field, column in columns.items():
        table, dot, name = field.rpartition(".")
        if dot and table not in apart:
            raise InvalidParameter(
                f"there is no table {table!r}: expected a field such as content or queries.text; "
                f"tables: {', '.join(TABLES)}"
            )
        apart[table or "entries"][name] = column
    return apart


def column_names(rows: Iterable[Row]) -> list[str]:
    """Return the columns of some rows, in order of appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def no_column(what: str, field: str, usual: Sequence[str], rows: Iterable[Row]) -> str:
    """Return what to say where no column is the field: the usual names, and those there are."""
    return (
        f"{what} have no column for {field} (usual names: {', '.join(usual)}; the table has: "
        f"{', '.join(column_names(rows)) or 'none'}): name it, {what}.{field}=COLUMN"
    )


def not_a_folder(path: Path) -> str:
    """Return what to say where one table is given, and a corpus of tables is wanted."""
    return (
        f"{path} is a file; expected a folder with entries.csv, queries.csv and qrels.csv (or "
        f"{', '.join(TABLE_SUFFIXES[1:])}). Memories without judgements go into a store: "
        f"nousmem import sqlite:memories.db {path}"
    )


def identifier(value: Any) -> str:
    """Return a cell as an id; a whole number that pandas made a float loses its `.0`."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def json_value(value: Any) -> Any:
    """Return a cell as a JSON value: dates as ISO text, arrays as lists."""
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def _normal(column: str) -> str:
    return column.strip().lower().replace("-", "_").replace(" ", "_")


def _from_frame(frame: pd.DataFrame) -> list[Row]:
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, index].tolist() for index in range(len(names))]
    return [
        {name: _plain(value) for name, value in zip(names, values, strict=True)}
        for values in zip(*columns, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a cell with pandas' and NumPy's own types undone; missing is None."""
    import pandas as pd

    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _read_file(path: Path) -> list[Row]:
    if not path.is_file():
        raise CorpusFileMissing(f"there is no file at {path}")
    suffix = path.suffix.lower()
    if suffix in {".csv", ".tsv"}:
        return _read_csv(path, ("\t",) if suffix == ".tsv" else (",", ";", "\t"))
    if suffix in {".jsonl", ".ndjson"}:
        return [_object(node) for node in read_json_lines(path)]
    if suffix == ".json":
        return [_object(node) for node in read_json(path).items()]
    if suffix == ".parquet":
        return _read_parquet(path)
    raise CorpusError(f"{path}: expected a file ending in {', '.join(TABLE_SUFFIXES)}")


def _object(node: Node) -> Row:
    return node.mapping()


def _read_csv(path: Path, delimiters: Sequence[str]) -> list[Row]:
    """Read a table; of the delimiters, the one that the header has most of is meant."""
    text = read_text(path)
    if said := re.match(r'"?sep=(.)"?\r?\n', text):  # as Excel tells itself
        text, delimiter = text[said.end() :], said[1]
    else:
        names = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
        delimiter = max(delimiters, key=names.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, cast("list[str]", []))
        if len(set(header)) < len(header):
            raise CorpusError(f"{path}: line 1: a column name repeats: {', '.join(header)}")
        rows: list[Row] = []
        for cells in reader:
            if not any(cells):  # spreadsheets leave such rows at the end
                continue
            if len(cells) != len(header):
                raise CorpusError(
                    f"{path}: line {reader.line_num}: expected {len(header)} columns as in the "
                    f"header, got {len(cells)}"
                )
            rows.append({name: cell or None for name, cell in zip(header, cells, strict=True)})
    except csv.Error as error:
        raise CorpusError(f"{path}: line {reader.line_num}: {error}") from None
    return rows


def _read_parquet(path: Path) -> list[Row]:
    import pandas as pd

    try:
        return _from_frame(pd.read_parquet(path))
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{path}: not a whole Parquet file: {reason}") from None


def parse_json_cell(text: str) -> Any:
    """Return the JSON value in a cell of text.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise ValueError(f"expected JSON, got {text[:60]!r}") from None
