"""Where words stand around a picture, and how they make do with less room.

Letters keep their size on a small Axes, such as one column of a journal: what does not fit is
wrapped, moved below, or left out.
"""

from __future__ import annotations

import importlib
import itertools
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nousmem.viz import style

__all__ = [
    "along",
    "below",
    "columns_beside",
    "filled_box",
    "headline",
    "is_narrow",
    "name_axes",
    "place_legend",
    "settle",
    "size",
]

NARROW: Final = 3.4
"""Width of an Axes, inches, below which there is no room for words beside it."""

LETTER: Final = 0.0078
"""Mean width of a letter of `FONT`, inches per point of its size."""


def size(ax: Any) -> tuple[float, float]:
    """Return width and height of the Axes, inches; before the layout of its figure, roughly."""
    extent, dpi = ax.get_window_extent(), ax.get_figure(root=True).dpi
    return extent.width / dpi, extent.height / dpi


def is_narrow(ax: Any) -> bool:
    """Return whether the Axes is about as wide as one column of a journal, or less."""
    return size(ax)[0] < NARROW


def settle(ax: Any) -> None:
    """Lay the figure out as it will be drawn, so that distances on the page are known."""
    figure = ax.get_figure(root=True)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def headline(
    ax: Any, title: str, detail: str = "", *, inches: float | None = None, lift: float = 0.0
) -> None:
    """Write a bold title over the Axes and, under it, a smaller line of detail, at the left.

    Args:
        ax: The Axes.
        title: In one line, more where there is no room; a no-break space is never broken.
        detail: Likewise; "" is none.
        inches: Width to keep to; None is that of the Axes.
        lift: How much higher than usual both stand, points.
    """
    width = size(ax)[0] if inches is None else inches
    lines = _wrapped(detail, width, style.SMALL, least=20)
    # Bold letters are wider.
    titles = _wrapped(title, width, 1.12 * (style.TEXT_SIZE + 1.5), least=16)
    ax.set_title(
        "\n".join(titles),
        loc="left",
        pad=6.0 + 11.5 * len(lines) + lift,
        color=style.INK,
        fontsize=style.TEXT_SIZE + 1.5,
        fontweight="bold",
        fontfamily=style.families(),
        parse_math=False,
    )
    if lines:
        ax.annotate(
            "\n".join(lines),
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(0, 5 + lift),
            textcoords="offset points",
            va="bottom",
            fontsize=style.SMALL,
            color=style.MUTED,
            annotation_clip=False,
        )


def name_axes(ax: Any, across: str, upwards: str = "", *, inches: float | None = None) -> None:
    """Name both axes, in as many lines as their lengths ask for; "" is no name.

    Args:
        ax: The Axes.
        across: Name of the horizontal axis.
        upwards: Name of the vertical one.
        inches: Length of the horizontal one; None is the width of the Axes.
    """
    width, height = size(ax)
    width = width if inches is None else inches
    ax.set_xlabel("\n".join(_wrapped(across, 1.1 * width, style.TEXT_SIZE, least=18)))
    ax.set_ylabel("\n".join(_wrapped(upwards, 1.1 * height, style.TEXT_SIZE, least=18)))


def place_legend(
    ax: Any, *, title: str = "", handles: Iterable[Any] | None = None, under: bool = False
) -> None:
    """Draw the legend beside the Axes at the right; below a narrow one.

    Args:
        ax: The Axes, its horizontal axis named already.
        title: Over the legend.
        handles: Labelled artists, in order; None is all of them.
        under: Below, however wide the Axes is.
    """
    artists = list(ax.get_legend_handles_labels()[0] if handles is None else handles)
    options: dict[str, Any] = {"title": title, "title_fontsize": style.SMALL, "alignment": "left"}
    if not under and not is_narrow(ax):
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02), "labelspacing": 0.7}
        ax.legend(handles=artists, handlelength=3.6, **options)
        return
    widths = [len(str(artist.get_label())) * style.SMALL * LETTER + 0.5 for artist in artists]
    # Wider than the Axes it would take more of its width the less there is.
    room = size(ax)[0]
    columns = len(widths) if sum(widths) <= room else max(1, int(room / max(widths)))
    ax.legend(
        handles=artists,
        handlelength=2.4 if under else 3.6,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below(ax),
        ncols=columns,
        columnspacing=1.6,
        **options,
    )


def below(ax: Any) -> Any:
    """Return Axes coordinates moved down past the axis label, whatever the Axes' height."""
    transforms: Any = importlib.import_module("matplotlib.transforms")
    lines = ax.get_xlabel().count("\n")
    down = transforms.ScaledTranslation(
        0, -0.5 - 0.15 * lines, ax.get_figure(root=True).dpi_scale_trans
    )
    return ax.transAxes + down


def columns_beside(ax: Any, columns: Iterable[tuple[str, float, Sequence[str]]]) -> None:
    """Write columns of text at the right of an Axes whose rows stand at 0, 1, 2 and so on.

    Args:
        ax: The Axes.
        columns: For each its heading, where it ends (points from the Axes' right edge), and the
            text of every row.
    """
    look = {"textcoords": "offset points", "fontsize": style.SMALL, "annotation_clip": False}
    for name, points, texts in columns:
        ax.annotate(
            name,
            xy=(1, 1),
            xycoords="axes fraction",
            xytext=(points, 5),
            ha="right",
            va="bottom",
            color=style.MUTED,
            **look,
        )
        for y, text in enumerate(texts):
            ax.annotate(
                text,
                xy=(1, y),
                xycoords=ax.get_yaxis_transform(),
                xytext=(points, 0),
                ha="right",
                va="center",
                color=style.INK,
                **look,
            )


def _wrapped(text: str, inches: float, points: float, *, least: int) -> list[str]:
    letters = max(least, int(inches / (points * LETTER)))
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text, letters)]


def along(path: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return a path's points, shape (n, 2), with so many more on the way to each of the next."""
    steps = np.linspace(0, 1, count)[:, None]
    parts = [a + steps * (b - a) for a, b in itertools.pairwise(path)]
    return np.concatenate([path, *parts])


def filled_box(centre: NDArray[np.float64], half: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a grid of points that fills a box, given half its size."""
    across, upwards = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 3))
    return centre + half * np.column_stack([across.ravel(), upwards.ravel()])
