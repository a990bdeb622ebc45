"""The citation file says what the project file says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_it_is_complete_and_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["title"].startswith(f"{project['name']}: ")
    for name in ("version", "license", "keywords"):
        assert citation[name] == project[name]
    bibtex = (ROOT / "docs" / "citing.md").read_text()
    assert f"version = {{{project['version']}}}" in bibtex
