"""Text to vectors: the contract and the embedders that ship with nousmem."""

from nousmem.embeddings._cached import CachedEmbedder
from nousmem.embeddings._entries import embed
from nousmem.embeddings._hashing import HashingEmbedder
from nousmem.embeddings._local import LocalEmbedder
from nousmem.embeddings._openai import OpenAIEmbedder
from nousmem.embeddings._sentence_transformers import SentenceTransformerEmbedder
from nousmem.embeddings.base import Embedder
from nousmem.embeddings.registry import open_embedder
from nousmem.embeddings.vector_cache import CacheRow, cache_path, cache_summary, prune_cache

__all__ = [
    "CacheRow",
    "CachedEmbedder",
    "Embedder",
    "HashingEmbedder",
    "LocalEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "cache_path",
    "cache_summary",
    "embed",
    "open_embedder",
    "prune_cache",
]
