"""What is measured: a name, a cutoff, and where the value comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, overload

from nousmem.errors import ExtensionError, InvalidParameter, UnknownName
from nousmem.evaluation.measures._builtin import BUILT_IN
from nousmem.evaluation.measures._foreign import PREFIX, IrMeasure, check_parameters, is_ir_measure
from nousmem.evaluation.measures._functions import RankFunction, function_of
from nousmem.references import load_reference
from nousmem.scoring import Scoring

__all__ = ["Measure", "find_measure", "measure", "parse_measures", "split_measures"]

_SPELLED_ELSEWHERE: Final = {
    "ndcg": "nDCG",
    "ndcg_cut": "nDCG",
    "recall": "R",
    "precision": "P",
    "hit_rate": "Success",
    "hits": "Success",
    "mrr": "RR",
    "recip_rank": "RR",
    "map": "AP",
    "average_precision": "AP",
}

_COLUMNS: Final = frozenset({
    "query_id", "category", "setting", "condition", "corpus", "is_baseline", "half_life_days",
    "n_queries", "n_missing", "n_excluded", "difference", "low", "high",
})  # fmt: skip
"""Columns of tables that have one for each measure too."""

_EXAMPLES: Final = (f"{PREFIX}AP(rel=2)", "package.module:measure")
_WHAT_IS_ONE: Final = (
    "a measure is a name such as 'nDCG@10', what nousmem.evaluation.measure makes of a function, a "
    "measure of ir_measures, or 'package.module:measure'"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and how deep: `nDCG@10`, `AP`.

    - nDCG: discounted cumulative gain over the ideal one; gains are the judged relevance, the
      discount is log2(rank + 1) (Järvelin and Kekäläinen 2002, as in trec_eval).
    - R: share of the relevant entries that are found. P: share of the k places that are relevant.
    - RR: 1 / rank of the first relevant entry. AP: mean over the relevant entries of the
      precision at their ranks.
    - Success: 1 if any relevant entry is found. AllRel: 1 if all are.
    - Fresh: for a query whose fact was updated, 1 if the newest evidence is found and stands above
      every outdated entry; where several entries hold the newest state, the best of them counts.
      An outdated entry that was not returned is no obstacle. Queries without such marks (see
      `UpdateMarks`) have no value, and means are over the others.

    Binary measures count a judged relevance of 1 or more as relevant.

    Others are made by `measure` from a function, or are measures of ir_measures. Two measures are
    equal where name, cutoff and code are.
    """

    name: str
    """One of those above, such as nDCG; the name of a function; `ir_measures:` and a spelling."""
    cutoff: int | None
    """Places looked at; None is the whole ranking, or as the measure of ir_measures says."""
    source: RankFunction | IrMeasure | None = None
    """What computes it; None is one of those above."""

    @classmethod
    def parse(cls, given: str | Measure | Any) -> Measure:
        """Read a measure as it is spelled, such as `nDCG@10`.

        Args:
            given: The name of one of those above; `package.module:object`, with or without a
                cutoff, which runs the code of that module; `ir_measures:AP(rel=2)`; a measure; or
                a measure of ir_measures. Those of its measures that there are here too, such as
                nDCG@10, are computed here; `ir_measures:nDCG@10` is computed there.

        Raises:
            UnknownName: there is no such measure.
            InvalidParameter: the cutoff is missing or not a whole number above 0; the measure is
                spelled as another library spells it; there is no such object, or it is no
                measure; ir_measures does not know it or cannot compute it here.
            ExtensionError: a measure that was read from a result, and whose code is gone.
            MissingDependency: it is one of ir_measures, which is not installed.
        """
        if isinstance(given, Measure):
            return given.loaded()
        if is_ir_measure(given):
            return _from_ir_measures(given)
        if not isinstance(given, str):
            hint = f": nousmem.evaluation.measure({_called(given)})" if callable(given) else ""
            raise InvalidParameter(f"{_WHAT_IS_ONE}; got {given!r}{hint}")
        if given.startswith(PREFIX):
            return _ir_measure(given.removeprefix(PREFIX))
        if ":" in given:
            return _referred(given)
        return _named(given)

    @classmethod
    def from_document(cls, document: str | Mapping[str, Any]) -> Measure:
        """Return the measure that `to_document` described; somebody's code is not looked for yet.

        Raises:
            UnknownName, InvalidParameter: it names one of those above, and is not spelled so.
            KeyError, TypeError: it is something else.
        """
        if isinstance(document, str):
            return _named(document)
        name, code = document["name"], document["code"]
        if name.startswith(PREFIX):
            return cls(name, None, IrMeasure(name.removeprefix(PREFIX), code))
        return cls(name, document["cutoff"], RankFunction(code, document["object"]))

    def to_document(self) -> str | dict[str, Any]:
        """Return what identifies it in a file: its spelling, or a table with a mark of its code."""
        if self.source is None:
            return str(self)
        if isinstance(self.source, IrMeasure):
            return {"name": self.name, "code": self.source.code}
        return {
            "name": self.name,
            "cutoff": self.cutoff,
            "object": self.source.reference,
            "code": self.source.code,
        }

    def loaded(self) -> Measure:
        """Return it with the code that computes it, as that is now.

        Raises:
            ExtensionError: it was read from a result, and its code is gone.
            MissingDependency: it is one of ir_measures, which is not installed.
        """
        if self.source is None:
            return self
        try:
            return replace(self, source=self.source.loaded())
        except ExtensionError as error:
            raise ExtensionError(f"measure {self} cannot be computed: {error}") from error

    @property
    def reference(self) -> str:
        """How a file or a command line spells it: as `str`, but a function by where it is."""
        if not isinstance(self.source, RankFunction):
            return str(self)
        return self.source.reference + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def needs_marks(self) -> bool:
        """Whether it is of queries whose fact was updated, and exists for no other."""
        return self.source is None and BUILT_IN[self.name].of_marks

    @property
    def reads_rankings(self) -> bool:
        """Whether it needs whole rankings; else the ranks of the relevant entries will do."""
        return isinstance(self.source, IrMeasure)

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


@overload
def measure(
    function: Callable[..., Any], *, name: str | None = None, cutoff: int | None = None
) -> Measure: ...
@overload
def measure(
    function: None = None, *, name: str | None = None, cutoff: int | None = None
) -> Callable[[Callable[..., Any]], Measure]: ...
def measure(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    cutoff: int | None = None,
) -> Measure | Callable[[Callable[..., Any]], Measure]:
    """Make a measure from a function, which is called for one query at a time.

    It is called as `function(ranks, gains)`, and as `function(ranks, gains, max_gain=…)` where it
    has a parameter of that name:

    - ranks: whole numbers, one for each relevant entry of the query; the rank from 1, and 0 where
      the entry was not returned, or stands below the cutoff.
    - gains: the judged relevance of the same entries, above 0.
    - max_gain: the greatest relevance in all the judgements measured.

    It returns one finite number, the greater the better. Entries that are not relevant have no
    rank here: a measure that needs them is one of the whole ranking, as those of ir_measures are.

    As it is Python, called for each query under each setting, it takes a sweep some microseconds
    for each; the built-in measures take a hundredth of that. Its code is part of what identifies a
    result: a sweep goes on from a folder only where the code is the same.

    Use it as a function, or as a decorator, `@measure` or `@measure(cutoff=10)`.

    Args:
        function: Of ranks and gains. In a file it is named by the module it is in.
        name: What it is called in tables; None is the function's name.
        cutoff: Places looked at, at least 1; it is spelled with it, as in err@10.

    Raises:
        InvalidParameter: it is no function of ranks and gains; the name is taken or is no name;
            the cutoff is not a whole number above 0.
    """
    if function is None:
        return lambda given: measure(given, name=name, cutoff=cutoff)
    if not callable(function) or isinstance(function, type | Measure):
        raise InvalidParameter(f"expected a function of ranks and gains, got {function!r}")
    called = _called(function) if name is None else name
    _check_name(called)
    if cutoff is not None and (type(cutoff) is not int or cutoff < 1):
        raise InvalidParameter(f"cutoff must be a whole number above 0, got {cutoff!r}")
    return Measure(called, cutoff, RankFunction.of(function))


def parse_measures(measures: Sequence[str | Measure | Any]) -> list[Measure]:
    """Read a list of measures, each once.

    Raises:
        InvalidParameter: the list is empty, is one measure instead of a list, or two measures of
            it have the same name.
        UnknownName, InvalidParameter, ExtensionError, MissingDependency: as in `Measure.parse`.
    """
    listed = isinstance(measures, Sequence) and not isinstance(measures, str)
    if not listed or not measures:
        raise InvalidParameter(f"measures must be a list such as ['nDCG@10'], got {measures!r}")
    parsed = list(dict.fromkeys(Measure.parse(one) for one in measures))
    spelled = [str(one) for one in parsed]
    twice = sorted({one for one in spelled if spelled.count(one) > 1})
    if twice:
        raise InvalidParameter(
            f"two different measures are called {twice[0]}: give one of them another name="
        )
    return parsed


def find_measure(wanted: str | Measure | Any, measures: Iterable[Measure]) -> Measure:
    """Return the one of some measures that is wanted, by its name in tables too.

    Raises:
        InvalidParameter: it is none of them.
        UnknownName, InvalidParameter, ExtensionError, MissingDependency: as in `Measure.parse`.
    """
    known = list(measures)
    for one in known:
        if wanted == one or (isinstance(wanted, str) and wanted in (str(one), one.reference)):
            return one
    parsed = wanted if isinstance(wanted, Measure) else Measure.parse(wanted)
    if parsed in known:
        return parsed
    if str(parsed) in map(str, known):
        raise InvalidParameter(f"{parsed} was measured with other code than this {parsed} has")
    raise InvalidParameter(f"{parsed} is not measured; measured: {', '.join(map(str, known))}")


def split_measures(text: str) -> list[str]:
    """Return the measures of a text that has commas between them, and inside their brackets."""
    parts = re.findall(r"(?:[^,(]|\([^)]*\))+", text)
    return [part.strip() for part in parts if part.strip()]


def _named(text: str) -> Measure:
    name, at, cutoff = text.partition("@")
    if (ours := _SPELLED_ELSEWHERE.get(name.lower())) and name not in BUILT_IN:
        example = ours + (at + cutoff or ("@10" if BUILT_IN[ours].needs_cutoff else ""))
        raise InvalidParameter(f"measure {text!r} is spelled as ir_measures has it: {example}")
    if name not in BUILT_IN:
        raise UnknownName("measure", name, [*BUILT_IN, *_EXAMPLES])
    if not at and not BUILT_IN[name].needs_cutoff:
        return Measure(name, None)
    return Measure(name, _cutoff(text, cutoff, example=f"{name}@10"))


def _referred(text: str) -> Measure:
    reference, at, cutoff = text.partition("@")
    found = load_reference(reference, what="measure")
    if is_ir_measure(found):
        found = _from_ir_measures(found)
    made = found if isinstance(found, Measure) else measure(function_of(found, reference))
    if isinstance(made.source, RankFunction):
        source = replace(made.loaded().source or made.source, reference=reference)
        depth = _cutoff(text, cutoff, example=f"{reference}@10") if at else made.cutoff
        return Measure(made.name, depth, source)
    if at:
        raise InvalidParameter(f"measure {text!r}: {reference} has its own cutoff, leave @ out")
    return made


def _cutoff(text: str, cutoff: str, *, example: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]*", cutoff):
        raise InvalidParameter(f"measure {text!r} needs a cutoff, such as {example}")
    return int(cutoff)


def _from_ir_measures(given: Any) -> Measure:
    check_parameters(given)
    made_at_run_time = hasattr(given, "runtime_impl")
    name, at, cutoff = repr(given).partition("@")
    if not made_at_run_time and name in BUILT_IN and (at or not BUILT_IN[name].needs_cutoff):
        return Measure(name, int(cutoff) if at else None)
    return _ir_measure(given)


def _ir_measure(given: Any) -> Measure:
    source = IrMeasure.of(given)
    return Measure(PREFIX + source.text, None, source)


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidParameter(
            f"a measure's name is made of letters, digits and _, and {name!r} is not: give it one "
            "with name="
        )
    if name in BUILT_IN or name.lower() in _SPELLED_ELSEWHERE:
        raise InvalidParameter(f"{name} is a measure that there is already: give another name=")
    if name in _COLUMNS or name in [one.name for one in fields(Scoring)]:
        raise InvalidParameter(f"{name} is a column of the tables already: give another name=")
