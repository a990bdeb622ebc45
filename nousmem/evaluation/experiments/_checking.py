"""What can be said against the conditions of an experiment before any is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nousmem.embeddings import open_embedder
from nousmem.errors import ExperimentError
from nousmem.evaluation.experiments.conditions import Condition, RetrievalChoice
from nousmem.evaluation.sweeps.candidate_arrays import close_store
from nousmem.retrieval.finding import active_legs
from nousmem.retrieval.settings import Retrieval
from nousmem.stores import open_store
from nousmem.stores.registry import is_own_store, load_store_maker

__all__ = ["check_conditions", "check_retrieval"]


def check_conditions(conditions: Sequence[Condition]) -> None:
    """Check how conditions retrieve, so that the last of them does not fail after hours.

    No corpus is loaded, no file is made and no server is asked. What names code is imported, and
    an embedder that it names is made.

    Raises:
        ExperimentError: there is no condition, two are the same, or one store would be filled
            from several corpora or embedders.
        UnknownName: a store, an embedder or a leg that there is none of.
        InvalidParameter: legs, depth, terms, or an option of a store is not valid; or somebody's
            own store, embedder, leg or term cannot be imported, or is none.
        MissingDependency: a package that a store needs is not installed.
    """
    if not conditions:
        raise ExperimentError("the experiment has no condition: give it a corpus")
    times = Counter(map(repr, conditions))
    twice = next((one for one in conditions if times[repr(one)] > 1), None)
    if twice is not None:
        raise ExperimentError(
            f"the same condition stands twice: {_described(twice)}; list every corpus, and every "
            "value of a retrieval, once"
        )
    filled = {(one.retrieval.store, repr(one.corpus), one.retrieval.embedder) for one in conditions}
    for store, n in Counter(store for store, *_ in filled if _path_of(store)).items():
        if n > 1:
            raise ExperimentError(
                f"one store, {store!r}, would be filled from {n} corpora or embedders, and each "
                f"needs its own: leave the path out, as in {store.partition(':')[0]!r}, for a "
                "store in memory"
            )
    for retrieval in {repr(one.retrieval): one.retrieval for one in conditions}.values():
        check_retrieval(retrieval)


def check_retrieval(choice: RetrievalChoice, ways: Sequence[Retrieval] = ()) -> None:
    """Check one way to retrieve.

    Args:
        choice: Where a corpus is searched.
        ways: How, in place of the choice's own way.

    Raises:
        UnknownName, InvalidParameter, MissingDependency: as in `check_conditions`.
    """
    kind, _, rest = choice.store.partition(":")
    options = rest.partition("?")[2]
    if is_own_store(choice.store):
        load_store_maker(choice.store)
    if is_own_store(choice.store) or kind.startswith("postgres"):
        store = open_store("memory:")  # has both legs; a server, or somebody, is not asked now
    else:
        store = open_store(f"{kind}:?{options}" if options else kind)
    try:
        embedder = open_embedder(choice.embedder)
        for way in ways or [choice.way()]:
            active_legs(way, store, has_vector=embedder is not None)
    finally:
        close_store(store)


def _path_of(store: str) -> str:
    if is_own_store(store):
        return ""
    kind, _, rest = store.partition(":")
    path = rest.partition("?")[0]
    return "" if path == ":memory:" or kind.startswith("postgres") else path


def _described(condition: Condition) -> str:
    return ", ".join(f"{name} {value}" for name, value in condition.columns().items() if value)
