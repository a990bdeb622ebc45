"""Pictures are drawn without a screen, and closed after each test."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")
