"""Reading the settings that a command is given as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nousmem.errors import InvalidParameter
from nousmem.scoring import Scoring

__all__ = ["read_settings"]

_BEST: Final = "best.toml"


def read_settings(path: Path) -> Scoring:
    """Read the table `[scoring]` of a TOML file; other tables are somebody else's.

    Args:
        path: The file; or a folder that holds it as best.toml, as a sweep leaves it.

    Raises:
        InvalidParameter: the file cannot be read, is not TOML, has no such table, or names no
            parameter of Scoring there.
    """
    if path.is_dir():
        if not (path / _BEST).is_file():
            raise InvalidParameter(
                f"{path} is a folder without {_BEST}: name a file with a table [scoring], as "
                "Scoring.to_toml() writes, or the folder of a sweep that found a best setting"
            )
        path = path / _BEST
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InvalidParameter(f"cannot read the settings {path}: {error}") from None
    try:
        return Scoring.from_toml(text)
    except InvalidParameter as error:
        raise InvalidParameter(f"{path}: {error}") from None
