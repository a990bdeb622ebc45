"""The suite passes a correct store, and catches each fault by the test that is meant for it."""

import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from nousmem.testing import StoreConformance
from nousmem.testing.store_suite._case import StoreCase

HERE = Path(__file__).parent

PROVES = {
    name: [f"test_{test}" for test in tests]
    for name, tests in tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8")).items()
}


def suite_tests():
    return {name for name in dir(StoreConformance) if name.startswith("test_")}


def run_pytest(*arguments, cwd):
    """Run pytest with no plugins but its own, as in an environment with nothing else."""
    variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Of each class of broken_stores.py: its tests, and whether they passed, failed, ..."""
    report = tmp_path_factory.mktemp("suite") / "report.xml"
    broken = HERE / "broken_stores.py"
    ran = run_pytest(broken, "--import-mode=prepend", "--tb=no", f"--junitxml={report}", cwd=HERE)
    assert report.exists(), ran.stdout + ran.stderr
    found = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name = case.get("classname").rpartition(".Test")[2]
        test = case.get("name").partition("[")[0]
        kinds = {child.tag for child in case}
        found.setdefault(name, {}).setdefault(test, []).append(kinds)
    return found


def test_a_correct_store_passes_everything(outcomes):
    ran = outcomes["ReferenceStore"]
    assert set(ran) == suite_tests()
    skipped = {test for test, cases in ran.items() if any("skipped" in kinds for kinds in cases)}
    assert skipped == {"test_closing_twice_is_harmless"}
    bad = {test for test, cases in ran.items() if any({"failure", "error"} & k for k in cases)}
    assert not bad


@pytest.mark.parametrize("name", [name for name, tests in PROVES.items() if tests])
def test_a_fault_is_caught(outcomes, name):
    assert set(outcomes[name]) == set(PROVES[name])
    for test, cases in outcomes[name].items():
        assert any("failure" in kinds for kinds in cases), f"{test} passes on {name}"


def test_every_fault_is_looked_for():
    defined = {
        line.removeprefix("class ").partition("(")[0]
        for file in HERE.glob("broken_*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("class ")
    }
    assert defined == {*PROVES, "ReferenceSuite", "TestReferenceStore"}


def test_every_test_of_the_suite_is_proven_by_a_fault():
    assert {test for tests in PROVES.values() for test in tests} == suite_tests()


def test_no_test_hides_another_of_the_same_name():
    parts = [part for part in StoreConformance.__mro__ if issubclass(part, StoreCase)]
    names = [name for part in parts for name in vars(part) if name.startswith("test_")]
    assert len(names) == len(set(names))


USE = """
import sys
{prepare}
from pathlib import Path
from nousmem.testing import StoreConformance
from reference_store import ReferenceStore

class TestMine(StoreConformance):
    {body}
"""
OPEN = "def open_store(self, place): return ReferenceStore(place)"


def use(tmp_path, body, *arguments, prepare=""):
    (tmp_path / "test_mine.py").write_text(USE.format(prepare=prepare, body=body), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    return run_pytest("-rs", *arguments, cwd=tmp_path).stdout


def test_it_runs_with_pytest_alone(tmp_path):
    blocked = "sys.modules['hypothesis'] = None"
    out = use(tmp_path, OPEN, "-k", "random or put", prepare=blocked)
    assert "passed" in out
    assert "failed" not in out


def test_random_operations_are_shortened_to_those_that_matter(tmp_path):
    body = OPEN.replace("ReferenceStore", "UpdateFromAStaleCopy")
    out = use(tmp_path, body, "-k", "random", prepare="from broken_writes import *")
    (_, _, steps) = out.partition("those that change nothing left out:")
    names = [line.split()[1] for line in steps.splitlines() if line.startswith("E     ")]
    assert names in (["put", "touch", "update"], ["put", "touch", "update", "read"])


def test_a_failure_shows_the_values_compared(tmp_path):
    body = (
        OPEN + "\n    def found(self, store, word): return [*super().found(store, word), 'ghost']"
    )
    out = use(tmp_path, body, "-k", "put_takes_a_generator")
    assert "['a', 'b', 'c', 'ghost'] == ['a', 'b', 'c']" in out


def test_a_forgotten_open_store_is_explained(tmp_path):
    out = use(tmp_path, "persistent = True", "-k", "put_of_nothing")
    assert "TestMine must define open_store(self, place)" in out


def test_without_pytest_the_error_says_what_to_install():
    code = "import sys; sys.modules['pytest'] = None; import nousmem.testing"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "nousmem.testing needs the package 'pytest': pip install" in ran.stderr
