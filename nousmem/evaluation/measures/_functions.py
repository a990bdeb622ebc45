"""Measures that somebody made: a function of the ranks and the gains of one query.

A measure that was read from a result knows its name and where its code was. The code is looked
for when the measure is computed, and not before: what a result says does not need it.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from nousmem.errors import ExtensionError, InvalidParameter
from nousmem.references import code_fingerprint, load_reference, reference_to
from nousmem.scoring import Floats

__all__ = ["RankFunction", "fingerprint_of", "function_of"]

_GREATEST: Final = "max_gain"


@dataclass(frozen=True, slots=True)
class RankFunction:
    """A function that gives a query its value, and what identifies its code."""

    code: str
    """Fingerprint of its source, and of what it holds on to: defaults, and names around it."""
    reference: str = field(compare=False)
    """Where it is: package.module:object."""
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """None where it was read from a result, and not looked for yet."""
    takes_greatest: bool = field(default=False, compare=False, repr=False)
    """Whether it has a parameter `max_gain`."""

    @classmethod
    def of(cls, function: Callable[..., Any], *, reference: str | None = None) -> RankFunction:
        """Take a function.

        Raises:
            InvalidParameter: it cannot be called with ranks and gains.
        """
        where = reference or reference_to(function)
        return cls(fingerprint_of(function), where, function, _takes_greatest(function, where))

    def loaded(self) -> RankFunction:
        """Return it with its function, which is looked for where it was; as it is now.

        Raises:
            ExtensionError: it is not there any more.
        """
        if self.function is not None:
            return self
        try:
            found = load_reference(self.reference, what="measure")
            function = function_of(found, self.reference)
            return RankFunction.of(function, reference=self.reference)
        except InvalidParameter as error:
            raise ExtensionError(f"its code is not here: {error}") from error

    def value(
        self, query_id: str, ranks: NDArray[np.int64], gains: Floats, greatest: float
    ) -> float:
        """Return the value of one query.

        Raises:
            ExtensionError: the function fails, or returns something else than a finite number.
        """
        if self.function is None:
            return self.loaded().value(query_id, ranks, gains, greatest)
        try:
            given = {_GREATEST: greatest} if self.takes_greatest else {}
            found: Any = self.function(ranks, gains, **given)
        except Exception as error:
            raise ExtensionError(
                f"query {query_id!r}: it fails with {type(error).__name__}: {error}"
            ) from error
        # Not isinstance(found, …), which would make a type of what may be anything.
        if issubclass(type(found), Real | np.bool_) and math.isfinite(found):
            return float(found)
        raise ExtensionError(
            f"query {query_id!r}: a measure returns one finite number, and it returned "
            f"{repr(found)[:60]} ({type(found).__name__})"
        )


def function_of(found: Any, reference: str) -> Callable[..., Any]:
    """Return what stands at a reference as a function, out of the measure that is made of it.

    Raises:
        InvalidParameter: it is none.
    """
    inner = getattr(getattr(found, "source", None), "function", None)
    function = found if inner is None else inner
    if not callable(function) or isinstance(function, type):
        raise InvalidParameter(
            f"measure {reference!r} is a {type(found).__name__}: name a function of ranks and "
            "gains, or what nousmem.evaluation.measure made of one"
        )
    return function


def fingerprint_of(function: Any) -> str:
    """Return 12 hexadecimal digits that change with the code of a function and what it holds.

    Held are the values of its defaults and of names of a function around it, and of a
    `functools.partial` its arguments; functions among them count with their own code.
    """
    parts = _parts(function, set())
    if len(parts) == 1:
        return parts[0]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _parts(function: Any, seen: set[int]) -> list[str]:
    seen.add(id(function))
    if isinstance(function, functools.partial):
        held: list[Any] = [function.func, *function.args, *sorted(function.keywords.items())]
        return ["partial", *(part for one in held for part in _held(one, seen))]
    plain = inspect.unwrap(getattr(function, "__func__", function))
    cells = getattr(plain, "__closure__", None) or ()
    held = [cell.cell_contents for cell in cells if _is_filled(cell)]
    held += [*(getattr(plain, "__defaults__", None) or ())]
    held += sorted(cast("dict[str, Any]", getattr(plain, "__kwdefaults__", None) or {}).items())
    return [code_fingerprint(function), *(part for one in held for part in _held(one, seen))]


def _held(value: Any, seen: set[int]) -> list[str]:
    if id(value) in seen:
        return []
    if inspect.isroutine(value) or isinstance(value, functools.partial):
        return _parts(value, seen)
    if isinstance(value, tuple | list):
        return [part for one in cast("list[Any]", value) for part in _held(one, seen)]
    # What else there is may say its address, which is another in every process.
    plain = value is None or isinstance(value, bool | int | float | str | bytes)
    return [repr(value)] if plain else [type(value).__name__]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a name that is bound later
        return False


def _takes_greatest(function: Callable[..., Any], where: str) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return False
    takes = _GREATEST in signature.parameters
    try:
        signature.bind(None, None, **({_GREATEST: None} if takes else {}))
    except TypeError as error:
        raise InvalidParameter(
            f"measure {where}: a measure is called with ranks and gains, and with max_gain where "
            f"it has such a parameter, and this has {signature}: {error}"
        ) from None
    return takes
