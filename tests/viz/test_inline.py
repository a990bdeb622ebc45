"""Every picture of a notebook is shown, not the first alone."""

from __future__ import annotations

from pathlib import Path

import pytest

FRAME = """
import pandas as pd
from nousmem.viz import plots
frame = pd.DataFrame({"decay_lambda": [0, 1e-3], "w_importance": [0, 0], "R@10": [1, 0]})
"""
CELLS = [
    f"{FRAME}plots.heatmap(frame, measure='R@10');",
    "plots.heatmap(frame, measure='R@10');",
    "plots.curve(frame, measure='R@10');",
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_cell_shows_its_picture(tmp_path: Path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS])
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    images = [
        sum("image/png" in output.get("data", {}) for output in cell.outputs)
        for cell in notebook.cells
    ]
    assert images == [1, 1, 1]
