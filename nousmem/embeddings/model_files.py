"""Models on this machine: what identifies their weights, and how they are loaded quietly."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from nousmem.errors import MissingDependency

__all__ = ["commit_of", "existing_folder", "folder_digest", "import_local", "silent_loading"]


def import_local(module: str, *, purpose: str) -> ModuleType:
    """Import what the extra `local` brings.

    Raises:
        MissingDependency: it is not installed; `purpose` says what needs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).replace("_", "-")
        raise MissingDependency(package, extra="local", purpose=purpose) from error


@contextmanager
def silent_loading() -> Generator[None]:
    """Keep transformers from drawing a bar for every file of weights."""
    logging = importlib.import_module("transformers.utils.logging")
    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def existing_folder(name: str) -> Path | None:
    """Return the folder that a model's name is the path of; None where there is none."""
    folder = Path(name).expanduser()
    return folder.resolve() if folder.is_dir() else None


def folder_digest(folder: Path) -> str:
    """Return a sha256 over the names and bytes of the model's files."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if hidden or path.suffix == ".md" or not path.is_file():
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{name.as_posix()}\0{digest}\n".encode())
    return total.hexdigest()


def commit_of(model: Any) -> str | None:
    """Return the commit of the Hugging Face hub that a loaded model is of; None if unknown."""
    return getattr(getattr(model[0], "config", None), "_commit_hash", None)
