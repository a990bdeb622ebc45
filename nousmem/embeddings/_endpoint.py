"""Vectors from a server that speaks OpenAI's embeddings protocol."""

from __future__ import annotations

import importlib
import threading
import weakref
from collections.abc import Generator, Sequence
from typing import Any, Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.checks import check_vectors
from nousmem.errors import EmbedderError, InvalidParameter, MissingDependency

__all__ = ["AS_NUMBERS", "EmbeddingEndpoint"]

# OpenAI takes 300,000 tokens a request; one token is hardly ever shorter than one character.
_CHARACTERS_A_REQUEST: Final = 200_000
_TOO_MANY_REQUESTS: Final = 429
# The client would ask for base64, which not every such server knows.
AS_NUMBERS: Final = {"encoding_format": "float"}


class EmbeddingEndpoint:
    """Requests to `base_url`/embeddings: batches, retries, and every answer checked.

    Args:
        base_url: Up to and without "/embeddings". None: what the client package defaults to
            (the environment variable OPENAI_BASE_URL, else OpenAI).
        dimension: The length that every vector must have. None: that of the server's vectors.
        batch_size: Most texts in a request.
        timeout: Seconds to wait for an answer, each time.
        max_retries: How often a request is repeated after a refused connection, a timeout, or
            one of the status codes 408, 409, 429, 5xx; with growing pauses.

    Raises:
        InvalidParameter: a number is out of its range.
    """

    def __init__(
        self,
        *,
        base_url: str | None,
        dimension: int | None,
        batch_size: int,
        timeout: float,
        max_retries: int,
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise InvalidParameter(f"timeout must be a number of seconds above 0, got {timeout!r}")
        self._base_url = base_url
        self._dimension = (
            None if dimension is None else check_whole("dimension", dimension, least=1)
        )
        self._batch_size = check_whole("batch_size", batch_size, least=1)
        self._timeout = timeout
        self._max_retries = check_whole("max_retries", max_retries, least=0)
        self._client: Any = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the open connections behind: another process opens its own."""
        return {**self.__dict__, "_client": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def dimension(self, *, model: str, api_key: str) -> int:
        """Return the length of every vector; where it is not known, one word is embedded for it.

        Raises:
            MissingDependency, EmbedderError: as in `embed`.
        """
        if self._dimension is None:
            rows = self._request(["length"], model=model, api_key=api_key, **AS_NUMBERS)
            self._dimension = len(rows[0])
        return self._dimension

    def embed(
        self, texts: Sequence[str], *, model: str, api_key: str, embedder: str, **options: Any
    ) -> Matrix:
        """Return one row for each text, shape (len(texts), dimension).

        Args:
            texts: An empty one is sent as a space, which servers do not refuse.
            model: The server's name for the model.
            api_key: Sent as bearer token.
            embedder: The embedder's fingerprint, for messages.
            options: Further fields of the request.

        Raises:
            MissingDependency: the package openai is not installed.
            EmbedderError: a text holds a lone surrogate; the server cannot be reached, refuses, is
                too slow, or answers something that is not one vector of the right length for
                each text.
        """
        _check_sendable(texts)
        dimension = self.dimension(model=model, api_key=api_key)
        matrix = np.empty((len(texts), dimension), dtype=np.float32)
        done = 0
        for batch in _batches([text or " " for text in texts], self._batch_size):
            rows = self._request(batch, model=model, api_key=api_key, **options)
            matrix[done : done + len(batch)] = check_vectors(
                rows, count=len(batch), dimension=dimension, embedder=embedder
            )
            done += len(batch)
        return matrix

    def _request(
        self, texts: list[str], *, model: str, api_key: str, **options: Any
    ) -> list[list[float]]:
        client = self._connected(api_key)
        place = f"the embedding server {client.base_url}"
        openai = _openai()
        try:
            answer = client.embeddings.create(input=texts, model=model, **options)
            items = [(item.index, list(item.embedding)) for item in answer.data]
        except openai.APITimeoutError as error:
            raise EmbedderError(
                f"{place} did not answer {len(texts)} texts within {self._timeout:g} s (tried "
                f"{self._max_retries + 1} times); raise timeout= or lower batch_size="
            ) from error
        except openai.APIStatusError as error:
            said = error.message.removeprefix(f"Error code: {error.status_code} - ")
            limited = (
                f"; it limits how much may be asked, after {self._max_retries + 1} tries too: try "
                "again later, or raise max_retries= or lower batch_size="
                if error.status_code == _TOO_MANY_REQUESTS
                else ""
            )
            raise EmbedderError(
                f"{place} answered with status {error.status_code} for model {model!r}: "
                f"{_shortened(said)}{limited}"
            ) from error
        except openai.APIConnectionError as error:
            raise EmbedderError(
                f"no answer, or only part of one, from {place}: {error.__cause__ or error}; is it "
                "running, and is base_url right?"
            ) from error
        except (openai.OpenAIError, ValueError) as error:
            raise EmbedderError(
                f"{place} answered something that is not JSON: {_shortened(str(error))}"
            ) from error
        except (TypeError, AttributeError) as error:
            raise EmbedderError(
                f"{place} answered something that is not a list of embeddings; is base_url right, "
                f"and {model!r} a model for embeddings?"
            ) from error
        return self._in_order(items, count=len(texts), model=model, place=place)

    def _in_order(
        self, items: list[tuple[Any, list[float]]], *, count: int, model: str, place: str
    ) -> list[list[float]]:
        if len(items) != count:
            raise EmbedderError(f"{place} returned {len(items)} vectors for {count} texts")
        by_index = dict(items)
        if set(by_index) != set(range(count)):
            found = ", ".join(str(index) for index, _ in items[:5]) + (", …" if count > 5 else "")
            raise EmbedderError(
                f"{place} numbers its {count} vectors {found}; expected "
                f"each of 0 to {count - 1} once, so they cannot be told apart"
            )
        lengths = sorted({len(vector) for vector in by_index.values()})
        if len(lengths) > 1:
            raise EmbedderError(f"{place} returned vectors of lengths {lengths} in one answer")
        if self._dimension is not None and lengths != [self._dimension]:
            raise EmbedderError(
                f"{place} returned vectors of length {lengths[0]} for model {model!r}, expected "
                f"{self._dimension}; pass dimension={lengths[0]} if that is the model you want"
            )
        return [by_index[index] for index in range(count)]

    def _connected(self, api_key: str) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _openai().OpenAI(
                    api_key=api_key,
                    base_url=self._base_url,
                    timeout=self._timeout,
                    max_retries=self._max_retries,
                )
                # Nobody closes an embedder: its connections go when it goes.
                weakref.finalize(self, self._client.close)
            return self._client


def _check_sendable(texts: Sequence[str]) -> None:
    """Refuse what UTF-8 cannot say, before anything is sent (and paid for)."""
    for place, text in enumerate(texts, start=1):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise EmbedderError(
                f"text {place} of {len(texts)} holds a lone surrogate ({code} after {error.start} "
                "characters), which is not Unicode text and cannot be sent to a server: replace "
                'it, as with text.encode("utf-8", "replace").decode()'
            ) from None


def _openai() -> Any:
    try:
        return importlib.import_module("openai")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "openai", extra="agent", purpose="an embedder that asks a server"
        ) from error


def _batches(texts: list[str], size: int) -> Generator[list[str]]:
    """Yield the texts in order, in lists a server takes at once."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == size or characters + len(text) > _CHARACTERS_A_REQUEST):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _shortened(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}…"
