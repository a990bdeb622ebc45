"""`nousmem corpora`: what can be loaded, and what is on this disk."""

from __future__ import annotations

from typing import Annotated

import typer

from nousmem.cli._output import frame_records, print_json, print_table
from nousmem.corpora import list_corpora

__all__ = ["corpora"]


def corpora(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the corpora that can be loaded, and which are on this disk."""
    rows = frame_records(list_corpora())
    if as_json:
        print_json(rows)
    else:
        shown = ("name", "title", "licence", "on_this_disk", "how_to_get")
        print_table(
            [{key: row[key] for key in shown} for row in rows],
            names={"on_this_disk": "on disk", "how_to_get": "how to get it"},
        )
