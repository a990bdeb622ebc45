"""A bar for long work, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from tqdm import tqdm

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(total: int, unit: str, *, show: bool = True) -> Generator[Callable[[int], object]]:
    """Give a function that advances the bar; none is drawn when stderr is not a terminal."""
    drawn = show and sys.stderr.isatty()
    with tqdm(total=total, unit=f" {unit}", disable=not drawn, leave=False) as bar:
        yield bar.update
