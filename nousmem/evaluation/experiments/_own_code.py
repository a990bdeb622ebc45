"""What identifies somebody's own code that the names in an experiment stand for."""

from __future__ import annotations

from nousmem.corpora.registry import is_own_corpus
from nousmem.embeddings.registry import is_own_embedder
from nousmem.references import named_code
from nousmem.stores.registry import is_own_store

__all__ = ["own_code"]


def own_code(*, corpus: str, store: str, embedder: str | None) -> dict[str, str]:
    """Return the fingerprints of somebody's own code, by the name that stands for it.

    Raises:
        InvalidParameter: as in `nousmem.references.named_code`.
    """
    own = {
        corpus: is_own_corpus(corpus),
        store: is_own_store(store),
        embedder: embedder is not None and is_own_embedder(embedder),
    }
    return {name: named_code(name) for name, is_own in own.items() if name is not None and is_own}
