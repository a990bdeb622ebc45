"""`nousmem compare`: two results, or two settings, and how sure one can be of the difference."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from nousmem.cli._columns import Columns
from nousmem.cli._opening import EmbedderName
from nousmem.cli._output import difference_text, frame_records, print_json, print_table
from nousmem.cli._sweep import chosen_corpus
from nousmem.embeddings import open_embedder
from nousmem.evaluation import compare as compare_settings
from nousmem.evaluation.experiments import compare_results, read_result
from nousmem.evaluation.measures import split_measures
from nousmem.retrieval.presets import PRESETS
from nousmem.retrieval.settings import Settings, read_settings

__all__ = ["compare"]


def compare(
    one: Annotated[
        str,
        typer.Argument(
            help="Result folder; or settings: a file (.toml), documented or recommended."
        ),
    ],
    other: Annotated[str, typer.Argument(help="The same, compared with the first.")],
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
    embedder: EmbedderName = "none",
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

    Two settings are measured on a corpus, each with its own legs and depth; they should not have
    been tuned on its queries.
    """
    if setting not in ("best", "baseline"):
        raise typer.BadParameter(f"expected best or baseline, got {setting!r}")
    title, measured_on = f"{other} compared with {one}", {}
    if Path(one).is_dir() or Path(other).is_dir():
        table = compare_results(
            read_result(one),
            read_result(other),
            setting=setting,
            grouped=not ungrouped,
            seed=seed,
        )
    else:
        names = split_measures(measures)
        if column and corpus is None and path is None:
            raise typer.BadParameter(
                "it names the columns of a corpus: say which, as --path FOLDER",
                param_hint="--column",
            )
        chosen = chosen_corpus(
            "assistant-year" if corpus is None and path is None else corpus, path, column
        )
        settings = {"one": _settings(one), "other": _settings(other)}
        loaded = chosen.load()
        _warn_of_other_embedder(settings.values(), embedder)
        table = compare_settings(
            settings,
            loaded,
            names,
            store=store,
            embedder=embedder,
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
        print_json({"one": one, "other": other, **measured_on, "rows": rows})
        return
    print_table([_shown(row) for row in rows], title=title)
    left_out = {(row.get("n_only_one", 0), row.get("n_only_other", 0)) for row in rows} - {(0, 0)}
    for only_one, only_other in sorted(left_out):
        typer.echo(f"left out: {only_one} queries only in {one}, {only_other} only in {other}")


def _settings(name: str) -> Settings:
    """Return the settings of a file, or of a preset; a file of that name goes before."""
    if name in PRESETS and not Path(name).exists():
        return Settings.preset(name)
    return read_settings(Path(name))


def _warn_of_other_embedder(settings: Iterable[Settings], embedder: str) -> None:
    model = open_embedder(embedder)
    now = None if model is None else model.fingerprint
    for one in settings:
        if one.embedder not in (None, now):
            typer.echo(
                f"nousmem: warning: settings were measured with embedder {one.embedder}, and are "
                f"compared with {now or 'none'}: name theirs as --embedder",
                err=True,
            )


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown = {
        name: row[name] for name in ("condition", "measure", "baseline_mean", "mean") if name in row
    }
    shown["difference (95 %)"] = difference_text(row)
    shown["p (Holm)"] = row["p_holm"]
    shown["detectable"] = row["detectable"]
    shown["won, tied, lost"] = f"{row['wins']}, {row['ties']}, {row['losses']}"
    return shown
