"""Embedders by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nousmem.embeddings.base import Embedder
from nousmem.embeddings.cached import CachedEmbedder
from nousmem.embeddings.hashing import HashingEmbedder
from nousmem.embeddings.local import LocalEmbedder
from nousmem.embeddings.openai import OpenAIEmbedder
from nousmem.embeddings.sentence_transformers import SentenceTransformerEmbedder
from nousmem.errors import InvalidParameter, UnknownName

__all__ = ["EMBEDDER_NAMES", "open_embedder"]

_ST_PREFIX: Final = "st:"

_MAKERS: Final[dict[str, Callable[[], Embedder]]] = {
    "hashing": HashingEmbedder,
    "local": LocalEmbedder,
    "minilm": lambda: CachedEmbedder(SentenceTransformerEmbedder()),
    "openai": lambda: CachedEmbedder(OpenAIEmbedder()),
}

EMBEDDER_NAMES: Final = (*_MAKERS, "none", f"{_ST_PREFIX}NAME_OR_FOLDER")
"""What `open_embedder` understands."""


def open_embedder(name: str | Embedder | None) -> Embedder | None:
    """Return the embedder that a name stands for; None for "none", the text leg alone.

    Nothing is loaded or contacted before the first text.

    Args:
        name: "minilm" (the bundled model, cached on disk), "hashing" (256 dimensions, no model),
            "st:" and a folder or a name on the Hugging Face hub (cached), "openai"
            (text-embedding-3-small, cached), "local" (Ollama's nomic-embed-text; not cached, since
            a server may serve another model under the same name), "none" or None. An embedder is
            returned as it is.

    Raises:
        UnknownName: no embedder has this name.
        InvalidParameter: what was given is neither a name nor an embedder.
    """
    if name is None or name == "none":
        return None
    if not isinstance(name, str):
        # A class has the members too, but not the values.
        if isinstance(name, type) or not isinstance(name, Embedder):
            raise InvalidParameter(
                f"expected an embedder or its name, got {name!r}: an embedder has "
                "fingerprint, dimension, embed_documents and embed_queries"
            )
        return name
    if name.startswith(_ST_PREFIX) and name != _ST_PREFIX:
        return CachedEmbedder(SentenceTransformerEmbedder(name.removeprefix(_ST_PREFIX)))
    if name not in _MAKERS:
        raise UnknownName("embedder", name, EMBEDDER_NAMES)
    return _MAKERS[name]()
