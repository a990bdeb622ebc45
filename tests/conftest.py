"""Settings that every test shares."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is not a slow property. HYPOTHESIS_PROFILE=thorough looks harder.
settings.register_profile("quick", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def own_code(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Path]]:
    """Give a function that writes modules of somebody's own onto the search path, by name.

    Written again, a module is imported again.
    """
    folder = tmp_path_factory.mktemp("own")
    monkeypatch.syspath_prepend(folder)
    written: set[str] = set()

    def forget() -> None:
        for name in [one for one in sys.modules if one.partition(".")[0] in written]:
            del sys.modules[name]

    def write(**modules: str) -> Path:
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(source))
            # The compiled file is told from the source by its size and second alone.
            for compiled in folder.glob(f"__pycache__/{name}.*"):
                compiled.unlink()
        written.update(modules)
        forget()
        importlib.invalidate_caches()
        return folder

    yield write
    forget()
