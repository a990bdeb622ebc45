"""Shows what a docstring says of a table's columns as a list, one column an item."""  # noqa: INP001  # loaded by path

from __future__ import annotations

import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)*): ", re.MULTILINE)
_COLUMNS = re.compile(
    r"^(?P<indent> *)Columns:\n(?P<body>(?:(?P=indent) {4}.*(?:\n|\Z))+)", re.MULTILINE
)


class Columns(griffe.Extension):
    """Turns `Columns:` and the lines below it into a Markdown list."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of any object that has one."""
        if obj.docstring is not None and "Columns:\n" in obj.docstring.value:
            obj.docstring.value = _COLUMNS.sub(_listed, obj.docstring.value)


def _listed(found: re.Match[str]) -> str:
    depth = len(found["indent"]) + 4
    lines: list[str] = []
    for line in found["body"].rstrip("\n").split("\n"):
        item = _ITEM.match(line)
        if item is None or len(item["indent"]) != depth:
            lines.append(line)
            continue
        names = ", ".join(f"`{name}`" for name in item["names"].split(", "))
        lines.append(f"{item['indent']}- {names}: {line[item.end() :]}")
    return f"{found['indent']}Columns:\n" + "\n".join(lines) + "\n"
