"""Entries given their vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from nousmem.embeddings.base import Embedder, Matrix
from nousmem.embeddings.checks import check_vectors
from nousmem.entry import Entry, with_vector

__all__ = ["embed"]

_TEXTS_A_CALL: Final = 512


def embed(entries: Iterable[Entry], embedder: Embedder, *, progress: bool = False) -> list[Entry]:
    """Return the entries with `embedding` and `embedder` set, in the same order.

    Entries that carry a vector of this embedder already (the same fingerprint) are returned as
    they are; a vector of another one, or one set by hand, is replaced. Equal contents are
    embedded once. The entries given do not change.

    Args:
        entries: What to embed; the text is the entry's content.
        embedder: What embeds it.
        progress: Show a bar on standard error, if that is a terminal.

    Raises:
        EmbedderError: the embedder failed, or what it returned is not one finite vector of its
            dimension, not all zeros, for each text.
        MissingDependency: a package that the embedder needs is not installed.
    """
    given = list(entries)
    fingerprint = embedder.fingerprint
    waiting = [entry for entry in given if not _has_vector(entry, fingerprint)]
    if not waiting:
        return given
    vectors = _embed_texts({entry.content for entry in waiting}, embedder, progress=progress)
    return [
        entry
        if _has_vector(entry, fingerprint)
        else with_vector(entry, vectors[entry.content], embedder=fingerprint)
        for entry in given
    ]


def _has_vector(entry: Entry, fingerprint: str) -> bool:
    return entry.embedding is not None and entry.embedder == fingerprint


def _embed_texts(texts: Iterable[str], embedder: Embedder, *, progress: bool) -> dict[str, Matrix]:
    from tqdm import tqdm

    # Texts of one length go together, since a batch costs as much as its longest; the longest
    # first, so that the bar's estimate errs on the safe side. The text itself settles ties, so
    # that a batch is the same batch in every run.
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    dimension, fingerprint = embedder.dimension, embedder.fingerprint
    matrix = np.empty((len(ordered), dimension), dtype=np.float32)
    # tqdm's None stands for "not on a terminal".
    with tqdm(
        total=len(ordered), desc="embedding", unit="text", disable=None if progress else True
    ) as bar:
        for start in range(0, len(ordered), _TEXTS_A_CALL):
            part = ordered[start : start + _TEXTS_A_CALL]
            matrix[start : start + len(part)] = check_vectors(
                embedder.embed_documents(part),
                count=len(part),
                dimension=dimension,
                embedder=fingerprint,
            )
            bar.update(len(part))
    return dict(zip(ordered, matrix, strict=True))
