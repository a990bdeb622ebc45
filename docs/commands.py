"""Writes the page of the command line from the commands themselves."""  # noqa: INP001  # loaded by path

from __future__ import annotations

import subprocess
import sys
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put what Typer says of every command under the page's own words."""
    if page.file.src_uri != "commands.md":
        return markdown
    command = [sys.executable, "-m", "typer", "nousmem.cli._app", "utils", "docs"]
    done = subprocess.run(  # noqa: S603  # our own words
        [*command, "--name", "nousmem"], capture_output=True, text=True, check=True
    )
    _, commands = done.stdout.split("\n## ", maxsplit=1)
    return f"{markdown}\n\n## {commands}"
