"""Changing the embedder of a store that has one."""

from __future__ import annotations

import warnings

from nousmem.embeddings import CachedEmbedder, embed, prune_cache
from nousmem.embeddings.base import Embedder, Matrix
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

    A vector of this embedder's fingerprint is kept, unless the model behind the name has changed:
    one of the texts is embedded anew, and if its vector is another, so are all.

    Args:
        store: The store.
        embedder: The new embedder.
        progress: Show a progress bar.

    Warns:
        UserWarning: the model has changed under its name.

    Raises:
        EmbedderError: the embedder failed; the store is as it was.
    """
    cached = embedder if isinstance(embedder, CachedEmbedder) else CachedEmbedder(embedder)
    entries = store.list(include_superseded=True)
    known = _known_vector(entries, cached)
    renew = known is not None and not cached.still_made_so(*known)
    if renew:
        warnings.warn(
            f"{embedder.fingerprint!r} is another model than the one that made the vectors kept "
            "under this name: every text is embedded anew",
            stacklevel=2,
        )
        prune_cache(cached.path, fingerprint=embedder.fingerprint)
    while True:
        changed = [
            entry.replace(embedding=None)
            for entry in entries
            if renew or entry.embedding is None or entry.embedder != embedder.fingerprint
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


def _known_vector(entries: list[Entry], cached: CachedEmbedder) -> tuple[str, Matrix] | None:
    """Return a text with the vector kept of it under the embedder's name, in store or cache."""
    others: list[str] = []
    for entry in entries:
        if entry.embedding is not None and entry.embedder == cached.fingerprint:
            return entry.content, entry.embedding
        others.append(entry.content)
    return cached.kept_document(others)


def _texts(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.id, entry.content) for entry in entries]
