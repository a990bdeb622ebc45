"""A corpus from your own tables, or from a store and a table of judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.corpora._corpus import Card, Corpus, Query
from nousmem.corpora._dates import TIMELESS
from nousmem.corpora._fields import ID_COLUMNS, QRELS_COLUMNS, QUERY_COLUMNS
from nousmem.corpora._foreign_dates import without_foreign_dates
from nousmem.corpora._judgements import qrels_frame
from nousmem.corpora._reach import check_reach
from nousmem.corpora._table_entries import make_entries
from nousmem.corpora.files import PathLike
from nousmem.corpora.tables import (
    TABLE_SUFFIXES,
    Problems,
    Row,
    column_names,
    columns_by_table,
    guess_columns,
    identifier,
    json_value,
    no_column,
    not_a_folder,
    parse_json_cell,
    read_rows,
)
from nousmem.entry import Entry, parse_instant
from nousmem.errors import CorpusError, CorpusFileMissing, InvalidEntry, InvalidParameter
from nousmem.scope import SCOPE_FIELDS, Scope
from nousmem.stores.base import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["corpus_from_frames", "load_tables", "read_queries"]

_MOST_RELEVANT: Final = 2**31
_MARKS: Final = ("newest", "outdated")


def corpus_from_frames(
    entries: pd.DataFrame | PathLike | Iterable[Row] | Iterable[Entry] | Store,
    queries: pd.DataFrame | PathLike | Iterable[Row] | None,
    qrels: pd.DataFrame | PathLike | Iterable[Row] | None,
    *,
    name: str = "custom",
    title: str = "",
    licence: str = "not stated",
    source: str = "the caller's tables",
    now: datetime | None = None,
    entry_columns: Mapping[str, str] | None = None,
    query_columns: Mapping[str, str] | None = None,
    qrels_columns: Mapping[str, str] | None = None,
    partition_field: str | None = None,
    fold_field: str = "user_id",
) -> Corpus:
    """Make a corpus from tables, checking everything before anything is run on it.

    A table is a data frame, the path of a CSV, TSV, JSON Lines, JSON or Parquet file, or a list
    of rows. Columns are found by their usual names (`doc_id`, `docno`, `id`; `content`, `text`,
    `memory`; `query`, `question`; `qid`; `label`, `relevance`); name the others. Times without an
    offset are read as UTC.

    Args:
        entries: The memories: a table, entries, or a store (what is superseded is left out).
            Columns are an entry's fields; content is needed. Without a column of ids, they are
            made from text, time and scope, and a row that repeats another is left out. Without
            created_at, all are dated alike. Other columns are kept in the entry's metadata.
        queries: The questions: query_id, text, and if there are any now, as_of, category and
            scope fields. Other columns are kept in the query's metadata. None: the qrels have
            the question in each row.
        qrels: The judgements: doc_id or the entry's text, query_id or the question's text, and
            relevance (a whole number; without such a column every row counts 1; below 0 is read
            as 0).
        name: The corpus's name.
        title: For its card. Default: `name`.
        licence: For its card.
        source: For its card.
        now: When a question without `now` is asked. Default: the latest entry's time.
        entry_columns: Field to column, where the usual names do not find it.
        query_columns: The same for `queries`.
        qrels_columns: The same for `qrels`.
        partition_field: The scope field whose values get a store each.
        fold_field: The scope field that groups queries for tuning.

    Raises:
        CorpusError: something is wrong in the tables; the message lists all of it. Or a file is
            damaged, no entry is judged above 0, the scope of no query holds an entry (where
            that is so of some queries, there is a warning), or `partition_field` is no scope
            field.
        CorpusFileMissing: there is no file at a path.
        InvalidEntry: `now` is not an instant.
        InvalidParameter: a field or column that is named does not exist, there
            are no qrels, or what is given is not a table.
    """
    if qrels is None:
        raise InvalidParameter(
            "a corpus needs judgements: a table with query_id, doc_id and relevance. Without any "
            "yet, make some with `nousmem label`, or look at the entries with RankingExplorer"
        )
    problems, faults = Problems(), Counter[str]()
    made = make_entries(entries, entry_columns or {}, now, faults=faults, problems=problems)
    latest = max((entry.created_at for entry in made.values()), default=TIMELESS)
    asked = latest if now is None else parse_instant(now, assume_utc=True)
    judged = read_rows(qrels, what="qrels")
    columns = guess_columns(
        column_names(judged), QRELS_COLUMNS, qrels_columns or {}, what="qrels", warn=True
    )
    if queries is None:
        made_queries = _queries_of_qrels(judged, columns, asked, problems)
    else:
        rows = read_rows(queries, what="queries")
        made_queries = _make_queries(rows, query_columns or {}, asked, problems)
    judgements = _make_judgements(
        judged, columns, made, made_queries, faults=faults, problems=problems
    )
    problems.raise_any(name)
    answered = {query_id for query_id, _, relevance in judgements if relevance > 0}
    kept = [query for query in made_queries.values() if query.query_id in answered]
    if not kept:
        raise CorpusError(f"corpus {name!r}: no query has an entry judged above 0")
    check_reach(name, tuple(made.values()), kept)
    unanswered = len(made_queries) - len(kept)
    return Corpus(
        name,
        entries=tuple(made.values()),
        queries=tuple(kept),
        qrels=qrels_frame(row for row in judgements if row[0] in answered),
        card=Card(
            title or name,
            licence=licence,
            source=source,
            faults=dict(faults),
            excluded={"no entry judged relevant": unanswered} if unanswered else {},
        ),
        partition_field=partition_field,
        fold_field=fold_field,
    )


def read_queries(
    queries: pd.DataFrame | PathLike | Iterable[Row],
    *,
    now: datetime = TIMELESS,
    columns: Mapping[str, str] | None = None,
) -> list[Query]:
    """Read a table of questions as `corpus_from_frames` does, ids included.

    Args:
        queries: As in `corpus_from_frames`. A question without an id is `q` and its row, from 1.
        now: When a question without `now` is asked.
        columns: Field to column, where the usual names do not find it.

    Raises:
        CorpusError: something is wrong in the table; the message lists all of it.
        CorpusFileMissing: there is no file at the path.
        InvalidParameter: a field or column that is named does not exist.
    """
    problems = Problems()
    asked = parse_instant(now, assume_utc=True)
    made = _make_queries(read_rows(queries, what="queries"), columns or {}, asked, problems)
    problems.raise_any("queries")
    return list(made.values())


def load_tables(
    path: PathLike | None = None,
    *,
    now: datetime | None = None,
    columns: Mapping[str, str] | None = None,
    partition_field: str | None = None,
    fold_field: str = "user_id",
) -> Corpus:
    """Load a folder with your own tables: entries.*, qrels.* and, if apart, queries.*.

    Args:
        path: The folder; the files end in .csv, .tsv, .jsonl, .json or .parquet.
        now: As in `corpus_from_frames`.
        columns: Field to column, where the usual names do not find it; a field of the queries or
            qrels is named with its table, as in `{"content": "note", "queries.text": "asked"}`.
        partition_field: As in `corpus_from_frames`.
        fold_field: As in `corpus_from_frames`.

    Raises:
        CorpusFileMissing: no path, no such folder, or no file of entries or qrels in it.
        CorpusError, InvalidEntry: as in `corpus_from_frames`.
    """
    if path is None:
        raise CorpusFileMissing(
            "corpus 'tables' needs path=, a folder with entries.csv, queries.csv and qrels.csv "
            f"(or {', '.join(TABLE_SUFFIXES[1:])})"
        )
    folder = _folder(Path(path).expanduser())
    named = columns_by_table(columns or {})
    queries = _table(folder, "queries", needed=False)
    return corpus_from_frames(
        _table(folder, "entries", needed=True) or folder,
        queries,
        _table(folder, "qrels", needed=True) or folder,
        name=folder.resolve().name,
        source=str(folder),
        now=now,
        entry_columns=named["entries"],
        query_columns=named["queries"],
        qrels_columns=named["qrels"],
        partition_field=partition_field,
        fold_field=fold_field,
    )


def _folder(path: Path) -> Path:
    """Return the path, which must be a folder."""
    if path.is_dir():
        return path
    if not path.exists():
        raise CorpusFileMissing(f"corpus 'tables': there is no folder at {path}")
    raise CorpusFileMissing(f"corpus 'tables': {not_a_folder(path)}")


def _table(folder: Path, name: str, *, needed: bool) -> Path | None:
    found = [file for suffix in TABLE_SUFFIXES if (file := folder / f"{name}{suffix}").is_file()]
    if not found and needed:
        names = ", ".join(f"{name}{suffix}" for suffix in TABLE_SUFFIXES)
        how = (
            f"; `nousmem label {folder}/entries.csv {folder}/queries.csv --out {folder}/qrels.tsv` "
            "makes it"
            if name == "qrels"
            else ""
        )
        raise CorpusFileMissing(f"corpus 'tables': the folder {folder} holds none of {names}{how}")
    return found[0] if found else None


def _make_queries(
    rows: list[Row], given: Mapping[str, str], now: datetime, problems: Problems
) -> dict[str, Query]:
    columns = guess_columns(column_names(rows), QUERY_COLUMNS, given, what="queries", warn=True)
    if not rows:
        problems.add("queries have no rows")
        return {}
    if "text" not in columns:
        problems.add(no_column("queries", "text", QUERY_COLUMNS["text"], rows))
        return {}
    rows = without_foreign_dates(
        rows, columns, ("now", "as_of"), what="queries", problems=problems, instead=now
    )
    made: dict[str, Query] = {}
    for number, row in enumerate(rows, start=1):
        cells = {name: row.get(column) for name, column in columns.items()}
        text = cells["text"]
        query_id = f"q{number}" if cells.get("query_id") is None else identifier(cells["query_id"])
        if not isinstance(text, str) or not text.strip():
            problems.add("queries: the text is missing", f"row {number}")
            problems.refused.add(query_id)
            continue
        if query_id in made:
            problems.add("queries: the query_id repeats", query_id)
        scope = {key: identifier(cells[key]) for key in SCOPE_FIELDS if cells.get(key) is not None}
        extra = {
            column: json_value(value)
            for column, value in row.items()
            if column not in columns.values() and value is not None
        }
        try:
            extra |= {mark: _ids(mark, extra[mark]) for mark in _MARKS if mark in extra}
            made[query_id] = Query(
                query_id,
                text,
                now=now if cells.get("now") is None else _instant(cells["now"]),
                as_of=None if cells.get("as_of") is None else _instant(cells["as_of"]),
                scope=Scope(**scope),
                category="" if cells.get("category") is None else str(cells["category"]),
                metadata=extra,
            )
        except (InvalidEntry, ValueError) as error:
            problems.add(f"queries: {error}", f"row {number}")
            problems.refused.add(query_id)
    return made


def _ids(mark: str, value: Any) -> list[str]:
    """Return the ids in a cell; files without types have a list as JSON text."""
    listed: object = parse_json_cell(value) if isinstance(value, str) else value
    if isinstance(listed, list):
        return [identifier(one) for one in cast("list[object]", listed)]
    raise ValueError(f'{mark} must be a list of entry ids such as ["m1"], got {value!r}')


def _instant(value: Any) -> datetime:
    return parse_instant(value, assume_utc=True)


def _queries_of_qrels(
    rows: list[Row], columns: Mapping[str, str], now: datetime, problems: Problems
) -> dict[str, Query]:
    """Return the questions that stand in the judgements' own rows, in order of appearance."""
    if "text" not in columns:
        usual = ", ".join(QRELS_COLUMNS["text"])
        problems.add(f"without queries the qrels need a column for text (usual names: {usual})")
        return {}
    texts: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        text = row.get(columns["text"])
        if not isinstance(text, str) or not text.strip():
            problems.add("qrels: the question is missing", f"row {number}")
            continue
        named = row.get(columns["query_id"]) if "query_id" in columns else None
        known = (query_id for query_id, other in texts.items() if other == text)
        query_id = next(known, f"q{len(texts) + 1}") if named is None else identifier(named)
        if texts.setdefault(query_id, text) != text:
            problems.add("qrels: one query_id has two questions", query_id)
    return {query_id: Query(query_id, text, now=now) for query_id, text in texts.items()}


def _make_judgements(
    rows: list[Row],
    columns: Mapping[str, str],
    entries: Mapping[str, Entry],
    queries: Mapping[str, Query],
    *,
    faults: Counter[str],
    problems: Problems,
) -> list[tuple[str, str, int]]:
    if not _judgeable(rows, columns, problems):
        return []
    by_text = {query.text: query.query_id for query in queries.values()}
    by_content: dict[str, list[str]] = {}
    for entry in entries.values():
        by_content.setdefault(entry.content, []).append(entry.id)
    made: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, start=1):
        named = row.get(columns["query_id"]) if "query_id" in columns else None
        text = row.get(columns["text"]) if "text" in columns else None
        query_id = by_text.get(cast("str", text), "") if named is None else identifier(named)
        named = row.get(columns["doc_id" if "doc_id" in columns else "content"])
        same = [] if "doc_id" in columns else by_content.get(str(named), [])
        if len(same) > 1:
            problems.add("qrels: several entries have this text: judge them by id", str(named))
        doc_id = same[0] if same else identifier(named)
        if queries and query_id not in queries and query_id not in problems.refused:
            problems.add("qrels name a query that does not exist", query_id or f"row {number}")
        if entries and doc_id not in entries and doc_id not in problems.refused:
            if doc_id in by_content:
                problems.add(_texts_for_ids(columns["doc_id"]), repr(doc_id))
            else:
                problems.add("qrels name an entry that does not exist", doc_id)
        relevance = _relevance(row.get(columns["relevance"]) if "relevance" in columns else 1)
        if relevance is None:
            problems.add("qrels: the relevance is not a whole number", f"row {number}")
            continue
        if relevance < 0:
            faults["judgement below 0, read as not relevant"] += 1
        earlier = made.setdefault((query_id, doc_id), max(relevance, 0))
        if earlier != max(relevance, 0):
            problems.add("qrels judge a query and entry twice, differently", f"row {number}")
    return [(query_id, doc_id, relevance) for (query_id, doc_id), relevance in made.items()]


def _texts_for_ids(column: str) -> str:
    return (
        f"qrels: the column {column!r} is read as ids of entries, but these are texts, not ids: "
        f"name it as qrels.content={column}"
    )


def _judgeable(rows: list[Row], columns: Mapping[str, str], problems: Problems) -> bool:
    """Whether the judgements say which entry and which question they are about."""
    if not rows:
        problems.add("qrels have no rows")
        return False
    has_entry = not {"doc_id", "content"}.isdisjoint(columns)
    has_query = not {"query_id", "text"}.isdisjoint(columns)
    if not has_entry:
        problems.add(
            f"{no_column('qrels', 'doc_id', ID_COLUMNS, rows)}, or where the column holds the "
            "entries' texts, qrels.content=COLUMN"
        )
    if not has_query:
        problems.add("qrels have no column for query_id, nor one with the question")
    return has_entry and has_query


def _relevance(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and abs(number) < _MOST_RELEVANT else None
