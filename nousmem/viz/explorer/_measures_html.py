"""Paired differences drawn as HTML tables."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from nousmem.viz.explorer._measuring import Difference, Standing
from nousmem.viz.plots.labels import share

__all__ = ["differences_table", "standing_table"]

_VERDICTS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "unclear": "? unclear",
    "few": "? too few",
    "same": "= same",
}


def standing_table(standing: Standing, *, first: str, n_queries: int, drawn: str) -> str:
    """Return the measures over all queries, and the first of them by category.

    Args:
        standing: What was measured.
        first: The measure that is shown by category.
        n_queries: How many were measured.
        drawn: What the intervals draw, as a sentence.
    """
    categories = [one for one in standing.categories if one.name]
    whole = "The only judged query" if n_queries == 1 else f"All {n_queries:,} queries"
    tables = [differences_table(standing.measures, head="Measure", caption=whole)]
    if len(categories) > 1:
        tables.append(
            differences_table(categories, head="Category", caption=f"{first} by category")
        )
    beside = "".join(f"<div>{table}</div>" for table in tables)
    return (
        f"<div class='nmx'><div class='side narrow'>{beside}</div>"
        f"<p class='dim'>{html.escape(drawn)}</p></div>"
    )


def differences_table(
    rows: Sequence[Difference], *, head: str, caption: str, counts: bool = False
) -> str:
    """Return one row a difference: before, here, the difference and how sure it is.

    Args:
        rows: The differences.
        head: What the first column names.
        caption: Over the table; "" for none.
        counts: Whether queries, and those that gain and lose, get columns.
    """
    body = "".join(
        f"<tr><th scope='row' title='{html.escape(one.name)}'>"
        f"{html.escape(one.name) or '(none)'}</th>"
        f"<td class='num'>{share(one.baseline)}</td><td class='num'><b>{share(one.here)}</b></td>"
        f"<td class='num' title='95 % interval {_interval(one)}, {_drawn(one)}'>"
        f"{share(one.difference, signed=True)}</td>"
        + (
            f"<td class='num'>{_interval(one)}</td>"
            f"<td class='num'>{one.wins:,} / {one.losses:,} / {one.n:,}</td>"
            if counts
            else ""
        )
        + f"<td class='verdict'>{_VERDICTS[one.verdict]}</td></tr>"
        for one in rows
    )
    extra = (
        "<th scope='col' class='num'>95 % interval</th>"
        "<th scope='col' class='num' title='Queries that gain, that lose, and all'>"
        "Gain / lose / all</th>"
        if counts
        else ""
    )
    over = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f"<table>{over}<thead><tr>"
        f"<th scope='col'>{html.escape(head)}</th><th scope='col' class='num'>Baseline</th>"
        f"<th scope='col' class='num'>Here</th><th scope='col' class='num'>Diff.</th>{extra}"
        "<th scope='col' class='verdict' title='Whether the 95 % interval leaves out zero'>"
        "Surely?</th></tr>"
        f"</thead><tbody>{body}</tbody></table>"
    )


def _drawn(one: Difference) -> str:
    groups = f" in {one.n_groups} groups" if one.n_groups else ""
    return f"{one.n:,} {'query' if one.n == 1 else 'queries'}{groups}"


def _interval(one: Difference) -> str:
    if math.isinf(one.low):
        return "unknown"
    return f"{share(one.low, signed=True)} … {share(one.high, signed=True)}"
