"""What a model meant by its reply, where it cannot be held to a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

__all__ = ["Reply", "read_reply"]

# A model that thinks aloud drafts what it does not mean; some leave the first mark to the template.
_THOUGHT: Final = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|\A(?:(?!<think).)*?</think(?:ing)?>",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The operations in a model's reply."""

    operations: tuple[dict[str, Any], ...]
    """Complete JSON objects, in the order given; whether they make sense is not looked at."""
    problem: str | None = None
    """What was wrong with the reply; None for a clean one, be it an empty list."""


def read_reply(reply: str | dict[str, Any]) -> Reply:
    """Read the operations of a reflection.

    Fences of any kind, prose around, thoughts before, a wrapping object, several blocks, single
    quotes, comments and trailing commas are all read. Of a reply that was cut off, the objects
    that are complete are kept, and the problem says so: half an operation is none.

    Args:
        reply: Text, or the arguments of a tool call.
    """
    if isinstance(reply, dict):
        return Reply(tuple(_unwrapped([reply])))
    text = _THOUGHT.sub("", reply).strip().lstrip("\ufeff")
    whole = _strict(text)
    if whole is not None:
        return _of_value(whole)
    spans, cut_off = _objects(text)
    read = [value for span in spans if (value := _lenient(span)) is not None]
    operations = tuple(_unwrapped(read))
    if cut_off:
        return Reply(operations, f"the reply was cut off; {len(operations)} complete in it")
    if len(read) < len(spans):
        return Reply(operations, "part of the reply is not JSON")
    if not operations and not re.search(r"\[\s*\]", text):
        return Reply((), f"no operation in the reply: {_start(text)!r}")
    return Reply(operations)


def _of_value(value: Any) -> Reply:
    operations = tuple(_unwrapped(cast("list[Any]", value) if isinstance(value, list) else [value]))
    empty = value in ([], {}) or (isinstance(value, dict) and [] in value.values())
    if operations or empty:
        return Reply(operations)
    return Reply((), f"no operation in the reply: {_start(json.dumps(value))!r}")


def _strict(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _lenient(text: str) -> dict[str, Any] | None:
    import json_repair

    value = _strict(text)
    if value is None:
        try:
            value = cast("Any", json_repair).loads(text)
        except (ValueError, RecursionError):
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unwrapped(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield operations, from inside objects such as {"operations": […]} as well."""
    for value in values:
        if not isinstance(value, dict):
            continue
        one = cast("dict[str, Any]", value)
        inside = [cast("list[Any]", item) for item in one.values() if isinstance(item, list)]
        if "action" not in one and len(inside) == 1:
            yield from _unwrapped(inside[0])
        elif one:
            yield one


def _objects(text: str) -> tuple[list[str], bool]:
    """Return the outermost complete objects of a text, and whether one was left open."""
    found: list[str] = []
    cut_off = False
    at = text.find("{")
    while at >= 0:
        end = _end_of_object(text, at)
        if end is None:
            # What wraps complete objects may be open; they are looked for inside it.
            cut_off = True
            at = text.find("{", at + 1)
        else:
            found.append(text[at:end])
            at = text.find("{", end)
    return found, cut_off


def _end_of_object(text: str, start: int) -> int | None:
    depth, quote, at = 0, "", start
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _start(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
