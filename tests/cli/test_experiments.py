"""`nousmem sweep FILE`, `compare`, `report` and `gate`, as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

EXPERIMENT = """
measures = ["nDCG@10", "R@10"]
[corpus]
name = "tables"
path = "tables"
[scoring]
w_recency = 0
[grid]
half_life_days = [30, 365]
"""


def nousmem(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from nousmem.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1"},
    )


def write_tables(folder: Path) -> None:
    """80 memories of the last year, and 60 questions that share two words with one of them."""
    folder.mkdir()
    words = ["kiln", "oar", "mill", "fern", "quay", "loom", "pear", "dune", "wren", "moss"]
    pairs = [(one, other) for one in words for other in words if one != other][:80]
    pd.DataFrame(
        {
            "id": [f"e{at}" for at in range(80)],
            "content": [f"the {one} by the {other}" for one, other in pairs],
            "created_at": [f"2025-{at % 12 + 1:02d}-05T00:00:00Z" for at in range(80)],
        }
    ).to_csv(folder / "entries.csv", index=False)
    pd.DataFrame(
        {
            "query_id": [f"q{at}" for at in range(60)],
            "text": [f"{one} {other}" for one, other in pairs[:60]],
            "now": ["2026-01-01T00:00:00Z"] * 60,
        }
    ).to_csv(folder / "queries.csv", index=False)
    rows = [(f"q{at}", f"e{at}", 1) for at in range(58)]
    pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]).to_csv(
        folder / "qrels.csv", index=False
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment that was run."""
    folder = tmp_path_factory.mktemp("lab")
    write_tables(folder / "tables")
    (folder / "half-life.toml").write_text(EXPERIMENT)
    done = nousmem("sweep", "half-life.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "judged on unseen folds" in done.stdout
    return folder


def test_the_result_lies_in_a_folder(place: Path):
    out = place / "out" / "half-life"
    assert (out / "manifest.json").exists()
    done = nousmem("sweep", "half-life.toml", "--json", cwd=place)
    document = json.loads(done.stdout)
    assert len(document["rows"]) == 3
    assert document["excluded"] == [{"no entry judged relevant": 2}]
    assert json.loads((out / "manifest.json").read_text())["conditions_taken_up"] == 1


def test_a_file_says_everything_itself(place: Path):
    done = nousmem("sweep", "half-life.toml", "--grid", "rrf_k=1,2", cwd=place)
    assert done.returncode == 2
    assert "--grid" in done.stderr
    done = nousmem("sweep", "assistant-year", "--jobs", "2", cwd=place)
    assert done.returncode == 2
    assert "--jobs" in done.stderr
    done = nousmem("sweep", "none.toml", cwd=place)
    assert done.returncode == 2
    assert done.stderr.strip() == "nousmem: there is no experiment file none.toml"


def test_a_sweep_of_a_corpus_is_an_experiment_too(place: Path):
    """The same folder, so that compare, report and a second run take it."""
    command = ("sweep", "tables", "--path", "tables", "--grid", "half_life_days=30,365")
    done = nousmem(*command, "--grid", "w_recency=0", "--out", "out/tables", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "best by nDCG@10" in done.stdout
    assert "judged on unseen folds" in done.stdout
    names = {file.name for file in (place / "out" / "tables").iterdir()}
    assert names >= {file.name for file in (place / "out" / "half-life").iterdir()}
    assert nousmem("report", "out/tables", cwd=place).returncode == 0
    done = nousmem("compare", "out/half-life", "out/tables", "--json", cwd=place)
    assert [row["difference"] for row in json.loads(done.stdout)["rows"]] == [0, 0]
    done = nousmem(*command, "--out", "out/tables", cwd=place)
    assert done.returncode == 2
    assert "another experiment (it differs in" in done.stderr
    assert "grid" in done.stderr


def test_report_and_compare(place: Path):
    done = nousmem("report", "out/half-life", "--out", "page.html", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "judged on folds that the tuning did not see" in (place / "page.html").read_text()
    done = nousmem("compare", "out/half-life", "out/half-life", "--json", cwd=place)
    rows = json.loads(done.stdout)["rows"]
    assert [row["difference"] for row in rows] == [0, 0]
    (place / "a.toml").write_text("[scoring]\ndecay_lambda = 0.001\n")
    (place / "b.toml").write_text("[scoring]\ndecay_lambda = 0.0001\n")
    tables = ("--corpus", "tables", "--path", "tables")
    done = nousmem(
        "compare", "a.toml", "b.toml", *tables, "--measures", "nDCG@10", "--json", cwd=place
    )
    (row,) = json.loads(done.stdout)["rows"]
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["difference"] > 0
    done = nousmem("compare", "a.toml", "b.toml", "--setting", "worst", cwd=place)
    assert done.returncode == 2
    done = nousmem("compare", "out/half-life", "a.toml", cwd=place)
    assert done.returncode == 2
    assert "is no result folder" in done.stderr


def test_what_settings_are_measured_on_is_said(place: Path):
    (place / "c.toml").write_text("[scoring]\ndecay_lambda = 0\n")
    (place / "d.toml").write_text("[scoring]\ndecay_lambda = 0.0001\n")
    done = nousmem("compare", "c.toml", "d.toml", "--path", "tables", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "measured on tables, 58 queries, embedder none" in " ".join(done.stdout.split())
    done = nousmem("compare", "c.toml", "d.toml", "--corpus", "./tables", "--json", cwd=place)
    assert json.loads(done.stdout)["measured_on"] == {
        "corpus": "tables",
        "path": "tables",
        "n_queries": 58,
        "embedder": "none",
    }
    done = nousmem("compare", "c.toml", "d.toml", "--column", "content=note", cwd=place)
    assert done.returncode == 2
    assert "--path FOLDER" in done.stderr
    assert "assistant-year" not in done.stderr


def test_a_folder_of_tables_is_swept_by_its_path(place: Path):
    done = nousmem("sweep", "./tables", "--grid", "half_life_days=30,365", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "58 queries, best by nDCG@10" in done.stdout
    assert "./tables: 3 settings" in done.stdout
    assert "\ncompared with the baseline, Settings(Scoring(decay_lambda=0.001" in done.stdout
    done = nousmem("sweep", "./tables", "--grid", "half_life_days=365,28.88", cwd=place)
    assert "./tables: 2 settings" in done.stdout
    assert "\ncompared with the baseline, Settings(Scoring(decay_lambda=0.001" in done.stdout
    done = nousmem("sweep", "./boxes", "--grid", "half_life_days=30,365", cwd=place)
    assert done.returncode == 2
    assert "there is no file or folder at boxes" in done.stderr


def test_the_order_of_a_grid_changes_nothing(place: Path):
    """The baseline is the default scoring, whether the grid has it or not."""

    def swept(values: str) -> tuple[str, str]:
        done = nousmem("sweep", "./tables", "--grid", f"half_life_days={values}", cwd=place)
        assert done.returncode == 0, done.stderr
        table, _, said = done.stdout.partition("compared with the baseline, ")
        return table, said

    first, second = swept("7,365,3650"), swept("3650,365,7")
    assert first == second
    assert first[1].startswith("Settings(Scoring(decay_lambda=0.001 (half-life 28.88 days)")


def test_legs_and_depth_are_swept(place: Path):
    grid = ("--grid", "legs=text;text,vector", "--grid", "depth=2,30", "--embedder", "hashing")
    done = nousmem("sweep", "./tables", *grid, "--out", "out/ways", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "5 ways to retrieve × 58 queries, 5 settings" in done.stderr
    document = json.loads(done.stdout)
    assert [(row["legs"], row["depth"]) for row in document["rows"]] == [
        *(("text", 2), ("text,vector", 2), ("text", 30), ("text,vector", 30)),
        ("all", 30),
    ]
    done = nousmem("sweep", "./tables", *grid, "--depth", "3", cwd=place)
    assert done.returncode == 2
    assert "depth is fixed here and varied in --grid" in done.stderr


def test_settings_give_what_is_not_varied(place: Path):
    (place / "base.toml").write_text(
        '[retrieval]\nlegs = ["text"]\ndepth = 7\n[scoring]\nw_importance = 0.1\n'
        "[injection]\ninject_limit = 2\n"
    )
    command = ("sweep", "./tables", "--grid", "half_life_days=30,365", "--json")
    done = nousmem(*command, "--settings", "base.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    best, against = (json.loads(done.stdout)[name] for name in ("best", "baseline"))
    assert best["retrieval"] == {"legs": ["text"], "depth": 7, "terms": []}
    assert best["injection"]["inject_limit"] == 2
    assert best["scoring"]["w_importance"] == 0.1
    # What is compared with is the default scoring on the same legs, as deep.
    assert against["retrieval"] == best["retrieval"]
    assert against["scoring"]["w_importance"] == 0.3
    done = nousmem(*command, "--settings", "base.toml", "--depth", "9", "--legs", "all", cwd=place)
    retrieval = json.loads(done.stdout)["best"]["retrieval"]
    assert retrieval == {"legs": None, "depth": 9, "terms": []}
    done = nousmem(*command, "--set", "w_importance=0.2", "--set", "depth=4", cwd=place)
    best = json.loads(done.stdout)["best"]
    assert (best["scoring"]["w_importance"], best["retrieval"]["depth"]) == (0.2, 4)
    done = nousmem(*command, "--set", "half_life_days=9", cwd=place)
    assert (done.returncode, "half_life_days: fixed here and varied" in done.stderr) == (2, True)
    done = nousmem(*command, "--preset", "recommended", cwd=place)
    assert json.loads(done.stdout)["best"]["scoring"]["w_recency"] == 0
    done = nousmem(*command, "--preset", "recommended", "--settings", "base.toml", cwd=place)
    assert (done.returncode, "not both" in done.stderr) == (2, True)


def test_settings_are_drawn(place: Path):
    command = ("sweep", "./tables", "--grid", "half_life_days=30,90,365,3650", "--json")
    done = nousmem(*command, "--sampler", "random", "--trials", "16", "--seed", "3", cwd=place)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1 + 4  # the start, and each of the list once
    done = nousmem(*command, "--sampler", "random", cwd=place)
    assert (done.returncode, "trials" in done.stderr) == (2, True)
    done = nousmem(*command, "--sampler", "rnadom", cwd=place)
    assert (done.returncode, "did you mean 'random'" in done.stderr) == (2, True)


def test_top_limits_the_groups_too(place: Path):
    grid = ("--grid", "half_life_days=30,90,365,3650", "--grid", "rrf_k=5,60", "--by", "user_id")
    done = nousmem("sweep", "./tables", *grid, "--top", "2", cwd=place)
    assert done.returncode == 0, done.stderr
    _, _, table = done.stdout.partition("by user_id, the best 2 of 9 settings")
    rows = [line for line in table.splitlines() if line.strip().endswith(" 58")]
    assert len(rows) == 2


def test_the_winner_of_several_conditions_is_named(place: Path):
    text = EXPERIMENT.replace("[scoring]", "[retrieval]\ndepth = [1, 30]\n[scoring]")
    (place / "depths.toml").write_text(text)
    done = nousmem("sweep", "depths.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "2 conditions: 2 ways to retrieve, 116 searches in all, 6 settings" in done.stderr
    assert "compared with the baseline of tables, depth 1, Settings(Scoring(" in done.stdout
    (winner,) = [line for line in done.stdout.splitlines() if line.startswith("winner: ")]
    assert winner.startswith("winner: tables, depth 30, by nDCG@10 on unseen folds; its best")
    assert "depth = 30" in (place / "out" / "depths" / "best.toml").read_text()
    done = nousmem("sweep", "depths.toml", "--json", cwd=place)
    document = json.loads(done.stdout)
    assert document["winner"] == 1
    assert [one["retrieval"]["depth"] for one in document["best"]] == [1, 30]


def test_presets_and_whole_settings_are_compared(place: Path):
    tables = ("--path", "tables", "--json")
    done = nousmem("compare", "documented", "recommended", *tables, cwd=place)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)["rows"][0]
    assert row["difference"] > 0.1
    (place / "shallow.toml").write_text("[retrieval]\ndepth = 1\n")
    (place / "plain.toml").write_text("")
    done = nousmem("compare", "documented", "plain.toml", *tables, cwd=place)
    assert json.loads(done.stdout)["rows"][0]["difference"] == 0
    done = nousmem("compare", "documented", "shallow.toml", *tables, cwd=place)
    assert json.loads(done.stdout)["rows"][1]["difference"] != 0
    done = nousmem("compare", "documented", "recomended", *tables, cwd=place)
    assert done.returncode == 2
    (place / "made.toml").write_text('embedder = "hashing-1:256"\n')
    done = nousmem("compare", "documented", "made.toml", *tables, cwd=place)
    assert "measured with embedder hashing-1:256, and are compared with none" in done.stderr


def test_an_unknown_attribute_is_refused_before_any_work(place: Path):
    done = nousmem("sweep", "tables", "--path", "nowhere", "--by", "Thema", cwd=place)
    assert done.returncode == 2
    assert "unknown attribute of a query 'Thema'" in done.stderr


def test_queries_of_two_users_can_be_resampled_one_by_one(tmp_path: Path):
    write_tables(tmp_path / "tables")
    for name in ("entries", "queries"):
        table = pd.read_csv(tmp_path / "tables" / f"{name}.csv")
        users = ["ada" if at % 2 else "bo" for at in range(len(table))]
        table.assign(user_id=users).to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    (tmp_path / "a.toml").write_text("[scoring]\ndecay_lambda = 0.001\n")
    (tmp_path / "b.toml").write_text("[scoring]\ndecay_lambda = 0.0001\n")
    command = ("compare", "a.toml", "b.toml", "--path", "tables", "--json")
    done = nousmem(*command, cwd=tmp_path)
    assert json.loads(done.stdout)["rows"][0]["n_groups"] == 2
    assert "--ungrouped" in done.stderr
    done = nousmem(*command, "--ungrouped", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"][0]["n_groups"] == 0
    assert "groups" not in done.stderr
    for name in ("one", "other"):
        swept = ("sweep", "./tables", "--grid", "half_life_days=30,365", "--out", name)
        assert nousmem(*swept, cwd=tmp_path).returncode == 0
    done = nousmem("compare", "one", "other", "--ungrouped", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"][0]["n_groups"] == 0


def test_the_gate_fails_with_one(place: Path):
    gate = EXPERIMENT[: EXPERIMENT.index("[grid]")]
    (place / "gate.toml").write_text(gate)
    command = ("gate", "gate.toml", "--baseline", "base.json")
    assert nousmem(*command, cwd=place).returncode == 2
    assert nousmem(*command, "--update", cwd=place).returncode == 0
    held = nousmem(*command, cwd=place)
    assert (held.returncode, "no query moved" in held.stdout) == (0, True)
    (place / "gate.toml").write_text(
        gate.replace("w_recency = 0", "w_relevance = -1\nw_importance = 0")
    )
    fell = nousmem(*command, "--json", cwd=place)
    document = json.loads(fell.stdout)
    assert (fell.returncode, document["passed"]) == (1, False)
    queries = {row["query_id"] for row in document["moved"]}
    assert document["n_moved"] == len(queries) < len(document["moved"])
    assert document["n_queries"] == 58
    assert document["changed"] == [
        "tables: w_relevance was 0.5, and is -1.0",
        "tables: w_importance was 0.3, and is 0.0",
        "tables: w_recency was 0.0, and is None",
    ]
    said = nousmem(*command, cwd=place).stdout
    assert f"queries that moved: {document['n_moved']} of 58, the largest falls first" in said
    assert "changed since the baseline: tables: w_relevance was 0.5, and is -1.0" in said
    assert document["moved"][0]["change"] < 0


def test_one_query_is_shown_without_an_interval(tmp_path: Path):
    write_tables(tmp_path / "tables")
    file = tmp_path / "tables" / "queries.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:2]) + "\n")
    judged = tmp_path / "tables" / "qrels.csv"
    judged.write_text("\n".join(judged.read_text().splitlines()[:2]) + "\n")
    grid = ("--grid", "w_importance=0,5", "--grid", "w_recency=0")
    done = nousmem("sweep", "tables", "--path", "tables", *grid, "--out", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nothing is left to judge tuning on" in done.stdout
    assert "show only large differences" in done.stderr
    (tmp_path / "a.toml").write_text("[scoring]\nw_relevance = -1\n")
    (tmp_path / "b.toml").write_text("[scoring]\nw_importance = 0\n")
    tables = ("--corpus", "tables", "--path", "tables")
    done = nousmem("compare", "a.toml", "b.toml", *tables, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[?, ?]" in done.stdout
