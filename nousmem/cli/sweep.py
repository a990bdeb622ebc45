"""`nousmem sweep`: measure a grid of settings on a judged corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nousmem.cli.output import frame_records, print_json, print_table
from nousmem.cli.search import parse_number
from nousmem.corpora import load_corpus
from nousmem.evaluation import SweepResult
from nousmem.evaluation import sweep as run_sweep
from nousmem.scoring import CHOICES

__all__ = ["sweep"]


def sweep(
    target: Annotated[str, typer.Argument(help="Name of a corpus; see `nousmem corpora`.")],
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
    out: Annotated[Path | None, typer.Option(help="Folder for tables and provenance.")] = None,
    top: Annotated[int, typer.Option(help="Settings shown in the table.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure every setting of a grid on the judged queries of a corpus."""
    names = [name.strip() for name in measures.split(",") if name.strip()]
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


def print_leaderboard(swept: SweepResult, measure: str, *, top: int) -> None:
    """Print the best settings, each with its difference to the defaults."""
    rows = frame_records(swept.leaderboard(measure, top=top))
    for row in rows:
        row.pop("n_queries")
        row["vs default (95 %)"] = (
            f"{row.pop('difference'):+.4f} [{row.pop('low'):+.4f}, {row.pop('high'):+.4f}]"
        )
        if "half_life_days" in row:
            days = row["half_life_days"]
            row["half_life_days"] = "off" if days is None else f"{days:.3g}"
    title = (
        f"{swept.corpus.name}: {len(swept.settings):,} settings, {swept.n_queries:,} queries, "
        f"best by {measure}"
    )
    print_table(rows, title=title)
    if swept.excluded:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in swept.excluded.items())
        typer.echo(f"not measured: {reasons}")
    baseline = swept.settings[swept.baseline_index()]
    typer.echo(f"compared with {baseline!r}")
    typer.echo(f"best: {swept.best(measure)!r}")


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
