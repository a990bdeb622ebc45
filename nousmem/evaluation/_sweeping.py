"""Many settings over the same candidates: find once for each retrieval, score for each setting."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nousmem.corpora import Corpus
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.measured import find_row, measured_queries
from nousmem.evaluation.measures import Measure, check_marked, parse_measures
from nousmem.evaluation.sweeps.candidate_arrays import (
    CandidateArrays,
    StoreChoice,
    check_corpus,
    find_for_each,
)
from nousmem.evaluation.sweeps.cautions import warn_of_burying, warn_of_idle, warn_of_silent_leg
from nousmem.evaluation.sweeps.grids import Grid, baseline_of, kept_grids
from nousmem.evaluation.sweeps.ranges import Range
from nousmem.evaluation.sweeps.samplers import (
    SamplerName,
    SamplingPlan,
    plan_sampling,
    sampled_settings,
)
from nousmem.evaluation.sweeps.values import Engine, check_engine, check_size, measure_settings
from nousmem.evaluation.swept import SweepResult
from nousmem.references import reference_to
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Retrieval, Settings, chosen_settings
from nousmem.scoring import Floats, Scoring

__all__ = ["DEFAULT_MEASURES", "sweep", "sweep_again"]

DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR")


def sweep(
    corpus: Corpus,
    *,
    store: StoreChoice = "sqlite",
    embedder: str | Embedder | None = None,
    grid: Grid,
    measures: Sequence[str | Measure | Any] = DEFAULT_MEASURES,
    settings: Settings | None = None,
    scoring: Scoring | None = None,
    retrieval: Retrieval | None = None,
    baseline: Settings | None = None,
    as_of: bool = True,
    sampler: SamplerName = "grid",
    trials: int | None = None,
    seed: int = 0,
    objective: str | Measure | None = None,
    engine: Engine = "auto",
    progress: bool = False,
) -> SweepResult:
    """Measure every setting of a grid, or some of a larger space, on a corpus's judged queries.

    The baseline is always measured, and is what the others are compared with. Candidates are found
    once for each distinct `Retrieval` among the settings; the progress bar says for how many.

    Every query's measures are kept: settings · measures · queries · 8 bytes, so 480 MB for 10,000
    settings, three measures and 2,000 queries.

    Args:
        corpus: Entries, queries and qrels. Queries without a relevant entry are left out and
            counted.
        store: A store URL; a function from a partition to a store; or an open and empty store.
            See `load_partition`.
        embedder: An embedder or its name; None reads the text leg alone.
        grid: Parameter of Scoring or Retrieval (or half_life_days, or `w_NAME` for a leg or term
            of one's own) to the values tried; "weights" to a Simplex. Or a list of such grids.
            With another sampler than "grid", a parameter may also have a Range.
        measures: As they are spelled, such as "nDCG@10"; of one's own; or of ir_measures.
        settings: Gives what is not varied; None is the defaults.
        scoring: In place of the settings' scoring.
        retrieval: In place of the settings' retrieval.
        baseline: What is compared with. None is the default scoring, on the legs, depth and terms
            of `settings`; those that are varied are at their defaults.
        as_of: Whether entries later than a query's `as_of` are invisible to it. The result says
            when this is off.
        sampler: "grid" tries every combination. The others draw from the grid's lists and ranges:
            "random"; "sobol", which covers the space more evenly, best with a power of two as
            `trials`; "optuna", which is led by what it has measured. They try `settings` itself
            first; a setting drawn twice is tried once.
        trials: Settings drawn; for every sampler but "grid".
        seed: Of the draws; equal seeds give equal results.
        objective: The measure whose mean "optuna" maximises; None is the first.
        engine: As in `score_settings`.
        progress: Show progress bars.

    Raises:
        InvalidParameter: the grid, the sampler's options, settings or measures are not valid, there
            are more settings than a million or than fit into memory, or Fresh is asked for and no
            query is marked; checked before any work. Or no query has a relevant entry, the legs
            do not suit, or the store does not (see `load_partition`).
        UnknownName: a measure, a store, an embedder, a leg, a sampler or an engine that there is
            none of.
        CorpusError: the marks of an updated fact are not lists of entry ids (see `UpdateMarks`).
        ExtensionError: a leg, term, function or measure of one's own broke its rules.
        EmbedderError: the embedder failed.
        EmbeddingMismatch: entries and store hold vectors of different embedders or lengths.
        StoreError: the store cannot be opened, read or written.
        MissingDependency: the engine is "numba", or the sampler "optuna", and not installed; or a
            package that store or embedder need is not.
    """
    parsed = parse_measures(measures)
    opened = open_embedder(embedder)
    fingerprint = None if opened is None else opened.fingerprint
    start = chosen_settings(settings, scoring, retrieval).replace(embedder=fingerprint)
    grids = kept_grids(grid)
    plan = plan_sampling(
        grids,
        base=start,
        measures=parsed,
        sampler=sampler,
        trials=trials,
        seed=seed,
        objective=objective,
    )
    check_engine(engine)
    check_corpus(corpus)
    if any(measure.needs_marks for measure in parsed):
        check_marked(UpdateMarks.of(corpus.queries, [q.query_id for q in corpus.queries]))
    n_settings = len(plan.settings) or plan.trials
    check_size(n_settings, n_measures=len(parsed), n_queries=len(corpus.queries))
    against = chosen_settings(baseline) if baseline is not None else None
    against = against or baseline_of(start, plan.parameters)
    began = time.perf_counter()
    ways = [against.retrieval, *(one.retrieval for one in plan.settings or [start])]
    if plan.method == "optuna":
        ways += _possible_retrievals(plan)
    found = find_for_each(
        corpus, ways, store=store, embedder=opened, as_of=as_of, progress=progress
    )
    for candidates in found.values():
        warn_of_silent_leg(candidates, by_vectors=opened is not None, stacklevel=3)
    source = {
        "store": store if isinstance(store, str) else reference_to(store),
        "embedder": fingerprint,
        "as_of": as_of,
    }
    return _swept(
        corpus,
        found,
        plan,
        parsed,
        against=against,
        grids=grids,
        source=source,
        seconds=time.perf_counter() - began,
        engine=engine,
        progress=progress,
    )


def sweep_again(
    swept: SweepResult,
    *,
    grid: Grid,
    measures: Sequence[str | Measure | Any] | None = None,
    settings: Settings | None = None,
    scoring: Scoring | None = None,
    baseline: Settings | None = None,
    sampler: SamplerName = "grid",
    trials: int | None = None,
    seed: int = 0,
    objective: str | Measure | None = None,
    engine: Engine = "auto",
    progress: bool = False,
) -> SweepResult:
    """Measure other settings on the candidates of a sweep, without finding again.

    Args:
        swept: Gives corpus, candidates and how they were found.
        grid: As in `sweep`; so are the arguments below.
        measures: None is those of `swept`.
        settings: Gives what is not varied; None is what gave it to `swept`.
        scoring: In place of the settings' scoring.
        baseline: What is compared with; None is the baseline of `swept`.
        sampler: How settings are drawn.
        trials: Settings drawn.
        seed: Of the draws.
        objective: What "optuna" maximises.
        engine: As in `score_settings`.
        progress: Show a progress bar.

    Raises:
        InvalidParameter: a setting retrieves in a way that `swept` did not; or as `sweep`.
        UnknownName, ExtensionError, MissingDependency: as `sweep`.
    """
    parsed = list(swept.measures) if measures is None else parse_measures(measures)
    grids = kept_grids(grid)
    start = chosen_settings(settings or swept.base, scoring)
    plan = plan_sampling(
        grids,
        base=start.replace(embedder=swept.base.embedder),
        measures=parsed,
        sampler=sampler,
        trials=trials,
        seed=seed,
        objective=objective,
    )
    check_engine(engine)
    against = baseline or swept.settings[swept.baseline_index()]
    wanted = [against.retrieval, *(one.retrieval for one in plan.settings or [start])]
    if any(retrieval not in swept.candidates for retrieval in wanted):
        raise InvalidParameter(
            "sweep_again scores the candidates that are there, and a setting retrieves in another "
            "way: call sweep"
        )
    return _swept(
        swept.corpus,
        swept.candidates,
        plan,
        parsed,
        against=against,
        grids=grids,
        source=swept.source,
        seconds=0.0,
        engine=engine,
        progress=progress,
    )


def _swept(
    corpus: Corpus,
    found: Mapping[Retrieval, CandidateArrays],
    plan: SamplingPlan,
    measures: Sequence[Measure],
    *,
    against: Settings,
    grids: Sequence[Mapping[str, Any]],
    source: Mapping[str, Any],
    seconds: float,
    engine: Engine,
    progress: bool,
) -> SweepResult:
    started = time.perf_counter()
    settings, values = _measured(found, plan, measures, engine=engine, progress=progress)
    n_tried, row = len(settings), find_row(settings, against)
    warn_of_burying(found, settings, stacklevel=4)
    if plan.method == "grid" and len(grids) == 1:
        warn_of_idle(plan.parameters, settings, values, stacklevel=4)
    if row is None:
        own = measure_settings(found, [against], measures, engine="numpy")
        settings, values, row = [*settings, against], np.concatenate([values, own]), n_tried
    return SweepResult(
        corpus=corpus,
        parameters=plan.parameters,
        settings=tuple(settings),
        measures=tuple(measures),
        values=values,
        queries=measured_queries(corpus, next(iter(found.values())).queries),
        baseline=row,
        n_tried=n_tried,
        candidates=found,
        source=source,
        seconds={"retrieve": seconds, "score": time.perf_counter() - started},
        sampler=plan.describe(),
        grid=grids,
        base=plan.start,
    )


def _measured(
    found: Mapping[Retrieval, CandidateArrays],
    plan: SamplingPlan,
    measures: Sequence[Measure],
    *,
    engine: Engine,
    progress: bool,
) -> tuple[list[Settings], Floats]:
    if plan.method != "optuna":
        values = measure_settings(found, plan.settings, measures, engine=engine, progress=progress)
        return list(plan.settings), values
    with progress_bar(plan.trials, "trials", show=progress) as advance:
        return sampled_settings(
            plan,
            lambda batch: measure_settings(found, batch, measures, engine=engine),
            measures=measures,
            advance=advance,
        )


def _possible_retrievals(plan: SamplingPlan) -> list[Retrieval]:
    """Return every way to retrieve that Optuna may come to: they are all found beforehand."""
    if any(isinstance(one.values, Range) and one.names == ("depth",) for one in plan.dimensions):
        raise InvalidParameter("depth: sampler='optuna' needs a list of depths, not a range")
    varied = [one for one in plan.dimensions if set(one.names) & set(RETRIEVAL_PARAMETERS)]
    found: list[Retrieval] = []
    for point in itertools.product(*(one.listed() for one in varied)):
        changes: dict[str, Any] = {}
        for part in point:
            changes |= part
        found.append(plan.start.retrieval.replace(**changes))
    return found
