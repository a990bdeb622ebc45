"""What an agent is shown unasked of what was found: the thresholds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Final

from nousmem.checks import check_number, check_whole
from nousmem.errors import InvalidParameter, suggestion

__all__ = ["INJECTION_OPTIONS", "Injection"]


@dataclass(frozen=True, slots=True)
class Injection:
    """What an agent is shown unasked of what was found; the options of `Memory` by that name.

    Raises:
        InvalidParameter: an option is not of its kind, or out of its range.
    """

    _: KW_ONLY
    inject_limit: int = 5
    """Memories shown, at most."""
    inject_min_score: float = 0.3
    """Least composite score of a memory that is shown."""
    inject_min_words: float = 0.3
    """Least share of the message's words that mean something, of which 8 count, 0 to 2. Above 1
    only what holds more than 8 words of a long message has it."""
    inject_min_cosine: float = 0.35
    """Least cosine, -1 to 2; this or `inject_min_words` must be reached. Above 1 none has it. It
    depends on the embedder: the default is for all-MiniLM-L6-v2. With 0 and -1 nothing is asked
    of a memory but `inject_min_score`."""
    inject_max_tokens: int = 1000
    """Most tokens that the memories shown may take."""

    def __post_init__(self) -> None:
        for name in ("inject_limit", "inject_max_tokens"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least=0))
        for name in ("inject_min_score", "inject_min_words", "inject_min_cosine"):
            number = check_number(name, getattr(self, name))
            if type(getattr(self, name)) not in (int, float):  # NumPy's, which no file holds
                object.__setattr__(self, name, number)
        _check_range("inject_min_words", self.inject_min_words, 0, 2)
        _check_range("inject_min_cosine", self.inject_min_cosine, -1, 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def replace(self, **changes: Any) -> Injection:
        """Return a copy with `changes`.

        Raises:
            InvalidParameter: a name is no option of injection, or as for the class.
        """
        stray = [name for name in changes if name not in INJECTION_OPTIONS]
        if stray:
            raise InvalidParameter(
                f"injection has no option {stray[0]!r}{suggestion(stray[0], INJECTION_OPTIONS)}; "
                f"it has {', '.join(INJECTION_OPTIONS)}"
            )
        return replace(self, **changes)


INJECTION_OPTIONS: Final = tuple(one.name for one in fields(Injection))
"""Every name that `Injection` accepts."""


def _check_range(name: str, value: float, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidParameter(f"{name} must be from {low} to {high}, got {value!r}")
