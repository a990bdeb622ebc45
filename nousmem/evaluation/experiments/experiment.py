"""What an experiment is, and how a file says it.

A file is TOML. `corpus` names a corpus (a table, or several as `[[corpus]]`), with `path`,
`options` of its loader, and `vary`: options to lists of values. `retrieval` has store, embedder,
legs, depth and as_of, each a value or a list of values. Every combination is a condition, for which
candidates are retrieved once. `scoring` holds the parameters that are not varied, `grid` those that
are, each a list of values, or a range `{ low = 7, high = 3650, log = true }` where `search` has a
`method` ("random" or "sobol") and a number of `trials`; `grid.weights = { step = 0.1 }` is the
simplex of the three weights. `baseline` is what the others are compared with. `measures`, `tune`
(the measure that is tuned), `folds` and `seed` say how it is judged.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from nousmem.corpora.files import PathLike
from nousmem.errors import ExperimentError, InvalidParameter, MissingDependency, NousmemError
from nousmem.evaluation.experiments.checking import check_conditions, check_retrieval
from nousmem.evaluation.experiments.conditions import (
    Condition,
    CorpusChoice,
    RetrievalChoice,
    Settings,
)
from nousmem.evaluation.measures import Measure, parse_measures
from nousmem.evaluation.statistics.folds import DEFAULT_FOLDS
from nousmem.evaluation.sweeps.grids import GridValues, kept_grid
from nousmem.evaluation.sweeps.ranges import WEIGHTS, Range, Simplex
from nousmem.evaluation.sweeps.samplers import SamplerName, plan_sampling
from nousmem.scoring import Scoring

__all__ = ["Experiment", "read_experiment"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Conditions, the settings tried under each, and how the result is judged.

    Nothing is checked when it is made; `settings` does.
    """

    title: str
    """Heads the report; of a file that has none, the file's name."""
    conditions: tuple[Condition, ...]
    """What is retrieved from, and how; each is measured under every setting."""
    grid: Mapping[str, GridValues] = field(default_factory=dict[str, GridValues])
    """As in `sweep`."""
    search: SamplerName = "grid"
    """As in `sweep`; not "optuna", which would try other settings under each condition."""
    trials: int | None = None
    """Settings drawn, for every search but "grid"."""
    scoring: Scoring = field(default_factory=Scoring)
    """The parameters that are not varied."""
    baseline: Scoring = field(default_factory=Scoring)
    """What the others are compared with."""
    measures: tuple[Measure, ...] = ()
    """What is measured of every query; `tune` must be among them."""
    tune: Measure
    """The measure by which a setting is best."""
    folds: int = DEFAULT_FOLDS
    """Folds that tuning is judged on, at least 2; fewer where there are fewer groups of queries."""
    seed: int = 0
    """Of folds and resamples, and of the draws of a search; at least 0."""

    def settings(self) -> Settings:
        """Return what every condition is measured under: the grid, and the baseline.

        Raises:
            UnknownName: there is no such search.
            InvalidParameter: the grid or the search's options are not valid, or the search is
                "optuna".
        """
        if self.tune not in self.measures:
            known = ", ".join(map(str, self.measures))
            raise InvalidParameter(f"tune {self.tune} is none of the measures: {known}")
        if self.search == "optuna":
            raise InvalidParameter(
                'search "optuna" would try other settings under each condition: take "random" or '
                '"sobol", or call sweep'
            )
        plan = plan_sampling(
            self.grid,
            measures=self.measures,
            base=self.scoring,
            search=self.search,
            trials=self.trials,
            seed=self.seed if self.search != "grid" else 0,
        )
        scorings = list(plan.settings)
        if self.baseline not in scorings:
            scorings.append(self.baseline)
        return Settings(
            parameters=plan.parameters,
            scorings=tuple(scorings),
            n_tried=len(plan.settings),
            is_grid=plan.method == "grid",
            baseline=scorings.index(self.baseline),
            measures=self.measures,
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as a file would say it, one condition a `corpus` and `retrieval`."""
        return {
            "title": self.title,
            "conditions": [
                {
                    "corpus": {
                        "name": one.corpus.name,
                        "path": one.corpus.path,
                        "options": dict(one.corpus.options),
                    },
                    "retrieval": {
                        "store": one.retrieval.store,
                        "embedder": one.retrieval.embedder,
                        "legs": one.retrieval.legs,
                        "depth": one.retrieval.depth,
                        "as_of": one.retrieval.as_of,
                    },
                }
                for one in self.conditions
            ],
            "grid": {name: _as_document(values) for name, values in self.grid.items()},
            "search": self.search,
            "trials": self.trials,
            "scoring": self.scoring.to_dict(),
            "baseline": self.baseline.to_dict(),
            "measures": [str(measure) for measure in self.measures],
            "tune": str(self.tune),
            "folds": self.folds,
            "seed": self.seed,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Experiment:
        """Return the experiment that `to_document` described."""
        conditions = tuple(
            Condition(CorpusChoice(**one["corpus"]), _retrieval(one["retrieval"]))
            for one in document["conditions"]
        )
        return cls(
            title=document["title"],
            conditions=conditions,
            grid={name: _grid_values(name, one) for name, one in document["grid"].items()},
            search=document["search"],
            trials=document["trials"],
            scoring=Scoring.from_dict(document["scoring"]),
            baseline=Scoring.from_dict(document["baseline"]),
            measures=tuple(parse_measures(document["measures"])),
            tune=Measure.parse(document["tune"]),
            folds=document["folds"],
            seed=document["seed"],
        )


_TABLES: Final = ("corpus", "retrieval", "scoring", "grid", "search", "baseline")
_VALUES: Final = ("title", "measures", "tune", "folds", "seed")
_CORPUS_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "name": (str, "the name of a corpus"),
    "path": (str, "the path of a file or folder"),
    "options": (dict, "a table of the loader's options"),
    "vary": (dict, "a table of options, each with a list of values"),
}
_RETRIEVAL: Final = {
    "store": str,
    "embedder": str,
    "legs": str,
    "depth": int,
    "as_of": bool,
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
        raise ExperimentError(f"{file}: " + "; ".join(reader.faults))
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
        scoring, baseline = self._scoring("scoring"), self._scoring("baseline")
        measures = self._measures("measures", self.document.get("measures", list(_MEASURES)))
        tune = measures[:1]
        if "tune" in self.document:
            tune = self._measures("tune", [self.document["tune"]])
        if tune and measures and tune[0] not in measures:
            self.faults.append(f"tune = {str(tune[0])!r} is none of the measures")
        folds = self._whole("folds", default=DEFAULT_FOLDS, least=2)
        seed = self._whole("seed", default=0, least=0)
        title = self.document.get("title", default_title)
        if not isinstance(title, str):
            self.faults.append(f"title must be a text, got {title!r}")
        search = self._table("search")
        self._known("search", search, ("method", "trials"))
        grid = self._grid()
        fixed_and_varied = sorted(_fixed(self._table("scoring")) & _fixed(self._table("grid")))
        if fixed_and_varied:
            self.faults.append(
                f"{', '.join(fixed_and_varied)}: fixed in [scoring] and varied in [grid]; say it "
                "in one of them"
            )
        if self.faults or not tune:
            return None
        experiment = Experiment(
            title=str(title),
            conditions=conditions,
            grid=grid,
            search=search.get("method", "grid"),
            trials=search.get("trials"),
            scoring=scoring,
            baseline=baseline,
            measures=tuple(measures),
            tune=tune[0],
            folds=folds,
            seed=seed,
        )
        try:
            experiment.settings()
        except (NousmemError, TypeError) as error:
            self.faults.append(f"grid: {error}")
        try:
            check_conditions(conditions)
        except ExperimentError as error:
            self.faults.append(str(error))
        except MissingDependency:
            pass
        return experiment

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
        for name, kind in _RETRIEVAL.items():
            if name not in table:
                continue
            value: object = table[name]
            values = cast("list[object]", value if isinstance(value, list) else [value])
            # A bool is an int to Python, and no depth of a depth.
            wrong = [one for one in values if type(one) is not kind]
            if wrong or not values:
                self.faults.append(
                    f"retrieval: {name} must be a {kind.__name__} or a list of them, got {value!r}"
                )
            else:
                lists[name] = [_retrieval_value(name, one) for one in values]
        choices = [
            RetrievalChoice(**dict(zip(lists, values, strict=True)))
            for values in itertools.product(*lists.values())
        ]
        found: dict[str, None] = {}
        for choice in choices:
            try:
                check_retrieval(choice)
            except MissingDependency:
                continue  # whoever runs it needs it, not whoever reads it
            except NousmemError as error:
                found[f"retrieval: {error}"] = None
        self.faults += found
        return choices

    def _grid(self) -> dict[str, GridValues]:
        try:
            return {name: _grid_values(name, one) for name, one in self._table("grid").items()}
        except InvalidParameter as error:
            self.faults.append(str(error))
            return {}

    def _scoring(self, name: str) -> Scoring:
        try:
            return Scoring.from_dict(self._table(name))
        except NousmemError as error:
            self.faults.append(f"{name}: {error}")
            return Scoring()

    def _measures(self, key: str, names: Any) -> list[Measure]:
        try:
            return parse_measures(names)
        except NousmemError as error:
            self.faults.append(f"{key}: {error}")
            return []

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


def _fixed(table: Mapping[str, Any]) -> set[str]:
    """Return the parameters that a table says something of; a half-life is the rate of decay."""
    names = {"decay_lambda" if name == "half_life_days" else name for name in table}
    return names | set(WEIGHTS) if "weights" in names else names


def _retrieval_value(name: str, value: Any) -> Any:
    if name == "legs":
        return None if value == "all" else tuple(leg.strip() for leg in value.split(","))
    return None if name == "embedder" and value == "none" else value


def _as_document(values: Any) -> Any:
    if isinstance(values, Range | Simplex):
        return asdict(values)
    return kept_grid({"": values})[""]


def _grid_values(name: str, values: Any) -> GridValues:
    """Read what a file says of one parameter: a list of values, or a table for a range."""
    if not isinstance(values, Mapping):
        return values
    table = cast("Mapping[str, Any]", values)
    try:
        return Simplex(**table) if name == "weights" else Range(**table)
    except TypeError as error:
        raise InvalidParameter(f"grid.{name}: {error}") from None


def _retrieval(values: Mapping[str, Any]) -> RetrievalChoice:
    chosen = RetrievalChoice(**values)
    # JSON has lists for tuples.
    return chosen if chosen.legs is None else replace(chosen, legs=tuple(chosen.legs))
