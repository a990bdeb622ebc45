"""The functions a ranking is made of: fusions, decay curves, update rules, terms.

Ours and somebody's own are found, called and checked alike. A function takes arrays, and those
parameters of Scoring that stand among its keyword-only arguments: `def rrf(legs, *, rrf_k)`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias, cast

import numpy as np

from nousmem.errors import ExtensionError, InvalidParameter, NousmemError, suggestion
from nousmem.references import describe, instance_of, is_reference, load_described, reference_to
from nousmem.scoring._formulas import Floats
from nousmem.scoring._names import NUMBERS

__all__ = [
    "Function",
    "called",
    "chosen_function",
    "described_function",
    "over_any_shape",
    "parameters_read",
    "takes_any_shape",
]

Function: TypeAlias = Callable[..., Any]

_ANY_SHAPE: Final = "takes_any_shape"


def over_any_shape(function: Function) -> Function:
    """Mark a function that may be given the arrays of many queries at once, padded with NaN.

    Others are called once for each query, with arrays over its candidates alone.
    """
    setattr(function, _ANY_SHAPE, True)
    return function


def takes_any_shape(function: Function) -> bool:
    """Whether a function, or the one inside a term, is marked by `over_any_shape`."""
    return bool(getattr(getattr(function, "function", function), _ANY_SHAPE, False))


def chosen_function(
    name: str, given: object, built_in: Mapping[str, Function]
) -> tuple[str | Function, Function]:
    """Return what a parameter keeps, and the function it stands for.

    Args:
        name: The parameter, for messages.
        given: The name of a built-in function; a function or an object that can be called; or
            `package.module:object`, or the table that `described_function` returns.
        built_in: The built-in functions by name.

    Returns:
        The name of a built-in function, whichever way it was given; the function otherwise.

    Raises:
        InvalidParameter: it is none of these, cannot be called, cannot be hashed, or reads what is
            no parameter of Scoring.
    """
    if isinstance(given, str) and given in built_in:
        return given, built_in[given]
    found = given
    if is_reference(given) or isinstance(given, Mapping):
        found = load_described(cast("str | Mapping[str, Any]", given), what=name)
    elif isinstance(given, type):
        found = instance_of(given, what=name)
    if not callable(found):
        hint = suggestion(given, built_in) if isinstance(given, str) else ""
        raise InvalidParameter(
            f"{name} must be one of {', '.join(built_in)}, a function over arrays, or "
            f"'package.module:object', got {given!r}{hint}"
        )
    if isinstance(found, partial):
        raise InvalidParameter(
            f"{name} is a partial of {reference_to(found.func)}, which no file can name: make it "
            "a frozen dataclass with the parameters as fields, and __call__"
        )
    own = next((known for known, function in built_in.items() if function is found), None)
    if own is not None:
        return own, found
    try:
        hash(found)
    except TypeError:
        raise InvalidParameter(
            f"{name} {reference_to(found)} cannot be hashed, and so not be told from others: make "
            "it a function or a frozen dataclass"
        ) from None
    parameters_read(found)
    return found, found


def described_function(value: str | Function) -> str | dict[str, Any]:
    """Return how a file names what `chosen_function` keeps."""
    return value if isinstance(value, str) else describe(value)


@lru_cache(maxsize=1024)
def parameters_read(function: Function) -> tuple[str, ...]:
    """Return the parameters of Scoring that a function reads: its keyword-only arguments.

    One with a default is the function's own, unless Scoring has a parameter of that name.

    Raises:
        InvalidParameter: one without a default is no parameter of Scoring.
    """
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    read: list[str] = []
    for one in arguments:
        if one.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if one.name in NUMBERS:
            read.append(one.name)
        elif one.default is inspect.Parameter.empty:
            raise InvalidParameter(
                f"{reference_to(function)} asks by keyword for {one.name!r}, which is none of the "
                f"parameters of Scoring that a function may read{suggestion(one.name, NUMBERS)}; "
                f"these are {', '.join(NUMBERS)}"
            )
    return tuple(read)


def called(
    what: str,
    function: Function,
    *arrays: Any,
    scoring: object,
    shape: tuple[int, ...],
    may_be_nan: bool = False,
) -> Floats:
    """Call a function of a ranking, and check what it returns.

    Args:
        what: What it is, for messages, such as "fusion".
        function: Ours, or somebody's own.
        arrays: Its positional arguments.
        scoring: Gives the parameters it reads.
        shape: What it must return.
        may_be_nan: Whether NaN may be in it.

    Raises:
        ExtensionError: it raises, or returns another shape, or what is no finite number.
    """
    read = {name: getattr(scoring, name) for name in parameters_read(function)}
    try:
        with np.errstate(all="ignore"):
            given = function(*arrays, **read)
        found = np.asarray(given, dtype=np.float64)
    except NousmemError:
        raise
    except Exception as error:
        raise ExtensionError(
            f"{what} {reference_to(function)} failed: {type(error).__name__}: {error}"
        ) from error
    if found.shape != shape:
        raise ExtensionError(
            f"{what} {reference_to(function)} must return an array of shape {shape}, one value a "
            f"candidate, got {found.shape}"
        )
    wrong = np.isinf(found) if may_be_nan else ~np.isfinite(found)
    if wrong.any():
        raise ExtensionError(
            f"{what} {reference_to(function)} must return finite numbers, got "
            f"{found[wrong].flat[0]} for {int(wrong.sum())} of {found.size} candidates"
        )
    return found
