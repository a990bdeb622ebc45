"""`nousmem sweep`: measure a grid of settings on a judged corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from nousmem.cli.output import frame_records, print_json, print_table
from nousmem.cli.search import parse_number
from nousmem.corpora import load_corpus
from nousmem.evaluation import SweepResult
from nousmem.evaluation import sweep as run_sweep
from nousmem.evaluation.experiments import Backend, read_experiment, run_experiment
from nousmem.scoring import CHOICES

__all__ = ["sweep"]


def sweep(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="Name of a corpus (see `nousmem corpora`), or an experiment file."),
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
    pool: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    legs: Annotated[str | None, typer.Option(help="text, vector, or text,vector.")] = None,
    as_of: Annotated[
        bool, typer.Option(help="Hide entries later than the query, where it has a date.")
    ] = True,
    path: Annotated[Path | None, typer.Option(help="File or folder of the corpus.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result. Of an experiment: out/ and the file's name."),
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
    _refuse_options(context, refused=_RUNNING)
    names = [name.strip() for name in measures.split(",") if name.strip()]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # now rather than after the work
    swept = run_sweep(
        load_corpus(target, path=path),
        store=store,
        embedder=embedder,
        grid=parse_grid(grid or []),
        measures=names,
        pool=pool,
        legs=None if legs is None else [leg.strip() for leg in legs.split(",")],
        as_of=as_of,
        progress=True,
    )
    files = [] if out is None else swept.write(out)
    if out is not None:
        best = out / "best.toml"
        best.write_text(swept.best(names[0]).to_toml())
        files.append(best)
    if as_json:
        print_json(_document(swept, names[0], by))
        return
    print_leaderboard(swept, names[0], top=top)
    if by is not None:
        rows = frame_records(swept.by(by))
        print_table(rows, title=f"by {by}")
    for file in files:
        typer.echo(f"wrote {file}")


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
    result = run_experiment(
        read_experiment(file),
        out=out,
        backend=cast("Backend", backend),
        scheduler=scheduler,
        jobs=jobs,
        progress=True,
    )
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
    for row in tuned:
        interval = f"[{row['low']:+.4f}, {row['high']:+.4f}]"
        typer.echo(
            f"{row['name']}: tuned and judged on unseen folds, {tune} {row['mean']:.4f}, "
            f"{row['difference']:+.4f} {interval} against the baseline's "
            f"{row['baseline_mean']:.4f}; {row['n_queries']:,} queries"
        )
    for name, one in zip(result.names, result.conditions, strict=True):
        if one.excluded:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in one.excluded.items())
            typer.echo(f"{name}: not measured: {reasons}")
    typer.echo(f"wrote {out}/; `nousmem report {out}` makes a page of it")


def print_leaderboard(swept: SweepResult, measure: str, *, top: int) -> None:
    """Print the best settings, each with its difference to what they are compared with."""
    rows = frame_records(swept.leaderboard(measure, top=top))
    for row in rows:
        row.pop("n_queries")
        row["difference (95 %)"] = (
            f"{row.pop('difference'):+.4f} [{row.pop('low'):+.4f}, {row.pop('high'):+.4f}]"
        )
    title = (
        f"{swept.corpus.name}: {len(swept.settings):,} settings, {swept.n_queries:,} queries, "
        f"best by {measure}"
    )
    print_table([_with_half_life(row) for row in rows], title=title)
    if swept.excluded:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in swept.excluded.items())
        typer.echo(f"not measured: {reasons}")
    baseline = swept.settings[swept.baseline_index()]
    typer.echo(f"compared with {baseline!r}")
    typer.echo(f"best: {swept.best(measure)!r}")


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


def _document(swept: SweepResult, measure: str, by: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "corpus": swept.corpus.name,
        "n_queries": swept.n_queries,
        "excluded": dict(swept.excluded),
        "rows": frame_records(swept.frame),
        "best": swept.best(measure).to_dict(),
        "provenance": swept.provenance(),
    }
    if by is not None:
        document["by"] = frame_records(swept.by(by))
    return document
