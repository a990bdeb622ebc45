"""Running an experiment: here, in several processes, or on a Dask cluster."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, Literal, get_args

from nousmem.errors import ExperimentError, InvalidParameter, MissingDependency, UnknownName
from nousmem.evaluation.experiments.checking import check_conditions
from nousmem.evaluation.experiments.conditions import Condition, MeasuredCondition, Settings
from nousmem.evaluation.experiments.experiment import Experiment
from nousmem.evaluation.experiments.folder import ResultFolder
from nousmem.evaluation.experiments.results import ExperimentResult
from nousmem.evaluation.measures import check_marked
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.sweeps.sweeping import check_size
from nousmem.evaluation.updates import UpdateMarks

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

    Raises:
        ExperimentError: there is no condition, or two are the same; `out` holds something else,
            cannot be written, or is being written by another process; or a worker died and nobody
            took over.
        CorpusFileMissing, CorpusError: a corpus cannot be loaded.
        InvalidParameter: the grid, the search's options or how a condition retrieves are not
            valid; there is not memory for the results; Fresh is asked for and no query is marked;
            the backend's arguments do not fit.
        UnknownName: a backend, a search, a corpus, a store, an embedder or a leg that there is
            none of.
        EmbedderError, EmbeddingMismatch, StoreError: candidates cannot be retrieved; as in
            `sweep`.
        MissingDependency: the backend is "dask", which is not installed; or a package that a
            store or embedder needs is not.
    """
    _check_backend(backend, scheduler, jobs)
    settings = experiment.settings()
    check_conditions(experiment.conditions)
    folder = None if out is None else ResultFolder(out, experiment)
    if folder is not None:
        folder.begin()
    with nullcontext() if folder is None else folder.held():
        return _run(
            experiment,
            settings,
            _fingerprints(experiment, settings),
            folder=folder,
            backend=backend,
            scheduler=scheduler,
            jobs=jobs,
            progress=progress,
        )


def _run(
    experiment: Experiment,
    settings: Settings,
    fingerprints: Sequence[str],
    *,
    folder: ResultFolder | None,
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    progress: bool,
) -> ExperimentResult:
    keys = [
        settings.key(condition, fingerprint)
        for condition, fingerprint in zip(experiment.conditions, fingerprints, strict=True)
    ]
    found: dict[int, MeasuredCondition] = {}
    if folder is not None:
        for at, condition in enumerate(experiment.conditions):
            kept = folder.taken_up(at, keys[at], condition)
            if kept is not None:
                found[at] = kept
    taken_up = len(found)
    started = time.perf_counter()
    wanted = [at for at in range(len(keys)) if at not in found]
    seconds: dict[int, dict[str, float]] = {}
    with progress_bar(len(wanted), "conditions", show=progress and len(keys) > 1) as advance:
        conditions = [experiment.conditions[at] for at in wanted]
        measured = _measured(
            settings, conditions, backend=backend, scheduler=scheduler, jobs=jobs, progress=progress
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
    settings: Settings,
    conditions: Sequence[Condition],
    *,
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    progress: bool,
) -> Iterator[MeasuredCondition]:
    """Yield the conditions measured, in their order, as soon as they are done."""
    if not conditions:
        return
    if backend == "serial":
        for condition in conditions:
            yield settings.measure(condition, progress=progress)
        return
    joblib: Any = importlib.import_module("joblib")
    executor: Any = importlib.import_module("joblib.externals.loky.process_executor")
    work = [joblib.delayed(settings.measure)(condition) for condition in conditions]
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


def _fingerprints(experiment: Experiment, settings: Settings) -> list[str]:
    """Return the fingerprint of each condition's corpus; each is loaded once, and checked."""
    known: dict[str, str] = {}
    marks: dict[str, UpdateMarks] = {}
    for condition in experiment.conditions:
        name = repr(condition.corpus)
        if name not in known:
            corpus = condition.corpus.load()
            check_size(
                len(settings.scorings),
                n_measures=len(settings.measures),
                n_queries=len(corpus.queries),
            )
            known[name] = corpus.fingerprint()
            ids = [query.query_id for query in corpus.queries]
            marks[name] = UpdateMarks.of(corpus.queries, ids)
    if any(measure.is_partial for measure in experiment.measures):
        # One corpus that is marked is enough, unless Fresh is what is tuned.
        counted = sorted(marks.values(), key=lambda one: one.n_queries)
        check_marked(counted[0] if experiment.tune.is_partial else counted[-1])
    return [known[repr(condition.corpus)] for condition in experiment.conditions]


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
