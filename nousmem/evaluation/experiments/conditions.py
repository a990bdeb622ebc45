"""One condition of an experiment: a corpus, and where and how it is searched."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from nousmem.corpora import Corpus, Partition, load_corpus
from nousmem.evaluation.experiments._parts import described_value
from nousmem.evaluation.measured import MeasuredSettings
from nousmem.evaluation.sweeps.candidate_arrays import StoreChoice
from nousmem.references import run_named
from nousmem.retrieval.legs import Leg
from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Retrieval
from nousmem.retrieval.terms import Term
from nousmem.stores import Store
from nousmem.stores.registry import is_own_store, load_store_maker

__all__ = [
    "Condition",
    "CorpusChoice",
    "MeasuredCondition",
    "RetrievalChoice",
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
    """Where a corpus is searched, and how its candidates are found where a grid varies nothing.

    Legs and terms of somebody's own are objects, or named as a file names them. Nothing is checked
    when it is made; `way` does.
    """

    store: str = "sqlite"
    """A store URL. `package.module:object` opens a store without arguments, for `open_store`; a
    function or class with one argument that it needs is called with each partition of the corpus
    (`Partition`: its `name` and `entries`), and returns an open and empty store for it."""
    embedder: str | None = None
    """A name for `open_embedder`; None reads the text leg alone."""
    legs: Sequence[str | Leg | Mapping[str, Any]] | None = None
    """As `Retrieval` has them; None is all that store and embedder allow."""
    depth: int | None = None
    """Entries read from each leg; None is 30."""
    terms: Sequence[str | Term] = ()
    """As `Retrieval` has them."""
    as_of: bool = True
    """Whether entries later than a query's `as_of` are invisible to it."""

    def __post_init__(self) -> None:
        for name in ("legs", "terms"):
            # JSON has lists for tuples.
            if isinstance(given := getattr(self, name), list):
                object.__setattr__(self, name, tuple(cast("list[Any]", given)))

    def way(self) -> Retrieval:
        """Return how candidates are found; somebody's own legs and terms are loaded.

        Raises:
            UnknownName, InvalidParameter: as for `Retrieval`.
        """
        legs: Any = self.legs
        return Retrieval(legs=legs, depth=self.depth, terms=self.terms)

    def opened(self) -> StoreChoice:
        """Return the store as `find_candidates` takes it.

        Raises:
            InvalidParameter: somebody's own cannot be imported.
        """
        if not is_own_store(self.store):
            return self.store
        maker = load_store_maker(self.store)
        return _for_each(maker, self.store) if _takes_partition(maker) else self.store

    def to_document(self) -> dict[str, Any]:
        """Return it as a file names it."""
        own = {name: described_value(name, getattr(self, name)) for name in RETRIEVAL_PARAMETERS}
        return {"store": self.store, "embedder": self.embedder, **own, "as_of": self.as_of}


def _takes_partition(maker: Callable[..., object]) -> bool:
    try:
        arguments = inspect.signature(maker).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        one
        for one in arguments
        if one.default is inspect.Parameter.empty
        and one.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 1


def _for_each(maker: Callable[..., object], url: str) -> Callable[[Partition], Store]:
    def made(partition: Partition) -> Store:
        return run_named(maker, partition, what=f"store {url!r}")

    return made


@dataclass(frozen=True, slots=True)
class Condition:
    """A corpus, and a way to retrieve from it."""

    corpus: CorpusChoice
    """What is searched."""
    retrieval: RetrievalChoice
    """Where it is searched, and how."""

    def columns(self) -> dict[str, str | int | bool]:
        """Return what it consists of, as a table shows it.

        Keys: corpus, path (the last part of it; "" for none), store, embedder, legs, depth, terms,
        as_of, and each option of the corpus.
        """
        retrieval = self.retrieval
        document = retrieval.to_document()
        legs = document["legs"]
        return {
            "corpus": self.corpus.name,
            "path": "" if self.corpus.path is None else Path(self.corpus.path).name,
            **{name: str(value) for name, value in self.corpus.options.items()},
            "store": retrieval.store,
            "embedder": retrieval.embedder or "none",
            "legs": "all" if legs is None else ",".join(map(_shown, legs)),
            "depth": "default" if retrieval.depth is None else str(retrieval.depth),
            "terms": ",".join(map(_shown, document["terms"])) or "none",
            "as_of": retrieval.as_of,
        }

    def to_document(self) -> dict[str, Any]:
        """Return it as a file would say it."""
        corpus = self.corpus
        return {
            "corpus": {"name": corpus.name, "path": corpus.path, "options": dict(corpus.options)},
            "retrieval": self.retrieval.to_document(),
        }


def _shown(part: str | Mapping[str, Any]) -> str:
    if isinstance(part, str):
        return part
    inside = ", ".join(f"{name}={one!r}" for name, one in part.items() if name != "object")
    return f"{part.get('object')}({inside})"


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
