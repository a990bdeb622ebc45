"""`nousmem sweep`: measure a grid of settings on a judged corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from nousmem.cli.columns import Columns, parse_columns
from nousmem.cli.output import difference_text, frame_records, print_json, print_table
from nousmem.cli.search import parse_number
from nousmem.corpora.registry import is_corpus, recognise_corpus
from nousmem.evaluation.experiments import (
    Backend,
    Condition,
    CorpusChoice,
    Experiment,
    ExperimentResult,
    RetrievalChoice,
    read_experiment,
    run_experiment,
    versions,
)
from nousmem.evaluation.measured import (
    MeasuredSettings,
    check_attribute,
    default_row,
    find_default_row,
)
from nousmem.evaluation.measures import parse_measures
from nousmem.evaluation.sweeps.grids import GridValues
from nousmem.scoring import CHOICES

__all__ = ["chosen_corpus", "print_leaderboard", "sweep"]


def sweep(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            help="Name of a corpus (see `nousmem corpora`), a file or folder of one, or an "
            "experiment file."
        ),
    ],
    *,
    store: Annotated[
        str, typer.Option(help="Store URL; each partition of the corpus gets a store.")
    ] = "sqlite::memory:",
    embedder: Annotated[
        str, typer.Option(help="minilm, hashing, or none for the text leg alone.")
    ] = "none",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A parameter and its values, such as decay_lambda=0,1e-4,1e-3 or "
                "decay_curve=exponential,power. May be repeated."
            )
        ),
    ] = None,
    measures: Annotated[str, typer.Option(help="Measures, separated by commas.")] = (
        "nDCG@10,R@10,RR"
    ),
    by: Annotated[
        str | None, typer.Option(help="Also group the queries by this, such as category.")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    legs: Annotated[str | None, typer.Option(help="text, vector, or text,vector.")] = None,
    as_of: Annotated[
        bool, typer.Option(help="Hide entries later than the query, where it has a date.")
    ] = True,
    path: Annotated[Path | None, typer.Option(help="File or folder of the corpus.")] = None,
    column: Columns = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the result, as `nousmem report` reads it. Of an experiment file: "
            "out/ and the file's name."
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="Where an experiment runs: serial, processes, or dask.")
    ] = "serial",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://HOST:8786.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Conditions measured at once.")] = 1,
    top: Annotated[int, typer.Option(min=1, help="Settings shown in the table.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure every setting of a grid on the judged queries of a corpus.

    Given an experiment file (.toml), the file says all of that; an interrupted run goes on where
    it stopped.
    """
    if target.endswith(".toml"):
        _refuse_options(context, allowed=("target", "out", *_RUNNING, "top", "as_json"))
        run_experiment_file(
            Path(target),
            out=out or Path("out") / Path(target).stem,
            backend=backend,
            scheduler=scheduler,
            jobs=jobs,
            top=top,
            as_json=as_json,
        )
        return
    if by is not None:
        check_attribute(by)
    names = [name.strip() for name in measures.split(",") if name.strip()]
    experiment = _experiment(
        chosen_corpus(target, path, column),
        retrieval=RetrievalChoice(
            store=store,
            embedder=None if embedder == "none" else embedder,
            legs=None if legs is None else tuple(leg.strip() for leg in legs.split(",")),
            depth=depth,
            as_of=as_of,
        ),
        grid=parse_grid(grid or []),
        measures=names,
    )
    _refuse_options(context, refused=_RUNNING)
    result = run_experiment(experiment, out=out, progress=True)
    one = result.conditions[0]
    if as_json:
        print_json(_document(result, by))
        return
    print_leaderboard(one.measured, names[0], corpus=target, excluded=one.excluded, top=top)
    _print_tuned(result)
    if by is not None:
        groups = frame_records(one.measured.by(by))
        print_table([_with_half_life(row) for row in groups], title=f"by {by}")
    if out is not None:
        typer.echo(f"wrote {out}/; `nousmem report {out}` makes a page of it")


def chosen_corpus(
    name: str | None, path: Path | None, column: Sequence[str] | None
) -> CorpusChoice:
    """Return the corpus that the options of a command choose.

    Args:
        name: Of a corpus, or the path of one. None: what lies at `path` says which it is.
        path: Its file or folder.
        column: Texts for `parse_columns`.

    Raises:
        CorpusFileMissing, CorpusError: as in `recognise_corpus`.
        typer.BadParameter, InvalidParameter: as in `parse_columns`.
    """
    if name is not None and path is None and not is_corpus(name) and _is_path(name):
        name, path = None, Path(name)
    if name is None:
        if path is None:
            raise typer.BadParameter("name a corpus, or give the file or folder of one as --path")
        name, path = recognise_corpus(path), path.expanduser()
    named = parse_columns(column)
    options = {"columns": named} if named else {}
    return CorpusChoice(name, None if path is None else str(path), options)


def _is_path(name: str) -> bool:
    return Path(name).expanduser().exists() or "/" in name


def _experiment(
    corpus: CorpusChoice,
    *,
    retrieval: RetrievalChoice,
    grid: Mapping[str, GridValues],
    measures: Sequence[str],
) -> Experiment:
    """Return what the options ask for: an experiment with one condition."""
    parsed = tuple(parse_measures(measures))
    experiment = Experiment(
        title=corpus.name,
        conditions=(Condition(corpus, retrieval),),
        grid=grid,
        measures=parsed,
        tune=parsed[0],
    )
    # As in a sweep: the defaults where the grid has what ranks as they do, or else its first row.
    settings = experiment.settings()
    tried = settings.scorings[: settings.n_tried]
    return replace(experiment, baseline=tried[default_row(tried)])


_RUNNING: Final = ("backend", "scheduler", "jobs")
"""The options that only an experiment has."""


def _refuse_options(
    context: typer.Context,
    *,
    allowed: Sequence[str] | None = None,
    refused: Sequence[str] = (),
) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        wrong = name in refused if allowed is None else name not in allowed
        given = context.get_parameter_source(name)
        if wrong and given is not None and given.name not in ("DEFAULT", "DEFAULT_MAP"):
            raise typer.BadParameter(
                "an experiment file says this itself: change the file"
                if allowed is not None
                else "only an experiment file runs elsewhere than in this process",
                param_hint="--" + name.replace("_", "-"),
            )


def run_experiment_file(
    file: Path,
    *,
    out: Path,
    backend: str,
    scheduler: str | None,
    jobs: int,
    top: int,
    as_json: bool,
) -> None:
    """Run an experiment, write its folder, and print what was found."""
    experiment = read_experiment(file)
    try:
        result = run_experiment(
            experiment,
            out=out,
            backend=cast("Backend", backend),
            scheduler=scheduler,
            jobs=jobs,
            progress=True,
        )
    except KeyboardInterrupt:
        typer.echo(f"nousmem: interrupted: the same command goes on from {out}/", err=True)
        raise typer.Abort from None
    tuned = frame_records(result.tuned)
    if as_json:
        print_json(
            {
                "title": result.experiment.title,
                "out": str(out),
                "rows": frame_records(result.frame),
                "tuned": tuned,
                "comparison": frame_records(result.comparison),
                "best": [result.best(at).to_dict() for at in range(len(result.conditions))],
                "excluded": [dict(one.excluded) for one in result.conditions],
            }
        )
        return
    tune = str(result.experiment.tune)
    frame = result.frame.sort_values(["condition", tune], ascending=[True, False])
    shown = frame.groupby("condition").head(max(1, top // len(result.conditions)))
    hidden = [name for name in shown.columns if str(name).startswith("n_")]
    rows = frame_records(shown.drop(columns=["condition", "setting", "is_baseline", *hidden]))
    print_table(
        [_with_half_life(row) for row in rows],
        title=f"{result.experiment.title}: the best of each condition by {tune}",
    )
    _print_tuned(result)
    for name, one in zip(result.names, result.conditions, strict=True):
        if one.excluded:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in one.excluded.items())
            typer.echo(f"{name}: not measured: {reasons}")
    typer.echo(f"wrote {out}/; `nousmem report {out}` makes a page of it")


def _print_tuned(result: ExperimentResult) -> None:
    """Say what tuning is worth on folds it did not see, condition by condition."""
    for row in frame_records(result.tuned):
        if not row["folds"]:
            typer.echo(f"{row['name']}: one group of queries; nothing is left to judge tuning on")
            continue
        typer.echo(
            f"{row['name']}: tuned and judged on unseen folds, {row['measure']} "
            f"{row['mean']:.4f}, {difference_text(row)} against the baseline's "
            f"{row['baseline_mean']:.4f}; {row['n_queries']:,} queries"
        )


def print_leaderboard(
    measured: MeasuredSettings,
    measure: str,
    *,
    corpus: str,
    excluded: Mapping[str, int],
    top: int,
) -> None:
    """Print the best settings, each with its difference to what they are compared with."""
    rows = frame_records(measured.leaderboard(measure, top=top))
    for row in rows:
        row.pop("n_queries")
        row["difference (95 %)"] = difference_text(row)
        for name in ("difference", "low", "high"):
            del row[name]
    title = (
        f"{corpus}: {len(measured.settings):,} settings, {measured.n_queries:,} queries, "
        f"best by {measure}"
    )
    print_table([_with_half_life(row) for row in rows], title=title)
    if excluded:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in excluded.items())
        typer.echo(f"not measured: {reasons}")
    baseline = measured.settings[measured.baseline_index()]
    if measured.baseline_index() == 0 and find_default_row([baseline]) is None:
        typer.echo(
            f"the grid has no row with the defaults: compared with its first row, {baseline!r}"
        )
    else:
        typer.echo(f"compared with {baseline!r}")
    typer.echo(f"best: {measured.best(measure)!r}")


def _with_half_life(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its half-life in words: a frame's infinity has become None."""
    if "half_life_days" not in row:
        return row
    days = row["half_life_days"]
    return {**row, "half_life_days": "off" if days is None else f"{days:.4g}"}


def parse_grid(texts: list[str]) -> dict[str, list[float | str | None]]:
    """Read `name=value,value,…` texts: numbers, "none" for None, or the names of a choice.

    Raises:
        typer.BadParameter: one is not of that form, or a name stands twice.
    """
    values: dict[str, list[float | str | None]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or name in values:
            raise typer.BadParameter(
                f"expected each parameter once as NAME=VALUE,VALUE,…, got {text!r}"
            )
        values[name] = [_value(name, one.strip()) for one in listed.split(",")]
    return values


def _value(name: str, text: str) -> float | str | None:
    if name in CHOICES:
        return text
    return None if text == "none" else parse_number(text)


def _document(result: ExperimentResult, by: str | None) -> dict[str, Any]:
    one, experiment = result.conditions[0], result.experiment
    document: dict[str, Any] = {
        "corpus": experiment.title,
        "n_queries": one.measured.n_queries,
        "excluded": dict(one.excluded),
        "rows": frame_records(one.measured.frame),
        "tuned": frame_records(result.tuned),
        "best": result.best().to_dict(),
        "provenance": {
            "experiment": experiment.to_document(),
            "corpus": dict(one.corpus),
            "embedder": one.embedder,
            "versions": versions(),
        },
    }
    if by is not None:
        document["by"] = frame_records(one.measured.by(by))
    return document
