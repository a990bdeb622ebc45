"""How a table is printed: for people with Rich, for programs as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["difference_text", "frame_records", "print_count", "print_json", "print_table"]

_PIPED_WIDTH: Final = 160  # no terminal says how wide a line may be
_CONTENT_WIDTH: Final = 30  # a memory's text stays readable beside many columns of numbers
_HEADING_WIDTH: Final = 10  # longer headings are folded
_WORD_WIDTH: Final = 12  # so are longer texts, ids among them
_GAP: Final = 3


def print_json(value: Any) -> None:
    """Print a value as JSON; what JSON cannot say (NaN, infinity) is null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def print_table(
    rows: Sequence[Mapping[str, Any]], *, title: str = "", names: Mapping[str, str] | None = None
) -> None:
    """Print rows as a table; where a terminal is too narrow for it, each row as a list.

    Args:
        rows: All with the same keys.
        title: Above the table.
        names: Column headings in place of keys.
    """
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    headings = {key: (names or {}).get(key, key) for key in (rows[0] if rows else ())}
    cells = [{key: _cell(value) for key, value in row.items()} for row in rows]
    if _least_width(headings, cells) > console.width:
        _print_lists(console, headings, cells, title)
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for key, heading in headings.items():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(
            heading,
            justify="right" if numeric else "left",
            overflow="fold",
            min_width=_CONTENT_WIDTH if key == "content" else None,
        )
    for row in cells:
        table.add_row(*row.values())
    console.print(table if rows else "nothing to show", markup=False)


def _least_width(headings: Mapping[str, str], cells: Sequence[Mapping[str, str]]) -> int:
    """Return what a table needs to stay readable: numbers whole, texts folded to a word."""
    width = 1
    for key, heading in headings.items():
        longest = max(cell_len(line) for row in cells for line in row[key].split("\n"))
        most = _CONTENT_WIDTH if key == "content" else _WORD_WIDTH
        width += max(min(longest, most), min(cell_len(heading), _HEADING_WIDTH)) + _GAP
    return width


def _print_lists(
    console: Console,
    headings: Mapping[str, str],
    cells: Sequence[Mapping[str, str]],
    title: str,
) -> None:
    if title:
        console.print(title, style="bold", markup=False, highlight=False)
    for row in cells:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column(overflow="fold")
        for key, heading in headings.items():
            table.add_row(Text(heading), Text(row[key]))
        console.print()
        console.print(table)


def print_count(
    verb: str, count: int, place: str, *, as_json: bool, to_stderr: bool = False
) -> None:
    """Say how many entries were exported, imported and so on, and where they are now.

    Args:
        verb: What was done with them.
        count: How many.
        place: The store or file.
        as_json: Print JSON.
        to_stderr: Standard output holds the entries themselves.
    """
    if as_json:
        document = json.dumps({verb: count, "place": place}, ensure_ascii=False, indent=2)
        typer.echo(document, err=to_stderr)
    else:
        typer.echo(f"{verb} {count:,} entries: {place}", err=to_stderr)


def difference_text(row: Mapping[str, Any]) -> str:
    """Return difference, low and high of a record as one text; "?" for an end that is infinite."""
    if row["difference"] is None:
        return ""
    low, high = ("?" if row[name] is None else f"{row[name]:+.4f}" for name in ("low", "high"))
    return f"{row['difference']:+.4f} [{low}, {high}]"


def frame_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain dictionaries."""
    return [
        {str(name): _plain(value) for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value)
        return {str(key): _plain(one) for key, one in pairs.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("Sequence[Any]", value)]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return None if value != value else str(value)  # noqa: PLR0124  # pandas' NA and NaT


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if 0 < abs(value) < 0.001:
            return f"{value:.3g}"
        return f"{value:.4f}" if 0.001 <= abs(value) < 1000 else f"{value:g}"
    return str(value)
