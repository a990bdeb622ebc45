"""`nousmem gate`: fail where retrieval has become worse than a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nousmem.cli._output import frame_records, print_json, print_table
from nousmem.errors import ExperimentError
from nousmem.evaluation.experiments import (
    check_gate,
    check_gateable,
    read_experiment,
    run_experiment,
    write_baseline,
)

__all__ = ["gate"]


def gate(
    file: Annotated[Path, typer.Argument(help="Experiment file with one setting.")],
    *,
    baseline: Annotated[Path, typer.Option(help="JSON file that --update writes.")],
    update: Annotated[
        bool, typer.Option("--update", help="Write the baseline from what is measured now.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(min=0, help="A fall within it is no fall; in units of the measures.")
    ] = 0.0,
    show: Annotated[int, typer.Option(min=0, help="Falls and gains shown in the table.")] = 15,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure an experiment and compare it with a baseline, query by query.

    Exits with 1 where a measure fell: where the 95 % interval of its difference, paired over
    queries, lies wholly below the baseline. Settings that differ from the baseline's are named.
    """
    experiment = read_experiment(file)
    check_gateable(experiment)
    if update and baseline.is_dir():
        raise ExperimentError(f"the baseline is a JSON file, but {baseline} is a folder")
    result = run_experiment(experiment, progress=True)
    if update:
        write_baseline(result, baseline)
        typer.echo(f"wrote {baseline}")
        return
    found = check_gate(result, baseline, tolerance=tolerance, seed=experiment.seed)
    if as_json:
        print_json(
            {
                "passed": found.passed,
                "verdicts": frame_records(found.verdicts),
                "moved": frame_records(found.moved),
                "lost": found.lost,
                "new": found.new,
                "changed": found.changed,
                "n_queries": found.n_queries,
                "n_moved": found.n_moved,
            }
        )
    else:
        print_table(frame_records(found.verdicts), title=experiment.title)
        if len(found.moved):
            title = (
                f"queries that moved: {found.n_moved:,} of {found.n_queries:,}, the largest falls "
                "first"
            )
            print_table(frame_records(found.moved.head(show)), title=title)
        else:
            typer.echo("no query moved")
        for line in found.changed:
            typer.echo(f"changed since the baseline: {line}")
        for query_id in found.lost:
            typer.echo(f"not measured any more: {query_id}")
        for query_id in found.new:
            typer.echo(f"not in the baseline: {query_id}")
        typer.echo("held" if found.passed else "fell: retrieval is worse than the baseline")
    if not found.passed:
        raise typer.Exit(1)
