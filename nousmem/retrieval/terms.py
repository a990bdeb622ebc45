"""Terms: named columns over the candidates of a query, each with a weight.

Importance and recency are the built-in ones; they are made as anybody's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, overload

import numpy as np

from nousmem.errors import InvalidParameter
from nousmem.references import is_reference, load_reference, reference_to
from nousmem.scoring import Floats, Function, called, over_any_shape, parameters_read

__all__ = ["BUILT_IN_TERMS", "Term", "chosen_term", "importance", "recency", "term"]


@dataclass(frozen=True)
class Term:
    """A named column over candidates; made by `term`."""

    function: Function
    """Takes the candidates (see `Candidates`), and by keyword those parameters of Scoring that it
    reads; returns one finite number a candidate, shape (n,)."""
    name: str
    """Its column, and with `w_` before it its weight."""
    decays: bool = False
    """Whether it is part of relevance, so that updates and age take from it as from that."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(f"a term is made of a function, got {self.function!r}")
        if not self.name.isidentifier() or self.name in ("text", "vector", "relevance"):
            raise InvalidParameter(
                f"a term's name must be an identifier and no leg's, got {self.name!r}"
            )
        parameters_read(self.function)
        # So that it is named, documented and found as the function it is made of.
        for attribute in ("__module__", "__qualname__", "__doc__"):
            if hasattr(self.function, attribute):
                object.__setattr__(self, attribute, getattr(self.function, attribute))

    def __call__(self, candidates: Any, /, **parameters: Any) -> Any:
        """Return what the function does."""
        return self.function(candidates, **parameters)

    def values(self, candidates: Any, scoring: object, *, shape: tuple[int, ...]) -> Floats:
        """Return the column, checked.

        Args:
            candidates: Of one query; or of many, where the function takes any shape.
            scoring: Gives the parameters that it reads.
            shape: Of the column.

        Raises:
            ExtensionError: the function fails, or returns what it may not.
        """
        return called(
            f"term {self.name!r}", self.function, candidates, scoring=scoring, shape=shape
        )

    def depends_on(self, scoring: object) -> tuple[object, ...]:
        """Return what the column depends on beside the candidates."""
        return tuple(getattr(scoring, name) for name in parameters_read(self.function))


@overload
def term(function: Function, /, *, name: str | None = None, decays: bool = False) -> Term: ...
@overload
def term(
    function: None = None, /, *, name: str | None = None, decays: bool = False
) -> Callable[[Function], Term]: ...
def term(
    function: Function | None = None, /, *, name: str | None = None, decays: bool = False
) -> Term | Callable[[Function], Term]:
    """Make a term of a function over candidates.

        @nm.term(decays=False)
        def frequency(candidates):
            return np.log1p(candidates.access_count) / np.log(101)

    Args:
        function: Takes the candidates of one query, and returns one number for each.
        name: Its column and its weight; None is the function's name.
        decays: Whether age takes from it, as from relevance.

    Raises:
        InvalidParameter: the name is no identifier, or the function asks by keyword for what is
            no parameter of Scoring.
    """

    def made(function: Function) -> Term:
        return Term(function, name or getattr(function, "__name__", ""), decays)

    return made if function is None else made(function)


@over_any_shape
def _importance(candidates: Any) -> Floats:
    """How much an entry matters, 0 to 1."""
    return candidates.importance


@over_any_shape
def _recency(candidates: Any, *, recency_lambda: float) -> Floats:
    """exp(-recency_lambda · hours since last access), 1 is "just now".

    Evergreen entries are not exempt: they are as recent as their last access.
    """
    return np.exp(-recency_lambda * candidates.age_hours)


importance: Final = term(_importance, name="importance")
recency: Final = term(_recency, name="recency")

BUILT_IN_TERMS: Final[Mapping[str, Term]] = MappingProxyType(
    {"importance": importance, "recency": recency}
)
"""Beside relevance in every ranking; their weights are parameters of Scoring."""


def chosen_term(given: object) -> Term:
    """Return a term: one that is given, or that `package.module:object` names.

    Raises:
        InvalidParameter: it is none.
    """
    found = load_reference(given, what="term") if is_reference(given) else given  # pyright: ignore[reportArgumentType]
    if not isinstance(found, Term):
        named = reference_to(found) if callable(found) else repr(found)
        raise InvalidParameter(
            f"a term is a function made one by @nousmem.term, or 'package.module:object' of such; "
            f"got {named}"
        )
    if found.name in BUILT_IN_TERMS:
        raise InvalidParameter(f"term {found.name!r} is built in, and always there: leave it out")
    return found
