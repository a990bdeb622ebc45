"""Settings: how candidates are found, how they are weighed, and what an agent is shown of them.

One plain value that travels: a sweep measures it, a file holds it, `Search`, `Memory`, MCP and the
shell run it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, cast

from nousmem.checks import check_whole
from nousmem.errors import InvalidParameter, UnknownName, suggestion
from nousmem.references import code_fingerprint, describe, reference_to
from nousmem.retrieval._injection import INJECTION_OPTIONS, Injection
from nousmem.retrieval.candidates import LEGS
from nousmem.retrieval.legs import Leg, chosen_leg, described_leg, leg_name
from nousmem.retrieval.presets import PRESETS
from nousmem.retrieval.terms import BUILT_IN_TERMS, Term, chosen_term
from nousmem.scoring import FUNCTIONS, PARAMETERS, Scoring, own_weight

__all__ = [
    "INJECTION_OPTIONS",
    "MIN_DEPTH",
    "RETRIEVAL_PARAMETERS",
    "Injection",
    "Retrieval",
    "Settings",
    "chosen_settings",
    "part_of",
    "read_settings",
]

MIN_DEPTH: Final = 30
"""Entries read from each leg, where nothing else is said."""

_BEST: Final = "best.toml"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How candidates are found and what columns they get: what needs finding again to change.

    Raises:
        UnknownName: no leg has a name given.
        InvalidParameter: `legs` is empty, a leg or a term is none, two have the same name, or
            `depth` is not a whole number above 0.
    """

    _: KW_ONLY
    legs: Sequence[str | Leg] | None = None
    """Which legs are read: "text", "vector", legs of one's own, or `package.module:object`. None
    is all of the built-in ones that store and embedder allow."""
    depth: int | None = None
    """Entries read from each leg; None is max(30, limit). It bounds what can win, so it changes
    results (the original reads 3 · limit)."""
    terms: Sequence[Term | str] = ()
    """Terms of one's own (`term`), or `package.module:object`, which a Scoring may weigh."""

    def __post_init__(self) -> None:
        if self.legs is not None:
            object.__setattr__(self, "legs", _legs(self.legs))
        if self.depth is not None:
            if isinstance(cast("object", self.depth), float) and float(self.depth).is_integer():
                # What is drawn from a range is a float.
                object.__setattr__(self, "depth", int(self.depth))
            object.__setattr__(self, "depth", check_whole("depth", self.depth, least=1))
        object.__setattr__(self, "terms", _terms(self.terms))
        names = [*self.leg_names, *BUILT_IN_TERMS, *self.term_names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidParameter(
                f"two legs or terms are called {twice!r}: give each its own name"
            )

    @property
    def leg_names(self) -> tuple[str, ...]:
        """The legs' names, in their order."""
        return LEGS if self.legs is None else tuple(map(leg_name, self.legs))

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms of somebody's own."""
        return tuple(term.name for term in self.own_terms)

    @property
    def own_terms(self) -> tuple[Term, ...]:
        """`terms`, as they are kept."""
        return cast("tuple[Term, ...]", self.terms)

    @property
    def unlimited(self) -> Retrieval:
        """The same with its depth said, for a ranking without a limit: equal where that is."""
        return replace(self, depth=self.depth_for(None))

    def depth_for(self, limit: int | None) -> int:
        """Return how many entries are read from each leg to rank `limit` of them."""
        return self.depth if self.depth is not None else max(MIN_DEPTH, limit or 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, as a file holds them."""
        return {
            "legs": None if self.legs is None else [described_leg(leg) for leg in self.legs],
            "depth": self.depth,
            "terms": [describe(term) for term in self.terms],
        }

    def replace(self, **changes: Any) -> Retrieval:
        """Return a copy with `changes`.

        Raises:
            InvalidParameter: a name is no parameter of Retrieval, or as for the class.
        """
        _check_names("retrieval", changes, RETRIEVAL_PARAMETERS)
        return replace(self, **changes)


RETRIEVAL_PARAMETERS: Final = tuple(one.name for one in fields(Retrieval))


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what is found, how it is ranked and what an agent is shown.

    `Settings()` is what the specification documents; `Settings.preset("recommended")` is what our
    measurements support.

    Raises:
        InvalidParameter: a part is something else; a weight is of no leg or term that there is;
            or every leg weighs 0.
    """

    _: KW_ONLY
    retrieval: Retrieval = field(default_factory=Retrieval)
    """How candidates are found."""
    scoring: Scoring = field(default_factory=Scoring)
    """How they are weighed."""
    injection: Injection = field(default_factory=Injection)
    """What an agent is shown unasked."""
    embedder: str | None = None
    """Fingerprint of the embedder they were measured with; None where none was, or it is not
    known. Run with another, a search warns."""

    def __post_init__(self) -> None:
        for name, kind in _PARTS.items():
            given: object = getattr(self, name)
            if not isinstance(given, kind):
                hint = (
                    "give it as settings="
                    if isinstance(given, Settings)
                    else f"nousmem.{kind.__name__}() makes one"
                )
                raise InvalidParameter(f"{name} must be a {kind.__name__}, got {given!r}; {hint}")
        if self.embedder is not None and not isinstance(cast("object", self.embedder), str):
            raise InvalidParameter(
                f"embedder must be the fingerprint of one or None, got {self.embedder!r}"
            )
        names = (*self.retrieval.leg_names, *self.retrieval.term_names)
        stray = [name for name in self.scoring.weights if name not in names]
        if stray:
            own = [name for name in names if name not in LEGS] or ["none"]
            raise InvalidParameter(
                f"w_{stray[0]} is a weight of no leg or term that is retrieved "
                f"(of one's own there are: {', '.join(own)}); add it to Retrieval's legs or terms"
            )
        for leg in self.retrieval.leg_names:
            if self.scoring.leg_weight(leg) < 0:
                raise InvalidParameter(f"w_{leg}: a leg's weight must be at least 0")
        if not any(self.scoring.leg_weight(leg) for leg in self.retrieval.leg_names):
            weights = " and ".join(f"w_{leg}" for leg in self.retrieval.leg_names)
            raise InvalidParameter(f"{weights} are 0: no leg is left to rank by")

    def replace(self, **changes: Any) -> Settings:
        """Return a copy with changed parts, or changed parameters of whichever part has them.

        `replace(depth=50, decay_lambda=0, w_frequency=.1, inject_limit=3)` changes all three.

        Raises:
            InvalidParameter: there is no parameter of that name, or a value is out of range.
        """
        parts = {name: changes.pop(name) for name in (*_PARTS, "embedder") if name in changes}
        of_part: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
        for name, value in changes.items():
            of_part[part_of(name)][name] = value
        made = replace(self, **parts) if parts else self
        new = {name: getattr(made, name).replace(**own) for name, own in of_part.items() if own}
        return replace(made, **new) if new else made

    def value_of(self, name: str) -> Any:
        """Return a parameter by the name it has in a grid."""
        part = part_of(name)
        if part == "scoring":
            return self.scoring.value_of(name)
        return getattr(getattr(self, part), name)

    def shown(self, name: str) -> Any:
        """Return a parameter as a table shows it: a number, a text or None."""
        value = self.value_of(name)
        if name == "legs":
            return "all" if value is None else ",".join(map(_shown, self.retrieval.to_dict()[name]))
        if name == "depth":
            return self.retrieval.depth_for(None)
        if name == "terms":
            return ",".join(self.retrieval.term_names)
        if name in FUNCTIONS:
            return _shown(self.scoring.to_dict()[name])
        return value

    def code(self) -> dict[str, str]:
        """Return fingerprints of the code of somebody's own parts, by what names them."""
        scoring = [getattr(self.scoring, name) for name in FUNCTIONS]
        parts = [*(self.retrieval.legs or ()), *self.retrieval.own_terms, *scoring]
        found: dict[str, str] = {}
        for part in parts:
            if not isinstance(part, str):
                # A model that a leg scores with is no code.
                model: object = getattr(part, "fingerprint", None)
                own = code_fingerprint(part)
                found[reference_to(part)] = f"{own} {model}" if isinstance(model, str) else own
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: retrieval, scoring, injection, and the embedder."""
        parts = {name: getattr(self, name).to_dict() for name in _PARTS}
        return {"embedder": self.embedder, **parts}

    def to_toml(self) -> str:
        """Return the settings as TOML with the tables `[retrieval]`, `[scoring]`, `[injection]`.

        What is None is left out, which stands for it.

        Raises:
            InvalidParameter: a part of one's own is made with what no file can hold.
        """
        import tomli_w

        try:
            return tomli_w.dumps(_without_none(self.to_dict()))
        except TypeError as error:
            raise InvalidParameter(
                "settings are written as numbers, texts, dates, lists and tables, and a part of "
                f"one's own is made with something else: {error}"
            ) from None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Settings:
        """Return the settings that `to_dict` wrote; what is missing is at its default.

        Functions, legs and terms are loaded from where their names say.

        Raises:
            InvalidParameter: a table or key is not one of settings, or stands in the wrong table;
                a value is out of range; or something named cannot be loaded.
        """
        known = (*_PARTS, "embedder")
        for name in document:
            if name not in known:
                where = _whereabouts(name) or suggestion(str(name), known)
                raise InvalidParameter(
                    f"settings have no {name!r}{where}; they have {', '.join(known)}"
                )
        parts: dict[str, Any] = {}
        for name, kind in _PARTS.items():
            table: object = document.get(name, {})
            if not isinstance(table, Mapping):
                raise InvalidParameter(f"{name} must be a table [{name}], got {table!r}")
            values = dict(cast("Mapping[str, Any]", table))
            _check_names(name, values, _NAMES[name])
            try:
                parts[name] = Scoring.from_dict(values) if kind is Scoring else kind(**values)
            except UnknownName as error:
                raise InvalidParameter(f"[{name}] {error}") from None
        return cls(**parts, embedder=document.get("embedder"))

    @classmethod
    def from_toml(cls, text: str | Path) -> Settings:
        """Return the settings that `to_toml` wrote.

        Args:
            text: The TOML; or the path of a file of it, or of a folder that holds it as best.toml.

        Raises:
            InvalidParameter: it is no TOML, a file cannot be read, or as in `from_dict`.
        """
        given: object = text
        if isinstance(given, Path):
            return read_settings(given)
        if not isinstance(given, str):
            raise InvalidParameter(f"settings are read from TOML text or a Path, got {text!r}")
        try:
            document = tomllib.loads(given)
        except tomllib.TOMLDecodeError as error:
            raise InvalidParameter(
                f"cannot read the settings, they are not TOML: {error}"
            ) from None
        return cls.from_dict(document)

    @classmethod
    def preset(cls, name: str) -> Settings:
        """Return settings by name.

        Args:
            name: "documented", the specification's defaults, which `Settings()` is; or
                "recommended", what our experiments support (see `nousmem.retrieval.presets`).

        Raises:
            UnknownName: there is no such preset.
        """
        if name not in PRESETS:
            raise UnknownName("preset", name, PRESETS)
        return cls.from_dict(PRESETS[name])

    def highest_score(self) -> float | None:
        """Return the composite score of an entry that has the most of everything built in.

        None where nobody can know it: a fusion of one's own has no known maximum.
        """
        most = {
            "rrf": 1.0,
            "convex": 1.0,
            "rrf_raw": sum(map(self.scoring.leg_weight, self.retrieval.leg_names))
            / (self.scoring.rrf_k + 1),
        }.get(self.scoring.fusion if isinstance(self.scoring.fusion, str) else "")
        if most is None:
            return None
        relevance, *others = self.scoring.term_weights()
        return sum(max(weight, 0.0) for weight in (relevance * most, *others))

    def scaled_to(self, scoring: Scoring, retrieval: Retrieval | None = None) -> Settings:
        """Return these settings with another scoring, the least score of injection in proportion.

        A least composite score means something under the weights alone that it was chosen for.

        Args:
            scoring: What they get.
            retrieval: What they get as well; None leaves theirs. A weight may be of its legs.
        """
        made = replace(self, scoring=scoring, retrieval=retrieval or self.retrieval)
        before, after = self.highest_score(), made.highest_score()
        if not before or not after or before == after:
            return made
        least = self.injection.inject_min_score * (after / before)
        return replace(made, injection=self.injection.replace(inject_min_score=least))

    def __repr__(self) -> str:
        """Show the scoring, and of the other parts what is not the default."""
        shown = [repr(self.scoring)]
        retrieval = self.retrieval.to_dict()
        changed = {
            name: value for name, value in retrieval.items() if value != Retrieval().to_dict()[name]
        }
        plain = Injection()
        thresholds = {
            name: value
            for name, value in self.injection.to_dict().items()
            if value != getattr(plain, name)
        }
        for kind, values in (("Retrieval", changed), ("Injection", thresholds)):
            if values:
                inside = ", ".join(f"{name}={value!r}" for name, value in values.items())
                shown.append(f"{kind}({inside})")
        if self.embedder is not None:
            shown.append(f"embedder={self.embedder!r}")
        return f"Settings({', '.join(shown)})"


_PARTS: Final[Mapping[str, type[Any]]] = {
    "retrieval": Retrieval,
    "scoring": Scoring,
    "injection": Injection,
}
_NAMES: Final = {
    "retrieval": RETRIEVAL_PARAMETERS,
    "scoring": PARAMETERS,
    "injection": INJECTION_OPTIONS,
}


def part_of(name: str) -> str:
    """Return which part of settings has a parameter.

    Raises:
        InvalidParameter: none has.
    """
    for part, names in _NAMES.items():
        if name in names:
            return part
    if own_weight(name) is not None:
        return "scoring"
    known = tuple(one for names in _NAMES.values() for one in names)
    raise InvalidParameter(
        f"unknown parameter {name!r}{suggestion(str(name), known) or '.'} "
        f"Parameters: {', '.join(known)}, and w_NAME for a leg or term of one's own"
    )


def chosen_settings(
    settings: Settings | None, scoring: Scoring | None = None, retrieval: Retrieval | None = None
) -> Settings:
    """Return the settings that are given as a whole, or in part.

    Raises:
        InvalidParameter: a part is given beside the whole, or something else is given.
    """
    given: object = settings
    if given is not None and not isinstance(given, Settings):
        hint = "; give it as scoring=" if isinstance(given, Scoring) else ""
        raise InvalidParameter(
            f"settings must be Settings, got {given!r}{hint}; "
            "nousmem.Settings.preset('recommended') are some, and "
            "nousmem.Settings.from_toml(Path('best.toml')) those of a file"
        )
    parts: dict[str, Any] = {"scoring": scoring, "retrieval": retrieval}
    parts = {name: value for name, value in parts.items() if value is not None}
    if settings is None:
        return Settings(**parts)
    return replace(settings, **parts)


def read_settings(path: Path) -> Settings:
    """Read settings from a file, or from best.toml of a folder.

    Raises:
        InvalidParameter: the file cannot be read, or as in `Settings.from_toml`.
    """
    if path.is_dir():
        if not (path / _BEST).is_file():
            raise InvalidParameter(
                f"{path} is a folder without {_BEST}: name a file that Settings.to_toml() wrote, "
                "or the folder of a sweep"
            )
        path = path / _BEST
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InvalidParameter(f"cannot read the settings {path}: {error}") from None
    try:
        return Settings.from_toml(text)
    except InvalidParameter as error:
        raise InvalidParameter(f"{path}: {error}") from None


def _shown(described: str | Mapping[str, Any]) -> str:
    if isinstance(described, str):
        return described
    inside = ", ".join(f"{name}={one!r}" for name, one in described.items() if name != "object")
    return f"{described['object']}({inside})"


def _without_none(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for name, value in document.items()
        if value is not None
    }


def _legs(given: object) -> tuple[str | Leg, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(f"legs must be a list such as ['text', 'vector'], got {given!r}")
    chosen = [chosen_leg(one) for one in cast("Iterable[object]", given)]
    if not chosen:
        raise InvalidParameter(f"legs must name one or more of {', '.join(LEGS)}, or be None")
    # The built-in ones first: a sum over legs does not depend on the order they are given in.
    built_in = [name for name in LEGS for one in chosen if one == name]
    return (*built_in, *(one for one in chosen if one not in LEGS))


def _terms(given: object) -> tuple[Term, ...]:
    if isinstance(given, str | Term) or not isinstance(given, Iterable):
        raise InvalidParameter(f"terms must be a list of terms, got {given!r}")
    return tuple(chosen_term(one) for one in cast("Iterable[object]", given))


def _check_names(part: str, given: Iterable[object], known: Sequence[str]) -> None:
    for name in given:
        if name in known or (part == "scoring" and own_weight(str(name)) is not None):
            continue
        where = _whereabouts(name) or suggestion(str(name), known)
        raise InvalidParameter(
            f"[{part}] has no parameter {name!r}{where}; it has {', '.join(known)}"
        )


def _whereabouts(name: object) -> str:
    """Say where a name belongs; "" for nowhere."""
    part = next((part for part, names in _NAMES.items() if name in names), None)
    return "" if part is None else f", which stands in [{part}]"
