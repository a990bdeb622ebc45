"""Running an experiment: here, in several processes, or on a Dask cluster."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from nousmem.errors import ExperimentError, InvalidParameter, MissingDependency, UnknownName
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation._updates import UpdateMarks
from nousmem.evaluation.experiments._checking import check_conditions, check_retrieval
from nousmem.evaluation.experiments._plans import Plan
from nousmem.evaluation.experiments.conditions import MeasuredCondition
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.folder import ResultFolder
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.measures import Judgements, check_marked
from nousmem.evaluation.sweeps.values import check_size

__all__ = ["Backend", "run_experiment", "versions"]

Backend = Literal["serial", "processes", "dask"]
"""Where conditions are measured; see `run_experiment`."""

_VERSIONS_OF: Final = ("nousmem", "numpy", "pandas", "pyarrow", "scipy")


def run_experiment(
    experiment: Experiment,
    *,
    out: str | Path | None = None,
    backend: Backend = "serial",
    scheduler: str | None = None,
    jobs: int = 1,
    progress: bool = False,
    announce: Callable[[str], object] | None = None,
) -> ExperimentResult:
    """Measure every setting under every condition; the result does not depend on the backend.

    With `out`, each condition is written when it is done, and a run that was interrupted goes on
    where it stopped: what is there already, made from the same data by the same version, is read.

    Args:
        experiment: What is asked. Corpora are loaded and checked before any work.
        out: Folder for the result; see `nousmem.evaluation.experiments.folder`.
        backend: Where conditions are measured: "serial", one after the other in this process;
            "processes", `jobs` of them at once; "dask", on the cluster of `scheduler`, whose
            workers need the library and the corpus files.
        scheduler: Address of a Dask scheduler, such as tcp://127.0.0.1:8786.
        jobs: Processes at once, or conditions in flight on a cluster.
        progress: Show progress bars, with the time that is left.
        announce: Called once, before anything is measured, with a line that says how much is to
            be: ways to retrieve, queries, settings.

    Raises:
        ExperimentError: there is no condition, or two are the same; `out` holds something else,
            cannot be written, or is being written by another process; or a worker died and nobody
            took over.
        CorpusFileMissing, CorpusError: a corpus cannot be loaded.
        InvalidParameter: the grid, the sampler's options or how a condition retrieves are not
            valid; there is not memory for the results; Fresh is asked for and no query is marked;
            the backend's arguments do not fit.
        UnknownName: a backend, a sampler, a corpus, a store, an embedder or a leg that there is
            none of.
        EmbedderError, EmbeddingMismatch, StoreError: candidates cannot be retrieved; as in
            `sweep`.
        MissingDependency: the backend is "dask", which is not installed; or a package that a
            store, embedder or measure needs is not.
        ExtensionError: somebody's measure fails, returns no finite number, or its code is gone;
            or a leg, term or function of somebody's own breaks its rules, or its code is gone.
    """
    _check_backend(backend, scheduler, jobs)
    experiment = experiment.loaded()
    check_conditions(experiment.conditions)
    plans = experiment.plans()
    for plan in plans:
        check_retrieval(plan.condition.retrieval, plan.retrievals)
    folder = None if out is None else ResultFolder(out, experiment)
    if folder is not None:
        folder.begin()
    with nullcontext() if folder is None else folder.held():
        corpora = _checked_corpora(experiment, plans)
        keys = [plan.key(one.fingerprint) for plan, one in zip(plans, corpora, strict=True)]
        if folder is not None:
            folder.expect(keys)
        return _run(
            experiment,
            plans,
            corpora,
            keys,
            folder=folder,
            backend=backend,
            scheduler=scheduler,
            jobs=jobs,
            progress=progress,
            announce=announce,
        )


def _run(
    experiment: Experiment,
    plans: Sequence[Plan],
    corpora: Sequence[_CheckedCorpus],
    keys: Sequence[str],
    *,
    folder: ResultFolder | None,
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    progress: bool,
    announce: Callable[[str], object] | None,
) -> ExperimentResult:
    found: dict[int, MeasuredCondition] = {}
    if folder is not None:
        for at, condition in enumerate(experiment.conditions):
            kept = folder.taken_up(at, keys[at], condition)
            if kept is not None:
                found[at] = kept
    taken_up = len(found)
    started = time.perf_counter()
    wanted = [at for at in range(len(keys)) if at not in found]
    if announce is not None and wanted:
        announce(_announcement([plans[at] for at in wanted], [corpora[at] for at in wanted]))
    seconds: dict[int, dict[str, float]] = {}
    with progress_bar(len(wanted), "conditions", show=progress and len(keys) > 1) as advance:
        measured = _measured(
            [plans[at] for at in wanted],
            backend=backend,
            scheduler=scheduler,
            jobs=jobs,
            progress=progress,
        )
        for at, one in zip(wanted, measured, strict=True):
            seconds[at] = dict(one.seconds)
            found[at] = one.without_seconds()
            if folder is not None:
                with _saying_what_is_kept(folder):
                    folder.write_condition(at, keys[at], one)
            advance(1)
    result = ExperimentResult(experiment, tuple(found[at] for at in range(len(keys))))
    if folder is not None:
        manifest = {
            "backend": backend,
            "conditions_taken_up": taken_up,
            "seconds": time.perf_counter() - started,
            "seconds_by_condition": seconds,
            "commit": _commit(),
            "versions": versions(),
        }
        with _saying_what_is_kept(folder):
            folder.write_tables(result, manifest=manifest)
    return result


@contextmanager
def _saying_what_is_kept(folder: ResultFolder) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ExperimentError(
            f"{folder.path} cannot be written: {error}; the conditions that are done are kept: "
            "make room, and run the same again"
        ) from error


def _measured(
    plans: Sequence[Plan],
    *,
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    progress: bool,
) -> Iterator[MeasuredCondition]:
    """Yield the conditions measured, in their order, as soon as they are done."""
    if not plans:
        return
    if backend == "serial":
        for plan in plans:
            yield plan.measure(progress=progress)
        return
    joblib: Any = importlib.import_module("joblib")
    executor: Any = importlib.import_module("joblib.externals.loky.process_executor")
    work = [joblib.delayed(Plan.measure)(plan) for plan in plans]
    with _workers(joblib, backend, scheduler):
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
        try:
            yield from parallel(work)
        except executor.TerminatedWorkerError as error:
            raise ExperimentError(
                "a worker process died, for want of memory or because it was ended; run the same "
                "again with fewer jobs: what is done is kept where a folder is given"
            ) from error


@contextmanager
def _workers(joblib: Any, backend: Backend, scheduler: str | None) -> Generator[None]:
    if backend == "processes":
        # Workers of an earlier run have somebody's code as it was then, and the search path.
        loky: Any = importlib.import_module("joblib.externals.loky")
        loky.get_reusable_executor().shutdown(wait=True)
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            yield
        return
    distributed: Any = importlib.import_module("distributed")
    try:
        client = distributed.Client(scheduler)
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            f"no Dask scheduler answers at {scheduler!r} (expected an address such as "
            f"tcp://127.0.0.1:8786): {error}"
        ) from error
    with client, joblib.parallel_config(backend="dask"):
        yield


def _check_backend(backend: str, scheduler: str | None, jobs: int) -> None:
    if backend not in get_args(Backend):
        raise UnknownName("backend", backend, get_args(Backend))
    if (backend == "dask") != (scheduler is not None):
        raise InvalidParameter(
            "the backend dask needs the address of its scheduler, and no other has one"
        )
    if jobs < 1:
        raise InvalidParameter(f"jobs must be at least 1, got {jobs!r}")
    if backend == "dask" and importlib.util.find_spec("distributed") is None:
        raise MissingDependency("distributed", extra="dask", purpose="the backend dask")


@dataclass(frozen=True, slots=True)
class _CheckedCorpus:
    """What is to be known of a corpus before it is measured on."""

    fingerprint: str
    n_queries: int
    """Those that have a relevant entry."""
    marks: UpdateMarks


def _checked_corpora(experiment: Experiment, plans: Sequence[Plan]) -> list[_CheckedCorpus]:
    """Return the corpus of each condition; each is loaded once, and checked."""
    known: dict[str, _CheckedCorpus] = {}
    for plan in plans:
        name = repr(plan.condition.corpus)
        if name not in known:
            corpus = plan.condition.corpus.load()
            ids = [query.query_id for query in corpus.queries]
            check_size(
                len(plan.settings),
                n_measures=len(plan.measures),
                n_queries=len(corpus.queries),
            )
            known[name] = _CheckedCorpus(
                corpus.fingerprint(),
                len(Judgements.of(corpus.qrels, ids)),
                UpdateMarks.of(corpus.queries, ids),
            )
    if any(measure.needs_marks for measure in experiment.measures):
        # One corpus that is marked is enough, unless Fresh is what is tuned.
        counted = sorted((one.marks for one in known.values()), key=lambda one: one.n_queries)
        check_marked(counted[0] if experiment.tune.needs_marks else counted[-1])
    return [known[repr(plan.condition.corpus)] for plan in plans]


def _announcement(plans: Sequence[Plan], corpora: Sequence[_CheckedCorpus]) -> str:
    ways = [len({one.unlimited for one in plan.retrievals}) for plan in plans]
    n_settings = sum(len(plan.settings) for plan in plans)
    said = f"{n_settings:,} setting{'s' if n_settings > 1 else ''}"
    if len(plans) == 1:
        way = "way" if ways == [1] else "ways"
        return f"{ways[0]} {way} to retrieve × {corpora[0].n_queries:,} queries, {said}"
    searches = sum(n * corpus.n_queries for n, corpus in zip(ways, corpora, strict=True))
    return (
        f"{len(plans)} conditions: {sum(ways)} ways to retrieve, {searches:,} searches in all, "
        f"{said}"
    )


def versions() -> dict[str, str]:
    """Return the versions of what a result is made with."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _VERSIONS_OF},
    }


def _commit() -> str | None:
    """Return the commit of the checkout this library runs from; None where there is none."""
    git, here = shutil.which("git"), Path(__file__).resolve().parents[3]
    if git is None or not (here / ".git").exists():
        return None
    command = [git, "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or None
