"""`nousmem cache`: what the embedding cache holds, and making it smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nousmem.cli._output import print_json, print_table
from nousmem.embeddings import cache_path, cache_summary, prune_cache
from nousmem.entry import parse_instant
from nousmem.errors import InvalidParameter, UnknownName

__all__ = ["app"]

app = typer.Typer(help="Look into the embedding cache, or make it smaller.", no_args_is_help=True)

_File = Annotated[
    Path | None,
    typer.Option("--path", help="The cache file; default: in NOUSMEM_CACHE, or the user's cache."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(*, path: _File = None, as_json: _Json = False) -> None:
    """List the embedders whose vectors are kept, the last used first."""
    file = cache_path(path)
    rows = [
        {
            "fingerprint": row.fingerprint,
            "dimension": row.dimension,
            "vectors": row.vectors,
            "bytes": row.bytes,
            "last_used": row.last_used.isoformat(timespec="seconds").replace("+00:00", "Z"),
        }
        for row in cache_summary(path)
    ]
    if as_json:
        print_json({"file": str(file), "embedders": rows})
        return
    if rows:
        print_table(rows, names={"last_used": "last used"})
    total = sum(row.stat().st_size for row in _files(file))
    typer.echo(f"{file}: {total:,} bytes on disk" if rows else f"{file}: nothing is cached")


@app.command("prune")
def prune(
    *,
    fingerprint: Annotated[
        str | None, typer.Option(help="Only the vectors of this embedder; see `cache list`.")
    ] = None,
    unused_since: Annotated[
        str | None,
        typer.Option(help="Only of embedders last used before this, such as 2026-01-01T00:00:00Z."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All vectors.")] = False,
    path: _File = None,
    as_json: _Json = False,
) -> None:
    """Remove vectors, which are computed again when next wanted, and give the space back."""
    chosen = fingerprint is not None or unused_since is not None
    if chosen is everything:
        raise InvalidParameter(
            "say which vectors (--fingerprint, --unused-since, or both) or --all, not both"
        )
    moment = None if unused_since is None else parse_instant(unused_since)
    known = [row.fingerprint for row in cache_summary(path)]
    if fingerprint is not None and fingerprint not in known:
        raise UnknownName("fingerprint", fingerprint, known)
    removed = prune_cache(path, fingerprint=fingerprint, unused_since=moment)
    if as_json:
        print_json({"removed": removed, "file": str(cache_path(path))})
    else:
        typer.echo(f"removed {removed:,} vectors: {cache_path(path)}")


def _files(file: Path) -> list[Path]:
    """Return the cache file and what SQLite keeps beside it."""
    beside = [file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm"))]
    return [one for one in beside if one.exists()]
