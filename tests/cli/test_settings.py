from __future__ import annotations

from pathlib import Path

import pytest

import nousmem as nm
from nousmem.cli.settings import read_settings


def test_the_settings_are_what_to_toml_writes(tmp_path: Path):
    tuned = nm.Scoring(decay_lambda=0.0002, w_importance=0.1, w_recency=0.05, fusion="convex")
    path = tmp_path / "best.toml"
    path.write_text(tuned.to_toml() + "\n[provenance]\nseed = 7\n")
    assert read_settings(path) == tuned


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected a table \[scoring\]"),
        ("[scorin]\nrrf_k = 5", r"expected a table \[scoring\]"),
        ("scoring = 5", r"expected a table \[scoring\]"),
        ("rrf_k = 5\n[scoring]", "rrf_k stands outside"),
        ("[scoring]\nrrf = 5", "unknown scoring parameter 'rrf'"),
        ("[scoring]\nrrf_k = 'x'", "rrf_k"),
        ("[scoring", "cannot read the settings"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(tmp_path: Path, text: str, message: str):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(nm.InvalidParameter, match=message):
        read_settings(path)


def test_a_folder_is_read_where_it_has_best_toml(tmp_path: Path):
    with pytest.raises(nm.InvalidParameter, match=r"is a folder without best\.toml") as caught:
        read_settings(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "best.toml").write_text(nm.Scoring(rrf_k=5).to_toml())
    assert read_settings(tmp_path) == nm.Scoring(rrf_k=5)
