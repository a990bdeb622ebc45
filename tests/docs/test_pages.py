"""What the documentation shows works: every block of code on every page, and in the README.

- `python` is run; the blocks of a page share their names, and a folder to work in. A first line
  `# folder/name.py` makes it a module there instead, which those below it may import.
- `bash` is run there too, `sh` is checked without being run: that the command and its options
  exist, that extras and make targets do. Of other programs only the name is checked.
- `text` is what the block above it prints; `...` stands for anything.
- `toml` is an experiment, a session or settings, and is read as such. A first line `# name.toml`
  puts it into the folder under that name.
"""

from __future__ import annotations

import doctest
import importlib
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser
from typer.main import get_command
from typer.testing import CliRunner

import nousmem as nm
from nousmem.cli._app import app
from nousmem.evaluation.experiments import read_experiment

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = ("cd", "claude", "dask", "export", "git", "jupyter", "mkdocs", "nbstripout", "pytest")
PRINTED = "__printed__"
MODULES = "mine"
"""The folder of a page's own modules."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, as wide as a terminal, with the corpora read once for all pages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(nm, "load_corpus", _loaded)
    monkeypatch.setattr("nousmem.evaluation.experiments.conditions.load_corpus", _loaded)
    monkeypatch.setattr("nousmem.cli._load.load_corpus", _loaded)
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    # The modules that the page made, which the next one may call alike.
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if name == MODULES or (file and Path(file).is_relative_to(tmp_path)):
            del sys.modules[name]


@cache
def _loaded(name: str, **options: Any) -> nm.Corpus:
    from nousmem.corpora import load_corpus

    return load_corpus(name, **options)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_its_blocks_work(page: Path) -> None:
    for example in examples(page):
        example.evaluate()


def test_the_suites_of_extending_pass() -> None:
    for example in examples(ROOT / "docs" / "extending.md"):
        if str(example.parsed).startswith(f"# {MODULES}/"):
            example.evaluate()
    suites = vars(importlib.import_module(f"{MODULES}.test_mine"))
    run = [
        getattr(suite(), name)
        for key, suite in suites.items()
        if key.startswith("Test")
        for name in dir(suite)
        if name.startswith("test_")
    ]
    assert len(run) > 20
    for test in run:
        with suppress(pytest.skip.Exception):
            test()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_files_it_links_to_exist(name: str) -> None:
    """MkDocs checks the links of the other pages."""
    links = re.findall(r"\]\(([^)#:]+)[^)]*\)", (ROOT / name).read_text())
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_reference_names_what_there_is() -> None:
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE):
            assert importlib.import_module(name).__all__


def test_the_reference_leaves_no_package_out() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    inside = (
        "nousmem.cli",
        "nousmem.corpora.assistant_year",
        # what they have is in nousmem.evaluation
        *(f"nousmem.evaluation.{name}" for name in ("injections", "judging", "replays", "sweeps")),
        "nousmem.evaluation.measures",
        "nousmem.evaluation.statistics",
        "nousmem.testing.store_suite",
        "nousmem.viz.explorer",  # what it has is in nousmem.viz
    )
    for place in sorted((ROOT / "nousmem").rglob("__init__.py")):
        name = ".".join(place.parent.relative_to(ROOT).parts)
        if not name.startswith(inside):
            assert re.search(rf"^::: {re.escape(name)}$", pages, re.MULTILINE), name


def test_every_block_says_what_it_is() -> None:
    for page in PAGES:
        for fence in re.findall(r"^ *```(.*)\n(?:.*\n)*? *```$", page.read_text(), re.MULTILINE):
            assert fence in EVALUATORS, f"{page.relative_to(ROOT)}: a block of {fence!r}"


def test_a_broken_block_is_noticed(tmp_path: Path) -> None:
    broken = {
        "python": "nm.Scoring()",
        "text": "what nothing printed",
        "sh": "nousmem sweep assistant-year --no-such-option",
        "bash": "nousmem search sqlite:nowhere.db anything",
        "toml": '[corpus]\nname = "assistant-year"\n[grid]\nno_such_parameter = [1]',
    }
    for language, source in broken.items():
        page = tmp_path / f"{language}.md"
        page.write_text(f"```{language}\n{source}\n```\n")
        (example,) = examples(page)
        with pytest.raises((AssertionError, NameError, nm.NousmemError)):
            example.evaluate()


def examples(page: Path) -> Iterator[Example]:
    """Yield the blocks of a page, in their order."""
    parsers = [
        CodeBlockParser(language=language, evaluator=evaluator)
        for language, evaluator in EVALUATORS.items()
    ]
    return Document.parse(str(page), *parsers).examples()


def run_python(example: Example) -> None:
    """Run a block, and keep what it prints; a module is written, and imported."""
    named = re.match(r"# ((\w+/)*\w+)\.py\n", str(example.parsed))
    if named:
        file = Path(f"{named[1]}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(example.parsed))
        importlib.invalidate_caches()
        importlib.import_module(named[1].replace("/", "."))
        return
    example.namespace.setdefault("__name__", "page")
    printed = io.StringIO()
    with redirect_stdout(printed):
        PythonEvaluator()(example)
    example.namespace[PRINTED] = printed.getvalue()


def compare_text(example: Example) -> None:
    """Compare a block with what the one above it printed."""
    wanted, found = str(example.parsed), example.namespace.pop(PRINTED, "")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(wanted, found, flags)
    where = f"{example.path}, line {example.line}"
    assert same, f"{where}: the page says\n{wanted}\nand this was printed:\n{found}"


def check_shell(example: Example) -> None:
    """Check that what is called exists."""
    for words in commands(str(example.parsed)):
        check_command(words)


def run_shell(example: Example) -> None:
    """Run the commands of nousmem, and keep what they print."""
    printed: list[str] = []
    for words in commands(str(example.parsed)):
        check_command(words)
        assert words[0] == "nousmem", f"{words[0]} is not run: make it a block of sh"
        result = CliRunner().invoke(app, words[1:])
        if result.exception is not None:
            raise result.exception
        printed.append(result.stdout)
    example.namespace[PRINTED] = "".join(printed)


def commands(source: str) -> Iterator[list[str]]:
    """Yield the words of each command; comments and settings of the environment left out."""
    for line in source.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_0-9]+=.*", words[0]):
            words.pop(0)
        if words:
            yield words


def check_command(words: list[str]) -> None:
    """Fail unless the program, and of our own its command and options, exist."""
    program, *rest = words
    if program == "nousmem":
        command: Any = get_command(app)
        with command.make_context("nousmem", [], resilient_parsing=True) as context:
            name = program
            while hasattr(command, "resolve_command"):
                name, command, rest = command.resolve_command(context, rest)
            try:
                command.make_context(name, rest, parent=context)
            except Exception as error:
                raise AssertionError(f"{shlex.join(words)}: {error}") from error
    elif program == "make":
        for target in (one for one in rest if "=" not in one):
            rule = rf"^{target}:"
            assert re.search(rule, (ROOT / "Makefile").read_text(), re.MULTILINE), target
    elif program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extra in re.findall(r"nousmem\[([\w,]+)\]", " ".join(rest)):
            assert set(extra.split(",")) <= set(project["optional-dependencies"]), extra
    else:
        assert program in PROGRAMS, f"what is {program}?"


def read_toml(example: Example) -> None:
    """Read a file as what it is."""
    source = str(example.parsed)
    document = tomllib.loads(source)
    named = re.match(r"# (\S+\.toml)\n", source)
    file = Path(named[1] if named else "page.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source)
    if "corpus" in document:
        read_experiment(file)
    elif "turns" in document:
        from nousmem.agent.sessions import read_session

        read_session(file)
    elif {"retrieval", "scoring", "injection"} & document.keys():
        nm.Settings.from_toml(file)


EVALUATORS: dict[str, Callable[[Example], None]] = {
    "python": run_python,
    "text": compare_text,
    "sh": check_shell,
    "bash": run_shell,
    "toml": read_toml,
    "json": lambda example: json.loads(str(example.parsed)) and None,
    "bibtex": lambda example: None,
    "yaml": lambda example: yaml.safe_load(str(example.parsed)) and None,
}


def test_no_page_is_empty() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("evals/*.md")]
    assert len(pages) > 30
    assert [str(page) for page in pages if not page.read_text(encoding="utf-8").strip()] == []
