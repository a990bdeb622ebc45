"""Which question is put to which memories: what an explorer's top lines stand at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from nousmem.corpora import Query
from nousmem.retrieval.settings import Retrieval
from nousmem.scope import GLOBAL, SCOPE_FIELDS, Scope
from nousmem.viz.explorer._sources import Ask, Source
from nousmem.viz.explorer.ranking_html import shortened

__all__ = ["Question", "hint", "matching", "query_choice", "scope_choice"]


_LONGEST: Final = 160
"""Characters of a query in a list: no list is wider."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to one source: one of its queries as it was asked, or changed, or a free one."""

    source: Source
    query: Query | None
    """The query of the corpus that is asked; None: a question of the user's own."""
    text: str
    scope: Scope
    as_of: datetime | None
    now: datetime

    @classmethod
    def of(cls, source: Source, query: Query) -> Question:
        """Return a query of the corpus as it was asked."""
        return cls(source, query, query.text, query.scope, query.as_of, query.now)

    @classmethod
    def first(cls, source: Source, *, now: datetime | None = None) -> Question:
        """Return what a source is asked first: its first query, or nothing yet.

        Args:
            source: What is asked.
            now: The instant ages are counted from where the source has no queries; None is the
                wall clock.
        """
        judged = [query for query in source.queries if any(_grades(source, query).values())]
        for query in judged or source.queries:
            return cls.of(source, query)
        return cls(source, None, "", GLOBAL, None, now or datetime.now(UTC))

    def typed(self, text: str) -> Question:
        """Return a question of the user's own under the same circumstances."""
        return replace(self, query=None, text=text)

    def within(self, scope: Scope) -> Question:
        """Return the question in another scope."""
        return replace(self, scope=scope)

    def seen_at(self, as_of: datetime | None) -> Question:
        """Return the question asked at another instant; None: of everything, whenever created.

        Ages are counted from the same instant; without one, from where they were.
        """
        return replace(self, as_of=as_of, now=as_of or self.now)

    @property
    def grades(self) -> dict[str, int]:
        """The judged relevance of entries, by id; empty for a question of the user's own."""
        return {} if self.query is None else _grades(self.source, self.query)

    def ask(self, retrieval: Retrieval, *, limit: int) -> Ask:
        """Return what to find, and how, to show `limit` hits."""
        return Ask(
            text=self.text,
            scope=self.scope,
            now=self.now,
            as_of=self.as_of,
            retrieval=retrieval,
            depth=retrieval.depth_for(limit),
            part=self.source.part_of(self.query),
        )


def hint(question: Question) -> str:
    """Return what may be done where a question finds nothing."""
    if question.source.empty:
        return "There are no memories here yet."
    narrowed = [
        *([scope_choice(question.scope)] if question.scope != GLOBAL else []),
        *(
            [f"what was there on {question.as_of:%Y-%m-%d %H:%M}"]
            if question.as_of is not None
            else []
        ),
    ]
    if not narrowed:
        return "No memory matches these words: try others."
    return f"Only {' and '.join(narrowed)} is looked at: try other words, or widen that."


def matching(queries: Sequence[Query], words: str) -> list[Query]:
    """Return the queries with every one of these words in their text, category or id."""
    wanted = words.casefold().split()
    return [
        query
        for query in queries
        if all(
            word in f"{query.text} {query.category} {query.query_id}".casefold() for word in wanted
        )
    ]


def query_choice(query: Query) -> str:
    """Return a query as one line of a list."""
    kind = f"{query.category}: " if query.category else ""
    return f"{kind}{shortened(query.text, _LONGEST)}  [{query.query_id}]"


def scope_choice(scope: Scope) -> str:
    """Return a scope as one line of a list."""
    parts = [
        f"{name.removesuffix('_id')} {value!r}"
        for name in SCOPE_FIELDS
        if (value := getattr(scope, name)) is not None
    ]
    return ", ".join(parts) or "everybody's memories"


def _grades(source: Source, query: Query) -> dict[str, int]:
    return dict(source.judged.get(query.query_id, {}))
