"""The option that names the columns of a table of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from nousmem.corpora.tables import columns_by_table

__all__ = ["Columns", "parse_columns"]

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="FIELD=COLUMN",
        help="Which column of your table holds a field, such as content=note or "
        "queries.text=question, where its usual names do not find it. Can be repeated.",
    ),
]


def parse_columns(texts: Sequence[str] | None) -> dict[str, str]:
    """Read `FIELD=COLUMN` texts; a field may name its table, else the memories are meant.

    Raises:
        typer.BadParameter: one is not of that form, or a field is given twice.
        InvalidParameter: a field names a table that there is not.
    """
    named: dict[str, str] = {}
    for text in texts or ():
        field, equals, column = text.partition("=")
        field = field.strip()
        if not equals or not field or not column:
            raise typer.BadParameter(
                f"expected FIELD=COLUMN, such as content=note, got {text!r}",
                param_hint="--column",
            )
        if field in named:
            raise typer.BadParameter(f"the field {field} is given twice", param_hint="--column")
        named[field] = column
    columns_by_table(named)
    return named
