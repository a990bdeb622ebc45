"""What the decay designer shows, as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Final

from nousmem.scoring import Floats, Scoring, half_life_days
from nousmem.viz._own_parts import part_name
from nousmem.viz.explorer._charts import Frame, bars
from nousmem.viz.explorer._decay_year import DAYS, Band
from nousmem.viz.explorer._theme import COLOURS
from nousmem.viz.plots.labels import duration, share

__all__ = ["bands_table", "kept_in_words", "left_in_words", "share_bars", "year_chart"]

_HERE: Final = f"stroke='{COLOURS[0]}' stroke-width='2.4'"
_BEFORE: Final = f"stroke='{COLOURS[1]}' stroke-width='1.6' stroke-dasharray='5 4'"


def year_chart(
    shares: Floats, before: Floats, *, scoring: Scoring, baseline: Scoring, access: str
) -> str:
    """Draw the share of relevance left of one memory over its first year.

    Args:
        shares: On each of `DAYS`, under the settings shown.
        before: The same under the baseline.
        scoring: The settings shown.
        baseline: What they are compared with.
        access: How often it is accessed, in words.
    """
    frame = Frame(560, 280, (0, 365), (0, 1), right=20)
    y_ticks = [(at / 4, text) for at, text in enumerate(("0", ".25", ".50", ".75", "1"))]
    x_ticks = [(float(day), str(day)) for day in (0, 30, 60, 90, 120, 180, 240, 300, 365)]
    # A curve of one's own has no half-life that anybody knows.
    is_own = not isinstance(scoring.decay_curve, str)
    days = math.inf if is_own else half_life_days(scoring.decay_lambda)
    body = [frame.grid(x_ticks, y_ticks, x_title="days since it was made")]
    # The dashes above the line, so that both are seen where they are the same.
    body.append(_line(frame, shares, _HERE))
    body.append(_line(frame, before, _BEFORE))
    if days <= 365:
        x = frame.across(days)
        anchor, side = ("start", 5) if days < 240 else ("end", -5)
        body.append(
            f"<path class='axis' stroke-dasharray='2 3' d='M{x:.1f} {frame.down(0):.1f}V"
            f"{frame.down(1):.1f}'/><text class='dim' x='{x + side:.1f}' text-anchor='{anchor}' "
            f"y='{frame.down(1) + 14:.1f}'>half-life {duration(days)}</text>"
        )
    left = left_in_words(shares)
    here, there = (_named(one) for one in (scoring, baseline))
    return (
        f"<div class='nmx'><h3>Share of relevance left of one memory, {_pattern(access)}</h3>"
        f"<p>{_key(_HERE)} here: {here} &nbsp; {_key(_BEFORE)} baseline: {there}</p>"
        + frame.svg("".join(body), label=f"Share of relevance left: {left}")
        + f"<p class='dim'>Left: {left}.</p></div>"
    )


def bands_table(here: Sequence[Band], before: Sequence[Band]) -> str:
    """Return what is left by age, here and at the baseline."""
    body = "".join(
        f"<tr><th scope='row'>{one.name}</th>"
        f"<td class='num'>{one.n:,}</td>"
        + (
            f"<td class='num'>{share(was.mean)}</td><td class='num'><b>{share(one.mean)}</b></td>"
            f"<td class='num'>{share(one.least)}</td>"
            if one.n
            else "<td class='num'>–</td><td class='num'>–</td><td class='num'>–</td>"
        )
        + "</tr>"
        for one, was in zip(here, before, strict=True)
    )
    return (
        "<div class='nmx'><table><caption>Share of relevance left, by age</caption><thead><tr>"
        "<th scope='col'>Days old</th><th scope='col' class='num'>Memories</th>"
        "<th scope='col' class='num'>Baseline, mean</th><th scope='col' class='num'>Here, mean</th>"
        "<th scope='col' class='num'>Here, least</th></tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def share_bars(counts: Sequence[int], *, evergreen: int) -> str:
    """Draw how many memories keep which share of their relevance."""
    total = sum(counts)
    ticks = ["0", *(f".{at}" for at in range(1, 10)), "1"]
    words = f"Of {total:,}, {kept_in_words(counts)}" + (
        f" ({evergreen:,} are evergreen)" if evergreen else ""
    )
    chart = bars(counts, ticks=ticks, x_title="share of relevance left", label=words)
    return f"<div class='nmx'><h3>All memories</h3><p>{words}.</p>{chart}</div>"


def kept_in_words(counts: Sequence[int]) -> str:
    """Return how many memories keep little and how many keep much, by tenths."""
    weak, strong = counts[0], sum(counts[5:])
    few, many = (("keeps" if n == 1 else "keep") for n in (weak, strong))
    return f"{weak:,} {few} less than a tenth, {strong:,} {many} half or more"


def left_in_words(shares: Floats) -> str:
    """Return what is left of a memory over its first year, shares as on each of `DAYS`."""
    return ", ".join(f"{share(float(shares[2 * day]))} after {day} days" for day in (30, 90, 365))


def _pattern(access: str) -> str:
    pattern = "never accessed again" if access == "never again" else f"accessed {access}"
    return html.escape(pattern)


def _named(scoring: Scoring) -> str:
    days = half_life_days(scoring.decay_lambda)
    floor = f", floor {scoring.decay_floor:g}" if scoring.decay_floor else ""
    if not isinstance(scoring.decay_curve, str):
        rate = f"decay_lambda {scoring.decay_lambda:.4g}"
        return html.escape(f"{part_name(scoring.decay_curve)}, {rate}{floor}")
    if scoring.decay_lambda == 0:
        return "no decay"
    return html.escape(f"{scoring.decay_curve}, half-life {duration(days)}{floor}")


def _key(style: str) -> str:
    line = f"<path d='M0 4H30' {style}/>"
    return f"<svg width='30' height='8' style='display:inline' aria-hidden='true'>{line}</svg>"


def _line(frame: Frame, shares: Floats, style: str) -> str:
    points = (
        f"{frame.across(day):.1f} {frame.down(value):.1f}"
        for day, value in zip(DAYS.tolist(), shares.tolist(), strict=True)
    )
    return f"<path d='M{'L'.join(points)}' fill='none' {style}/>"
