"""A result of several conditions names its winner, and answers as a sweep does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev


@pytest.fixture
def result(experiment_file: Path, tmp_path: Path) -> ev.ExperimentResult:
    ev.run_experiment(ev.read_experiment(experiment_file), out=tmp_path / "out")
    return ev.read_result(tmp_path / "out")


def test_the_winner_is_best_on_unseen_folds(result: ev.ExperimentResult, tmp_path: Path) -> None:
    means = [result.cross_validated(at).mean for at in range(4)]
    assert len(set(means)) > 1
    assert result.winner == int(np.argmax(means))
    tuned = result.tuned
    assert tuned["is_winner"].tolist() == [*(at == result.winner for at in range(4)), False]
    out = tmp_path / "out"
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["winner"] == result.names[result.winner]
    own = out / "conditions" / f"{result.winner:03d}" / "best.toml"
    assert (out / "best.toml").read_bytes() == own.read_bytes()
    assert nm.Settings.from_toml(out) == result.best()
    assert pd.read_csv(out / "tuned.csv")["is_winner"].sum() == 1


def test_of_equals_the_first_by_name_wins(experiment_file: Path) -> None:
    """Two stores, one ranking."""
    text = experiment_file.read_text().replace("depth = [10, 20]", "")
    experiment_file.write_text(
        text.replace('embedder = ["none", "hashing"]', 'store = ["sqlite::memory:", "sqlite"]')
    )
    result = ev.run_experiment(ev.read_experiment(experiment_file))
    assert result.names == ["tables, sqlite::memory:", "tables, sqlite"]
    assert result.cross_validated(0).mean == result.cross_validated(1).mean
    assert result.winner == 1


def test_it_answers_as_a_sweep_does(result: ev.ExperimentResult) -> None:
    measured = result.conditions[result.winner].measured
    assert result.measured is measured
    assert result.best() == measured.best("nDCG@10")
    assert result.best("R@5") == measured.best("R@5")
    board = result.leaderboard(top=3)
    pd.testing.assert_frame_equal(board, measured.leaderboard("nDCG@10", top=3, seed=5))
    pd.testing.assert_frame_equal(result.by(), measured.by())
    pd.testing.assert_frame_equal(result.per_query(2), measured.per_query(2))
    assert result.cross_validated().mean == result.cross_validated(result.winner).mean
    other = (result.winner + 1) % 4
    pd.testing.assert_frame_equal(
        result.leaderboard(condition=other),
        result.conditions[other].measured.leaderboard("nDCG@10", seed=5),
    )
    with pytest.raises(nm.InvalidParameter, match="condition must be from 0 to 3, got 4"):
        result.best(condition=4)


def test_its_best_is_compared_as_settings(result: ev.ExperimentResult) -> None:
    condition = result.conditions[result.winner].condition
    table = ev.compare(
        {"default": result.measured.baseline_settings, "best": result.best()},
        condition.corpus.load(),
        ["nDCG@10"],
        embedder=condition.retrieval.embedder,
    )
    board = result.leaderboard(top=1)
    assert table["mean"][0] == pytest.approx(board["nDCG@10"][0])
    assert table["difference"][0] == pytest.approx(board["difference"][0])


@pytest.mark.filterwarnings("ignore::nousmem.evaluation.FewQueriesWarning")
def test_conditions_on_other_queries_have_no_winner(experiment_file: Path, tmp_path: Path) -> None:
    """The higher mean would be that of the easier corpus."""
    text = experiment_file.read_text().replace("[corpus]\n", "[[corpus]]\n")
    text = text.replace('embedder = ["none", "hashing"]\ndepth = [10, 20]', "")
    experiment_file.write_text(text + '[[corpus]]\nname = "assistant-year"\n')
    out = tmp_path / "out"
    result = ev.run_experiment(ev.read_experiment(experiment_file), out=out)
    assert result.winner is None
    assert not result.tuned["is_winner"].any()
    assert not (out / "best.toml").exists()
    assert json.loads((out / "manifest.json").read_text())["winner"] is None
    with pytest.raises(nm.InvalidParameter, match=r"measured on different queries.*condition=0"):
        result.best()
    assert result.best(condition=1) == result.conditions[1].measured.best("nDCG@10")
