"""Every picture of nousmem.viz.plots beside the one kept of it, and what all of them promise.

Draw the kept ones anew, and look at each before it is committed:

    NOUSMEM_DRAW_GALLERY=1 pytest tests/viz/test_gallery.py
"""

import itertools
import math
import os
import re
import warnings
from functools import cache
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.testing.compare import compare_images
from matplotlib.testing.exceptions import ImageComparisonFailure
from matplotlib.text import Text
from PIL import Image

import nousmem as nm
from nousmem.scoring import CURVES, Scoring, composite, decay, recency
from nousmem.viz import plots, style

KEPT = Path(__file__).parents[1] / "golden" / "gallery"
DRAW = "NOUSMEM_DRAW_GALLERY"
DPI = 64
TOLERANCE = 0.5
"""Root mean square of the differences, of 255. Redrawn with the same matplotlib it is 0."""

HALF_LIVES = [math.inf, 360.0, 90.0, 30.0, 7.0]


def sweep():
    return pd.DataFrame(
        {
            "half_life_days": days,
            "w_importance": weight,
            "nDCG@10": 0.45 - 0.9 / (days + 4) - (weight - 0.1) ** 2 + 0.02 * (days == 360),
        }
        for days in HALF_LIVES
        for weight in (0, 0.1, 0.2, 0.3)
    )


def by_category():
    frame = pd.DataFrame(
        {
            "half_life_days": days,
            "category": name,
            "nDCG@10": top - loss / (days + 9),
            "n_queries": count,
        }
        for name, top, loss, count in (
            ("multi-hop", 0.31, 1.2, 282),
            ("temporal", 0.42, 0.6, 321),
            ("single-hop", 0.58, 4.0, 841),
        )
        for days in HALF_LIVES
    )
    return frame.assign(low=frame["nDCG@10"] - 0.03, high=frame["nDCG@10"] + 0.03)


def trade_offs():
    return pd.DataFrame(
        {
            "half_life_days": days,
            "decay_curve": curve,
            "R@10": 0.72 - loss / (days + 8),
            "Fresh@1": 0.3 + gain * math.exp(-((math.log(days / 60)) ** 2) / 4),
        }
        for curve, loss, gain in (("exponential", 4.0, 0.3), ("hyperbolic", 2.5, 0.24))
        for days in [*HALF_LIVES, 180.0, 60.0, 14.0]
    )


def ranking(scoring, *, freshness=None):
    contents = [
        "Mira moved from Oldtown to a flat by the harbour in Newport",
        "The dentist is on Mill Lane, second floor",
        "Mira lives in Oldtown",
        "Allergic to walnuts (not to peanuts)",
        "Pays $5 a month for the tram, $6 in winter",
    ]
    age = np.array([30.0, 400, 2900, 900, 5])
    columns = {
        "relevance": np.array([0.84, 0.71, 1.0, 0.44, 0.32]),
        "freshness": np.ones(5) if freshness is None else np.array(freshness),
        "age_hours": age,
        "decay": decay(age, decay_lambda=scoring.decay_lambda, curve=CURVES["exponential"]),
        "importance": np.array([0.6, 0.3, 0.5, 0.9, 0.2]),
        "recency": recency(age, recency_lambda=scoring.recency_lambda),
    }
    values = (
        columns["relevance"] * columns["freshness"] * columns["decay"],
        columns["importance"],
        columns["recency"],
    )
    score = composite(zip(scoring.term_weights(), values, strict=True))
    frame = pd.DataFrame(
        {"doc_id": [f"m{i}" for i in range(5)], "content": contents, "score": score, **columns}
    ).sort_values("score", ascending=False)
    return frame.assign(rank=range(1, 6))


@nm.term
def frequency(candidates):
    return np.log1p(candidates.access_count) / np.log(101)


@nm.term(decays=True)
def same_place(candidates):
    return np.array(["Newport" in entry.content for entry in candidates.entries], dtype=float)


OWN = nm.Settings(
    retrieval=nm.Retrieval(terms=[frequency, same_place]),
    scoring=nm.Scoring(
        half_life_days=60, w_recency=0.1, weights={"frequency": 0.2, "same_place": 0.4}
    ),
)


def own_ranking():
    """Return a ranking with two terms of somebody's own; age takes from the second."""
    frame = ranking(OWN.scoring).sort_values("doc_id").reset_index(drop=True)
    frame["frequency"] = [0.2, 0.5, 0.9, 0, 0.6]
    frame["same_place"] = [1.0, 0, 0, 0, 0]
    frame["relevance"] += 0.4 * frame["same_place"]
    frame["score"] += 0.5 * 0.4 * frame["same_place"] * frame["decay"] + 0.2 * frame["frequency"]
    return frame.sort_values("score", ascending=False).assign(rank=range(1, 6))


def differences():
    return pd.DataFrame(
        {
            "name": ["tuned on other users", "without decay", "decay of 7 days", "vectors alone"],
            "difference": [0.041, 0.012, -0.033, 0.004],
            "low": [0.02, -0.011, -0.052, -0.006],
            "high": [0.061, 0.034, -0.013, 0.015],
            "p_value": [0.0002, 0.31, 0.004, math.nan],
            "measure": "nDCG@10",
        }
    )


def families():
    return pd.DataFrame(
        {
            "family": ["no decay", "decay", "decay with a floor", "penalty or takeover"],
            "Fresh@1": [0.371, 0.514, 0.57, 0.693],
            "Fresh@1_low": [0.257, 0.4, 0.457, 0.586],
            "Fresh@1_high": [0.486, 0.629, 0.681, 0.794],
        }
    )


def pushed_out():
    return pd.DataFrame(
        {
            "age_from": [0, 1, 7, 30, 90, 365],
            "age_to": [1, 7, 30, 90, 365, math.inf],
            "pushed_out": [0, 30, 240, 610, 1400, 380],
            "pushed_out_relevant": [0, 0, 12, 31, 120, 41],
            "queries_hurt": [0, 0, 12, 28, 97, 40],
            "came_in": [390, 1310, 640, 290, 30, 0],
            "came_in_relevant": [9, 48, 12, 1, 0, 0],
        }
    )


def ages():
    """Two hundred, most of them young."""
    return 4200 * (np.arange(200) / 199) ** 2.2


TUNED = Scoring(half_life_days=60, w_recency=0.2)
PICTURES = {
    "heatmap": lambda ax=None: plots.heatmap(sweep(), x="half_life_days", ax=ax),
    "curve": lambda ax=None: plots.curve(sweep(), x="half_life_days", ax=ax),
    "curve-categories": lambda ax=None: plots.curve(by_category(), x="half_life_days", ax=ax),
    "score-parts": lambda ax=None: plots.score_parts(
        ranking(TUNED), scoring=TUNED, relevant=["m0", "m1"], ax=ax
    ),
    "score-parts-freshness": lambda ax=None: plots.score_parts(
        ranking(TUNED, freshness=[1.15, 1, 0.8, 1, 1]), scoring=TUNED, ax=ax
    ),
    "score-parts-own": lambda ax=None: plots.score_parts(own_ranking(), scoring=OWN, ax=ax),
    "trade-off": lambda ax=None: plots.trade_off(
        trade_offs().query("decay_curve == 'exponential'"), ax=ax
    ),
    "trade-off-curves": lambda ax=None: plots.trade_off(trade_offs(), by="decay_curve", ax=ax),
    "half-life": lambda ax=None: plots.half_life(ages(), decay_lambda=0.001, ax=ax),
    "half-life-floor": lambda ax=None: plots.half_life(
        ages(),
        scoring=Scoring(
            half_life_days=30, decay_curve="hyperbolic", decay_floor=0.4, decay_clock="creation"
        ),
        ax=ax,
    ),
    "half-life-importance": lambda ax=None: plots.half_life(
        ages(), scoring=Scoring(half_life_days=30, decay_importance=0.8), ax=ax
    ),
    "intervals": lambda ax=None: plots.intervals(differences(), ax=ax),
    "estimates": lambda ax=None: plots.estimates(
        families(), "Fresh@1", name="family", goal=0.6, ax=ax
    ),
    "suppression": lambda ax=None: plots.suppression(pushed_out(), ax=ax),
}
LINES = ("curve-categories", "trade-off-curves", "half-life-importance")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def rendered(figure, path):
    """Write the picture, uncut, so that its size does not depend on what is in it.

    Returns what is really drawn of text, with its box; ticks off the axis, for one, are not.
    """
    found = {}
    draw = Text.draw

    def note(text, renderer, *args, **kwargs):
        if text.get_visible() and text.get_text().strip():
            # The last of the passes counts: before it the layout is not done.
            found[text] = text.get_text(), Text.get_window_extent(text, renderer)
        return draw(text, renderer, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", note)
        figure.savefig(path, dpi=DPI, format="png")
    return list(found.values())


@cache
def drawn(name):
    """Return Axes, PNG and texts of a picture at its own size, drawn once for all tests."""
    ax, png = PICTURES[name](), BytesIO()
    found = rendered(ax.figure, png)
    return ax, png.getvalue(), found


def version_of(path):
    """Return the major and minor version of the matplotlib that drew a PNG."""
    with Image.open(path) as image:
        return re.search(r"version(\d+\.\d+)", image.info["Software"]).group(1)


def difference(path, kept):
    """Return the root mean square of the differences, infinite for another size."""
    try:
        told = compare_images(str(kept), str(path), tol=0, in_decorator=True)
    except ImageComparisonFailure:
        return math.inf
    return told["rms"] if told else 0.0


# Beside the kept ones


@pytest.mark.parametrize("name", PICTURES)
def test_it_looks_like_the_kept_one(name, tmp_path):
    kept, found = KEPT / f"{name}.png", tmp_path / f"{name}.png"
    _, png, _ = drawn(name)
    if os.environ.get(DRAW):
        KEPT.mkdir(exist_ok=True)
        kept.write_bytes(png)
    found.write_bytes(png)
    if version_of(found) != version_of(kept):
        pytest.skip(f"kept as matplotlib {version_of(kept)} draws it; others set text otherwise")
    differs = difference(found, kept)
    assert differs <= TOLERANCE, (
        f"{name} differs from {kept} by {differs:.2f} of 255 (at most {TOLERANCE}): compare it "
        f"with {found}; if it is right, {DRAW}=1 pytest tests/viz/test_gallery.py keeps it so"
    )


def test_the_kept_ones_are_small_and_all_of_them_are_drawn():
    files = list(KEPT.iterdir())
    assert {file.stem for file in files} == set(PICTURES)
    assert max(file.stat().st_size for file in files) < 40_000


def test_another_colour_another_word_and_another_number_are_seen(tmp_path, monkeypatch):
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    before.write_bytes(drawn("intervals")[1])

    def seen(frame):
        rendered(plots.intervals(frame).figure, after)
        return difference(after, before) > TOLERANCE

    frame = differences()
    assert not seen(frame)
    assert seen(frame.assign(measure="nDCG@20"))
    assert seen(frame.assign(difference=frame["difference"] + 0.004))
    monkeypatch.setattr(style, "PALETTE", ("#0090B2", *style.PALETTE[1:]))
    assert seen(frame)


# Vectors


@pytest.mark.parametrize("name", PICTURES)
def test_text_in_svg_is_text(name, tmp_path):
    ax = drawn(name)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = plots.save(ax, tmp_path / "a.svg").read_text()
    assert f">{ax.get_title(loc='left')}<" in svg
    fonts = set(re.findall(r"font(?:-family)?: ([^;\"]*)", svg))
    assert fonts
    assert all(families.endswith("sans-serif") for families in fonts)


def test_hatches_and_clips_are_the_same_bytes_twice(tmp_path):
    files = [
        plots.save(PICTURES["score-parts"](), tmp_path / f"{i}.svg").read_bytes() for i in range(2)
    ]
    assert files[0] == files[1]


# Room


def assert_room(figure, found):
    assert len(found) > 3
    width, height = figure.get_size_inches() * DPI
    for text, box in found:
        inside = box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1
        assert inside, f"{text!r} is cut off"
    for (a, box), (b, other) in itertools.combinations(found, 2):
        across = min(box.x1, other.x1) - max(box.x0, other.x0)
        upwards = min(box.y1, other.y1) - max(box.y0, other.y0)
        # Boxes hold the room for letters with tails, whether or not there are any.
        assert across < 1 or upwards < 2, f"{a!r} and {b!r} overlap"


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_off_or_lies_on_another(name):
    ax, _, found = drawn(name)
    assert_room(ax.figure, found)


@pytest.mark.parametrize("size", [(3.5, 3.6), (3.35, 2.9), (6.7, 3.0)])
@pytest.mark.parametrize("name", PICTURES)
def test_nor_in_one_column_of_a_journal_or_across_its_page(name, size):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    PICTURES[name](ax)
    assert_room(figure, rendered(figure, BytesIO()))
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 5.5


# Colours


MACHADO = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
"""Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB."""


def linear(colours):
    c = np.array([mpl.colors.to_rgb(colour) for colour in colours])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* (D65) of linear RGB."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = np.clip(rgb, 0, 1) @ to_xyz.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


@pytest.mark.parametrize("sight", MACHADO)
def test_colours_stay_apart_for_the_colour_blind(sight):
    seen = lab(linear(style.PALETTE) @ np.array(MACHADO[sight]).T)
    apart = [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)]
    # A difference of 2.3 is just seen; red and green of one lightness come to less than 10.
    assert min(apart) > 12
    against = [float(np.linalg.norm(colour - [100, 0, 0])) for colour in seen]
    assert min(against) > 30


def test_the_colours_of_the_first_lines_stand_out_and_words_in_a_colour_can_be_read():
    for colour in style.PALETTE[:5]:
        assert 1.05 / (style.luminance(mpl.colors.to_rgb(colour)) + 0.05) > 3
    for colour in style.PALETTE:
        ink = mpl.colors.to_rgb(style.ink_of(colour))
        assert 1.05 / (style.luminance(ink) + 0.05) >= 4.5


@pytest.mark.parametrize("name", LINES)
def test_lines_differ_without_colour(name):
    handles = drawn(name)[0].get_legend().legend_handles
    looks = {(line.get_marker(), line.get_linestyle(), str(line._dash_pattern)) for line in handles}
    assert len(looks) == len(handles) > 1


def test_bars_differ_without_colour():
    hatches = [bars[0].get_hatch() for bars in drawn("score-parts-freshness")[0].containers]
    assert len(set(hatches)) == len(hatches) == 6
    hatches = [bars[0].get_hatch() for bars in drawn("score-parts-own")[0].containers]
    assert len(set(hatches)) == len(hatches) == 6
    pale, dark = (
        [style.luminance(bar.get_facecolor()) for bar in bars]
        for bars in drawn("suppression")[0].containers[:2]
    )
    assert (min(pale) + 0.05) / (max(dark) + 0.05) > 3


def test_a_heatmap_grows_lighter_with_its_values():
    shades = [style.luminance(mpl.colormaps["cividis"](x)) for x in np.linspace(0, 1, 50)]
    assert (np.diff(shades) > 0).all()
