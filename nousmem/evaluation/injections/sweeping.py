"""What an agent would be shown unasked, under many settings of ranking and thresholds.

The agent's `inject_` options decide whether a memory that was found is shown at all. Each query of
a corpus is taken as a message to the agent, and so is small talk, for which nothing should be
shown. The candidates are found once for each way to retrieve; every setting then chooses among
them by `nousmem.retrieval.showing`, as `nousmem.agent.Memory` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from nousmem.corpora import Corpus, Query
from nousmem.embeddings import open_embedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter
from nousmem.evaluation._progress import progress_bar
from nousmem.evaluation.injections._grids import injection_settings
from nousmem.evaluation.injections.results import InjectionResult, find_setting
from nousmem.evaluation.injections.small_talk import SMALL_TALK, warn_of_foreign_talk
from nousmem.evaluation.measured import measured_queries
from nousmem.evaluation.measures import Judgements
from nousmem.evaluation.sweeps.candidate_arrays import (
    StoreChoice,
    check_corpus,
    close_store,
    load_partition,
)
from nousmem.evaluation.sweeps.grids import Grid, baseline_of
from nousmem.evaluation.sweeps.values import check_size
from nousmem.retrieval.candidates import Candidates
from nousmem.retrieval.evidence import asks_no_evidence, searched_part, texts_looked_up
from nousmem.retrieval.finding import find, query_vectors
from nousmem.retrieval.settings import Retrieval, Settings, chosen_settings
from nousmem.retrieval.showing import looked_up, ranked, shown_rows
from nousmem.stores import Store

__all__ = ["sweep_injection"]


def sweep_injection(
    corpus: Corpus,
    *,
    store: StoreChoice = "sqlite",
    embedder: str | Embedder | None = None,
    grid: Grid,
    settings: Settings | None = None,
    small_talk: Sequence[str | Query] = SMALL_TALK,
    as_of: bool = True,
    progress: bool = False,
) -> InjectionResult:
    """Find out what would be shown for every query and for small talk, under every setting.

    A message is looked up at its query's `now`, in its scope. The room that `inject_max_tokens`
    leaves is not counted, nor are accesses: nothing is recalled by a tool. The documented defaults
    are always tried, and are what the others are compared with.

    Args:
        corpus: Entries, queries and qrels. Queries without a relevant entry are left out and
            counted.
        store: As in `sweep`.
        embedder: An embedder or its name; None reads the text leg alone.
        grid: Name to the values tried, in every combination, or a list of such grids:
            inject_limit, inject_min_score, inject_min_words, inject_min_cosine; the parameters
            of Retrieval; and those of Scoring, as in `sweep`, but `min_score`, in whose place the
            agent puts inject_min_score.
        settings: Gives what is not varied; None is the defaults. Thresholds stay as they are,
            whatever the weights.
        small_talk: Messages that need no memory. Texts are dealt to the corpus's queries, in turn
            and each at least once, and take over their circumstances; a Query has its own, and
            its scope must name a part of a divided corpus. The default is English.
        as_of: Whether entries later than a query's `as_of` are invisible to it.
        progress: Show a progress bar.

    Warns:
        ForeignSmallTalkWarning: the default small talk is used, and the queries are hardly
            English.

    Raises:
        InvalidParameter: a name or a value of the grid is not valid; `settings` are no Settings,
            or `small_talk` no list of texts and Query objects; no query has a relevant entry; the
            legs do not suit, or the store does not (see `load_partition`).
        UnknownName, StoreError, EmbedderError, EmbeddingMismatch, ExtensionError,
        MissingDependency: as in `sweep`.
    """
    opened = open_embedder(embedder)
    start = chosen_settings(settings).replace(
        embedder=None if opened is None else opened.fingerprint
    )
    parameters, tried = injection_settings(grid, start)
    _check_small_talk(small_talk)
    check_corpus(corpus)
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
    n_tried, against = len(tried), baseline_of(start, parameters)
    baseline = find_setting(tried, against)
    if baseline is None:
        tried, baseline = [*tried, against], n_tried
    n_messages = len(queries) + len(talk)
    check_size(len(tried), n_measures=2, n_queries=n_messages)
    n_shown = np.zeros((len(tried), n_messages), dtype=np.int64)
    n_relevant_shown = np.zeros((len(tried), len(queries)), dtype=np.int64)
    with progress_bar(n_messages, "messages", show=progress) as advance:
        for at, shown in _shown(corpus, [*queries, *talk], tried, store, opened, as_of=as_of):
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
        settings=tuple(tried),
        queries=measured_queries(corpus, queries),
        n_shown=n_shown[:, : len(queries)],
        n_relevant_shown=n_relevant_shown,
        n_relevant=np.array([len(relevant[one.query_id]) for one in queries], dtype=np.int64),
        small_talk=tuple(query.text for query in talk),
        n_shown_for_talk=n_shown[:, len(queries) :],
        baseline=baseline,
        n_tried=n_tried,
        excluded=excluded,
    )


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


@dataclass(frozen=True, slots=True)
class _Way:
    """Settings that find the same candidates."""

    retrieval: Retrieval
    """With the depth in force: a setting that shows more than 30 memories reads as deep."""
    rows: list[int]
    """Their places, those of equal scoring together."""
    needs_words: bool
    """Whether none of them shows anything for a message without a word that means something."""


def _ways(settings: Sequence[Settings]) -> list[_Way]:
    rows: dict[Retrieval, list[int]] = {}
    for row, one in enumerate(settings):
        depth = one.retrieval.depth_for(one.injection.inject_limit)
        rows.setdefault(one.retrieval.replace(depth=depth), []).append(row)
    ways: list[_Way] = []
    for retrieval, own in rows.items():
        first = {one: at for at, one in enumerate(dict.fromkeys(settings[r].scoring for r in own))}
        injections = [settings[row].injection for row in own]
        needs_words = not any(
            asks_no_evidence(min_words=one.inject_min_words, min_cosine=one.inject_min_cosine)
            for one in injections
        )
        own.sort(key=lambda row: first[settings[row].scoring])
        ways.append(_Way(retrieval, own, needs_words))
    return ways


def _shown(
    corpus: Corpus,
    messages: Sequence[Query],
    settings: Sequence[Settings],
    store: StoreChoice,
    embedder: Embedder | None,
    *,
    as_of: bool,
) -> Iterator[tuple[int, list[set[str]]]]:
    """Yield each message's place, with the ids of what is shown for it under every setting."""
    messages = [replace(one, text=searched_part(one.text)) for one in messages]
    ways = _ways(settings)
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
        texts = [text for _, query in own for text in texts_looked_up(query.text)]
        vectors = query_vectors([way.retrieval for way in ways], opened, embedder, texts)
        part = _Part(opened, embedder, vectors)
        for at, query in own:
            seen = query if as_of else replace(query, as_of=None)
            shown: list[set[str]] = [set() for _ in settings]
            for way in ways:
                for row, ids in part.shown(seen, way, settings):
                    shown[row] = ids
            yield at, shown
        if not isinstance(store, Store):
            close_store(opened)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A part of a corpus, in its store."""

    store: Store
    embedder: Embedder | None
    vectors: Mapping[str, Any]
    """Of the texts that are looked up; none where no leg wants them."""

    def shown(
        self, query: Query, way: _Way, settings: Sequence[Settings]
    ) -> Iterator[tuple[int, set[str]]]:
        """Yield which settings of a way to retrieve show something for a message, and what."""
        left = way.rows
        for lookup in looked_up(
            query.text,
            lambda text: self._found(text, query, way.retrieval),
            everything=lambda: self.store.list(scope=query.scope, as_of=query.as_of),
            now=query.now,
            needs_words=way.needs_words,
            as_of=query.as_of,
            terms=way.retrieval.own_terms,
        ):
            ids, further = lookup.candidates.ids, list[int]()
            for scoring, rows in itertools.groupby(left, key=lambda row: settings[row].scoring):
                ranking = ranked(lookup.candidates, scoring)
                for row in rows:
                    places = shown_rows(lookup, ranking, settings[row].injection)
                    if places is None:
                        further.append(row)
                    else:
                        yield row, {ids[at] for at in places.tolist()}
            left = further
            if not left:
                return

    def _found(self, text: str, query: Query, retrieval: Retrieval) -> Candidates:
        return find(
            self.store,
            text,
            retrieval=retrieval,
            now=query.now,
            embedder=self.embedder,
            vector=self.vectors.get(text),
            scope=query.scope,
            as_of=query.as_of,
            seconds=None,
        )
