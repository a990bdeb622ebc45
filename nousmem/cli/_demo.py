"""`nousmem demo`: the main job, end to end, on the bundled corpus."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from nousmem.cli._output import difference_text, frame_records, print_json
from nousmem.cli._sweep import print_leaderboard
from nousmem.corpora import load_corpus
from nousmem.embeddings import embed, open_embedder
from nousmem.evaluation import SweepResult
from nousmem.evaluation import sweep as run_sweep
from nousmem.retrieval.search import Search
from nousmem.stores import open_store

__all__ = ["demo"]

_CORPUS: Final = "assistant-year"
_STORE: Final = "sqlite::memory:"
_GRID: Final[dict[str, list[float]]] = {
    "decay_lambda": [0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3],
    "w_importance": [0, 0.05, 0.1, 0.2, 0.3, 0.5],
    "w_recency": [0],
}
_MEASURES: Final = ("nDCG@10", "R@10", "RR")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for tables and pictures.")] = Path("out"),
    embedder: Annotated[
        str | None,
        typer.Option(help="minilm (the default where it is installed), hashing, or none."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Load the bundled corpus, sweep decay and weights, show and keep what is best."""
    chosen = embedder or _best_installed_embedder()
    out.mkdir(parents=True, exist_ok=True)  # now rather than after the work
    corpus = load_corpus(_CORPUS)
    if not as_json:
        typer.echo(repr(corpus))
        typer.echo(f"store {_STORE}, embedder {chosen}")
    swept = run_sweep(
        corpus, store=_STORE, embedder=chosen, grid=_GRID, measures=_MEASURES, progress=True
    )
    if not as_json:
        print_leaderboard(swept, _MEASURES[0], corpus=corpus.name, excluded=swept.excluded, top=8)
    files = swept.write(out)
    tuned = _tuned(out)
    if not as_json:
        typer.echo(
            f"tuned and judged on unseen folds: {tuned['measure']} {tuned['mean']:.4f}, "
            f"{difference_text(tuned)} against the defaults' {tuned['baseline_mean']:.4f}"
        )
    best = out / "best.toml"
    pictures, example = _pictures(swept, chosen, out)
    files += pictures
    if as_json:
        print_json(
            {
                "corpus": corpus.name,
                "store": _STORE,
                "embedder": chosen,
                "rows": frame_records(swept.frame),
                "tuned": tuned,
                "best": swept.best(_MEASURES[0]).to_dict(),
                "files": files,
            }
        )
        return
    if example:
        typer.echo(f"ranking.png shows the best setting's ranking for {example!r}")
    typer.echo(f"wrote {len(files)} files to {out}/: {', '.join(file.name for file in files)}")
    typer.echo(f"the settings to take along: {best}")
    typer.echo(f"next: nousmem report {shlex.quote(str(out))}  # all of it as one page")
    typer.echo(f"      {_onwards(chosen)}")


def _tuned(folder: Path) -> dict[str, Any]:
    """Return the row that was written of what tuning is worth on queries it did not see."""
    import pandas as pd

    (row,) = frame_records(pd.read_parquet(folder / "tuned.parquet"))
    return row


def _onwards(embedder: str) -> str:
    if importlib.util.find_spec("jupyterlab") is not None:
        return "nousmem lab  # the notebooks, to move the settings by hand"
    load = f"nousmem load {_CORPUS} sqlite:year.db --embedder {shlex.quote(embedder)}"
    return f"{load}  # for nousmem search"


def _best_installed_embedder() -> str:
    if importlib.util.find_spec("sentence_transformers") is not None:
        return "minilm"
    typer.echo(
        "sentence-transformers is not installed: using the hashing embedder "
        "(pip install 'nousmem[local]' for MiniLM)",
        err=True,
    )
    return "hashing"


def _pictures(swept: SweepResult, embedder: str, out: Path) -> tuple[list[Path], str]:
    """Draw; return the files, and the query whose ranking is shown, "" where none can be."""
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("no pictures: pip install 'nousmem[notebooks]' for matplotlib", err=True)
        return [], ""
    from nousmem.viz import plots, style

    measure = _MEASURES[0]
    best = swept.best(measure)
    at_best = swept.by()
    at_best = at_best[at_best["w_importance"] == best.scoring.w_importance]
    ranking, query = _ranking_picture(swept, embedder)
    pictures: dict[str, Any] = {
        "heatmap": plots.heatmap(swept.frame, measure=measure),
        "half-life": plots.curve(at_best, measure=measure),
        "ranking": ranking,
    }
    return [style.save(axes, out / f"{name}.png") for name, axes in pictures.items()], query


def _ranking_picture(swept: SweepResult, embedder: str) -> tuple[Any, str]:
    """Draw how the best setting ranks an updated fact; return the Axes and the query."""
    from nousmem.viz import plots, style

    corpus, model = swept.corpus, open_embedder(embedder)
    per_query = swept.per_query(swept.best_index(_MEASURES[0]))
    answered = set(per_query.loc[per_query["RR"] > 0, "query_id"])
    query = next(
        one for one in corpus.queries if one.category == "update" and one.query_id in answered
    )
    store = open_store(_STORE)
    store.put(corpus.entries if model is None else embed(corpus.entries, model))
    hits = Search(store, model, settings=swept.best(_MEASURES[0]))(
        query.text, scope=query.scope, now=query.now, as_of=query.as_of, limit=8
    )
    judged = corpus.qrels[corpus.qrels["query_id"] == query.query_id]
    relevant = set(judged.loc[judged["relevance"] > 0, "doc_id"])
    axes = plots.score_parts(hits.to_frame(), scoring=hits.scoring, relevant=relevant)
    figure: Any = axes.figure
    figure.suptitle(
        f"“{query.text}”",
        x=0.02,
        ha="left",
        color=style.INK,
        fontsize=style.TEXT_SIZE + 1.5,
        fontfamily=style.families(),
        parse_math=False,
    )
    return axes, query.text
