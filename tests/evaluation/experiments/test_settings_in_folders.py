"""Whole settings in result folders: legs, terms and functions of one's own, and where these are
not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nousmem as nm
from nousmem import evaluation as ev
from nousmem.errors import ExperimentError, ExtensionError
from nousmem.evaluation.experiments import check_gate, write_baseline
from nousmem.evaluation.experiments.folder import ResultFolder
from nousmem.references import MissingCode

PARTS = """
from dataclasses import dataclass

import numpy as np
import nousmem as nm

@nm.term(name="wordy")
def length(candidates):
    return np.array([len(entry.content) for entry in candidates.entries]) / 100

@dataclass(frozen=True)
class Newest:
    at_most: int = 5
    name: str = "newest"

    def search(self, request):
        newest = sorted(request.entries(), key=lambda one: (one.created_at, one.id), reverse=True)
        return [(one, 1.0) for one in newest[: min(self.at_most, request.depth)]]

def linear(hours, rate):
    return np.maximum(0.0, 1.0 - rate * hours)
"""

EXPERIMENT = """
measures = ["nDCG@10", "R@5"]
folds = 3

[corpus]
name = "tables"
path = "tables"

[retrieval]
embedder = ["none", "hashing"]
legs = [["text", { object = "parts_here:Newest", at_most = 3 }]]
terms = "parts_here:length"

[scoring]
w_recency = 0
half_life_days = 365
decay_curve = "parts_here:linear"

[injection]
inject_limit = 3

[grid]
depth = [5, 20]
w_wordy = [0, 0.5]
w_newest = [0.2, 1]
"""


@pytest.fixture
def own_file(
    tmp_path: Path, write_tables: Callable[..., None], own_code: Callable[..., Path]
) -> Path:
    own_code(parts_here=PARTS)
    write_tables(tmp_path / "tables")
    file = tmp_path / "own.toml"
    file.write_text(EXPERIMENT)
    return file


def taken_up(out: Path) -> int:
    return json.loads((out / "manifest.json").read_text())["conditions_taken_up"]


def test_settings_read_back_whole(own_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ev.run_experiment(ev.read_experiment(own_file), out=out)
    first = result.conditions[0].measured.settings[0]
    assert first.retrieval.leg_names == ("text", "newest")
    assert first.retrieval.term_names == ("wordy",)
    assert first.injection.inject_limit == 3
    read = ev.read_result(out)
    for one, other in zip(result.conditions, read.conditions, strict=True):
        assert one.measured.settings == other.measured.settings
        assert one.measured.n_tried == other.measured.n_tried == 8
        assert one.measured.baseline == other.measured.baseline == 8
    assert {one.embedder for one in read.conditions[1].measured.settings} == {"hashing-1:256"}
    for at in range(2):
        file = out / "conditions" / f"{at:03d}" / "best.toml"
        assert nm.Settings.from_toml(file) == read.best(condition=at)
    table = pd.read_parquet(out / "conditions" / "000" / "settings.parquet")
    assert table["depth"].head(8).tolist() == [5, 5, 5, 5, 20, 20, 20, 20]
    assert table["w_newest"].head(4).tolist() == [0.2, 0.2, 1, 1]
    assert table["w_wordy"].head(4).tolist() == [0, 0.5, 0, 0.5]
    fourth = nm.Settings.from_dict(json.loads(table["settings"][3]))
    assert fourth.scoring == first.scoring.replace(w_wordy=0.5, w_newest=1)


def test_what_was_measured_is_what_runs(own_file: Path, tmp_path: Path) -> None:
    """The ranking of a setting that was read is that of the search it is given to."""
    result = ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    best = ev.read_result(tmp_path / "out").best(condition=0)
    corpus = result.experiment.conditions[0].corpus.load()
    with nm.open_store("sqlite") as store:
        store.put(corpus.entries)
        run = ev.run_queries(nm.Search(store, settings=best), corpus.queries)
    measured = result.conditions[0].measured
    per_query = ev.per_query(run, corpus.qrels, ["nDCG@10"]).set_index("query_id")
    own = measured.values_of("nDCG@10")[measured.best_index("nDCG@10")]
    ids = [query.query_id for query in measured.queries]
    assert per_query.loc[ids, "nDCG@10"].tolist() == own.tolist()


@pytest.mark.parametrize(
    ("old", "new"),
    [("/ 100", "/ 90"), ("at_most: int = 5", "at_most: int = 4"), ("1.0 - rate", "1.1 - rate")],
    ids=["term", "leg", "curve"],
)
def test_other_code_is_measured_anew(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path], old: str, new: str
) -> None:
    out = tmp_path / "out"
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert taken_up(out) == 2
    assert old in PARTS
    own_code(parts_here=PARTS.replace(old, new))
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert taken_up(out) == 0


def test_a_folder_half_measured_with_other_code_is_not_finished(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    own_code(parts_here=PARTS.replace("/ 100", "/ 90"))
    true_write = ResultFolder.write_condition

    def interrupted(self, at, key, one):
        if at == 1:
            raise KeyboardInterrupt
        true_write(self, at, key, one)

    monkeypatch.setattr(ResultFolder, "write_condition", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ev.run_experiment(ev.read_experiment(own_file), out=out)
    with pytest.raises(ExperimentError, match="1 of 2 conditions are not measured yet"):
        ev.read_result(out)
    monkeypatch.undo()


def test_a_result_is_read_where_the_code_is_not(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path]
) -> None:
    from nousmem.viz.report import write_report

    result = ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    toml, code = result.best(condition=0).to_toml(), result.best(condition=0).code()
    (own_code(parts_here="") / "parts_here.py").unlink()
    read = ev.read_result(tmp_path / "out")
    for name in ("frame", "by_category", "tuned", "comparison"):
        pd.testing.assert_frame_equal(getattr(read, name), getattr(result, name))
    pd.testing.assert_frame_equal(read.leaderboard(), result.leaderboard())
    best = read.best(condition=0)
    assert best.to_toml() == toml
    leg = best.retrieval.legs[1]
    assert isinstance(leg, MissingCode)
    assert best.retrieval.leg_names == ("text", "newest")
    assert best.retrieval.term_names == ("wordy",)
    assert best.code() == code
    assert len(set(read.conditions[0].measured.settings)) == 9
    assert read.experiment.to_document() == result.experiment.to_document()
    assert "parts_here:Newest" in repr(best)
    assert "parts_here:linear" in write_report(tmp_path / "out").read_text()
    with nm.open_store("sqlite") as store:
        store.put([nm.Entry("kiln")])
        with pytest.raises(ExtensionError, match=r"parts_here:Newest.*no module 'parts_here'"):
            nm.Search(store, settings=best)("kiln")
        plain = best.replace(legs=["text"], weights={})
        with pytest.raises(ExtensionError, match=r"parts_here:linear.*no module 'parts_here'"):
            nm.Search(store, settings=plain)("kiln")
        uncurved = plain.replace(decay_curve="exponential", w_wordy=1)
        with pytest.raises(ExtensionError, match=r"parts_here:length.*no module 'parts_here'"):
            nm.Search(store, settings=uncurved)("kiln")
    with pytest.raises(ExtensionError, match=r"cannot run.*no module 'parts_here'"):
        ev.run_experiment(read.experiment)


def test_a_part_that_has_another_name_now_is_not_taken_for_it(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path]
) -> None:
    ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    own_code(parts_here=PARTS.replace('name="wordy"', 'name="long"'))
    best = ev.read_result(tmp_path / "out").best(condition=0)
    assert best.retrieval.term_names == ("wordy",)
    with pytest.raises(ExtensionError, match="called 'wordy', and is 'long' now"):
        best.retrieval.own_terms[0](None)


def test_a_sweep_of_a_notebook_is_read_elsewhere(own_file: Path, tmp_path: Path) -> None:
    """What it defines no file can name: as here, inside a function."""

    @nm.term(name="halves")
    def halved(candidates):
        return candidates.importance / 2

    @nm.term(decays=True)
    def whole(candidates):
        return candidates.importance

    def stepped(hours, rate):
        return np.where(rate * hours < 1, 1.0, 0.5)

    corpus = ev.read_experiment(own_file).conditions[0].corpus.load()
    swept = ev.sweep(
        corpus,
        grid={"w_halves": [0, 0.5], "w_whole": [0, 0.1], "decay_curve": ["power", stepped]},
        retrieval=nm.Retrieval(terms=[halved, whole]),
    )
    swept.write(tmp_path / "swept")
    read = ev.read_result(tmp_path / "swept")
    assert read.measured.frame["decay_curve"].tolist() == swept.frame["decay_curve"].tolist()
    pd.testing.assert_frame_equal(read.leaderboard(), swept.leaderboard())
    best = read.best()
    assert [term.decays for term in best.retrieval.own_terms] == [False, True]
    assert best.scoring.weights == swept.best().scoring.weights
    with pytest.raises(ExtensionError, match=r"halved.*inside a function"):
        best.retrieval.own_terms[0](None)


def test_a_sweep_with_a_baseline_of_its_own_keeps_it(own_file: Path, tmp_path: Path) -> None:
    corpus = ev.read_experiment(own_file).conditions[0].corpus.load()
    against = nm.Settings().replace(half_life_days=100, depth=7)
    swept = ev.sweep(corpus, grid={"w_importance": [0, 1]}, baseline=against)
    assert swept.baseline_settings == against
    swept.write(tmp_path / "swept")
    read = ev.read_result(tmp_path / "swept")
    assert read.measured.baseline_settings == against
    (plan,) = read.experiment.plans()
    assert plan.settings == read.measured.settings
    assert plan.baseline == read.measured.baseline


def test_a_gate_says_what_changed(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path]
) -> None:
    text = EXPERIMENT[: EXPERIMENT.index("[grid]")]
    own_file.write_text(text)
    baseline = tmp_path / "baseline.json"
    write_baseline(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    gate = check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    assert (gate.changed, gate.n_moved, gate.n_queries) == ((), 0, 58)
    settings = json.loads(baseline.read_text())["conditions"]["tables, none"]["settings"]
    assert nm.Settings.from_dict(settings).retrieval.leg_names == ("text", "newest")
    own_file.write_text(text.replace("w_recency = 0", "w_recency = 0.1\nw_importance = 2"))
    own_code(parts_here=PARTS.replace("1.0 - rate", "1.1 - rate"))
    gate = check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    for name in ("tables, none", "tables, hashing"):
        assert f"{name}: w_importance was 0.3, and is 2.0" in gate.changed
        assert f"{name}: w_recency was 0.0, and is 0.1" in gate.changed
        assert f'{name}: decay_curve "parts_here:linear" has other code' in gate.changed
    # The least score of injection is not scaled: nothing was varied.
    assert len(gate.changed) == 6
    assert 0 < gate.n_moved <= gate.n_queries == 58 < len(gate.moved)


def test_a_full_disk_leaves_the_baseline(
    own_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_file.write_text(EXPERIMENT[: EXPERIMENT.index("[grid]")])
    result = ev.run_experiment(ev.read_experiment(own_file))
    baseline = tmp_path / "baseline.json"
    write_baseline(result, baseline)
    before = baseline.read_bytes()

    def full(self, text, **options):
        with self.open("w") as file:
            file.write(text[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_baseline(result, baseline)
    assert baseline.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_a_setting_that_cannot_be_read_is_damage(own_file: Path, tmp_path: Path) -> None:
    ev.run_experiment(ev.read_experiment(own_file), out=tmp_path / "out")
    shutil.copy(
        tmp_path / "out" / "conditions" / "000" / "queries.parquet",
        tmp_path / "out" / "conditions" / "000" / "settings.parquet",
    )
    with pytest.raises(ExperimentError, match="out is damaged"):
        ev.read_result(tmp_path / "out")
