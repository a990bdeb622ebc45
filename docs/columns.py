"""Helps the reference read our docstrings: columns as lists, prose after `Returns:` as prose."""  # noqa: INP001  # loaded by path

from __future__ import annotations

import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)*): ")
_COLUMNS = re.compile(
    r"^(?P<indent> *)Columns:\n(?P<body>(?:(?P=indent) {4}.*(?:\n|\Z))+)", re.MULTILINE
)
_RETURNS = re.compile(r"^Returns:\n {4}(?=\S)", re.MULTILINE)


class Columns(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of any object that has one."""
        if obj.docstring is None:
            return
        text = _COLUMNS.sub(_listed, obj.docstring.value)
        if isinstance(obj, griffe.Function) and obj.returns is not None:
            # Else what stands before the first colon would be taken for the type.
            text = _RETURNS.sub(lambda found: f"{found[0]}{obj.returns}: ", text)
        obj.docstring.value = text


def _listed(found: re.Match[str]) -> str:
    """Return the lines below `Columns:` as a Markdown list, one column an item."""
    indent = found["indent"]
    # Inside another section it is a paragraph and a list; by itself, a section with a list.
    start, base = (f"{indent}Columns:\n\n", indent) if indent else ("Columns:\n", " " * 4)
    lines: list[str] = []
    for line in found["body"].rstrip("\n").split("\n"):
        item = _ITEM.match(line)
        if item is None or len(item["indent"]) != len(indent) + 4:
            lines.append(f"{base}    {line.strip()}")
            continue
        names = ", ".join(f"`{name}`" for name in item["names"].split(", "))
        lines.append(f"{base}- {names}: {line[item.end() :]}")
    return start + "\n".join(lines) + "\n"
