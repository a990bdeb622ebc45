"""ipywidgets, loaded when it is needed."""

from __future__ import annotations

import contextvars
import importlib
import threading
import time
from collections.abc import Sequence
from typing import Any

from nousmem.errors import MissingDependency

__all__ = ["load_widgets", "send_again"]


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


def send_again(
    widget: Any, name: str, *, pauses: Sequence[float] = (0.5, 1, 2, 4, 8, 16, 32)
) -> threading.Thread:
    """Send the value of a trait to the pages that show the widget, some more times.

    A page that connects to a kernel first asks for the state of all widgets and then begins to
    listen to each. What a thread changes in between reaches nobody, and the page would show the
    old value for good. A page that has the value already takes no notice of another copy.

    Args:
        widget: What is shown. Whatever its value is by then is sent.
        name: The trait.
        pauses: Seconds before each time.

    Returns:
        The thread that does it: a daemon, nobody need wait for it.
    """

    def send() -> None:
        for pause in pauses:
            time.sleep(pause)
            widget.send_state(name)

    # A notebook knows by its context which cell's output a message belongs to.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(send,), daemon=True)
    thread.start()
    return thread
