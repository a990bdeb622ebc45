"""Changing the embedder of a store that has one."""

from __future__ import annotations

from nousmem.embeddings import CachedEmbedder, embed
from nousmem.embeddings.base import Embedder
from nousmem.entry import Entry
from nousmem.stores.base import Store

__all__ = ["reembed"]


def reembed(store: Store, embedder: Embedder, *, progress: bool = False) -> int:
    """Give every entry of a store a vector of this embedder; return how many were changed.

    Vectors are made in batches and kept in the embedding cache as they come, so that a run that
    was interrupted goes on where it stopped. The store is changed in one write at the end: it
    never holds vectors of two embedders, and a search sees the old ones or the new ones. What
    another process writes meanwhile is embedded too, but an entry it changes during the last
    write keeps the older text: better run it when nothing else writes.

    Args:
        store: The store.
        embedder: The new embedder.
        progress: Show a progress bar.

    Raises:
        EmbedderError: the embedder failed; the store is as it was.
    """
    cached = embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)
    entries = store.list(include_superseded=True)
    while True:
        changed = [
            entry.replace(embedding=None)
            for entry in entries
            if entry.embedding is None or entry.embedder != embedder.fingerprint
        ]
        renewed = embed(changed, cached, progress=progress)
        now = store.list(include_superseded=True)
        if _texts(now) == _texts(entries):
            break
        entries = now
    fresh = {entry.id: entry for entry in renewed}
    vectors = [
        entry.replace(embedding=fresh[entry.id].embedding, embedder=embedder.fingerprint)
        for entry in now
        if entry.id in fresh
    ]
    if vectors:
        store.put(vectors)
    return len(vectors)


def _texts(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.id, entry.content) for entry in entries]
