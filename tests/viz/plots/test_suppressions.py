from __future__ import annotations

import pytest
from drawn_frames import pushed_out, texts, ticks

from nousmem.errors import InvalidParameter
from nousmem.viz import plots


def test_what_left_hangs_and_what_came_stands_with_the_relevant_part_at_the_line():
    ax = plots.suppression(pushed_out())
    assert ticks(ax.xaxis) == ["6 h to 7 d", "7 to 30 d", "30 to 90 d"]
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights == [[1100, 140, 0], [4, 0, 0], [0, -40, -1200], [0, -1, -30]]
    assert all(bar.get_y() == 0 for bars in ax.containers for bar in bars)
    *words, detail, above, below = texts(ax)
    assert words == [
        *("1,100\n4 relevant", "140"),
        *("40\n1 relevant\nin 1 query", "1,200\n30 relevant\nin 28 queries"),
    ]
    assert (above, below) == ("came in", "pushed out")
    assert "1,240 pushed out, 31 of them relevant; 1,240 came in, 4 relevant" in detail
    low, high = ax.get_ylim()
    assert low < -1200 < 1100 < high
    ax.figure.canvas.draw()
    assert not any(label.startswith(("-", "−")) for label in ticks(ax.yaxis))


def test_where_decay_moved_nothing_every_bin_stands_empty():
    still = pushed_out()
    still.loc[:, "pushed_out":] = 0
    ax = plots.suppression(still)
    assert len(ticks(ax.xaxis)) == 5
    assert ticks(ax.xaxis)[-1] == "90 d and more"


def test_counts_that_are_none_are_refused():
    with pytest.raises(InvalidParameter, match="'came_in' must hold counts"):
        plots.suppression(pushed_out().assign(came_in=-1))
    with pytest.raises(InvalidParameter, match="pushed_out_relevant is more"):
        plots.suppression(pushed_out().assign(pushed_out_relevant=5000))
    with pytest.raises(InvalidParameter, match="no column 'came_in'"):
        plots.suppression(pushed_out().drop(columns="came_in"))
