"""Paired differences drawn as HTML tables."""

from __future__ import annotations

import html
from collections.abc import Sequence

from nousmem.viz.explorer.measuring import Difference, Standing
from nousmem.viz.plots.labels import share

__all__ = ["differences_table", "standing_table"]

_VERDICTS = {"better": "▲ better", "worse": "▼ worse", "unclear": "? unclear", "same": "= same"}


def standing_table(standing: Standing, *, first: str, n_queries: int) -> str:
    """Return the measures over all queries, and the first of them by category."""
    categories = [one for one in standing.categories if one.name]
    tables = [
        differences_table(standing.measures, head="Measure", caption=f"All {n_queries} queries")
    ]
    if len(categories) > 1:
        tables.append(
            differences_table(categories, head="Category", caption=f"{first} by category")
        )
    return f"<div class='nmx'>{''.join(tables)}</div>"


def differences_table(
    rows: Sequence[Difference], *, head: str, caption: str, counts: bool = False
) -> str:
    """Return one row a difference: before, here, the difference and how sure it is.

    Args:
        rows: The differences.
        head: What the first column names.
        caption: Over the table.
        counts: Whether queries, and those that gain and lose, get columns.
    """
    body = "".join(
        f"<tr><th scope='row'>{html.escape(one.name) or '(none)'}</th>"
        f"<td class='num'>{share(one.baseline)}</td><td class='num'><b>{share(one.here)}</b></td>"
        f"<td class='num' title='95 % interval {_interval(one)}, {one.n} queries'>"
        f"{share(one.difference, signed=True)}</td>"
        + (
            f"<td class='num'>{_interval(one)}</td>"
            f"<td class='num'>{one.wins} / {one.losses} / {one.n}</td>"
            if counts
            else ""
        )
        + f"<td style='white-space:nowrap'>{_VERDICTS[one.verdict]}</td></tr>"
        for one in rows
    )
    extra = (
        "<th scope='col' class='num'>95 % interval</th>"
        "<th scope='col' class='num' title='Queries that gain, that lose, and all'>"
        "Gain / lose / all</th>"
        if counts
        else ""
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>"
        f"<th scope='col'>{html.escape(head)}</th><th scope='col' class='num'>Baseline</th>"
        f"<th scope='col' class='num'>Here</th><th scope='col' class='num'>Diff.</th>{extra}"
        "<th scope='col' title='Whether the 95 % interval leaves out zero'>Surely?</th></tr>"
        f"</thead><tbody>{body}</tbody></table>"
    )


def _interval(one: Difference) -> str:
    return f"{share(one.low, signed=True)} … {share(one.high, signed=True)}"
