"""What a reviewer thinks of each turn, kept beside the transcripts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nousmem.entry import parse_instant
from nousmem.errors import InvalidEntry, SessionError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SAME", "Rating", "RatingFile", "summarise_ratings"]

SAME: Final = "same"
"""The verdict that neither setting was better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One verdict about one turn."""

    session: str
    turn: str
    settings: tuple[str, str]
    """What was compared."""
    better: str
    """The name of the better setting, or "same"."""
    comment: str = ""
    rated_at: datetime
    """UTC."""
    rater: str = ""

    @property
    def key(self) -> tuple[str, str, frozenset[str], str]:
        """What is rated by whom; a later rating of the same replaces it."""
        return (self.session, self.turn, frozenset(self.settings), self.rater)


class RatingFile:
    """Ratings as JSON lines, one a verdict; of several about the same, the last one counts.

    A rating is on the disk when `put` returns. Each operation reads the file anew.

    Args:
        path: The file; made, with its folder, by the first rating.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    def read(self) -> list[Rating]:
        """Return the ratings that count, in the order they were first made; none without a file.

        Raises:
            SessionError: the file cannot be read, or a line is no rating.
        """
        if not self.path.exists():
            return []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SessionError(f"{self.path}: cannot be read: {error}") from error
        found: dict[Any, Rating] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                one = _rating(line, f"{self.path}: line {number}")
                found[one.key] = one
        return list(found.values())

    def put(self, rating: Rating) -> None:
        """Keep a rating.

        Raises:
            SessionError: the verdict is none of those there are, or the file cannot be written.
        """
        _check(rating, str(self.path))
        values = asdict(rating) | {"rated_at": rating.rated_at.isoformat()}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(values, ensure_ascii=False) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise SessionError(f"cannot write {self.path}: {error.strerror or error}") from error


def summarise_ratings(ratings: Iterable[Rating], *, confidence: float = 0.95) -> pd.DataFrame:
    """Return who won, and how sure that is, one pair of settings a row.

    Columns:
        a, b: The settings, by name.
        a_better, b_better, same: How many turns were rated so.
        a_share: Of the turns with a winner, the share that a won; missing without any.
        low, high: Its Wilson interval.
        p: Two-sided sign test of "neither is better": how likely so uneven a result is if each
            turn with a winner were a toss of a coin. Turns of one session are related, so it is
            surer than it should be where there are few sessions.
        sessions: How many sessions the turns are from.

    Args:
        ratings: What `RatingFile.read` returns.
        confidence: Of the interval.
    """
    import pandas as pd
    from scipy.stats import binomtest

    pairs: dict[tuple[str, ...], list[Rating]] = {}
    for one in ratings:
        pairs.setdefault(tuple(sorted(one.settings)), []).append(one)
    rows: list[dict[str, Any]] = []
    for (a, b), found in sorted(pairs.items()):
        wins = sum(one.better == a for one in found)
        losses = sum(one.better == b for one in found)
        row: dict[str, Any] = {"a": a, "b": b, "a_better": wins, "b_better": losses}
        row |= {"same": len(found) - wins - losses}
        row |= dict.fromkeys(("a_share", "low", "high"), float("nan")) | {"p": 1.0}
        if wins + losses:
            test: Any = binomtest(wins, wins + losses)
            interval = test.proportion_ci(confidence_level=confidence, method="wilson")
            share = wins / (wins + losses)
            row |= {"a_share": share, "low": float(interval.low), "high": float(interval.high)}
            row |= {"p": float(test.pvalue)}
        rows.append(row | {"sessions": len({one.session for one in found})})
    columns = ["a", "b", "a_better", "b_better", "same", "a_share", "low", "high", "p", "sessions"]
    return pd.DataFrame(rows, columns=columns)


def _rating(line: str, place: str) -> Rating:
    try:
        values: Any = json.loads(line)
        if not isinstance(values, dict):
            raise SessionError(f"{place}: expected a rating, got {line[:60]!r}")
        given = cast("dict[str, Any]", values)
        given["settings"] = tuple(given["settings"])
        given["rated_at"] = parse_instant(given["rated_at"])
        rating = Rating(**given)
    except (ValueError, KeyError, TypeError, InvalidEntry) as error:
        if isinstance(error, SessionError):
            raise
        raise SessionError(f"{place}: not a rating: {error}") from None
    _check(rating, place)
    return rating


def _check(rating: Rating, place: str) -> None:
    if len(set(rating.settings)) != 2 or rating.better not in (*rating.settings, SAME):
        raise SessionError(
            f"{place}: better must be one of two different settings or {SAME!r}, got "
            f"{rating.better!r} of {', '.join(map(repr, rating.settings))}"
        )
