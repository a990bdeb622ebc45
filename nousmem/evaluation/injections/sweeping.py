"""What an agent would be shown unasked, under many settings of ranking and thresholds.

The agent's `inject_` options decide whether a memory that was found is shown at all. Each query of
a corpus is taken as a message to the agent, and so is small talk, for which nothing should be
shown. The candidates are read once; every setting then chooses among them as
`nousmem.agent.Memory` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nousmem.corpora import Corpus, Query
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter, suggestion
from nousmem.evaluation.injections.results import (
    OPTIONS,
    InjectionResult,
    InjectionSetting,
)
from nousmem.evaluation.injections.small_talk import SMALL_TALK, warn_of_foreign_talk
from nousmem.evaluation.measured import measured_queries
from nousmem.evaluation.measures import Judgements
from nousmem.evaluation.progress import progress_bar
from nousmem.evaluation.sweeps.candidate_arrays import close_store, load_partition
from nousmem.evaluation.sweeps.grids import grid_settings
from nousmem.retrieval.candidates import Candidates, retrieve, score_candidates
from nousmem.retrieval.evidence import (
    Evidence,
    asks_no_evidence,
    content_terms,
    is_about_the_user,
    searched_part,
    texts_looked_up,
)
from nousmem.retrieval.search import MIN_DEPTH, Search
from nousmem.scoring import PARAMETERS, Floats, Scoring, score_order
from nousmem.stores import Store

__all__ = ["sweep_injection"]


def sweep_injection(
    corpus: Corpus,
    *,
    store: str | Store = "sqlite",
    embedder: str | Embedder | None = None,
    grid: Mapping[str, Iterable[Any]],
    setting: InjectionSetting | None = None,
    small_talk: Sequence[str | Query] = SMALL_TALK,
    as_of: bool = True,
    progress: bool = False,
) -> InjectionResult:
    """Find out what would be shown for every query and for small talk, under every setting.

    A message is looked up at its query's `now`, in its scope. The room that `inject_max_tokens`
    leaves is not counted, nor are accesses: nothing is recalled by a tool.

    Args:
        corpus: Entries, queries and qrels. Queries without a relevant entry are left out and
            counted.
        store: As in `sweep`.
        embedder: An embedder or its name; None reads the text leg alone.
        grid: Name to the values tried, in every combination: inject_limit (at most 30),
            inject_min_score, inject_min_words, inject_min_cosine, and the parameters of Scoring
            but `min_score`, in whose place the agent puts inject_min_score.
        setting: Gives what is not varied; None is the documented defaults.
        small_talk: Messages that need no memory. Texts are dealt to the corpus's queries, in turn
            and each at least once, and take over their circumstances; a Query has its own, and
            its scope must name a part of a divided corpus. The default is English.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        progress: Show a progress bar.

    Warns:
        ForeignSmallTalkWarning: the default small talk is used, and the queries are hardly
            English.

    Raises:
        InvalidParameter: a name or a value of the grid is not valid; `setting` is no
            InjectionSetting, or `small_talk` no list of texts and Query objects; no query has
            a relevant entry; or the store does not suit (see `load_partition`).
        UnknownName, StoreError, EmbedderError, EmbeddingMismatch, MissingDependency: as in
            `sweep`.
    """
    parameters, settings = _settings(grid, _start(setting))
    _check_small_talk(small_talk)
    judgements = Judgements.of(corpus.qrels, [query.query_id for query in corpus.queries])
    if not len(judgements):
        raise InvalidParameter(f"corpus {corpus.name!r} has no query with a relevant entry")
    relevant: dict[str, set[str]] = {query_id: set() for query_id in judgements.query_ids}
    for at, doc_id in zip(judgements.query_index.tolist(), judgements.doc_ids, strict=True):
        relevant[judgements.query_ids[at]].add(doc_id)
    queries = [query for query in corpus.queries if query.query_id in relevant]
    if list(small_talk) == list(SMALL_TALK):
        warn_of_foreign_talk([query.text for query in queries], stacklevel=3)
    talk = _dealt(small_talk, queries)
    _check_parts(talk, corpus)
    n_messages = len(queries) + len(talk)
    n_shown = np.zeros((len(settings), n_messages), dtype=np.int64)
    n_relevant_shown = np.zeros((len(settings), len(queries)), dtype=np.int64)
    opened = open_embedder(embedder)
    with progress_bar(n_messages, "messages", show=progress) as advance:
        for at, message in _looked_up(corpus, [*queries, *talk], store, opened, as_of=as_of):
            shown = list(_shown_under(message, settings))
            n_shown[:, at] = [len(entries) for entries in shown]
            if at < len(queries):
                wanted = relevant[queries[at].query_id]
                n_relevant_shown[:, at] = [len(wanted & entries) for entries in shown]
            advance(1)
    excluded = dict(corpus.card.excluded)
    if judgements.n_without:
        excluded["no relevant entry"] = judgements.n_without
    return InjectionResult(
        parameters=parameters,
        settings=settings,
        queries=measured_queries(corpus, queries),
        n_shown=n_shown[:, : len(queries)],
        n_relevant_shown=n_relevant_shown,
        n_relevant=np.array([len(relevant[one.query_id]) for one in queries], dtype=np.int64),
        small_talk=tuple(query.text for query in talk),
        n_shown_for_talk=n_shown[:, len(queries) :],
        excluded=excluded,
    )


def _start(setting: object) -> InjectionSetting:
    if setting is None:
        return InjectionSetting()
    if isinstance(setting, Scoring):
        raise InvalidParameter(
            "setting must be an InjectionSetting, got a Scoring: write "
            "setting=InjectionSetting(scoring=…)"
        )
    if not isinstance(setting, InjectionSetting):
        raise InvalidParameter(f"setting must be an InjectionSetting, got {setting!r}")
    return setting


def _check_small_talk(given: object) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidParameter(
            f"small_talk must be a list of messages, such as ['Hello!'], got {given!r}"
        )
    for one in cast("Sequence[object]", given):
        if not isinstance(one, (str, Query)):
            raise InvalidParameter(
                f"small_talk must be a list of texts and Query objects, got {one!r} in it"
            )


def _settings(
    grid: Mapping[str, Iterable[Any]], start: InjectionSetting
) -> tuple[tuple[str, ...], tuple[InjectionSetting, ...]]:
    faults: list[str] = []
    if "min_score" in grid:
        faults.append("min_score: an agent puts inject_min_score in its place; vary that")
    options = {name: _values(name, grid[name], faults) for name in OPTIONS if name in grid}
    of_scoring = {name: grid[name] for name in grid if name not in (*OPTIONS, "min_score")}
    for name in [name for name in of_scoring if name not in (*PARAMETERS, "weights")]:
        known = (*OPTIONS, *PARAMETERS)
        faults.append(
            f"unknown name {name!r} in the grid{suggestion(str(name), known) or '.'} "
            f"Names: {', '.join(known)}"
        )
        del of_scoring[name]
    names, scorings = [], [start.scoring]
    try:
        names, scorings = grid_settings(of_scoring, base=start.scoring)
    except InvalidParameter as error:
        faults.append(str(error))
    if faults:
        raise InvalidParameter("; ".join(faults))
    settings = tuple(
        replace(start, scoring=scoring, **dict(zip(options, values, strict=True)))
        for scoring in scorings
        for values in itertools.product(*options.values())
    )
    return (*names, *options), settings


def _values(name: str, given: object, faults: list[str]) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        faults.append(f"{name}: expected a list of values, got {given!r}")
        return []
    values = list(cast("Iterable[Any]", given))
    if not values:
        faults.append(f"{name}: the list of values is empty")
    if len(set(map(repr, values))) < len(values):
        faults.append(f"{name}: a value stands twice in {values!r}")
    for value in values:
        try:
            InjectionSetting(**{name: value})
        except InvalidParameter as error:
            faults.append(str(error))
    return values


def _dealt(small_talk: Sequence[str | Query], queries: Sequence[Query]) -> list[Query]:
    """Give every text the circumstances of a query, and every query a text."""
    texts = [one for one in small_talk if isinstance(one, str)]
    deals = zip(
        range(max(len(texts), len(queries))),
        itertools.cycle(texts),
        itertools.cycle(queries),
        strict=False,
    )
    dealt = [
        replace(query, query_id=f"small-talk-{at}", text=text, category="small talk")
        for at, text, query in deals
    ]
    return [*dealt, *(one for one in small_talk if isinstance(one, Query))]


def _check_parts(messages: Sequence[Query], corpus: Corpus) -> None:
    if corpus.partition_field is None:
        return
    parts = {partition.name for partition in corpus.partitions()}
    lost = [one for one in messages if getattr(one.scope, corpus.partition_field) not in parts]
    if lost:
        raise InvalidParameter(
            f"{len(lost)} messages of small_talk belong to no part of corpus {corpus.name!r}, such "
            f"as {lost[0].text!r}: their scope needs a {corpus.partition_field} of the corpus"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Message:
    """A message with all that may be shown for it."""

    query: Query
    about_the_user: bool
    """Anything in scope answers it, without evidence."""
    lookups: Sequence[Candidates]
    """What was found for its texts, one after the other."""
    evidence: Sequence[Evidence]
    """Of each lookup; none for a message without a word that means something."""


def _looked_up(
    corpus: Corpus,
    messages: Sequence[Query],
    store: str | Store,
    embedder: Embedder | None,
    *,
    as_of: bool,
) -> Iterator[tuple[int, _Message]]:
    """Yield the messages of each partition with their places."""
    messages = [replace(one, text=searched_part(one.text)) for one in messages]
    for partition in corpus.partitions():
        own = [
            (at, query)
            for at, query in enumerate(messages)
            if corpus.partition_field is None
            or getattr(query.scope, corpus.partition_field) == partition.name
        ]
        if not own:
            continue
        opened = load_partition(corpus, partition, store=store, embedder=embedder)
        search = Search(opened, embedder)
        vectors = _vectors(search, [query.text for _, query in own])
        for at, query in own:
            yield at, _read(search, query, vectors, as_of=query.as_of if as_of else None)
        if isinstance(store, str):
            close_store(opened)


def _vectors(search: Search, messages: Sequence[str]) -> Mapping[str, Any]:
    if search.embedder is None or "vector" not in search.active_legs():
        return {}
    texts = [text for message in messages for text in texts_looked_up(message)]
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    return dict(zip(distinct, search.embedder.embed_queries(distinct), strict=True))


def _read(
    search: Search, query: Query, vectors: Mapping[str, Any], *, as_of: datetime | None
) -> _Message:
    has_words = bool(content_terms(query.text))
    if not has_words and is_about_the_user(query.text):
        everything = search.store.list(scope=query.scope, as_of=as_of)
        found = Candidates.union({"text": [(entry, 1.0) for entry in everything]})
        return _Message(query, about_the_user=True, lookups=[found], evidence=[])
    texts = [text for text in texts_looked_up(query.text) if text.strip()]
    lookups = [
        retrieve(
            search.store,
            text,
            vector=vectors.get(text),
            embedder=None if search.embedder is None else search.embedder.fingerprint,
            depth=MIN_DEPTH,
            scope=query.scope,
            as_of=as_of,
        )
        for text in (texts if has_words else texts[:1])
    ]
    evidence = [Evidence.of(query.text, one) for one in lookups] if has_words else []
    return _Message(query, about_the_user=False, lookups=lookups, evidence=evidence)


def _shown_under(message: _Message, settings: Sequence[InjectionSetting]) -> Iterator[set[str]]:
    """Yield the ids of what is shown, for each setting."""
    for scoring, group in itertools.groupby(settings, key=lambda one: one.scoring):
        ranked: list[tuple[NDArray[np.intp], Floats]] = []
        for candidates in message.lookups:
            scores = score_candidates(candidates, scoring, now=message.query.now).score
            order = score_order(scores)
            ranked.append((order, scores[order]))
        for setting in group:
            yield _shown(message, ranked, setting)


def _shown(
    message: _Message,
    ranked: Sequence[tuple[NDArray[np.intp], Floats]],
    setting: InjectionSetting,
) -> set[str]:
    unasked = message.about_the_user or asks_no_evidence(
        min_words=setting.inject_min_words, min_cosine=setting.inject_min_cosine
    )
    for at, (order, scores) in enumerate(ranked):
        rows = order[scores >= setting.inject_min_score]
        if not unasked:
            if not message.evidence:
                break
            rows = rows[
                message.evidence[at].shown(
                    rows,
                    min_words=setting.inject_min_words,
                    min_cosine=setting.inject_min_cosine,
                )
            ]
        if len(rows) or unasked:
            entries = message.lookups[at].entries
            return {entries[int(row)].id for row in rows[: setting.inject_limit].tolist()}
    return set()
