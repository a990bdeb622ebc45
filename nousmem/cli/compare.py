"""`nousmem compare`: two results, or two settings, and how sure one can be of the difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nousmem.cli.columns import Columns
from nousmem.cli.output import difference_text, frame_records, print_json, print_table
from nousmem.cli.settings import read_settings
from nousmem.cli.sweep import chosen_corpus
from nousmem.evaluation import compare as compare_settings
from nousmem.evaluation.experiments import compare_results, read_result

__all__ = ["compare"]


def compare(
    one: Annotated[Path, typer.Argument(help="Result folder, or settings file (.toml).")],
    other: Annotated[Path, typer.Argument(help="The same, compared with the first.")],
    *,
    setting: Annotated[
        str, typer.Option(help="Of result folders: under their best settings, or baseline.")
    ] = "best",
    corpus: Annotated[
        str | None,
        typer.Option(
            help="For settings: the corpus they are measured on, by name or path. assistant-year "
            "where neither it nor --path is given."
        ),
    ] = None,
    path: Annotated[Path | None, typer.Option(help="File or folder of the corpus.")] = None,
    column: Columns = None,
    store: Annotated[str, typer.Option(help="For settings: store URL.")] = "sqlite::memory:",
    embedder: Annotated[str, typer.Option(help="For settings: minilm, hashing, none.")] = "none",
    depth: Annotated[int | None, typer.Option(help="Entries read from each leg.")] = None,
    measures: Annotated[
        str, typer.Option(help="For settings: measures, separated by commas.")
    ] = "nDCG@10,R@10,RR",
    ungrouped: Annotated[
        bool,
        typer.Option(
            "--ungrouped",
            help="Resample single queries, not whole groups of them such as users: what to expect "
            "of more queries of the same users, not of others.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two results or two settings, paired over queries.

    Two files of settings are measured on a corpus; they should not have been tuned on its
    queries.
    """
    if setting not in ("best", "baseline"):
        raise typer.BadParameter(f"expected best or baseline, got {setting!r}")
    title, measured_on = f"{other} compared with {one}", {}
    if one.is_dir() or other.is_dir():
        table = compare_results(
            read_result(one),
            read_result(other),
            setting=setting,
            grouped=not ungrouped,
            seed=seed,
        )
    else:
        names = [name.strip() for name in measures.split(",") if name.strip()]
        if column and corpus is None and path is None:
            raise typer.BadParameter(
                "it names the columns of a corpus: say which, as --path FOLDER",
                param_hint="--column",
            )
        chosen = chosen_corpus(
            "assistant-year" if corpus is None and path is None else corpus, path, column
        )
        settings = {"one": read_settings(one), "other": read_settings(other)}
        loaded = chosen.load()
        table = compare_settings(
            settings,
            loaded,
            names,
            store=store,
            embedder=embedder,
            depth=depth,
            grouped=not ungrouped,
            seed=seed,
        ).drop(columns="name")
        n_queries = int(table["n_queries"].max())
        measured_on = {
            "measured_on": {
                "corpus": loaded.name,
                "path": chosen.path,
                "n_queries": n_queries,
                "embedder": embedder,
            }
        }
        title += f"; measured on {loaded.name}, {n_queries:,} queries, embedder {embedder}"
    rows = frame_records(table)
    if as_json:
        print_json({"one": str(one), "other": str(other), **measured_on, "rows": rows})
        return
    print_table([_shown(row) for row in rows], title=title)
    left_out = {(row.get("n_only_one", 0), row.get("n_only_other", 0)) for row in rows} - {(0, 0)}
    for only_one, only_other in sorted(left_out):
        typer.echo(f"left out: {only_one} queries only in {one}, {only_other} only in {other}")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown = {
        name: row[name] for name in ("condition", "measure", "baseline_mean", "mean") if name in row
    }
    shown["difference (95 %)"] = difference_text(row)
    shown["p (Holm)"] = row["p_holm"]
    shown["detectable"] = row["detectable"]
    shown["won, tied, lost"] = f"{row['wins']}, {row['ties']}, {row['losses']}"
    return shown
