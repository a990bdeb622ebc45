"""One condition of an experiment: a corpus retrieved in one way, under every setting."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from nousmem.corpora import Corpus, load_corpus
from nousmem.embeddings import open_embedder
from nousmem.evaluation.measured import MeasuredSettings, measured_queries
from nousmem.evaluation.measures import Measure
from nousmem.evaluation.sweeps.candidate_arrays import find_candidates
from nousmem.evaluation.sweeps.cautions import warn_of_burying, warn_of_idle
from nousmem.evaluation.sweeps.sweeping import Engine, score_settings
from nousmem.scoring import Scoring

__all__ = [
    "Condition",
    "CorpusChoice",
    "MeasuredCondition",
    "RetrievalChoice",
    "Settings",
    "condition_names",
    "describe_corpus",
    "varied_columns",
]


@dataclass(frozen=True, slots=True)
class CorpusChoice:
    """Which corpus, and how it is loaded."""

    name: str
    """As `load_corpus` knows it."""
    path: str | None = None
    """Its file or folder; None is where `load_corpus` looks for it."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The loader's, such as granularity."""

    def load(self) -> Corpus:
        """Load it; see `load_corpus`."""
        return load_corpus(self.name, path=self.path, **self.options)


@dataclass(frozen=True, slots=True)
class RetrievalChoice:
    """How candidates are retrieved; see `find_candidates`."""

    store: str = "sqlite"
    """A store URL."""
    embedder: str | None = None
    """A name for `open_embedder`; None reads the text leg alone."""
    legs: tuple[str, ...] | None = None
    """Which legs are read; None is all that store and embedder allow."""
    depth: int | None = None
    """Entries read from each leg; None is 30."""
    as_of: bool = True
    """Whether entries later than a query's `as_of` are invisible to it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A corpus, and a way to retrieve from it."""

    corpus: CorpusChoice
    """What is searched."""
    retrieval: RetrievalChoice
    """How its candidates are found."""

    def columns(self) -> dict[str, str | int | bool]:
        """Return what it consists of, as a table shows it.

        Keys: corpus, path (the last part of it; "" for none), store, embedder, legs, depth, as_of,
        and each option of the corpus.
        """
        retrieval = self.retrieval
        return {
            "corpus": self.corpus.name,
            "path": "" if self.corpus.path is None else Path(self.corpus.path).name,
            **{name: str(value) for name, value in self.corpus.options.items()},
            "store": retrieval.store,
            "embedder": retrieval.embedder or "none",
            "legs": "all" if retrieval.legs is None else ",".join(retrieval.legs),
            "depth": "default" if retrieval.depth is None else str(retrieval.depth),
            "as_of": retrieval.as_of,
        }


@dataclass(frozen=True, slots=True)
class Settings:
    """What every condition is measured under."""

    parameters: tuple[str, ...]
    """The parameters varied, sorted."""
    scorings: tuple[Scoring, ...]
    """Those of the grid; the baseline is last where the grid does not have it."""
    n_tried: int
    """Those of the grid; after them the baseline may stand."""
    is_grid: bool
    """Whether those of the grid are every combination, in order."""
    baseline: int
    """Its place."""
    measures: tuple[Measure, ...]

    def measure(
        self, condition: Condition, *, engine: Engine = "auto", progress: bool = False
    ) -> MeasuredCondition:
        """Load the corpus, retrieve once, and measure every setting.

        Fresh is left out where no query of the corpus is marked as updated.
        """
        started = time.perf_counter()
        corpus = condition.corpus.load()
        retrieval = condition.retrieval
        loaded = time.perf_counter()
        embedder = open_embedder(retrieval.embedder)
        arrays = find_candidates(
            corpus,
            store=retrieval.store,
            embedder=embedder,
            legs=retrieval.legs,
            depth=retrieval.depth,
            as_of=retrieval.as_of,
            progress=progress,
        )
        retrieved = time.perf_counter()
        measures = [one for one in self.measures if arrays.marks.n_queries or not one.is_partial]
        values = score_settings(arrays, self.scorings, measures, engine=engine, progress=progress)
        tried = self.scorings[: self.n_tried]
        warn_of_burying(arrays, tried, stacklevel=3)
        if self.is_grid:
            warn_of_idle(self.parameters, tried, values[: self.n_tried], stacklevel=3)
        return MeasuredCondition(
            condition=condition,
            measured=MeasuredSettings(
                parameters=self.parameters,
                settings=self.scorings,
                measures=tuple(measures),
                values=values,
                queries=measured_queries(corpus, arrays.queries),
                baseline=self.baseline,
            ),
            corpus=describe_corpus(corpus),
            excluded=dict(arrays.excluded),
            embedder=None if embedder is None else embedder.fingerprint,
            seconds={
                "load": loaded - started,
                "retrieve": retrieved - loaded,
                "score": time.perf_counter() - retrieved,
            },
        )

    def key(self, condition: Condition, corpus_fingerprint: str) -> str:
        """Return what a stored result must have been made from to stand for this condition."""
        # Where the corpus lies does not matter; what is in it does.
        parts = [
            asdict(replace(condition, corpus=replace(condition.corpus, path=None))),
            [scoring.to_dict() for scoring in self.scorings],
            self.baseline,
            [str(measure) for measure in self.measures],
            corpus_fingerprint,
            metadata.version("nousmem"),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class MeasuredCondition:
    """What was measured under one condition."""

    condition: Condition
    """What was retrieved from, and how."""
    measured: MeasuredSettings
    """The values of every query under every setting."""
    corpus: Mapping[str, Any]
    """name, fingerprint, checksum, n_entries, n_queries, licence."""
    excluded: Mapping[str, int]
    """Queries of the source that are not measured, by reason."""
    embedder: str | None
    """Its fingerprint."""
    seconds: Mapping[str, float]
    """Spent to load, to retrieve and to score; empty where the result was read from a folder."""

    def without_seconds(self) -> MeasuredCondition:
        """Return it without what varies from run to run."""
        return replace(self, seconds={})


def describe_corpus(corpus: Corpus) -> dict[str, Any]:
    """Return what identifies a corpus."""
    return {
        "name": corpus.name,
        "fingerprint": corpus.fingerprint(),
        "checksum": corpus.card.checksum,
        "licence": corpus.card.licence,
        "n_entries": len(corpus.entries),
        "n_queries": len(corpus.queries),
    }


def varied_columns(conditions: Sequence[Condition]) -> list[str]:
    """Return the columns in which conditions differ, the corpus first; always the corpus."""
    rows = [condition.columns() for condition in conditions]
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if name == "corpus" or len({row.get(name) for row in rows}) > 1]


def condition_names(conditions: Sequence[Condition]) -> list[str]:
    """Return a name for each condition: what sets it apart from the others, none twice."""
    varied = varied_columns(conditions)
    names = [
        ", ".join(
            str(value) if name in ("corpus", "store", "embedder") else f"{name} {value}"
            for name in varied
            if (value := condition.columns().get(name)) is not None
        )
        for condition in conditions
    ]
    # Two folders may have the same name, in different places.
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[at] = f"{name} ({seen[name]})"
    return names
