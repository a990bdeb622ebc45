"""A quality gate: whether retrieval is still as good as a baseline says.

A baseline keeps every query's measures, so that the comparison is paired and says which queries
moved. It is JSON, small, and meant to be committed.
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
from nousmem.evaluation.comparison import paired_interval
from nousmem.evaluation.experiments.conditions import MeasuredCondition
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.scoring import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Gate", "check_gate", "check_gateable", "write_baseline"]

HELD, ROSE, FELL = "held", "rose", "fell"
_DECIMALS: Final = 6
_LEAST_MOVE: Final = 1e-5  # what is smaller is the rounding of the file


@dataclass(frozen=True, eq=False)
class Gate:
    """What a gate found."""

    verdicts: pd.DataFrame
    """One condition and measure a row. Columns: condition (its name); measure; baseline, mean;
    difference, low, high (its 95 % interval, paired over queries); n_queries; better, worse
    (queries that moved); verdict: fell (the whole interval lies below -tolerance), rose (above
    tolerance), held."""
    moved: pd.DataFrame
    """One condition, measure and query that moved a row, the largest falls first. Columns:
    condition, measure, query_id, text, before, after, change."""
    lost: tuple[str, ...]
    """Queries of the baseline that are not measured any more, with their condition."""
    new: tuple[str, ...]
    """Queries that the baseline does not have."""

    @property
    def passed(self) -> bool:
        """Whether nothing fell and no query was lost."""
        return not self.lost and not (self.verdicts["verdict"] == FELL).any()


def check_gateable(experiment: Experiment) -> None:
    """Raise ExperimentError unless the experiment has one setting: a gate watches one."""
    n = experiment.settings().n_tried
    if n > 1:
        raise ExperimentError(
            f"a gate watches one setting, and the grid of {experiment.title!r} has {n}: put the "
            "parameters in [scoring]"
        )


def write_baseline(result: ExperimentResult, path: str | Path) -> None:
    """Write what a later result is compared with.

    Raises:
        ExperimentError: the experiment has more than one setting.
    """
    check_gateable(result.experiment)
    document = {
        "experiment": result.experiment.title,
        "scoring": result.conditions[0].measured.settings[0].to_dict(),
        "measures": [str(measure) for measure in result.experiment.measures],
        "conditions": {
            name: {
                "corpus": dict(one.corpus),
                "embedder": one.embedder,
                "queries": {
                    query_id: [None if np.isnan(one) else round(one, _DECIMALS) for one in row]
                    for query_id, row in _by_query(one).items()
                },
            }
            for name, one in zip(result.names, result.conditions, strict=True)
        },
    }
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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
            conditions or measures.
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
    verdicts: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    lost: list[str] = []
    new: list[str] = []
    for name, one in zip(result.names, result.conditions, strict=True):
        before: Mapping[str, list[float | None]] = document["conditions"][name]["queries"]
        after = _by_query(one)
        lost += [f"{name}: {query_id}" for query_id in before if query_id not in after]
        new += [f"{name}: {query_id}" for query_id in after if query_id not in before]
        shared = sorted(set(before) & set(after))
        if not shared:
            continue
        known = {query.query_id: query for query in one.measured.queries}
        groups = [known[query_id].group for query_id in shared]
        old = np.array([before[query_id] for query_id in shared], dtype=np.float64).T
        own = np.array([after[query_id] for query_id in shared], dtype=np.float64).T
        for measure, was, now in zip(measures, old, own, strict=True):
            exists = np.flatnonzero(~np.isnan(was) & ~np.isnan(now)).tolist()
            verdicts.append(
                {
                    "condition": name,
                    "measure": measure,
                    **_verdict(
                        now[exists],
                        was[exists],
                        groups=[groups[at] for at in exists],
                        tolerance=tolerance,
                        seed=seed,
                    ),
                }
            )
            moved += [
                {
                    "condition": name,
                    "measure": measure,
                    "query_id": shared[at],
                    "text": known[shared[at]].text,
                    "before": float(was[at]),
                    "after": float(now[at]),
                    "change": float(now[at] - was[at]),
                }
                for at in exists
                if abs(now[at] - was[at]) > _LEAST_MOVE
            ]
    moved.sort(key=lambda row: (row["change"], row["condition"], row["measure"], row["query_id"]))
    return Gate(pd.DataFrame(verdicts), pd.DataFrame(moved), tuple(lost), tuple(new))


def _verdict(
    now: Floats, was: Floats, *, groups: list[str], tolerance: float, seed: int
) -> dict[str, Any]:
    now = np.where(np.abs(now - was) > _LEAST_MOVE, now, was)
    resampled = groups if 10 <= len(set(groups)) < len(groups) else None
    interval = paired_interval(now, was, groups=resampled, seed=seed)
    change = now - was
    verdict = FELL if interval.high < -tolerance else ROSE if interval.low > tolerance else HELD
    return {
        "baseline": float(was.mean()),
        "mean": float(now.mean()),
        "difference": interval.difference,
        "low": interval.low,
        "high": interval.high,
        "n_queries": len(now),
        "better": int((change > 0).sum()),
        "worse": int((change < 0).sum()),
        "verdict": verdict,
    }


def _by_query(one: MeasuredCondition) -> dict[str, list[float]]:
    rows = one.measured.measures_under(0).T
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
