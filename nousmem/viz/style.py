"""How every picture looks: palette, sizes, spines, grid, and the numbers as they are written.

Colours are those of Okabe and Ito ("Color Universal Design", 2008) without the yellow, which
vanishes on white. No picture depends on them: markers, dashes, hatches and words say the same.
The look is laid over the caller's settings while a function draws, and written into the artists,
so that matplotlib's global settings are never touched and hold no sway over the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from nousmem.errors import InvalidParameter, MissingDependency

__all__ = ["DASHES", "FONT", "MARKERS", "PALETTE", "drawing", "ink_on", "save"]

FONT: Final = "DejaVu Sans"
"""Ships with matplotlib, so that a picture is the same on every machine."""

OTHER_SCRIPTS: Final = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Noto Sans JP",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
)
"""Used for the characters that `FONT` lacks, where one of them is installed."""

GENERIC: Final = "sans-serif"
"""What a browser takes where it has none of them."""

INK: Final = "#1f1f1f"
MUTED: Final = "#5f5f5f"
GRID: Final = "#dcdcdc"
PAPER: Final = "#ffffff"

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES: Final = ((0, ()), (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 3)))
"""The three cycles have lengths without a common factor, so that 315 lines all differ."""

TEXT_SIZE: Final = 9.0
SMALL: Final = 8.0

SETTINGS: Final[dict[str, Any]] = {
    "font.family": [FONT],
    "font.sans-serif": [FONT],
    "font.size": TEXT_SIZE,
    "text.color": INK,
    "text.parse_math": False,  # a memory that says "$5 or $6" is not a formula
    "text.usetex": False,
    "figure.facecolor": PAPER,
    "figure.edgecolor": PAPER,
    "figure.dpi": 100.0,
    "axes.facecolor": PAPER,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT_SIZE,
    "axes.titlesize": TEXT_SIZE + 1.5,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.8,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "path.sketch": None,
    "path.effects": [],
    "svg.hashsalt": "nousmem",
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read out
    "pdf.fonttype": 42,  # text stays text in the PDF, as publishers ask
    "ps.fonttype": 42,
    "savefig.facecolor": "auto",
    "savefig.transparent": False,
}


@contextmanager
def drawing(ax: Any, *, size: tuple[float, float]) -> Generator[Any, None, None]:
    """Lend the Axes to draw on, with the style in force until the block ends.

    Args:
        ax: The caller's Axes, or None for a new figure, which is registered with pyplot so that
            a notebook shows it.
        size: Width and height of a new figure, inches.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    try:
        mpl: Any = importlib.import_module("matplotlib")
        plt: Any = importlib.import_module("matplotlib.pyplot")
        # A notebook's backend changes settings when it starts, which is with the first drawing. In
        # the style's context they would be undone, and no later figure would be shown.
        plt.draw_if_interactive()
    except ImportError:
        raise MissingDependency(
            "matplotlib", extra="notebooks", purpose="drawing a picture"
        ) from None
    with mpl.rc_context({**SETTINGS, "font.family": families()}):
        if ax is not None:
            yield ax
            return
        figure, canvas = plt.subplots(figsize=size, layout="constrained")
        try:
            yield canvas
        except BaseException:
            # An abandoned figure would show up, empty, under the notebook's cell.
            plt.close(figure)
            raise


def dress(ax: Any, *, grid: str | None = None, ticks: bool = True) -> None:
    """Give an Axes the common look, in its own properties.

    Args:
        ax: The Axes.
        grid: "x", "y" or "both": the axis whose ticks get grid lines.
        ticks: Draw tick marks.
    """
    ax.set_facecolor(PAPER)
    fonts = families()
    for axis in (ax.xaxis, ax.yaxis):
        # Made with the Axes, so maybe under the caller's own style.
        axis.label.set(color=INK, fontsize=TEXT_SIZE, fontfamily=fonts, parse_math=False)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
        spine.set_linewidth(0.8)
    # Ticks are made when the figure is drawn, after the style has been taken away.
    ax.tick_params(
        which="both",
        color=INK,
        labelcolor=INK,
        labelsize=SMALL,
        labelfontfamily=fonts,
        direction="out",
        width=0.8,
        length=3.5 if ticks else 0,
    )
    ax.tick_params(which="minor", length=0)
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    if grid is not None:
        ax.grid(visible=True, axis=grid, color=GRID, linewidth=0.7, linestyle="-")


def name_ticks(axis: Any, places: Iterable[float], texts: Iterable[str]) -> None:
    """Put these texts, taken literally, at these places of an axis."""
    axis.set_ticks(list(places), labels=[drawable(text) for text in texts])
    fonts = families()
    for label in axis.get_ticklabels():
        label.set(parse_math=False, fontfamily=fonts)


def share_ticks(axis: Any, *, signed: bool = False) -> None:
    """Write an axis's ticks as shares, all with the same decimals: ".40", ".45", "0", "+.02"."""

    def text(value: float, _: int) -> str:
        places = [f"{place:.6f}".rstrip("0") for place in axis.get_majorticklocs()]
        decimals = max((len(place.partition(".")[2]) for place in places), default=0)
        if abs(value) < 10.0**-decimals / 2:
            return "0"
        written = f"{value:{'+' if signed else ''}.{decimals}f}".replace("-", "−")
        return written.replace("0.", ".", 1) if abs(value) < 1 else written

    axis.set_major_formatter(text)


def look(index: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the line number `index`, from 0."""
    return {
        "color": PALETTE[index % len(PALETTE)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": DASHES[index % len(DASHES)],
        "markersize": 6.2,
    }


def ink_on(colour: tuple[float, ...]) -> str:
    """Return black or white, whichever reads better on an RGB colour with parts from 0 to 1.

    Source: relative luminance and contrast ratio of WCAG 2.1.
    """
    return "#000000" if (luminance(colour) + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def ink_of(colour: str) -> str:
    """Return the colour, darkened until letters of it have a contrast of 4.5 on white.

    Source: WCAG 2.1, success criterion 1.4.3.
    """
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    while 1.05 / (luminance([part / 255 for part in parts]) + 0.05) < 4.5:
        parts = [int(part * 0.97) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in parts)


def luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance, 0 to 1, of an sRGB colour with parts from 0 to 1.

    Source: WCAG 2.1.
    """
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def drawable(text: str) -> str:
    """Return the text with □ for the characters that no font at hand can draw."""
    if text.isascii():
        return text
    font_manager: Any = importlib.import_module("matplotlib.font_manager")
    known: set[int] = set()
    for family in (FONT, *_installed(OTHER_SCRIPTS)):
        if all(ord(character) in known for character in text):
            break
        path = font_manager.findfont(family, fallback_to_default=False)
        known.update(font_manager.get_font(path).get_charmap())
    return "".join(character if ord(character) in known else "□" for character in text)


def save(ax: Any, path: str | Path, *, dpi: float = 200.0) -> Path:
    """Write the Axes' figure to a file; the same picture gives the same bytes.

    Args:
        ax: Any Axes of the figure.
        path: Where to; the ending chooses the format (png, svg, pdf).
        dpi: Dots per inch of a raster format.

    Returns:
        The path written.

    Raises:
        InvalidParameter: the ending is another one.
    """
    mpl: Any = importlib.import_module("matplotlib")
    target = Path(path)
    # What would differ between two runs, or two versions of matplotlib.
    varying = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}
    key = varying.get(target.suffix.lower())
    if key is None:
        raise InvalidParameter(
            f"a picture's file must end in {', '.join(varying)}, got {target.name!r}"
        )
    with mpl.rc_context(SETTINGS):
        ax.get_figure(root=True).savefig(target, bbox_inches="tight", dpi=dpi, metadata={key: None})
    return target


def _installed(families: tuple[str, ...]) -> list[str]:
    font_manager: Any = importlib.import_module("matplotlib.font_manager")
    names = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in families if family in names]


def families() -> list[str]:
    """Return the fonts of all text, the first that has a character drawing it."""
    return [FONT, *_installed(OTHER_SCRIPTS), GENERIC]
