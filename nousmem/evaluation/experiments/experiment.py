"""What an experiment is: conditions, what is tried under each, and how it is judged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from nousmem.errors import ExtensionError, InvalidParameter, UnknownName
from nousmem.evaluation.experiments._parts import PartLoader, described_value
from nousmem.evaluation.experiments._plans import Plan
from nousmem.evaluation.experiments.conditions import Condition, CorpusChoice, RetrievalChoice
from nousmem.evaluation.measured import find_row
from nousmem.evaluation.measures import Measure, find_measure
from nousmem.evaluation.statistics.folds import DEFAULT_FOLDS
from nousmem.evaluation.sweeps.grids import Grid, GridValues, baseline_of, kept_grids
from nousmem.evaluation.sweeps.ranges import Range, Simplex
from nousmem.evaluation.sweeps.samplers import SamplerName, plan_sampling
from nousmem.references import MissingCode
from nousmem.retrieval.settings import Injection, Settings
from nousmem.scoring import FUNCTIONS, Scoring

__all__ = ["Experiment", "grid_values"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Conditions, the settings tried under each, and how the result is judged.

    Nothing is checked when it is made; `plans` does.
    """

    title: str
    """Heads the report; of a file that has none, the file's name."""
    conditions: tuple[Condition, ...]
    """What is retrieved from, and how; each is measured under every setting."""
    grid: Grid = field(default_factory=dict[str, GridValues])
    """As in `sweep`; kept as a list of grids. What it varies of Retrieval takes the place of what
    the conditions say of it."""
    sampler: SamplerName = "grid"
    """As in `sweep`; not "optuna", which would try other settings under each condition."""
    trials: int | None = None
    """Settings drawn, for every sampler but "grid"."""
    scoring: Scoring = field(default_factory=Scoring)
    """The parameters of Scoring that are not varied."""
    injection: Injection = field(default_factory=Injection)
    """What an agent is shown with the settings; the least score is scaled to the weights."""
    baseline: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the others are compared with: parameters of Scoring or Retrieval, where they differ
    from the default scoring on what each condition retrieves."""
    measures: tuple[Measure, ...] = ()
    """What is measured of every query; `tune` must be among them."""
    tune: Measure
    """The measure by which a setting is best."""
    folds: int = DEFAULT_FOLDS
    """Folds that tuning is judged on, at least 2; fewer where there are fewer groups of queries."""
    seed: int = 0
    """Of folds and resamples, and of the draws of a sampler; at least 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", kept_grids(self.grid))

    @property
    def grids(self) -> list[dict[str, GridValues]]:
        """`grid`, as it is kept."""
        return cast("list[dict[str, GridValues]]", self.grid)

    def plans(self) -> list[Plan]:
        """Return what each condition is measured under.

        Raises:
            UnknownName, InvalidParameter: as in `plan`.
        """
        found: list[Plan] = []
        for condition in self.conditions:
            with warnings.catch_warnings():
                if found:  # said already
                    warnings.simplefilter("ignore")
                found.append(self.plan(condition))
        return found

    def plan(self, condition: Condition) -> Plan:
        """Return what a condition is measured under: the grid, and the baseline.

        Raises:
            UnknownName: there is no such sampler, leg, or function.
            InvalidParameter: the grid, the sampler's options, the baseline, or legs and terms are
                not valid; or the sampler is "optuna".
        """
        if self.tune not in self.measures:
            known = ", ".join(map(str, self.measures))
            raise InvalidParameter(f"tune {self.tune} is none of the measures: {known}")
        if self.sampler == "optuna":
            raise InvalidParameter(
                'sampler "optuna" would try other settings under each condition: take "random" or '
                '"sobol", or call sweep'
            )
        start = self.start(condition)
        plan = plan_sampling(
            self.grid,
            measures=self.measures,
            base=start,
            sampler=self.sampler,
            trials=self.trials,
            seed=self.seed if self.sampler != "grid" else 0,
        )
        settings = list(plan.settings)
        against = baseline_of(start, plan.parameters).replace(**self.baseline)
        row = find_row(settings, against)
        if row is None:
            row = len(settings)
            settings.append(against)
        return Plan(
            condition=condition,
            parameters=plan.parameters,
            settings=tuple(settings),
            n_tried=len(plan.settings),
            is_grid=plan.method == "grid" and len(self.grids) == 1,
            baseline=row,
            measures=self.measures,
        )

    def start(self, condition: Condition) -> Settings:
        """Return what gives the parameters that are not varied, under a condition.

        Raises:
            UnknownName, InvalidParameter: as for `Settings`.
        """
        return Settings(
            retrieval=condition.retrieval.way(), scoring=self.scoring, injection=self.injection
        )

    def loaded(self) -> Experiment:
        """Return it with the code of its measures and functions, as that is now.

        Raises:
            ExtensionError: it was read from a result, and code is not here.
            MissingDependency: a measure is one of ir_measures, which is not installed.
        """
        scoring = self.scoring
        if any(isinstance(getattr(scoring, name), MissingCode) for name in FUNCTIONS):
            try:
                scoring = Scoring.from_dict(scoring.to_dict())
            except (InvalidParameter, UnknownName) as error:
                raise ExtensionError(f"the experiment cannot run: {error}") from error
        return replace(
            self,
            scoring=scoring,
            measures=tuple(measure.loaded() for measure in self.measures),
            tune=self.tune.loaded(),
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as a file would say it, one condition a `corpus` and `retrieval`."""
        grids = [
            {name: _as_document(name, values) for name, values in grid.items()}
            for grid in self.grids
        ]
        return {
            "title": self.title,
            "conditions": [one.to_document() for one in self.conditions],
            "grid": grids[0] if len(grids) == 1 else grids,
            "sampler": self.sampler,
            "trials": self.trials,
            "scoring": self.scoring.to_dict(),
            "injection": self.injection.to_dict(),
            "baseline": {name: described_value(name, one) for name, one in self.baseline.items()},
            "measures": [measure.to_document() for measure in self.measures],
            "tune": str(self.tune),
            "folds": self.folds,
            "seed": self.seed,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Experiment:
        """Return the experiment that `to_document` described.

        Somebody's own functions that cannot be loaded are `MissingCode`.
        """
        conditions = tuple(
            Condition(CorpusChoice(**one["corpus"]), RetrievalChoice(**one["retrieval"]))
            for one in document["conditions"]
        )
        measures = tuple(Measure.from_document(one) for one in document["measures"])
        grids: Any = document["grid"]
        return cls(
            title=document["title"],
            conditions=conditions,
            grid=[
                {name: grid_values(name, one) for name, one in grid.items()}
                for grid in cast(
                    "list[dict[str, Any]]", grids if isinstance(grids, list) else [grids]
                )
            ],
            sampler=document["sampler"],
            trials=document["trials"],
            scoring=PartLoader().scoring(document["scoring"]),
            injection=Injection(**document["injection"]),
            baseline=document["baseline"],
            measures=measures,
            tune=find_measure(document["tune"], measures),
            folds=document["folds"],
            seed=document["seed"],
        )


def grid_values(name: str, values: Any) -> GridValues:
    """Read what a file says of one parameter: a list of values, or a table for a range.

    Raises:
        InvalidParameter: a table is no range.
    """
    if not isinstance(values, Mapping):
        return values
    table = cast("Mapping[str, Any]", values)
    try:
        return Simplex(**table) if name == "weights" else Range(**table)
    except TypeError as error:
        raise InvalidParameter(f"grid.{name}: {error}") from None


def _as_document(name: str, values: GridValues) -> Any:
    if isinstance(values, Range | Simplex):
        return asdict(values)
    if isinstance(values, str) or not isinstance(cast("object", values), Sequence):
        return values  # not valid, which the plan says
    return [_described(name, one) for one in values]


def _described(name: str, value: Any) -> Any:
    # Those of a file are as it says them, and need not be valid.
    if name in ("legs", "terms") and (isinstance(value, str) or not isinstance(value, Sequence)):
        return value
    return described_value(name, value)
