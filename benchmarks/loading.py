"""Loading a corpus from disk into SQLite, its vectors from the cache: seconds, and where they go.

`python benchmarks/loading.py [--repeats 5] [--cpu]`. LoCoMo where NOUSMEM_DATA names a folder
that has it, else assistant-year. Every run loads into a new file. The first run of the process is
shown by itself, since it also imports pandas and tqdm; of the others, the median. On a machine
that is busy with something else, `--cpu` counts the seconds of this process alone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nousmem as nm
from nousmem.stores.text import analyse_document

EMBEDDER = "minilm"


def main() -> None:
    """Load a few times and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    name = "locomo"
    try:
        first = loaded(name, clock)
    except nm.CorpusFileMissing:
        name = "assistant-year"
        first = loaded(name, clock)
    runs = [loaded(name, clock) for _ in range(options.repeats)]
    print(f"{name}: {first.pop('entries'):,.0f} entries")
    print(f"{'':<42} {'first run, s':>12} {'median, s':>10} {'share':>6}")
    total = statistics.median(run["total"] for run in runs)
    for job, seconds in first.items():
        median = statistics.median(run[job] for run in runs)
        print(f"{job:<42} {seconds:>12.2f} {median:>10.2f} {median / total:>6.0%}")


def loaded(name: str, clock: Callable[[], float]) -> dict[str, float]:
    """Load once; return the seconds of each part, their total, and the number of entries."""
    started = clock()
    corpus = nm.load_corpus(name)
    parsed = clock()
    embedder = nm.open_embedder(EMBEDDER)
    # Not timed where it computes anything: the job is to load what was embedded before.
    embedder.embed_documents([entry.content for entry in corpus.entries])
    cached = clock()
    entries = nm.embed(corpus.entries, embedder)
    embedded = clock()
    with tempfile.TemporaryDirectory() as folder:
        store = nm.open_store(f"sqlite:{Path(folder) / 'store.db'}")
        opened = clock()
        store.put(entries)
        stored = clock()
        store.close()
    closed = clock()
    for entry in entries:
        analyse_document(entry.content)
    analysed = clock() - closed
    return {
        "parse, check and judge": parsed - started,
        "vectors from the cache into entries": embedded - cached,
        "open a new file": opened - embedded,
        "put: terms of the texts": analysed,
        "put: rows, word index, vectors, commit": stored - opened - analysed,
        "total": (parsed - started) + (stored - cached),
        "entries": len(entries),
    }


if __name__ == "__main__":
    main()
