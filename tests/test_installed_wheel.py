"""The wheel in an environment of its own: what a user without this checkout gets."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TOY_STORE = """
from datetime import UTC, datetime
from threading import RLock

from nousmem.errors import EntryNotFound, InvalidEntry
from nousmem.stores import _results as results
from nousmem.stores.filters import check_entries, check_ids, check_query
from nousmem.testing import StoreConformance


class ToyStore:
    def __init__(self):
        self.entries = {}
        self.lock = RLock()

    def put(self, entries, /):
        given = check_entries(entries)
        latest = {entry.id: entry for entry in given}
        with self.lock:
            results.check_embeddings(latest, self.entries)
            self.entries = self.entries | latest
        return len(given)

    def get(self, entry_id, /):
        if entry_id not in self.entries:
            raise EntryNotFound(entry_id)
        return self.entries[entry_id]

    def update(self, entry_id, /, *, now=None, **changes):
        if "id" in changes:
            raise InvalidEntry("id cannot change")
        moment = now or datetime.now(UTC)
        with self.lock:
            changed = self.get(entry_id).replace(**{"updated_at": moment, **changes})
            self.put([changed])
        return changed

    def delete(self, entry_ids, /):
        with self.lock:
            gone = set(check_ids(entry_ids)) & set(self.entries)
            self.entries = {key: e for key, e in self.entries.items() if key not in gone}
        return len(gone)

    def list(self, **filters):
        return results.all_entries(self.entries, **filters)

    def search_text(self, query, /, **filters):
        words = check_query(query).lower().split()
        hits = [
            (entry.id, sum(word in entry.content.lower() for word in words) / max(1, len(words)))
            for entry in self.entries.values()
        ]
        return results.rank(hits, self.entries, **filters)


class TestToyStore(StoreConformance):
    def open_store(self, place):
        return ToyStore()
"""


def run(*command: object, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the built wheel, its declared dependencies and pytest, nothing else."""
    place = tmp_path_factory.mktemp("outside")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", place, ROOT, cwd=place)
    (wheel,) = place.glob("*.whl")
    run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    found = place / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    constraints = ROOT / "constraints.txt"
    run(found, "-m", "pip", "install", "-q", "-c", constraints, f"{wheel}[testing]", cwd=place)
    return found


def test_a_bare_install_needs_no_torch_and_does_the_main_job(python: Path, tmp_path: Path) -> None:
    installed = run(python, "-m", "pip", "list", cwd=tmp_path)
    assert "torch" not in installed
    assert "matplotlib" not in installed
    program = """
        import nousmem as nm
        from nousmem import evaluation as ev

        corpus = nm.load_corpus("assistant-year")
        swept = ev.sweep(
            corpus, embedder="hashing", grid={"decay_lambda": [1e-5, 1e-3]}, measures=["nDCG@10"]
        )
        print(len(corpus.entries), swept.best("nDCG@10").scoring.decay_lambda)
    """
    assert run(python, "-c", textwrap.dedent(program), cwd=tmp_path).split() == ["2000", "1e-05"]
    shown = run(python.with_name("nousmem"), "demo", "--out", "out", cwd=tmp_path)
    assert "best by nDCG@10" in shown


def test_the_suite_runs_on_a_store_from_outside(python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_toy.py").write_text(TOY_STORE)
    printed = run(python, "-m", "pytest", "-q", "-W", "error", "test_toy.py", cwd=tmp_path)
    assert " passed" in printed
