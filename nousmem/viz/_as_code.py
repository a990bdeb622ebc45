"""Settings written down, to be pasted into a program or a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from typing import Any, Final, cast

from nousmem.references import describe
from nousmem.retrieval.settings import Injection, Retrieval, Settings
from nousmem.scoring import FUNCTIONS, Scoring, decay_lambda_of, half_life_days

__all__ = ["as_python", "as_toml"]

_TAKEN: Final = ("nm", "settings", "datetime")
"""What the code itself calls something."""
_NOTEBOOK: Final = "__main__"


def as_python(settings: Settings) -> str:
    """Return Python that makes these settings.

    Only what differs from the defaults is written. Legs, terms and functions of one's own are
    imported; of those that no import finds, a comment says so.
    """
    imports = _Imports()
    parts = [
        *_called("retrieval", "Retrieval", _retrieval(settings.retrieval, imports)),
        *_called("scoring", "Scoring", _scoring(settings.scoring, imports)),
        *_called("injection", "Injection", _injection(settings.injection)),
    ]
    if settings.embedder is not None:
        parts.append(f"    embedder={settings.embedder!r},")
    made = "\n".join(["nm.Settings(", *parts, ")"]) if parts else "nm.Settings()"
    head = "\n".join(["import nousmem as nm", *imports.lines])
    return f"{head}\n\nsettings = {made}\n"


def as_toml(settings: Settings) -> str:
    """Return the settings as a file holds them, with everything at its default written out.

    Raises:
        InvalidParameter: a part of one's own is made with what no file can hold.
    """
    return settings.to_toml()


def _called(name: str, kind: str, arguments: Mapping[str, str]) -> list[str]:
    """Return the lines of one part; none where nothing is changed."""
    if not arguments:
        return []
    inside = [f"        {argument}={code}," for argument, code in arguments.items()]
    return [f"    {name}=nm.{kind}(", *inside, "    ),"]


def _retrieval(retrieval: Retrieval, imports: _Imports) -> dict[str, str]:
    found: dict[str, str] = {}
    if retrieval.legs is not None:
        found["legs"] = _list(imports.code_of(leg) for leg in retrieval.legs)
    if retrieval.depth is not None:
        found["depth"] = repr(retrieval.depth)
    if retrieval.own_terms:
        found["terms"] = _list(imports.code_of(term) for term in retrieval.own_terms)
    return found


def _scoring(scoring: Scoring, imports: _Imports) -> dict[str, str]:
    plain, found = Scoring(), dict[str, str]()
    for name in [one.name for one in fields(Scoring)]:
        value: Any = getattr(scoring, name)
        if value == getattr(plain, name):
            continue
        if name in FUNCTIONS:
            found[name] = imports.code_of(value)
        elif name == "decay_lambda" and (days := _whole_days(value)):
            # Whole days read better, where they are the very same rate.
            found["half_life_days"] = repr(days)
        else:
            found[name] = imports.literal(value)
    return found


def _injection(injection: Injection) -> dict[str, str]:
    plain = Injection().to_dict()
    return {
        name: repr(value) for name, value in injection.to_dict().items() if value != plain[name]
    }


def _whole_days(rate: float) -> int:
    """Return the whole days that a rate is the half-life of; 0 for none."""
    days = round(half_life_days(rate)) if rate > 0 else 0
    return days if days and decay_lambda_of(days) == rate else 0


def _list(codes: Any) -> str:
    return f"[{', '.join(codes)}]"


class _Imports:
    """The import statements that code needs, and what it calls what they bring."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """What each object is called, by `package.module:object` without what is inside it."""
        self.lines: list[str] = []

    def code_of(self, value: Any) -> str:
        """Return the code for a leg, a term or a function."""
        if isinstance(value, str):
            return repr(value)
        described = describe(value)
        if isinstance(described, str):
            code = self._name_of(described)
            is_made = isinstance(_found(described), type) and not isinstance(value, type)
            return f"{code}()" if is_made else code
        arguments = ", ".join(
            f"{name}={self.literal(getattr(value, name, one))}"
            for name, one in described.items()
            if name != "object"
        )
        return f"{self._name_of(described['object'])}({arguments})"

    def literal(self, value: Any) -> str:
        """Return the code for a value that a part is made with."""
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, tuple):
            inside = [self.literal(one) for one in cast("tuple[Any, ...]", value)]
            return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
        if isinstance(value, list):
            return _list(self.literal(one) for one in cast("list[Any]", value))
        if isinstance(value, Mapping):
            pairs = cast("Mapping[Any, Any]", value).items()
            return f"{{{', '.join(f'{key!r}: {self.literal(one)}' for key, one in pairs)}}}"
        if isinstance(value, date | time):
            self._note("import datetime")
        elif is_dataclass(value) or hasattr(value, "__qualname__"):
            return self.code_of(value)
        elif not isinstance(value, bool | int | float | str | None):
            self._note(f"# {value!r} is to be written by hand: no file can hold it")
        return repr(value)

    def _name_of(self, reference: str) -> str:
        module, _, path = reference.partition(":")
        if "<" in path:
            self._note(f"# {reference} has no name to import it by: define it in a module")
            return path.rpartition(".")[2].replace("<lambda>", "a_function")
        first, dot, rest = path.partition(".")
        key = f"{module}:{first}"
        if key not in self._names:
            name, number = first, 2
            while name in (*_TAKEN, *self._names.values()):
                name, number = f"{first}_{number}", number + 1
            self._names[key] = name
            alias = "" if name == first else f" as {name}"
            if module == _NOTEBOOK:
                self._note(f"# {first} is defined in this notebook" + (alias and f",{alias}"))
            else:
                self._note(f"from {module} import {first}{alias}")
        return f"{self._names[key]}{dot}{rest}"

    def _note(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)


def _found(reference: str) -> Any:
    module, _, path = reference.partition(":")
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found
