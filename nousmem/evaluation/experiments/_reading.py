"""How a file says what an experiment is.

A file is TOML. `corpus` names a corpus (a table, or several as `[[corpus]]`), with `path`,
`options` of its loader, and `vary`: options to lists of values.

`retrieval` has store, embedder, legs, depth, terms and as_of, each a value or a list of values.
Every combination, with every corpus, is a condition. A value of `legs` is a text such as
"text,vector" or "all"; a leg of one's own in it is `package.module:object`. Where a leg has
parameters, the value is a list of legs, so that several values are a list of lists:
`legs = ["text", ["text", { object = "mine:Typos", at_most = 2 }]]`. A value of `terms` is a text
such as "mine:frequency,mine:length", or "none". `store` may be `package.module:object`, which is
called with each partition of the corpus where it takes one argument (`RetrievalChoice`).

`scoring` and `injection` hold the parameters that are not varied. `grid` holds those that are, of
Scoring or Retrieval, each a list of values, or a range `{ low = 7, high = 3650, log = true }` where
`sampler` has a `method` ("random" or "sobol") and a number of `trials`; `grid.weights = { step =
0.1 }` is the simplex of the three weights. Several grids, `[[grid]]`, are tried one after another.
Candidates are found once for each condition and way to retrieve. What is fixed in one table and
varied in the grid is a fault. A function, leg or term is named as above.

`baseline` is what the others are compared with: parameters of Scoring or Retrieval where it differs
from the default scoring on what the condition retrieves.

`measures`, `tune` (the measure that is tuned), `folds` and `seed` say how it is judged. A measure
of one's own is named `package.module:object`, and runs that module; one of ir_measures
`ir_measures:AP(rel=2)`.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from nousmem.corpora.files import PathLike
from nousmem.errors import ExperimentError, InvalidParameter, MissingDependency, NousmemError
from nousmem.evaluation.experiments._checking import check_conditions, check_retrieval
from nousmem.evaluation.experiments.conditions import Condition, CorpusChoice, RetrievalChoice
from nousmem.evaluation.experiments.experiment import Experiment, grid_values
from nousmem.evaluation.measures import Measure, find_measure, parse_measures
from nousmem.evaluation.statistics.folds import DEFAULT_FOLDS
from nousmem.evaluation.sweeps.grids import GridValues, baseline_of
from nousmem.evaluation.sweeps.ranges import WEIGHTS
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Injection, part_of
from nousmem.scoring import Scoring

__all__ = ["read_experiment"]

_TABLES: Final = ("corpus", "retrieval", "scoring", "injection", "grid", "sampler", "baseline")
_VALUES: Final = ("title", "measures", "tune", "folds", "seed")
_CORPUS_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "name": (str, "the name of a corpus"),
    "path": (str, "the path of a file or folder"),
    "options": (dict, "a table of the loader's options"),
    "vary": (dict, "a table of options, each with a list of values"),
}
_RETRIEVAL: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "store": ((str,), "a text"),
    "embedder": ((str,), "a text"),
    "legs": ((str, list, dict), "a text such as 'text,vector', or a list of legs in a list"),
    "depth": ((int,), "a whole number"),
    "terms": ((str, list), "a text such as 'mine:frequency'"),
    "as_of": ((bool,), "true or false"),
}
_MEASURES: Final = ("nDCG@10", "R@10", "RR")


def read_experiment(path: PathLike) -> Experiment:
    """Read an experiment file.

    Raises:
        ExperimentError: there is no such file, it is not TOML, or something in it is not valid.
            All faults are reported together.
    """
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExperimentError(f"there is no experiment file {file}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExperimentError(f"{file}: expected a TOML file: {error}") from error
    reader = _Reader(document, folder=file.parent)
    experiment = reader.experiment(default_title=file.stem)
    if experiment is None or reader.faults:
        raise ExperimentError(f"{file}: " + "; ".join(dict.fromkeys(reader.faults)))
    return experiment


class _Reader:
    """Reads one document, and gathers what is wrong with it."""

    def __init__(self, document: Mapping[str, Any], *, folder: Path) -> None:
        self.document = document
        self.folder = folder
        self.faults: list[str] = []

    def experiment(self, *, default_title: str) -> Experiment | None:
        self._known("the file", self.document, (*_TABLES, *_VALUES))
        conditions = tuple(
            Condition(corpus, retrieval)
            for corpus, retrieval in itertools.product(self._corpora(), self._retrievals())
        )
        scoring, injection, baseline = self._scoring(), self._injection(), self._baseline()
        measures = self._measures("measures", self.document.get("measures", list(_MEASURES)))
        tune = self._tuned(measures)
        folds = self._whole("folds", default=DEFAULT_FOLDS, least=2)
        seed = self._whole("seed", default=0, least=0)
        title = self.document.get("title", default_title)
        if not isinstance(title, str):
            self.faults.append(f"title must be a text, got {title!r}")
        sampler = self._table("sampler")
        self._known("sampler", sampler, ("method", "trials"))
        grids = self._grids()
        for table, fixed in (("scoring", _fixed_weights), ("retrieval", _fixed_retrieval)):
            both = sorted(fixed(self._table(table)) & set().union(*map(_varied, grids)))
            if both:
                self.faults.append(
                    f"{', '.join(both)}: fixed in [{table}] and varied in [grid]; say it in one of "
                    "them"
                )
        if self.faults or tune is None:
            return None
        experiment = Experiment(
            title=str(title),
            conditions=conditions,
            grid=grids,
            sampler=sampler.get("method", "grid"),
            trials=sampler.get("trials"),
            scoring=scoring,
            injection=injection,
            baseline=baseline,
            measures=tuple(measures),
            tune=tune,
            folds=folds,
            seed=seed,
        )
        with self._naming(""):
            check_conditions(conditions)
        self._check_plans(experiment)
        return experiment

    def _check_plans(self, experiment: Experiment) -> None:
        for condition in experiment.conditions:
            n = len(self.faults)
            with self._naming("scoring: "):
                experiment.start(condition)
            if len(self.faults) == n:
                with self._naming("baseline: "):
                    baseline_of(experiment.start(condition), ()).replace(**experiment.baseline)
        if not self.faults:
            with self._naming("grid: "):
                for plan in experiment.plans():
                    check_retrieval(plan.condition.retrieval, plan.retrievals)

    @contextmanager
    def _naming(self, place: str) -> Generator[None]:
        try:
            yield
        except MissingDependency:
            pass  # whoever runs it needs it, not whoever reads it
        except (NousmemError, TypeError) as error:
            self.faults.append(f"{place}{error}")

    def _corpora(self) -> list[CorpusChoice]:
        given: object = self.document.get("corpus")
        tables = cast("list[object]", given if isinstance(given, list) else [given])
        choices: list[CorpusChoice] = []
        for table in tables:
            if not isinstance(table, Mapping) or "name" not in table:
                self.faults.append("corpus: expected a table [corpus] with a name")
                continue
            one = cast("Mapping[str, Any]", table)
            self._known("corpus", one, tuple(_CORPUS_KINDS))
            wrong = [
                f"corpus: {name} must be {wanted}, got {one[name]!r}"
                for name, (kind, wanted) in _CORPUS_KINDS.items()
                if name in one and not isinstance(one[name], kind)
            ]
            if wrong:
                self.faults += wrong
                continue
            path = one.get("path")
            fixed = CorpusChoice(
                one["name"],
                None if path is None else str(self.folder / path),
                dict(one.get("options", {})),
            )
            varied: dict[str, Any] = dict(one.get("vary", {}))
            for name, values in varied.items():
                if not isinstance(values, list) or not values:
                    self.faults.append(f"corpus.vary: {name} must be a list of values")
                    return []
            choices += [
                replace(fixed, options={**fixed.options, **dict(zip(varied, values, strict=True))})
                for values in itertools.product(*varied.values())
            ]
        return choices

    def _retrievals(self) -> list[RetrievalChoice]:
        table = self._table("retrieval")
        self._known("retrieval", table, tuple(_RETRIEVAL))
        lists: dict[str, list[Any]] = {}
        for name, (kinds, wanted) in _RETRIEVAL.items():
            if name not in table:
                continue
            value: object = table[name]
            values = cast("list[object]", value if isinstance(value, list) else [value])
            # A bool is an int to Python, and no depth of a depth.
            if not values or any(type(one) not in kinds for one in values):
                self.faults.append(
                    f"retrieval: {name} must be {wanted}, or a list of values, got {value!r}"
                )
            else:
                lists[name] = [_retrieval_value(name, one) for one in values]
        choices = [
            RetrievalChoice(**dict(zip(lists, values, strict=True)))
            for values in itertools.product(*lists.values())
        ]
        for choice in choices:
            with self._naming("retrieval: "):
                check_retrieval(choice)
        return choices

    def _grids(self) -> list[dict[str, GridValues]]:
        given: object = self.document.get("grid", {})
        tables = cast("list[object]", given if isinstance(given, list) and given else [given])
        grids: list[dict[str, GridValues]] = []
        for table in tables:
            if not isinstance(table, Mapping):
                self.faults.append(
                    f"grid must be a table [grid], or several [[grid]], got {given!r}"
                )
                continue
            grid: dict[str, GridValues] = {}
            for name, values in cast("Mapping[str, Any]", table).items():
                try:
                    read = grid_values(name, values)
                except InvalidParameter as error:
                    self.faults.append(str(error))
                    continue
                if isinstance(read, list):
                    read = [_listed_parts(name, one) for one in read]
                grid[name] = read
            grids.append(grid)
        return grids

    def _scoring(self) -> Scoring:
        try:
            return Scoring.from_dict(self._table("scoring"))
        except NousmemError as error:
            self.faults.append(f"scoring: {error}")
            return Scoring()

    def _injection(self) -> Injection:
        try:
            return Injection().replace(**self._table("injection"))
        except NousmemError as error:
            self.faults.append(str(error))
            return Injection()

    def _baseline(self) -> dict[str, Any]:
        table = self._table("baseline")
        for name in table:
            with self._naming("baseline: "):
                part_of(name)
        return {name: _listed_parts(name, value) for name, value in table.items()}

    def _measures(self, key: str, names: Any) -> list[Measure]:
        try:
            return parse_measures(names)
        except NousmemError as error:
            self.faults.append(f"{key}: {error}")
            return []

    def _tuned(self, measures: Sequence[Measure]) -> Measure | None:
        if not measures:
            return None
        try:
            return find_measure(self.document.get("tune", measures[0]), measures)
        except NousmemError as error:
            self.faults.append(f"tune: {error}")
            return None

    def _whole(self, name: str, *, default: int, least: int) -> int:
        value = self.document.get(name, default)
        if type(value) is not int or value < least:
            self.faults.append(f"{name} must be a whole number of at least {least}, got {value!r}")
            return default
        return value

    def _table(self, name: str) -> dict[str, Any]:
        table: object = self.document.get(name, {})
        if not isinstance(table, Mapping):
            self.faults.append(f"{name} must be a table [{name}], got {table!r}")
            return {}
        return dict(cast("Mapping[str, Any]", table))

    def _known(self, place: str, table: Mapping[str, Any], names: Sequence[str]) -> None:
        unknown = [name for name in table if name not in names]
        if unknown:
            self.faults.append(
                f"{place} has no key {', '.join(map(repr, unknown))}; keys: {', '.join(names)}"
            )


def _fixed_weights(table: Mapping[str, Any]) -> set[str]:
    """Return the parameters that a table of Scoring fixes, those of its weights one by one."""
    weights: object = table.get("weights", {})
    own = {f"w_{name}" for name in cast("Mapping[str, Any]", weights)} if weights else set[str]()
    return {_parameter(name) for name in table} - {"weights"} | own


def _fixed_retrieval(table: Mapping[str, Any]) -> set[str]:
    return set(table) & set(RETRIEVAL_PARAMETERS)


def _varied(grid: Mapping[str, Any]) -> set[str]:
    names = {_parameter(name) for name in grid}
    return names | set(WEIGHTS) if "weights" in names else names


def _parameter(name: str) -> str:
    """Return the parameter that a name says something of; a half-life is the rate of decay."""
    return "decay_lambda" if name == "half_life_days" else name


def _retrieval_value(name: str, value: Any) -> Any:
    if name == "embedder" and value == "none":
        return None
    return _listed_parts(name, value)


def _listed_parts(name: str, value: Any) -> Any:
    """Return legs or terms as `RetrievalChoice` has them, of one value that a file says.

    Args:
        name: "legs" or "terms"; the value of another parameter is returned as it is.
        value: A text with commas; "all" for legs, "none" for terms; a leg; or a list of parts.
    """
    if name not in ("legs", "terms"):
        return value
    if isinstance(value, str):
        if value == ("all" if name == "legs" else "none"):
            return None if name == "legs" else ()
        return tuple(part.strip() for part in value.split(","))
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else (value,)
