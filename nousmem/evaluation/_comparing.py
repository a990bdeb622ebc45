"""Settings against each other on a corpus, and against anything else that ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from nousmem.corpora import Corpus, Query
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation._runs import run_queries
from nousmem.evaluation.measures import Judgements, Measure, parse_measures, per_query
from nousmem.evaluation.statistics.comparison import compare_values
from nousmem.evaluation.statistics.folds import query_groups
from nousmem.evaluation.sweeps.candidate_arrays import StoreChoice, check_corpus, find_for_each
from nousmem.evaluation.sweeps.values import measure_settings
from nousmem.retrieval.settings import Settings
from nousmem.scoring import Floats, Scoring

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Compared", "compare"]

Compared: TypeAlias = Settings | Scoring | Callable[..., Any]
"""Settings; a Scoring, which stands for settings with it; or what is called as a `Search` is."""


def compare(
    settings: Mapping[str, Compared],
    corpus: Corpus,
    measures: Sequence[str | Measure | Any],
    *,
    baseline: str | None = None,
    store: StoreChoice = "sqlite",
    embedder: str | Embedder | None = None,
    as_of: bool = True,
    grouped: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare settings on a corpus, each with the baseline, paired over queries.

    Args:
        settings: Name to Settings, or to anything that is called like a `Search`: with a query's
            text, and `scope`, `limit`, `now` and `as_of`; it returns hits, best first, each with
            an `entry` that has an `id`, and a `score`. Two at least.
        corpus: Entries, queries, qrels. The settings should not have been tuned on its queries;
            see `SweepResult.cross_validated`.
        measures: As they are spelled, such as "nDCG@10"; of one's own; or of ir_measures.
        baseline: What the others are compared with; None is the first.
        store: As in `sweep`; candidates are found once for each distinct `Retrieval`. What is
            called like a Search has a store of its own.
        embedder: An embedder or its name; None reads the text leg alone.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        grouped: Whether whole groups (the values of the corpus's fold field, such as users) are
            resampled. The table then says what to expect of queries of other users; without, of
            more queries of the same ones, which is less to ask.
        confidence: Of the intervals.
        seed: Equal seeds give equal tables.

    Returns:
        The table of `compare_values`.

    Warns:
        FewQueriesWarning: there are fewer than 50 queries, or fewer than five groups.

    Raises:
        InvalidParameter: fewer than two settings, one that is none, or an unknown baseline; the
            measures or `confidence` are not valid; Fresh is asked for and no query is marked; no
            query has a relevant entry; the store does not suit (see `load_partition`).
        UnknownName: a measure, a store or an embedder that there is none of.
        CorpusError, EmbedderError, EmbeddingMismatch, ExtensionError, StoreError,
        MissingDependency: as in `sweep`.
    """
    chosen = _chosen(settings)
    names = list(chosen)
    if len(names) < 2:
        raise InvalidParameter("compare needs two settings at least")
    against = names[0] if baseline is None else baseline
    if against not in chosen:
        raise InvalidParameter(f"baseline {against!r} is none of {', '.join(names)}")
    parsed = parse_measures(measures)
    check_corpus(corpus)
    judgements = Judgements.of(corpus.qrels, [query.query_id for query in corpus.queries])
    if not len(judgements):
        raise InvalidParameter(f"corpus {corpus.name!r} has no query with a relevant entry")
    by_id = {query.query_id: query for query in corpus.queries}
    queries = [by_id[query_id] for query_id in judgements.query_ids]
    plain = {name: one for name, one in chosen.items() if isinstance(one, Settings)}
    values: dict[str, Floats] = {}
    if plain:
        found = find_for_each(
            corpus,
            [one.retrieval for one in plain.values()],
            store=store,
            embedder=open_embedder(embedder),
            as_of=as_of,
        )
        measured = measure_settings(found, list(plain.values()), parsed)
        values = dict(zip(plain, measured, strict=True))
    for name, one in chosen.items():
        if name not in values:
            values[name] = _called(one, corpus, queries, parsed, as_of=as_of)
    return compare_values(
        {name: values[name] for name in names},
        parsed,
        query_ids=[query.query_id for query in queries],
        groups=query_groups(corpus, queries) if grouped else None,
        baseline=against,
        confidence=confidence,
        seed=seed,
    )


def _chosen(settings: object) -> dict[str, Settings | Callable[..., Any]]:
    given: dict[str, object] = {}
    if isinstance(settings, Mapping):
        given = dict(cast("Mapping[str, object]", settings))
    chosen: dict[str, Settings | Callable[..., Any]] = {}
    for name, one in given.items():
        if isinstance(one, Scoring):
            chosen[name] = Settings(scoring=one)
        elif isinstance(one, Settings) or (callable(one) and not isinstance(one, type)):
            chosen[name] = one
    if not given or len(chosen) < len(given):
        raise InvalidParameter(
            "compare needs names of settings, each with its Settings or what is called like a "
            "Search, such as {'default': Settings(), 'tuned': swept.best()}; got "
            f"{settings!r}"
        )
    return chosen


def _called(
    search: Any,
    corpus: Corpus,
    queries: Sequence[Query],
    measures: Sequence[Measure],
    *,
    as_of: bool,
) -> Floats:
    """Return the measures of what is called like a Search, shape (measures, queries)."""
    run = run_queries(search, queries, as_of=as_of)
    wanted = {query.query_id for query in queries}
    table = per_query(
        run, corpus.qrels[corpus.qrels["query_id"].isin(wanted)], measures, queries=queries
    ).set_index("query_id")
    ids = [query.query_id for query in queries]
    return np.stack([table.loc[ids, str(one)].to_numpy(dtype=np.float64) for one in measures])
