"""`nousmem load`: put a corpus into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nousmem.cli._columns import Columns, parse_columns
from nousmem.cli._opening import EmbedderName, StoreUrl, opened
from nousmem.cli._output import print_json, print_table
from nousmem.corpora.registry import is_corpus, load_corpus, recognise_corpus
from nousmem.embeddings import embed, open_embedder

__all__ = ["load"]


def load(
    corpus: Annotated[
        str,
        typer.Argument(
            help="Name of a corpus, see `nousmem corpora`; a file or folder of one; or "
            "package.module:object, a corpus of your own, whose code is run."
        ),
    ],
    store: StoreUrl,
    *,
    embedder: EmbedderName = "none",
    path: Annotated[Path | None, typer.Option(help="File or folder of the corpus.")] = None,
    column: Columns = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Load a corpus into a store, whatever its partitions, and say what went in."""
    name, place = corpus, path
    if path is None and not is_corpus(corpus) and _is_place(corpus):
        name, place = recognise_corpus(corpus), Path(corpus)
    named = parse_columns(column)
    loaded = load_corpus(name, path=place, **({"columns": named} if named else {}))
    model = open_embedder(embedder)
    entries = loaded.entries if model is None else embed(loaded.entries, model, progress=True)
    with opened(store) as target:
        count = target.put(entries)
    row = {
        "corpus": loaded.name,
        "store": store,
        "entries": count,
        "embedder": None if model is None else model.fingerprint,
        "queries": len(loaded.queries),
    }
    if as_json:
        print_json({**row, "faults": loaded.card.faults, "excluded": loaded.card.excluded})
        return
    print_table([row])
    for name, number in {**loaded.card.faults, **loaded.card.excluded}.items():
        typer.echo(f"{number:>6}  {name}")


def _is_place(corpus: str) -> bool:
    """Whether a file or folder is meant: one that is there, or what no name looks like."""
    path = Path(corpus).expanduser()
    return path.exists() or bool(path.suffix) or len(path.parts) > 1
