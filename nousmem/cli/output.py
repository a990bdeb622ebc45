"""How a table is printed: for people with Rich, for programs as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_records", "print_json", "print_table"]

_PIPED_WIDTH: Final = 160  # no terminal says how wide a line may be
_CONTENT_WIDTH: Final = 30  # a memory's text stays readable beside many columns of numbers


def print_json(value: Any) -> None:
    """Print a value as JSON; what JSON cannot say (NaN, infinity) is null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def print_table(
    rows: Sequence[Mapping[str, Any]], *, title: str = "", names: Mapping[str, str] | None = None
) -> None:
    """Print rows as a table.

    Args:
        rows: All with the same keys.
        title: Above the table.
        names: Column headings in place of keys.
    """
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for key in rows[0] if rows else ():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(
            (names or {}).get(key, key),
            justify="right" if numeric else "left",
            overflow="fold",
            min_width=_CONTENT_WIDTH if key == "content" else None,
        )
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table if rows else "nothing to show", markup=False)


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
