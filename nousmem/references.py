"""Somebody's own code by name: `package.module:object`, and what identifies it in a result.

A file of settings, an experiment or a command line can name code: whoever runs it runs that code.
It is imported from Python's search path, as an import statement would, and from nowhere else.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import CodeType, ModuleType
from typing import Any, Final, cast

from nousmem.errors import (
    ExtensionError,
    InvalidParameter,
    NousmemError,
    UnknownName,
    suggestion,
)

__all__ = [
    "REFERENCE_FORM",
    "MissingCode",
    "code_fingerprint",
    "describe",
    "instance_of",
    "is_reference",
    "load_described",
    "load_made",
    "load_reference",
    "named_code",
    "reference_to",
    "run_named",
]

REFERENCE_FORM: Final = "package.module:object"
"""How a text names an object, for messages and lists of names."""

_NONE: Final[Mapping[str, Any]] = {}
_NEARLY: Final = 0.75  # of all letters, as difflib counts them
_PASSED: Final = (__file__, importlib.__file__)  # on the way from here to somebody's code
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")


@dataclass(frozen=True)
class MissingCode:
    """Stands for a leg, term or function of a stored result whose code cannot be loaded here.

    It is named, described and told apart as what it stands for. Used, it says what is missing.
    """

    described: str
    """What `describe` returned of it, as JSON."""
    why: str = field(compare=False)
    """Why it cannot be loaded."""
    name: str = ""
    """What its columns and its weight are called; "" for what has none."""
    code: str = field(default="", compare=False)
    """What `code_fingerprint` returned of it; "" where that is not known."""

    def __post_init__(self) -> None:
        described = json.loads(self.described)
        reference = described if isinstance(described, str) else described["object"]
        module, _, qualified = reference.partition(":")
        object.__setattr__(self, "__module__", module)
        object.__setattr__(self, "__qualname__", qualified)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise ExtensionError."""
        raise ExtensionError(f"{reference_to(self)} cannot run, its code is not here: {self.why}")

    def search(self, *_: Any) -> Any:
        """Raise ExtensionError: as a leg, it finds nothing."""
        return self()

    def score(self, *_: Any) -> Any:
        """Raise ExtensionError: as a leg, it scores nothing."""
        return self()


def is_reference(text: object) -> bool:
    """Whether a text has the form `package.module:object`."""
    if not isinstance(text, str):
        return False
    module, colon, name = text.partition(":")
    return bool(colon) and _is_dotted(module) and _is_dotted(name.replace("<locals>", "locals"))


def load_reference(text: str, *, what: str, known: Iterable[str] = ()) -> Any:
    """Return the object that `package.module:object` names.

    Args:
        text: The name.
        what: What is wanted, for messages, such as "leg".
        known: Names that go before a colon as well; one of them may have been misspelt.

    Raises:
        UnknownName: there is no such module, and its name is nearly one of `known`.
        InvalidParameter: the text has another form; the module is not on the search path or fails
            when it is imported; there is no such object in it.
    """
    module_name, _, path = text.partition(":")
    if not is_reference(text):
        raise InvalidParameter(f"expected {what} as {REFERENCE_FORM!r}, got {text!r}")
    if "<" in path:
        raise InvalidParameter(
            f"{what} {text!r} "
            + ("was made inside a function" if "<locals>" in path else "is a lambda")
            + ", so that no file can name it: define it at the top of a module"
        )
    known = [*known]
    # No module is called so, and one of the names nearly is: that one was meant.
    if difflib.get_close_matches(module_name, known, n=1, cutoff=_NEARLY) and not _is_there(
        module_name
    ):
        raise UnknownName(what, module_name, (*known, REFERENCE_FORM))
    found: Any = _module(module_name, f"{what} {text!r}")
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            where = (
                "; what a notebook or a script defines is known there alone: put it in a module"
                if module_name == "__main__"
                else suggestion(name, [one for one in dir(found) if not one.startswith("_")])
            )
            raise InvalidParameter(
                f"{what} {text!r}: module {module_name!r} has no {path!r}{where}"
            ) from None
        except Exception as error:  # a module may import what it has when it is asked for
            raise InvalidParameter(f"{what} {text!r} cannot be had: {_fault(error)}") from error
    return found


def load_made(
    text: str,
    *,
    what: str,
    expected: str,
    fits: Callable[[Any], bool],
    options: Mapping[str, Any] = _NONE,
    known: Iterable[str] = (),
) -> Any:
    """Return what `package.module:object` names; what is called first, if it does not fit yet.

    Args:
        text: The name.
        what: What is wanted, for messages, such as "embedder".
        expected: What an object needs in order to be one, for messages.
        fits: Whether an object is one.
        options: What a class or function is called with.
        known: As in `load_reference`.

    Raises:
        UnknownName: as in `load_reference`.
        InvalidParameter: as in `load_reference` and `run_named`; what is named, or returned, does
            not fit; or it fits as it is, and takes no options.
        NousmemError: what the code that is called raises.
    """
    found = load_reference(text, what=what, known=known)
    if fits(found):
        if options:
            raise InvalidParameter(
                f"{what} {text!r} is made already, and takes no options: {', '.join(options)}"
            )
        return found
    if not callable(found):
        raise InvalidParameter(
            f"{what} {text!r} is {_shown(found)}: expected {expected}, or a class or function that "
            "makes one"
        )
    made = run_named(found, what=f"{what} {text!r}", options=options)
    if not fits(made):
        raise InvalidParameter(f"{what} {text!r} returned {_shown(made)}: expected {expected}")
    return made


def run_named(
    function: Callable[..., Any],
    *arguments: Any,
    what: str,
    options: Mapping[str, Any] = _NONE,
) -> Any:
    """Call somebody's own function or class, so that what goes wrong in it names it.

    Args:
        function: What is called.
        arguments: Its positional arguments.
        what: Which it is, for messages.
        options: Its keyword arguments.

    Raises:
        InvalidParameter: it does not take these arguments, or raises what is no NousmemError.
        NousmemError: it raises one.
    """
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError as error:
        raise InvalidParameter(f"{what} cannot be called so: {error}") from None
    except ValueError:
        pass  # of some built-in functions nobody knows the arguments
    try:
        return function(*arguments, **options)
    except NousmemError:
        raise
    except Exception as error:
        raise InvalidParameter(f"{what} failed: {_fault(error)}") from error


def reference_to(value: Any) -> str:
    """Return the name by which `load_reference` finds an object, whether or not it can.

    Of an instance that a module holds, the module's name for it; of another, its class.
    """
    held = None if _missing(value) else _held_as(value)
    if held is not None:
        return f"{value.__module__}:{held}"
    named = value if hasattr(value, "__qualname__") else cast("type[Any]", type(value))
    return f"{named.__module__}:{named.__qualname__}"


def describe(value: Any) -> str | dict[str, Any]:
    """Return how a file names an object: a text, or a table of it and its parameters.

    A dataclass is named by its class and those of its fields that are not at their defaults:
    `{ object = "package.module:Class", field = value }`.
    """
    missing = _missing(value)
    if missing is not None:
        return json.loads(missing.described)
    known = hasattr(value, "__qualname__") or _held_as(value) is not None
    if known or not is_dataclass(value) or isinstance(value, type):
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

    Files have lists for tuples: a frozen dataclass, which must be hashable, is given tuples.

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
            f"expected {what} as {{ object = {REFERENCE_FORM!r}, … }} with its parameters, "
            f"got {given!r}"
        )
    found = load_reference(reference, what=what)
    if _is_frozen(found):
        table = {name: _as_tuples(value) for name, value in table.items()}
    return instance_of(found, what=what, parameters=table)


def instance_of(found: Any, *, what: str, parameters: Mapping[str, Any] = _NONE) -> Any:
    """Return an object as it is, and a class made into one, with these parameters.

    Raises:
        InvalidParameter: a class cannot be made so, or something else is given parameters.
        NousmemError: making it raises one.
    """
    if not isinstance(found, type):
        if parameters:
            raise InvalidParameter(
                f"{what} {reference_to(found)} is no class, and takes no parameters: "
                f"{', '.join(parameters)}"
            )
        return found
    return run_named(found, what=f"{what} {reference_to(found)}", options=parameters)


def named_code(text: str) -> str:
    """Return 12 hexadecimal digits that change when the code behind a name does.

    What counts is the object, the whole module that is named, and the one that defines the
    object: what these import from elsewhere does not.

    Args:
        text: `package.module:object`.

    Raises:
        InvalidParameter: as in `load_reference`.
    """
    found = load_reference(text, what="object")
    named = found if hasattr(found, "__qualname__") else cast("type[Any]", type(found))
    modules = dict.fromkeys((text.partition(":")[0], str(getattr(named, "__module__", ""))))
    sources = [_source(module) for name in modules if (module := sys.modules.get(name))]
    return _digest(text, code_fingerprint(found), sources)


def code_fingerprint(value: Any) -> str:
    """Return 12 hexadecimal digits that change when the code of an object does.

    The source of a function or class is read, and the parameters of a dataclass or partial; what
    these call is not. Where there is no source, the compiled code is.
    """
    missing = _missing(value)
    if missing is not None:
        return missing.code
    if isinstance(value, functools.partial):
        partial = cast("functools.partial[Any]", value)
        given = [*map(_parameter, partial.args), *sorted(partial.keywords)]
        named = [_parameter(partial.keywords[name]) for name in sorted(partial.keywords)]
        return _digest(code_fingerprint(partial.func), given, named)
    parameters = (
        [(one.name, _parameter(getattr(value, one.name))) for one in fields(value) if one.repr]
        if is_dataclass(value) and not isinstance(value, type)
        else []
    )
    inner = getattr(value, "function", None)
    code = inner if callable(inner) else value
    if not (inspect.isclass(code) or inspect.isroutine(code)):
        code = cast("type[Any]", type(code))
    return _digest(reference_to(code), _source(code), parameters)


def _missing(value: Any) -> MissingCode | None:
    """Return what stands for missing code: an object itself, or the function inside it."""
    inner = value if isinstance(value, MissingCode) else getattr(value, "function", None)
    return inner if isinstance(inner, MissingCode) else None


def _held_as(value: Any) -> str | None:
    """Return the name by which an object's module holds it; None where it does not."""
    module = vars(sys.modules.get(value.__module__, sys))
    qualified = getattr(value, "__qualname__", "")
    if module.get(qualified) is value:
        return str(qualified)
    return next((name for name, other in module.items() if other is value), None)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _parameter(value: Any) -> str:
    """Return what tells a parameter from others, in every process alike."""
    if isinstance(value, type | functools.partial) or inspect.isroutine(value):
        return code_fingerprint(value)
    return _ADDRESS.sub("", repr(value))


def _source(code: Any) -> str:
    try:
        return inspect.getsource(code)
    except (OSError, TypeError):
        return "" if isinstance(code, ModuleType) else _compiled(code)


def _compiled(code: Any) -> str:
    members = vars(cast("type[Any]", code)).values() if isinstance(code, type) else [code]
    found: list[str] = []
    for one in members:
        inner = getattr(one, "fget", None) or getattr(one, "__func__", None) or one
        compiled = getattr(inner, "__code__", None)
        if isinstance(compiled, CodeType):
            found.append(_instructions(compiled))
    return repr(found)


def _instructions(code: CodeType) -> str:
    constants = [
        _instructions(one)
        if isinstance(one, CodeType)
        # The order of a set varies from process to process.
        else repr(sorted(map(repr, cast("frozenset[Any]", one))))
        if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    ]
    return repr((code.co_code, constants, code.co_names))


def _is_there(name: str) -> bool:
    return name in sys.modules or importlib.util.find_spec(name.partition(".")[0]) is not None


def _module(name: str, what: str) -> ModuleType:
    """Import a module; `what` names what asks for it."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a script may end when it is imported
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise InvalidParameter(
                f"{what}: there is no module {error.name!r} on Python's search path, where its "
                "folder must be, as with PYTHONPATH=FOLDER"
            ) from None
        raise InvalidParameter(
            f"{what}: module {name!r} cannot be imported: {_fault(error)}"
        ) from error


def _fault(error: BaseException) -> str:
    """Return on one line what went wrong, and where."""
    said = " ".join(str(error).split())
    places = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in _PASSED and not frame.filename.startswith("<frozen")
    ]
    where = f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""
    return f"{type(error).__name__}{said and ': '}{said}{where}"


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_frozen(found: Any) -> bool:
    parameters = getattr(found, "__dataclass_params__", None)
    return isinstance(found, type) and bool(getattr(parameters, "frozen", False))


def _as_tuples(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_as_tuples(one) for one in cast("Sequence[Any]", value))
    return value


def _at_default(field: Any, value: Any) -> bool:
    default = field.default
    if default is MISSING:
        if field.default_factory is MISSING:
            return False
        default = field.default_factory()
    try:
        return bool(default == value)
    except ValueError:  # arrays, which compare place by place
        return False


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() or part == "<lambda>" for part in text.split("."))
