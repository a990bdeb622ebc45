"""ipywidgets, loaded when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from nousmem.errors import MissingDependency

__all__ = ["load_widgets"]


def load_widgets(purpose: str) -> Any:
    """Return the module ipywidgets.

    Args:
        purpose: What needs it, for the message.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        return importlib.import_module("ipywidgets")
    except ModuleNotFoundError as error:
        raise MissingDependency("ipywidgets", extra="notebooks", purpose=purpose) from error
