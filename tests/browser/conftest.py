"""A browser and the servers it looks at; everything is skipped where one cannot be had."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import Server, serving

SCREENS = Path(__file__).parents[2] / "out" / "screens"


# Of the module, not the session: an event loop runs as long as Playwright does, and other tests
# want to start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    for name in ("jupyterlab", "voila"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("there is no chromium: see tests/browser/install_chromium.sh")
    with sync_api.sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(
                executable_path=chromium,
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
        except sync_api.Error as error:
            pytest.skip(f"{chromium} does not start: {error}")
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 1300})
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server on one notebook; all end with the module."""
    running: list[Any] = []

    def start(kind: str, code: str, *, dark: bool = False) -> Server:
        folder = tmp_path_factory.mktemp(kind)
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in code.split("# %%")],
            metadata={
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
        )
        nbformat.write(notebook, folder / "explorer.ipynb")
        context = serving(kind, folder, dark=dark)
        server = context.__enter__()
        running.append(context)
        return server

    yield start
    # A server takes seconds to end its kernels: they do it side by side.
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda context: context.__exit__(None, None, None), running))


@pytest.fixture
def screen(page: Any) -> Callable[[str], None]:
    """Return a function that keeps what the page looks like, outside what git tracks."""

    def keep(name: str) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENS / f"{name}.png", full_page=True)

    return keep
