"""Labelling a pool, one candidate after another: what every front end of it shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nousmem.corpora.files import PathLike
from nousmem.corpora.tables import Row, identifier, read_rows
from nousmem.entry import parse_instant
from nousmem.errors import InvalidParameter
from nousmem.evaluation.judging.judgement_file import LEVELS, Judgement, JudgementFile, Pair

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KEYS", "LabelCandidate", "LabelProgress", "LabelSession", "wall_clock"]

KEYS: Final = {
    "2": "relevant",
    "r": "relevant",
    "1": "partly relevant",
    "p": "partly relevant",
    "0": "not relevant",
    "n": "not relevant",
    "s": "skip",
    "u": "undo",
    "j": "next",
    "k": "previous",
}
"""What each key does."""

_LEVEL_OF: Final = {name: relevance for relevance, name in LEVELS.items()}
_NEEDED: Final = ("query_id", "text", "doc_id", "content")


@dataclass(frozen=True, slots=True)
class LabelCandidate:
    """One row of a pool, as the judge sees it."""

    query_id: str
    text: str
    """What the query asks."""
    doc_id: str
    """The candidate's id."""
    content: str
    """Its text."""
    number: int
    """Place among the query's candidates, from 1."""
    of: int
    """How many candidates the query has."""
    as_of: datetime | None
    """When the query was asked, UTC; None where the pool does not say."""
    created_at: datetime | None
    """When the candidate was remembered, UTC; None likewise."""
    pool: str
    """The legs that were read and how deep, such as `text+vector@30`; "" likewise."""
    text_rank: int | None
    """From 1; None where the leg did not propose it. Not for the judge's eyes."""
    vector_rank: int | None
    """The same for the vector leg."""

    @property
    def pair(self) -> Pair:
        """What is judged: query_id and doc_id."""
        return (self.query_id, self.doc_id)


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """How far a pool is labelled."""

    candidates: int
    """Rows of the pool."""
    judged: int
    """Of these, how many have a judgement in the file."""
    relevant: int
    """Judged 1 or 2."""
    skipped: int
    """Left out in this session; they come up again in the next."""
    queries: int
    """Queries of the pool."""
    queries_done: int
    """Queries without an unjudged candidate."""


class LabelSession:
    """Goes through a pool, writing each judgement to a file at once.

    What the file judges already is not asked again, so that a session goes on where the last one
    ended. A skipped candidate stays unjudged, and comes up again in the next session.

    Args:
        pool: As `propose_pool` returns it, or the path of a CSV file of it. Needed are the columns
            query_id, text, doc_id and content.
        path: The file of judgements; made by the first one.
        clock: Gives the instant that is noted with a judgement.

    Attributes:
        candidates: The rows of the pool in its order, whether they are judged or not.

    Raises:
        InvalidParameter: the pool lacks a column.
        CorpusError: the file exists and is not one of judgements; the pool's file is damaged.
        CorpusFileMissing: there is no file of the pool at the path.
    """

    def __init__(
        self,
        pool: pd.DataFrame | PathLike | Iterable[Row],
        path: PathLike,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.candidates = _candidates(read_rows(pool, what="the pool"))
        self._by_query: dict[str, list[LabelCandidate]] = {}
        for one in self.candidates:
            self._by_query.setdefault(one.query_id, []).append(one)
        self._file = JudgementFile(path)
        self._clock = wall_clock if clock is None else clock
        self._levels = {pair: one.relevance for pair, one in self._file.read().items()}
        self._skipped: set[Pair] = set()
        self._done: list[tuple[int, int | None, bool]] = []
        self._at = self._next_open(0)

    @property
    def path(self) -> Path:
        """The file of judgements."""
        return self._file.path

    @property
    def current(self) -> LabelCandidate | None:
        """The candidate that is asked about; None when nothing is left."""
        return self.candidates[self._at] if self._at < len(self.candidates) else None

    @property
    def progress(self) -> LabelProgress:
        """How far the pool is labelled."""
        levels = [self._levels.get(one.pair) for one in self.candidates]
        waiting = {
            one.query_id
            for one, level in zip(self.candidates, levels, strict=True)
            if level is None
        }
        queries = len(self._by_query)
        return LabelProgress(
            candidates=len(levels),
            judged=sum(level is not None for level in levels),
            relevant=sum(bool(level) for level in levels),
            skipped=len(self._skipped),
            queries=queries,
            queries_done=queries - len(waiting),
        )

    def query_ids(self) -> list[str]:
        """Return the queries of the pool, in its order."""
        return list(self._by_query)

    def of_query(self, query_id: str) -> list[LabelCandidate]:
        """Return a query's candidates, in the pool's order; none for an unknown query."""
        return list(self._by_query.get(query_id, ()))

    def level(self, candidate: LabelCandidate) -> int | None:
        """Return what was judged: 2, 1 or 0; None for what is not judged."""
        return self._levels.get(candidate.pair)

    def skipped(self, candidate: LabelCandidate) -> bool:
        """Whether the candidate was left out in this session."""
        return candidate.pair in self._skipped

    def press(self, keys: str) -> None:
        """Do what the keys say, one after another; spaces between them are allowed.

        2 or r: relevant, 1 or p: partly, 0 or n: not, s: skip, u: undo, j: next, k: previous.
        Keys left over when nothing is left to judge do nothing.

        Raises:
            InvalidParameter: a key has no meaning; then none is obeyed.
        """
        wanted = [key.lower() for key in keys if not key.isspace()]
        for key in wanted:
            if key not in KEYS:
                meanings = "2 or r, 1 or p, 0 or n, s skip, u undo, j next, k previous"
                raise InvalidParameter(f"no key {key!r}; keys: {meanings}")
        for key in wanted:
            match KEYS[key]:
                case "skip":
                    self.skip()
                case "undo":
                    self.undo()
                case "next":
                    self.move(1)
                case "previous":
                    self.move(-1)
                case name:
                    self.judge(_LEVEL_OF[name])

    def judge(self, relevance: int) -> None:
        """Judge the current candidate, write it down, and go to the next that is not judged.

        Raises:
            InvalidParameter: the relevance is not 2, 1 or 0.
            CorpusError: the file cannot be written; then nothing has changed.
        """
        if relevance not in LEVELS:
            raise InvalidParameter(f"relevance must be 2, 1 or 0, got {relevance!r}")
        one = self.current
        if one is None:
            return
        self._write(one, relevance)
        self._done.append((self._at, self._levels.get(one.pair), self.skipped(one)))
        self._levels[one.pair] = relevance
        self._skipped.discard(one.pair)
        self._at = self._next_open(self._at + 1)

    def skip(self) -> None:
        """Leave the current candidate as it is and go to the next that is not judged."""
        one = self.current
        if one is None:
            return
        self._done.append((self._at, self._levels.get(one.pair), self.skipped(one)))
        if one.pair not in self._levels:
            self._skipped.add(one.pair)
        self._at = self._next_open(self._at + 1)

    def undo(self) -> None:
        """Take back the last judgement or skip of this session and go to its candidate."""
        if not self._done:
            return
        at, level, skipped = self._done[-1]
        one = self.candidates[at]
        if level is None:
            self._file.remove(one.pair)
            self._levels.pop(one.pair, None)
        elif level != self._levels[one.pair]:
            self._write(one, level)
            self._levels[one.pair] = level
        (self._skipped.add if skipped else self._skipped.discard)(one.pair)
        self._done.pop()
        self._at = at

    def move(self, step: int) -> None:
        """Go this many candidates on (or back), judged or not; the ends of the pool are ends."""
        self._at = max(0, min(self._at + step, len(self.candidates) - 1))

    def go_to(self, candidate: LabelCandidate) -> None:
        """Make this the current candidate."""
        self._at = self.candidates.index(candidate)

    def go_to_query(self, query_id: str) -> None:
        """Go to a query's first candidate that is not judged, else to its first.

        Raises:
            InvalidParameter: the pool has no such query.
        """
        own = self.of_query(query_id)
        if not own:
            raise InvalidParameter(f"the pool has no query {query_id!r}")
        self.go_to(next((one for one in own if self.level(one) is None), own[0]))

    def _write(self, one: LabelCandidate, relevance: int) -> None:
        self._file.put(
            Judgement(
                one.query_id,
                one.doc_id,
                relevance,
                parse_instant(self._clock()),
                one.pool,
                one.text_rank,
                one.vector_rank,
            )
        )

    def _next_open(self, start: int) -> int:
        """Return the next place to ask about, from `start` and round again; else the end."""
        n = len(self.candidates)
        for at in (*range(start, n), *range(min(start, n))):
            pair = self.candidates[at].pair
            if pair not in self._levels and pair not in self._skipped:
                return at
        return n


def wall_clock() -> datetime:
    """Return the wall clock's instant."""
    return datetime.now(UTC)


def _candidates(rows: list[Row]) -> tuple[LabelCandidate, ...]:
    missing = [name for name in _NEEDED if rows and name not in rows[0]]
    if missing:
        raise InvalidParameter(
            f"the pool must have the columns {', '.join(_NEEDED)}: see "
            f"propose_pool; missing: {', '.join(missing)}"
        )
    sizes: dict[str, int] = {}
    numbers: list[int] = []
    for row in rows:
        query_id = identifier(row["query_id"])
        sizes[query_id] = sizes.get(query_id, 0) + 1
        numbers.append(sizes[query_id])
    return tuple(
        LabelCandidate(
            query_id=identifier(row["query_id"]),
            text=str(row["text"]),
            doc_id=identifier(row["doc_id"]),
            content=str(row["content"]),
            number=number,
            of=sizes[identifier(row["query_id"])],
            as_of=_instant(row.get("as_of")),
            created_at=_instant(row.get("created_at")),
            pool=str(row.get("pool") or ""),
            text_rank=_rank(row.get("text_rank")),
            vector_rank=_rank(row.get("vector_rank")),
        )
        for row, number in zip(rows, numbers, strict=True)
    )


def _instant(value: Any) -> datetime | None:
    return None if value is None else parse_instant(value, assume_utc=True)


def _rank(value: Any) -> int | None:
    return None if value is None else int(value)
