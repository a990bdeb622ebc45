from __future__ import annotations

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from drawn_frames import (
    NAMES,
    by_category,
    differences,
    every_picture,
    frontier,
    pushed_out,
    ranking,
    sweep,
    title,
)

from nousmem.errors import InvalidParameter
from nousmem.scoring import Scoring
from nousmem.viz import plots


@pytest.mark.parametrize("name", NAMES)
def test_it_returns_the_axes_it_was_given_or_its_own(name):
    _, ax = plt.subplots()
    assert every_picture(ax)[name]() is ax
    own = every_picture()[name]()
    assert own is not ax
    assert own.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_global_settings_stay_and_do_not_leak_in(name):
    with plt.style.context("dark_background"):
        before = dict(mpl.rcParams)
        ax = every_picture()[name]()
        assert dict(mpl.rcParams) == before
        ax.figure.canvas.draw()
        labels = [ax.xaxis.label, ax.title, *ax.get_xticklabels(), *ax.get_yticklabels()]
        assert not {"white", "#ffffff"} & {label.get_color() for label in labels[:1] + labels[2:]}
        assert ax.get_facecolor() == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_on_the_callers_dark_axes_the_labels_are_dark_too(name):
    with plt.style.context("dark_background"):
        _, ax = plt.subplots()
        every_picture(ax)[name]()
        assert ax.xaxis.label.get_color() == ax.yaxis.label.get_color() == "#1f1f1f"
        assert {label.get_color() for label in ax.get_xticklabels()} == {"#1f1f1f"}


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_written_as_pdf_without_a_warning(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = every_picture()[name]()
        ax.figure.savefig(tmp_path / "a.pdf", bbox_inches="tight")
    assert (tmp_path / "a.pdf").stat().st_size > 2000


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_pdf_holds_its_font(name, tmp_path):
    written = plots.save(every_picture()[name](), tmp_path / "a.pdf").read_bytes()
    # The font is in the file, as outlines that publishers take (Type 42), and not as bitmaps.
    assert b"/FontFile2" in written
    assert b"/Type3" not in written


@pytest.mark.parametrize("name", NAMES)
def test_the_axes_are_labelled(name):
    ax = every_picture()[name]()
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name in ("intervals", "estimates")
    assert title(ax)


@pytest.mark.parametrize(
    ("draw", "frame"),
    [
        (plots.heatmap, sweep()),
        (plots.curve, by_category()),
        (plots.trade_off, frontier()),
        (plots.intervals, differences()),
        (plots.score_parts, ranking(Scoring())),
        (plots.suppression, pushed_out()),
    ],
)
def test_the_frame_stays_as_it_was(draw, frame):
    before = frame.copy(deep=True)
    draw(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("draw", "frame", "column", "hint"),
    [
        (plots.heatmap, sweep().rename(columns={"nDCG@10": "nDCG@5"}), "nDCG@10", "nDCG@5"),
        (plots.curve, sweep().rename(columns={"decay_lambda": "decay"}), "decay_lambda", "decay"),
        (plots.trade_off, frontier().rename(columns={"Fresh@1": "fresh"}), "Fresh@1", "fresh"),
        (plots.intervals, differences().rename(columns={"low": "lower"}), "low", "lower"),
        (
            plots.score_parts,
            ranking(Scoring()).rename(columns={"decay": "decays"}),
            "decay",
            "decays",
        ),
    ],
)
def test_a_missing_column_is_named_with_a_close_one_and_all_there_are(draw, frame, column, hint):
    with pytest.raises(InvalidParameter) as caught:
        draw(frame)
    message = str(caught.value)
    assert f"no column {column!r}; did you mean {hint!r}?" in message
    assert ", ".join(frame.columns) in message
    assert plt.get_fignums() == []


@pytest.mark.parametrize("draw", [plots.heatmap, plots.curve, plots.trade_off, plots.intervals])
def test_what_is_no_frame_or_has_no_rows_is_refused(draw):
    with pytest.raises(InvalidParameter, match="DataFrame"):
        draw([1, 2])
    empty = {plots.trade_off: frontier(), plots.intervals: differences()}.get(draw, sweep())
    with pytest.raises(InvalidParameter, match="no rows"):
        draw(empty.head(0))
