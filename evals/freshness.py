"""Freshness without forgetting: what sets updates first, and what each way costs.

The aim, on questions that the settings were not chosen on: of the LongMemEval questions about a
fact that was updated (70 with evidence of two dates), the newest evidence above the outdated in
.85 and at rank 1 in .70, while R@10 over all 470 questions, and over the 1,536 of LoCoMo, falls by
.01 at most against the documented fusion without decay.

Each family of settings is tuned and judged by cross-validation: LongMemEval's questions are dealt
into five folds, LoCoMo's conversations too. On four folds of both the setting is chosen that has
the highest mean of the two shares of updates, of those that lose at most .01 of R@10 there; equals
are told apart by nDCG@10. The fifth fold is what is reported. This is done for several deals of
the folds, and each question counts with its mean over them. What this does not undo: the families
and the values in them were drawn up by somebody who had seen these questions.

    NOUSMEM_DATA=folder python evals/freshness.py

Writes evals/results/freshness.csv, one family a row. The costs in time are shown only.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.embeddings import Embedder

Floats = NDArray[np.float64]

MEASURES = ("Fresh@60", "Fresh@1", "R@10", "nDCG@10", "R@5")
ABOVE, FIRST, RECALL, NDCG, RECALL_5 = range(len(MEASURES))
LOSS = 0.01
"""R@10 that may be lost."""
FOLDS, DEALS = 5, 10
RELEVANCE_ALONE = nm.Scoring(decay_lambda=0, w_relevance=1, w_importance=0, w_recency=0)
OUT = Path(__file__).parent / "results" / "freshness.csv"


@dataclass(frozen=True)
class Setting:
    """One way to rank."""

    label: str
    changes: Mapping[str, Any]
    """Parameters that are not those of relevance alone."""

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The grid of this setting alone."""
        return {name: [value] for name, value in self.changes.items()}


@dataclass(frozen=True)
class Bench:
    """A corpus, with what was found for its queries."""

    swept: ev.SweepResult

    @classmethod
    def load(cls, name: str, embedder: Embedder, *, fresh: bool = True, **options: Any) -> Bench:
        """Load a corpus and read both legs 30 deep, one store for each partition.

        Args:
            name: Of the corpus.
            embedder: Of entries and queries.
            fresh: Whether some of its questions are about a fact that was updated.
            options: Of `load_corpus`.
        """
        swept = ev.sweep(
            nm.load_corpus(name, **options),
            embedder=embedder,
            grid={},
            measures=MEASURES if fresh else MEASURES[RECALL:],
            settings=nm.Settings(scoring=RELEVANCE_ALONE),
            as_of=False,
        )
        return cls(swept)

    @property
    def groups(self) -> list[str]:
        """What each question must stay together with in folds and resamples."""
        return [query.group for query in self.swept.queries]

    def measured(self, settings: Sequence[Setting]) -> Floats:
        """Return shape (settings, measures, queries); NaN where a query has no update."""
        again = ev.sweep_again(self.swept, grid=[one.grid for one in settings])
        if again.n_tried != len(settings):
            raise ValueError("two settings of a family are the same")
        values = np.full((len(settings), len(MEASURES), again.n_queries), np.nan)
        for measure in again.measures:
            at = MEASURES.index(str(measure))
            values[:, at] = again.values_of(measure)[: again.n_tried]
        return values


# --- What Scoring has ---------------------------------------------------------------------------


def scored(**changes: Any) -> Setting:
    """Return relevance alone, with these parameters changed."""
    shown = (v if isinstance(v, str) else f"{v:.3g}" for v in changes.values())
    label = ", ".join(map("=".join, zip(changes, shown, strict=True))) or "no decay"
    return Setting(label, changes)


def grid(**values: Iterable[Any]) -> list[Setting]:
    """Return a setting for each combination of the values."""
    return [
        scored(**dict(zip(values, point, strict=True)))
        for point in itertools.product(*values.values())
    ]


SIMILAR = (0.1, 0.2, 0.3, 0.4)
PENALTIES = (0.01, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
RATIOS = {60: (0.8, 0.85, 0.9, 0.93, 0.95), 20: (0.7, 0.75, 0.8, 0.85), 10: (0.65, 0.7, 0.75, 0.8)}
"""By rrf_k: the smaller it is, the faster relevance falls with rank."""
RATES = [float(rate) for rate in np.geomspace(1e-6, 1e-3, 13)]


def takeovers(rrf_k: int) -> list[Setting]:
    """Return the settings in which updates take over, at one constant of the fusion."""
    return grid(
        rrf_k=[rrf_k],
        update_takeover=[1],
        update_penalty=[0.01, 0.05, 0.1],
        update_similarity=[0.2, 0.3],
        update_ratio=RATIOS[rrf_k],
        update_depth=[0, 5, 10],
    )


# --- What was tried beside it -------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """An update rule that penalises what is outdated, whenever it was created."""

    penalty: float
    similar: float
    """Cosine from which two entries count as similar."""
    ratio: float
    """How relevant the newer one must be, of the older's relevance."""

    def outdates(self, relevance: Floats, similarity: Floats) -> NDArray[np.bool_]:
        """Return who is outdated by whom, shape (candidates, candidates)."""
        near = relevance[np.newaxis, :] >= self.ratio * relevance[:, np.newaxis]
        return (similarity >= self.similar) & near


@dataclass(frozen=True)
class BySimilarity(Rule):
    """Penalise by the similarity of what outdates the entry."""

    def __call__(self, relevance: Floats, similarity: Floats, _: Floats) -> Floats:
        """Return what relevance is multiplied by."""
        outdates = self.outdates(relevance, similarity)
        return 1 - self.penalty * np.where(outdates, similarity, 0.0).max(axis=1, initial=0.0)


@dataclass(frozen=True)
class ByCount(Rule):
    """Penalise once for each candidate that outdates the entry."""

    def __call__(self, relevance: Floats, similarity: Floats, _: Floats) -> Floats:
        """Return what relevance is multiplied by."""
        return (1 - self.penalty) ** self.outdates(relevance, similarity).sum(axis=1)


def tried(name: str, rule: type[Rule], amounts: Iterable[float]) -> list[Setting]:
    """Return a setting for each amount, similarity and ratio."""
    return [
        Setting(f"{name} {amount:.3g}, {similar:g}, {ratio:g}", {"update_rule": made})
        for amount, similar, ratio in itertools.product(amounts, (0.2, 0.3), RATIOS[60][2:])
        for made in [rule(amount, similar, ratio)]
    ]


def families() -> dict[str, list[Setting]]:
    """Return the families of settings, each of which is tuned by itself."""
    penalty = grid(
        update_penalty=PENALTIES, update_similarity=SIMILAR, update_ratio=(0.7, *RATIOS[60])
    )
    in_front = grid(
        update_penalty=PENALTIES,
        update_similarity=[0.2, 0.3],
        update_ratio=RATIOS[60],
        update_depth=[5, 10],
    )
    return {
        "no decay": [scored()],
        "fusion alone": grid(rrf_k=[5, 10, 20, 60]),
        "decay": grid(decay_lambda=RATES),
        "decay, hyperbolic": grid(decay_lambda=RATES, decay_curve=["hyperbolic"]),
        "decay with a floor": grid(
            decay_lambda=[1e-5, 1e-4, 1e-3, 1e-2], decay_floor=[0.5, 0.8, 0.9, 0.95]
        ),
        "decay by importance": grid(decay_lambda=RATES, decay_importance=[0.5, 0.9]),
        "decay by the gap": grid(
            update_lambda=np.geomspace(1e-6, 1e-2, 9).tolist(),
            update_similarity=[0.2, 0.3],
            update_ratio=RATIOS[60][2:],
            update_depth=[0, 10],
        ),
        "penalty": penalty,
        "penalty among the first 5 or 10": in_front,
        "takeover, rrf_k 60": takeovers(60),
        "takeover, rrf_k 20": takeovers(20),
        "takeover, rrf_k 10": takeovers(10),
        "penalty or takeover": [
            *penalty,
            *in_front,
            *takeovers(60),
            *takeovers(20),
            *takeovers(10),
        ],
        "tried: penalty by similarity": tried(
            "by_similarity", BySimilarity, [0.05, 0.1, 0.15, 0.2, 0.3]
        ),
        "tried: penalty for each": tried("by_count", ByCount, [0.01, 0.02, 0.03, 0.05, 0.1]),
    }


# --- Judging ------------------------------------------------------------------------------------


def choose(lme: Floats, locomo: Floats, base: tuple[Floats, Floats]) -> int:
    """Return the row with the freshest updates of those that lose little; the rule of the top."""
    losses = [
        (values[:, RECALL] - first[RECALL]).mean(axis=1)
        for values, first in zip((lme, locomo), base, strict=True)
    ]
    fresh = np.nanmean(lme[:, [ABOVE, FIRST]], axis=(1, 2))
    ndcg = lme[:, NDCG].mean(axis=1) + locomo[:, NDCG].mean(axis=1)
    allowed = np.min(losses, axis=0) >= -LOSS
    if not allowed.any():
        return int(np.min(losses, axis=0).argmax())
    return int(np.lexsort((ndcg, np.where(allowed, np.round(fresh, 9), -1)))[-1])


def judge(
    settings: Sequence[Setting], lme: Bench, locomo: Bench, base: tuple[Floats, Floats]
) -> tuple[dict[str, Any], int]:
    """Return a family's row of the table, and the setting chosen most often."""
    values = lme.measured(settings), locomo.measured(settings)
    seen = np.zeros_like(base[0]), np.zeros_like(base[1])
    chosen: Counter[int] = Counter()
    for deal in range(DEALS):
        folds = [ev.fold_of(one.groups, folds=FOLDS, seed=deal) for one in (lme, locomo)]
        for fold in range(FOLDS):
            kept = [one != fold for one in folds]
            tuning = [all_[:, :, of] for all_, of in zip(values, kept, strict=True)]
            first = [one[:, of] for one, of in zip(base, kept, strict=True)]
            best = choose(tuning[0], tuning[1], (first[0], first[1]))
            chosen[best] += 1
            for total, all_, of in zip(seen, values, kept, strict=True):
                total[:, ~of] += all_[best][:, ~of]
    seen = seen[0] / DEALS, seen[1] / DEALS
    row: dict[str, Any] = {"n_settings": len(settings)}
    row |= interval("newest_above", seen[0][ABOVE], None, lme.groups)
    row |= interval("newest_first", seen[0][FIRST], None, lme.groups)
    for name, bench, held_out, before in zip(
        ("lme", "locomo"), (lme, locomo), seen, base, strict=True
    ):
        for measure in (RECALL, RECALL_5, NDCG):
            label = f"{name}_{MEASURES[measure]}_change"
            row |= interval(label, held_out[measure], before[measure], bench.groups)
    (best, times), *_ = chosen.most_common()
    row["chosen"], row["chosen_share"] = settings[best].label, times / (FOLDS * DEALS)
    return row, best


def interval(
    name: str, values: Floats, base: Floats | None, groups: Sequence[str]
) -> dict[str, float]:
    """Return a mean, or mean difference, with its 95 % interval; whole groups are drawn."""
    exists = ~np.isnan(values)
    own = [group for group, there in zip(groups, exists, strict=True) if there]
    against = np.zeros(len(own)) if base is None else base[exists]
    found = ev.paired_interval(values[exists], against, groups=own)
    bounds = {name: found.difference, f"{name}_low": found.low, f"{name}_high": found.high}
    # What summing leaves of nothing is nothing, without a sign.
    return {key: round(value, 12) + 0.0 for key, value in bounds.items()}


# --- What it costs in time ----------------------------------------------------------------------

PREFERRED = {
    "rrf_k": 10,
    "update_takeover": 1,
    "update_penalty": 0.05,
    "update_ratio": 0.7,
    "update_depth": 5,
}


def costs(lme: Bench, locomo: Bench, embedder: Embedder) -> dict[str, float]:
    """Return ratios and rates measured in this run."""
    corpus = lme.swept.corpus
    (partition,) = corpus.partitions()
    store = ev.load_partition(corpus, partition, store="sqlite", embedder=embedder)
    measured = {query.query_id for query in lme.swept.queries[:100]}
    queries = [query for query in corpus.queries if query.query_id in measured]
    vectors = embedder.embed_queries([query.text for query in queries])
    searches = [
        nm.Search(store, embedder, scoring=RELEVANCE_ALONE.replace(**changes))
        for changes in ({}, PREFERRED, PREFERRED | {"update_depth": 0})
    ]
    taken = np.full((len(queries), len(searches)), np.inf)
    for _ in range(7):
        for row, (query, vector) in enumerate(zip(queries, vectors, strict=True)):
            for column, search in enumerate(searches):
                started = time.perf_counter()
                search(query.text, now=query.now, vector=vector)
                taken[row, column] = min(taken[row, column], time.perf_counter() - started)
    seconds = taken.mean(axis=0)
    weights = [float(weight) for weight in np.linspace(0, 1, 500)]
    bases: dict[str, list[dict[str, Any]]] = {
        "without": [{}],
        "one rule for updates": [PREFERRED],
        "10 rules for updates": [PREFERRED | {"update_penalty": at / 100} for at in range(1, 11)],
    }
    found = {
        "milliseconds a search without": 1000 * seconds[0],
        "search among the first 5 / without": seconds[1] / seconds[0],
        "search among all / without": seconds[2] / seconds[0],
    }
    options: dict[str, Any] = {"measures": ["R@10", "nDCG@10", "RR"], "engine": "numba"}
    ev.sweep_again(locomo.swept, grid={}, **options)
    for name, changes in bases.items():
        grids = [{**Setting(name, one).grid, "w_importance": weights} for one in changes]
        with warnings.catch_warnings():
            # LoCoMo's entries are all of one importance.
            warnings.simplefilter("ignore", ev.IdleParameterWarning)
            again = ev.sweep_again(locomo.swept, grid=grids, **options)
        found[f"settings a second, {name}"] = again.n_tried / again.seconds["score"]
    return found


# --- The tables ---------------------------------------------------------------------------------


def with_intervals(table: pd.DataFrame, columns: Mapping[str, str]) -> str:
    """Return a table of means with their intervals, for reading."""
    texts = {"family": table["family"]}
    for column, title in columns.items():
        texts[title] = [
            f"{mean:.3f} [{low:.3f}, {high:.3f}]"
            for mean, low, high in zip(
                table[column], table[f"{column}_low"], table[f"{column}_high"], strict=True
            )
        ]
    return pd.DataFrame(texts).to_string(index=False)


def main(
    out: Annotated[Path, typer.Option(help="The table, one family of settings a row.")] = OUT,
) -> None:
    """Tune and judge each family of settings, and write the table."""
    data = os.environ.get("NOUSMEM_DATA")
    embedder = nm.open_embedder("minilm")
    lme = Bench.load("longmemeval", embedder, pool=True, path=data)
    locomo = Bench.load("locomo", embedder, fresh=False, path=data)
    year = Bench.load("assistant-year", embedder)
    nothing = [scored()]
    base = lme.measured(nothing)[0], locomo.measured(nothing)[0]
    n_updates = int((~np.isnan(base[0][ABOVE])).sum())
    typer.echo(
        f"{n_updates} updates of {lme.swept.n_queries} questions (LongMemEval), "
        f"{locomo.swept.n_queries} (LoCoMo); without decay R@10 is "
        f"{base[0][RECALL].mean():.4f} and {base[1][RECALL].mean():.4f}"
    )
    rows: list[dict[str, Any]] = []
    for name, settings in families().items():
        row, best = judge(settings, lme, locomo, base)
        elsewhere = np.nanmean(year.measured([settings[best]])[0], axis=1)
        row |= {
            "year_newest_above": elsewhere[ABOVE],
            "year_newest_first": elsewhere[FIRST],
            "year_R@10": elsewhere[RECALL],
        }
        rows.append({"family": name, **row})
        typer.echo(f"  {name}: {len(settings)} settings, chosen most often: {row['chosen']}")
    table = pd.DataFrame(rows)
    typer.echo("\nHeld out, mean [95 % interval]\n")
    typer.echo(
        with_intervals(
            table,
            {
                "newest_above": "newest above outdated",
                "newest_first": "newest at rank 1",
                "lme_R@10_change": "LongMemEval R@10",
                "locomo_R@10_change": "LoCoMo R@10",
            },
        )
    )
    typer.echo("\nWhat else it costs, held out: change to no decay\n")
    others = ("lme_R@5", "locomo_R@5", "lme_nDCG@10", "locomo_nDCG@10")
    typer.echo(with_intervals(table, {f"{name}_change": name for name in others}))
    typer.echo("\nOn assistant-year, the setting chosen most often\n")
    columns = ["family", *(name for name in table.columns if name.startswith("year_"))]
    typer.echo(table[columns].round(3).to_string(index=False))
    out.parent.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(out, index=False, lineterminator="\n")
    typer.echo(f"\nWrote {out}\n")
    for name, value in costs(lme, locomo, embedder).items():
        typer.echo(f"{name}: {value:,.2f}")


if __name__ == "__main__":
    typer.run(main)
