"""Embedders by name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from typing import Any, Final

from nousmem.embeddings._cached import CachedEmbedder
from nousmem.embeddings._hashing import HashingEmbedder
from nousmem.embeddings._local import LocalEmbedder
from nousmem.embeddings._openai import OpenAIEmbedder
from nousmem.embeddings._sentence_transformers import SentenceTransformerEmbedder
from nousmem.embeddings.base import Embedder
from nousmem.errors import InvalidParameter, UnknownName
from nousmem.references import REFERENCE_FORM, is_reference, load_made

__all__ = ["EMBEDDER_NAMES", "is_embedder", "is_own_embedder", "open_embedder"]

_MEMBERS: Final = "fingerprint, dimension, embed_documents and embed_queries"

_MAKERS: Final[dict[str, Callable[[], Embedder]]] = {
    "hashing": HashingEmbedder,
    "local": LocalEmbedder,
    "minilm": lambda: CachedEmbedder(SentenceTransformerEmbedder()),
    "openai": lambda: CachedEmbedder(OpenAIEmbedder()),
}

_MAKERS_BY_MODEL: Final[dict[str, Callable[[str], Embedder]]] = {
    "local": LocalEmbedder.of_model,
    "openai": lambda model: CachedEmbedder(OpenAIEmbedder.of_model(model)),
    "st": lambda model: CachedEmbedder(SentenceTransformerEmbedder(model)),
}

EMBEDDER_NAMES: Final = (
    *_MAKERS,
    "none",
    "local:MODEL",
    "openai:MODEL",
    "st:NAME_OR_FOLDER",
    REFERENCE_FORM,
)
"""What `open_embedder` understands."""


def open_embedder(name: str | Embedder | None) -> Embedder | None:
    """Return the embedder that a name stands for; None for "none", the text leg alone.

    Nothing is loaded or contacted before the first text.

    Args:
        name: "minilm" (the bundled model, cached on disk), "hashing" (256 dimensions, no model),
            "st:" and a folder or a name on the Hugging Face hub (cached), "openai"
            (text-embedding-3-small, cached), "local" (Ollama's nomic-embed-text; not cached, since
            a server may serve another model under the same name), "openai:" or "local:" and
            another model, "none" or None. An embedder is returned as it is.
            "package.module:object" names one of your own: an embedder, or a class or function that
            makes one without arguments. It is imported from Python's search path, and so run.

    Raises:
        UnknownName: no embedder has this name.
        InvalidParameter: what was given is neither a name nor an embedder; or one of your own
            cannot be imported or made, or is no embedder.
    """
    if name is None or name == "none":
        return None
    if not isinstance(name, str):
        if not is_embedder(name):
            raise InvalidParameter(
                f"expected an embedder or its name, got {name!r}: an embedder has {_MEMBERS}"
            )
        return name
    if is_own_embedder(name):
        return load_made(
            name,
            what="embedder",
            expected=f"an embedder, with {_MEMBERS}",
            fits=is_embedder,
            known=[known.partition(":")[0] for known in EMBEDDER_NAMES[:-1]],
        )
    kind, _, model = name.partition(":")
    if kind in _MAKERS_BY_MODEL and model:
        return _MAKERS_BY_MODEL[kind](model)
    if name not in _MAKERS:
        raise UnknownName("embedder", name, EMBEDDER_NAMES)
    return _MAKERS[name]()


def is_own_embedder(name: str) -> bool:
    """Whether a name for `open_embedder` is that of somebody's own code."""
    return is_reference(name) and name.partition(":")[0] not in _MAKERS_BY_MODEL


def is_embedder(value: Any) -> bool:
    """Whether an object has what an Embedder has.

    Fingerprint and dimension are not asked for, which may load a model or be a server's to tell.
    """
    if isinstance(value, type):  # has the members too, but not the values
        return False
    verbs = (getattr(value, name, None) for name in ("embed_documents", "embed_queries"))
    return all(map(callable, verbs)) and all(
        getattr_static(value, name, None) is not None or hasattr(value, name)
        for name in ("fingerprint", "dimension")
    )
