"""A reranker: a model that reads query and entry together, and says how well they fit."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from nousmem.checks import check_whole
from nousmem.embeddings.base import Matrix
from nousmem.embeddings.model_files import (
    commit_of,
    existing_folder,
    folder_digest,
    import_local,
    silent_loading,
)
from nousmem.embeddings.vector_cache import VectorCache, cache_path, text_key, utc_now
from nousmem.entry import Entry
from nousmem.errors import EmbedderError, InvalidParameter
from nousmem.retrieval.legs import LegRequest
from nousmem.scoring import Floats

__all__ = ["CrossEncoderLeg"]

_PAIRS_A_WRITE: Final = 512
_Pair = tuple[str, str]


class _State:
    """What a leg has come to know. It is no part of the leg, and stays behind in its process."""

    def __init__(self) -> None:
        self.model: Any = None  # the package's own types are only partly known
        self.fingerprint: str | None = None
        self.keeps = True
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type[_State], tuple[()]]:
        return _State, ()


@dataclass(frozen=True, slots=True)
class CrossEncoderLeg:
    """A cross-encoder of sentence-transformers, as a leg that scores what others found.

    It reads the query and the content of each entry together, which tells more than two vectors
    and takes about as long as embedding both. A score is the model's own, after its own
    activation: larger fits better. A text is read up to the model's length, query and content
    together.

    Making one costs nothing: the model is loaded when the first pair is not known yet. Scores are
    kept on disk, as vectors are, so that a second run loads no model. Pairs are scored sorted by
    length in batches; which batch a pair falls in moves its score by less than 1e-6. One thread
    scores at a time.

    Raises:
        InvalidParameter: a field has another type, or is out of its range.
    """

    model: str
    """A folder, or a name on the Hugging Face hub, which is fetched on first use."""
    name: str = field(default="cross_encoder", kw_only=True)
    """What the leg's columns and its weight are called."""
    max_length: int | None = field(default=None, kw_only=True)
    """Tokens read of query and content together; None is the model's own length."""
    batch_size: int = field(default=32, kw_only=True)
    """Pairs scored at once."""
    cache: bool | str = field(default=True, kw_only=True)
    """Whether scores are kept: True in the file of the embedding cache, a path in the file of that
    name in that folder, False not at all."""
    _state: _State = field(default_factory=_State, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values: dict[str, object] = {"model": self.model, "name": self.name, "cache": self.cache}
        for key, value in values.items():
            if isinstance(value, Path):
                object.__setattr__(self, key, str(value))
            elif not (isinstance(value, str) and value) and (
                key != "cache" or not isinstance(value, bool)
            ):
                wanted = "True, False or a folder" if key == "cache" else "a text"
                raise InvalidParameter(f"{key} of a cross-encoder must be {wanted}, got {value!r}")
        check_whole("batch_size", self.batch_size, least=1)
        if self.max_length is not None:
            check_whole("max_length", self.max_length, least=1)

    @property
    def fingerprint(self) -> str:
        """What makes a score: the model, a hash of its files (or its commit), and `max_length`.

        The files of a folder are read once; a model of the hub is loaded to learn its commit.

        Raises:
            MissingDependency, EmbedderError: as in `score`, where loading is needed.
        """
        state = self._state
        if state.fingerprint is None:
            folder = existing_folder(self.model)
            identity = (
                f"{self.model}@{(commit_of(self._loaded()) or 'main')[:12]}"
                if folder is None
                else f"{folder.name}@{folder_digest(folder)[:12]}"
            )
            mark = "" if self.max_length is None else f":max_length={self.max_length}"
            state.fingerprint = f"cross-encoder:{identity}{mark}"
        return state.fingerprint

    def score(self, request: LegRequest, entries: Sequence[Entry]) -> Floats:
        """Return how well each entry's content fits the query, shape (len(entries),).

        A cache that cannot be used is told once, in a warning, and left aside.

        Raises:
            MissingDependency: sentence-transformers is not installed.
            EmbedderError: the model cannot be loaded, fails, or does not give each pair one finite
                number.
        """
        pairs: list[_Pair] = [(request.query, entry.content) for entry in entries]
        keys = {pair: _key(pair) for pair in pairs}
        known = self._read(list(keys.values()))
        # By length, as the model would sort them, and whatever order they came in.
        missing = sorted(
            (pair for pair in keys if keys[pair] not in known),
            key=lambda pair: (len(pair[1]), pair),
        )
        for start in range(0, len(missing), _PAIRS_A_WRITE):
            part = missing[start : start + _PAIRS_A_WRITE]
            fresh = {
                keys[pair]: score for pair, score in zip(part, self._compute(part), strict=True)
            }
            self._write(fresh)
            known.update({key: float(score[0]) for key, score in fresh.items()})
        return np.array([known[keys[pair]] for pair in pairs], dtype=np.float64)

    def _compute(self, pairs: list[_Pair]) -> Matrix:
        model = self._loaded()
        try:
            with self._state.lock:  # the tokeniser cannot be used by two threads at once
                given = model.predict(
                    pairs,
                    batch_size=self.batch_size,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except Exception as error:
            raise EmbedderError(
                f"model {self.model!r} failed to score {len(pairs)} pairs: {error}"
            ) from error
        scores = np.asarray(given, dtype=np.float32)
        if scores.shape not in ((len(pairs),), (len(pairs), 1)):
            raise EmbedderError(
                f"model {self.model!r} gave an array of shape {scores.shape} for {len(pairs)} "
                "pairs; expected one number each: a reranker has one label"
            )
        if not np.isfinite(scores).all():
            raise EmbedderError(f"model {self.model!r} gave a score that is not a finite number")
        return scores.reshape(-1, 1)

    def _read(self, keys: list[bytes]) -> dict[bytes, float]:
        if not keys or not self._state.keeps or self.cache is False:
            return {}
        fingerprint = self.fingerprint
        try:
            stored = self._file().read(fingerprint, keys, now=utc_now())
        except EmbedderError as error:
            self._leave_aside(error)
            return {}
        return {key: float(np.frombuffer(row, dtype="<f4")[0]) for key, row in stored.items()}

    def _write(self, scores: Mapping[bytes, Matrix]) -> None:
        if not self._state.keeps or self.cache is False:
            return
        try:
            self._file().write(self.fingerprint, scores, now=utc_now())
        except EmbedderError as error:
            self._leave_aside(error)

    def _file(self) -> VectorCache:
        folder = None if isinstance(self.cache, bool) else Path(self.cache)
        return VectorCache(cache_path(None if folder is None else folder / cache_path().name))

    def _leave_aside(self, error: EmbedderError) -> None:
        self._state.keeps = False
        warnings.warn(f"scores of {self.model!r} are not kept: {error}", stacklevel=4)

    def _loaded(self) -> Any:
        state = self._state
        with state.lock:
            if state.model is None:
                state.model = self._load()
            return state.model

    def _load(self) -> Any:
        folder = existing_folder(self.model)
        package = import_local("sentence_transformers", purpose=f"the leg {self.name!r}")
        try:
            with silent_loading():
                return package.CrossEncoder(
                    self.model if folder is None else str(folder),
                    max_length=self.max_length,
                    local_files_only=folder is not None,
                )
        except Exception as error:
            raise EmbedderError(
                f"cannot load the model {self.model!r}: {error}; expected a folder with a "
                "cross-encoder, or a name on the Hugging Face hub (which needs the network once)"
            ) from error


def _key(pair: _Pair) -> bytes:
    query, content = pair
    return text_key(f"{len(query)}\0{query}{content}", role="pair")
