"""What the options --settings, --preset and --set make of themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import nousmem as nm
from nousmem.cli._app import app
from nousmem.cli._settings import chosen_settings, parse_changes, parse_value


def reciprocal(legs: Any) -> Any:
    return 1 / (2 - legs.text_scores)


@nm.term
def length(candidates: Any) -> Any:
    return [len(entry.content) / 1000 for entry in candidates.entries]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("decay_lambda", "1e-4", 1e-4),
        ("half_life_days", "inf", float("inf")),
        ("w_recency", "none", None),
        ("w_frequency", ".1", 0.1),
        ("depth", "50", 50),
        ("depth", "none", None),
        ("legs", "vector", ("vector",)),
        ("legs", "text, vector", ("text", "vector")),
        ("legs", "text+vector", ("text", "vector")),
        ("legs", "all", None),
        ("terms", "own.parts:a,own.parts:b", ("own.parts:a", "own.parts:b")),
        ("terms", "none", ()),
        ("fusion", "convex", "convex"),
        ("decay_clock", "creation", "creation"),
        ("update_rule", "own.parts:Rule", "own.parts:Rule"),
        ("inject_limit", "3", 3),
        ("inject_min_cosine", "-1", -1),
    ],
)
def test_a_value_is_read_as_its_parameter_has_it(name: str, text: str, value: object) -> None:
    assert parse_value(name, text) == value
    assert type(parse_value(name, text)) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rrf", "5", "did you mean 'rrf_k'"),
        ("decay_lambda", "often", "decay_lambda: 'often' is not a number"),
        ("inject_limit", "few", "'few' is not a number"),
        ("weights", "frequency", "as w_NAME=NUMBER"),
    ],
)
def test_what_is_no_value_is_refused_by_name(name: str, text: str, message: str) -> None:
    with pytest.raises((nm.InvalidParameter, typer.BadParameter), match=message):
        parse_value(name, text)


@pytest.mark.parametrize(
    "texts", [["rrf_k"], ["=5"], ["rrf_k=1", "rrf_k=2"]], ids=["no value", "no name", "twice"]
)
def test_what_is_no_change_is_refused(texts: list[str]) -> None:
    with pytest.raises(typer.BadParameter, match="each parameter once as NAME=VALUE"):
        parse_changes(texts)


def test_changes_come_on_top_of_a_file_or_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "best.toml"
    own = nm.Settings(
        retrieval=nm.Retrieval(depth=20),
        scoring=nm.Scoring(half_life_days=90),
        injection=nm.Injection(inject_limit=2),
    )
    file.write_text(own.to_toml())
    changes = ["rrf_k=5", "depth=50", "inject_min_score=0"]
    changed = {"rrf_k": 5, "depth": 50, "inject_min_score": 0}
    assert chosen_settings(file) == chosen_settings(tmp_path) == own
    assert chosen_settings(file, None, changes) == own.replace(**changed)
    recommended = nm.Settings.preset("recommended")
    assert chosen_settings(preset="recommended") == recommended
    assert chosen_settings(None, "recommended", changes) == recommended.replace(**changed)
    assert chosen_settings() == chosen_settings(preset="documented") == nm.Settings()
    with pytest.raises(typer.BadParameter, match="a file or a preset"):
        chosen_settings(file, "recommended")
    with pytest.raises(nm.UnknownName, match="documented, recommended"):
        chosen_settings(preset="recomended")


def test_parts_of_ones_own_are_loaded_by_their_names() -> None:
    chosen = chosen_settings(
        changes=[f"terms={__name__}:length", "w_length=.5", f"fusion={__name__}:reciprocal"]
    )
    assert chosen.retrieval.terms == (length,)
    assert chosen.scoring.fusion is reciprocal
    assert chosen.scoring.weights == {"length": 0.5}
    with pytest.raises(nm.InvalidParameter, match="w_length is a weight of no leg or term"):
        chosen_settings(changes=["w_length=.5"])


def test_no_help_text_loses_what_stands_in_brackets() -> None:
    """Rich takes [scoring] for markup, and shows nothing of it."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "400"}).stdout
        words = re.sub(r"[\s│]+", " ", shown)
        for parameter in command.params:
            for bracket in re.findall(r"\[[^\]]*\]", getattr(parameter, "help", None) or ""):
                assert bracket in words, (name, parameter.name)
