"""How the parts of settings are called: parameters in force, and somebody's own legs and functions.

A file names code in full, `package.module:object`. A slider, an axis or a legend has room for the
object's own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nousmem.references import describe
from nousmem.retrieval.settings import Retrieval, Settings
from nousmem.scoring import own_weight

__all__ = ["distinct_names", "in_force", "numbered", "own_weight_names", "part_name", "shown_value"]


def part_name(value: Any, *, whole: bool = False) -> str:
    """Return what a leg, a term or a function is called; of a class also what it is made with.

    Args:
        value: The part, or the name of a built-in one.
        whole: With the module that it is in.
    """
    described = value if isinstance(value, str) else describe(value)
    reference = described if isinstance(described, str) else described["object"]
    name = reference if whole else reference.rpartition(":")[2].rpartition(".")[2]
    if isinstance(described, str):
        return name
    inside = ", ".join(f"{key}={one!r}" for key, one in described.items() if key != "object")
    return f"{name}({inside})"


def distinct_names(values: Sequence[Any]) -> list[str]:
    """Return what each is called, in full or numbered where two would have the same name."""
    short = [part_name(value) for value in values]
    return numbered(
        [
            part_name(value, whole=True) if short.count(name) > 1 else name
            for value, name in zip(values, short, strict=True)
        ]
    )


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names, each with its number among those that are equal to it.

    Of two lambdas that a notebook defines, nothing else tells one from the other.
    """
    return [
        f"{name} ({names[: at + 1].count(name)})" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]


def own_weight_names(retrieval: Retrieval) -> tuple[str, ...]:
    """Return the weights of the legs and terms that are not built in, as a grid names them."""
    legs = [name for name in retrieval.leg_names if own_weight(f"w_{name}") is not None]
    return tuple(f"w_{name}" for name in (*legs, *retrieval.term_names))


def in_force(settings: Settings, name: str) -> Any:
    """Return a parameter by its name in a grid, as it is in force where it was not set.

    A leg of one's own weighs 1, a term 0; the legs are read as deep as a ranking without a limit
    asks for. What has no such value is None.
    """
    own = own_weight(name)
    if own is not None:
        scoring = settings.scoring
        legs = settings.retrieval.leg_names
        return scoring.leg_weight(own) if own in legs else scoring.term_weight(own)
    value = settings.value_of(name)
    if name == "depth" and value is None:
        return settings.retrieval.depth_for(None)
    return value


def shown_value(settings: Settings, name: str, *, whole: bool = False) -> str:
    """Return the name of a function, or of legs or terms as their columns are called.

    Args:
        settings: The settings.
        name: A parameter that is no number.
        whole: With modules and parameters in place of the columns' names.
    """
    value = settings.value_of(name)
    if name not in ("legs", "terms"):
        return part_name(value, whole=whole)
    if value is None:
        return "all"
    called = [part_name(one, whole=True) if whole else getattr(one, "name", one) for one in value]
    return ", ".join(called) or "none"
