"""The command in this process."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nousmem.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def nousmem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path
) -> Callable[..., Done]:
    """Give a function that runs the command with these arguments, and keys on standard input."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments: object, keys: str | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["nousmem", *map(str, arguments)])
        if keys is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Done(ended.value.code or 0, out, err)

    return run
