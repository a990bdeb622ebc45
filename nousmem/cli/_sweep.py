"""`nousmem sweep`: measure a grid of settings on a judged corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from nousmem.cli._columns import Columns, parse_columns
from nousmem.cli._opening import EmbedderName
from nousmem.cli._output import difference_text, frame_records, print_json, print_table
from nousmem.cli._settings import (
    Changes,
    Preset,
    SettingsFile,
    chosen_settings,
    parse_changes,
    parse_value,
)
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
from nousmem.evaluation.measured import MeasuredSettings, check_attribute
from nousmem.evaluation.measures import parse_measures, split_measures
from nousmem.evaluation.sweeps.grids import GridValues
from nousmem.evaluation.sweeps.samplers import SamplerName
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Settings

__all__ = ["chosen_corpus", "print_leaderboard", "sweep"]


def sweep(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            help="Name of a corpus (see `nousmem corpora`), a file or folder of one, an "
            "experiment file, or package.module:object, a corpus of your own, whose code is run."
        ),
    ],
    *,
    store: Annotated[
        str,
        typer.Option(
            help="Store URL; each partition of the corpus gets a store. package.module:object is "
            "one of your own, whose code is run."
        ),
    ] = "sqlite::memory:",
    embedder: EmbedderName = "none",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A parameter of Scoring or Retrieval and its values, such as "
                "decay_lambda=0,1e-4,1e-3, depth=10,30 or decay_curve=exponential,power. Values "
                "that have commas themselves are set apart by semicolons: legs=text;text,vector. "
                "w_NAME is the weight of a leg or term of your own. May be repeated."
            )
        ),
    ] = None,
    measures: Annotated[
        str,
        typer.Option(
            help=(
                "Measures, separated by commas. package.module:object is one of your own, and "
                "runs that module; ir_measures:AP(rel=2) is one of ir_measures."
            )
        ),
    ] = "nDCG@10,R@10,RR",
    by: Annotated[
        str | None, typer.Option(help="Also group the queries by this, such as category.")
    ] = None,
    settings: SettingsFile = None,
    preset: Preset = None,
    changes: Changes = None,
    depth: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    legs: Annotated[
        str | None,
        typer.Option(
            help="text, vector, or text,vector, and package.module:object for one of your own, "
            "whose code is run."
        ),
    ] = None,
    terms: Annotated[
        str | None,
        typer.Option(help="Terms of your own, package.module:object, separated by commas."),
    ] = None,
    sampler: Annotated[
        str,
        typer.Option(
            help="How settings are chosen: grid, every combination; random or sobol, --trials of "
            "them."
        ),
    ] = "grid",
    trials: Annotated[int | None, typer.Option(help="Settings that a sampler draws.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of a sampler's draws, of folds and resamples.")
    ] = 0,
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
    top: Annotated[int, typer.Option(min=1, help="Settings shown in the tables.")] = 10,
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
    names = split_measures(measures)
    base = chosen_settings(settings, preset, changes)
    own = {"legs": legs, "depth": depth, "terms": terms}
    _check_fixed(parse_changes(changes or ()), grid or ())
    experiment = _experiment(
        Condition(
            chosen_corpus(target, path, column),
            RetrievalChoice(
                store=store,
                embedder=None if embedder == "none" else embedder,
                as_of=as_of,
                **_way(base, own, varied=grid or ()),
            ),
        ),
        base=base,
        grid=parse_grid(grid or []),
        measures=names,
        sampler=cast("SamplerName", sampler),
        trials=trials,
        seed=seed,
    )
    _refuse_options(context, refused=_RUNNING)
    result = run_experiment(experiment, out=out, progress=True, announce=_announce)
    one = result.conditions[0]
    if as_json:
        print_json(_document(result, by))
        return
    print_leaderboard(
        one.measured, str(experiment.tune), corpus=target, excluded=one.excluded, top=top
    )
    _print_tuned(result)
    if by is not None:
        _print_groups(one.measured, str(experiment.tune), by, top=top)
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


def _check_fixed(changes: Mapping[str, Any], grid: Sequence[str]) -> None:
    both = sorted(set(changes) & {text.partition("=")[0] for text in grid})
    if both:
        raise typer.BadParameter(
            f"{', '.join(both)}: fixed here and varied in --grid: say it in one of them",
            param_hint="--set",
        )


def _way(base: Settings, own: Mapping[str, Any], *, varied: Sequence[str]) -> dict[str, Any]:
    """Return legs, depth and terms: those of the options, or else those of the settings."""
    names = {text.partition("=")[0] for text in varied}
    chosen: dict[str, Any] = {}
    for name in RETRIEVAL_PARAMETERS:
        if own[name] is not None and name in names:
            raise typer.BadParameter(
                f"{name} is fixed here and varied in --grid: say it in one of them",
                param_hint=f"--{name}",
            )
        if own[name] is not None:
            chosen[name] = own[name] if name == "depth" else parse_value(name, own[name])
        elif name not in names:
            chosen[name] = getattr(base.retrieval, name)
    return chosen


def _experiment(
    condition: Condition,
    *,
    base: Settings,
    grid: Mapping[str, GridValues],
    measures: Sequence[str],
    sampler: SamplerName,
    trials: int | None,
    seed: int,
) -> Experiment:
    """Return what the options ask for: an experiment with one condition."""
    parsed = tuple(parse_measures(measures))
    return Experiment(
        title=condition.corpus.name,
        conditions=(condition,),
        grid=grid,
        sampler=sampler,
        trials=trials,
        scoring=base.scoring,
        injection=base.injection,
        measures=parsed,
        tune=parsed[0],
        seed=seed,
    )


def _announce(line: str) -> None:
    typer.echo(line, err=True)


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
            announce=_announce,
        )
    except KeyboardInterrupt:
        typer.echo(f"nousmem: interrupted: the same command goes on from {out}/", err=True)
        raise typer.Abort from None
    tuned, winner = frame_records(result.tuned), result.winner
    if as_json:
        print_json(
            {
                "title": result.experiment.title,
                "out": str(out),
                "rows": frame_records(result.frame),
                "tuned": tuned,
                "comparison": frame_records(result.comparison),
                "winner": winner,
                "best": [
                    result.best(condition=at).to_dict() for at in range(len(result.conditions))
                ],
                "baseline": [one.measured.baseline_settings.to_dict() for one in result.conditions],
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
    _print_baselines(result)
    _print_tuned(result)
    _print_winner(result)
    for name, one in zip(result.names, result.conditions, strict=True):
        if one.excluded:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in one.excluded.items())
            typer.echo(f"{name}: not measured: {reasons}")
    typer.echo(f"wrote {out}/; `nousmem report {out}` makes a page of it")


def _print_baselines(result: ExperimentResult) -> None:
    """Say what is compared with: once, where it is the same under every condition."""
    named: dict[Settings, list[str]] = {}
    for name, one in zip(result.names, result.conditions, strict=True):
        named.setdefault(one.measured.baseline_settings.replace(embedder=None), []).append(name)
    for settings, names in named.items():
        of = "" if len(named) == 1 else f" of {'; '.join(names)}"
        typer.echo(f"compared with the baseline{of}, {settings!r}")


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
    typer.echo(f"compared with the baseline, {measured.baseline_settings!r}")
    typer.echo(f"best: {measured.best(measure)!r}")


def _print_winner(result: ExperimentResult) -> None:
    """Say which condition is best, where there are several."""
    if len(result.conditions) < 2:
        return
    if result.winner is None:
        typer.echo(
            "no winner: the conditions were measured on different queries, and of these the easier "
            "ones score higher; conditions/NNN/best.toml has the best settings of each"
        )
        return
    typer.echo(
        f"winner: {result.names[result.winner]}, by {result.experiment.tune} on unseen folds; its "
        f"best settings are best.toml: {result.best()!r}"
    )


def _print_groups(measured: MeasuredSettings, measure: str, by: str, *, top: int) -> None:
    """Print the measures of each group of queries under the best settings."""
    n = len(measured.settings)
    order = measured.frame[measure].sort_values(ascending=False, kind="stable").index[:top]
    groups = measured.by(by)
    rows = frame_records(groups[(groups.index % n).isin(order)])
    print_table(
        [_with_half_life(row) for row in rows],
        title=f"by {by}, the best {len(order)} of {n:,} settings",
    )


def _with_half_life(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its half-life in words: a frame's infinity has become None."""
    if "half_life_days" not in row:
        return row
    days = row["half_life_days"]
    return {**row, "half_life_days": "off" if days is None else f"{days:.4g}"}


def parse_grid(texts: Sequence[str]) -> dict[str, GridValues]:
    """Read `NAME=VALUE,VALUE,…` texts, each value as `parse_value` reads it.

    Values that have commas themselves, as legs and terms do, are set apart by semicolons, or have
    "+" for the comma: `legs=text;text,vector` or `legs=text,text+vector`.

    Raises:
        InvalidParameter: there is no such parameter.
        typer.BadParameter: one is not of that form, or a name stands twice.
    """
    values: dict[str, GridValues] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name or name in values:
            raise typer.BadParameter(
                f"expected each parameter once as NAME=VALUE,VALUE,…, got {text!r}"
            )
        apart = ";" in listed or (name in ("legs", "terms") and "+" not in listed)
        values[name] = [parse_value(name, one) for one in listed.split(";" if apart else ",")]
    return values


def _document(result: ExperimentResult, by: str | None) -> dict[str, Any]:
    one, experiment = result.conditions[0], result.experiment
    document: dict[str, Any] = {
        "corpus": experiment.title,
        "n_queries": one.measured.n_queries,
        "excluded": dict(one.excluded),
        "rows": frame_records(one.measured.frame),
        "tuned": frame_records(result.tuned),
        "best": result.best().to_dict(),
        "baseline": one.measured.baseline_settings.to_dict(),
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
