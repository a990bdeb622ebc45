"""What an evaluation is run on: entries, queries with their circumstances, and judgements."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nousmem.entry import Entry, parse_instant
from nousmem.errors import CorpusError
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Card", "Corpus", "Partition", "Query"]


@dataclass(frozen=True, slots=True)
class Query:
    """One question put to the memory, with the circumstances it was asked in."""

    query_id: str
    """Unique in its corpus."""
    text: str
    """The question, in the words it is asked in."""
    _: KW_ONLY
    now: datetime
    """The instant ages are counted from; UTC."""
    scope: Scope = GLOBAL
    """Whose memories may answer."""
    category: str = ""
    """The kind of question, for results by category."""
    as_of: datetime | None = None
    """When it was asked: entries created later are invisible. None: everything is visible."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Whatever else the source says, such as the reference answer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "now", parse_instant(self.now))
        if self.as_of is not None:
            object.__setattr__(self, "as_of", parse_instant(self.as_of))


@dataclass(frozen=True, slots=True)
class Card:
    """Where a corpus comes from and what is wrong with it."""

    title: str
    """Its name for people, with a word on what it holds."""
    _: KW_ONLY
    licence: str
    """Under which the data may be used, as far as the source states it."""
    source: str
    """Who published it, under which name."""
    description: str = ""
    """What is in it and how it was read, such as granularity and split."""
    checksum: str = ""
    """sha256 of the file it was read from."""
    synthetic: bool = False
    """Whether a program made the memories up."""
    faults: Mapping[str, int] = field(default_factory=dict[str, int])
    """Faults of the source that the loader met, and how often: repaired, or left out."""
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Queries of the source that are not in `queries`, by reason."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a corpus that gets a store of its own."""

    name: str
    """Value of the partition field; "" for an undivided corpus."""
    entries: tuple[Entry, ...]
    """The corpus's entries with this value, in its order."""
    queries: tuple[Query, ...]
    """Its queries whose scope has this value; there may be none."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Entries, queries and qrels, with a card.

    Raises:
        CorpusError: ids repeat; the qrels lack a column, judge a pair twice, or name a query or
            entry that is not there; `partition_field` is no scope field, or an entry or query has
            no value in it. All faults are reported together.
    """

    name: str
    """What results and errors call it."""
    _: KW_ONLY
    entries: tuple[Entry, ...]
    """The memories that are searched, those of every partition; ids are unique."""
    queries: tuple[Query, ...]
    """What is asked. One without an entry judged above 0 may be among them; it is not measured."""
    qrels: pd.DataFrame
    """One judgement a row: query_id (str), doc_id (str, an entry's id), relevance (int; 0 is
    judged and not relevant, larger is more relevant)."""
    card: Card
    """Where it comes from, and what is wrong with it."""
    partition_field: str | None = None
    """The scope field whose values divide the corpus into parts that must not mix (term
    statistics, candidates); None for one shared store."""
    fold_field: str = "user_id"
    """The scope field that groups queries when settings are tuned and judged on other folds; where
    all have the same value, each query is its own group."""

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise CorpusError(f"corpus {self.name!r}: " + "; ".join(faults))

    @property
    def now(self) -> datetime:
        """The latest instant any query is asked at."""
        return max(query.now for query in self.queries)

    def partitions(self) -> list[Partition]:
        """Return the parts that get a store each, by name; one part when undivided."""
        if self.partition_field is None:
            return [Partition("", self.entries, self.queries)]
        entries: dict[str, list[Entry]] = {}
        queries: dict[str, list[Query]] = {}
        for entry in self.entries:
            entries.setdefault(getattr(entry, self.partition_field), []).append(entry)
        for query in self.queries:
            queries.setdefault(getattr(query.scope, self.partition_field), []).append(query)
        return [
            Partition(name, tuple(entries[name]), tuple(queries.get(name, ())))
            for name in sorted(entries)
        ]

    def with_entries(self, entries: Iterable[Entry]) -> Corpus:
        """Return the corpus with these entries in place of its own, as after embedding."""
        return replace(self, entries=tuple(entries))

    def select(self, queries: Iterable[Query]) -> Corpus:
        """Return the corpus with these queries, their judgements, and every entry."""
        kept = tuple(queries)
        ids = {query.query_id for query in kept}
        qrels = self.qrels[self.qrels["query_id"].isin(ids)].reset_index(drop=True)
        return replace(self, queries=kept, qrels=qrels)

    def queries_frame(self) -> pd.DataFrame:
        """Return the queries as a table.

        Columns: query_id, text, category (str); now, as_of (UTC instants, as_of may be missing);
        agent_id, session_id, user_id, namespace (str or None); n_relevant (int, entries judged
        above 0).
        """
        import pandas as pd

        relevant = Counter(self.qrels.loc[self.qrels["relevance"] > 0, "query_id"])
        rows = [
            {
                "query_id": query.query_id,
                "text": query.text,
                "category": query.category,
                "now": query.now,
                "as_of": query.as_of,
                **{name: getattr(query.scope, name) for name in SCOPE_FIELDS},
                "n_relevant": relevant[query.query_id],
            }
            for query in self.queries
        ]
        return pd.DataFrame(rows)

    def fingerprint(self) -> str:
        """Return a sha256 over entries (without vectors), queries and qrels, in their order."""
        digest = hashlib.sha256()
        for entry in self.entries:
            bare = entry if entry.embedding is None else entry.replace(embedding=None)
            digest.update(repr(bare).encode())
        for query in self.queries:
            digest.update(repr(query).encode())
        columns = [self.qrels[name].tolist() for name in ("query_id", "doc_id", "relevance")]
        digest.update(json.dumps(columns).encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        """Show name, sizes, categories and licence."""
        categories = Counter(query.category for query in self.queries)
        parts = ", ".join(
            f"{name or 'uncategorised'} {n}" for name, n in sorted(categories.items())
        )
        return (
            f"Corpus({self.name!r}: {len(self.entries):,} entries, {len(self.queries):,} queries "
            f"({parts}), {len(self.qrels):,} judgements, licence {self.card.licence})"
        )


def _faults(corpus: Corpus) -> Iterable[str]:
    entry_ids = {entry.id for entry in corpus.entries}
    query_ids = {query.query_id for query in corpus.queries}
    if len(entry_ids) < len(corpus.entries):
        yield f"{len(corpus.entries) - len(entry_ids)} entries repeat an id"
    if len(query_ids) < len(corpus.queries):
        yield f"{len(corpus.queries) - len(query_ids)} queries repeat a query_id"
    missing = {"query_id", "doc_id", "relevance"} - set(corpus.qrels.columns)
    if missing:
        yield f"qrels lack the columns {', '.join(sorted(missing))}"
        return
    for column, known in (("query_id", query_ids), ("doc_id", entry_ids)):
        unknown = sorted(set(corpus.qrels[column]) - known)
        if unknown:
            yield f"{len(unknown)} {column} in the qrels do not exist, such as {unknown[0]!r}"
    pairs = corpus.qrels.duplicated(["query_id", "doc_id"]).sum()
    if pairs:
        yield f"{pairs} judgements repeat a query and entry"
    if corpus.fold_field not in SCOPE_FIELDS:
        yield f"fold_field must be one of {', '.join(SCOPE_FIELDS)}, got {corpus.fold_field!r}"
    if corpus.partition_field is None:
        return
    if corpus.partition_field not in SCOPE_FIELDS:
        yield f"partition_field must be one of {', '.join(SCOPE_FIELDS)}"
        return
    for kind, rows in (
        ("entries", corpus.entries),
        ("queries", [query.scope for query in corpus.queries]),
    ):
        unset = sum(getattr(row, corpus.partition_field) is None for row in rows)
        if unset:
            yield f"{unset} {kind} have no {corpus.partition_field}, the partition field"
