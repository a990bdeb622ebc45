"""`nousmem label`: judge the candidates of one's own queries in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from nousmem.cli._columns import Columns, parse_columns
from nousmem.cli._opening import EmbedderName, opened
from nousmem.cli._output import frame_records, print_json, print_table
from nousmem.corpora import read_entries
from nousmem.corpora.frames import read_queries
from nousmem.corpora.tables import TABLE_SUFFIXES, columns_by_table
from nousmem.embeddings import Embedder, embed, open_embedder
from nousmem.errors import CorpusError, InvalidParameter, StoreError
from nousmem.evaluation.judging.judgement_file import LEVELS
from nousmem.evaluation.judging.labelling import KEYS, LabelCandidate, LabelSession
from nousmem.evaluation.judging.proposing import (
    judged_share,
    leg_contributions,
    propose_pool,
    read_qrels,
)
from nousmem.stores import Store

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["label"]

_PROMPT: Final = "2 relevant  1 partly  0 no  s skip  u undo  j next  k previous  q quit"
_ARROWS: Final = {"\x1b[A": "k", "\x1b[B": "j", "\x1bOA": "k", "\x1bOB": "j"}


def label(
    store: Annotated[
        str,
        typer.Argument(help="Store URL, such as sqlite:memories.db, or a table of memories."),
    ],
    queries: Annotated[
        Path, typer.Argument(help="Table of queries (.csv, .tsv, .jsonl, .json, .parquet).")
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="The judgements; default qrels.tsv (pool.csv for a pool).")
    ] = None,
    depth: Annotated[int, typer.Option(help="Entries read from each leg.")] = 30,
    embedder: EmbedderName = "none",
    seed: Annotated[int, typer.Option(help="Chooses the order candidates come in.")] = 0,
    propose_only: Annotated[
        bool, typer.Option("--propose-only", help="Write the candidates as CSV and stop.")
    ] = False,
    column: Columns = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON; ask on standard error.")
    ] = False,
) -> None:
    """Propose candidates for each query, ask what is relevant, and write qrels; can be resumed."""
    named = columns_by_table(parse_columns(column))
    asked = read_queries(queries, columns=named["queries"])
    model = open_embedder(embedder)
    with _searched(store, model, named["entries"]) as searched:
        if not searched.list(limit=1):
            raise StoreError(f"the store {store} is empty: `nousmem import` fills it from a file")
        proposed = propose_pool(
            searched, asked, depth=depth, embedder=model, seed=seed, progress=True
        )
    without = [one.query_id for one in asked if one.query_id not in set(proposed["query_id"])]
    if propose_only:
        _write_pool(proposed, out or Path("pool.csv"), without, as_json=as_json)
        return
    session = LabelSession(proposed, out or Path("qrels.tsv"))
    console = Console(stderr=as_json, highlight=False, markup=False, soft_wrap=True)
    for query_id in without:
        console.print(f"{query_id}: nothing is found for it, so there is nothing to judge")
    _ask(session, console)
    _print_summary(session, proposed, without, as_json=as_json)


@contextmanager
def _searched(place: str, model: Embedder | None, columns: Mapping[str, str]) -> Generator[Store]:
    """Open what candidates come from: a store, or a table whose entries go into one in memory."""
    if Path(place).suffix.lower() not in TABLE_SUFFIXES or not Path(place).exists():
        if columns:
            raise InvalidParameter(f"{place} is a store, which has no columns to name")
        with opened(place, exists=True) as store:
            yield store
        return
    entries = read_entries(place, columns=columns)
    with opened("sqlite::memory:") as store:
        store.put(entries if model is None else embed(entries, model, progress=True))
        yield store


def _write_pool(pool: pd.DataFrame, file: Path, without: list[str], *, as_json: bool) -> None:
    try:
        pool.to_csv(file, index=False)
    except OSError as error:
        raise CorpusError(f"cannot write {file}: {error.strerror or error}") from error
    document = {
        "candidates": len(pool),
        "queries": int(pool["query_id"].nunique()),
        "without_candidates": without,
        "file": str(file),
    }
    if as_json:
        print_json(document)
        return
    typer.echo(
        f"wrote {len(pool):,} candidates of {document['queries']:,} queries to {file}"
        + (f"; nothing is found for {', '.join(without)}" if without else "")
    )


def _ask(session: LabelSession, console: Console) -> None:
    keys = _terminal_keys() if sys.stdin.isatty() else _piped_keys()
    if judged := session.progress.judged:
        console.print(f"{judged:,} of {len(session.candidates):,} candidates are judged already")
    shown: LabelCandidate | None = None
    while (current := session.current) is not None:
        if shown is None or shown.query_id != current.query_id:
            _show_query(session, current, console)
        shown = current
        _show_candidate(session, current, console)
        key = next(keys, "q")
        if key == "q":
            return
        try:
            session.press(key)
        except InvalidParameter as error:
            console.print(f"  {_printable(str(error))}, q quit")
            continue
        console.print(f"  → {KEYS[key.lower()]}")


def _show_query(session: LabelSession, one: LabelCandidate, console: Console) -> None:
    ids = session.query_ids()
    when = "" if one.as_of is None else f" (asked {one.as_of:%Y-%m-%d %H:%M} UTC)"
    console.print(f"\nquery {ids.index(one.query_id) + 1} of {len(ids)}, {one.query_id}{when}")
    console.print(f"{_printable(one.text)}\n{_PROMPT}", style="bold")


def _show_candidate(session: LabelSession, one: LabelCandidate, console: Console) -> None:
    when = "" if one.created_at is None else f"{one.created_at:%Y-%m-%d %H:%M}  "
    level = session.level(one)
    said = "" if level is None else f"  ({LEVELS[level]})"
    console.print(f"[{one.number}/{one.of}] {when}{_printable(one.content)}{said}")


def _printable(text: str) -> str:
    """Return a memory's text without what a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def _terminal_keys() -> Iterator[str]:
    """Yield keys as they are pressed."""
    while True:
        try:
            key = typer.getchar()
        except (KeyboardInterrupt, EOFError):
            return
        if key in "\r\n":
            continue
        yield _ARROWS.get(key, key)


def _piped_keys() -> Iterator[str]:
    """Yield the letters of standard input."""
    for line in sys.stdin:
        yield from (key for key in line if not key.isspace())


def _print_summary(
    session: LabelSession, pool: pd.DataFrame, without: list[str], *, as_json: bool
) -> None:
    progress = session.progress
    document: dict[str, Any] = {
        "file": str(session.path),
        "candidates": progress.candidates,
        "judged": progress.judged,
        "relevant": progress.relevant,
        "skipped": progress.skipped,
        "without_candidates": without,
        "queries": [],
        "legs": [],
    }
    if session.path.is_file():
        qrels = read_qrels(session.path)
        document["queries"] = frame_records(judged_share(pool, qrels))
        document["legs"] = frame_records(leg_contributions(qrels))
    if as_json:
        print_json(document)
        return
    if document["queries"]:
        print_table(document["queries"], title="judged, by query")
        print_table(document["legs"], title="what each leg brought")
        typer.echo("read the legs no deeper than they were judged: nousmem sweep … --depth DEPTH")
    typer.echo(
        f"{progress.judged:,} of {progress.candidates:,} candidates judged, "
        f"{progress.relevant:,} of these relevant, {progress.skipped:,} skipped: {session.path}"
    )
