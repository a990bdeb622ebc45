"""A quality gate: whether retrieval is still as good as a baseline says.

A baseline keeps every query's measures, so that the comparison is paired and says which queries
moved. It is JSON, small, and meant to be committed.

The intervals hold for all verdicts together: with a dozen of them at 95 % each, a change that moves
queries up and down by chance alone would be called a fall one time in seven. Single queries are
drawn, not users: what is asked is whether these queries are answered as well as before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from nousmem.errors import ExperimentError, InvalidParameter
from nousmem.evaluation.experiments._parts import code_of_parts
from nousmem.evaluation.experiments.conditions import MeasuredCondition
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.folder import write_text
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.statistics.resampling import paired_interval
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Gate", "check_gate", "check_gateable", "write_baseline"]

HELD, ROSE, FELL = "held", "rose", "fell"
_DECIMALS: Final = 6
_ERROR: Final = 0.05  # of all verdicts together
_LEAST_MOVE: Final = 1e-5  # what is smaller is the rounding of the file


@dataclass(frozen=True, eq=False)
class Gate:
    """What a gate found."""

    verdicts: pd.DataFrame
    """One condition and measure a row. Columns: condition (its name); measure; baseline, mean;
    difference, low, high (its interval, paired over queries; 95 % for all rows together);
    n_queries; better, worse (queries that moved); verdict: fell (the whole interval lies below
    -tolerance), rose (above tolerance), held. A measure that exists for no query of a condition
    has no row."""
    moved: pd.DataFrame
    """One condition, measure and query that moved a row, the largest falls first. Columns:
    condition, measure, query_id, text, before, after, change."""
    lost: tuple[str, ...]
    """Queries of the baseline that are not measured any more, with their condition; where only a
    measure is gone, such as Fresh of a query that has lost its marks, with that too."""
    new: tuple[str, ...]
    """Queries that the baseline does not have."""
    changed: tuple[str, ...] = ()
    """In what the settings differ from those that the baseline was measured under, and which code
    of somebody's own does; a line for each, with its condition. It is no fall by itself."""
    n_queries: int = 0
    """Queries that both have, each counted once, under however many conditions it was measured."""
    n_moved: int = 0
    """Those of them that moved, by whatever measure and under whatever condition."""

    @property
    def passed(self) -> bool:
        """Whether nothing fell and no query was lost."""
        return not self.lost and not (self.verdicts["verdict"] == FELL).any()


def check_gateable(experiment: Experiment) -> None:
    """Raise ExperimentError unless the experiment has one setting: a gate watches one."""
    n = max((plan.n_tried for plan in experiment.plans()), default=0)
    if n > 1:
        raise ExperimentError(
            f"a gate watches one setting, and the grid of {experiment.title!r} has {n}: put the "
            "parameters in [scoring] or [retrieval]"
        )


def write_baseline(result: ExperimentResult, path: str | Path) -> None:
    """Write what a later result is compared with.

    Raises:
        ExperimentError: the experiment has more than one setting.
    """
    check_gateable(result.experiment)
    document = {
        "experiment": result.experiment.title,
        "measures": [str(measure) for measure in result.experiment.measures],
        **_code(result.experiment),
        "conditions": {
            name: {
                "corpus": dict(one.corpus),
                "embedder": one.embedder,
                "settings": one.measured.settings[0].to_dict(),
                "code": code_of_parts(one.measured.settings[:1]),
                "queries": {
                    query_id: [None if np.isnan(one) else round(one, _DECIMALS) for one in row]
                    for query_id, row in _by_query(result, one).items()
                },
            }
            for name, one in zip(result.names, result.conditions, strict=True)
        },
    }
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_text(place, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def check_gate(
    result: ExperimentResult, baseline: str | Path, *, tolerance: float = 0.0, seed: int = 0
) -> Gate:
    """Compare a result with a baseline, query by query.

    Args:
        result: Measured now.
        baseline: What `write_baseline` wrote.
        tolerance: A fall within it is no fall; in units of the measures.
        seed: Of the bootstrap.

    Raises:
        ExperimentError: the baseline is missing or damaged, or is of another experiment: other
            conditions or measures, or other code of a measure that is somebody's own.
        InvalidParameter: the tolerance is below 0 or not finite.
    """
    import pandas as pd

    if not 0 <= tolerance < math.inf:
        raise InvalidParameter(f"tolerance must be a finite number from 0, got {tolerance!r}")
    check_gateable(result.experiment)
    document = _read_baseline(Path(baseline))
    measures = [str(measure) for measure in result.experiment.measures]
    if document["measures"] != measures or list(document["conditions"]) != result.names:
        raise ExperimentError(
            f"{baseline} was made for conditions {', '.join(document['conditions'])} and measures "
            f"{', '.join(document['measures'])}, the experiment has {', '.join(result.names)} and "
            f"{', '.join(measures)}: make the baseline again"
        )
    code: dict[str, str] = _code(result.experiment).get("code", {})
    was = document.get("code", {})
    other = [name for name in measures if code.get(name) != was.get(name)]
    if other:
        raise ExperimentError(
            f"{baseline} was made with other code of {', '.join(other)}, so that nothing compares: "
            "make the baseline again"
        )
    compared: list[_Compared] = []
    lost: list[str] = []
    new: list[str] = []
    changed: list[str] = []
    corpora: dict[str, str] = {}
    both: set[tuple[str, str]] = set()
    for name, one in zip(result.names, result.conditions, strict=True):
        before: Mapping[str, list[float | None]] = document["conditions"][name]["queries"]
        after = _by_query(result, one)
        lost += [f"{name}: {query_id}" for query_id in before if query_id not in after]
        new += [f"{name}: {query_id}" for query_id in after if query_id not in before]
        changed += [f"{name}: {one}" for one in _changes(document["conditions"][name], one)]
        shared = sorted(set(before) & set(after))
        corpora[name] = one.corpus["fingerprint"]
        both |= {(corpora[name], query_id) for query_id in shared}
        old = np.array([before[query_id] for query_id in shared], dtype=np.float64)
        own = np.array([after[query_id] for query_id in shared], dtype=np.float64)
        for at, measure in enumerate(measures if shared else ()):
            was, now = old[:, at], own[:, at]
            gone = np.flatnonzero(~np.isnan(was) & np.isnan(now)).tolist()
            lost += [f"{name}: {shared[place]}: {measure}" for place in gone]
            known: list[int] = np.flatnonzero(~np.isnan(was) & ~np.isnan(now)).tolist()
            if known:
                ids = tuple(shared[place] for place in known)
                compared.append(_Compared(name, measure, ids, was[known], now[known]))
    # Bonferroni: the verdicts are read together, as one.
    confidence = 1 - _ERROR / max(1, len(compared))
    verdicts = [
        one.verdict(tolerance=tolerance, confidence=confidence, seed=seed) for one in compared
    ]
    texts = {
        query.query_id: query.text for one in result.conditions for query in one.measured.queries
    }
    moved = [row for one in compared for row in one.moved(texts)]
    moved.sort(key=lambda row: (row["change"], row["condition"], row["measure"], row["query_id"]))
    return Gate(
        pd.DataFrame(verdicts, columns=_VERDICT_COLUMNS),
        pd.DataFrame(moved, columns=_MOVED_COLUMNS),
        tuple(lost),
        tuple(new),
        tuple(changed),
        n_queries=len(both),
        n_moved=len({(corpora[row["condition"]], row["query_id"]) for row in moved}),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """One measure of the queries of a condition, then and now."""

    condition: str
    measure: str
    query_ids: tuple[str, ...]
    was: Floats
    now: Floats

    def verdict(self, *, tolerance: float, confidence: float, seed: int) -> dict[str, Any]:
        now = np.where(np.abs(self.now - self.was) > _LEAST_MOVE, self.now, self.was)
        interval = paired_interval(now, self.was, confidence=confidence, seed=seed)
        change = now - self.was
        fell, rose = interval.high < -tolerance, interval.low > tolerance
        return {
            "condition": self.condition,
            "measure": self.measure,
            "baseline": float(self.was.mean()),
            "mean": float(now.mean()),
            "difference": interval.difference,
            "low": interval.low,
            "high": interval.high,
            "n_queries": len(now),
            "better": int((change > 0).sum()),
            "worse": int((change < 0).sum()),
            "verdict": FELL if fell else ROSE if rose else HELD,
        }

    def moved(self, texts: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {
                "condition": self.condition,
                "measure": self.measure,
                "query_id": query_id,
                "text": texts[query_id],
                "before": was,
                "after": now,
                "change": now - was,
            }
            for query_id, was, now in zip(
                self.query_ids, self.was.tolist(), self.now.tolist(), strict=True
            )
            if abs(now - was) > _LEAST_MOVE
        ]


_VERDICT_COLUMNS: Final = [
    "condition", "measure", "baseline", "mean", "difference", "low", "high", "n_queries",
    "better", "worse", "verdict",
]  # fmt: skip
_MOVED_COLUMNS: Final = [
    "condition", "measure", "query_id", "text", "before", "after", "change",
]  # fmt: skip


def _code(experiment: Experiment) -> dict[str, Any]:
    """Return what identifies the code of measures that are somebody's own; empty for none."""
    code = {
        str(measure): measure.source.code
        for measure in experiment.measures
        if measure.source is not None
    }
    return {"code": code} if code else {}


def _changes(before: Mapping[str, Any], one: MeasuredCondition) -> list[str]:
    """Return in what a condition's settings are not those of the baseline; a line for each."""
    was: Mapping[str, Any] | None = before.get("settings")
    if was is None:
        return ["the baseline does not say under which settings it was measured"]
    plain, now = Settings().to_dict(), one.measured.settings[0].to_dict()
    found: list[str] = []
    for part in ("retrieval", "scoring", "injection"):
        # What the baseline does not know of was at its default.
        old = {**plain[part], **was.get(part, {})}
        found += [
            f"{name} was {old.get(name)!r}, and is {value!r}"
            for name, value in json.loads(json.dumps(now[part])).items()
            if old.get(name) != value
        ]
    if before.get("embedder") != one.embedder:
        found.append(f"embedder was {before.get('embedder')!r}, and is {one.embedder!r}")
    code: Mapping[str, str] = before.get("code", {})
    own = code_of_parts(one.measured.settings[:1])
    return found + [
        f"{name} has other code" for name in own if code.get(name, own[name]) != own[name]
    ]


def _by_query(result: ExperimentResult, one: MeasuredCondition) -> dict[str, list[float]]:
    """Return the measures of the experiment, by query; NaN where a condition has not all."""
    known = dict(zip(one.measured.measures, one.measured.measures_under(0), strict=True))
    nowhere = np.full(len(one.measured.queries), np.nan)
    columns = [known.get(measure, nowhere) for measure in result.experiment.measures]
    rows = np.stack(columns, axis=1)
    return {
        query.query_id: row.tolist() for query, row in zip(one.measured.queries, rows, strict=True)
    }


def _read_baseline(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name, condition in document["conditions"].items():
            for query_id, row in condition["queries"].items():
                if len(row) != len(document["measures"]):
                    raise ExperimentError(
                        f"{path}: {name}: query {query_id} has {len(row)} values for "
                        f"{len(document['measures'])} measures"
                    )
    except FileNotFoundError:
        raise ExperimentError(f"there is no baseline {path}: make it with --update") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ExperimentError):
            raise
        raise ExperimentError(f"{path} is no baseline: {error}") from error
    return document
