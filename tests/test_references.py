"""Somebody's own code by name: found on the search path alone, and told from other code."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nousmem.errors import InvalidParameter, StoreError, UnknownName
from nousmem.references import (
    code_fingerprint,
    describe,
    instance_of,
    is_reference,
    load_described,
    load_made,
    load_reference,
    named_code,
    reference_to,
    run_named,
)

HERE = __name__


@dataclass(frozen=True)
class Weighing:
    """Something with parameters, as a leg or a term may be."""

    boost: float = 1.0
    words: tuple[str, ...] = ()
    what: str = ""
    pairs: tuple[tuple[str, int], ...] = ()
    shape: dict[str, int] = field(default_factory=dict)


@dataclass
class Thawed:
    words: list[str] = field(default_factory=list)
    centre: Any = None


class Plain:
    def method(self) -> int:
        return 1


HELD = Plain()


def add(one: int, other: int = 1) -> int:
    return one + other


def fails(kind: type[Exception] = KeyError) -> None:
    raise kind("a\nb")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module:object", True),
        ("package.module:Class.member", True),
        ("__main__:load", True),
        ("module:outer.<locals>.inner", True),
        ("module:<lambda>", True),
        ("module", False),
        ("module:", False),
        (":object", False),
        ("module:a:b", False),
        ("sqlite::memory:", False),
        ("package..module:object", False),
        ("folder/module:object", False),
        ("some-module:object", False),
        ("postgresql://me@host/db", False),
        ("module: object", False),
        ("", False),
        (None, False),
        (3, False),
    ],
)
def test_what_has_the_form_of_a_reference(text: object, expected: bool) -> None:
    assert is_reference(text) is expected


def test_objects_are_found_where_they_are(own_code: Callable[..., Path]) -> None:
    own_code(mine="class Box:\n    lid = 3\n    class Inner:\n        pass\n")
    assert load_reference(f"{HERE}:add", what="leg") is add
    assert load_reference("mine:Box.lid", what="leg") == 3
    assert load_reference("mine:Box.Inner", what="leg").__qualname__ == "Box.Inner"
    assert load_reference("os.path:join", what="leg")("a", "b")


def test_the_main_module_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "own_leg", add, raising=False)
    assert load_reference("__main__:own_leg", what="leg") is add
    with pytest.raises(InvalidParameter, match="known there alone: put it in a module"):
        load_reference("__main__:other_leg", what="leg")


OWN = {
    "raising": "import os\n\nraise RuntimeError('no\\nkey')\n",
    "unreadable": "def load(:\n",
    "needing": "import not_installed_anywhere\n",
    "ending": "raise SystemExit(3)\n",
    "lazy": "def __getattr__(name):\n    raise RuntimeError('not now')\n",
    "whole": "def load_mine():\n    pass\n",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine", "expected leg as 'package.module:object', got 'mine'"),
        (
            "absent_one:load",
            "leg 'absent_one:load': there is no module 'absent_one' on .*PYTHONPATH=FOLDER$",
        ),
        ("absent_one.inner:load", "there is no module 'absent_one' on"),
        ("whole.inner:load", "module 'whole.inner' cannot be imported|no module 'whole.inner'"),
        ("raising:load", r"'raising' cannot be imported: RuntimeError: no key \(.*ng.py, line 3\)"),
        ("unreadable:load", r"'unreadable' cannot be imported: SyntaxError: .*line 1\)$"),
        ("needing:load", "'needing' cannot be imported: ModuleNotFoundError: .*'not_installed_any"),
        ("ending:load", "'ending' cannot be imported: SystemExit: 3"),
        ("lazy:load", r"leg 'lazy:load' cannot be had: RuntimeError: not now"),
        ("whole:load_mime", "module 'whole' has no 'load_mime'; did you mean 'load_mine'"),
        ("whole:load_mine.inner", "module 'whole' has no 'load_mine.inner'"),
        ("whole:f.<locals>.g", "made inside a function, so that no file can name it"),
        ("whole:<lambda>", "is a lambda, so that no file can name it"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(
    own_code: Callable[..., Path], text: str, message: str
) -> None:
    own_code(**OWN)
    with pytest.raises(InvalidParameter, match=message) as raised:
        load_reference(text, what="leg")
    assert "\n" not in str(raised.value)


def test_a_misspelt_name_is_no_module(own_code: Callable[..., Path]) -> None:
    def load(text: str) -> Any:
        return load_reference(text, what="store", known=["sqlite", "duckdb"])

    with pytest.raises(UnknownName, match="unknown store 'sqlit'; did you mean 'sqlite'"):
        load("sqlit:memories")
    with pytest.raises(InvalidParameter, match=r"no module 'sql' .*PYTHONPATH=FOLDER$"):
        load("sql:memories")
    own_code(sqlit="memories = 3\n")
    assert load("sqlit:memories") == 3


def test_the_current_folder_is_not_searched(own_code: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "lying_about.py").write_text("raise AssertionError('it was run')\n")
    code = (
        "import sys; from nousmem.references import load_reference\n"
        "load_reference('lying_about:load', what='corpus')"
    )
    script = tmp_path / "bin" / "script.py"
    script.parent.mkdir()
    script.write_text(code)

    def run(*options: str) -> str:
        done = subprocess.run(
            [sys.executable, *options, str(script)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr

    assert "there is no module 'lying_about'" in run()
    script.write_text(code.replace("\n", f"\nsys.path.append({str(tmp_path)!r})\n"))
    assert "AssertionError: it was run" in run()


def test_what_is_named_is_taken_or_called(own_code: Callable[..., Path]) -> None:
    own_code(
        mine="""
        number = 3
        nothing = None
        def make(start=1, what=0):
            return start + what
        def make_text():
            return "three"
        """
    )

    def load(text: str, **options: Any) -> Any:
        return load_made(
            text,
            what="number",
            expected="a whole number",
            fits=lambda one: isinstance(one, int),
            options=options,
        )

    assert load("mine:number") == 3
    assert load("mine:make") == 1
    assert load("mine:make", start=4, what=2) == 6
    for text, options, message in (
        ("mine:number", {"start": 4}, "number 'mine:number' is made already, .* options: start"),
        ("mine:make", {"end": 4}, "number 'mine:make' cannot be called so: .*'end'"),
        ("mine:nothing", {}, "'mine:nothing' is None: expected a whole number, or a class or func"),
        ("mine:make_text", {}, "'mine:make_text' returned 'three': expected a whole number"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            load(text, **options)


def test_a_failure_names_who_failed_and_where() -> None:
    assert run_named(add, 1, what="sum", options={"other": 4}) == 5
    assert run_named(max, 1, 2, what="largest") == 2
    with pytest.raises(InvalidParameter, match=r"cannot be called so: missing .* 'one'$"):
        run_named(add, what="sum")
    with pytest.raises(InvalidParameter) as raised:
        run_named(fails, what="leg 'x:y'")
    line = fails.__code__.co_firstlineno + 1
    assert str(raised.value) == f"leg 'x:y' failed: KeyError: 'a\\nb' ({__file__}, line {line})"
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(StoreError, match="a\nb"):  # ours say what they have to say themselves
        run_named(fails, StoreError, what="leg 'x:y'")


def test_objects_have_names() -> None:
    assert reference_to(add) == f"{HERE}:add"
    assert reference_to(Weighing) == f"{HERE}:Weighing"
    assert reference_to(Plain.method) == f"{HERE}:Plain.method"
    assert reference_to(HELD) == f"{HERE}:HELD"
    assert reference_to(Plain()) == f"{HERE}:Plain"
    for value in (add, Weighing, Plain.method, HELD):
        assert load_reference(reference_to(value), what="leg") is value


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (Weighing(), f"{HERE}:Weighing"),
        (Weighing(2.0), {"object": f"{HERE}:Weighing", "boost": 2.0}),
        (
            Weighing(words=("a", "b"), what="x", pairs=(("a", 1),)),
            {
                "object": f"{HERE}:Weighing",
                "words": ("a", "b"),
                "what": "x",
                "pairs": (("a", 1),),
            },
        ),
        (Weighing(shape={"a": 1}), {"object": f"{HERE}:Weighing", "shape": {"a": 1}}),
        (Thawed(["a"]), {"object": f"{HERE}:Thawed", "words": ["a"]}),
        (HELD, f"{HERE}:HELD"),
        (add, f"{HERE}:add"),
    ],
)
def test_what_is_described_is_loaded_again(value: Any, described: Any) -> None:
    assert describe(value) == described
    assert load_described(describe(value), what="leg") == value
    assert load_described(json.loads(json.dumps(describe(value))), what="leg") == value


def test_an_array_is_no_default() -> None:
    described = describe(Thawed(centre=np.zeros(3)))
    assert isinstance(described, dict)
    assert set(described) == {"object", "centre"}


def test_a_class_is_made_and_an_object_is_taken() -> None:
    assert instance_of(Weighing, what="leg", parameters={"boost": 3.0}) == Weighing(3.0)
    assert instance_of(HELD, what="leg") is HELD
    for given, message in (
        ({"object": f"{HERE}:Weighing", "bost": 2}, "cannot be called so: .*'bost'"),
        ({"object": f"{HERE}:add", "one": 2}, "is no class, and takes no parameters: one"),
        ({"boost": 2}, r"expected leg as \{ object = 'package.module:object'"),
        ({"object": 3}, r"expected leg as \{ object"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            load_described(given, what="leg")


def made_from(write: Callable[..., Path], source: str, name: str = "leg") -> Any:
    write(mine=source)
    return load_reference(f"mine:{name}", what="leg")


def test_a_fingerprint_changes_with_the_code(own_code: Callable[..., Path]) -> None:
    sources = ["def leg(x):\n    return x\n", "def leg(x):\n    return -x\n"]
    first, second = (code_fingerprint(made_from(own_code, one)) for one in sources)
    assert first != second
    assert first == code_fingerprint(made_from(own_code, f"import os\n\n\n{sources[0]}"))
    assert len(first) == 12
    assert int(first, 16) >= 0


def test_a_fingerprint_changes_with_the_parameters() -> None:
    values = [
        Weighing(),
        Weighing(2.0),
        Weighing(what="x"),
        Thawed(),
        add,
        functools.partial(add, 1),
        functools.partial(add, 2),
        functools.partial(add, other=1),
        functools.partial(run_named, add, what="x"),
        HELD.method,
        Thawed(centre=add),
        Thawed(centre=fails),
    ]
    found = [code_fingerprint(value) for value in values]
    assert len(set(found)) == len(found)
    assert found == [code_fingerprint(value) for value in values]
    # Where an object lies in memory is no parameter.
    assert code_fingerprint(Thawed(centre=object())) == code_fingerprint(Thawed(centre=object()))


COMPILED = """
import sys
from nousmem.references import code_fingerprint
names = {}
exec('''
def leg(x):
    return x in {'a', 'b', 'c', 'd'} and (lambda y: y + ADDED)(x)

class Leg:
    @property
    def name(self):
        return ADDED
'''.replace("ADDED", sys.argv[1]), names)
print(code_fingerprint(names["leg"]), code_fingerprint(names["Leg"]))
"""


def test_without_source_the_compiled_code_tells(tmp_path: Path) -> None:
    def found(added: int, seed: int) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", COMPILED, str(added)],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(seed)},
        )
        return done.stdout.split()

    assert found(1, seed=1) == found(1, seed=2)
    assert not set(found(1, seed=1)) & set(found(2, seed=1))


def test_the_code_behind_a_name_is_the_whole_module(own_code: Callable[..., Path]) -> None:
    source = "from inner import Box\nSIZE = 3\ndef load():\n    return SIZE\nheld = Box()\n"
    inner = "class Box:\n    pass\n"
    own_code(mine=source, inner=inner)
    before = [named_code(f"mine:{name}") for name in ("load", "held", "Box")]
    assert len(set(before)) == 3
    own_code(mine=source.replace("3", "4"), inner=inner)
    after = [named_code(f"mine:{name}") for name in ("load", "held", "Box")]
    assert not set(before) & set(after)
    # What is named here and made elsewhere changes with the code there.
    own_code(mine=source, inner=inner + "    lid = 1\n")
    moved = [named_code(f"mine:{name}") for name in ("load", "held", "Box")]
    assert [one == other for one, other in zip(before, moved, strict=True)] == [True, False, False]
