"""The embedding cache from the command line."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nousmem.embeddings import CachedEmbedder, HashingEmbedder, cache_summary

NOON = datetime(2026, 3, 15, 12, tzinfo=UTC)


Cache = Callable[..., Any]


@pytest.fixture
def cache(nousmem: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cache:
    """Give a function that runs `nousmem cache` in this process."""
    monkeypatch.setenv("NOUSMEM_CACHE", str(tmp_path))
    return functools.partial(nousmem, "cache")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "embeddings.sqlite"
    for days, dimension in enumerate((8, 16)):
        moment = NOON + timedelta(days=days)
        embedder = CachedEmbedder(HashingEmbedder(dimension), path, clock=lambda m=moment: m)
        embedder.embed_documents(["a", "b", "c"][: 2 + days])
    return path


def left(path: Path) -> list[str]:
    return sorted(row.fingerprint for row in cache_summary(path))


def test_list(cache: Cache, file: Path) -> None:
    assert cache("list", "--json").json == {
        "file": str(file),
        "embedders": [
            {
                "fingerprint": "hashing-1:16",
                "dimension": 16,
                "vectors": 3,
                "bytes": 192,
                "last_used": "2026-03-16T12:00:00Z",
            },
            {
                "fingerprint": "hashing-1:8",
                "dimension": 8,
                "vectors": 2,
                "bytes": 64,
                "last_used": "2026-03-15T12:00:00Z",
            },
        ],
    }
    done = cache("list")
    assert "hashing-1:16" in done.out
    assert "bytes on disk" in done.out


def test_no_file_is_an_empty_cache(cache: Cache, tmp_path: Path) -> None:
    done = cache("list")
    assert (done.status, done.out) == (0, f"{tmp_path}/embeddings.sqlite: nothing is cached\n")
    assert cache("list", "--path", tmp_path / "other.sqlite", "--json").json["embedders"] == []
    assert cache("prune", "--all", "--json").json["removed"] == 0
    assert list(tmp_path.iterdir()) == []


def test_prune_one_embedder(cache: Cache, file: Path) -> None:
    done = cache("prune", "--fingerprint", "hashing-1:8")
    assert (done.status, done.out) == (0, f"removed 2 vectors: {file}\n")
    assert left(file) == ["hashing-1:16"]


def test_prune_what_is_long_unused(cache: Cache, file: Path) -> None:
    assert cache("prune", "--unused-since", "2026-03-15T12:00:00Z", "--json").json["removed"] == 0
    done = cache("prune", "--unused-since", "2026-03-16T00:00:00Z", "--json")
    assert done.json == {"removed": 2, "file": str(file)}
    assert left(file) == ["hashing-1:16"]
    both = ["--fingerprint", "hashing-1:16", "--unused-since", "2026-03-16T00:00:00Z"]
    assert cache("prune", *both, "--json").json["removed"] == 0
    assert left(file) == ["hashing-1:16"]


def test_prune_all(cache: Cache, file: Path) -> None:
    assert cache("prune", "--all", "--path", file, "--json").json["removed"] == 5
    assert left(file) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which vectors"),
        (["--all", "--fingerprint", "hashing-1:8"], "say which vectors"),
        (["--fingerprint", "hashing-1:9"], "did you mean 'hashing-1:8'"),
        (["--unused-since", "2026-01-01"], "time zone"),
        (["--unused-since", "last year"], "last year"),
    ],
)
def test_what_is_refused_removes_nothing(cache: Cache, file: Path, arguments, message) -> None:
    done = cache("prune", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(left(file)) == 2


def test_a_file_that_is_no_cache(cache: Cache, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("these are my notes, " * 100)
    for command in (["list"], ["prune", "--all"]):
        done = cache(*command, "--path", notes)
        assert done.status == 2
        assert "notes.txt" in done.err
    assert notes.read_text().startswith("these are my notes")


WRITER = """
import sys
import numpy as np
from nousmem.embeddings import CachedEmbedder, HashingEmbedder

path, dimension = sys.argv[1], int(sys.argv[2])
plain = HashingEmbedder(dimension)
cached = CachedEmbedder(plain, path)
for n in range(60):
    texts = [f"text {m}" for m in range(n, n + 30)]
    np.testing.assert_array_equal(cached.embed_documents(texts), plain.embed_documents(texts))
"""


def test_pruning_while_processes_write(cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "embeddings.sqlite"
    # Two embedders, so that a pruned one's number can be taken by the other.
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(dimension)], stderr=subprocess.PIPE
        )
        for dimension in (8, 16, 8, 16)
    ]
    pruned = 0
    while any(process.poll() is None for process in running):
        done = cache("prune", "--all", "--json")
        assert done.status == 0, done.err
        pruned += done.json["removed"]
        assert cache("list", "--json").status == 0
    for process in running:
        _, complaints = process.communicate()
        assert process.returncode == 0, complaints
    assert pruned > 0
    cache("prune", "--all")
    rows = CachedEmbedder(HashingEmbedder(8), path).embed_documents(["text 1"])
    np.testing.assert_array_equal(rows, HashingEmbedder(8).embed_documents(["text 1"]))
    assert left(path) == ["hashing-1:8"]
