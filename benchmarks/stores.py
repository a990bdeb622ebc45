"""The stores against bare loops, as ratios within one run: 1.5 means half as long again.

`python benchmarks/stores.py [10000 100000] [--stores sqlite,duckdb,memory]`. Both sides return
hydrated rows. The jobs: loading with vectors in one write; adding one entry and searching at once;
text, vector, and hybrid search for one user in ten (query vector given); opening a file and the
first vector search.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from bare import Bare

import nousmem as nm

NOW = datetime(2026, 3, 15, tzinfo=UTC)
DIMENSION = 384
REPEATS = 40
TARGETS = {"load": 2.0, "add + search": 3.0, "vector": 1.3, "hybrid": 2.0}


def main() -> None:
    """Measure every store at every size and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--stores", default="memory,sqlite,duckdb,duckdb-bm25")
    options = parser.parse_args()
    print(
        f"{'n':>8} {'store':<12} {'job':<14} {'store ms':>10} {'bare ms':>10} {'ratio':>7} at most"
    )
    for n in options.sizes:
        entries = made_up(n)
        for name in options.stores.split(","):
            with tempfile.TemporaryDirectory() as folder:
                for job, ours, bare in measure(name, entries, Path(folder)):
                    most = TARGETS.get(job)
                    print(
                        f"{n:>8,} {name:<12} {job:<14} {1e3 * ours:>10.2f} {1e3 * bare:>10.2f} "
                        f"{ours / bare:>7.2f} {most or ''}",
                        flush=True,
                    )


def made_up(n: int) -> list[nm.Entry]:
    """Make entries of twelve words, common and rare ones, ten users."""
    rng = np.random.default_rng(5)
    words = np.array([f"w{at}" for at in range(20_000)])
    weights = 1 / np.arange(1, len(words) + 1)
    texts = rng.choice(words, size=(n, 12), p=weights / weights.sum())
    vectors = rng.normal(size=(n, DIMENSION)).astype(np.float32)
    return [
        nm.Entry(
            " ".join(texts[at]),
            id=f"e{at:06d}",
            user_id=f"u{at % 10}",
            created_at=NOW,
            embedding=vectors[at],
            embedder="made up",
        )
        for at in range(n)
    ]


def measure(name: str, entries: list[nm.Entry], folder: Path) -> list[tuple[str, float, float]]:
    """Return (job, seconds of the store, seconds of the bare loop) for one store."""
    kind, _, mode = name.partition("-")
    options = f"?text={mode}" if mode else ""
    url = "memory:" if kind == "memory" else f"{kind}:{folder / 'store'}{options}"
    store, bare = nm.open_store(url), Bare(str(folder / "bare"))
    rows = [("load", timed(lambda: store.put(entries)), timed(lambda: bare.load(entries)))]
    bare.open_matrix()
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(REPEATS, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = [" ".join(f"w{at}" for at in rng.integers(50, 3000, 6)) for _ in range(REPEATS)]
    store.search_vector(vectors[0])
    user = nm.Scope(user_id="u3")
    search = nm.Search(store)
    jobs: dict[str, tuple[Callable[[int], object], Callable[[int], object]]] = {
        "vector": (
            lambda at: store.search_vector(vectors[at], limit=10),
            # The yardstick of the design: the product alone, nothing hydrated.
            lambda at: bare.matrix @ vectors[at],
        ),
        "vector, 1 user": (
            lambda at: store.search_vector(vectors[at], limit=10, scope=user),
            lambda at: bare.vector(vectors[at], user_id="u3", limit=10),
        ),
        "text": (
            lambda at: store.search_text(queries[at], limit=10),
            lambda at: bare.text(queries[at], user_id=None, limit=10),
        ),
        "hybrid": (
            lambda at: search(queries[at], vector=vectors[at], scope=user, limit=10, now=NOW),
            lambda at: bare.hybrid(queries[at], vectors[at], user_id="u3", limit=10),
        ),
        "add + search": (
            lambda at: added(store, entries[at], vectors[at]),
            lambda at: (
                bare.add(entries[at]),
                bare.vector(vectors[at], user_id="u3", limit=10),
            ),
        ),
    }
    rows += [(job, *paired(ours, theirs)) for job, (ours, theirs) in jobs.items()]
    if kind != "memory":
        store.close()
        rows.append(
            (
                "open + search",
                timed(lambda: nm.open_store(url).search_vector(vectors[0])),
                timed(lambda: opened_bare(folder, vectors[0])),
            )
        )
    return rows


def added(store: nm.Store, entry: nm.Entry, vector: np.ndarray) -> None:
    """Add a new entry, then search for one user."""
    store.put([entry.replace(id=f"new-{entry.id}")])
    store.search_vector(vector, limit=10, scope=nm.Scope(user_id="u3"))


def opened_bare(folder: Path, vector: np.ndarray) -> None:
    """Open the bare file and search."""
    bare = Bare(str(folder / "bare"))
    bare.open_matrix()
    bare.vector(vector, user_id=None, limit=10)


def timed(job: Callable[[], object]) -> float:
    """Return the seconds one call takes."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def paired(ours: Callable[[int], object], theirs: Callable[[int], object]) -> tuple[float, float]:
    """Return the median seconds of both, called in turn, so that they meet the same machine."""
    for warm in (ours, theirs):
        warm(0)
    mine, other = [], []
    for at in range(REPEATS):
        mine.append(timed(lambda at=at: ours(at)))
        other.append(timed(lambda at=at: theirs(at)))
    return statistics.median(mine), statistics.median(other)


if __name__ == "__main__":
    main()
