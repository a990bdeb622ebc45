"""A result folder as one page of HTML: no script, no network, readable on paper and in the dark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from nousmem.evaluation.experiments import ExperimentResult, read_result
from nousmem.viz._pages import page_template
from nousmem.viz.report._sections import sections_of, summary, winner

__all__ = ["report_page", "write_report"]

_TEMPLATE: Final = "report.html.j2"


def report_page(result: ExperimentResult, *, manifest: dict[str, Any] | None = None) -> str:
    """Return the result as one HTML document.

    Tables, pictures, the settings to copy as TOML and Python, and where it all comes from.
    Whatever corpora say is escaped; the document forbids itself scripts and the network.

    Args:
        result: What was measured.
        manifest: What varies from run to run: versions, commit, seconds.

    """
    experiment = result.experiment
    return page_template(_TEMPLATE).render(
        title=experiment.title,
        experiment=experiment,
        n_settings=result.n_tried,
        has_baseline=all(one.measured.baseline < result.n_tried for one in result.conditions),
        winner=winner(result),
        corpora=list({one.corpus["fingerprint"]: one.corpus for one in result.conditions}.values()),
        summary=summary(result),
        sections=sections_of(result),
        grids=_grids(experiment.to_document()["grid"]),
        manifest=None if manifest is None else json.dumps(manifest, indent=1, sort_keys=True),
    )


def _grids(grid: Any) -> list[Mapping[str, Any]]:
    """Return the grids of a document, which has one as a table, and several as a list of them."""
    return cast("list[Mapping[str, Any]]", grid) if isinstance(grid, list) else [grid]


def write_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write the report of a result folder; return the file.

    Args:
        folder: What `run_experiment` wrote.
        path: Where to; None is report.html in the folder.

    Raises:
        ExperimentError: it is no finished result folder.
    """
    place = Path(folder)
    result = read_result(place)
    manifest = place / "manifest.json"
    facts: dict[str, Any] | None = (
        json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else None
    )
    target = place / "report.html" if path is None else Path(path)
    target.write_text(report_page(result, manifest=facts), encoding="utf-8")
    return target
