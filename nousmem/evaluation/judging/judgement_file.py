"""The file that judgements are written to, one by one: qrels at every moment."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nousmem.corpora.files import PathLike
from nousmem.corpora.reading import read_text
from nousmem.entry import parse_instant
from nousmem.errors import CorpusError, InvalidEntry

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEVELS", "Judgement", "JudgementFile", "Pair", "read_qrels"]

LEVELS: Final[Mapping[int, str]] = {2: "relevant", 1: "partly relevant", 0: "not relevant"}
"""What a judge may say of a candidate, by the relevance that is written."""

_COLUMNS: Final = (
    "query_id",
    "doc_id",
    "relevance",
    "judged_at",
    "pool",
    "text_rank",
    "vector_rank",
)

Pair = tuple[str, str]
"""query_id and doc_id."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of one candidate, and how it came to be judged."""

    query_id: str
    doc_id: str
    """The candidate's id."""
    relevance: int
    """2 relevant, 1 partly, 0 not."""
    judged_at: datetime
    """UTC, to the second."""
    pool: str = ""
    """The legs that were read, and how deep, such as `text+vector@20`."""
    text_rank: int | None = None
    """Rank in the text leg when the pool was proposed; None where it did not propose it."""
    vector_rank: int | None = None
    """The same for the vector leg."""

    @property
    def pair(self) -> Pair:
        """What is judged: query_id and doc_id."""
        return (self.query_id, self.doc_id)


class JudgementFile:
    """Judgements in a file of tab-separated values, which is a table of qrels at every moment.

    Columns: query_id, doc_id, relevance, judged_at (ISO 8601, UTC), pool (legs and depth), and
    text_rank, vector_rank, empty where a leg did not propose the entry. The ranks in legs of one's
    own are not kept: they stand in the pool.

    A new judgement appends a line, which is on the disk when `put` returns. One that is changed
    or withdrawn replaces the file in one step, since a table of qrels may judge a pair only once.
    A last line that was cut off in a crash is left out, and that candidate is unjudged again.
    Each operation reads the file anew, at a cost that grows with it (about 4 ms for
    1,000 judgements), so that what another program appended meanwhile is not lost.

    Args:
        path: The file; made, with its folder, by the first judgement.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path).expanduser()

    def read(self) -> dict[Pair, Judgement]:
        """Return the judgements in the order they were made; none without a file.

        Raises:
            CorpusError: the file is not one of these; it judges a pair twice.
        """
        return _read(self.path)[0]

    def put(self, judgement: Judgement) -> None:
        """Keep a judgement; one of the same pair is replaced.

        Raises:
            CorpusError: the file is not one of these, or cannot be written.
        """
        found, whole = _read(self.path)
        if judgement.pair in found or not whole:
            self._replace({**found, judgement.pair: judgement})
            return
        start = [] if found else [_COLUMNS]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8", newline="") as stream:
                stream.write(_lines([*start, _cells(judgement)]))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self, pair: Pair) -> None:
        """Withdraw the judgement of a pair; nothing happens where there is none.

        Raises:
            CorpusError: the file is not one of these, or cannot be written.
        """
        found, _ = _read(self.path)
        if pair in found:
            self._replace({key: value for key, value in found.items() if key != pair})

    def _replace(self, judgements: Mapping[Pair, Judgement]) -> None:
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        rows = [_COLUMNS, *(_cells(judgement) for judgement in judgements.values())]
        try:
            with beside.open("w", encoding="utf-8", newline="") as stream:
                stream.write(_lines(rows))
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> CorpusError:
        return CorpusError(f"cannot write {self.path}: {error.strerror or error}")


def read_qrels(path: PathLike) -> pd.DataFrame:
    """Return the judgements of a JudgementFile as qrels, in the order they were made.

    Columns:
        query_id, doc_id: Text.
        relevance: 2 relevant, 1 partly, 0 judged and not relevant.
        judged_at: UTC instant.
        pool: The legs that were read and how deep, such as `text+vector@20`.
        text_rank, vector_rank: Rank in each leg when the pool was proposed, missing where the
            leg did not propose the entry.

    Raises:
        CorpusError: there is no such file, or it is not one of these.
    """
    import pandas as pd

    file = JudgementFile(path)
    if not file.path.is_file():
        raise CorpusError(f"there are no judgements at {file.path}: label some candidates first")
    rows = list(file.read().values())
    return pd.DataFrame(
        {
            "query_id": pd.Series([row.query_id for row in rows], dtype="str"),
            "doc_id": pd.Series([row.doc_id for row in rows], dtype="str"),
            "relevance": pd.Series([row.relevance for row in rows], dtype="int64"),
            "judged_at": pd.Series([row.judged_at for row in rows], dtype="datetime64[us, UTC]"),
            "pool": pd.Series([row.pool for row in rows], dtype="str"),
            "text_rank": pd.Series([row.text_rank for row in rows], dtype="Int64"),
            "vector_rank": pd.Series([row.vector_rank for row in rows], dtype="Int64"),
        }
    )


def _read(path: Path) -> tuple[dict[Pair, Judgement], bool]:
    """Return the judgements, and whether another line can be appended as the file stands."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return {}, True
    text = read_text(path).replace("\r\n", "\n")
    if _lines([_COLUMNS]).startswith(text):
        return {}, False  # cut off in the very first line, or nothing after it
    complete, _, rest = text.rpartition("\n")
    rows = _rows(path, complete)
    if not rows or tuple(rows[0][1]) != _COLUMNS:
        raise CorpusError(
            f"{path}: line 1: expected the columns {', '.join(_COLUMNS)}, separated by tabs: not "
            "a file of judgements; name another one"
        )
    found: dict[Pair, Judgement] = {}
    for line, cells in rows[1:]:
        try:
            judgement = _judgement(cells)
        except ValueError as error:
            raise CorpusError(f"{path}: line {line}: {error}") from None
        if judgement.pair in found:
            raise CorpusError(
                f"{path}: line {line}: query {judgement.query_id!r} and entry "
                f"{judgement.doc_id!r} are judged twice; remove one of the lines"
            )
        found[judgement.pair] = judgement
    if rest:
        last = _last_line(rest)
        found.update({} if last is None else {last.pair: last})
    return found, not rest


def _last_line(text: str) -> Judgement | None:
    """Return a line without its end: whole where an editor left the end out, else cut off."""
    try:
        return _judgement(next(csv.reader([text], delimiter="\t", strict=True)))
    except (csv.Error, ValueError):
        return None


def _rows(path: Path, text: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise CorpusError(f"{path}: line {reader.line_num}: {error}") from None


def _judgement(cells: list[str]) -> Judgement:
    """Read a line's cells.

    Raises:
        ValueError: they are not a judgement.
    """
    if len(cells) != len(_COLUMNS):
        raise ValueError(f"expected {len(_COLUMNS)} columns, got {len(cells)}")
    query_id, doc_id, relevance, judged_at, pool, text_rank, vector_rank = cells
    if not query_id or not doc_id:
        raise ValueError("the query_id or the doc_id is missing")
    try:
        return Judgement(
            query_id,
            doc_id,
            int(relevance),
            parse_instant(judged_at),
            pool,
            int(text_rank) if text_rank else None,
            int(vector_rank) if vector_rank else None,
        )
    except InvalidEntry as error:
        raise ValueError(f"judged_at: {error}") from None


def _cells(judgement: Judgement) -> tuple[object, ...]:
    moment = judgement.judged_at.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return (
        judgement.query_id,
        judgement.doc_id,
        judgement.relevance,
        f"{moment.isoformat()}Z",
        judgement.pool,
        judgement.text_rank,
        judgement.vector_rank,
    )


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    return text.getvalue()
