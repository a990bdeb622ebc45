"""Experiments on a corpus, a store and an embedder of one's own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nousmem import evaluation as ev
from nousmem.errors import ExperimentError, InvalidParameter
from nousmem.evaluation.experiments import check_gate, write_baseline
from nousmem.evaluation.experiments._own_code import own_code as code_of

EXPERIMENT = """
measures = ["nDCG@10", "R@5"]
[corpus]
name = "mine:load_mine"
path = "tables"
options = { at_most = 60 }
[retrieval]
store = "mine:opened"
embedder = "mine:Letters"
[scoring]
half_life_days = 365
"""

OWN = """
import nousmem as nm
from nousmem.embeddings import HashingEmbedder
from nousmem.stores.memory import MemoryStore

def load_mine(path, at_most):
    corpus = nm.load_corpus("tables", path=path)
    return corpus.select(corpus.queries[:at_most])

class Letters(HashingEmbedder):
    def __init__(self):
        super().__init__(64)

def opened():
    return MemoryStore()
"""


@pytest.fixture
def own_file(
    tmp_path: Path, write_tables: Callable[..., None], own_code: Callable[..., Path]
) -> Path:
    own_code(mine=OWN)
    write_tables(tmp_path / "tables")
    file = tmp_path / "mine.toml"
    file.write_text(EXPERIMENT)
    return file


def taken_up(out: Path) -> int:
    return json.loads((out / "manifest.json").read_text())["conditions_taken_up"]


def test_it_runs_and_goes_on_where_it_stopped(own_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert taken_up(out) == 0
    assert first.conditions[0].embedder == "hashing-1:64"
    assert first.frame["nDCG@10"].between(0.05, 1).all()
    again = ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert taken_up(out) == 1
    assert again.frame.equals(first.frame)
    assert ev.read_result(out).frame.equals(first.frame)


@pytest.mark.parametrize(
    ("old", "new"),
    [("(64)", "(32)"), ("MemoryStore()", "MemoryStore( )"), ("path, at", "path,  at")],
)
def test_what_was_made_by_other_code_is_measured_again(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path], old: str, new: str
) -> None:
    out = tmp_path / "out"
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert old in OWN
    own_code(mine=OWN.replace(old, new))
    ev.run_experiment(ev.read_experiment(own_file), out=out)
    assert taken_up(out) == 0


def test_it_runs_in_other_processes(own_file: Path) -> None:
    experiment = ev.read_experiment(own_file)
    here = ev.run_experiment(experiment)
    there = ev.run_experiment(experiment, backend="processes", jobs=2)
    assert there.frame.equals(here.frame)


def test_it_is_gated(own_file: Path, tmp_path: Path, own_code: Callable[..., Path]) -> None:
    baseline = tmp_path / "baseline.json"
    write_baseline(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    held = check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    assert held.passed
    assert not len(held.moved)
    own_code(
        mine=OWN
        + """
class Letters(HashingEmbedder):
    def embed_queries(self, texts):
        return super().embed_queries([text[::-1] for text in texts])
"""
    )
    own_file.write_text(EXPERIMENT.replace("embedder", "legs = 'vector'\nembedder"))
    fell = check_gate(ev.run_experiment(ev.read_experiment(own_file)), baseline)
    assert not fell.passed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mine:Letters", "mine:load_mine", "embedder 'mine:load_mine' cannot be called so"),
        ("mine:Letters", "absent_one:Letters", "embedder 'absent_one:Letters': there is no module"),
        ("mine:opened", "mine:open", "store 'mine:open': module 'mine' has no 'open'"),
    ],
)
def test_what_cannot_be_had_is_told_when_the_file_is_read(
    own_file: Path, old: str, new: str, message: str
) -> None:
    own_file.write_text(EXPERIMENT.replace(old, new))
    with pytest.raises(ExperimentError, match=f"mine.toml: retrieval: {message}"):
        ev.read_experiment(own_file)


def test_what_cannot_be_loaded_is_told_before_any_work(own_file: Path) -> None:
    own_file.write_text(EXPERIMENT.replace("at_most", "at_least"))
    with pytest.raises(InvalidParameter, match="corpus 'mine:load_mine' cannot be called so"):
        ev.run_experiment(ev.read_experiment(own_file))


def test_a_store_is_not_opened_when_the_file_is_read(
    own_file: Path, tmp_path: Path, own_code: Callable[..., Path]
) -> None:
    mark = tmp_path / "opened"
    own_code(
        mine=OWN.replace(
            "    return Mem", f"    open({os.fspath(mark)!r}, 'w').close()\n    return Mem"
        )
    )
    experiment = ev.read_experiment(own_file)
    assert not mark.exists()
    ev.run_experiment(experiment)
    assert mark.exists()


def test_each_part_of_a_corpus_has_a_store_of_its_own(
    own_file: Path, own_code: Callable[..., Path]
) -> None:
    divided = OWN.replace("path=path)", 'path=path, partition_field="user_id")')
    own_code(mine=divided)
    apart = ev.run_experiment(ev.read_experiment(own_file))
    # One store for all of them is told.
    own_code(
        mine=divided.replace(
            "def opened():", "ONE = MemoryStore()\n\ndef opened():\n    return ONE"
        )
    )
    with pytest.raises(InvalidParameter, match="entries that are not of corpus"):
        ev.run_experiment(ev.read_experiment(own_file))
    assert apart.conditions[0].corpus["n_entries"] == 90


FACTORY = """
OPENED = []

def opened_for(partition):
    assert {entry.user_id for entry in partition.entries} == {partition.name}
    OPENED.append(partition.name)
    return MemoryStore()

class Kept(MemoryStore):
    def __init__(self, partition, size=3):
        super().__init__()
        OPENED.append(partition.name)

def refused(partition):
    raise OSError("no room for " + partition.name)
"""


@pytest.mark.parametrize("name", ["opened_for", "Kept"])
def test_a_store_is_made_for_each_part_by_what_takes_one(
    own_file: Path, own_code: Callable[..., Path], name: str
) -> None:
    divided = OWN.replace("path=path)", 'path=path, partition_field="user_id")')
    own_code(mine=divided + FACTORY)
    expected = ev.run_experiment(ev.read_experiment(own_file))
    own_file.write_text(EXPERIMENT.replace("mine:opened", f"mine:{name}"))
    experiment = ev.read_experiment(own_file)
    assert sys.modules["mine"].OPENED == []
    result = ev.run_experiment(experiment)
    assert [f"u{at}" for at in range(6)] == sys.modules["mine"].OPENED
    assert result.frame.equals(expected.frame)


def test_a_store_that_cannot_be_made_for_a_part_is_named(
    own_file: Path, own_code: Callable[..., Path]
) -> None:
    own_code(mine=OWN + FACTORY)
    own_file.write_text(EXPERIMENT.replace("mine:opened", "mine:refused"))
    with pytest.raises(InvalidParameter, match="store 'mine:refused' failed: OSError: no room"):
        ev.run_experiment(ev.read_experiment(own_file))


def test_several_embedders_are_several_conditions(own_file: Path) -> None:
    own_file.write_text(EXPERIMENT.replace('"mine:Letters"', '["mine:Letters", "hashing", "none"]'))
    result = ev.run_experiment(ev.read_experiment(own_file))
    assert result.names == [
        f"mine:load_mine, {name}" for name in ("mine:Letters", "hashing", "none")
    ]


def test_only_names_of_own_code_have_code(own_code: Callable[..., Path]) -> None:
    own_code(mine=OWN, sqlite="raise AssertionError\n", local="raise AssertionError\n")
    assert code_of(corpus="locomo", store="sqlite:memories", embedder="local:model") == {}
    assert code_of(corpus="locomo", store="sqlite", embedder=None) == {}
    found = code_of(corpus="mine:load_mine", store="mine:opened", embedder="mine:Letters")
    assert set(found) == {"mine:load_mine", "mine:opened", "mine:Letters"}
    assert len(set(found.values())) == 3
