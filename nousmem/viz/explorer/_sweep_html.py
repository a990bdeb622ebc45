"""What a sweep's explorer shows, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from nousmem.retrieval.settings import RETRIEVAL_PARAMETERS, Retrieval, Settings
from nousmem.viz._own_parts import shown_value
from nousmem.viz.explorer._rankings import movement
from nousmem.viz.explorer._sweep_grid import RankedDoc
from nousmem.viz.explorer.ranking_html import badges, shortened
from nousmem.viz.plots.labels import share
from nousmem.viz.style import ink_on

__all__ = ["cell_colours", "ranked_table", "setting_line"]

_PALE, _DEEP = (0.93, 0.96, 0.99), (0.03, 0.27, 0.53)


def cell_colours(value: float, low: float, high: float) -> tuple[str, str]:
    """Return the colours of a cell and of its text: the larger the value, the deeper."""
    at = 0.5 if high <= low else (value - low) / (high - low)
    parts = tuple(pale + at * (deep - pale) for pale, deep in zip(_PALE, _DEEP, strict=True))
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts), ink_on(parts)


def ranked_table(rows: Sequence[RankedDoc], *, moved: bool) -> str:
    """Return a ranking as a table.

    Args:
        rows: Best first.
        moved: Whether to show how each moved against the other ranking.
    """
    body = "".join(
        f"<tr{' class=relevant' if row.grade else ''}><td><b>{row.rank}</b></td>"
        + (f"<td>{movement(row.rank, row.before)}</td>" if moved else "")
        + f"<td class='num'>{share(row.score)}</td><td class='text'>"
        f"<bdi>{html.escape(shortened(row.content, 140))}</bdi> {badges(row.grade, row.mark)}"
        "</td></tr>"
        for row in rows
    )
    change = "<th scope='col'>Change</th>" if moved else ""
    return (
        f"<table><thead><tr><th scope='col'>Rank</th>{change}"
        f"<th scope='col' class='num'>Score</th><th scope='col'>Memory</th></tr></thead>"
        f"<tbody>{body}</tbody></table>"
        if body
        else "<p>Nothing is found.</p>"
    )


def setting_line(settings: Settings) -> str:
    """Return a setting in plain words, escaped: the scoring, and how it retrieves where it says."""
    plain = Retrieval()
    retrieved = [
        f"{name}={settings.retrieval.depth if name == 'depth' else shown_value(settings, name)}"
        for name in RETRIEVAL_PARAMETERS
        if getattr(settings.retrieval, name) != getattr(plain, name)
    ]
    scoring = repr(settings.scoring).removeprefix("Scoring(").removesuffix(")")
    return html.escape("; ".join([scoring, *retrieved]))
