"""Vectors from OpenAI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from nousmem.embeddings._endpoint import EmbeddingEndpoint
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.checks import check_texts
from nousmem.errors import EmbedderError

__all__ = ["OpenAIEmbedder"]

_LENGTHS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder:
    """OpenAI's embedding models; every text goes to their servers, and costs money.

    Wrapped in a CachedEmbedder (as `open_embedder("openai")` is), a text is paid for once.
    A text past the model's length (8,191 tokens) is refused by the server.

    Source: specification, "Vector Search" (embedding providers).

    Args:
        model: The model's name.
        api_key: None: the environment variable OPENAI_API_KEY, read at the first request.
        base_url: None: the environment variable OPENAI_BASE_URL, else OpenAI. Not part of the
            fingerprint: the model's name says what made a vector.
        dimension: Length of the vectors. The models text-embedding-3 shorten theirs to it; of
            any other model it must be the length. None: the server is asked when it is first
            needed.
        batch_size: Most texts in a request.
        timeout: Seconds to wait for an answer, each time.
        max_retries: How often a failed request is repeated.

    Raises:
        InvalidParameter: a number is out of its range.
    """

    symmetric = True
    """Queries and documents get the same vectors, so that one cached vector serves both."""

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimension: int | None = 1536,
        batch_size: int = 256,
        timeout: float = 30.0,
        max_retries: int = 2,
    ) -> None:
        self._model = model
        self._api_key = api_key
        self._dimension = dimension
        self._endpoint = EmbeddingEndpoint(
            base_url=base_url,
            dimension=dimension,
            batch_size=batch_size,
            timeout=timeout,
            max_retries=max_retries,
        )

    @classmethod
    def of_model(cls, model: str) -> OpenAIEmbedder:
        """Return the embedder of a model whose vectors are as long as it makes them."""
        return cls(model, dimension=_LENGTHS.get(model))

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r})"

    @property
    def fingerprint(self) -> str:
        """Model and dimension."""
        return f"openai:{self._model}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector.

        Raises:
            MissingDependency, EmbedderError: the server must be asked; as in `embed_documents`.
        """
        if self._dimension is not None:
            return self._dimension
        return self._endpoint.dimension(model=self._model, api_key=self._key())

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text, shape (len(texts), dimension).

        Raises:
            MissingDependency: the package openai is not installed.
            EmbedderError: there is no key, the server failed, or its answer is not one vector of
                the right length for each text.
        """
        texts = check_texts(texts)
        api_key = self._key()
        options: dict[str, Any] = {}
        if self._model.startswith("text-embedding-3"):
            options["dimensions"] = int(self.dimension)
        return self._endpoint.embed(
            texts, model=self._model, api_key=api_key, embedder=self.fingerprint, **options
        )

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return the same vectors as `embed_documents`: shape (len(texts), dimension)."""
        return self.embed_documents(texts)

    def _key(self) -> str:
        api_key = self._api_key or os.environ.get("OPENAI_API_KEY")
        if not api_key:
            raise EmbedderError(
                f"no key for the OpenAI model {self._model!r}: set the environment variable "
                "OPENAI_API_KEY or pass api_key=; 'minilm' needs neither key nor network"
            )
        return api_key
