"""Settings written down, to be pasted into a program or a file."""

from __future__ import annotations

from nousmem.retrieval.search import MIN_DEPTH
from nousmem.scoring import Scoring, decay_lambda_of, half_life_days

__all__ = ["as_python", "as_toml"]


def as_python(scoring: Scoring, *, depth: int = MIN_DEPTH) -> str:
    """Return Python that makes these settings and a search with them.

    Only what differs from the defaults is written.
    """
    defaults = Scoring().to_dict()
    changed = [
        f"    {_argument(name, value)},"
        for name, value in scoring.to_dict().items()
        if value != defaults[name]
    ]
    made = "\n".join(["nm.Scoring(", *changed, ")"]) if changed else "nm.Scoring()"
    read = "" if depth == MIN_DEPTH else f", depth={depth}"
    return (
        "import nousmem as nm\n\n"
        f"scoring = {made}\n"
        f"search = nm.Search(store, embedder, scoring=scoring{read})\n"
    )


def as_toml(scoring: Scoring, *, depth: int = MIN_DEPTH) -> str:
    """Return TOML with the table `[scoring]`, and the depth where it is not the default."""
    read = "" if depth == MIN_DEPTH else f"depth = {depth}\n\n"
    return read + scoring.to_toml()


def _argument(name: str, value: object) -> str:
    if name == "decay_lambda" and isinstance(value, float) and value > 0:
        days = round(half_life_days(value))
        # Whole days read better, where they are the very same rate.
        if days and decay_lambda_of(days) == value:
            return f"half_life_days={days}"
    return f"{name}={value!r}"
