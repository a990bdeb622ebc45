"""What a model meant by its reply, where it cannot be held to a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

__all__ = ["Reply", "read_reply"]

_MOST_CHARACTERS: Final = 1_000_000
_MOST_REPAIRED: Final = 50_000  # json_repair takes a second for it
_MOST_STARTS: Final = 8
_MOST_LAYERS: Final = 8

# A model that thinks aloud drafts what it does not mean; some leave the first mark to the template.
_THOUGHT: Final = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|\A(?:(?!<think).)*?</think(?:ing)?>"
    r"|<\|channel\|>(?:analysis|commentary)\b.*?(?:<\|end\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_STRUCTURE: Final = re.compile(r"\\.|[\"'{}\[\]]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """The operations in a model's reply."""

    operations: tuple[dict[str, Any], ...]
    """Complete JSON objects, in the order given; whether they make sense is not looked at."""
    problem: str | None = None
    """What was wrong with the reply; None for a clean one, be it an empty list."""


def read_reply(reply: str | dict[str, Any]) -> Reply:
    """Read the operations of a reflection.

    Fences of any kind, prose around, thoughts before, wrapping objects, several blocks, single
    quotes, comments, trailing commas and JSON inside a JSON string are all read. Of a reply that
    was cut off, the objects that are complete are kept, and the problem says so: half an
    operation is none. Reading takes time in proportion to the length; of more than a million
    characters, nothing is read.

    Args:
        reply: Text, or the arguments of a tool call.
    """
    if isinstance(reply, dict):
        return _of_value(reply)
    if len(reply) > _MOST_CHARACTERS:
        return Reply(
            (),
            f"the reply has {len(reply):,} characters; more than {_MOST_CHARACTERS:,} are not read",
        )
    text = _THOUGHT.sub("", reply).strip().lstrip("\ufeff")
    whole = _strict(text)
    if isinstance(whole, str):
        whole = _strict(whole)
    return _of_text(text) if whole is None else _of_value(whole)


def _of_text(text: str) -> Reply:
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
    operations = tuple(_unwrapped([value]))
    if operations or _says_nothing_to_do(value):
        return Reply(operations)
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "nested too deeply"
    return Reply((), f"no operation in the reply: {_start(text)!r}")


def _says_nothing_to_do(value: Any) -> bool:
    if isinstance(value, dict):
        inside = list(cast("dict[str, Any]", value).values())
        return not inside or any(one is None or one in ([], {}) for one in inside)
    return value == []


def _strict(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _lenient(text: str) -> dict[str, Any] | None:
    import json_repair

    value = _strict(text)
    if value is None and len(text) <= _MOST_REPAIRED:
        try:
            value = cast("Any", json_repair).loads(text)
        except (ValueError, RecursionError):
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unwrapped(values: Iterable[Any], layers: int = 0) -> Iterator[dict[str, Any]]:
    """Yield operations, from inside wrappers such as {"result": {"operations": […]}} as well.

    An object that holds neither an action nor any that does is one, too: it is to be refused by
    name rather than overlooked.
    """
    for value in values:
        if isinstance(value, list) and layers < _MOST_LAYERS:
            yield from _unwrapped(cast("list[Any]", value), layers + 1)
        if not isinstance(value, dict) or not value:
            continue
        one = cast("dict[str, Any]", value)
        if "action" in one and not isinstance(one.get("operations"), dict | list):
            yield one
            continue
        # Beside the operations may stand drafts of them.
        inside = [one["operations"]] if "operations" in one else list(one.values())
        inside = [_strict(item) if _looks_like_json(item) else item for item in inside]
        wrapped: list[Any] = [item for item in inside if isinstance(item, dict | list)]
        if wrapped and layers < _MOST_LAYERS:
            yield from _unwrapped(wrapped, layers + 1)
        elif "operations" not in one:
            yield one


def _looks_like_json(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] in ("[", "{")


def _objects(text: str) -> tuple[list[str], bool]:
    """Return the outermost complete objects of a text, and whether one was left open."""
    found: list[str] = []
    cut_off = False
    at, starts = text.find("{"), 0
    while at >= 0:
        spans, end = _objects_from(text, at)
        found += [text[start:stop] for start, stop in spans]
        if end is not None:
            at = text.find("{", end)
            continue
        # A quote that never ends may have swallowed what comes after it: it is looked at again
        # without, a few times, since a text may consist of nothing else.
        cut_off, starts = True, starts + 1
        after = spans[-1][1] if spans else at + 1
        at = text.find("{", after) if starts < _MOST_STARTS else -1
    return found, cut_off


def _objects_from(text: str, start: int) -> tuple[list[tuple[int, int]], int | None]:
    """Read from an opening brace to the one that closes it.

    Returns:
        The object, and where it ends; or, when it is left open, the outermost complete ones
        inside, and None.
    """
    opened: list[int] = []
    complete: list[tuple[int, int]] = []
    quote = ""
    for token in _STRUCTURE.finditer(text, start):
        sign = token.group()
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "{[":
            opened.append(token.start())
        elif sign in "}]":
            begun = opened.pop()
            if text[begun] == "{":
                while complete and complete[-1][0] > begun:
                    complete.pop()
                complete.append((begun, token.end()))
            if not opened:
                return complete[-1:], token.end()
    return complete, None


def _start(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
