"""Measures of the package ir_measures, computed by it from whole rankings."""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Final

import numpy as np

from nousmem.errors import ExtensionError, InvalidParameter, requiring
from nousmem.evaluation.measures._functions import fingerprint_of
from nousmem.evaluation.measures._judgements import Judgements
from nousmem.scoring import Floats

__all__ = ["PREFIX", "IrMeasure", "IrValues", "Rankings", "check_parameters", "is_ir_measure"]

PREFIX: Final = "ir_measures:"

Rankings = Mapping[str, Sequence[tuple[str, float]]]
"""Of each query, its entries and their scores, best first under the tie rule. A query that found
nothing may be left out."""


def is_ir_measure(value: object) -> bool:
    """Whether something is a measure of ir_measures, which whoever has one has imported."""
    package = sys.modules.get("ir_measures")
    return package is not None and isinstance(value, package.Measure)


def check_parameters(measure: Any) -> None:
    """Raise InvalidParameter where a measure of ir_measures has a parameter that it cannot have.

    Such a measure has no spelling either.
    """
    try:
        measure.validate_params()
    except AssertionError as error:
        raise InvalidParameter(f"ir_measures.{measure.NAME}: {_one_line(error)}") from None


@dataclass(frozen=True, slots=True)
class IrMeasure:
    """A measure as ir_measures spells it."""

    text: str
    """Such as AP(rel=2), AP(rel=2)@10."""
    code: str = field(compare=False)
    """What computes it: the version of ir_measures; of a measure made at run time also its code."""
    given: Any = field(default=None, compare=False, repr=False)
    """The object of ir_measures, where there was one; else the text is read when it is needed."""

    @classmethod
    def of(cls, given: Any) -> IrMeasure:
        """Take a measure of ir_measures, or its spelling.

        Raises:
            MissingDependency: ir_measures is not installed.
            InvalidParameter: ir_measures does not know it, cannot compute it here, or it has no
                name.
        """
        measure = _parsed(given) if isinstance(given, str) else given
        check_parameters(measure)
        if measure.NAME is None:
            raise InvalidParameter("a measure of ir_measures.define needs a name: add name='…'")
        try:
            _ir_measures().evaluator([measure], {"q": {"d": 1}})
        except Exception as error:
            raise InvalidParameter(
                f"ir_measures cannot compute {measure}: {_one_line(error)}"
            ) from error
        code = f"ir_measures {metadata.version('ir_measures')}"
        if hasattr(measure, "runtime_impl"):
            code += f" {fingerprint_of(measure.runtime_impl)}"
        return cls(repr(measure), code, measure)

    def loaded(self) -> IrMeasure:
        """Return it with its object.

        Raises:
            ExtensionError: ir_measures does not know it; where it was made at run time, it is
                known where it was made alone.
            MissingDependency: ir_measures is not installed.
        """
        if self.given is not None:
            return self
        try:
            return IrMeasure.of(self.text)
        except InvalidParameter as error:
            raise ExtensionError(f"its code is not here: {error}") from error


class IrValues:
    """Has ir_measures compute one of its measures for all queries, ranking after ranking."""

    def __init__(self, judgements: Judgements, measure: IrMeasure) -> None:
        self._query_ids = judgements.query_ids
        self._measure = measure.loaded()
        # The tools behind ir_measures break ties in ways of their own, some keep scores in single
        # precision, and one takes no query id but a number: they get the ranking as scores that
        # differ, above 0, and queries by number. Code made at run time may look at scores and
        # ids, and is given them as they are, in order.
        self._as_it_is = hasattr(self._measure.given, "runtime_impl")
        self._names = [
            str(query_id if self._as_it_is else at)
            for at, query_id in enumerate(self._query_ids, 1)
        ]
        by_query = judgements.by_query()
        qrels = {
            name: {
                str(doc_id): int(relevance) if relevance.is_integer() else relevance
                for doc_id, relevance in judged.items()
            }
            for name, judged in zip(self._names, by_query.values(), strict=True)
        }
        self._evaluator = _asked(
            lambda: _ir_measures().evaluator([self._measure.given], qrels), "these qrels"
        )

    def values(self, rankings: Rankings) -> Floats:
        """Return its values, shape (queries,); NaN where ir_measures gives none.

        Raises:
            ExtensionError: ir_measures fails, or gives something else than a number.
        """
        run = {
            name: self._scores(rankings[query_id])
            for name, query_id in zip(self._names, self._query_ids, strict=True)
            if rankings.get(query_id)
        }
        found: dict[str, Any] = {}
        if run:
            for one in _asked(lambda: list(self._evaluator.iter_calc(run)), "this ranking"):
                found[one.query_id] = one.value
        else:
            found = dict.fromkeys(self._names, self._measure.given.DEFAULT)
        try:
            values = np.array([float(found.get(name, math.nan)) for name in self._names])
        except (TypeError, ValueError) as error:
            raise ExtensionError(f"it gives something else than a number: {error}") from error
        if np.isinf(values).any():
            at = self._query_ids[int(np.isinf(values).argmax())]
            raise ExtensionError(f"query {at!r}: it gives a value that is not finite")
        return values

    def _scores(self, ranking: Sequence[tuple[str, float]]) -> dict[str, float]:
        if self._as_it_is:
            return {str(doc_id): float(score) for doc_id, score in ranking}
        n = len(ranking)
        return {str(doc_id): float(n - place) for place, (doc_id, _) in enumerate(ranking)}


def _asked(ask: Any, what: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return ask()
    except Exception as error:
        raise ExtensionError(
            f"ir_measures fails on {what} with {type(error).__name__}: {_one_line(error)}"
        ) from error


def _parsed(text: str) -> Any:
    package = _ir_measures()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its parser's, of Python's ast
            return package.parse_measure(text)
    except Exception as error:
        raise InvalidParameter(
            f"ir_measures does not read {text!r} ({_one_line(error)}); expected such as "
            f"{PREFIX}AP(rel=2) or {PREFIX}ERR@10"
        ) from error


def _ir_measures() -> Any:
    with requiring("ir_measures", extra="bench", purpose="a measure of ir_measures"):
        return importlib.import_module("ir_measures")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
