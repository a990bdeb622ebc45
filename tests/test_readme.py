"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(first, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("User prefers dark mode 0.")
    assert "contribution" in printed
    assert "difference" in printed
    assert names["search"].scoring == names["swept"].best("nDCG@10")
    exec(compile(second, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "CrossValidation" in printed
    assert "p_holm" in printed


def test_the_files_it_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


def test_its_commands_exist() -> None:
    from nousmem.cli.app import app

    known = {command.name for command in app.registered_commands}
    used = set(re.findall(r"^nousmem (\w+)", README, re.MULTILINE))
    assert used
    assert used <= known
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
