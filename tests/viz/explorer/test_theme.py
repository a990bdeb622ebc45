"""Contrast of the explorers' colours in JupyterLab's own themes, by WCAG 2.1."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from nousmem.viz.explorer._theme import COLOURS, OWN_LOOKS, STYLE
from nousmem.viz.style import luminance

LETTERS, SHAPES = 4.5, 3.0
"""Least contrast of text (success criterion 1.4.3) and of what is drawn (1.4.11)."""

THEMES = ("light", "dark", "dark-high-contrast")

Colour = tuple[float, float, float, float]


def variables(css: str) -> dict[str, str]:
    return {name: value.strip() for name, value in re.findall(r"(--[\w-]+)\s*:\s*([^;}]+)", css)}


def colour_of(text: str, known: dict[str, str]) -> Colour:
    text = text.strip()
    if text.startswith("var("):
        name, _, fallback = text[4:-1].partition(",")
        return colour_of(known.get(name.strip(), fallback), known)
    if text.startswith("rgb"):
        parts = [float(part) for part in re.findall(r"[\d.]+", text)]
        red, green, blue, alpha = [*parts, 1.0][:4]
        return red / 255, green / 255, blue / 255, alpha
    named = {"white": "#ffffff", "black": "#000000"}
    digits = named.get(text, text).removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * one for one in digits)
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue, 1.0


def contrast(front: Colour, back: Colour) -> float:
    alpha = front[3]
    seen = [alpha * one + (1 - alpha) * under for one, under in zip(front, back[:3], strict=False)]
    light, dark = sorted((luminance(seen), luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(params=THEMES)
def known(request: pytest.FixtureRequest) -> dict[str, str]:
    spec = importlib.util.find_spec("jupyterlab")
    if spec is None or spec.origin is None:
        pytest.skip("JupyterLab is not installed")
    themes = Path(spec.origin).parent / "themes" / "@jupyterlab"
    css = themes / f"theme-{request.param}-extension" / "index.css"
    return {**variables(css.read_text()), **variables(STYLE)}


@pytest.mark.parametrize("back", ["--jp-layout-color0", "--jp-layout-color1"])
def test_text_and_drawings_stand_out(known: dict[str, str], back: str) -> None:
    paper = colour_of(known[back], known)
    for name in ("--nmx-ink", "--nmx-dim"):
        assert contrast(colour_of(known[name], known), paper) >= LETTERS, name
    own = [f"own{at}" for at in range(OWN_LOOKS)]
    parts = [f"--nmx-{one}" for one in ("relevance", "importance", "recency", "updates", *own)]
    for text in (*(known[name] for name in parts), *COLOURS):
        assert contrast(colour_of(text, known), paper) >= SHAPES, text


def test_the_focus_is_seen(known: dict[str, str]) -> None:
    rule = re.search(r":focus-visible \{\s*outline: (\d)px solid ([^;]+);", STYLE)
    assert rule is not None
    assert int(rule[1]) >= 2
    paper = colour_of(known["--jp-layout-color0"], known)
    assert contrast(colour_of(rule[2], known), paper) >= LETTERS


def test_contrast_is_that_of_the_specification() -> None:
    white, grey = colour_of("#fff", {}), colour_of("rgb(118, 118, 118)", {})
    assert contrast(colour_of("black", {}), white) == pytest.approx(21)
    assert contrast(grey, white) == pytest.approx(4.54, abs=0.01)
    assert contrast(colour_of("rgba(0, 0, 0, 0.54)", {}), white) == pytest.approx(4.6, abs=0.05)
    assert colour_of("var(--a, #123456)", {"--a": "var(--b)", "--b": "#ffffff"}) == white


def test_parts_of_a_score_differ_without_colour() -> None:
    parts = ("relevance", "importance", "recency", "lost", "outdone")
    names = [*parts, *(f"own{at}" for at in range(OWN_LOOKS))]
    rules = [re.search(rf"\.nmx \.{name} {{([^}}]*)}}", STYLE).group(1) for name in names]
    drawn = {re.sub(r"var\(--nmx-(?!back)[\w]+\)", "colour", rule) for rule in rules}
    assert len(drawn) == len(names)
