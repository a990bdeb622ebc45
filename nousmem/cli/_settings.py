"""The options that say how memories are found, ranked and shown, the same in every command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from nousmem.errors import InvalidParameter
from nousmem.retrieval.presets import PRESETS
from nousmem.retrieval.settings import Settings, part_of, read_settings
from nousmem.scoring import CHOICES

__all__ = ["Changes", "Preset", "SettingsFile", "chosen_settings", "parse_changes", "parse_value"]

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file of settings, as sweep writes for the best ones, or the folder with its "
        "best.toml; --set comes on top.",
    ),
]
"""The option --settings."""

Preset = Annotated[
    str | None,
    typer.Option(
        help=f"Settings by name, in place of a file: {' or '.join(PRESETS)}. Without either, "
        "documented."
    ),
]
"""The option --preset."""

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of Retrieval, Scoring or Injection, such as decay_lambda=0.0001, "
        "legs=text,vector, fusion=convex or w_frequency=0.1. May be repeated. "
        "package.module:object is a part of your own, whose code is run.",
    ),
]
"""The option --set."""

_SEPARATOR: Final = re.compile(r"[,+]")


def chosen_settings(
    file: Path | None = None, preset: str | None = None, changes: Sequence[str] | None = None
) -> Settings:
    """Return the settings that the options of a command choose.

    Raises:
        InvalidParameter: the file cannot be read or is none of settings, or a change is not valid.
        UnknownName: there is no such preset.
        typer.BadParameter: a file and a preset are given; or as in `parse_changes`.
    """
    if file is not None and preset is not None:
        raise typer.BadParameter("give a file or a preset, not both", param_hint="--preset")
    start = read_settings(file) if file is not None else Settings.preset(preset or "documented")
    return start.replace(**parse_changes(changes or ()))


def parse_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Read `NAME=VALUE` texts.

    Raises:
        typer.BadParameter: one is not of that form, or a name stands twice.
        InvalidParameter: as in `parse_value`.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name or name in values:
            raise typer.BadParameter(f"expected each parameter once as NAME=VALUE, got {text!r}")
        values[name] = parse_value(name, value)
    return values


def parse_value(name: str, text: str) -> Any:
    """Read one value of a parameter of settings.

    Args:
        name: As in a grid, such as decay_lambda, legs or w_frequency.
        text: A number; "none" for None; the name of a choice, or of somebody's own function. Of
            legs and terms several, separated by a comma or, where commas separate values, by "+";
            "all" legs are those that store and embedder allow.

    Raises:
        InvalidParameter: there is no such parameter.
        typer.BadParameter: the text is none of these.
    """
    if part_of(name) == "scoring" and name == "weights":
        raise InvalidParameter("give a weight of your own part by itself, as w_NAME=NUMBER")
    text = text.strip()
    if name == "legs":
        return None if text in ("all", "none") else _listed(text)
    if name == "terms":
        return () if text == "none" else _listed(text)
    if name in CHOICES:
        return text
    return None if text == "none" else _number(name, text)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in _SEPARATOR.split(text))


def _number(name: str, text: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{name}: {text!r} is not a number")
