"""The words of one chat message, whatever shape its content has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from nousmem.errors import InvalidParameter

__all__ = ["check_roles", "split_parts"]


def split_parts(content: Any) -> tuple[str, list[Any]]:
    """Return a message's text, and those of its parts that are no text, such as images.

    Args:
        content: Text; or a list of parts, each text or an object whose `text` is its text (as
            OpenAI's and Anthropic's messages have them). Texts are joined by newlines.
    """
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    others: list[Any] = []
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        text: Any = part
        if isinstance(part, Mapping):
            text = cast("Mapping[str, Any]", part).get("text")
        if isinstance(text, str):
            texts.append(text)
        elif part is not None:
            others.append(part)
    return "\n".join(text for text in texts if text.strip()), others


def check_roles(roles: Collection[str] | None) -> frozenset[str] | None:
    """Return the roles wanted as a set; None is all.

    Raises:
        InvalidParameter: not a collection of names.
    """
    if roles is None:
        return None
    names = list(cast("Collection[object]", roles)) if not isinstance(roles, str) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameter(f"roles must be a collection of names, or None, got {roles!r}")
    return frozenset(cast("list[str]", names))
