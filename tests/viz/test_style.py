import itertools
import subprocess
import sys

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from nousmem.errors import InvalidParameter, MissingDependency
from nousmem.viz import plots, style


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_importing_the_plots_does_not_load_matplotlib_or_pandas():
    code = (
        "import sys, nousmem.viz.plots; sys.exit(bool({'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"nousmem\[notebooks\]"):
        plots.half_life([1.0], decay_lambda=0.001)


def test_a_failure_while_drawing_leaves_no_figure_behind():
    with pytest.raises(RuntimeError), style.drawing(None, size=(2, 2)):
        raise RuntimeError
    assert plt.get_fignums() == []


def test_forty_five_lines_all_look_different_even_without_colour():
    looks = [style.look(i) for i in range(45)]
    assert len({(look["marker"], look["linestyle"]) for look in looks}) == 45


def _luminance(colour):
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def test_text_on_any_colour_has_the_contrast_that_wcag_asks_for():
    for colour in itertools.product((0, 0.2, 0.4, 0.5, 0.6, 0.8, 1), repeat=3):
        ink = _luminance(mpl.colors.to_rgb(style.ink_on(colour)))
        light, dark = sorted((ink, _luminance(colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_characters_without_a_font_become_boxes_and_others_stay():
    assert style.drawable("naïve ★ \U000f0000") == "naïve ★ □"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_saving_twice_gives_the_same_bytes(tmp_path, ending):
    files = []
    for i in range(2):
        ax = plots.half_life([1.0, 50.0, 400.0], decay_lambda=0.001)
        files.append(plots.save(ax, tmp_path / f"{i}.{ending}").read_bytes())
    assert files[0] == files[1]
    assert len(files[0]) > 2000


def test_an_ending_that_is_no_picture_is_refused(tmp_path):
    ax = plots.half_life([1.0], decay_lambda=0)
    with pytest.raises(InvalidParameter, match=r"\.png, \.svg, \.pdf"):
        plots.save(ax, tmp_path / "picture.docx")
