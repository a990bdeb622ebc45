"""Pages of HTML from the templates of this package: what they are given is escaped."""

from __future__ import annotations

import importlib
from typing import Any, Final

__all__ = ["page_template", "visible"]

_JOINERS: Final = "\u200c\u200d"
"""Parts of words and of emoji: they do not show, and what they join does."""


def page_template(name: str) -> Any:
    """Return a template of Jinja; in what it is given, HTML is text and nothing is hidden.

    A name that a template needs and is not given is an error.
    """
    jinja2: Any = importlib.import_module("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nousmem.viz"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def visible(text: object) -> str:
    """Return a text in which what does not show, or turns its surroundings round, is spelled out.

    Line breaks and tabs stay as they are.
    """
    return "".join(
        c if c.isprintable() or c in "\n\t" or c in _JOINERS else f"\\u{ord(c):04x}"
        for c in str(text)
    )


def _finalized(value: Any) -> Any:
    """Spell out what does not show; what is marked as HTML is the template's own."""
    return value if hasattr(value, "__html__") else visible(value)
