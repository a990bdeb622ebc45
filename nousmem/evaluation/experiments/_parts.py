"""Settings in a result, whose legs, terms and functions of somebody's own are named there.

A result must be readable where that code is not, such as what a notebook defined: what cannot be
loaded is then a `MissingCode`, which has the name it had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from nousmem.errors import InvalidParameter, UnknownName
from nousmem.references import MissingCode, code_fingerprint, describe, is_reference
from nousmem.retrieval.legs import Leg, chosen_leg, described_leg, leg_name
from nousmem.retrieval.settings import Injection, Retrieval, Settings
from nousmem.retrieval.terms import Term, chosen_term
from nousmem.scoring import FUNCTIONS, Scoring
from nousmem.scoring.functions import chosen_function, described_function

__all__ = ["PartLoader", "code_of_parts", "described_parts", "described_value"]


def described_value(name: str, value: Any) -> Any:
    """Return a parameter as a file names it: legs, terms and functions by their names."""
    if name == "legs":
        return None if value is None else [_described(leg) for leg in value]
    if name == "terms":
        return [_described(term) for term in value]
    if name == "weights" and isinstance(value, Mapping):
        return dict(cast("Mapping[str, float]", value))
    return described_function(value) if name in FUNCTIONS else value


def described_parts(settings: Iterable[Settings]) -> list[dict[str, Any]]:
    """Return what is to be known of somebody's own parts, each once.

    Keys: kind (leg, term, or the parameter that is a function), object (as `describe` names it),
    name ("" for a function), decays (of a term), code (`code_fingerprint`).
    """
    found: dict[tuple[str, Any], dict[str, Any]] = {}
    for kind, part in _own_parts(settings):
        if (kind, part) not in found:
            found[kind, part] = {
                "kind": kind,
                "object": describe(part),
                "name": part.name if kind in ("leg", "term") else "",
                "decays": kind == "term" and part.decays,
                "code": code_fingerprint(part),
            }
    return sorted(found.values(), key=_key)


def code_of_parts(settings: Iterable[Settings]) -> dict[str, str]:
    """Return fingerprints of the code of somebody's own parts, by kind and name."""
    return {
        f"{one['kind']} {_key(one['object'])}": one["code"] for one in described_parts(settings)
    }


def _own_parts(settings: Iterable[Settings]) -> Iterable[tuple[str, Any]]:
    retrievals: dict[int, Retrieval] = {}
    for one in settings:
        retrievals.setdefault(id(one.retrieval), one.retrieval)
        for name in FUNCTIONS:
            if not isinstance(function := getattr(one.scoring, name), str):
                yield name, function
    for retrieval in retrievals.values():
        yield from (("leg", leg) for leg in retrieval.legs or () if not isinstance(leg, str))
        yield from (("term", term) for term in retrieval.own_terms)


class PartLoader:
    """Makes settings of what `Settings.to_dict` wrote; each part is loaded once.

    Args:
        parts: What `described_parts` said of them.
    """

    def __init__(self, parts: Sequence[Mapping[str, Any]] = ()) -> None:
        self._parts = {(one["kind"], _key(one["object"])): one for one in parts}
        self._loaded: dict[tuple[str, str], Any] = {}
        self._retrievals: dict[str, Retrieval] = {}

    def settings(self, document: Mapping[str, Any]) -> Settings:
        """Return the settings that `Settings.to_dict` wrote.

        Raises:
            InvalidParameter, KeyError, TypeError: it is something else.
        """
        return Settings(
            retrieval=self._retrieval(document["retrieval"]),
            scoring=self.scoring(document["scoring"]),
            injection=Injection(**document["injection"]),
            embedder=document["embedder"],
        )

    def scoring(self, document: Mapping[str, Any]) -> Scoring:
        """Return the scoring that `Scoring.to_dict` wrote."""
        own = {name: self._function(name, document[name]) for name in FUNCTIONS if name in document}
        return Scoring.from_dict({**document, **own})

    def _retrieval(self, document: Mapping[str, Any]) -> Retrieval:
        key = _key(document)
        if key not in self._retrievals:
            legs = document["legs"]
            self._retrievals[key] = Retrieval(
                legs=None if legs is None else [self._leg(one) for one in legs],
                depth=document["depth"],
                terms=[self._term(one) for one in document["terms"]],
            )
        return self._retrievals[key]

    def _leg(self, described: Any) -> str | Leg:
        if isinstance(described, str) and not is_reference(described):
            return chosen_leg(described)
        return self._had("leg", described, lambda: chosen_leg(described))

    def _term(self, described: Any) -> Term:
        return self._had("term", described, lambda: chosen_term(described))

    def _function(self, name: str, described: Any) -> Any:
        if isinstance(described, str) and described in FUNCTIONS[name]:
            return described
        return self._had(
            name, described, lambda: chosen_function(name, described, FUNCTIONS[name])[0]
        )

    def _had(self, kind: str, described: Any, load: Callable[[], Any]) -> Any:
        key = _key(described)
        if (kind, key) not in self._loaded:
            known = self._parts.get((kind, key), _UNKNOWN)
            try:
                found = load()
                self._check(kind, found, known["name"])
            except (InvalidParameter, UnknownName) as error:
                found = _missing(kind, described, known, str(error))
            self._loaded[kind, key] = found
        return self._loaded[kind, key]

    @staticmethod
    def _check(kind: str, found: Any, name: str) -> None:
        now = leg_name(found) if kind == "leg" else found.name if kind == "term" else name
        if name and now != name:
            raise InvalidParameter(f"the {kind} was called {name!r}, and is {now!r} now")


_UNKNOWN: Final[Mapping[str, Any]] = {"name": "", "decays": False, "code": ""}


def _missing(kind: str, described: Any, known: Mapping[str, Any], why: str) -> Any:
    text = json.dumps(described, ensure_ascii=False)
    stand_in = MissingCode(text, why, known["name"], known["code"])
    if kind == "term":
        return Term(stand_in, known["name"], known["decays"])
    return stand_in


def _described(part: Any) -> Any:
    """Return how a file names a leg or term, which may be named so already."""
    if isinstance(part, Mapping):
        return dict(cast("Mapping[str, Any]", part))
    return part if isinstance(part, str) else described_leg(part)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
