"""How sure one can be of a difference: paired intervals, randomisation tests, Holm's correction.

Everything is paired over queries and vectorised over resamples. Queries are put in the order of
their ids first, so that a result does not depend on the order they come in.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation.folds import query_groups
from nousmem.evaluation.measures import Measure, parse_measures
from nousmem.scoring import Scoring
from nousmem.stores import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FewQueriesWarning",
    "Interval",
    "compare",
    "compare_values",
    "holm",
    "paired_interval",
    "paired_p_value",
]

Floats = NDArray[np.float64]

RESAMPLES: Final = 10_000
_CHUNK: Final = 500
_ENOUGH_QUERIES: Final = 50
_DETECTABLE: Final = 2.8  # standard errors seen with 80 % power at the 5 % level


class FewQueriesWarning(UserWarning):
    """A comparison rests on too few queries, or groups of them, to carry a claim."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and where it lies with the given confidence."""

    difference: float
    """Mean over queries of values - baseline; above 0 the values are higher."""
    low: float
    """Lower end, in the unit of `difference`."""
    high: float
    """Upper end."""
    confidence: float
    """Of the interval, between 0 and 1."""


def paired_interval(
    values: Floats,
    baseline: Floats,
    *,
    groups: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean of values - baseline with a percentile bootstrap interval.

    Args:
        values: Shape (n,): a measure of each query under one setting.
        baseline: Shape (n,): the same queries under the setting compared with.
        groups: Group of each query; whole groups are then drawn, which is right when queries of
            a user or conversation resemble each other. None draws single queries.
        confidence: Of the interval, between 0 and 1.
        resamples: Bootstrap samples drawn.
        seed: Equal seeds give equal intervals.

    Raises:
        InvalidParameter: the shapes differ, there are no queries, there is not one group a query,
            or `confidence` is not between 0 and 1.

    Source: Efron and Tibshirani 1993; Sakai, SIGIR 2006, for retrieval measures.
    """
    differences = _differences(values, baseline)
    if not 0 < confidence < 1:
        raise InvalidParameter(f"confidence must be between 0 and 1, got {confidence!r}")
    sums, counts = _grouped_sums(differences, groups)
    rng = _generator(seed)
    means: list[Floats] = []
    for size in _chunks(resamples):
        drawn = rng.integers(0, len(sums), (size, len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(differences.mean()), float(low), float(high), confidence)


def paired_p_value(
    values: Floats,
    baseline: Floats,
    *,
    groups: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """Return the two-sided p-value of a paired randomisation test.

    Under the null hypothesis the two settings are interchangeable, so the sign of each query's
    (or group's) difference is a coin toss.

    Args:
        values: Shape (n,).
        baseline: Shape (n,).
        groups: As in `paired_interval`.
        resamples: Sign patterns drawn; the smallest p-value is 1 / (resamples + 1).
        seed: Equal seeds give equal p-values.

    Raises:
        InvalidParameter: the shapes differ, there are no queries, or there is not one group a
            query.

    Source: Fisher 1935; Smucker, Allan and Carterette, CIKM 2007.
    """
    sums, _ = _grouped_sums(_differences(values, baseline), groups)
    observed = abs(float(sums.sum()))
    rng = _generator(seed)
    at_least = 0
    for size in _chunks(resamples):
        signs = rng.integers(0, 2, (size, len(sums)), dtype=np.int8) * 2 - 1
        at_least += int((np.abs(signs @ sums) >= observed - 1e-12).sum())
    return (at_least + 1) / (resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979), in the order given."""
    ordered = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, at in enumerate(ordered):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        corrected[at] = highest
    return corrected


def compare(
    settings: Mapping[str, Scoring],
    corpus: Corpus,
    measures: Sequence[str | Measure],
    *,
    baseline: str | None = None,
    store: str | Store = "sqlite",
    embedder: str | Embedder | None = None,
    legs: Sequence[str] | None = None,
    pool: int | None = None,
    as_of: bool = True,
    grouped: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare settings on a corpus, each with the baseline, paired over queries.

    Args:
        settings: Name to Scoring; two at least.
        corpus: Entries, queries, qrels. The settings should not have been tuned on its queries;
            see `SweepResult.cross_validated`.
        measures: As they are spelled, such as "nDCG@10".
        baseline: What the others are compared with; None is the first.
        store: As in `sweep`; the candidates are retrieved once.
        embedder: An embedder or its name; None reads the text leg alone.
        legs: Which legs to read; None is all that store and embedder allow.
        pool: Entries read from each leg; None is 30.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        grouped: Whether whole groups (the corpus's fold field) are resampled, where there are at
            least ten of them.
        confidence: Of the intervals.
        seed: Equal seeds give equal tables.

    Returns:
        One row for each measure and setting but the baseline. Columns: measure, name, mean,
        baseline_mean, difference, low, high (the interval), p_value (randomisation test), p_holm
        (corrected for the number of rows), effect_size (difference over the standard deviation of
        differences), detectable (the smallest difference that this many queries would show four
        times in five), wins, ties, losses, n_queries (those the measure exists for), n_groups (0:
        single queries resampled).

    Raises:
        InvalidParameter: fewer than two settings, or an unknown baseline; the measures, the legs,
            `pool` or `confidence` are not valid; Fresh is asked for and no query is marked; no
            query has a relevant entry; the store does not suit (see `load_partition`).
        UnknownName: a measure, a store, an embedder or a leg that there is none of.
        CorpusError, EmbedderError, EmbeddingMismatch, StoreError, MissingDependency: as in
            `sweep`.
    """
    from nousmem.evaluation.pools import retrieve_pool
    from nousmem.evaluation.sweeps import score_settings

    names = list(settings)
    if len(names) < 2:
        raise InvalidParameter("compare needs two settings at least")
    against = names[0] if baseline is None else baseline
    if against not in settings:
        raise InvalidParameter(f"baseline {against!r} is none of {', '.join(names)}")
    parsed = parse_measures(measures)
    candidates = retrieve_pool(
        corpus, store=store, embedder=open_embedder(embedder), legs=legs, pool=pool, as_of=as_of
    )
    values = score_settings(candidates, list(settings.values()), parsed)
    return compare_values(
        dict(zip(names, values, strict=True)),
        parsed,
        query_ids=[query.query_id for query in candidates.queries],
        groups=query_groups(corpus, candidates.queries) if grouped else None,
        baseline=against,
        confidence=confidence,
        seed=seed,
    )


def compare_values(
    values: Mapping[str, Floats],
    measures: Sequence[str | Measure],
    *,
    query_ids: Sequence[str],
    baseline: str,
    groups: Sequence[str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare what was measured under several settings, each with the baseline.

    Args:
        values: Name of a setting to its measures, shape (measures, queries); NaN where a measure
            does not exist for a query.
        measures: One a row.
        query_ids: One a column. The table does not depend on their order.
        baseline: The name compared with.
        groups: Group of each query; whole groups are resampled where there are at least ten.
        confidence: Of the intervals.
        seed: Equal seeds give equal tables.

    Returns:
        The table that `compare` returns.

    Raises:
        InvalidParameter: the arrays differ in shape, or `confidence` is not between 0 and 1.
    """
    import pandas as pd

    if baseline not in values:
        raise InvalidParameter(f"baseline {baseline!r} is none of {', '.join(values)}")
    if len(values) < 2:
        raise InvalidParameter("a comparison needs two settings at least")
    order = sorted(range(len(query_ids)), key=query_ids.__getitem__)
    ordered = {name: own[:, order] for name, own in values.items()}
    resampled = _resampled_groups(None if groups is None else [groups[at] for at in order], order)
    rows: list[dict[str, Any]] = [
        {
            "measure": str(measure),
            "name": name,
            **_row(own[column], ordered[baseline][column], resampled, confidence, seed),
        }
        for column, measure in enumerate(measures)
        for name, own in ordered.items()
        if name != baseline
    ]
    corrected = holm([row["p_value"] for row in rows])
    table = pd.DataFrame(rows)
    table.insert(list(table.columns).index("p_value") + 1, "p_holm", corrected)
    return table


def _row(
    own: Floats, base: Floats, groups: list[str] | None, confidence: float, seed: int
) -> dict[str, float | int]:
    exists = ~np.isnan(base)
    if not exists.all():
        own, base = own[exists], base[exists]
        groups = None if groups is None else [groups[at] for at in np.flatnonzero(exists)]
    differences = own - base
    interval = paired_interval(own, base, groups=groups, confidence=confidence, seed=seed)
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return {
        "mean": float(own.mean()),
        "baseline_mean": float(base.mean()),
        "difference": interval.difference,
        "low": interval.low,
        "high": interval.high,
        "p_value": paired_p_value(own, base, groups=groups, seed=seed),
        "effect_size": interval.difference / spread if spread else 0.0,
        "detectable": _DETECTABLE * spread / len(differences) ** 0.5,
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
        "n_queries": len(differences),
        "n_groups": 0 if groups is None else len(set(groups)),
    }


def _resampled_groups(groups: list[str] | None, queries: Sequence[object]) -> list[str] | None:
    if len(queries) < _ENOUGH_QUERIES:
        warnings.warn(
            f"so few queries ({len(queries)}) show only large differences: look at the column "
            "detectable",
            FewQueriesWarning,
            stacklevel=4,
        )
    return groups if groups is not None and 10 <= len(set(groups)) < len(queries) else None


def _differences(values: Floats, baseline: Floats) -> Floats:
    if values.shape != baseline.shape or values.ndim != 1 or not values.size:
        raise InvalidParameter(
            f"expected two arrays over the same queries, got {values.shape} and {baseline.shape}"
        )
    return values - baseline


def _grouped_sums(differences: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of differences of each group, by name."""
    if groups is None:
        return differences, np.ones(len(differences))
    if len(groups) != len(differences):
        raise InvalidParameter(f"{len(groups)} groups for {len(differences)} queries")
    _, place = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    sums = np.bincount(place, weights=differences).astype(np.float64, copy=False)
    return sums, np.bincount(place).astype(np.float64)


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(cast("object", seed), int | np.integer) or seed < 0:
        raise InvalidParameter(f"seed must be a whole number of at least 0, got {seed!r}")
    return np.random.default_rng(seed)


def _chunks(total: int) -> Iterable[int]:
    for start in range(0, total, _CHUNK):
        yield min(_CHUNK, total - start)
