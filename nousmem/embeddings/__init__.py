"""Text to vectors: the contract and the embedders that ship with nousmem."""

from nousmem.embeddings.base import Embedder
from nousmem.embeddings.cached import CachedEmbedder
from nousmem.embeddings.entries import embed
from nousmem.embeddings.hashing import HashingEmbedder
from nousmem.embeddings.local import LocalEmbedder
from nousmem.embeddings.openai import OpenAIEmbedder
from nousmem.embeddings.registry import open_embedder
from nousmem.embeddings.sentence_transformers import SentenceTransformerEmbedder
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
