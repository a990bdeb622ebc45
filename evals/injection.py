"""Which memories an agent would be shown, and how often it stays quiet, under many thresholds.

Each judged question of a corpus is a message to the agent, and so is small talk. LoCoMo's
conversations and the bundled year, with text alone and with MiniLM, under three rankings: the
documented one, a half-life of a year with little importance, and updates first.

    NOUSMEM_DATA=folder python evals/injection.py

Writes evals/results/injection.csv, one setting a row; and the chosen thresholds, judged on messages
that they were not chosen on, beside the documented ones, to the screen. Without LoCoMo the bundled
year alone is looked at, and nothing is written.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import typer

import nousmem as nm
from nousmem import evaluation as ev

OUT = Path(__file__).parent / "results" / "injection.csv"
RANKINGS = {
    "documented": nm.Scoring(),
    "half-life of a year": nm.Scoring(half_life_days=365, w_importance=0.05),
    "updates first": nm.Scoring(
        decay_lambda=0,
        w_recency=0,
        rrf_k=10,
        update_takeover=1,
        update_penalty=0.05,
        update_ratio=0.7,
        update_depth=10,
    ),
}
THRESHOLDS = {
    "inject_min_score": [0, 0.1, 0.2, 0.3],
    "inject_min_words": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01],
}
COSINES = [0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
QUIET = 0.9


def main() -> None:
    """Measure, write and show."""
    corpora = [nm.load_corpus("assistant-year")]
    try:
        corpora.append(nm.load_corpus("locomo"))
    except nm.CorpusFileMissing as error:
        typer.echo(f"LoCoMo is left out: {error}")
    tables = [
        table
        for corpus in corpora
        for embedder in (None, "minilm")
        for table in studied(corpus, embedder)
    ]
    if len(corpora) == 2:
        pd.concat(tables, ignore_index=True).round(4).to_csv(OUT, index=False, lineterminator="\n")


def studied(corpus: nm.Corpus, embedder: str | None) -> list[pd.DataFrame]:
    """Return the settings of each ranking, and show what choosing among them is worth."""
    grid = THRESHOLDS if embedder is None else {**THRESHOLDS, "inject_min_cosine": COSINES}
    tables: list[pd.DataFrame] = []
    for name, scoring in RANKINGS.items():
        result = ev.sweep_injection(
            corpus,
            embedder=embedder,
            grid=grid,
            settings=nm.Settings(scoring=scoring),
            progress=True,
        )
        chosen = result.best(quiet=QUIET).injection
        documented = [one.injection for one in result.settings].index(nm.Injection())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ev.FewQueriesWarning)
            unseen = result.tuned(quiet=QUIET, baseline=documented)
        typer.echo(
            f"\n{corpus.name}, {embedder or 'text alone'}, {name}: "
            f"score {chosen.inject_min_score}, words {chosen.inject_min_words}, "
            f"cosine {chosen.inject_min_cosine}"
        )
        columns = ["measure", "baseline_mean", "mean", "difference", "low", "high"]
        typer.echo(unseen[columns].round(3).to_string(index=False))
        table = result.frame.head(result.n_tried)
        table.insert(0, "ranking", name)
        table.insert(0, "embedder", embedder or "")
        table.insert(0, "corpus", corpus.name)
        tables.append(table)
    return tables


if __name__ == "__main__":
    typer.run(main)
