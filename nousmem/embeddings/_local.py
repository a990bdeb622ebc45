"""Vectors from a server of one's own: Ollama, vLLM, LM Studio and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nousmem.embeddings._endpoint import AS_NUMBERS, EmbeddingEndpoint
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.checks import check_texts

__all__ = ["LocalEmbedder"]

# The client insists on a key, and would send OPENAI_API_KEY to whatever server this is.
_NO_KEY: Final = "none"
_MODEL: Final = "nomic-embed-text"
_DIMENSION: Final = 768


class LocalEmbedder:
    """Any server that speaks OpenAI's embeddings protocol; the defaults are Ollama's.

    The fingerprint names model, prompts and dimension, not the address: a server that moves
    keeps its vectors. One that serves other weights under the same name cannot be told apart.

    Source: specification, "Vector Search" (embedding providers).

    Args:
        model: The server's name for the model.
        base_url: Up to and without "/embeddings".
        dimension: Length of the model's vectors; each answer is checked against it. None: the
            server is asked when it is first needed.
        api_key: Sent as bearer token, if the server wants one. OPENAI_API_KEY is never sent.
        query_model: The server's name for the model that embeds queries, for servers that offer
            the two sides of a model under two names. None: `model`.
        query_prompt: Put before every query. nomic-embed-text was trained with
            "search_query: "; the specification sends none.
        document_prompt: The same for documents ("search_document: ").
        batch_size: Most texts in a request.
        timeout: Seconds to wait for an answer, each time.
        max_retries: How often a failed request is repeated.

    Raises:
        InvalidParameter: a number is out of its range.
    """

    def __init__(
        self,
        model: str = _MODEL,
        *,
        base_url: str = "http://localhost:11434/v1",
        dimension: int | None = _DIMENSION,
        api_key: str | None = None,
        query_model: str | None = None,
        query_prompt: str = "",
        document_prompt: str = "",
        batch_size: int = 32,
        timeout: float = 30.0,
        max_retries: int = 2,
    ) -> None:
        self._model = model
        self._query_model = query_model or model
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._api_key = api_key or _NO_KEY
        self._endpoint = EmbeddingEndpoint(
            base_url=base_url,
            dimension=dimension,
            batch_size=batch_size,
            timeout=timeout,
            max_retries=max_retries,
        )

    @classmethod
    def of_model(cls, model: str) -> LocalEmbedder:
        """Return the embedder of a model on Ollama, whose server says how long its vectors are."""
        return cls(model, dimension=_DIMENSION if model == _MODEL else None)

    def __repr__(self) -> str:
        return f"LocalEmbedder({self._model!r})"

    @property
    def symmetric(self) -> bool:
        """Whether queries and documents get the same vectors."""
        return (self._query_model, self._query_prompt) == (self._model, self._document_prompt)

    @property
    def fingerprint(self) -> str:
        """Model (and the queries' model, if another), dimension, and prompts if there are any."""
        models = (
            [self._model] if self._query_model == self._model else [self._model, self._query_model]
        )
        prompts = [self._query_prompt, self._document_prompt]
        mark = f":prompts={prompts}" if any(prompts) else ""
        return f"local:{'+'.join(models)}:{self.dimension}{mark}"

    @property
    def dimension(self) -> int:
        """Length of every vector.

        Raises:
            MissingDependency, EmbedderError: the server must be asked; as in `embed_documents`.
        """
        return self._endpoint.dimension(model=self._model, api_key=self._api_key)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text, shape (len(texts), dimension).

        Raises:
            MissingDependency: the package openai is not installed.
            EmbedderError: the server failed, or its answer is not one vector of the right length
                for each text.
        """
        return self._embed(texts, model=self._model, prompt=self._document_prompt)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each query, shape (len(texts), dimension).

        Raises:
            MissingDependency: the package openai is not installed.
            EmbedderError: the server failed, or its answer is not one vector of the right length
                for each text.
        """
        return self._embed(texts, model=self._query_model, prompt=self._query_prompt)

    def _embed(self, texts: Sequence[str], *, model: str, prompt: str) -> Matrix:
        return self._endpoint.embed(
            [prompt + text for text in check_texts(texts)],
            model=model,
            api_key=self._api_key,
            embedder=self.fingerprint,
            **AS_NUMBERS,
        )
