"""`nousmem report`: the result of an experiment as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nousmem.cli._output import print_json

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(help="Result folder of `nousmem sweep`.")],
    *,
    out: Annotated[
        Path | None, typer.Option(help="The page; report.html in the folder where it is not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write one HTML page: tables, pictures, and the settings to copy. It needs no network."""
    from nousmem.viz.report import write_report

    file = write_report(folder, out)
    if as_json:
        print_json({"report": str(file)})
        return
    typer.echo(f"wrote {file}")
