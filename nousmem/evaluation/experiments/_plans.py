"""What one condition is measured under, and measuring it."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from importlib import metadata

from nousmem.embeddings import open_embedder
from nousmem.evaluation.experiments._own_code import own_code
from nousmem.evaluation.experiments._parts import code_of_parts
from nousmem.evaluation.experiments.conditions import (
    Condition,
    MeasuredCondition,
    describe_corpus,
)
from nousmem.evaluation.measured import MeasuredSettings, measured_queries
from nousmem.evaluation.measures import Measure
from nousmem.evaluation.sweeps.candidate_arrays import find_for_each
from nousmem.evaluation.sweeps.cautions import warn_of_burying, warn_of_idle, warn_of_silent_leg
from nousmem.evaluation.sweeps.values import Engine, measure_settings
from nousmem.retrieval.settings import Retrieval, Settings

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one condition is measured under."""

    condition: Condition
    """What is retrieved from."""
    parameters: tuple[str, ...]
    """The parameters varied, sorted."""
    settings: tuple[Settings, ...]
    """Those tried, then the baseline, where it is not among them."""
    n_tried: int
    """Those tried; after them the baseline may stand."""
    is_grid: bool
    """Whether those tried are every combination of one grid, in order."""
    baseline: int
    """Its place."""
    measures: tuple[Measure, ...]

    @property
    def retrievals(self) -> list[Retrieval]:
        """The different ways to find candidates among the settings."""
        return list(dict.fromkeys(one.retrieval for one in self.settings))

    def measure(self, *, engine: Engine = "auto", progress: bool = False) -> MeasuredCondition:
        """Load the corpus, find once for each way to retrieve, and measure every setting.

        Fresh is left out where no query of the corpus is marked as updated.
        """
        started = time.perf_counter()
        corpus = self.condition.corpus.load()
        choice = self.condition.retrieval
        loaded = time.perf_counter()
        embedder = open_embedder(choice.embedder)
        fingerprint = None if embedder is None else embedder.fingerprint
        settings = tuple(replace(one, embedder=fingerprint) for one in self.settings)
        found = find_for_each(
            corpus,
            self.retrievals,
            store=choice.opened(),
            embedder=embedder,
            as_of=choice.as_of,
            progress=progress,
        )
        first = next(iter(found.values()))
        for candidates in found.values():
            warn_of_silent_leg(candidates, by_vectors=embedder is not None, stacklevel=3)
        retrieved = time.perf_counter()
        measures = [one for one in self.measures if first.marks.n_queries or not one.needs_marks]
        values = measure_settings(found, settings, measures, engine=engine, progress=progress)
        tried = settings[: self.n_tried]
        warn_of_burying(found, tried, stacklevel=3)
        if self.is_grid:
            warn_of_idle(self.parameters, tried, values[: self.n_tried], stacklevel=3)
        return MeasuredCondition(
            condition=self.condition,
            measured=MeasuredSettings(
                parameters=self.parameters,
                settings=settings,
                measures=tuple(measures),
                values=values,
                queries=measured_queries(corpus, first.queries),
                baseline=self.baseline,
                n_tried=self.n_tried,
            ),
            corpus=describe_corpus(corpus),
            excluded=dict(first.excluded),
            embedder=fingerprint,
            seconds={
                "load": loaded - started,
                "retrieve": retrieved - loaded,
                "score": time.perf_counter() - retrieved,
            },
        )

    def key(self, corpus_fingerprint: str) -> str:
        """Return what a stored result must have been made from to stand for this condition."""
        document = self.condition.to_document()
        # Where the corpus lies does not matter; what is in it does.
        del document["corpus"]["path"]
        choice = self.condition.retrieval
        parts = [
            document,
            [one.to_dict() for one in self.settings],
            code_of_parts(self.settings),
            self.baseline,
            [measure.to_document() for measure in self.measures],
            corpus_fingerprint,
            own_code(
                corpus=self.condition.corpus.name, store=choice.store, embedder=choice.embedder
            ),
            metadata.version("nousmem"),
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
