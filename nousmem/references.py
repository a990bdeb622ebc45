"""Somebody's own code by name: `package.module:object`, and what identifies it in a result.

A file of settings, an experiment or a command line can name code: whoever runs it runs that code.
It is imported from Python's search path, as an import statement would, and from nowhere else.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any, Final, cast

from nousmem.errors import InvalidParameter

__all__ = [
    "code_fingerprint",
    "describe",
    "instance_of",
    "is_reference",
    "load_described",
    "load_reference",
    "reference_to",
]

_FORM: Final = "package.module:object"


def is_reference(text: object) -> bool:
    """Whether a text has the form `package.module:object`."""
    if not isinstance(text, str):
        return False
    module, colon, name = text.partition(":")
    return bool(colon) and _is_dotted(module) and _is_dotted(name.replace("<locals>", "locals"))


def load_reference(text: str, *, what: str) -> Any:
    """Return the object that `package.module:object` names.

    Args:
        text: The name.
        what: What is wanted, for messages, such as "a leg".

    Raises:
        InvalidParameter: the text has another form; the module is not on the search path or fails
            when it is imported; there is no such object in it.
    """
    module_name, _, path = text.partition(":")
    if not is_reference(text):
        raise InvalidParameter(f"expected {what} as {_FORM!r}, got {text!r}")
    if "<" in path:
        raise InvalidParameter(
            f"{what} {text!r} was made inside a function, so that no file can name it: put it at "
            "the top of a module"
        )
    try:
        module = sys.modules.get(module_name) or importlib.import_module(module_name)
    except Exception as error:
        raise InvalidParameter(
            f"{what} {text!r}: module {module_name!r} cannot be imported "
            f"({type(error).__name__}: {error}); its folder must be on Python's search path, as "
            "with PYTHONPATH=FOLDER"
        ) from error
    found: Any = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            where = (
                "; what a notebook or a script defines is known there alone: put it in a module"
                if module_name == "__main__"
                else ""
            )
            raise InvalidParameter(
                f"{what} {text!r}: module {module_name!r} has no {name!r}{where}"
            ) from None
    return found


def reference_to(value: Any) -> str:
    """Return the name by which `load_reference` finds an object, whether or not it can.

    Of an instance that a module holds, the module's name for it; of another, its class.
    """
    named = value if isinstance(value, type) or hasattr(value, "__qualname__") else None
    if named is not None:
        return f"{named.__module__}:{named.__qualname__}"
    kind = cast("type[Any]", type(value))
    held = vars(sys.modules.get(kind.__module__, sys)).items()
    own = next((name for name, other in held if other is value), kind.__qualname__)
    return f"{kind.__module__}:{own}"


def describe(value: Any) -> str | dict[str, Any]:
    """Return how a file names an object: a text, or a table of it and its parameters.

    A dataclass is named by its class and those of its fields that are not at their defaults:
    `{ object = "package.module:Class", field = value }`.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return reference_to(value)
    kind = type(value)
    parameters = {
        one.name: getattr(value, one.name)
        for one in fields(value)
        if one.init and not _at_default(one, getattr(value, one.name))
    }
    reference = f"{kind.__module__}:{kind.__qualname__}"
    return {"object": reference, **parameters} if parameters else reference


def load_described(given: str | Mapping[str, Any], *, what: str) -> Any:
    """Return the object that `describe` named; a class is made, with the table's parameters.

    Raises:
        InvalidParameter: as in `load_reference`; a table names no object, or the class does not
            take its parameters.
    """
    if isinstance(given, str):
        return instance_of(load_reference(given, what=what), what=what)
    table = dict(given)
    reference = table.pop("object", None)
    if not isinstance(reference, str):
        raise InvalidParameter(
            f"expected {what} as {{ object = {_FORM!r}, … }} with its parameters, got {given!r}"
        )
    return instance_of(load_reference(reference, what=what), what=what, **table)


def instance_of(found: Any, *, what: str, **parameters: Any) -> Any:
    """Return an object as it is, and a class made into one, with these parameters.

    Raises:
        InvalidParameter: a class cannot be made so, or something else is given parameters.
    """
    if not isinstance(found, type):
        if parameters:
            raise InvalidParameter(
                f"{what} {reference_to(found)} is no class, and takes no parameters: "
                f"{', '.join(parameters)}"
            )
        return found
    try:
        return cast("Callable[..., Any]", found)(**parameters)
    except TypeError as error:
        raise InvalidParameter(f"{what} {reference_to(found)} cannot be made: {error}") from error


def code_fingerprint(value: Any) -> str:
    """Return 12 hexadecimal digits that change when the code of an object does.

    The source of a function or class is read, and the parameters of a dataclass; what these call
    is not. Where there is no source, the compiled code is.
    """
    parameters = (
        [(one.name, repr(getattr(value, one.name))) for one in fields(value) if one.repr]
        if is_dataclass(value) and not isinstance(value, type)
        else []
    )
    inner = getattr(value, "function", None)
    named = inner if callable(inner) else value
    if not (inspect.isclass(named) or inspect.isroutine(named)):
        named = cast("type[Any]", type(named))
    try:
        source = inspect.getsource(named)
    except (OSError, TypeError):
        source = _compiled(named)
    digest = hashlib.sha256(repr((reference_to(named), source, parameters)).encode())
    return digest.hexdigest()[:12]


def _compiled(named: Any) -> str:
    codes = [getattr(named, "__code__", None)]
    if isinstance(named, type):
        codes = [getattr(one, "__code__", None) for one in vars(named).values()]
    return repr(
        [(one.co_code, one.co_consts, one.co_names) for one in codes if isinstance(one, CodeType)]
    )


def _at_default(field: Any, value: Any) -> bool:
    from dataclasses import MISSING

    if field.default is not MISSING:
        return bool(field.default == value)
    return field.default_factory is not MISSING and bool(field.default_factory() == value)


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() or part == "<lambda>" for part in text.split("."))
