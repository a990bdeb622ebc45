"""What a report says of each condition, before it is a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nousmem.evaluation.experiments import ExperimentResult, MeasuredCondition
from nousmem.evaluation.statistics.validation import CrossValidation
from nousmem.evaluation.sweeps.cautions import idle_parameters
from nousmem.retrieval.settings import Settings
from nousmem.viz._as_code import as_python, as_toml
from nousmem.viz.report._pictures import Picture, pictures_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Section", "Table", "sections_of", "summary", "winner"]

_TOP: Final = 10
_MOVED: Final = 6


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is shown: texts."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    """Of each column, whether it holds numbers alone, which stand under one another."""

    @classmethod
    def of(cls, caption: str, frame: pd.DataFrame) -> Table:
        """Return a frame as texts."""
        columns = [frame[name].tolist() for name in frame.columns]
        texts = [_column_texts(column) for column in columns]
        return cls(
            caption,
            tuple(map(str, frame.columns)),
            tuple(zip(*texts, strict=True)),
            tuple(all(_is_number(value) for value in column) for column in columns),
        )


@dataclass(frozen=True, slots=True)
class Section:
    """One condition of the report."""

    name: str
    is_winner: bool
    """Of several conditions, the one that wins."""
    verdict: str
    """One sentence: what tuning is worth, and how sure one can be."""
    baseline: str
    """The settings that the others are compared with."""
    notes: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    toml: str
    python: str


def sections_of(result: ExperimentResult) -> list[Section]:
    """Return what is said of each condition, in their order."""
    return [
        _section(result, at, name, one)
        for at, (name, one) in enumerate(zip(result.names, result.conditions, strict=True))
    ]


def _section(result: ExperimentResult, at: int, name: str, one: MeasuredCondition) -> Section:
    measured, tune = one.measured, result.experiment.tune
    judged = result.cross_validated(at) if result.judgeable(at) else None
    compared = result.compared(at)
    best = result.best(condition=at)
    leaderboard = measured.leaderboard(tune, top=_TOP, seed=result.experiment.seed)
    # The same in every row, and told elsewhere.
    counts = [name for name in leaderboard.columns if str(name).startswith("n_")]
    tables = [
        Table.of(
            f"The best settings by {tune}; difference to the baseline with its 95 % interval",
            _with_intervals(leaderboard.drop(columns=counts)),
        ),
        Table.of(
            "The best setting against the baseline, on the queries it was chosen on",
            _with_intervals(
                compared[
                    [
                        "measure", "baseline_mean", "mean", "difference", "low", "high", "p_holm",
                        "detectable", "wins", "ties", "losses", "n_queries",
                    ]
                ]
            ),
        ),
    ]  # fmt: skip
    categories = _by_category(one, best_row=measured.best_index(tune))
    if categories is not None:
        tables.append(categories)
    tables += _moved(one, result)
    return Section(
        name=name,
        is_winner=len(result.conditions) > 1 and result.winner == at,
        verdict=_verdict(judged, best),
        baseline=_told_baseline(one),
        notes=tuple(_notes(one, judged, compared, n_tried=result.n_tried)),
        tables=tuple(tables),
        pictures=tuple(pictures_of(result, at)),
        toml=as_toml(best),
        python=as_python(best),
    )


def _told_baseline(one: MeasuredCondition) -> str:
    """Return the settings compared with, and whether they were among those tried."""
    measured = one.measured
    tried = "one of those tried" if measured.baseline < measured.n_tried else "beside those tried"
    return f"Compared with {measured.baseline_settings!r}, {tried}."


def _verdict(judged: CrossValidation | None, best: Settings) -> str:
    if judged is None:
        return f"One query: nothing is left to judge tuning on. Best on it: {best!r}."
    interval, measure = judged.interval, judged.measure
    if interval.low > 0:
        claim = f"Tuning gains {interval.difference:+.4f} {measure}"
    elif interval.high < 0:
        claim = f"Tuning loses: {interval.difference:+.4f} {measure}"
    else:
        claim = (
            f"No difference to the baseline is shown: {interval.difference:+.4f} {measure}, and "
            "the interval holds zero"
        )
    return (
        f"{claim} (95 % interval {interval.low:+.4f} to {interval.high:+.4f}, "
        f"p {judged.p_value:.4f}), judged on folds that the tuning did not see: "
        f"{judged.mean:.4f} against {float(judged.baseline.mean()):.4f}. Best on all queries: "
        f"{best!r}."
    )


def _notes(
    one: MeasuredCondition,
    judged: CrossValidation | None,
    compared: pd.DataFrame,
    *,
    n_tried: int,
) -> list[str]:
    notes: list[str] = []
    if judged is not None:
        notes.append(
            f"Tuned and judged on the same queries it would read {judged.tuned_on_all:.4f}: "
            f"{judged.optimism:+.4f} flattery. The {len(judged.chosen)} folds chose "
            f"{len(set(judged.chosen))} different settings."
        )
    n_queries = int(compared["n_queries"].min())
    if 1 < n_queries < 50:
        notes.append(
            f"{n_queries} queries are few: only differences of about "
            f"{float(compared['detectable'].max()):.2f} would show."
        )
    idle = idle_parameters(
        one.measured.parameters,
        one.measured.settings[:n_tried],
        one.measured.values[:n_tried],  # noqa: PD011  # not pandas
    )
    if idle:
        notes.append(
            f"Changed nothing here, whatever the others were: {', '.join(idle)}. Rows that differ "
            "in nothing else are equal."
        )
    if one.excluded:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in one.excluded.items())
        notes.append(f"Not measured: {reasons}.")
    if not one.condition.retrieval.as_of:
        notes.append("Entries later than a query were visible to it (as_of off).")
    return notes


def _by_category(one: MeasuredCondition, *, best_row: int) -> Table | None:
    measured = one.measured
    by = measured.by()
    if len(set(by["category"])) < 2:
        return None
    n = len(measured.settings)
    places = np.arange(len(by)) % n
    baseline = by.iloc[np.flatnonzero(places == measured.baseline_index())].reset_index(drop=True)
    best = by.iloc[np.flatnonzero(places == best_row)].reset_index(drop=True)
    table = baseline.loc[:, ["category", "n_queries"]]
    for measure in map(str, measured.measures):
        table[f"{measure}, baseline"] = baseline[measure]
        table[f"{measure}, best"] = best[measure]
    return Table.of("By category: the baseline and the best setting", table)


def _moved(one: MeasuredCondition, result: ExperimentResult) -> list[Table]:
    """Return the queries that gain and lose most under the best setting."""
    import pandas as pd

    measured, tune = one.measured, result.experiment.tune
    values = measured.values_of(tune)
    before, after = values[measured.baseline_index()], values[measured.best_index(tune)]
    rows = pd.DataFrame(
        {
            "query": [query.text for query in measured.queries],
            "category": [query.category for query in measured.queries],
            "baseline": before,
            "best": after,
            "change": after - before,
        }
    )
    change = after - before
    tables: list[Table] = []
    for words, order in (
        ("gain", np.argsort(-change, kind="stable")),
        ("lose", np.argsort(change, kind="stable")),
    ):
        moved = change[order] > 0 if words == "gain" else change[order] < 0
        chosen = rows.iloc[order[moved]]
        if len(chosen):
            tables.append(
                Table.of(
                    f"Queries that {words} most in {tune}: {min(_MOVED, len(chosen))} of "
                    f"{len(chosen):,}",
                    chosen.head(_MOVED),
                )
            )
    return tables


def _with_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with difference, low and high in one column."""
    texts = [_interval(*row) for row in frame[["difference", "low", "high"]].to_numpy().tolist()]
    table = frame.drop(columns=["low", "high"])
    return table.assign(difference=texts)


def _interval(difference: float, low: float, high: float) -> str:
    if math.isnan(difference):
        return ""
    ends = f"[{low:+.4f}, {high:+.4f}]" if math.isfinite(high - low) else "of one, without interval"
    return f"{difference:+.4f} {ends}"


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _column_texts(values: Sequence[Any]) -> list[str]:
    """Return a column's values as texts; shares all with the same decimals."""
    floats = [one for one in values if isinstance(one, float) and not math.isnan(one)]
    shares = any(not one.is_integer() for one in floats) and all(abs(one) <= 1 for one in floats)
    return [
        f"{value:.4f}"
        if shares and isinstance(value, float) and value.is_integer()
        else shown(value)
        for value in values
    ]


def shown(value: Any) -> str:
    """Return a value as a table shows it: nothing for None and NaN, "off" for infinity."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if not math.isfinite(value):
        return "off" if math.isinf(value) else ""
    if value.is_integer() and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.4f}" if 0.00005 <= abs(value) < 1000 else f"{value:.4g}"


def summary(result: ExperimentResult) -> Table:
    """Return what tuning is worth under every condition."""
    table = result.tuned
    columns: Sequence[str] = [
        "name", "measure", "baseline_mean", "mean", "difference", "low", "high", "p_value",
        "optimism", "n_queries", "n_chosen",
    ]  # fmt: skip
    return Table.of(
        "Tuned on all folds but one and judged on that one, for every fold",
        _with_intervals(table[list(columns)]),
    )


def winner(result: ExperimentResult) -> str:
    """Return in one sentence which of several conditions wins; "" for one alone."""
    if len(result.conditions) < 2:
        return ""
    at = result.winner
    if at is None:
        return (
            "No condition wins: they were measured on different queries, so that a higher mean may "
            "be of easier ones."
        )
    judged = (
        "on folds that the tuning did not see" if result.judgeable(at) else "of its best setting"
    )
    tune = result.experiment.tune
    return f"The winner is {result.names[at]}: it has the highest mean {tune} {judged}."
