"""Line charts and bars as SVG, in the colours of the notebook's theme."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from nousmem.viz.explorer._theme import COLOURS, DASHES

__all__ = ["Frame", "bars", "line_chart"]

_LABEL_GAP: Final = 14.0
_CHARACTER: Final = 6.6
_BETWEEN: Final = 6.0
"""Width of a character and between two labels, pixels."""
_MARKS: Final = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True, slots=True)
class Frame:
    """The plotting area of a chart, in pixels, and the data it spans."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    left: float = 44.0
    right: float = 14.0
    top: float = 10.0
    bottom: float = 36.0

    def across(self, value: float) -> float:
        """Return where a value of x stands."""
        low, high = self.x
        inner = self.width - self.left - self.right
        return self.left + inner * (value - low) / ((high - low) or 1.0)

    def down(self, value: float) -> float:
        """Return where a value of y stands."""
        low, high = self.y
        inner = self.height - self.top - self.bottom
        return self.height - self.bottom - inner * (value - low) / ((high - low) or 1.0)

    def svg(self, body: str, *, label: str) -> str:
        """Return the chart; `label` says in words what it shows."""
        return (
            f"<svg class='chart' viewBox='0 0 {self.width:g} {self.height:g}' role='img' "
            f"aria-label='{html.escape(label, quote=True)}'>{body}</svg>"
        )

    def grid(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        *,
        x_title: str,
    ) -> str:
        """Return the axes with their ticks."""
        base, end = self.height - self.bottom, self.width - self.right
        lines = "".join(
            f"<path class='grid' d='M{self.left:.1f} {self.down(value):.1f}H{end:.1f}'/>"
            f"<text class='dim' x='{self.left - 5:.1f}' y='{self.down(value) + 4:.1f}' "
            f"text-anchor='end'>{html.escape(text)}</text>"
            for value, text in y_ticks
        )
        ticks = "".join(
            f"<path class='axis' d='M{self.across(value):.1f} {base:.1f}v4'/>"
            f"<text class='dim' x='{self.across(value):.1f}' y='{base + 16:.1f}' "
            f"text-anchor='middle'>{html.escape(text)}</text>"
            for value, text in x_ticks
        )
        middle = (self.left + end) / 2
        return (
            f"{lines}<path class='axis' d='M{self.left:.1f} {base:.1f}H{end:.1f}'/>{ticks}"
            f"<text x='{middle:.1f}' y='{self.height - 4:.1f}' text-anchor='middle'>"
            f"{html.escape(x_title)}</text>"
        )


def line_chart(
    lines: Mapping[str, Sequence[float]],
    *,
    ticks: Sequence[str],
    chosen: int,
    x_title: str,
    label: str,
) -> str:
    """Draw a line for each name over evenly spaced places, named at its right end.

    Args:
        lines: Values of each line, from 0 to 1, one for each place.
        ticks: What the places are called.
        chosen: The place that is marked.
        x_title: What the places are values of.
        label: What the chart shows, in words.
    """
    top = max((value for line in lines.values() for value in line), default=1.0)
    step = next(one for one in (0.05, 0.1, 0.2, 0.25) if top / one <= 5 or one == 0.25)
    high = step * max(1, -(-top // step))
    frame = Frame(520, 290, (0, max(1, len(ticks) - 1)), (0, high), left=38, right=120)
    y_ticks = [
        (step * at, f"{step * at:.2f}".replace("0.", ".", 1))
        for at in range(round(high / step) + 1)
    ]
    room = (frame.width - frame.left - frame.right) / max(1, len(ticks) - 1)
    every = math.ceil((_CHARACTER * max(map(len, ticks)) + _BETWEEN) / room)
    x_ticks = [(at, text) for at, text in enumerate(ticks) if at % every == 0]
    parts = [frame.grid(x_ticks, y_ticks, x_title=x_title)]
    at = frame.across(chosen)
    parts.append(
        f"<path class='axis' stroke-dasharray='4 3' d='M{at:.1f} {frame.top:g}"
        f"V{frame.height - frame.bottom:.1f}'/>"
    )
    ends = _apart([frame.down(line[-1]) for line in lines.values()], frame)
    for number, ((name, line), end) in enumerate(zip(lines.items(), ends, strict=True)):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        points = [(frame.across(place), frame.down(value)) for place, value in enumerate(line)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(
            f"<path d='M{path}' fill='none' stroke='{colour}' stroke-width='2' "
            f"stroke-dasharray='{dash}'/>"
        )
        parts += [_mark(_MARKS[number % len(_MARKS)], x, y, colour) for x, y in points]
        edge = frame.width - frame.right
        parts.append(
            f"<path d='M{edge:.1f} {points[-1][1]:.1f}L{edge + 10:.1f} {end:.1f}' fill='none' "
            f"stroke='{colour}'/><text x='{edge + 13:.1f}' y='{end + 4:.1f}'>"
            f"{html.escape(name or '(none)')}</text>"
        )
    return frame.svg("".join(parts), label=label)


def bars(counts: Sequence[int], *, ticks: Sequence[str], x_title: str, label: str) -> str:
    """Draw a bar for each count, with the count on it; `ticks` stand at the bars' edges."""
    top = max(max(counts, default=0), 1)
    frame = Frame(560, 210, (0, len(counts)), (0, top * 1.1), left=14)
    width = frame.across(1) - frame.across(0)
    parts = [frame.grid(list(enumerate(ticks)), [], x_title=x_title)]
    for at, count in enumerate(counts):
        y = frame.down(count)
        parts.append(
            f"<rect x='{frame.across(at) + 2:.1f}' y='{y:.1f}' width='{width - 4:.1f}' "
            f"height='{frame.height - frame.bottom - y:.1f}' fill='{COLOURS[0]}'/>"
            f"<text x='{frame.across(at) + width / 2:.1f}' y='{y - 3:.1f}' text-anchor='middle'>"
            f"{count:,}</text>"
        )
    return frame.svg("".join(parts), label=label)


def _apart(places: Sequence[float], frame: Frame) -> list[float]:
    """Move labels apart that would overlap, as little as the room allows."""
    order = sorted(range(len(places)), key=lambda at: places[at])
    moved = list(places)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + _LABEL_GAP)
    excess = max(0.0, moved[order[-1]] - (frame.height - frame.bottom)) if order else 0.0
    if excess:
        moved[order[-1]] -= excess
        for below, above in pairwise(reversed(order)):
            moved[above] = min(moved[above], moved[below] - _LABEL_GAP)
    return moved


def _mark(kind: str, x: float, y: float, colour: str) -> str:
    match kind:
        case "circle":
            return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='{colour}'/>"
        case "square":
            return f"<rect x='{x - 3:.1f}' y='{y - 3:.1f}' width='6' height='6' fill='{colour}'/>"
        case "triangle":
            return f"<path d='M{x:.1f} {y - 4:.1f}l4 7h-8z' fill='{colour}'/>"
        case _:
            return f"<path d='M{x:.1f} {y - 4.5:.1f}l4 4.5l-4 4.5l-4 -4.5z' fill='{colour}'/>"
