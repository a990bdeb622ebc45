"""`nousmem lab`: JupyterLab on the notebooks."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from nousmem.cli._output import print_json
from nousmem.errors import CorpusFileMissing, MissingDependency

__all__ = ["lab"]


def lab(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder for the notebooks; those that are there stay as they are."),
    ] = Path("notebooks"),
    *,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    port: Annotated[int | None, typer.Option(help="Port of the server.")] = None,
    only_copy: Annotated[
        bool, typer.Option("--only-copy", help="Copy the notebooks, and start nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy the notebooks into a folder and open JupyterLab there."""
    if importlib.util.find_spec("jupyterlab") is None and not only_copy:
        raise MissingDependency("jupyterlab", extra="notebooks", purpose="nousmem lab")
    copied = _copy_notebooks(folder)
    there = len(list(folder.glob("*.ipynb"))) - copied
    if as_json:
        print_json({"folder": str(folder), "copied": copied, "there": there})
    else:
        typer.echo(f"{copied} notebooks copied to {folder}/, {there} were there")
    if only_copy:
        return
    command = [sys.executable, "-m", "jupyterlab"]
    command += [] if browser else ["--no-browser"]
    command += [] if port is None else [f"--ServerApp.port={port}"]
    # In place of this process, so that whoever ends the command ends the server.
    os.execv(sys.executable, [*command, str(folder)])  # noqa: S606


def _copy_notebooks(folder: Path) -> int:
    source = _source()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [one for one in sorted(source.glob("*.ipynb")) if not (folder / one.name).exists()]
    for one in missing:
        shutil.copyfile(one, folder / one.name)
    return len(missing)


def _source() -> Path:
    """Return the folder of the notebooks: in the installed library, or in its checkout."""
    package = Path(str(resources.files("nousmem")))
    for place in (package / "notebooks", package.parent / "notebooks"):
        if any(place.glob("*.ipynb")):
            return place
    raise CorpusFileMissing("the notebooks are not part of this installation of nousmem")
