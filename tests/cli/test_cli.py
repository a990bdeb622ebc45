"""The command, as a user meets it: a process with arguments, two streams and a status."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nousmem as nm


def nousmem(
    *arguments: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from nousmem.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "160", **variables},
    )


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path}/memories.db"
    with nm.open_store(url) as store:
        store.put(
            [
                nm.Entry("Ada prefers dark mode", id="m1", user_id="ada", importance=0.8),
                nm.Entry("Bo prefers light mode", id="m2", user_id="bo"),
            ]
        )
    return url


def test_every_command_has_help() -> None:
    listed = nousmem("--help")
    assert listed.returncode == 0
    for command in ("demo", "corpora", "load", "search", "sweep"):
        assert command in listed.stdout
        one = nousmem(command, "--help")
        assert one.returncode == 0
        assert "Usage" in one.stdout


def test_search_finds_and_explains(store_url: str) -> None:
    done = nousmem("search", store_url, "dark mode", "--user-id", "ada", "--explain", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (hit,) = document["hits"]
    assert hit["doc_id"] == "m1"
    assert hit["vector_rank"] is None
    assert sum(part["contribution"] for part in hit["parts"]) == pytest.approx(hit["score"])
    settings = Path(store_url.removeprefix("sqlite:")).with_name("best.toml")
    chosen = nm.Settings().replace(w_importance=0, half_life_days=7, depth=40)
    settings.write_text(chosen.to_toml())
    told = nousmem(
        "search", store_url, "mode", "--settings", str(settings), "--set", "rrf_k=9", "--json"
    )
    assert json.loads(told.stdout)["settings"] == chosen.replace(rrf_k=9).to_dict()
    table = nousmem("search", store_url, "mode")
    assert "Ada prefers dark mode" in table.stdout
    assert "Bo prefers light mode" in table.stdout


def test_sweep_prints_json_with_every_setting(tmp_path: Path) -> None:
    done = nousmem(
        "sweep",
        "assistant-year",
        "--grid",
        "decay_lambda=0,1e-3",
        "--grid",
        "w_recency=0",
        "--measures",
        "nDCG@10,R@10",
        "--by",
        "category",
        "--out",
        str(tmp_path / "out"),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["corpus"] == "assistant-year"
    assert [row["decay_lambda"] for row in document["rows"]] == [0, 1e-3]
    assert all(0 < row["nDCG@10"] < 1 for row in document["rows"])
    assert document["n_queries"] == document["rows"][0]["n_queries"]
    assert document["excluded"]["no relevant entry"] > 0
    assert document["baseline"]["scoring"]["decay_lambda"] == 1e-3
    assert {row["category"] for row in document["by"]} >= {"fact", "update"}
    assert (tmp_path / "out" / "settings.parquet").is_file()
    best = nm.Settings.from_toml(tmp_path / "out")
    assert best == nm.Settings.from_dict(document["best"])
    assert best.scoring.decay_lambda == 0
    assert done.stderr == "1 way to retrieve × 275 queries, 2 settings\n"


def test_load_then_search(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/year.db"
    loaded = nousmem("load", "assistant-year", url, "--embedder", "hashing", "--json")
    assert loaded.returncode == 0, loaded.stderr
    assert json.loads(loaded.stdout)["entries"] > 1500
    found = nousmem("search", url, "how do I get to work", "--embedder", "hashing", "--json")
    assert json.loads(found.stdout)["hits"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "assistant-yaer"], "assistant-year"),
        (["sweep", "assistant-year", "--grid", "decay=0"], "decay_lambda"),
        (["sweep", "assistant-year", "--grid", "decay_lambda"], "NAME=VALUE"),
        (["sweep", "assistant-year", "--grid", "decay_lambda=often"], "not a number"),
        (["sweep", "assistant-year", "--measures", "nDGC@10"], "nDCG"),
        (["sweep", "assistant-year", "--store", "sqlit:x"], "sqlite"),
        (["search", "memory:", "x", "--limit", "-1"], "limit"),
        (["search", "memory:", "x", "--as-of", "2026-01-01"], "time zone"),
        (["search", "memory:", "x", "--set", "half_life=3"], "half_life_days"),
        (["search", "memory:", "x", "--embedder", "minlm"], "minilm"),
        (["search", "sqlite:/no/such/folder/x.db", "x"], "/no/such/folder/x.db"),
        (["load", "locomo", "memory:"], "locomo10.json"),
        (["nonsense"], "nonsense"),
        (["sweep", "x.toml", "--jobs", "abc"], "`nousmem sweep --help`"),
        (["gate", "x.toml"], "--baseline"),
        (["gate", "x.toml", "--baseline", "x.json", "--tolerance", "-1"], "--tolerance"),
        (["compare", "a", "b", "--seed", "-1"], "--seed"),
        (["sweep", "assistant-year", "--out", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_user_errors_end_with_status_2_and_one_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = nousmem(
        *arguments, NOUSMEM_DATA=str(tmp_path), XDG_CACHE_HOME=str(tmp_path), no_proxy="*"
    )
    assert done.returncode == 2
    assert message in done.stderr
    own = [line for line in done.stderr.splitlines() if not line.startswith("Downloading")]
    assert len(own) == 1, done.stderr
    assert done.stdout == ""


def test_the_demo_shows_the_main_job(tmp_path: Path) -> None:
    done = nousmem("demo", "--embedder", "hashing", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "best by nDCG@10" in done.stdout
    assert "store sqlite::memory:, embedder hashing" in done.stdout
    with (tmp_path / "out" / "tuned.csv").open() as file:
        (tuned,) = csv.DictReader(file)
    assert f"on unseen folds: nDCG@10 {float(tuned['mean']):.4f}, +" in done.stdout
    assert "next: nousmem report out " in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {
        "settings.csv",
        "settings.parquet",
        "best.toml",
        "manifest.json",
        "heatmap.png",
        "half-life.png",
        "ranking.png",
    }


def test_every_command_can_speak_to_programs() -> None:
    from typer.main import get_command

    from nousmem.cli._app import app

    def commands(group, name=""):
        for key, one in getattr(group, "commands", {}).items():
            yield from commands(one, f"{name} {key}".strip())
        if not hasattr(group, "commands"):
            yield name, {option for parameter in group.params for option in parameter.opts}

    silent = {name for name, options in commands(get_command(app)) if "--json" not in options}
    assert silent == {"mcp"}  # what it prints is a protocol
